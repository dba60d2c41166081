"""Threads that share cores: how long services take on this machine, and what two models say.

The stretch of a service is its wall time over its CPU time. Two models predict it. Processor
sharing (`streamgauge.simulation.cores`) lets n threads run at the rate min(1, c/n) each. Round
robin lets a thread run for one time slice, then sends it to the end of one queue before all cores;
its only parameter, the slice, is read off the threads themselves: the CPU time that a thread gets
between two waits.

Threads are compiled and hold no interpreter lock, not even when they read the clocks. A repetition
is set aside when anything else (other processes, interrupts, a hypervisor that takes the core away)
had more than `OUTSIDE_LIMIT` of the cores, and made up for where time allows; a cell that keeps
fewer than `LEAST_REPETITIONS` is marked and left out of the ratios.
"""

from __future__ import annotations

import ctypes
import heapq
import math
import os
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import brentq

from benchmarks.report import Entry
from streamgauge.simulation.cores import make_cores, next_finish, start, stop_first

CORES = 2
THREADS = (1, 2, 3, 4, 6, 8, 12, 16)
WORK_MS = (0.2, 1.0, 5.0, 20.0)
LOADS = (0.5, 0.8)
SLEEPERS = 8
STEP_MS = 0.05
REPETITIONS = 5
LEAST_REPETITIONS = 3
OUTSIDE_LIMIT = 0.03
SERVICES = 20_000
PROBE_SECONDS = 0.05
SMALL = (0.5, 5, 2.0)  # seconds of a repetition, rounds, seconds to wait for idle cores
LARGE = (2.0, 7, 20.0)

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
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Wall time over CPU time of a service: what most see, and what few see."""

    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """One run of a cell.

    Attributes:
        stretch: Of every service, by its work in milliseconds.
        cost: CPU time of the median service over the work it was calibrated to.
        slices_ms: CPU time between two waits of a thread.
        used: Share of the cores that the threads had.
        outside: Share of the cores that anything else had, `steal` included.
        steal: Share of the cores that the hypervisor took.
        fairness: CPU time of the thread that had least, over that of the one that had most.
        conserved: CPU time of the threads over what they would have had on cores that never idle
            while somebody waits.
        wake_ms: A tenth of the sleeps ended at most that late: what waking costs by itself.
    """

    stretch: dict[float, Samples]
    cost: float
    slices_ms: Samples
    used: float
    outside: float
    steal: float
    fairness: float
    conserved: float
    wake_ms: float


def run(*, large: bool) -> list[Entry]:
    """The entries of this module; none where the cores or Linux's accounts of them are missing."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < CORES:
        return []
    seconds, rounds, patience = LARGE if large else SMALL
    with _cores_of_our_own() as cpus:
        step = _calibrated_loops()
        closed = _repeat(
            cpus,
            {n: partial(_run_closed, cpus, n, step, seconds) for n in THREADS},
            rounds=rounds,
            patience=patience,
        )
        opened = _repeat(
            cpus,
            {
                (work, load): partial(_run_open, cpus, work, load, step, seconds)
                for work in WORK_MS
                for load in LOADS
            },
            rounds=rounds,
            patience=patience,
        )
    contended = [
        r.slices_ms for n in THREADS if n >= 2 * CORES for r in _clean(closed[n]) or closed[n]
    ]
    quantum = float(np.median(np.concatenate(contended)))
    return [_closed_entry(closed, quantum), _open_entry(opened, quantum)]


def _closed_entry(cells: dict[int, list[Repetition]], quantum: float) -> Entry:
    cases = {}
    for threads in THREADS:
        for work in WORK_MS:
            sharing = max(1.0, threads / CORES)
            cases[f"{threads} threads, {work:g} ms"] = _case(
                cells[threads],
                work,
                sharing=Stretch(mean=sharing, p50=sharing, p95=sharing, p99=sharing),
                turns=summary(
                    round_robin(threads, work, quantum, [0.0], services=SERVICES // 2),
                ),
            )
    ratios = {"time slice, ms": quantum}
    for work in WORK_MS:
        chosen = [cases[f"{n} threads, {work:g} ms"] for n in THREADS if n > CORES]
        ratios |= _ratios(chosen, f"{work:g} ms")
    return Entry(
        name="stretch, always busy",
        about=f"services back to back on {CORES} cores, wall over CPU time; model over measured, "
        f"median of the cells with more than {CORES} threads",
        cases=cases,
        ratios=ratios,
    )


def _open_entry(cells: dict[tuple[float, float], list[Repetition]], quantum: float) -> Entry:
    cases = {}
    ratios: dict[str, float] = {}
    sharing = {load: summary(processor_sharing(SLEEPERS, load)) for load in LOADS}
    for (work, load), repetitions in cells.items():
        sleeps = _sleeps(work, load, SERVICES, seed=1)
        case = _case(
            repetitions,
            work,
            sharing=sharing[load],
            turns=summary(round_robin(SLEEPERS, work, quantum, sleeps, services=SERVICES)),
        )
        name = f"{work:g} ms, load {load:g}"
        cases[name] = case | {
            "shared cores, exact mean": repairman(SLEEPERS, _rest(load), CORES)[1],
            "separate cores, exact mean": repairman(SLEEPERS // CORES, _rest(load), 1)[1],
        }
        ratios |= _ratios([case], name)
    return Entry(
        name="stretch, sleeping in between",
        about=f"{SLEEPERS} threads on {CORES} cores burn and then sleep for exponential times; "
        "stretch counts from the end of the sleep; model over measured",
        cases=cases,
        ratios=ratios,
    )


def _case(
    repetitions: Sequence[Repetition], work: float, *, sharing: Stretch, turns: Stretch
) -> dict[str, Any]:
    clean = _clean(repetitions)
    kept = clean or repetitions
    seen = [summary(r.stretch[work]) for r in kept]
    measured = {name: _median(getattr(s, name) for s in seen) for name in asdict(seen[0])}
    return {
        "measured": measured,
        "spread": {name: _quartile_distance([getattr(s, name) for s in seen]) for name in measured},
        "services": sum(len(r.stretch[work]) for r in kept),
        "repetitions": len(clean),
        "set aside": len(repetitions) - len(clean),
        "outside load": len(clean) < LEAST_REPETITIONS,
        "outside": _median(r.outside for r in repetitions),
        "steal": _median(r.steal for r in repetitions),
        "used": _median(r.used for r in kept),
        "cost": _median(r.cost for r in kept),
        "fairness": _median(r.fairness for r in kept),
        "conserved": _median(r.conserved for r in kept),
        "wake_ms": _median(r.wake_ms for r in kept),
        "processor sharing": asdict(sharing),
        "round robin": asdict(turns),
    }


def _ratios(cases: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    clean = [case for case in cases if not case["outside load"]]
    return {
        f"{model} / measured, {figure}, {name}": _median(
            case[model][figure] / case["measured"][figure] for case in clean
        )
        for model in ("processor sharing", "round robin")
        for figure in ("mean", "p95")
        if clean
    }


def summary(stretch: Samples) -> Stretch:
    """Mean and percentiles of the stretches of many services."""
    p50, p95, p99 = (float(p) for p in np.percentile(stretch, (50, 95, 99)))
    return Stretch(mean=float(stretch.mean()), p50=p50, p95=p95, p99=p99)


def _median(values: Iterator[float]) -> float:
    return float(statistics.median(values))


def _quartile_distance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return math.nan
    quartiles = statistics.quantiles(values, n=4)
    return quartiles[2] - quartiles[0]


def repairman(threads: int, rest: float, cores: int) -> tuple[float, float]:
    """Utilisation of the cores and mean stretch under processor sharing, exactly.

    Machine repairman: a thread rests for `rest` times its work on average, then shares the cores.
    Only the mean of the work matters (Baskett, Chandy, Muntz and Palacios 1975).
    """
    weight, weights = 1.0, [1.0]
    for busy in range(threads):
        weight *= (threads - busy) / (rest * min(busy + 1, cores))
        weights.append(weight)
    share = np.array(weights) / sum(weights)
    running = np.arange(threads + 1)
    used = float(share @ np.minimum(running, cores))
    return used / cores, float(share @ running) / used


def _rest(load: float) -> float:
    """Mean sleep, in units of the work, that loads the cores that much."""
    return float(brentq(lambda rest: repairman(SLEEPERS, rest, CORES)[0] - load, 1e-3, 1e4))


def _sleeps(work: float, load: float, count: int, *, seed: int) -> list[float]:
    mean = work * _rest(load)
    drawn: list[float] = np.random.default_rng(seed).exponential(mean, count).tolist()
    return drawn


def processor_sharing(threads: int, load: float) -> Samples:
    """Stretch of services of the same work between exponential sleeps; its size does not matter."""
    sleeps = iter(_sleeps(1.0, load, SERVICES + threads, seed=1))
    cores = make_cores([CORES], [0] * threads)
    wakes = [(next(sleeps), thread) for thread in range(threads)]
    heapq.heapify(wakes)
    began = [0.0] * threads
    stretch: list[float] = []
    while len(stretch) < SERVICES:
        finish = next_finish(cores, 0)
        if wakes and wakes[0][0] <= finish:
            now, thread = heapq.heappop(wakes)
            began[thread] = now
            start(cores, 0, thread, 1.0, now)
        else:
            thread = stop_first(cores, 0, finish)
            stretch.append(finish - began[thread])
            heapq.heappush(wakes, (finish + next(sleeps), thread))
    return np.array(stretch)


def round_robin(
    threads: int, work: float, quantum: float, sleeps: Sequence[float], *, services: int
) -> Samples:
    """Stretch of services of the same work when cores serve one queue in turns of a time slice.

    Args:
        threads: How many there are; all sleep at first.
        work: Of one service, in the unit of all times.
        quantum: Longest turn. Who still has work afterwards queues anew; a thread that does not
            sleep keeps the rest of its turn for the next service.
        sleeps: How long threads sleep after a service, used in turn.
        services: How many to record.
    """
    rest = [sleeps[i % len(sleeps)] for i in range(services + threads)]
    # Threads that never sleep come in one by one, or the cores would change hands in step.
    wakes = [(rest.pop() + quantum * i / threads, i) for i in range(threads)]
    heapq.heapify(wakes)
    turns: list[tuple[float, int, float]] = []  # end of a turn, thread, what is left of its slice
    queue: deque[int] = deque()
    left = [work] * threads
    began = [0.0] * threads
    stretch: list[float] = []
    now = 0.0

    def give(thread: int, turn: float) -> None:
        runs = min(turn, left[thread])
        left[thread] -= runs
        heapq.heappush(turns, (now + runs, thread, turn - runs))

    while len(stretch) < services:
        if wakes and (not turns or wakes[0][0] <= turns[0][0]):
            now, thread = heapq.heappop(wakes)
            began[thread] = now
            queue.append(thread)
        else:
            now, thread, turn = heapq.heappop(turns)
            if left[thread] <= 1e-9 * work:
                stretch.append((now - began[thread]) / work)
                left[thread] = work
                sleep = rest.pop()
                if sleep > 0.0:
                    heapq.heappush(wakes, (now + sleep, thread))
                    turn = math.nan
                else:
                    began[thread] = now
            if turn > 1e-9 * quantum:
                give(thread, turn)
            elif not math.isnan(turn):
                queue.append(thread)
        while queue and len(turns) < CORES:
            give(queue.popleft(), quantum)
    return np.array(stretch)


@njit(nogil=True)
def _now(clock: int, spec: NDArray[Any]) -> Any:
    _clock_gettime(clock, spec.ctypes.data)
    return spec[0] * 1_000_000_000 + spec[1]


@njit(nogil=True)
def _sleep_until(instant: int, spec: NDArray[Any]) -> None:
    spec[0] = instant // 1_000_000_000
    spec[1] = instant % 1_000_000_000
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
    """Sleep and burn until `end`; rows of `seen`: due, awake, finished, CPU time."""
    spec = np.zeros(2, np.int64)
    state = np.uint64(88172645463325252)
    due = begin
    count = 0
    while count < len(sleeps):
        due += sleeps[count]
        if due >= end:
            break
        _sleep_until(due, spec)
        seen[count, 0] = due
        seen[count, 1] = _now(MONOTONIC, spec)
        before = _now(THREAD_CPU, spec)
        state = _burn(loops, state)
        seen[count, 3] = _now(THREAD_CPU, spec) - before
        due = _now(MONOTONIC, spec)
        seen[count, 2] = due
        count += 1
    return count, state


def _calibrated_loops() -> int:
    """Loops of `_burn` that need one step of CPU time on a core of their own."""
    loops = 50_000
    wall, cpu = np.zeros(1_000, np.int64), np.zeros(1_000, np.int64)
    _burn_and_sleep(loops, 0, 0, np.zeros(1, np.int64), np.zeros((1, 4), np.int64))  # compiled
    _burn_steps(loops, 0, 1, wall, cpu)
    count, _ = _burn_steps(loops, 0, time.monotonic_ns() + 300_000_000, wall, cpu)
    return round(loops * STEP_MS * 1e6 / float(np.median(np.diff(cpu[:count]))))


def _run_closed(
    cpus: Sequence[int], threads: int, loops: int, seconds: float, repetition: int
) -> Repetition:
    """Threads that are always busy.

    Nothing happens between two services, so a service of more work is several steps in a row: one
    run serves all sizes, with a service beginning at every step.
    """
    del repetition  # nothing is drawn
    room = int(4_000 * seconds / STEP_MS)
    wall, cpu = np.zeros((threads, room), np.int64), np.zeros((threads, room), np.int64)
    begin = time.monotonic_ns() + 20_000_000
    end = begin + round(seconds * 1e9)
    counts = [0] * threads

    def thread(i: int) -> None:
        counts[i], _ = _burn_steps(loops, begin, end, wall[i], cpu[i])

    account = _watched(cpus, threads, thread)
    stretch = {}
    for work in WORK_MS:
        steps = round(work / STEP_MS)
        parts = [
            (wall[i, steps:k] - wall[i, : k - steps]) / (cpu[i, steps:k] - cpu[i, : k - steps])
            for i, k in enumerate(counts)
            if k > steps
        ]
        stretch[work] = np.concatenate(parts)
    steps_cpu = [np.diff(cpu[i, :k]) for i, k in enumerate(counts)]
    slices = []
    for i, k in enumerate(counts):
        waited = np.diff(wall[i, :k]) - steps_cpu[i] > 2e6 * STEP_MS
        slices.append(np.diff(cpu[i, 1:k][waited]) / 1e6)
    had = [float(cpu[i, k - 1] - cpu[i, 0]) for i, k in enumerate(counts)]
    return Repetition(
        stretch=stretch,
        cost=float(np.median(np.concatenate(steps_cpu))) / (1e6 * STEP_MS),
        slices_ms=np.concatenate(slices),
        fairness=min(had) / max(had),
        conserved=sum(had) / (min(threads, CORES) * seconds * 1e9),
        wake_ms=math.nan,
        **account,
    )


def _run_open(
    cpus: Sequence[int], work: float, load: float, loops: int, seconds: float, repetition: int
) -> Repetition:
    """Threads that burn, then sleep for exponential times."""
    room = int(4_000 * seconds / work)
    seen = np.zeros((SLEEPERS, room, 4), np.int64)
    sleeps = np.array(_sleeps(1e6 * work, load, SLEEPERS * room, seed=2 + repetition)).astype(
        np.int64
    )
    begin = time.monotonic_ns() + 20_000_000
    counts = [0] * SLEEPERS

    def thread(i: int) -> None:
        _libc.prctl(SET_TIMER_SLACK, 1)
        counts[i], _ = _burn_and_sleep(
            round(loops * work / STEP_MS),
            begin,
            begin + round(seconds * 1e9),
            sleeps[i * room : (i + 1) * room],
            seen[i],
        )

    account = _watched(cpus, SLEEPERS, thread)
    rows = np.concatenate([seen[i, :k] for i, k in enumerate(counts)])
    had = [float(seen[i, :k, 3].sum()) for i, k in enumerate(counts)]
    return Repetition(
        stretch={work: (rows[:, 2] - rows[:, 0]) / rows[:, 3]},
        cost=float(np.median(rows[:, 3])) / (1e6 * work),
        slices_ms=np.zeros(0),
        fairness=min(had) / max(had),
        conserved=float(rows[:, 3].sum()) / _wanted(rows),
        wake_ms=float(np.percentile(rows[:, 1] - rows[:, 0], 10)) / 1e6,
        **account,
    )


def _wanted(rows: NDArray[np.int64]) -> float:
    """Integral over time of how many cores the threads that were due could have used."""
    instants = np.concatenate([rows[:, 0], rows[:, 2]])
    order = np.argsort(instants)
    present = np.cumsum(np.repeat([1, -1], len(rows))[order])
    return float(np.minimum(present[:-1], CORES) @ np.diff(instants[order]))


def _watched(cpus: Sequence[int], threads: int, work: Callable[[int], None]) -> dict[str, float]:
    """Run `work` in so many threads; who had which share of the cores meanwhile.

    What is neither ours nor idle is outside load. Idle time is exact to a kernel tick, whereas the
    other columns only count who runs when the tick comes.
    """
    started = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    idle, steal = _idle_and_steal(cpus)
    own = time.process_time()
    begin = time.monotonic()
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    passed = CORES * (time.monotonic() - begin)
    own = time.process_time() - own
    idle_after, steal_after = _idle_and_steal(cpus)
    return {
        "used": own / passed,
        "outside": max(0.0, 1.0 - (own + idle_after - idle) / passed),
        "steal": (steal_after - steal) / passed,
    }


def _idle_and_steal(cpus: Sequence[int]) -> tuple[float, float]:
    """Seconds that the cores were idle, and that a hypervisor kept them (proc(5), /proc/stat)."""
    tick = 1.0 / os.sysconf("SC_CLK_TCK")
    idle = steal = 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *columns = line.split()
        if name in {f"cpu{cpu}" for cpu in cpus}:
            idle += int(columns[3]) + int(columns[4])
            steal += int(columns[7])
    return idle * tick, steal * tick


@contextmanager
def _cores_of_our_own() -> Iterator[list[int]]:
    """Keep to the first cores allowed, so that larger machines see the same contention."""
    allowed = os.sched_getaffinity(0)
    chosen = sorted(allowed)[:CORES]
    os.sched_setaffinity(0, chosen)
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, allowed)


def _repeat(
    cpus: Sequence[int],
    cells: dict[Key, Callable[[int], Repetition]],
    *,
    rounds: int,
    patience: float,
) -> dict[Key, list[Repetition]]:
    """Every cell until it has its clean repetitions, or for so many rounds.

    In turn, so that a busy minute does not hit one cell alone, and each when the cores are idle, as
    long as `patience` (seconds, for all cells together) lasts.
    """
    results: dict[Key, list[Repetition]] = {key: [] for key in cells}
    for _ in range(rounds):
        for key, cell in cells.items():
            if len(_clean(results[key])) < REPETITIONS:
                while patience > 0.0 and not _are_idle(cpus):
                    patience -= PROBE_SECONDS
                results[key].append(cell(len(results[key])))
    return results


def _are_idle(cpus: Sequence[int]) -> bool:
    idle, _ = _idle_and_steal(cpus)
    time.sleep(PROBE_SECONDS)
    return _idle_and_steal(cpus)[0] - idle > 0.8 * CORES * PROBE_SECONDS


def _clean(repetitions: Sequence[Repetition]) -> list[Repetition]:
    return [r for r in repetitions if r.outside <= OUTSIDE_LIMIT]
