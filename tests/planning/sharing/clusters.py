"""Clusters as policies see them, made by hand."""

from streamgauge.planning.sharing.observation import (
    ClusterSeen,
    JobSeen,
    MachineSeen,
    OperatorSeen,
)
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic


def job(
    utility=0.5, *, worth=10.0, capacity=0.6, executors=10, idle=5, offered=100.0, threshold=0.1
):
    """A source, an operator with that capacity, and one that is nearly idle."""
    latency = threshold / utility
    return JobSeen(
        slo=Slo(latency_seconds=threshold, max_utility=worth),
        operators={
            "source": OperatorSeen(
                executors=2, tasks=100, is_source=True, sent_per_second=offered, capacity=0.9
            ),
            "work": OperatorSeen(
                executors=executors,
                tasks=100,
                executed={"source": offered},
                sent_per_second=offered,
                capacity=capacity,
            ),
            "store": OperatorSeen(
                executors=idle, tasks=100, executed={"work": offered}, capacity=0.1
            ),
        },
        offered_per_second=offered,
        quality=Quality(latency_seconds={Statistic.MEAN: latency}, juice=1.0),
    )


def cluster(at, congested=0, machines=10, stale=False, **jobs):
    return ClusterSeen(
        at=at,
        jobs=jobs,
        machines=tuple(
            MachineSeen(load=9.0 if index < congested else 8.0, cores=8.0)
            for index in range(machines)
        ),
        stale=stale,
    )
