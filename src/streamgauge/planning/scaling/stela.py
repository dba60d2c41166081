"""Stela: one unit at a time to the congested component that reaches most of the throughput.

Puttaswamy 2018, chapter 4 (after Xu, Peng and Gupta 2016). A decision is final; what a unit does
further down shows only when the next one is given out. What a component reaches is its expected
throughput percentage (section 4.2): what leaves the sinks that it reaches on paths without another
congested component, as a part of all that leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from streamgauge.planning.scaling.contract import Scaling, ScalingOptions, TieRule
from streamgauge.planning.scaling.graph import ScalingGraph, check_budget
from streamgauge.planning.scaling.rates import (
    BY_CAPACITY,
    EVEN_WEIGHTS,
    CongestionRule,
    Flow,
    FlowModel,
    format_rate,
)

# Percentages that differ by less than this, relatively, are equal.
SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class StelaScaler:
    """Serial and final: looks at how much a component reaches, not at what a unit would bring.

    Attributes:
        ties: Who gets a unit among equals; the publication leaves it open.
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


def reached_share(model: FlowModel, flow: Flow, index: int, congested: Collection[int]) -> float:
    """Part of the throughput, from 0 to 1, that a component reaches undisturbed.

    Of a sink it is its own part. A sink counts once, by however many paths it is reached; where
    nothing leaves at all, the part is 0.
    """
    total = model.throughput(flow)
    if total <= 0.0:
        return 0.0
    if not model.children[index]:
        return flow.outputs[index] * model.weights[index] / total
    reached = 0.0
    waiting, visited = list(model.children[index]), set()
    while waiting:
        other = waiting.pop()
        if other in visited:
            continue
        visited.add(other)
        if other in congested:
            continue
        if model.children[other]:
            waiting += model.children[other]
        else:
            reached += flow.outputs[other] * model.weights[other]
    return reached / total
