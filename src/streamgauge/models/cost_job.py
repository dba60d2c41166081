"""What the cost models of an engine know of a job: tuple types, who turns which into which, costs.

Bedini et al. 2013, sections 3 and 4. A stream of the topology is a tuple type. Phases of an
operator are read, transform or execute, grouping, serialise; and deserialise before them for what
comes from another worker. The transport of a tuple (Γ) costs something beside that, by how far it
goes. These models are baselines: what predictions count is in `worker_cpu`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.models.acks import roots_per_tuple
from streamgauge.models.job_behaviour import JobBehaviour, ServiceTime
from streamgauge.models.management import ManagementBytes, ManagementRequests
from streamgauge.models.plan_family import PlanFamily
from streamgauge.models.traffic_equations import (
    Conversion,
    Traffic,
    data_keys,
    gain,
    propagate,
    source_rates,
)
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.grouping import All, Global, LocalOrShuffle, Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, Stream, StreamKey, Topology
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.topology.workload import Workload
from streamgauge.transport.mechanics import Mechanics

SECONDS_PER_MS = 1e-3

# How a stream is divided; `nearest` is what shuffle of an engine does that looks for near targets.
EVEN, TO_ALL, TO_ONE, LOCAL_FIRST, NEAREST = "even", "all", "one", "local-first", "nearest"


class ByDistance(NamedTuple):
    """Seconds a tuple by how far it goes: within its worker, its node, or to another node (Γ)."""

    local: float = 0.0
    node: float = 0.0
    remote: float = 0.0


FREE = ByDistance()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCosts:
    """What a tuple of one type costs beside the job's own code; seconds on a core.

    Attributes:
        read: Taking it from the queue, or from the source's own input.
        serialise: Once, if any copy leaves its worker (E4).
        deserialise: Of each copy that came from another worker (F2).
        serialise_per_byte: The same for each byte of its size, beside `serialise`.
        deserialise_per_byte: Likewise.
    """

    read: float = 0.0
    serialise: float = 0.0
    deserialise: float = 0.0
    serialise_per_byte: float = 0.0
    deserialise_per_byte: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            for one in fields(self):
                check_number(findings, getattr(self, one.name), one.name)

    def of_size(self, size: float) -> TypeCosts:
        """The same with what bytes cost of a tuple of that size."""
        return TypeCosts(
            read=self.read,
            serialise=self.serialise + size * self.serialise_per_byte,
            deserialise=self.deserialise + size * self.deserialise_per_byte,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostConstants:
    """Constants that have to be measured; the paper gives none.

    Attributes:
        types: By stream.
        any_type: Of streams that `types` does not name.
        groupings: Seconds on a core to choose tasks, by the grouping's kind (E4).
        transport: Seconds on a core (Γ of D1).
        latency: Seconds until the tuple is there, likewise.
        transport_serialises: Whether `transport` contains serialising and deserialising; phases
            then leave them out, so that nothing is counted twice.
        raw_bytes: Of what a source reads for each tuple over the network, by source.
        requests: Of management; None where not known.
        management: Bytes of management; None where not known.
        management_bound: Bytes a second that management takes at most, where that is all one knows.
    """

    types: Mapping[StreamKey, TypeCosts] = field(default_factory=FrozenDict)
    any_type: TypeCosts = TypeCosts()
    groupings: Mapping[str, float] = field(default_factory=FrozenDict)
    transport: ByDistance = FREE
    latency: ByDistance = FREE
    transport_serialises: bool = False
    raw_bytes: Mapping[str, float] = field(default_factory=FrozenDict)
    requests: ManagementRequests | None = None
    management: ManagementBytes | None = None
    management_bound: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            for name in ("transport", "latency"):
                for part, seconds in getattr(self, name)._asdict().items():
                    check_number(findings, seconds, name, part)
            for name in ("groupings", "raw_bytes"):
                for key, value in getattr(self, name).items():
                    check_number(findings, value, name, key)
            check_number(findings, self.management_bound, "management_bound")

    def check_against(self, topology: Topology) -> None:
        """Raise InvalidInput where they name a tuple type, source or grouping that is not there."""
        carried = {stream.key for stream in topology.data_streams}
        sources = [source.name for source in topology.sources]
        kinds = sorted({stream.grouping.kind for stream in topology.data_streams})
        findings = Findings()
        for key in self.types:
            if key not in carried:
                findings.add(
                    "types",
                    str(key),
                    seen=f"the tuple type {key}, which no stream carries",
                    expected=f"one of {', '.join(sorted(map(str, carried)))}",
                    remedy=did_you_mean(str(key), [str(one) for one in carried]),
                )
        for name in self.raw_bytes:
            if name not in sources:
                findings.add(
                    "raw_bytes",
                    name,
                    seen=f"{name!r}, which is no source",
                    expected=f"one of {', '.join(sources)}",
                )
        for kind in self.groupings:
            if kind not in KNOWN_GROUPINGS:
                findings.add(
                    "groupings",
                    kind,
                    seen=f"the grouping {kind!r}",
                    expected=f"one of {', '.join(KNOWN_GROUPINGS)}; the job has {', '.join(kinds)}",
                )
        findings.raise_if_any()


KNOWN_GROUPINGS = (
    "shuffle",
    "local-or-shuffle",
    "fields",
    "partial-key",
    "all",
    "global",
    "direct",
    "custom",
)


class Edge(NamedTuple):
    """One subscription: places of its operators in `CostJob.operators`, its type, its division."""

    source: int
    target: int
    type: StreamKey
    division: str
    grouping: str


class Spent(NamedTuple):
    """Seconds that a tuple takes an executor: on a core, and off the cores."""

    cpu: float = 0.0
    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CostJob:
    """A job for the cost models; rates are those of its load, and grow in proportion.

    Attributes:
        operators: In an order in which senders come before receivers.
        declared: Places in `operators` in the order of the topology, which plans have.
        emitted: Tuples a second that sources emit, by type.
        selectivity: Tuples out for each tuple in, by operator and type in, then type out (A3, A4).
        spent: What the job's own code takes, by operator and type in; of sources by type out.
        tuple_bytes: By type; a type that is not there has no known size.
        added_bytes: What the engine adds to a tuple between workers, by type.
    """

    operators: tuple[str, ...]
    declared: tuple[int, ...]
    edges: tuple[Edge, ...]
    emitted: Mapping[StreamKey, float]
    selectivity: Mapping[tuple[str, StreamKey], Mapping[StreamKey, float]]
    spent: Mapping[tuple[str, StreamKey], Spent]
    tuple_bytes: Mapping[StreamKey, float]
    added_bytes: Mapping[StreamKey, float]
    constants: CostConstants = CostConstants()

    @classmethod
    def of(
        cls, behaviour: JobBehaviour, workload: Workload, constants: CostConstants | None = None
    ) -> CostJob:
        """The job under a load.

        Raises:
            InvalidInput: Constants are of other streams; or windows fire by time, whose tuples do
                not grow with the load.
            CyclicTopology: The topology has a cycle.
        """
        topology = behaviour.topology
        constants = constants or CostConstants()
        constants.check_against(topology)
        _refuse_timers(topology)
        traffic = _single_executors(behaviour, workload)
        order = [operator.name for operator in topology.topological_order()]
        mechanics = traffic.mechanics
        sizes = {
            stream.key: float(behaviour.operators[stream.source].bytes[stream.name])
            for stream in topology.data_streams
            if stream.source in behaviour.operators
            and stream.name in behaviour.operators[stream.source].bytes
        }
        roots = roots_per_tuple(traffic) if topology.acked else {}
        own = mechanics.message_bytes
        return cls(
            operators=tuple(order),
            declared=tuple(order.index(operator.name) for operator in topology.operators),
            edges=_list_edges(topology, order, mechanics),
            emitted={
                key: float(rate.sum())
                for key, rate in traffic.rates.emitted.items()
                if topology.operator(key.source).kind is OperatorKind.SOURCE
            },
            selectivity={
                (name, block.stream.key): _outputs(traffic, block.stream, conversion)
                for name, conversion in traffic.conversions.items()
                for block in traffic.flow.data_blocks
                if block.stream.target == name
            },
            spent=_list_spent(behaviour, topology),
            tuple_bytes=sizes,
            added_bytes={
                stream.key: own.frame + own.root * roots.get(stream.key, 0.0)
                for stream in topology.data_streams
            },
            constants=constants,
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """Operators that emit by themselves."""
        return tuple(dict.fromkeys(key.source for key in self.emitted))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Streams whose tuples' size is not known."""
        types = dict.fromkeys(edge.type for edge in self.edges)
        return tuple(str(key) for key in types if key not in self.tuple_bytes)

    def types_of(self, operator: str) -> tuple[StreamKey, ...]:
        """The types that an operator emits."""
        return tuple(dict.fromkeys(e.type for e in self.edges if e.type.source == operator))

    def type_costs(self, key: StreamKey) -> TypeCosts:
        """What a tuple costs beside the job's code; without what transport contains already."""
        found = self.constants.types.get(key, self.constants.any_type)
        if self.constants.transport_serialises:
            return TypeCosts(read=found.read)
        return found.of_size(self.tuple_bytes.get(key, 0.0))


def _list_edges(topology: Topology, order: Sequence[str], mechanics: Mechanics) -> tuple[Edge, ...]:
    """Subscriptions, those of a sender before those of its receivers."""
    edges = [
        Edge(
            order.index(stream.source),
            order.index(stream.target),
            stream.key,
            _division(stream, mechanics),
            stream.grouping.kind,
        )
        for stream in topology.data_streams
    ]
    return tuple(sorted(edges, key=lambda edge: edge.source))


def _refuse_timers(topology: Topology) -> None:
    for operator in topology.operators:
        window = operator.window
        if window is not None and (window.slide_seconds or window.length_seconds):
            raise InvalidInput.single(
                ("operators", operator.name, "window"),
                seen="a window by time",
                expected="operators whose tuples grow with the load",
                remedy="ask `streamgauge predict`, which knows windows by time",
            )


def _single_executors(behaviour: JobBehaviour, workload: Workload) -> Traffic:
    """Rates with one executor an operator: the mean of whatever tasks do."""
    given = behaviour.configuration
    configuration = Configuration(engine=given.engine, settings=given.settings, ackers=0)
    logical = LogicalPlan.of(behaviour.topology, configuration)
    cluster = Cluster.uniform(nodes=1)
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))
    family = PlanFamily.of(behaviour, logical, None)
    flow: TupleFlow = family.connect(plan)
    rates = propagate(flow, source_rates(logical, workload), family.conversions)
    return Traffic(
        flow=flow, rates=rates, conversions=family.conversions, mechanics=family.mechanics
    )


def _division(stream: Stream, mechanics: Mechanics) -> str:
    match stream.grouping:
        case All():
            return TO_ALL
        case Global():
            return TO_ONE
        case LocalOrShuffle():
            return LOCAL_FIRST
        case Shuffle() if mechanics.load_aware:
            return NEAREST
        case _:
            return EVEN


def _outputs(traffic: Traffic, stream: Stream, conversion: Conversion) -> dict[StreamKey, float]:
    block = next(one for one in traffic.flow.data_blocks if one.stream is stream)
    found = {}
    for key in data_keys(traffic.flow, stream.target):
        factor = gain(traffic.flow, block, key.name, conversion)
        found[key] = float(factor if isinstance(factor, float) else factor.mean())
    return found


def _list_spent(behaviour: JobBehaviour, topology: Topology) -> dict[tuple[str, StreamKey], Spent]:
    spent: dict[tuple[str, StreamKey], Spent] = {}
    for stream in topology.data_streams:
        if topology.operator(stream.source).kind is OperatorKind.SOURCE:
            spent[stream.source, stream.key] = _spend(behaviour.operators[stream.source].emit)
        own = behaviour.operators[stream.target]
        tuples = _spend(own.service_of(stream.key))
        window = topology.operator(stream.target).window
        if window is not None and own.window is not None and window.slide_tuples:
            each = _spend(own.window.service)
            length = float(window.length_tuples or 0)
            inside = float(own.window.per_tuple_ms) * SECONDS_PER_MS * length
            tuples = Spent(
                tuples.cpu + (each.cpu + inside) / window.slide_tuples,
                tuples.wait + each.wait / window.slide_tuples,
            )
        spent[stream.target, stream.key] = tuples
    return spent


def _spend(service: ServiceTime) -> Spent:
    return Spent(
        float(service.cpu.mean_ms) * SECONDS_PER_MS, float(service.wait.mean_ms) * SECONDS_PER_MS
    )
