"""Prediction under load: every model beside the simulator while queues grow.

A line of three operators with long services off the cores, so that nothing but queues counts: dealt
in turn or by nearness, then by keys. Measured with two executors each at a low load, predicted with
four each at loads up to 80 %.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry
from streamgauge.errors import InvalidInput
from streamgauge.models.contract import load_model, model_names
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.topology_run import simulate

LINE = """
streamgauge: 1
topology:
  name: line
  operators: {{s: {{kind: source, tasks: 4}}, a: {{tasks: 4}}, b: {{tasks: 4}}}}
  streams:
    - {{from: s, to: a, grouping: shuffle}}
    - {{from: a, to: b, grouping: {{fields: [k]}}}}
behaviours:
  s: {{service: {{cpu_ms: 0.01}}}}
  a:
    service: {{wait_ms: {{gamma: {{mean: 20, scv: 0.5}}}}}}
    outputs: {{default: 1}}
    keys: {{default: {{uniform: {{count: 64}}}}}}
  b: {{service: {{wait_ms: {{exponential: 10}}}}}}
configuration:
  engine: {engine}
  executors: {{s: {sources}, a: 2, b: 2}}
  workers: 2
  settings: {{topology.bolt.wait.progressive.level2.count: 0}}
cluster: {{uniform: {{nodes: 2, slots: 2, cores: 4, latency_ms: 0.1}}}}
workload: [{{source: s, per_second: {measured}}}]
steps: {{four: {{executors: {{a: 4, b: 4}}}}}}
"""
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
    cases: dict[str, dict[str, Any]] = {}
    jobs = {
        case: parse_job(LINE.format(engine=case[0], sources=case[1], measured=MEASURED))
        for case in (CASES if large else CASES[:1])
    }
    with tempfile.TemporaryDirectory() as folder:
        for case, profile in measured_profiles(Path(folder), jobs):
            for load in LOADS if large else FEW_LOADS:
                name = f"{case[0]}, {case[1]} sources, {load:.0%} busy"
                cases[name] = _compared(
                    jobs[case].at_step("four"), profile, load, seeds=SEEDS if large else FEW_SEEDS
                )
    return [
        Entry(
            name="prediction_load",
            about="mean latency under load, against the simulator",
            cases=cases,
            ratios={
                f"largest error of {model}": max(
                    abs(case["mean_error"][model])
                    for case in cases.values()
                    if model in case["mean_error"]
                )
                for model in model_names()
            },
        )
    ]


def _compared(job: Job, profile: Profile, load: float, *, seeds: int) -> dict[str, Any]:
    plan = place_job(job).plan
    assert job.workload is not None
    workload = job.workload.times(load * FULL / MEASURED)
    truths = [
        simulate(plan, job.behaviours, workload, seconds=SECONDS, warmup=WARM_UP, seed=seed).latency
        for seed in range(seeds)
    ]
    mean = float(np.mean([one.mean for one in truths]))
    p99 = float(np.mean([one.quantile(0.99) for one in truths]))
    found: dict[str, Any] = {"simulated_ms": mean * 1e3, "mean_error": {}, "p99_error": {}}
    for name in model_names():
        try:
            latency = load_model(name).predict(profile, plan, workload).latency
        except InvalidInput:
            continue  # Storm-Tracer knows one engine only.
        found["mean_error"][name] = latency.mean / mean - 1.0
        if 0.99 in latency.quantiles:
            found["p99_error"][name] = latency.quantiles[0.99] / p99 - 1.0
    return found
