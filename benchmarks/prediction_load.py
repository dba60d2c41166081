"""Prediction under load: every model beside the simulator while queues grow.

A line of three operators with long services off the cores, so that nothing but queues counts: dealt
in turn or by nearness, then by keys. Measured with two executors each at a low load, predicted with
four each at loads up to 80 %.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.jobs import chain_job, predict_job, simulate_job
from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry
from streamgauge.errors import InvalidInput
from streamgauge.models.contract import load_model, model_names
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile

SERVICES: dict[str, dict[str, Any]] = {
    "a": {"wait_ms": {"gamma": {"mean": 20, "scv": 0.5}}},
    "b": {"wait_ms": {"exponential": 10}},
}
# Engine, sources: one that deals alone is the most regular there is.
CASES = (("storm-1", 1), ("storm-1", 4), ("storm-2", 4))
MEASURED = 40.0
LOADS, FEW_LOADS = (0.3, 0.6, 0.8), (0.8,)
# At which four executors of 20 ms are full.
FULL = 200.0
SEEDS, FEW_SEEDS = 5, 2
SECONDS, WARM_UP = 400.0, 60.0


def run(*, large: bool) -> list[Entry]:
    """The errors of mean latency and its 99th percentile, by model."""
    entry = Entry("prediction_load", "mean latency under load, against the simulator")
    seeds = range(SEEDS if large else FEW_SEEDS)
    cases = {
        f"{engine}, {sources} sources": partial(_make_job, engine, sources)
        for engine, sources in (CASES if large else CASES[:1])
    }
    for name, profile in measured_profiles({name: make(2) for name, make in cases.items()}):
        for load in LOADS if large else FEW_LOADS:
            case = _compare(cases[name](4), profile, load * FULL, seeds)
            entry.cases[f"{name}, {load:.0%} busy"] = case
    for model in model_names():
        errors = [case["mean_error"] for case in entry.cases.values()]
        largest = max(abs(error[model]) for error in errors if model in error)
        entry.ratios[f"largest error of {model}"] = largest
    return [entry]


def _make_job(engine: str, sources: int, executors: int) -> Job:
    return chain_job(
        SERVICES,
        rate=MEASURED,
        tasks=4,
        sources=4,
        keyed="b",
        configuration={
            "engine": engine,
            "executors": {"source": sources, "a": executors, "b": executors},
            "workers": 2,
            "settings": {"topology.bolt.wait.progressive.level2.count": 0},
        },
        cluster={"nodes": 2, "slots": 2, "cores": 4, "latency_ms": 0.1},
    )


def _compare(job: Job, profile: Profile, rate: float, seeds: range) -> dict[str, Any]:
    assert job.workload is not None
    plan, loaded = place_job(job).plan, replace(job, workload=job.workload.at_rate(rate))
    truths = [
        simulate_job(loaded, plan, seconds=SECONDS, warmup=WARM_UP, seed=seed).latency
        for seed in seeds
    ]
    mean = float(np.mean([truth.mean for truth in truths]))
    p99 = float(np.mean([truth.quantile(0.99) for truth in truths]))
    case: dict[str, Any] = {"simulated_ms": mean * 1e3, "mean_error": {}, "p99_error": {}}
    behaviour = JobBehaviour.from_profile(profile)
    for name in model_names():
        try:
            latency = predict_job(loaded, plan, behaviour, load_model(name)).latency
        except InvalidInput:
            continue  # Storm-Tracer knows one engine only.
        case["mean_error"][name] = latency.mean / mean - 1.0
        if 0.99 in latency.quantiles:
            case["p99_error"][name] = latency.quantiles[0.99] / p99 - 1.0
    return case
