"""The residual scaler: packages first, then every unit that is left.

Puttaswamy 2018, sections 5.2.6 and 5.2.7. Algorithm 4 is repaired: the unit given to a head
counts, packages that did not fit are candidates too, and where nothing is congested below the
head the whole graph is looked at again. Each round gives out at least one unit, so it ends.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from streamgauge.planning.scaling.contract import Scaling, ScalingOptions, merge_allocations
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph, check_budget
from streamgauge.planning.scaling.packages import Package, package_of
from streamgauge.planning.scaling.predictive import PredictiveScaler
from streamgauge.planning.scaling.rates import Flow, FlowModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualScaler:
    """Uses all units."""

    predictive: PredictiveScaler = field(default_factory=PredictiveScaler)
    name: str = "residual"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "adds packages as the predictive scaler does; remaining units go one by one to the "
            "head of the package that needs the fewest, and to packages downstream"
        )

    def configure(self, options: ScalingOptions) -> ResidualScaler:
        """With the settings of the predictive scaler."""
        return replace(self, predictive=self.predictive.configure(options))

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """All units; what the predictive scaler gives out is kept with the result."""
        check_budget(units)
        model = FlowModel(graph, self.predictive.weights)
        optimal = self.predictive.scale(graph, units)
        allocation, reasons = self._rest(model, optimal.allocation, units)
        return Scaling.of(
            self.name,
            model,
            allocation,
            reasons=(*optimal.reasons, *reasons),
            considered=(optimal,),
            candidates=optimal.candidates,
        )

    def _rest(
        self, model: FlowModel, given: Allocation, units: int
    ) -> tuple[Allocation, list[str]]:
        reasons: list[str] = []
        scope: Collection[int] | None = None
        left = units - sum(given.values())
        while left:
            package = self._easiest(model, model.flow(given), scope)
            reasons.append(
                f"1 remaining unit to {package.head}: its package needs the "
                f"fewest units, {package.units}"
            )
            given = merge_allocations(given, {package.head: 1})
            left -= 1
            head = model.index[package.head]
            scope = {head, *model.below[head]}
            if left:
                choice = self.predictive.choose(model, model.flow(given), left, scope)
                reasons += choice.reasons
                given = merge_allocations(given, choice.allocation)
                left = units - sum(given.values())
        return given, reasons

    def _easiest(self, model: FlowModel, base: Flow, scope: Collection[int] | None) -> Package:
        """The package of fewest units, of one unit for its head: with more it only grows."""
        rule = self.predictive.rule
        heads = rule.heads(model, base)
        within = [head for head in heads if scope is None or head in scope] or heads
        packages = [package_of(model, base, head, 1, rule) for head in within]
        return min(
            packages, key=lambda package: (not package.complete, package.units, -package.rank)
        )
