"""What a job is expected to do, from its behaviour.

Rates of operators follow from the job alone, as long as nothing is overloaded: they are computed
with all executors in one worker, where no placement interferes.
"""

from __future__ import annotations

import numpy as np

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.routing import KEYED, keyed_shares
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind, Subscription
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine


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
        and all(one.per_second is not None for one in job.workload.emissions)
    )


def expected_of(
    behaviour: JobBehaviour, configuration: Configuration, workload: Workload
) -> Expected:
    """What a job would do under another configuration and load.

    Cores are the part of service times that is spent on a core, times rates. What serialising
    costs depends on the placement and is left out, and so is what idle threads poll.

    Raises:
        InvalidInput: A source has no rate.
        CyclicTopology: Tuples multiply on their way round a cycle.
    """
    plan = _in_one_worker(LogicalPlan.of(behaviour.topology, configuration))
    parameters = find_parameters(behaviour, plan, workload)
    return Expected(
        rates={key: float(rate.sum()) for key, rate in parameters.rates.emitted.items()},
        cores=_cores(parameters),
        task_shares=_task_shares(behaviour, configuration),
    )


def _in_one_worker(logical: LogicalPlan) -> PhysicalPlan:
    cluster = Cluster.uniform(nodes=1)
    return PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))


def _cores(parameters: Parameters) -> dict[str, float]:
    """By operator: seconds on a core per second. An acker that was not measured is left out."""
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    busy = tuples.per_second * tuples.cpu + triggers.per_second * triggers.cpu
    spans = parameters.flow.plan.logical.spans
    found = {name: float(busy[as_slice(span)].sum()) for name, span in spans.items()}
    if ACKER in found and found[ACKER] <= 0.0:
        del found[ACKER]
    return found


def _task_shares(
    behaviour: JobBehaviour, configuration: Configuration
) -> dict[Subscription, tuple[float, ...]]:
    """What the tasks of a stream get whose keys decide, all senders together."""
    finest = Configuration(
        engine=configuration.engine,
        executors={one.name: one.tasks for one in behaviour.topology.operators},
        ackers=0,
    )
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(behaviour.topology, finest, task_order=order)
    found = {}
    for stream in logical.topology.data_streams:
        if not isinstance(stream.grouping, KEYED):
            continue
        shares = keyed_shares(logical, stream, behaviour)
        if shares is not None:
            mean = shares.mean(axis=0)
            found[stream.subscription] = tuple((mean / np.sum(mean)).tolist())
    return found
