"""Work in a process of its own: its answer, its time, and what all its processes used.

Memory is what the process and all that it starts hold at once (resident sets), looked at often.
Pages that several of them share count once for each, so that the figure is rather too high. CPU
time hardly depends on what else runs on the machine, as wall time does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK_EVERY_SECONDS = 0.25
_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process and all below it use.

    Attributes:
        resident_bytes: Memory that they hold now.
        cpu_seconds: CPU time that they, and those of them that ended, had so far.
    """

    resident_bytes: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a process came to.

    Attributes:
        answer: The document that it wrote last.
        seconds: From its start to its end.
        peak_bytes: Most that it and its children held at once; nothing where that is not known.
    """

    answer: dict[str, Any]
    seconds: float
    peak_bytes: int | None


class WorkFailed(Exception):
    """A process ended with an error."""


class Stopwatch:
    """Wall and CPU time of this process and all below it, from here on."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._before = usage(os.getpid())

    def read(self) -> dict[str, float | None]:
        """Seconds since it was made."""
        seconds, now = time.perf_counter() - self._begin, usage(os.getpid())
        if now is None or self._before is None:
            return {"seconds": seconds, "cpu_seconds": None}
        return {"seconds": seconds, "cpu_seconds": now.cpu_seconds - self._before.cpu_seconds}


def run_apart(module: str, *arguments: str) -> Outcome:
    """Run a module with arguments; its last line is a JSON document.

    Raises:
        WorkFailed: It ended with an error.
    """
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peaks: list[int] = []
    looking = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
    looking.start()
    written, errors = process.communicate()
    seconds = time.perf_counter() - begin
    looking.join()
    if process.returncode:
        raise WorkFailed(f"{module} {' '.join(arguments)}: {errors.strip()[-2000:]}")
    return Outcome(
        answer=json.loads(written.splitlines()[-1]),
        seconds=seconds,
        peak_bytes=max(peaks, default=None),
    )


def _watch(process: subprocess.Popen[str], peaks: list[int]) -> None:
    while process.poll() is None:
        held = usage(process.pid)
        if held is None:
            return
        peaks.append(held.resident_bytes)
        time.sleep(LOOK_EVERY_SECONDS)


def usage(root: int) -> Usage | None:
    """What a process and all below it use; nothing where the system does not say."""
    if not _PROCESSES.is_dir():
        return None
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for place in _PROCESSES.iterdir():
        if not place.name.isdigit():
            continue
        try:
            # The name in the second field may hold blanks and brackets.
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(place.name)
        parents[number], pages[number] = int(fields[1]), int(fields[21])
        # Its own, and those of its children that ended.
        ticks[number] = sum(int(field) for field in fields[11:15])
    below = {root}
    size = 0
    while len(below) > size:
        size = len(below)
        below |= {one for one, parent in parents.items() if parent in below}
    return Usage(
        resident_bytes=sum(pages.get(one, 0) for one in below) * os.sysconf("SC_PAGE_SIZE"),
        cpu_seconds=sum(ticks.get(one, 0) for one in below) / os.sysconf("SC_CLK_TCK"),
    )
