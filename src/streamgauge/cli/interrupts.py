"""Interrupts that end long work at the next good moment, and the second time at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from streamgauge.cli.output import say


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
