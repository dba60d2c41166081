"""Traffic between nodes: how much of even placement's is saved, and how much could be at most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import Entry
from streamgauge.planning.scheduling.contract import Expected, PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.job_placement import expected_of_job
from streamgauge.planning.scheduling.traffic import split_traffic
from streamgauge.planning.scheduling.traffic_aware import TrafficAwareScheduler
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job

EXAMPLES = Path(__file__).parents[1] / "examples"
# Cores let most examples fit on one machine; counts show what placement alone can do.
BY_CORES, BY_COUNTS = "machines up to 80 % busy", "executors dealt evenly over nodes"


def run(*, large: bool) -> list[Entry]:
    """All examples under each kind of limit."""
    del large
    jobs = {path.stem: load_job(path) for path in sorted(EXAMPLES.glob("*.yaml"))}
    return [_compare_placements(jobs, limits) for limits in (BY_CORES, BY_COUNTS)]


def _compare_placements(jobs: dict[str, Job], limits: str) -> Entry:
    entry = Entry(
        f"remote traffic: {limits}",
        "part of even placement's tuples and acks between nodes that traffic-aware placement "
        "saves, and that any could save at most; by the even split",
    )
    for name, job in jobs.items():
        expected = expected_of_job(job)
        if expected is None or job.cluster is None:
            entry.cases[name] = {"left out": "no rates or no cluster are described"}
            continue
        case = entry.cases[name] = _place(job, expected, by_cores=limits == BY_CORES)
        even = case["even per second"]
        if even > 0.0:
            entry.ratios[f"saved: {name}"] = 1.0 - case["traffic-aware per second"] / even
            entry.ratios[f"at most: {name}"] = 1.0 - case["proven least per second"] / even
    return entry


def _place(job: Job, expected: Expected, *, by_cores: bool) -> dict[str, Any]:
    assert job.cluster is not None
    inputs = (job.topology, job.configuration, job.cluster)
    engine = job.configuration.engine
    even = EvenScheduler.for_engine(engine).schedule(PlacementRequest(*inputs))
    aware = TrafficAwareScheduler.for_engine(engine).schedule(
        PlacementRequest(*inputs, expected=expected if by_cores else replace(expected, cores={}))
    )
    case: dict[str, Any] = {
        "proven least per second": aware.least_remote,
        "nodes": len(aware.plan.nodes),
    }
    for name, plan in (("even", even.plan), ("traffic-aware", aware.plan)):
        case[f"{name} per second"] = split_traffic(plan, expected).remote
    return case
