"""The predictive scaler: whole packages, so that no unit moves congestion further down.

Puttaswamy 2018, sections 5.2.5 and 5.2.7, there called the optimal allocation. It may leave units
unused; `residual.py` gives out the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamgauge.planning.scaling.contract import Scaling, ScalingOptions, Selection
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph, check_budget
from streamgauge.planning.scaling.packages import (
    Cost,
    Package,
    candidates,
    decongest,
    greedy,
    knapsack,
    plain_cost,
    union,
    worthwhile,
)
from streamgauge.planning.scaling.rates import (
    BY_CAPACITY,
    EVEN_WEIGHTS,
    CongestionRule,
    Flow,
    FlowModel,
)
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen of which packages.

    Attributes:
        chosen: Best ratio first, except where a package took the place of others.
        packages: All candidates, those that were too large included.
    """

    chosen: Sequence[Package] = ()
    packages: Sequence[Package] = ()
    allocation: Allocation = field(default_factory=FrozenDict)

    @property
    def reasons(self) -> list[str]:
        """A line for each package taken, and for each component that needs more for several."""
        asked = union(self.chosen)
        more = {name: units - asked.get(name, 0) for name, units in self.allocation.items()}
        return [str(package) for package in self.chosen] + [
            f"{units} to {name}: the chosen packages together would congest it"
            for name, units in more.items()
            if units > 0
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveScaler:
    """Packages by throughput gained per unit.

    Attributes:
        recheck: Whether chosen packages are looked at together. Each is safe alone; several may
            congest what all of them feed. That then gets the units it needs, or the package that
            needs them is passed over. Not part of the publication.
    """

    selection: Selection = Selection.GREEDY
    recheck: bool = False
    rule: CongestionRule = BY_CAPACITY
    weights: Mapping[str, float] = EVEN_WEIGHTS
    name: str = "predictive"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "adds packages, each of which decongests a component and everything downstream of it, "
            "highest gain per unit first; units that complete no package stay unused"
        )

    def configure(self, options: ScalingOptions) -> PredictiveScaler:
        """With the choice of packages, the drop threshold and the weights of sinks."""
        return replace(
            self,
            selection=options.selection,
            recheck=options.recheck,
            rule=options.rule,
            weights=options.sink_weights,
        )

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """What the chosen packages ask for."""
        check_budget(units)
        model = FlowModel(graph, self.weights)
        choice = self.choose(model, model.flow(), units)
        reasons = [*choice.reasons, *_unused(choice, units)]
        considered = [
            replace(package, taken=package in choice.chosen) for package in choice.packages
        ]
        return Scaling.of(
            self.name, model, choice.allocation, reasons=reasons, candidates=considered
        )

    def choose(
        self, model: FlowModel, base: Flow, units: int, scope: Collection[int] | None = None
    ) -> Choice:
        """The packages to take on top of what a flow has; see `candidates` for the arguments."""
        packages = candidates(model, base, units, self.rule, scope)
        fitting = worthwhile(packages, units, model.throughput(base))
        choose = greedy if self.selection is Selection.GREEDY else knapsack
        chosen = choose(model, fitting, units, self._cost(model, base))
        allocation = self._together(model, base, chosen)[0]
        return Choice(chosen=chosen, packages=packages, allocation=FrozenDict(allocation))

    def _cost(self, model: FlowModel, base: Flow) -> Cost:
        if not self.recheck:
            return plain_cost
        return lambda packages: self._together(model, base, packages)[1]

    def _together(
        self, model: FlowModel, base: Flow, packages: Sequence[Package]
    ) -> tuple[dict[str, int], float]:
        """What packages get together, and what that costs."""
        if not self.recheck:
            total = union(packages)
            return total, sum(total.values())
        heads = {model.index[package.head]: package.head_units for package in packages}
        flow, complete = decongest(model, base, heads, self.rule)
        given = {
            model.names[index]: flow.units[index] - base.units[index]
            for index in model.declared
            if flow.units[index] > base.units[index]
        }
        return given, sum(given.values()) if complete else float("inf")


def _unused(choice: Choice, units: int) -> Iterator[str]:
    left = units - sum(choice.allocation.values())
    if not left:
        return
    unused = f"{left} {'unit is' if left == 1 else 'units are'} left"
    larger = [
        package
        for package in choice.packages
        if package.units > left and package not in choice.chosen
    ]
    if not larger:
        yield f"{unused}: no further package would gain anything"
        return
    least = min(larger, key=lambda package: package.units)
    yield (
        f"{unused}: the smallest package not taken needs {least.units}, for {least.head} and "
        "everything downstream of it"
    )
