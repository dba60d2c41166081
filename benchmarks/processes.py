"""Work in a process of its own: its answer, its time, and what all its processes used.

Memory is what the process and all that it starts hold at once (resident sets), looked at often.
Pages that several of them share count once for each, so that the figure is rather too high. CPU
time hardly depends on what else runs on the machine, as wall-clock time does.

A process and all that it started are gone before the next piece of work begins, and none may take
so much memory that the machine has nothing left.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

LOOK_EVERY_SECONDS = 0.25
# Of the machine's memory, what a piece of work may hold with all its processes.
MOST_MEMORY = 0.7
# How long what a piece of work started may take to end after it.
GRACE_SECONDS = 20.0
# Fields of /proc/PID/stat, counted from behind the command's name (proc(5)).
_STATE, _PARENT, _SESSION, _CPU_TICKS, _RESIDENT_PAGES = 0, 1, 3, slice(11, 15), 21

Answer = dict[str, Any]


class Stopwatch:
    """Wall-clock and CPU time of this process and all below it, from here on."""

    def __init__(self) -> None:
        self._begin, (_, self._cpu_seconds) = time.perf_counter(), usage(os.getpid())

    def read(self) -> dict[str, float]:
        """Seconds since it was made."""
        seconds, (_, cpu_seconds) = time.perf_counter() - self._begin, usage(os.getpid())
        return {"seconds": seconds, "cpu_seconds": cpu_seconds - self._cpu_seconds}


def run_apart(work: Callable[..., Answer], *arguments: object, **options: object) -> Answer:
    """Call a function in a fresh process; gives its answer when all its processes are gone.

    Added to it: `process_seconds` from its start to its end, and `peak_bytes`, the most memory that
    it and its children held at once.

    Raises:
        RuntimeError: It ended with an error, which it has printed, was killed, or held too much.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, partial(work, *arguments, **options)))
    begin = time.perf_counter()
    process.start()
    sender.close()
    assert process.pid is not None
    watch = _Watch(process.pid, work.__name__)
    answer: Answer | None = None
    try:
        while not receiver.poll(LOOK_EVERY_SECONDS):
            watch.look()
        with suppress(EOFError):
            answer = receiver.recv()
        process.join(GRACE_SECONDS)
    finally:
        _end_all(process.pid, 0.0 if answer is None else GRACE_SECONDS)
        process.join()
    if answer is None:
        raise RuntimeError(f"{work.__name__} ended with exit code {process.exitcode}")
    seconds = time.perf_counter() - begin
    return {**answer, "process_seconds": seconds, "peak_bytes": watch.peak_bytes}


def _send(sender: Connection, work: Callable[[], Answer]) -> None:
    # What it starts can be told by its session, also when it is gone itself.
    os.setsid()
    sender.send(work())


class _Watch:
    """The most memory that a process and all below it held."""

    def __init__(self, root: int, name: str) -> None:
        self._root, self._name = root, name
        self._most_bytes = MOST_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.peak_bytes = 0

    def look(self) -> None:
        self.peak_bytes = max(self.peak_bytes, usage(self._root)[0])
        if self.peak_bytes > self._most_bytes:
            raise RuntimeError(
                f"{self._name} held {self.peak_bytes / 2**30:.2g} GiB and was ended; expected at"
                f" most {self._most_bytes / 2**30:.2g}, {MOST_MEMORY:.0%} of this machine's"
            )


def _end_all(root: int, grace_seconds: float) -> None:
    """Wait for a process and all below it to end, and kill those that do not."""
    end = time.monotonic() + grace_seconds
    # One that has ended, and whose parent has not asked how, is gone.
    while living := [pid for pid, fields in _family(root).items() if fields[_STATE] != "Z"]:
        if time.monotonic() >= end:
            for pid in living:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def usage(root: int) -> tuple[int, float]:
    """Bytes that a process and all below it hold now, and CPU seconds that they had so far."""
    members = _family(root).values()
    pages = sum(int(fields[_RESIDENT_PAGES]) for fields in members)
    ticks = sum(int(field) for fields in members for field in fields[_CPU_TICKS])
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK")


def _family(root: int) -> dict[int, list[str]]:
    """A process, its children and theirs, and all of their sessions: what proc(5) says of each."""
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # It may just have ended.
        with suppress(OSError):
            # The name in the second field may hold blanks and brackets.
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {
            pid
            for pid, fields in stats.items()
            if int(fields[_PARENT]) in family or int(fields[_SESSION]) in family
        }
    return {pid: stats[pid] for pid in family if pid in stats}
