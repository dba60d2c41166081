"""What flows through a graph, and who is congested: more arrives than its units can process.

Puttaswamy 2018, sections 5.2.3 and 5.2.5, with what closes that model: no back-pressure, so a
component processes the lesser of its input and its capacity and drops the rest; a component comes
after all of its parents, so that joins see every input. Congestion is taken in the strict form: a
component that just keeps up is not congested, nor is one that lags by what rounding adds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.planning.scaling.graph import MAX_UNITS, Allocation, ScalingGraph
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.frozen import FrozenDict

NOTHING: Allocation = FrozenDict()
EVEN_WEIGHTS: Mapping[str, float] = FrozenDict()


def format_rate(per_second: float) -> str:
    """A rate in a sentence: ``0.0123``, ``12.5``, ``1,234,567``."""
    return f"{per_second:,.0f}" if abs(per_second) >= 1000.0 else f"{per_second:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRates:
    """One component, in tuples per second.

    Of a source all but `dropped` are what it emits: it keeps up with itself.

    Attributes:
        capacity: The most that its units process.
        processed: The lesser of the two (eq. 12).
        dropped: The rest of the input (eq. 2).
        output: What it emits on all streams together (eq. 4).
    """

    units: int
    input: float
    capacity: float
    processed: float
    dropped: float
    output: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRates:
    """All components, and what leaves the graph.

    Attributes:
        components: By name, in declared order.
        throughput: What the leaves emit, added up by their weights (eq. 8).
    """

    components: Mapping[str, ComponentRates]
    throughput: float

    def __getitem__(self, name: str) -> ComponentRates:
        return self.components[name]

    def to_dict(self) -> dict[str, Any]:
        """A record for ``--json`` and the REST service."""
        return {
            "throughput": self.throughput,
            "components": {name: asdict(rates) for name, rates in self.components.items()},
        }


@dataclass(slots=True)
class Flow:
    """The rates of one allocation, by the component's place in topological order."""

    units: list[int]
    inputs: list[float]
    capacities: list[float]
    outputs: list[float]

    def copy(self) -> Flow:
        """One that can be changed without this one."""
        return Flow(self.units[:], self.inputs[:], self.capacities[:], self.outputs[:])


class FlowModel:
    """A graph made ready to be evaluated thousands of times.

    Attributes:
        names: In topological order; an index is a place in this.
        below: All descendants of a component, in topological order.
        children: The targets of a component's edges, as declared.
        weights: What a tuple of a leaf counts, by leaf.
        declared: Indices in declared order, in which ties are broken.
    """

    def __init__(self, graph: ScalingGraph, weights: Mapping[str, float] = EVEN_WEIGHTS) -> None:
        _check_weights(graph, weights)
        self.graph = graph
        self.names = graph.order
        self.index = {name: index for index, name in enumerate(self.names)}
        components = [graph.by_name[name] for name in self.names]
        self.is_source = [component.source for component in components]
        self.declared = [self.index[component.name] for component in graph.components]
        self.children = [
            [self.index[edge.target] for edge in graph.children[name]] for name in self.names
        ]
        self.below = [
            sorted(self.index[child] for child in graph.descendants[name]) for name in self.names
        ]
        self.weights = {self.index[name]: weights.get(name, 1.0) for name in graph.leaves}
        limits = [component.most_units for component in components]
        self.most = [math.inf if most is None else most for most in limits]
        self._units = [component.units for component in components]
        self._rate = [component.law.rate for component in components]
        self._factor = [component.out_per_in for component in components]
        self._parents = [
            [(self.index[edge.source], edge.share) for edge in graph.parents[name]]
            for name in self.names
        ]

    def flow(self, allocation: Allocation = NOTHING) -> Flow:
        """With so many units more."""
        size = len(self.names)
        units = self._units[:]
        for name, more in allocation.items():
            units[self.index[name]] += more
        capacities = [rate(count) for rate, count in zip(self._rate, units, strict=True)]
        flow = Flow(units, [0.0] * size, capacities, [0.0] * size)
        for index in range(size):
            self.settle(flow, index)
        if not math.isfinite(sum(flow.inputs) + sum(flow.outputs)):
            raise InvalidInput.single(
                ("components",),
                seen="rates too large for floating point",
                expected="rates, shares and outputs per input whose products are finite",
            )
        return flow

    def settle(self, flow: Flow, index: int) -> None:
        """Recompute one component, in place, from what its parents emit."""
        capacity = flow.capacities[index]
        if self.is_source[index]:
            flow.inputs[index] = flow.outputs[index] = capacity
            return
        arriving = 0.0
        outputs = flow.outputs
        for parent, share in self._parents[index]:
            arriving += outputs[parent] * share
        flow.inputs[index] = arriving
        outputs[index] = min(arriving, capacity) * self._factor[index]

    def provide(self, flow: Flow, index: int, units: int) -> None:
        """Let a component have so many units in all, in place; what is below it stays as it was."""
        flow.units[index] = units
        flow.capacities[index] = self._rate[index](units)
        self.settle(flow, index)

    def with_more(self, flow: Flow, index: int, more: int = 1) -> Flow:
        """What becomes of a flow when one component gets more units."""
        changed = flow.copy()
        self.provide(changed, index, flow.units[index] + more)
        for other in self.below[index]:
            self.settle(changed, other)
        return changed

    def capacity(self, index: int, units: int) -> float:
        """What so many units of a component can do."""
        return self._rate[index](units)

    def throughput(self, flow: Flow) -> float:
        """What the leaves emit."""
        outputs = flow.outputs
        return sum([outputs[leaf] * weight for leaf, weight in self.weights.items()])

    def added(self, flow: Flow) -> dict[str, int]:
        """The units of a flow beyond those that the graph has, in declared order."""
        return {
            self.names[index]: flow.units[index] - self._units[index]
            for index in self.declared
            if flow.units[index] > self._units[index]
        }

    def rates(self, flow: Flow) -> GraphRates:
        """A flow as others see it."""
        components = {}
        for index in self.declared:
            arriving, capacity = flow.inputs[index], flow.capacities[index]
            processed = min(arriving, capacity)
            components[self.names[index]] = ComponentRates(
                units=flow.units[index],
                input=arriving,
                capacity=capacity,
                processed=processed,
                dropped=arriving - processed,
                output=flow.outputs[index],
            )
        return GraphRates(components=FrozenDict(components), throughput=self.throughput(flow))


def propagate(
    graph: ScalingGraph,
    allocation: Allocation = NOTHING,
    *,
    weights: Mapping[str, float] = EVEN_WEIGHTS,
) -> GraphRates:
    """What would flow with so many units more; the graph stays as it is.

    A tuple of a leaf counts in the throughput with its weight; one where none is named.

    Raises:
        InvalidInput: An allocation or weight of what is not there.
    """
    graph.check_allocation(allocation)
    model = FlowModel(graph, weights)
    return model.rates(model.flow(allocation))


def _check_weights(graph: ScalingGraph, weights: Mapping[str, float]) -> None:
    findings = Findings()
    leaves = graph.leaves
    for name, weight in weights.items():
        if name not in leaves:
            findings.add(
                "weights",
                name,
                seen=f"{name!r}, which is not a sink",
                expected=f"components of {graph.name!r} that feed no other component",
                remedy=did_you_mean(name, leaves),
            )
        check_number(findings, weight, "weights", name)
    findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionRule:
    """When a component counts as congested.

    Attributes:
        relative_epsilon: Part of its capacity by which the input may exceed it.
        drop_threshold: Tuples per second that may be dropped unheeded.
    """

    relative_epsilon: float = 1e-9
    drop_threshold: float = 0.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.relative_epsilon, "relative_epsilon", most=1.0)
        check_number(findings, self.drop_threshold, "drop_threshold")
        findings.raise_if_any()

    def is_congested(self, arriving: float, capacity: float) -> bool:
        """Whether more is dropped than is tolerated."""
        return arriving - capacity > max(self.drop_threshold, self.relative_epsilon * capacity)

    def find_congested(self, model: FlowModel, flow: Flow) -> list[int]:
        """All but sources that are congested, in declared order."""
        return [
            index
            for index in model.declared
            if not model.is_source[index]
            and self.is_congested(flow.inputs[index], flow.capacities[index])
        ]

    def heads(self, model: FlowModel, flow: Flow) -> list[int]:
        """Who may get units: the congested, and sources once nobody else is (section 6.2.1).

        Who has as many units as it can have counts as nobody.
        """
        can_grow = [
            index
            for index in self.find_congested(model, flow)
            if flow.units[index] < model.most[index]
        ]
        return can_grow or [index for index in model.declared if model.is_source[index]]

    def units_for(self, model: FlowModel, index: int, arriving: float, least: int) -> int | None:
        """The fewest units, from `least` on, with which a component is not congested.

        None where no number that it can have is enough: a law may level off.
        """
        short, step = least - 1, 1
        while self.is_congested(arriving, model.capacity(index, short + step)):
            short += step
            step *= 2
            if short > MAX_UNITS:
                return None
        enough = short + step
        while enough - short > 1:
            middle = (short + enough) // 2
            if self.is_congested(arriving, model.capacity(index, middle)):
                short = middle
            else:
                enough = middle
        return enough if enough <= model.most[index] else None


BY_CAPACITY = CongestionRule()


def find_congested(
    graph: ScalingGraph, allocation: Allocation = NOTHING, *, rule: CongestionRule = BY_CAPACITY
) -> tuple[str, ...]:
    """Names of all components but sources that are congested, in declared order."""
    graph.check_allocation(allocation)
    model = FlowModel(graph)
    return tuple(model.names[index] for index in rule.find_congested(model, model.flow(allocation)))
