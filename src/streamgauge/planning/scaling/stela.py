"""Stela: one unit at a time to the congested component that reaches most of the throughput.

Puttaswamy 2018, chapter 4 (after Xu, Peng and Gupta 2016). A decision is final; what a unit does
further down shows only when the next one is given out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from streamgauge.planning.scaling.congestion import BY_CAPACITY, CongestionRule
from streamgauge.planning.scaling.contract import Scaling
from streamgauge.planning.scaling.etp import reached_share
from streamgauge.planning.scaling.graph import ScalingGraph, check_budget
from streamgauge.planning.scaling.rates import EVEN_WEIGHTS, Flow, FlowModel, format_rate

if TYPE_CHECKING:
    from streamgauge.planning.scaling.options import ScalingOptions

# Percentages that differ by less than this, relatively, are equal.
SAME = 1e-9


class TieRule(StrEnum):
    """Who gets the unit among those of equal percentage.

    FIRST: the one declared first.
    LAST: the one declared last.
    MOST_DROPPED: the one that drops most, then the one declared first.
    """

    FIRST = "first"
    LAST = "last"
    MOST_DROPPED = "most-dropped"

    def choose(self, tied: Sequence[int], flow: Flow) -> int:
        """One of several, which are in declared order."""
        if self is TieRule.FIRST:
            return tied[0]
        if self is TieRule.LAST:
            return tied[-1]
        return max(tied, key=lambda index: flow.inputs[index] - flow.capacities[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class StelaScaler:
    """Serial and final: looks at how much a component reaches, not at what a unit would bring.

    Attributes:
        ties: Who gets a unit among equals; the publication leaves it open.
        rule: Who is congested.
        weights: What a tuple of a leaf counts.
    """

    ties: TieRule = TieRule.FIRST
    rule: CongestionRule = BY_CAPACITY
    weights: Mapping[str, float] = EVEN_WEIGHTS
    name: str = "stela"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "gives units one by one to the congested component from which the largest share of the "
            "throughput is reached without passing another congested one"
        )

    def configure(self, options: ScalingOptions) -> StelaScaler:
        """With the tie rule, the drop threshold and the weights of sinks."""
        return replace(self, ties=options.ties, rule=options.rule, weights=options.sink_weights)

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """All units, one by one."""
        check_budget(units)
        model = FlowModel(graph, self.weights)
        flow = model.flow()
        reasons = []
        for _ in range(units):
            target, reason = self._target(model, flow)
            after = model.with_more(flow, target)
            change = (
                f"{format_rate(model.throughput(flow))} → {format_rate(model.throughput(after))}"
            )
            reasons.append(f"{model.names[target]} gets a unit: {reason}; throughput {change}")
            flow = after
        return Scaling.of(self.name, model, model.added(flow), reasons=reasons)

    def _target(self, model: FlowModel, flow: Flow) -> tuple[int, str]:
        heads = self.rule.heads(model, flow)
        blocking = set(self.rule.find_congested(model, flow))
        reached = {index: reached_share(model, flow, index, blocking) for index in heads}
        best = max(reached.values())
        tied = [index for index in heads if reached[index] >= best * (1.0 - SAME)]
        target = self.ties.choose(tied, flow)
        if not blocking:
            return target, "a source, as no component is congested"
        return target, (
            f"it processes {format_rate(flow.capacities[target])} of "
            f"{format_rate(flow.inputs[target])} tuples/s, "
            f"and {best:.1%} of the throughput is reached from it"
            + (f" (one of {len(tied)} equally good)" if len(tied) > 1 else "")
        )
