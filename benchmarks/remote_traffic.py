"""Traffic between nodes: how much of even placement's is saved, and how much could be at most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import Entry
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.expectation import expected_of_job
from streamgauge.planning.scheduling.traffic import split_traffic
from streamgauge.planning.scheduling.traffic_aware import TrafficAwareScheduler
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job

EXAMPLES = Path(__file__).parents[1] / "examples"
# Cores let most examples fit on one machine; counts show what placement alone can do.
BY_CORES, BY_COUNTS = "machines up to 80 % busy", "executors dealt evenly over nodes"


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    del large
    jobs = {path.stem: load_job(path) for path in sorted(EXAMPLES.glob("*.yaml"))}
    return [_entry(jobs, limits) for limits in (BY_CORES, BY_COUNTS)]


def _entry(jobs: dict[str, Job], limits: str) -> Entry:
    cases: dict[str, dict[str, Any]] = {}
    ratios: dict[str, float] = {}
    for name, job in jobs.items():
        expected = expected_of_job(job)
        if expected is None or job.cluster is None:
            cases[name] = {"left out": "no rates or no cluster are described"}
            continue
        told = expected if limits == BY_CORES else replace(expected, cores={})
        case = cases[name] = _case(job, expected, told)
        before = case["even per second"]
        if before > 0.0:
            ratios[f"saved: {name}"] = 1.0 - case["traffic-aware per second"] / before
            ratios[f"at most: {name}"] = 1.0 - case["proven least per second"] / before
    return Entry(
        name=f"remote traffic: {limits}",
        about="part of even placement's tuples and acks between nodes that traffic-aware "
        "placement saves, and that any could save at most; by the even split",
        cases=cases,
        ratios=ratios,
    )


def _case(job: Job, expected: Expected, told: Expected) -> dict[str, Any]:
    assert job.cluster is not None
    asked = (job.topology, job.configuration, job.cluster)
    engine = job.configuration.engine
    even = EvenScheduler.for_engine(engine).schedule(*asked)
    found = TrafficAwareScheduler.for_engine(engine).schedule(*asked, expected=told)
    case: dict[str, Any] = {
        "total per second": split_traffic(even.plan, expected).total,
        "proven least per second": found.least_remote,
        "nodes": len(found.plan.nodes),
        "warnings": list(found.warnings),
    }
    for name, plan in (("even", even.plan), ("traffic-aware", found.plan)):
        case[f"{name} per second"] = split_traffic(plan, expected).remote
        case[f"{name} per second by the nearest split"] = split_traffic(
            plan, expected, nearest=True
        ).remote
    return case
