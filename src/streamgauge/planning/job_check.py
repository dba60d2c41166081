"""What is worth a look in a job that can be read: every step placed, gaps in its description."""

from __future__ import annotations

from collections.abc import Iterator

from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.job import Job
from streamgauge.topology.tuple_flow import check_size


def check_job(job: Job) -> tuple[str, ...]:
    """Place a job as configured and at each step; warnings of schedulers, and other remarks.

    Raises:
        Infeasible: A step cannot be placed.
        InvalidInput: There are too many connections to hold, or the engine is not known.
    """
    return (*_place_steps(job), *_find_gaps(job))


def _place_steps(job: Job) -> Iterator[str]:
    variants = {"": job, **{f"{name}: ": job.at_step(name) for name in job.steps}}
    for prefix, variant in variants.items():
        schedule = place_job(variant)
        check_size(schedule.plan.logical)
        yield from (prefix + warning for warning in schedule.warnings)


def _find_gaps(job: Job) -> Iterator[str]:
    topology = job.topology
    cycle = topology.cycle()
    if cycle is not None:
        yield f"the topology has a cycle: {' → '.join(cycle)}"
    undescribed = [
        operator.name for operator in topology.operators if operator.name not in job.behaviours
    ]
    if job.behaviours and undescribed:
        yield f"no behaviour for {', '.join(undescribed)}"
    if job.workload is not None:
        emitting = {emission.source for emission in job.workload.emissions}
        silent = [source.name for source in topology.sources if source.name not in emitting]
        if silent:
            yield f"the workload has no rate for {', '.join(silent)}"
