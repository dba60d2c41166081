"""Long work: a bar or a line that says how far it is, and interrupts that end it well."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

from streamgauge.cli.output import say, terminal_width

BAR = 30
# A bar that moves more often than this is only slower.
SECONDS_BETWEEN = 0.1
# Off a terminal, work that has taken this long says once how long it will take.
SECONDS_UNTIL_LINE = 5.0
SECONDS_PER_MINUTE = 60.0


class ProgressBar:
    """One line that shows a part of all work, the time left, and what is being done.

    What was done before the first call takes no time, and is no measure for the time left.
    """

    def __init__(self) -> None:
        self._began = self._shown = time.monotonic()
        self._first: float | None = None
        self._is_terminal = sys.stderr.isatty()
        self._has_line = False

    def show(self, part: float, doing: str) -> None:
        """Show that this part of all work is done, from zero to one."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = part, now
        done = part - self._first
        left = show_time_left((now - self._began) / done * (1.0 - part)) if done > 0.0 else ""
        if self._is_terminal:
            self._draw(part, left, doing, now)
        elif not self._has_line and left and part < 1.0 and now > self._began + SECONDS_UNTIL_LINE:
            self._has_line = True
            say(f"{doing} after {now - self._began:.0f} s; about {left}")

    def _draw(self, part: float, left: str, doing: str, now: float) -> None:
        is_end = part >= 1.0
        if not is_end and now < self._shown + SECONDS_BETWEEN:
            return
        self._shown = now
        bar = f"{'█' * round(BAR * part):<{BAR}} {100 * part:3.0f} %"
        # A line longer than the terminal is wide could not be written over.
        width = terminal_width() - 1
        line = f"{bar}  {'' if is_end else left:<14}{doing}"[:width]
        # The bar makes room for the answer.
        end = f"\r{' ' * width}\r" if is_end else ""
        print(f"\r{line:<{width}}", end=end, file=sys.stderr, flush=True)


def show_time_left(seconds: float) -> str:
    """``40 s left``, ``3 min left``."""
    if seconds < 2 * SECONDS_PER_MINUTE:
        return f"{seconds:.0f} s left"
    if seconds < 120 * SECONDS_PER_MINUTE:
        return f"{seconds / SECONDS_PER_MINUTE:.0f} min left"
    return f"{seconds / SECONDS_PER_MINUTE / 60.0:,.0f} h left"


def watch_simulated_time() -> Callable[[float, float], None]:
    """Shows how much of the simulated time is reached."""
    bar = ProgressBar()

    def show(reached: float, horizon: float) -> None:
        bar.show(min(reached / horizon, 1.0), f"{reached:.1f} of {horizon:g} s simulated")

    return show


@contextmanager
def interrupted(message: str) -> Iterator[Event]:
    """An event that the first interrupt sets; the next ones do what they did before.

    Args:
        message: What is said at the first.
    """
    event = Event()

    def stop(number: int, frame: object) -> None:
        del frame
        event.set()
        say(message)
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
