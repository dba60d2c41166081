"""Threads that burn CPU time on cores of their own, and what their clocks say.

Threads are compiled and hold no interpreter lock, not even when they read the clocks.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

CORES = 2
WORK_MS = (0.2, 1.0, 5.0, 20.0)
STEP_MS = 0.05
NS_PER_MS, NS_PER_SECOND = 1_000_000, 1_000_000_000
# Threads that are started wait for a common instant.
START_NS = 20 * NS_PER_MS

MONOTONIC = time.CLOCK_MONOTONIC
THREAD_CPU = time.CLOCK_THREAD_CPUTIME_ID
SET_TIMER_SLACK = 29  # prctl's name for it; the default would let sleeps end 50 µs late

_libc = ctypes.CDLL(None)
_clock_gettime = _libc.clock_gettime
_clock_gettime.argtypes = [ctypes.c_int, ctypes.c_void_p]
_clock_gettime.restype = ctypes.c_int
_clock_nanosleep = getattr(_libc, "clock_nanosleep", _clock_gettime)
_clock_nanosleep.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_clock_nanosleep.restype = ctypes.c_int

Samples = NDArray[np.float64]
# Columns of what a sleeping thread records of a service.
DUE, FINISHED, CPU = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """One run of so many threads.

    Attributes:
        stretch: Of every service, by its work in milliseconds.
        slices_ms: CPU time between two waits of a thread.
        conserved: CPU time of the threads over what they would have had on cores that never idle
            while a thread waits.
        outside: Share of the cores that anything else had, a hypervisor included.
    """

    stretch: dict[float, Samples]
    slices_ms: Samples
    conserved: float
    outside: float


@njit(nogil=True)
def _now(clock: int, spec: NDArray[Any]) -> Any:
    _clock_gettime(clock, spec.ctypes.data)
    return spec[0] * NS_PER_SECOND + spec[1]


@njit(nogil=True)
def _sleep_until(instant: int, spec: NDArray[Any]) -> None:
    spec[0] = instant // NS_PER_SECOND
    spec[1] = instant % NS_PER_SECOND
    _clock_nanosleep(MONOTONIC, 1, spec.ctypes.data, 0)


@njit(nogil=True)
def _burn(loops: int, state: Any) -> Any:
    """Xorshift numbers, each from the last: a compiler would fold linear congruences together."""
    for _ in range(loops):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


@njit(nogil=True)
def _burn_steps(
    loops: int, begin: int, end: int, wall: NDArray[Any], cpu: NDArray[Any]
) -> tuple[int, Any]:
    """Burn step after step until `end`; both clocks after each, and how many readings there are."""
    spec = np.zeros(2, np.int64)
    state = np.uint64(88172645463325252)
    _sleep_until(begin, spec)
    count = 0
    while count < len(wall):
        cpu[count] = _now(THREAD_CPU, spec)
        wall[count] = _now(MONOTONIC, spec)
        if wall[count] >= end:
            break
        count += 1
        state = _burn(loops, state)
    return count, state


@njit(nogil=True)
def _burn_and_sleep(
    loops: int, begin: int, end: int, sleeps: NDArray[Any], seen: NDArray[Any]
) -> tuple[int, Any]:
    """Sleep and burn until `end`; the clocks of each service are a row of `seen`."""
    spec = np.zeros(2, np.int64)
    state = np.uint64(88172645463325252)
    due = begin
    count = 0
    while count < len(sleeps):
        due += sleeps[count]
        if due >= end:
            break
        _sleep_until(due, spec)
        seen[count, DUE] = due
        before = _now(THREAD_CPU, spec)
        state = _burn(loops, state)
        seen[count, CPU] = _now(THREAD_CPU, spec) - before
        due = _now(MONOTONIC, spec)
        seen[count, FINISHED] = due
        count += 1
    return count, state


def find_loops() -> int:
    """Loops of `_burn` that need one step of CPU time on a core of their own."""
    loops = 50_000
    wall, cpu = np.zeros(1_000, np.int64), np.zeros(1_000, np.int64)
    _burn_and_sleep(loops, 0, 0, np.zeros(1, np.int64), np.zeros((1, 3), np.int64))  # compiled
    _burn_steps(loops, 0, 1, wall, cpu)
    count, _ = _burn_steps(loops, 0, time.monotonic_ns() + 300 * NS_PER_MS, wall, cpu)
    return round(loops * STEP_MS * NS_PER_MS / float(np.median(np.diff(cpu[:count]))))


def run_busy(
    cpus: Sequence[int], threads: int, loops: int, seconds: float, repetition: int
) -> Repetition:
    """Threads that are always busy.

    Nothing happens between two services, so a service of more work is several steps in a row: one
    run serves all sizes, with a service beginning at every step.
    """
    del repetition  # nothing is drawn
    room = int(4_000 * seconds / STEP_MS)
    clocks = np.zeros((threads, 2, room), np.int64)
    begin = time.monotonic_ns() + START_NS
    end = begin + round(seconds * NS_PER_SECOND)
    counts = [0] * threads

    def burn(i: int) -> None:
        counts[i], _ = _burn_steps(loops, begin, end, *clocks[i])

    outside = _watch(cpus, threads, burn)
    read = [clocks[i, :, :count] for i, count in enumerate(counts)]
    stretch = {}
    for work in WORK_MS:
        steps = round(work / STEP_MS)
        passed = [both[:, steps:] - both[:, :-steps] for both in read if both.shape[1] > steps]
        # On crowded cores no thread may come to the end of a long service.
        stretch[work] = np.concatenate([wall / cpu for wall, cpu in passed] or [[np.nan]])
    slices = []
    for both in read:
        wall, cpu = np.diff(both)
        waited = wall - cpu > 2 * NS_PER_MS * STEP_MS
        slices.append(np.diff(both[1, 1:][waited]) / NS_PER_MS)
    used = sum(float(cpu[-1] - cpu[0]) for _, cpu in read)
    return Repetition(
        stretch=stretch,
        slices_ms=np.concatenate(slices),
        conserved=used / (min(threads, CORES) * seconds * NS_PER_SECOND),
        outside=outside,
    )


def run_sleeping(
    cpus: Sequence[int],
    threads: int,
    work: float,
    mean_sleep: float,
    loops: int,
    seconds: float,
    repetition: int,
) -> Repetition:
    """Threads that burn `work` milliseconds, then sleep for exponential times."""
    room = int(4_000 * seconds / work)
    seen = np.zeros((threads, room, 3), np.int64)
    drawn = np.random.default_rng(2 + repetition).exponential(mean_sleep, (threads, room))
    sleeps = (NS_PER_MS * drawn).astype(np.int64)
    begin = time.monotonic_ns() + START_NS
    end = begin + round(seconds * NS_PER_SECOND)
    counts = [0] * threads

    def burn(i: int) -> None:
        _libc.prctl(SET_TIMER_SLACK, 1)
        steps = round(loops * work / STEP_MS)
        counts[i], _ = _burn_and_sleep(steps, begin, end, sleeps[i], seen[i])

    outside = _watch(cpus, threads, burn)
    rows = np.concatenate([seen[i, :count] for i, count in enumerate(counts)])
    return Repetition(
        stretch={work: (rows[:, FINISHED] - rows[:, DUE]) / rows[:, CPU]},
        slices_ms=np.zeros(0),
        conserved=float(rows[:, CPU].sum()) / _usable(rows),
        outside=outside,
    )


def _usable(rows: NDArray[np.int64]) -> float:
    """Integral over time of how many cores the threads that were due could have used."""
    instants = np.concatenate([rows[:, DUE], rows[:, FINISHED]])
    order = np.argsort(instants)
    present = np.cumsum(np.repeat([1, -1], len(rows))[order])
    return float(np.minimum(present[:-1], CORES) @ np.diff(instants[order]))


def _watch(cpus: Sequence[int], threads: int, work: Callable[[int], None]) -> float:
    """Run `work` in so many threads; gives the share of the cores that others had meanwhile.

    What is neither ours nor idle is outside load. Idle time is exact to a kernel tick, whereas the
    other columns only count who runs when the tick comes.
    """
    started = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    before = np.array([_idle_seconds(cpus), time.process_time(), CORES * time.monotonic()])
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    after = np.array([_idle_seconds(cpus), time.process_time(), CORES * time.monotonic()])
    idle, own, passed = (after - before).tolist()
    return float(max(0.0, 1.0 - (own + idle) / passed))


def _idle_seconds(cpus: Sequence[int]) -> float:
    """Seconds that the cores were idle or waited for disks (proc(5), /proc/stat)."""
    names = {f"cpu{cpu}" for cpu in cpus}
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    columns = [line.split() for line in lines if line.split()[0] in names]
    ticks = sum(int(idle) + int(waiting) for _, _, _, _, idle, waiting, *_ in columns)
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def own_cores() -> Iterator[list[int]]:
    """Keep to the first cores allowed, so that larger machines see the same contention."""
    allowed = os.sched_getaffinity(0)
    chosen = sorted(allowed)[:CORES]
    os.sched_setaffinity(0, chosen)
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, allowed)
