"""What every operator would get if all of a job's input came through."""

from __future__ import annotations

from streamgauge.planning.sharing.observation import JobSeen


def find_demand(job: JobSeen, offered_per_second: float) -> dict[str, float]:
    """Tuples per second by operator, if sources emitted so many together.

    Tuples out per tuple in are as they were seen, also where operators are held back. An operator
    that processed nothing passes nothing on: what it would do is not known.
    """
    begun = sum(one.sent_per_second for one in job.operators.values() if one.is_source)
    demand: dict[str, float] = {}
    for name, one in job.operators.items():
        if one.is_source:
            share = one.sent_per_second / begun if begun > 0.0 else 0.0
            demand[name] = offered_per_second * share
            continue
        demand[name] = sum(
            demand[parent] * rate / job.operators[parent].input_per_second
            for parent, rate in one.executed.items()
            if job.operators[parent].input_per_second > 0.0
        )
    return demand
