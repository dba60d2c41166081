"""Threads that share cores: how long services take on this machine, and what two models say.

The stretch of a service is its wall-clock time over its CPU time. Two models predict it. Processor
sharing lets n threads run at the rate min(1, c/n) each. Round robin lets a thread run for one time
slice, then sends it to the end of one queue before all cores; its only parameter, the slice, is
read off the threads themselves (`benchmarks.stretch_threads`). Both are the simulator's own
(`streamgauge.simulation.cores`) where threads sleep.

A repetition is set aside when anything else (other processes, interrupts, a hypervisor that takes
the core away) had more than `OUTSIDE_LIMIT` of the cores, and made up for where time allows; a cell
that keeps fewer than `LEAST_REPETITIONS` is marked and left out of the ratios.
"""

from __future__ import annotations

import heapq
import os
import sys
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
    find_loops,
    own_cores,
    run_busy,
    run_sleeping,
)
from streamgauge.simulation.cores import (
    EVENLY,
    NOBODY,
    Sharing,
    make_cores,
    next_finish,
    start,
    stop_first,
)

THREADS = (1, 2, 3, 4, 6, 8, 12, 16)
LOADS = (0.5, 0.8)
SLEEPERS = 8
REPETITIONS, LEAST_REPETITIONS = 5, 3
OUTSIDE_LIMIT = 0.03
SERVICES = 20_000
SMALL, LARGE = (0.5, 5), (2.0, 7)  # seconds of a repetition, rounds

Key = TypeVar("Key")


def run(*, large: bool) -> list[Entry]:
    """Busy and sleeping threads; nothing where there are too few cores, or no accounts of them."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < CORES:
        return []
    seconds, rounds = LARGE if large else SMALL
    with own_cores() as cpus:
        loops = find_loops()
        busy_cells = {n: partial(run_busy, cpus, n, loops, seconds) for n in THREADS}
        sleeping_cells = {
            (work, load): partial(
                run_sleeping, cpus, SLEEPERS, work, work * _rest(load), loops, seconds
            )
            for work in WORK_MS
            for load in LOADS
        }
        busy, sleeping = _repeat(busy_cells, rounds), _repeat(sleeping_cells, rounds)
    contended = [busy[threads] for threads in THREADS if threads >= 2 * CORES]
    slices = [one.slices_ms for cell in contended for one in _clean(cell) or cell]
    slice_ms = float(np.median(np.concatenate(slices)))
    return [_compare_busy(busy, slice_ms), _compare_sleeping(sleeping, slice_ms)]


def _repeat(
    cells: Mapping[Key, Callable[[int], Repetition]], rounds: int
) -> dict[Key, list[Repetition]]:
    """Every cell until it has its clean repetitions, or for so many rounds.

    In turn, so that a busy minute does not hit one cell alone.
    """
    results: dict[Key, list[Repetition]] = {key: [] for key in cells}
    for _ in range(rounds):
        for key, cell in cells.items():
            if len(_clean(results[key])) < REPETITIONS:
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
            sharing = np.full(1, max(1.0, threads / CORES))
            case = _compare(cells[threads], work, sharing, take_turns(threads, work / slice_ms))
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
        sleeps = np.random.default_rng(1).exponential(rest, SERVICES + SLEEPERS).tolist()
        turns = Sharing(quantum_seconds=slice_ms / work)
        case = entry.cases[name] = _compare(
            repetitions,
            work,
            simulate_sleeping(sleeps, EVENLY),
            simulate_sleeping(sleeps, turns),
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
        "spread": {
            name: float(np.subtract(*np.percentile(values, (75, 25))))
            for name, values in columns.items()
        },
        "services": sum(len(one.stretch[work]) for one in kept),
        "repetitions": len(clean),
        "set aside": len(repetitions) - len(clean),
        "outside load": len(clean) < LEAST_REPETITIONS,
        "outside": _median(one.outside for one in repetitions),
        "conserved": _median(one.conserved for one in kept),
        "processor sharing": _summarise(sharing),
        "round robin": _summarise(turns),
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


def _summarise(stretch: Samples) -> dict[str, float]:
    """Mean and percentiles of the stretches of many services."""
    p50, p95, p99 = np.percentile(stretch, (50, 95, 99)).tolist()
    return {"mean": float(stretch.mean()), "p50": p50, "p95": p95, "p99": p99}


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


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


def simulate_sleeping(sleeps: Sequence[float], sharing: Sharing) -> Samples:
    """Stretch of services of one unit of work, between these sleeps, on the simulator's cores."""
    rest = iter(sleeps)
    cores = make_cores([CORES], [0] * SLEEPERS, sharing=sharing)
    wakes = [(next(rest), thread) for thread in range(SLEEPERS)]
    heapq.heapify(wakes)
    began = [0.0] * SLEEPERS
    stretch: list[float] = []
    while len(stretch) < SERVICES:
        finish = next_finish(cores, 0)
        if wakes and wakes[0][0] <= finish:
            now, thread = heapq.heappop(wakes)
            began[thread] = now
            start(cores, 0, thread, 1.0, now)
            continue
        thread = stop_first(cores, 0, finish)
        if thread != NOBODY:
            stretch.append(finish - began[thread])
            heapq.heappush(wakes, (finish + next(rest), thread))
    return np.array(stretch)


def take_turns(threads: int, slices: float) -> Samples:
    """Stretch of services of so many time slices' work, of threads that are always busy.

    After each slice a thread waits until all others had theirs. A service begins anywhere in one.
    """
    begins = np.linspace(0.0, 1.0, SERVICES, endpoint=False)
    waits = np.floor(begins + slices) * max(threads / CORES - 1.0, 0.0)
    return np.asarray(1.0 + waits / slices)
