"""Threads that share cores: how long jobs take on this machine, and what models say.

Threads have queues of their own, Poisson arrivals, exponential CPU times, and sleep a millisecond
where nothing is due, as a streaming engine's do. Measured is the sojourn time of a job, from when
it was due. The simulator's rule (`streamgauge.simulation.cores`) is tried with the usual balancing
interval, with threads that stay on their core, and with cores that all threads share; the formulas
(`cpu_contention`, `crowding`) with the usual interval.

A repetition is set aside when anything else (other processes, interrupts, a hypervisor that takes
the core away) had more than `OUTSIDE_LIMIT` of the cores, and made up for where time allows; a cell
that keeps fewer than `LEAST_REPETITIONS` is marked and left out of the ratios.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from benchmarks.polling_threads import (
    CORES,
    Repetition,
    Samples,
    find_loops,
    own_cores,
    run_threads,
)
from benchmarks.report import Entry
from streamgauge.models import transforms
from streamgauge.models.cpu_contention import contention
from streamgauge.models.crowding import PROBABILITIES, find_variation, level_factors
from streamgauge.models.machine_threads import Machines, Threads
from streamgauge.models.queueing import BulkQueue, Setup, sojourn_transform, wait
from streamgauge.simulation.cores import make_cores, next_finish, start, stop_first
from streamgauge.simulation.random_streams import exponential, make_streams, uniform
from streamgauge.topology.cluster import USUAL_BALANCE_MS

THREADS = (4, 8, 16)
LOADS = (0.3, 0.5, 0.7)
WORK_MS = (0.2, 1.0, 5.0)
REPETITIONS, LEAST_REPETITIONS = 5, 3
OUTSIDE_LIMIT = 0.03
JOBS = 60_000
SMALL, LARGE = (1.0, 6), (5.0, 8)  # seconds of a repetition, rounds
INTERVALS_MS = {"simulated": USUAL_BALANCE_MS, "cores of their own": 1e9, "shared cores": 0.0}
FIGURES = ("mean", "p95", "p99")

Cell = tuple[int, float, float]


def run(*, large: bool) -> list[Entry]:
    """All cells; nothing where there are too few cores, or no accounts of them."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < CORES:
        return []
    seconds, rounds = LARGE if large else SMALL
    cells = [(n, load, work) for n in THREADS for load in LOADS for work in WORK_MS]
    results: dict[Cell, list[Repetition]] = {cell: [] for cell in cells}
    with own_cores() as cpus:
        loops = find_loops()
        run_threads(cpus, 2, 1.0, 0.1, loops, 0.2, 0)  # compiled
        for number in range(rounds):
            # In turn, so that a busy minute does not hit one cell alone.
            for threads, load, work in cells:
                done = results[threads, load, work]
                if len(_clean(done)) < REPETITIONS:
                    done.append(run_threads(cpus, threads, work, load, loops, seconds, number))
    entry = Entry(
        "threads that share cores",
        f"sojourn times of jobs on {CORES} cores; model over measured, median of cells",
    )
    for cell, repetitions in results.items():
        threads, load, work = cell
        entry.cases[f"{threads} threads, load {load:g}, {work:g} ms"] = _compare(cell, repetitions)
    clean = [case for case in entry.cases.values() if not case["outside load"]]
    for model in (*INTERVALS_MS, "formulas"):
        for figure in FIGURES:
            ratios = [case[model][figure] / case["measured"][figure] for case in clean]
            if ratios:
                entry.ratios[f"{model} / measured, {figure}"] = float(np.median(ratios))
                entry.ratios[f"… lowest, {model}, {figure}"] = float(np.min(ratios))
                entry.ratios[f"… highest, {model}, {figure}"] = float(np.max(ratios))
    return [entry]


def _clean(repetitions: Sequence[Repetition]) -> list[Repetition]:
    return [one for one in repetitions if one.outside <= OUTSIDE_LIMIT]


def _compare(cell: Cell, repetitions: Sequence[Repetition]) -> dict[str, Any]:
    """What was measured in one cell, and what the models say of the load that really came."""
    threads, _, _ = cell
    clean = _clean(repetitions)
    kept = clean or repetitions
    measured = [_summarise(one.sojourn_ms) for one in kept]
    columns = {name: [one[name] for one in measured] for name in FIGURES}
    load, work, sleep = (
        float(np.mean([getattr(one, name) for one in kept]))
        for name in ("load", "cpu_ms", "sleep_ms")
    )
    return {
        "measured": {name: float(np.median(values)) for name, values in columns.items()},
        "spread": {
            name: float(np.subtract(*np.percentile(values, (75, 25))))
            for name, values in columns.items()
        },
        "jobs": sum(len(one.sojourn_ms) for one in kept),
        "load": load,
        "sleep, ms": sleep,
        "repetitions": len(clean),
        "set aside": len(repetitions) - len(clean),
        "outside load": len(clean) < LEAST_REPETITIONS,
        "formulas": predict_sojourns(threads, load, work, sleep),
        **{
            name: _summarise(simulate_sojourns(threads, load, work, sleep, interval))
            for name, interval in INTERVALS_MS.items()
        },
    }


def _summarise(sojourns: Samples) -> dict[str, float]:
    p95, p99 = np.percentile(sojourns, (95, 99)).tolist()
    return {"mean": float(sojourns.mean()), "p95": p95, "p99": p99}


def predict_sojourns(
    threads: int, load: float, work_ms: float, sleep_ms: float
) -> dict[str, float]:
    """Mean and percentiles in milliseconds, by formulas."""
    each = np.full(threads, load / threads)
    crowd = Threads(
        machine=np.zeros(threads, dtype=np.int64),
        rate=each / work_ms,
        cpu_seconds=np.full(threads, work_ms),
        wait_seconds=np.zeros(threads),
        polls=np.zeros(threads, dtype=bool),
    )
    machines = Machines(
        cores=np.array([float(CORES)]),
        background_cores=np.zeros(1),
        balance_seconds=np.array([USUAL_BALANCE_MS]),
    )
    found = contention(crowd, machines)
    factors = level_factors(find_variation(crowd, machines, found))
    rate, ones = crowd.rate[:1], np.ones(1)
    services = work_ms * found.stretch[0] * factors.ravel()
    queues = [
        BulkQueue(
            batches_per_second=rate,
            service_seconds=service * ones,
            service_scv=ones,
            setup=Setup.sleep(sleep_ms, rate),
        )
        for service in services
    ]
    waits = [wait(queue) for queue in queues]
    means = np.array([one.mean[0] for one in waits]) + services
    squares = np.array([one.variance[0] for one in waits]) + services**2
    mean = float(PROBABILITIES @ means)
    variance = float(PROBABILITIES @ (squares + means**2)) - mean**2
    turned = [sojourn_transform(queue) for queue in queues]
    levels = transforms.quantiles(
        lambda s: sum(p * one(s) for p, one in zip(PROBABILITIES, turned, strict=True)),
        [0.95, 0.99],
        np.array([mean]),
        np.array([variance**0.5]),
    ).ravel()
    return {"mean": mean, "p95": float(levels[0]), "p99": float(levels[1])}


def simulate_sojourns(
    threads: int, load: float, work_ms: float, sleep_ms: float, interval_ms: float
) -> Samples:
    """Sojourn times in milliseconds, on the simulator's cores."""
    cores = make_cores([CORES], [0] * threads, balance=[interval_ms])
    sojourns = np.zeros(JOBS)
    _live(cores, make_streams(7, 4), threads, load / work_ms, work_ms, sleep_ms, sojourns)
    return sojourns[JOBS // 20 :]


@njit
def _live(
    cores: Any,
    streams: Any,
    threads: int,
    rate: float,
    work: float,
    sleep: float,
    sojourns: Any,
) -> None:
    """Jobs of all threads at this rate; a thread that was idle wakes when its sleep ends."""
    room = 1 << 14
    due = np.zeros((threads, room))
    came, gone = np.zeros(threads, np.int64), np.zeros(threads, np.int64)
    wakes = np.full(threads, np.inf)
    arrival, count = exponential(streams, 0) / rate, 0
    while count < len(sojourns):
        finish, waking = next_finish(cores, 0), np.argmin(wakes)
        now = min(finish, arrival, wakes[waking])
        if now == arrival:
            thread = int(uniform(streams, 2) * threads)
            due[thread, came[thread] % room] = now
            came[thread] += 1
            if came[thread] - gone[thread] == 1:
                wakes[thread] = now + uniform(streams, 3) * sleep
            arrival = now + exponential(streams, 0) / rate
            continue
        if now == wakes[waking]:
            wakes[waking] = np.inf
            start(cores, 0, waking, work * exponential(streams, 1), now)
            continue
        thread = stop_first(cores, 0, now)
        if thread < 0:
            continue
        sojourns[count] = now - due[thread, gone[thread] % room]
        count += 1
        gone[thread] += 1
        if came[thread] > gone[thread]:
            start(cores, 0, thread, work * exponential(streams, 1), now)
