"""A job's plan: the one it gives by hand, or the one a scheduler makes of what is expected of it.

Rates of operators follow from the job alone, as long as nothing is overloaded: they are computed
with all executors in one worker, where no placement interferes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.routing import KEYED, keyed_shares
from streamgauge.models.worker_cpu import find_handling_cores
from streamgauge.planning.scheduling.contract import (
    Expected,
    PlacementRequest,
    Schedule,
    load_scheduler,
)
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind, StreamKey, Subscription
from streamgauge.topology.tuple_flow import as_slice, check_size
from streamgauge.topology.workload import Workload
from streamgauge.transport.chaining import Chaining, find_chaining
from streamgauge.transport.engine import load_engine


def place_job(
    job: Job,
    scheduler: str | None = None,
    *,
    expected: Expected | None = None,
    utilisation: float | None = None,
    taken: Collection[Slot] = (),
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
        taken: Slots that are not to be used.
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
    request = PlacementRequest(
        job.topology, job.configuration, cluster, expected=expected, taken=taken
    )
    chaining = find_chaining(job.topology, job.configuration)
    if chaining is None:
        schedule = chosen.schedule(request)
    else:
        schedule = chosen.schedule(_chain_request(chaining, request))
        schedule = replace(schedule, plan=chaining.split_plan(schedule.plan))
    return replace(schedule, warnings=(*warnings, *schedule.warnings))


def _chain_request(chaining: Chaining, request: PlacementRequest) -> PlacementRequest:
    expected = request.expected
    return replace(
        request,
        topology=chaining.chained_topology,
        configuration=chaining.chained_configuration,
        expected=None if expected is None else _chain_expected(chaining, expected),
    )


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


def expected_of_job(job: Job) -> Expected | None:
    """What `job` declares that it will do; nothing where a behaviour or a rate is missing.

    Raises:
        CyclicTopology: Tuples multiply on their way round a cycle.
    """
    if job.workload is None or not is_described(job):
        return None
    return expected_of(JobBehaviour.from_job(job), job.configuration, job.workload)


def is_described(job: Job) -> bool:
    """Whether a job has a behaviour for every processor, and a rate for every source."""
    processors = (o.name for o in job.topology.operators if o.kind is OperatorKind.PROCESSOR)
    return (
        job.workload is not None
        and all(name in job.behaviours for name in processors)
        and all(emission.per_second is not None for emission in job.workload.emissions)
    )


def expected_of(
    behaviour: JobBehaviour, configuration: Configuration, workload: Workload
) -> Expected:
    """What a job would do under another configuration and load.

    Cores are the part of service times that is spent on a core, and what the engine takes to handle
    a tuple, times rates. What depends on the placement is left out: sending and receiving, workers
    that are there, and threads that poll.

    Raises:
        InvalidInput: A source has no rate.
        CyclicTopology: Tuples multiply on their way round a cycle.
    """
    logical = LogicalPlan.of(behaviour.topology, configuration)
    cluster = Cluster.uniform(nodes=1)
    in_one_worker = [0] * len(logical.executors)
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, in_one_worker)
    parameters = find_parameters(behaviour, plan, workload)
    return Expected(
        rates={key: float(rate.sum()) for key, rate in parameters.rates.emitted.items()},
        cores=_cores(parameters),
        task_shares=_task_shares(behaviour, configuration),
    )


def _cores(parameters: Parameters) -> dict[str, float]:
    """By operator: seconds on a core per second. An acker that was not measured is left out."""
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    busy = tuples.per_second * tuples.cpu + triggers.per_second * triggers.cpu
    engine = find_handling_cores(parameters, parameters.behaviour.costs)
    spans = parameters.flow.plan.logical.spans
    return {
        name: float((busy + engine)[as_slice(span)].sum())
        for name, span in spans.items()
        if name != ACKER or busy[as_slice(span)].any()
    }


def _task_shares(
    behaviour: JobBehaviour, configuration: Configuration
) -> dict[Subscription, tuple[float, ...]]:
    """What the tasks of a stream get whose keys decide, all senders together."""
    finest = Configuration(
        engine=configuration.engine,
        executors={operator.name: operator.tasks for operator in behaviour.topology.operators},
        ackers=0,
    )
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(behaviour.topology, finest, task_order=order)
    by_stream = {}
    for stream in logical.topology.data_streams:
        if not isinstance(stream.grouping, KEYED):
            continue
        shares = keyed_shares(logical, stream, behaviour)
        if shares is not None:
            mean = shares.mean(axis=0)
            by_stream[stream.subscription] = tuple((mean / np.sum(mean)).tolist())
    return by_stream


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
