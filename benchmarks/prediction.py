"""Prediction: how near it comes to the simulator, and how long it takes.

The five test topologies of Storm-Tracer, or two of them, on both engines: twenty minutes of
emulated metrics of step 1 become a profile by way of the lake; steps 2 and 4 are predicted and
simulated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.jobs import predict_job, simulate_job
from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry, measure
from streamgauge.cli.examples import example_path
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.results import SimulationResult

TOPOLOGIES = ("fields-to-fields", "multiplier", "windowed", "all-in-one", "join-split")
FEW = ("multiplier", "all-in-one")
ENGINES = ("storm-1", "storm-2")
SOURCE, TARGETS = "step-1", ("step-2", "step-4")
TRUTH_SECONDS = 2000.0
LEVELS = (0.5, 0.9, 0.95, 0.99)


def run(*, large: bool) -> list[Entry]:
    """The errors of mean latency and percentiles, as parts of the simulated ones."""
    entry = Entry(
        "prediction", "mean latency of plans that were never measured, against the simulator"
    )
    jobs = {
        f"{name} on {engine}": _load(name, engine)
        for name in (TOPOLOGIES if large else FEW)
        for engine in ENGINES
    }
    measured = {name: job.at_step(SOURCE) for name, job in jobs.items()}
    for name, profile in measured_profiles(measured):
        for step in TARGETS:
            entry.cases[f"{name}, {SOURCE} → {step}"] = _compare(jobs[name].at_step(step), profile)

    def errors(figure: str) -> list[float]:
        return [abs(case[figure]) for case in entry.cases.values()]

    means = sorted(errors("mean_error"))
    entry.ratios["largest error of a mean"] = means[-1]
    entry.ratios["median error of a mean"] = means[len(means) // 2]
    entry.ratios["largest error of a 99th percentile"] = max(errors("p99_error"))
    label = "largest error of an operator's arrival rate"
    entry.ratios[label] = max(errors("operator_rate_error"))
    label = "largest, over cases, of the median error of an executor's"
    entry.ratios[label] = max(errors("executor_rate_error"))
    return [entry]


def _load(name: str, engine: str) -> Job:
    job = load_job(example_path(f"{name}.yaml"))
    return replace(job, configuration=replace(job.configuration, engine=engine))


def _compare(job: Job, profile: Profile) -> dict[str, Any]:
    plan = place_job(job).plan
    simulated = simulate_job(job, plan, seconds=TRUTH_SECONDS, warmup=None, seed=7)
    predict = partial(predict_job, job, plan, JobBehaviour.from_profile(profile))
    predicted = predict()
    latency, truth = predicted.latency, simulated.latency
    return {
        "predicted_ms": latency.mean * 1e3,
        "simulated_ms": truth.mean * 1e3,
        "mean_error": latency.mean / truth.mean - 1.0,
        "seconds": measure(predict, repetitions=5).seconds,
        **_rate_errors(predicted, simulated),
        **{
            f"p{100 * level:g}_error": latency.quantiles[level] / truth.quantile(level) - 1.0
            for level in LEVELS
        },
    }


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
