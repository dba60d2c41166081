"""A job's plan: the one it gives by hand, or the one a scheduler makes."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.planning.scheduling.contract import Expected, Schedule, load_scheduler
from streamgauge.planning.scheduling.expectation import expected_of_job
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.chaining import Chaining, find_chaining


def place_job(
    job: Job,
    scheduler: str | None = None,
    *,
    expected: Expected | None = None,
    utilisation: float | None = None,
) -> Schedule:
    """The physical plan of `job`.

    Args:
        job: With a cluster; without one, one node per worker with a slot and a core each is
            assumed and said so.
        scheduler: A scheduler by name; by default the job's explicit plan if it has one, else
            the even scheduler.
        expected: What the job will do, for schedulers that look at it; what it declares when
            not given.
        utilisation: Up to which part of their cores machines are filled, for schedulers that look
            at that; as each does by default when not given.
    """
    warnings: tuple[str, ...] = ()
    cluster = job.cluster
    if cluster is None:
        workers = job.configuration.workers
        cluster = Cluster.uniform(nodes=workers)
        nodes = f"{workers} nodes" if workers > 1 else "one node"
        warnings = (f"no cluster is described: assuming {nodes} with one slot and one core each",)
    explicit = job.explicit_plan() if scheduler is None else None
    if explicit is not None:
        return Schedule(plan=explicit, warnings=warnings)
    chosen = load_scheduler(scheduler or "even", job.configuration, utilisation=utilisation)
    if expected is None and scheduler is not None:
        expected = expected_of_job(job)
    chaining = find_chaining(job.topology, job.configuration)
    if chaining is None:
        schedule = chosen.schedule(job.topology, job.configuration, cluster, expected=expected)
    else:
        schedule = chosen.schedule(
            chaining.chained_topology,
            chaining.chained_configuration,
            cluster,
            expected=None if expected is None else _chain_expected(chaining, expected),
        )
        schedule = replace(schedule, plan=chaining.split_plan(schedule.plan))
    return replace(schedule, warnings=(*warnings, *schedule.warnings))


def _chain_expected(chaining: Chaining, expected: Expected) -> Expected:
    """What is expected of chains: nothing of the streams inside them, all cores together."""
    cores: dict[str, float] = {}
    for name, busy in expected.cores.items():
        chain = chaining.name_of.get(name, name)
        cores[chain] = cores.get(chain, 0.0) + busy
    return Expected(
        rates={
            chaining.rename_stream(key): rate
            for key, rate in expected.rates.items()
            if not chaining.is_inner(key)
        },
        cores=cores,
        task_shares={
            (*chaining.rename_stream(StreamKey(source, name)), chaining.name_of[target]): shares
            for (source, name, target), shares in expected.task_shares.items()
            if not chaining.is_inner(StreamKey(source, name))
        },
    )
