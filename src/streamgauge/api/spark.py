"""Where Spark runs for a question, and a session that ends with it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.pipeline.session import Session

# Up to here, queries that are not compiled are done before others have been (benchmarks.pipeline).
MOST_BRIEF_ROWS: Final = 400_000
# A line of raw metrics is about that long.
BYTES_PER_ROW: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Where Spark runs, and how.

    Attributes:
        master: local[2], spark://HOST:PORT, yarn …; all cores of this machine where none is given.
        settings: Settings of Spark, which win over ours.
        progress: Called with the tasks that are done and the tasks that are known.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[int, int], None] | None = None


HERE: Final = SparkOptions()


@contextmanager
def open_session(
    name: str, options: SparkOptions = HERE, *, input_rows: int | None = None
) -> Iterator[Session]:
    """A session for one question; one that runs already is used and left running.

    Args:
        name: What the application is called on the cluster.
        options: Where it runs.
        input_rows: Rows that will be read, where that is known: for few of them, starting quickly
            matters most.

    Raises:
        MissingExtra: Spark is not installed.
        InvalidInput: It did not start.
        JobFailed: It could not finish.
    """
    with require_extra("pipeline"):
        from streamgauge.pipeline.failures import failures_explained
        from streamgauge.pipeline.progress import watched
        from streamgauge.pipeline.session import make_session, running_session
    brief = input_rows is not None and input_rows < MOST_BRIEF_ROWS
    is_ours = running_session() is None
    session = make_session(
        f"streamgauge {name}", master=options.master, conf=options.settings, brief=brief
    )
    try:
        with (
            _interrupts_cancel(session),
            watched(session, options.progress),
            failures_explained(),
        ):
            yield session
    finally:
        if is_ours:
            session.stop()


@contextmanager
def _interrupts_cancel(session: Session) -> Iterator[None]:
    """Let an interrupt cancel Spark's jobs and end the block, without pages of tracebacks.

    Spark's own handler calls the virtual machine from within a call to it, which fails loudly.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    logged = logging.root.manager.disable

    def cancel(number: int, frame: object) -> None:
        del number, frame
        # The client of the virtual machine logs every call that an interrupt cuts short.
        logging.disable(logging.CRITICAL)
        # A thread has a connection of its own. Jobs that other threads wait for end by this.
        threading.Thread(target=_cancel_jobs, args=(session,), daemon=True).start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logged)


def _cancel_jobs(session: Session) -> None:
    # The session may end meanwhile, and its jobs with it.
    with suppress(Exception):
        session.sparkContext.cancelAllJobs()
