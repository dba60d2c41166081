"""Prediction: how near it comes to the simulator, and how long it takes.

The five test topologies of Storm-Tracer, or two of them, on both engines: twenty minutes of
emulated metrics of step 1 become a profile by way of the lake; steps 2 and 4 are predicted and
simulated.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry
from streamgauge.cli.examples import example_path
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.topology_run import simulate

TOPOLOGIES = ("fields-to-fields", "multiplier", "windowed", "all-in-one", "join-split")
FEW = ("multiplier", "all-in-one")
ENGINES = ("storm-1", "storm-2")
SOURCE, TARGETS = "step-1", ("step-2", "step-4")
TRUTH_SECONDS = 2000.0
LEVELS = (0.5, 0.9, 0.95, 0.99)
REPETITIONS = 5


def run(*, large: bool) -> list[Entry]:
    """The errors of mean latency and percentiles, as parts of the simulated ones."""
    names = TOPOLOGIES if large else FEW
    cases: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        jobs = {(name, engine): _job(name, engine) for name in names for engine in ENGINES}
        sources = {case: job.at_step(SOURCE) for case, job in jobs.items()}
        for (name, engine), profile in measured_profiles(Path(folder), sources):
            for step in TARGETS:
                cases[f"{name} on {engine}, {SOURCE} → {step}"] = _compared(
                    jobs[name, engine], profile, step
                )
    errors = [abs(case["mean_error"]) for case in cases.values()]
    tails = [abs(case["p99_error"]) for case in cases.values()]
    rates = [case["operator_rate_error"] for case in cases.values()]
    shares = [case["executor_rate_error"] for case in cases.values()]
    return [
        Entry(
            name="prediction",
            about="mean latency of plans that were never measured, against the simulator",
            cases=cases,
            ratios={
                "largest error of a mean": max(errors),
                "median error of a mean": sorted(errors)[len(errors) // 2],
                "largest error of a 99th percentile": max(tails),
                "largest error of an operator's arrival rate": max(rates),
                "largest, over cases, of the median error of an executor's": max(shares),
            },
        )
    ]


def _job(name: str, engine: str) -> Job:
    job = load_job(example_path(f"{name}.yaml"))
    return replace(job, configuration=replace(job.configuration, engine=engine))


def _compared(job: Job, profile: Profile, step: str) -> dict[str, Any]:
    proposed = job.at_step(step)
    plan, workload = place_job(proposed).plan, proposed.workload
    assert workload is not None
    simulated = simulate(plan, job.behaviours, workload, seconds=TRUTH_SECONDS, warmup=None, seed=7)
    model, seconds = AnalyticModel(), []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        predicted = model.predict(profile, plan, workload)
        seconds.append(time.perf_counter() - begin)
    found, truth = predicted.latency, simulated.latency
    case: dict[str, Any] = {
        "executors": len(plan.logical.executors),
        "predicted_ms": found.mean * 1e3,
        "simulated_ms": truth.mean * 1e3,
        "mean_error": found.mean / truth.mean - 1.0,
        "seconds": sorted(seconds)[REPETITIONS // 2],
        **_rate_errors(predicted, simulated),
    }
    for level in LEVELS:
        case[f"p{100 * level:g}_error"] = found.quantiles[level] / truth.quantile(level) - 1.0
    return case


def _rate_errors(predicted: Prediction, simulated: SimulationResult) -> dict[str, float]:
    """Of arrival rates: an operator's largest, an executor's median error.

    A simulated executor that n tuples came to is itself known to one part in the root of n.
    """
    operators = [
        abs(one.arrived_per_second / simulated.operators[name].arrived_per_second - 1.0)
        for name, one in predicted.operators.items()
        if simulated.operators[name].arrived_per_second > 0.0
    ]
    executors = [
        abs(one.arrived_per_second / truth.executed_per_second - 1.0)
        for one, truth in zip(predicted.executors, simulated.executors, strict=True)
        if one.arrived_per_second > 0.0 and truth.executed_per_second > 0.0
    ]
    return {
        "operator_rate_error": max(operators),
        "executor_rate_error": float(np.median(executors)),
    }
