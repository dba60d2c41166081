"""Latency of random jobs that no model was tried on before, as they come.

The jobs of `saturation`, of another seed: random acyclic topologies on random placements, at 20 to
80 % of the highest rate that fits. Predicted from what they declare, and simulated twice; half the
difference is the floor. They run with the engine's own settings of queues.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.jobs import predict_job, simulate_job
from benchmarks.prediction_cells import FIGURES, SETTLED, at_rate
from benchmarks.report import Entry, say
from benchmarks.saturation import ROOM, Cell, draw_cells
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job

SEED = 7331
JOBS, FEW_JOBS = 20, 3
LOADS = (0.2, 0.8)
TUPLES, SHORTEST = 100_000, 60.0


def run(*, large: bool) -> list[Entry]:
    """Errors of mean, median, 99th percentile and complete latency."""
    entry = Entry("random_jobs", "latency of random jobs, against the simulator")
    random = np.random.default_rng(SEED)
    for cell in draw_cells(JOBS if large else FEW_JOBS, SEED):
        load = float(random.uniform(*LOADS))
        say(f"{cell.name} at {load:.0%}")
        entry.cases[f"{cell.name} at {load:.0%}"] = compare(cell, load)
    for figure in FIGURES:
        known = [case for case in entry.cases.values() if f"{figure}_error" in case]
        if known:
            errors = [abs(case[f"{figure}_error"]) for case in known]
            entry.ratios[f"median error, {figure}"] = float(np.median(errors))
            entry.ratios[f"largest error, {figure}"] = max(errors)
            floors = [case[f"{figure}_floor"] for case in known]
            entry.ratios[f"median floor, {figure}"] = float(np.median(floors))
    return [entry]


def compare(cell: Cell, load: float) -> dict[str, Any]:
    """One job at a part of the highest rate that fits."""
    data = {**cell.document, "configuration": dict(cell.document["configuration"])}
    settings = data["configuration"]["settings"]
    data["configuration"]["settings"] = {
        name: value for name, value in settings.items() if name not in ROOM
    }
    job = Cell(name=cell.name, document=data, measured=cell.measured, load=load).make()
    plan, behaviour = place_job(job).plan, JobBehaviour.from_job(job)
    rate = load * predict_job(job, plan, behaviour).limit.per_second
    job = at_rate(job, rate)
    seconds = max(TUPLES / rate, SHORTEST)
    truths = [
        simulate_job(job, plan, seconds=seconds, warmup=max(seconds / 4.0, SETTLED), seed=seed)
        for seed in (1, 2)
    ]
    predicted = predict_job(job, plan, behaviour)
    values = {
        "mean": (predicted.latency.mean, [one.latency.mean for one in truths]),
        "p50": (predicted.latency.quantiles[0.5], [one.latency.quantile(0.5) for one in truths]),
        "p99": (predicted.latency.quantiles[0.99], [one.latency.quantile(0.99) for one in truths]),
    }
    if predicted.complete is not None:
        values["complete"] = (predicted.complete.mean, [one.complete.mean for one in truths])
    case: dict[str, Any] = {"per_second": rate, "seconds": seconds}
    for figure, (value, seen) in values.items():
        truth = sum(seen) / len(seen)
        case[f"{figure}_ms"] = truth * 1e3
        case[f"{figure}_error"] = value / truth - 1.0
        case[f"{figure}_floor"] = abs(seen[0] - seen[1]) / 2.0 / truth
    return case
