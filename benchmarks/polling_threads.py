"""Threads that poll their queues and burn CPU time, on cores of their own, and what clocks say.

Threads are compiled and hold no interpreter lock, not even when they read the clocks.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

CORES = 2
# How long a thread sleeps that finds nothing to do, as Storm's do.
SLEEP_NS = 1_000_000
NS_PER_MS, NS_PER_SECOND = 1_000_000, 1_000_000_000
# Threads that are started wait for a common instant.
START_NS = 50 * NS_PER_MS

MONOTONIC = time.CLOCK_MONOTONIC
THREAD_CPU = time.CLOCK_THREAD_CPUTIME_ID

_libc = ctypes.CDLL(None)
_clock_gettime = _libc.clock_gettime
_clock_gettime.argtypes = [ctypes.c_int, ctypes.c_void_p]
_clock_gettime.restype = ctypes.c_int
_clock_nanosleep = getattr(_libc, "clock_nanosleep", _clock_gettime)
_clock_nanosleep.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_clock_nanosleep.restype = ctypes.c_int

Samples = NDArray[np.float64]
# Columns of what a thread records of a job.
DUE, FINISHED, CPU = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """One run of so many threads.

    Attributes:
        sojourn_ms: From when a job was due until it was done, of every job.
        cpu_ms: Mean CPU time of a job.
        load: Cores that jobs kept busy.
        sleep_ms: How long a sleep of a millisecond really took, on average.
        outside: Share of the cores that anything else had, a hypervisor included.
    """

    sojourn_ms: Samples
    cpu_ms: float
    load: float
    sleep_ms: float
    outside: float


@njit(nogil=True)
def _now(clock: int, spec: NDArray[Any]) -> Any:
    _clock_gettime(clock, spec.ctypes.data)
    return spec[0] * NS_PER_SECOND + spec[1]


@njit(nogil=True)
def _burn(loops: int, state: Any) -> Any:
    """Xorshift numbers, each from the last: a compiler would fold linear congruences together."""
    for _ in range(loops):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


@njit(nogil=True)
def _poll(
    begin: int,
    end: int,
    gaps: NDArray[Any],
    loops: NDArray[Any],
    seen: NDArray[Any],
    slept: NDArray[Any],
) -> tuple[int, Any]:
    """Do what is due, and sleep where nothing is, until `end`; the clocks of a job are a row."""
    spec = np.zeros(2, np.int64)
    state = np.uint64(88172645463325252)
    due, count = begin + gaps[0], 0
    while count < len(gaps) - 1:
        now = _now(MONOTONIC, spec)
        if now >= end:
            break
        if due > now:
            spec[0], spec[1] = 0, SLEEP_NS
            _clock_nanosleep(MONOTONIC, 0, spec.ctypes.data, 0)
            slept[0] += 1
            slept[1] += _now(MONOTONIC, spec) - now
            continue
        before = _now(THREAD_CPU, spec)
        state = _burn(loops[count], state)
        seen[count, CPU] = _now(THREAD_CPU, spec) - before
        seen[count, DUE], seen[count, FINISHED] = due, _now(MONOTONIC, spec)
        count += 1
        due += gaps[count]
    return count, state


def find_loops() -> float:
    """Loops of `_burn` that take a millisecond of CPU time on a core of their own."""
    loops, spec = 200_000, np.zeros(2, np.int64)
    state, took = np.uint64(1), []
    for _ in range(50):
        begin = _now(THREAD_CPU, spec)
        state = _burn(loops, state)
        took.append(_now(THREAD_CPU, spec) - begin)
    return float(loops * NS_PER_MS / np.median(took))


def run_threads(
    cpus: Sequence[int],
    threads: int,
    work_ms: float,
    load: float,
    loops_per_ms: float,
    seconds: float,
    repetition: int,
) -> Repetition:
    """Threads with Poisson jobs of exponential CPU times, that load the cores so much in all."""
    draw = np.random.default_rng([threads, repetition, round(100 * load), round(100 * work_ms)])
    gap_ms = threads * work_ms / (CORES * load)
    room = int(2_000 * seconds / gap_ms) + 100
    gaps = (draw.exponential(gap_ms, (threads, room)) * NS_PER_MS).astype(np.int64)
    loops = (draw.exponential(work_ms, (threads, room)) * loops_per_ms).astype(np.int64)
    seen = np.zeros((threads, room, 3), np.int64)
    slept = np.zeros((threads, 2), np.int64)
    begin = time.monotonic_ns() + START_NS
    end = begin + round(seconds * NS_PER_SECOND)
    counts = [0] * threads

    def live(i: int) -> None:
        counts[i], _ = _poll(begin, end, gaps[i], loops[i], seen[i], slept[i])

    started = [threading.Thread(target=live, args=(i,)) for i in range(threads)]
    # What is neither ours nor idle is outside load. Idle time is exact to a kernel tick, whereas
    # the other columns of /proc/stat only count who runs when the tick comes.
    before = np.array([_idle_seconds(cpus), time.process_time(), CORES * time.monotonic()])
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    after = np.array([_idle_seconds(cpus), time.process_time(), CORES * time.monotonic()])
    idle, own, passed = (after - before).tolist()
    rows = np.concatenate([seen[i, :count] for i, count in enumerate(counts)])
    return Repetition(
        sojourn_ms=(rows[:, FINISHED] - rows[:, DUE]) / NS_PER_MS,
        cpu_ms=float(rows[:, CPU].mean()) / NS_PER_MS,
        load=float(rows[:, CPU].sum()) / NS_PER_SECOND / seconds,
        sleep_ms=float(slept[:, 1].sum() / slept[:, 0].sum()) / NS_PER_MS,
        outside=float(max(0.0, 1.0 - (own + idle) / passed)),
    )


def _idle_seconds(cpus: Sequence[int]) -> float:
    """Seconds that the cores were idle or waited for disks (proc(5), /proc/stat)."""
    names = {f"cpu{cpu}" for cpu in cpus}
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    columns = [line.split() for line in lines if line.split()[0] in names]
    ticks = sum(int(idle) + int(waiting) for _, _, _, _, idle, waiting, *_ in columns)
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def own_cores(count: int = CORES) -> Iterator[list[int]]:
    """Keep to the first cores allowed, so that larger machines see the same contention."""
    allowed = os.sched_getaffinity(0)
    chosen = sorted(allowed)[:count]
    os.sched_setaffinity(0, chosen)
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, allowed)
