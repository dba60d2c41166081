"""Work in a process of its own: its answer, its time, and what all its processes used.

Memory is what the process and all that it starts hold at once (resident sets), looked at often.
Pages that several of them share count once for each, so that the figure is rather too high. CPU
time hardly depends on what else runs on the machine, as wall-clock time does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

LOOK_EVERY_SECONDS = 0.25
# Fields of /proc/PID/stat, counted from behind the command's name (proc(5)).
_PARENT, _CPU_TICKS, _RESIDENT_PAGES = 1, slice(11, 15), 21

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
    """Call a function in a fresh process; gives its answer.

    Added to it: `process_seconds` from its start to its end, and `peak_bytes`, the most memory that
    it and its children held at once.

    Raises:
        RuntimeError: It ended with an error, which it has printed, or was killed.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, partial(work, *arguments, **options)))
    begin = time.perf_counter()
    process.start()
    sender.close()
    assert process.pid is not None
    held = [0]
    while not receiver.poll(LOOK_EVERY_SECONDS):
        held.append(usage(process.pid)[0])
    try:
        answer: Answer = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"{work.__name__} ended with exit code {process.exitcode}") from None
    process.join()
    return {**answer, "process_seconds": time.perf_counter() - begin, "peak_bytes": max(held)}


def _send(sender: Connection, work: Callable[[], Answer]) -> None:
    sender.send(work())


def usage(root: int) -> tuple[int, float]:
    """Bytes that a process and all below it hold now, and CPU seconds that they had so far."""
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in the second field may hold blanks and brackets.
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {pid for pid, fields in stats.items() if int(fields[_PARENT]) in family}
    members = [stats[pid] for pid in family if pid in stats]
    pages = sum(int(fields[_RESIDENT_PAGES]) for fields in members)
    ticks = sum(int(field) for fields in members for field in fields[_CPU_TICKS])
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK")
