"""Threads that share cores: how long services take on this machine, and what two models say.

The stretch of a service is its wall-clock time over its CPU time. Two models predict it. Processor
sharing (`streamgauge.simulation.cores`) lets n threads run at the rate min(1, c/n) each. Round
robin lets a thread run for one time slice, then sends it to the end of one queue before all cores;
its only parameter, the slice, is read off the threads themselves (`benchmarks.stretch_threads`).

A repetition is set aside when anything else (other processes, interrupts, a hypervisor that takes
the core away) had more than `OUTSIDE_LIMIT` of the cores, and made up for where time allows; a cell
that keeps fewer than `LEAST_REPETITIONS` is marked and left out of the ratios.
"""

from __future__ import annotations

import heapq
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import brentq

from benchmarks.report import Entry
from benchmarks.stretch_threads import (
    CORES,
    WORK_MS,
    Repetition,
    Samples,
    are_idle,
    find_loops,
    own_cores,
    run_busy,
    run_sleeping,
)
from streamgauge.simulation.cores import make_cores, next_finish, start, stop_first

THREADS = (1, 2, 3, 4, 6, 8, 12, 16)
LOADS = (0.5, 0.8)
SLEEPERS = 8
REPETITIONS = 5
LEAST_REPETITIONS = 3
OUTSIDE_LIMIT = 0.03
SERVICES = 20_000
PROBE_SECONDS = 0.05
SMALL = (0.5, 5, 2.0)  # seconds of a repetition, rounds, seconds to wait for idle cores
LARGE = (2.0, 7, 20.0)

Key = TypeVar("Key")
Figures = dict[str, float]


def run(*, large: bool) -> list[Entry]:
    """Busy and sleeping threads; nothing where there are too few cores, or no accounts of them."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < CORES:
        return []
    seconds, rounds, patience = LARGE if large else SMALL
    with own_cores() as cpus:
        repeat = partial(_repeat, cpus, rounds=rounds, patience=patience)
        loops = find_loops()
        busy = repeat({n: partial(run_busy, cpus, n, loops, seconds) for n in THREADS})
        sleeping = repeat(
            {
                (work, load): partial(_run_sleeping, cpus, work, load, loops, seconds)
                for work in WORK_MS
                for load in LOADS
            }
        )
    contended = [
        repetition.slices_ms
        for threads in THREADS
        if threads >= 2 * CORES
        for repetition in _clean(busy[threads]) or busy[threads]
    ]
    slice_ms = float(np.median(np.concatenate(contended)))
    return [_compare_busy(busy, slice_ms), _compare_sleeping(sleeping, slice_ms)]


def _run_sleeping(
    cpus: Sequence[int], work: float, load: float, loops: int, seconds: float, number: int
) -> Repetition:
    mean_ms, generator = work * _rest(load), np.random.default_rng(2 + number)

    def draw(shape: tuple[int, int]) -> Samples:
        return generator.exponential(mean_ms, shape)

    return run_sleeping(cpus, SLEEPERS, work, loops, seconds, draw)


def _repeat(
    cpus: Sequence[int],
    cells: Mapping[Key, Callable[[int], Repetition]],
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
                while patience > 0.0 and not are_idle(cpus, PROBE_SECONDS):
                    patience -= PROBE_SECONDS
                results[key].append(cell(len(results[key])))
    return results


def _clean(repetitions: Sequence[Repetition]) -> list[Repetition]:
    return [one for one in repetitions if one.outside <= OUTSIDE_LIMIT]


def _compare_busy(cells: Mapping[int, list[Repetition]], slice_ms: float) -> Entry:
    entry = Entry(
        "stretch, always busy",
        f"services back to back on {CORES} cores, wall-clock over CPU time; model over measured, "
        f"median of the cells with more than {CORES} threads",
    )
    entry.ratios["time slice, ms"] = slice_ms
    for work in WORK_MS:
        contended = []
        for threads in THREADS:
            turns = round_robin(threads, work, slice_ms, [0.0], services=SERVICES // 2)
            sharing = np.full(1, max(1.0, threads / CORES))
            case = _compare(cells[threads], work, sharing, turns)
            entry.cases[f"{threads} threads, {work:g} ms"] = case
            if threads > CORES:
                contended.append(case)
        entry.ratios.update(_ratios(contended, f"{work:g} ms"))
    return entry


def _compare_sleeping(
    cells: Mapping[tuple[float, float], list[Repetition]], slice_ms: float
) -> Entry:
    entry = Entry(
        "stretch, sleeping in between",
        f"{SLEEPERS} threads on {CORES} cores burn and then sleep for exponential times; "
        "stretch counts from the end of the sleep; model over measured",
    )
    for (work, load), repetitions in cells.items():
        rest, name = _rest(load), f"{work:g} ms, load {load:g}"
        sleeps = np.random.default_rng(1).exponential(rest, SERVICES + SLEEPERS)
        case = entry.cases[name] = _compare(
            repetitions,
            work,
            processor_sharing(SLEEPERS, sleeps.tolist()),
            round_robin(SLEEPERS, work, slice_ms, (work * sleeps).tolist(), services=SERVICES),
        )
        case["shared cores, exact mean"] = repairman(SLEEPERS, rest, CORES)[1]
        case["separate cores, exact mean"] = repairman(SLEEPERS // CORES, rest, 1)[1]
        entry.ratios.update(_ratios([case], name))
    return entry


def _compare(
    repetitions: Sequence[Repetition], work: float, sharing: Samples, turns: Samples
) -> dict[str, Any]:
    """What was measured of services of one size, and what both models say."""
    clean = _clean(repetitions)
    kept = clean or repetitions
    measured = [_summarise(one.stretch[work]) for one in kept]
    columns = {name: [one[name] for one in measured] for name in measured[0]}
    return {
        "measured": {name: _median(values) for name, values in columns.items()},
        "spread": {name: _quartile_distance(values) for name, values in columns.items()},
        "services": sum(len(one.stretch[work]) for one in kept),
        "repetitions": len(clean),
        "set aside": len(repetitions) - len(clean),
        "outside load": len(clean) < LEAST_REPETITIONS,
        "outside": _median(one.outside for one in repetitions),
        "steal": _median(one.steal for one in repetitions),
        "cost": _median(one.cost for one in kept),
        "conserved": _median(one.conserved for one in kept),
        "wake_ms": _median(one.wake_ms for one in kept),
        "processor sharing": _summarise(sharing),
        "round robin": _summarise(turns),
    }


def _ratios(cases: Sequence[dict[str, Any]], name: str) -> Figures:
    clean = [case for case in cases if not case["outside load"]]
    return {
        f"{model} / measured, {figure}, {name}": _median(
            case[model][figure] / case["measured"][figure] for case in clean
        )
        for model in ("processor sharing", "round robin")
        for figure in ("mean", "p95")
        if clean
    }


def _summarise(stretch: Samples) -> Figures:
    """Mean and percentiles of the stretches of many services."""
    p50, p95, p99 = np.percentile(stretch, (50, 95, 99)).tolist()
    return {"mean": float(stretch.mean()), "p50": p50, "p95": p95, "p99": p99}


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def _quartile_distance(values: Sequence[float]) -> float:
    low, high = np.percentile(values, (25, 75))
    return float(high - low)


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


def processor_sharing(threads: int, sleeps: Sequence[float]) -> Samples:
    """Stretch of services of one unit of work each, between these sleeps."""
    rest = iter(sleeps)
    cores = make_cores([CORES], [0] * threads)
    wakes = [(next(rest), thread) for thread in range(threads)]
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
            heapq.heappush(wakes, (finish + next(rest), thread))
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
