"""Packages: units for a congested component, and all that its larger output asks for below it.

Puttaswamy 2018, section 5.2.5 and Algorithms 3 and 5. The listing of Algorithm 5 is not followed
to the letter: inputs are those after the change, needs are counted in units and never negative,
a join is looked at after all of its parents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.planning.scaling.congestion import CongestionRule
from streamgauge.planning.scaling.graph import Allocation
from streamgauge.planning.scaling.rates import Flow, FlowModel, format_rate
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What it takes to let more through one component without congestion below it.

    Attributes:
        head: The component that may stay congested in part; nothing below it does.
        head_units: Units for the head itself.
        allocation: Units for the head and those below it.
        increase: Throughput that is gained by it alone.
        relieved: Whether the head is not congested any more.
        complete: Whether all below it can be decongested; laws that level off may forbid it.
    """

    head: str
    head_units: int
    allocation: Allocation
    increase: float
    relieved: bool
    complete: bool = True

    @property
    def units(self) -> int:
        """What it costs."""
        return sum(self.allocation.values())

    @property
    def ratio(self) -> float:
        """Throughput gained per unit (eq. 9)."""
        return self.increase / self.units

    @property
    def rank(self) -> float:
        """The ratio without the noise of rounding, so that equals stay in their order."""
        return float(f"{self.ratio:.9g}")

    def __str__(self) -> str:
        below = [f"{n} to {name}" for name, n in self.allocation.items() if name != self.head]
        with_them = f", and downstream {', '.join(below)}" if below else ""
        units = "1 unit" if self.head_units == 1 else f"{self.head_units} units"
        return (
            f"{units} to {self.head}{with_them}: throughput"
            f" +{format_rate(self.increase)} tuples/s, {format_rate(self.ratio)} per unit"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A package that was considered.

    Attributes:
        package: What it asks for, and gains.
        taken: Whether it was chosen.
    """

    package: Package
    taken: bool

    def to_dict(self) -> dict[str, Any]:
        """A flat record for ``--json``."""
        package = self.package
        return {
            "head": package.head,
            "head_units": package.head_units,
            "allocation": dict(package.allocation),
            "units": package.units,
            "increase": package.increase,
            "increase_per_unit": package.ratio,
            "relieved": package.relieved,
            "complete": package.complete,
            "taken": self.taken,
        }


def decongest(
    model: FlowModel, base: Flow, heads: Mapping[int, int], rule: CongestionRule
) -> tuple[Flow, bool]:
    """A flow in which heads have so many units more and all below them are not congested.

    Also whether that is so: where no number of units decongests a component, it stays as it is.
    """
    flow = base.copy()
    complete = True
    below = {other for head in heads for other in model.below[head]}
    for index in sorted(below.union(heads)):
        model.provide(flow, index, base.units[index] + heads.get(index, 0))
        arriving = flow.inputs[index]
        if index not in below or not rule.is_congested(arriving, flow.capacities[index]):
            continue
        enough = rule.units_for(model, index, arriving, flow.units[index] + 1)
        if enough is None:
            complete = False
        else:
            model.provide(flow, index, enough)
    return flow, complete


def package_of(
    model: FlowModel, base: Flow, head: int, head_units: int, rule: CongestionRule
) -> Package:
    """The package of so many units for a head, on top of what a flow has."""
    flow, complete = decongest(model, base, {head: head_units}, rule)
    given = {
        model.names[index]: flow.units[index] - base.units[index]
        for index in (head, *model.below[head])
        if flow.units[index] > base.units[index]
    }
    return Package(
        head=model.names[head],
        head_units=head_units,
        allocation=FrozenDict(given),
        increase=model.throughput(flow) - model.throughput(base),
        relieved=not model.is_source[head]
        and not rule.is_congested(flow.inputs[head], flow.capacities[head]),
        complete=complete,
    )


def candidates(
    model: FlowModel,
    base: Flow,
    limit: int,
    rule: CongestionRule,
    scope: Collection[int] | None = None,
) -> list[Package]:
    """All packages: for each head one unit, two … until it is decongested.

    Each unit more for a head makes its package larger. The first that needs more than there is
    is therefore the last: it is kept, as one that did not fit.

    Args:
        model: The graph.
        base: What flows now.
        limit: Units that there are.
        rule: Who is congested.
        scope: Only heads among these.
    """
    found = []
    for head in rule.heads(model, base):
        if scope is not None and head not in scope:
            continue
        room = model.most[head] - base.units[head]
        for head_units in range(1, int(min(limit, room)) + 1):
            package = package_of(model, base, head, head_units, rule)
            found.append(package)
            if package.relieved or package.units > limit:
                break
    return found


def union(packages: Iterable[Package]) -> dict[str, int]:
    """What several packages ask for together, component by component."""
    total: dict[str, int] = {}
    for package in packages:
        for name, units in package.allocation.items():
            total[name] = total.get(name, 0) + units
    return total
