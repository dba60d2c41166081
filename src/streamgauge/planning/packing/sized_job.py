"""A job as it would be submitted for so much input: its executors, what each needs, its plan.

Cores follow from service times and rates, memory is what executors are declared to need or the
engine's default, network and router load follow from rates and sizes of tuples. Whatever is sent
counts as if it left the machine, so that limits are kept however tuples are routed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.retasking import with_tasks
from streamgauge.planning.packing.catalogue import Resource, Vector
from streamgauge.planning.packing.instances import Instances, PackingPlan
from streamgauge.planning.packing.parallelism import THRESHOLD, find_parallelism, most_sources
from streamgauge.planning.scaling.graph import LinearLaw, ScalingGraph
from streamgauge.planning.scheduling.job_placement import expected_of
from streamgauge.planning.scheduling.packing import Requirements
from streamgauge.planning.scheduling.placement_problem import cores_of
from streamgauge.planning.scheduling.traffic import Traffic, even_traffic
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, StreamKey
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine

# One way, between machines of one provider; where nothing says how far nodes are apart.
USUAL_LATENCY_MS = 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class Packable:
    """What is known of a job before it is sized.

    Attributes:
        graph: What an executor of each operator can do, under
        workload: the most that is to be carried.
        source_rates: Tuples per second that one executor of each source emits at most.
        resources: What executors are declared to need, and the engine's settings.
        tuple_bytes: Of streams whose tuples were not measured; None: refuse these where it matters.
    """

    behaviour: JobBehaviour
    graph: ScalingGraph
    workload: Workload
    source_rates: Mapping[str, float]
    configuration: Configuration
    latency_ms: float = USUAL_LATENCY_MS
    tuple_bytes: float | None = None

    def offered(self, source: str) -> float:
        """Tuples per second that a source is to emit at most."""
        return sum(one.per_second or 0.0 for one in self.workload.emissions if one.source == source)

    @property
    def per_second(self) -> float:
        """Of all sources."""
        return sum(self.offered(source) for source in self.graph.sources)

    @property
    def most_sources(self) -> int:
        """Executors of the source that needs most of them."""
        return max(
            most_sources(self.offered(source), self.source_rates[source])
            for source in self.graph.sources
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SizedJob:
    """The job for a part of that load.

    Attributes:
        fill: Part of the time of executors and machines that is planned with.
        instances: Executors with their needs, in the order of the logical plan.
    """

    behaviour: JobBehaviour
    workload: Workload
    logical: LogicalPlan
    fill: float
    latency_ms: float
    instances: Instances

    @property
    def per_second(self) -> float:
        """Tuples of all sources."""
        return sum(one.per_second or 0.0 for one in self.workload.emissions)

    def executors(self) -> Mapping[str, int]:
        """Of each operator, ackers included."""
        return {name: len(span) for name, span in self.logical.spans.items()}

    def place(self, plan: PackingPlan) -> PhysicalPlan:
        """On a cluster of the machines that are bought: a worker on each."""
        width = len(str(len(plan.machines)))
        numbers = [str(number + 1).zfill(width) for number in range(len(plan.machines))]
        machines = tuple(
            Machine(
                name=f"m{number}-{one.name}",
                cores=one.cores,
                memory_bytes=int(one.memory_bytes),
                background_cores=one.reserved_cores,
            )
            for number, one in zip(numbers, plan.machines, strict=True)
        )
        nodes = tuple(
            Node(name=f"n{number}", machine=machine.name)
            for number, machine in zip(numbers, machines, strict=True)
        )
        cluster = Cluster(machines=machines, nodes=nodes, latency_ms=self.latency_ms)
        configuration = replace(self.logical.configuration, workers=len(nodes))
        logical = LogicalPlan.of(
            self.behaviour.topology,
            configuration,
            task_order=load_engine(configuration.engine).task_order,
        )
        return PhysicalPlan.from_slots(logical, cluster, cluster.slots, plan.place.tolist())


def size_job(
    packable: Packable,
    *,
    factor: float = 1.0,
    fill: float = THRESHOLD,
    needed: frozenset[Resource] = frozenset(Resource),
) -> SizedJob:
    """Executors and their needs for a part of the load.

    Args:
        packable: The job.
        factor: That part.
        fill: Part of the time that executors and cores are planned with.
        needed: Resources that the machines limit; what cannot be known of others is left out.

    Raises:
        InvalidInput: The network is limited, and sizes of tuples are not known.
    """
    sources = {
        name: most_sources(packable.offered(name) * factor, packable.source_rates[name])
        for name in packable.graph.sources
        if packable.offered(name) > 0.0
    }
    rates = {name: packable.offered(name) * factor / many for name, many in sources.items()}
    graph = replace(
        packable.graph,
        components=tuple(
            replace(one, law=LinearLaw(per_unit=rates[one.name])) if one.name in rates else one
            for one in packable.graph.components
        ),
    )
    executors = find_parallelism(graph, sources, busy=fill).instances
    behaviour = with_tasks(packable.behaviour, executors)
    workload = Workload(
        emissions=tuple(
            replace(one, per_second=(one.per_second or 0.0) * factor, shares=None)
            for one in packable.workload.emissions
        )
    )
    return size_plan(
        behaviour,
        _add_ackers(packable, behaviour, workload, executors, fill),
        workload,
        fill=fill,
        latency_ms=packable.latency_ms,
        tuple_bytes=packable.tuple_bytes,
        needed=needed,
    )


def size_plan(
    behaviour: JobBehaviour,
    configuration: Configuration,
    workload: Workload,
    *,
    fill: float = THRESHOLD,
    latency_ms: float = USUAL_LATENCY_MS,
    tuple_bytes: float | None = None,
    needed: frozenset[Resource] = frozenset(Resource),
) -> SizedJob:
    """What the executors of a configuration need, whose numbers are decided already.

    Args:
        behaviour: What they do.
        configuration: How many there are, ackers included.
        workload: The load.
        fill: Part of the time of executors and cores that is planned with.
        latency_ms: One way, between machines.
        tuple_bytes: Of streams whose tuples were not measured; None: refuse these where it matters.
        needed: Resources that the machines limit; what cannot be known of others is left out.

    Raises:
        InvalidInput: The network is limited, and sizes of tuples are not known.
    """
    expected = expected_of(behaviour, configuration, workload)
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(behaviour.topology, configuration, task_order=order)
    traffic = even_traffic(logical, expected)
    sizes = _sizes(tuple_bytes, behaviour, traffic) if Resource.NETWORK in needed else {}
    return SizedJob(
        behaviour=behaviour,
        workload=workload,
        logical=logical,
        fill=fill,
        latency_ms=latency_ms,
        instances=_list_instances(traffic, cores_of(traffic, expected) / fill, sizes),
    )


def _add_ackers(
    packable: Packable,
    behaviour: JobBehaviour,
    workload: Workload,
    executors: Mapping[str, int],
    fill: float,
) -> Configuration:
    """The configuration with as many ackers as their work needs."""
    configuration = replace(packable.configuration, executors=dict(executors), workers=1, ackers=1)
    ackers = packable.configuration.ackers
    if ackers is None:
        cores = expected_of(behaviour, configuration, workload).cores.get(ACKER, 0.0)
        ackers = max(int(np.ceil(cores / fill)), 1)
    return replace(configuration, ackers=ackers)


def _list_instances(traffic: Traffic, cores: Vector, sizes: Mapping[StreamKey, float]) -> Instances:
    logical = traffic.logical
    count = len(logical.executors)
    needs = np.zeros((count, len(Resource)))
    needs[:, 0] = cores
    required = Requirements.of(logical)
    operators = tuple(executor.operator for executor in logical.executors)
    needs[:, 1] = [required.needs[operator].memory_bytes for operator in operators]
    senders, receivers, rates = [], [], []
    for carried in traffic.streams:
        size = sizes.get(carried.stream.key, 0.0)
        each = carried.per_second
        if len(each) == 1 and len(carried.sources) > 1:
            each = np.broadcast_to(each, (len(carried.sources), len(carried.targets)))
        for span, amounts in (
            (carried.sources, each.sum(axis=1)),
            (carried.targets, each.sum(axis=0)),
        ):
            needs[as_slice(span), 3] += size * amounts
            needs[as_slice(span), 4] += amounts
        row, column = np.nonzero(each)
        senders.append(row + carried.sources.start)
        receivers.append(column + carried.targets.start)
        rates.append(each[row, column])
    return Instances(
        operators=operators,
        needs=needs,
        senders=np.concatenate(senders).astype(np.intp),
        receivers=np.concatenate(receivers).astype(np.intp),
        rates=np.concatenate(rates),
    )


def _sizes(
    tuple_bytes: float | None, behaviour: JobBehaviour, traffic: Traffic
) -> Mapping[StreamKey, float]:
    """Bytes of a tuple, by stream; the engine's own messages are small beside them."""
    sizes: dict[StreamKey, float] = {}
    unknown = []
    for carried in traffic.streams:
        key = carried.stream.key
        if carried.stream.is_system or key in sizes:
            continue
        known = behaviour.operators.get(key.source)
        size = known.bytes.get(key.name) if known is not None else None
        if size is not None:
            sizes[key] = float(size)
        elif tuple_bytes is not None:
            sizes[key] = tuple_bytes
        else:
            unknown.append(str(key))
    if unknown:
        raise InvalidInput.single(
            ("profile", "bytes"),
            seen=f"no size of the tuples of {', '.join(unknown)}, while machines of the catalogue"
            " have a limited network",
            expected="bytes of a tuple of every stream",
            remedy="measure or declare them, or say --tuple-bytes for all that lack them",
        )
    return sizes
