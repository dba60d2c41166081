"""What commands that run on Spark share: where it runs, its settings, its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.errors import InvalidInput
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.pipeline.session import Session

BAR = 30
# Up to here, queries that are not compiled are done before others have been (benchmarks.pipeline).
MOST_BRIEF_ROWS = 400_000
# A JSON line is that long.
BYTES_PER_ROW = 300

Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://…"),
]
Conf = Annotated[
    list[str] | None, typer.Option(help="A setting of Spark, KEY=VALUE; may be given often.")
]
Config = Annotated[
    Path | None,
    typer.Option(help="A file of settings of Spark, in the manner of spark-defaults.conf."),
]


def settings_of(conf: list[str] | None, config: Path | None) -> dict[str, str]:
    """Spark's settings from a file and from options, which win.

    Raises:
        InvalidInput: A setting has no name or no value; or the file cannot be read.
    """
    settings = {} if config is None else _read(config)
    for one in conf or ():
        key, found, value = one.partition("=")
        if not found or not key.strip():
            raise InvalidInput.single(
                ("conf",), seen=repr(one), expected="KEY=VALUE, such as spark.driver.memory=4g"
            )
        settings[key.strip()] = value.strip()
    return settings


def _read(config: Path) -> dict[str, str]:
    try:
        lines = config.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.single(
            (), file=str(config), seen=str(error), expected="a file of settings"
        ) from None
    settings = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, _, value = text.replace("=", " ", 1).partition(" ")
        if not value.strip():
            raise InvalidInput.single(
                (), file=f"{config}:{number}", seen=repr(text), expected="a name and a value"
            )
        settings[key] = value.strip()
    return settings


@contextmanager
def spark_session(
    name: str,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
    *,
    input_rows: int | None = None,
) -> Iterator[Session]:
    """A session for one command, with a bar of its tasks on a terminal.

    What is read, where it is known, decides whether starting quickly matters most.

    Raises:
        MissingExtra: Spark is not installed.
        InvalidInput: It did not start.
    """
    settings = settings_of(conf, config)
    with require_extra("pipeline"):
        from streamgauge.pipeline.failures import failures_explained
        from streamgauge.pipeline.progress import watched
        from streamgauge.pipeline.session import make_session, running_session
    brief = input_rows is not None and input_rows < MOST_BRIEF_ROWS
    others = running_session()
    session = make_session(f"streamgauge {name}", master=master, conf=settings, brief=brief)
    try:
        with watched(session, _bar() if sys.stderr.isatty() else None), failures_explained():
            yield session
    finally:
        if sys.stderr.isatty():
            print(f"\r{' ' * (BAR + 30)}\r", end="", file=sys.stderr)
        if others is None:
            session.stop()


def _bar() -> Callable[[int, int], None]:
    def show(done: int, tasks: int) -> None:
        filled = BAR * done // max(tasks, 1)
        bar = "━" * filled + " " * (BAR - filled)
        print(f"\r  {bar} {done} of {tasks} tasks   ", end="", file=sys.stderr, flush=True)

    return show
