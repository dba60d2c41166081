"""A limit of pending tuples: what it lets through and how long tuples wait for it.

A source, four executors of 10 ms and one of 2 ms that wait off the cores, under small limits, with
Storm's own settings and others. Formulas beside the simulator, at one and a half times what the
formulas say that the limit lets through, and below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.jobs import chain_job, predict_job, simulate_job
from benchmarks.report import Entry
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job

IN_TURN = {"topology.disable.loadaware.messaging": True}
CONSTANT, VARIED = ({"wait_ms": one} for one in (10, {"gamma": {"mean": 10, "scv": 4}}))
CASES: dict[str, dict[str, Any]] = {
    "storm-2": {},
    "in turn": {"settings": IN_TURN},
    "constant": {"first": CONSTANT},
    "constant, in turn": {"first": CONSTANT, "settings": IN_TURN},
    "varied": {"first": VARIED},
    "two workers": {"workers": 2},
    "two sources": {"sources": 2, "workers": 2},
    "burning": {"first": {"cpu_ms": {"exponential": 10}}, "cores": 3},
    "storm-1": {"engine": "storm-1"},
}
FEW = ("storm-2", "constant, in turn")
LIMITS, FEW_LIMITS = (1, 2, 5, 10, 20), (2, 10)
# What is due, in multiples of what the limit lets through.
CHOKED, PARTS = 1.5, (0.5, 0.8)
SEEDS, FEW_SEEDS = 4, 1
ROOTS, WARM_UP = 20_000, 10.0


def run(*, large: bool) -> list[Entry]:
    """Errors of throughput, and of latency since emission and since due."""
    entry = Entry("pending_limit", "a limit of pending tuples, against the simulator")
    seeds = range(SEEDS if large else FEW_SEEDS)
    for name in CASES if large else FEW:
        for limit in LIMITS if large else FEW_LIMITS:
            for part in (CHOKED, *PARTS) if large else (CHOKED, PARTS[-1]):
                case = _compare(CASES[name], limit, part, seeds)
                entry.cases[f"{name}, limit {limit}, {part:.0%}"] = case
    for figure, chosen in (("throughput", CHOKED), ("since_emission", CHOKED), ("since_due", 0.8)):
        errors = [
            abs(case[f"{figure}_error"]) for case in entry.cases.values() if case["part"] == chosen
        ]
        entry.ratios[f"{figure} at {chosen:.0%}: median error"] = float(np.median(errors))
        entry.ratios[f"{figure} at {chosen:.0%}: largest error"] = max(errors)
    return [entry]


def _make_job(limit: int, rate: float, case: dict[str, Any]) -> Job:
    workers = case.get("workers", 1)
    return chain_job(
        {
            "a": case.get("first", {"wait_ms": {"exponential": 10}}),
            "b": {"wait_ms": {"exponential": 2} if case.get("first") is not CONSTANT else 2},
        },
        rate=rate,
        tasks=4,
        sources=case.get("sources", 1),
        acked=True,
        configuration={
            "engine": case.get("engine", "storm-2"),
            "executors": {"source": case.get("sources", 1), "a": 4, "b": 1},
            "workers": workers,
            "settings": {"topology.max.spout.pending": limit, **case.get("settings", {})},
        },
        cluster={"nodes": workers, "cores": case.get("cores", 16), "latency_ms": 0.5},
    )


def _compare(case: dict[str, Any], limit: int, part: float, seeds: range) -> dict[str, Any]:
    slow = _make_job(limit, 1.0, case)
    behaviour = JobBehaviour.from_job(slow)
    highest = predict_job(slow, place_job(slow).plan, behaviour).limit.per_second
    rate = part * highest
    job = _make_job(limit, rate, case)
    plan = place_job(job).plan
    found = predict_job(job, plan, behaviour)
    assert found.pending is not None
    assert found.since_due is not None
    runs = [
        simulate_job(job, plan, seconds=ROOTS / highest, warmup=WARM_UP, seed=seed)
        for seed in seeds
    ]
    emitted = float(np.mean([one.operators["source"].emitted_per_second for one in runs]))
    since_emission = float(np.mean([one.latency.mean for one in runs]))
    since_due = float(np.mean([one.since_due.mean for one in runs]))
    return {
        "part": part,
        "highest_per_second": highest,
        "simulated_per_second": emitted,
        "simulated_ms": since_emission * 1e3,
        "simulated_since_due_ms": since_due * 1e3,
        "throughput_error": found.pending.emitted_per_second / emitted - 1.0,
        "since_emission_error": found.latency.mean / since_emission - 1.0,
        "since_due_error": found.since_due.mean / since_due - 1.0,
        "smallest": found.pending.smallest,
    }
