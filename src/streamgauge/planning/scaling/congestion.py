"""Who is congested: more arrives than its units can process.

Puttaswamy 2018, sections 5.2.3 and 5.2.5, in the strict form: a component that just keeps up is
not congested, nor is one that lags by what rounding adds.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.errors import Findings
from streamgauge.planning.scaling.graph import MAX_UNITS, Allocation, ScalingGraph
from streamgauge.planning.scaling.rates import NOTHING, Flow, FlowModel
from streamgauge.topology.field_checks import check_number

RELATIVE_EPSILON = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionRule:
    """When a component counts as congested.

    Attributes:
        relative_epsilon: Part of its capacity by which the input may exceed it.
        drop_threshold: Tuples per second that may be dropped unheeded.
    """

    relative_epsilon: float = RELATIVE_EPSILON
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
    graph: ScalingGraph,
    allocation: Allocation = NOTHING,
    *,
    rule: CongestionRule = BY_CAPACITY,
) -> tuple[str, ...]:
    """Names of all components but sources that are congested, in declared order."""
    graph.check_allocation(allocation)
    model = FlowModel(graph)
    return tuple(model.names[index] for index in rule.find_congested(model, model.flow(allocation)))
