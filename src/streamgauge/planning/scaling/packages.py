"""Packages: units for a congested component, and all that its larger output asks for below it.

Puttaswamy 2018, section 5.2.5 and Algorithms 3 and 5. The listing of Algorithm 5 is not followed
to the letter: inputs are those after the change, needs are counted in units and never negative,
a join is looked at after all of its parents. Packages are chosen greedily by what a unit gains,
with the published rules on overlap, or by a knapsack, which is named there as future work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.planning.scaling.graph import Allocation
from streamgauge.planning.scaling.programs import Program
from streamgauge.planning.scaling.rates import CongestionRule, Flow, FlowModel, format_rate
from streamgauge.topology.frozen import FrozenDict

# Nodes of the search tree of a knapsack; some dozens of packages need a handful.
KNAPSACK_NODES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What it takes to let more through one component without congestion below it.

    Attributes:
        head: The component that may stay congested in part; nothing below it does.
        allocation: Units for the head and those below it.
        increase: Throughput that is gained by it alone.
        relieved: Whether the head is not congested any more.
        complete: Whether all below it can be decongested; laws that level off may forbid it.
        taken: Whether it was chosen, once that is known.
    """

    head: str
    head_units: int
    allocation: Allocation
    increase: float
    relieved: bool
    complete: bool = True
    taken: bool = False

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

    def to_dict(self) -> dict[str, Any]:
        """A flat record for ``--json``."""
        return {
            "head": self.head,
            "head_units": self.head_units,
            "allocation": dict(self.allocation),
            "units": self.units,
            "increase": self.increase,
            "increase_per_unit": self.ratio,
            "relieved": self.relieved,
            "complete": self.complete,
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

    Units go on top of what the flow `base` has, `limit` of them at most; only to heads in `scope`,
    where one is given.
    """
    packages = []
    for head in rule.heads(model, base):
        if scope is not None and head not in scope:
            continue
        room = model.most[head] - base.units[head]
        for head_units in range(1, int(min(limit, room)) + 1):
            package = package_of(model, base, head, head_units, rule)
            packages.append(package)
            if package.relieved or package.units > limit:
                break
    return packages


def union(packages: Iterable[Package]) -> dict[str, int]:
    """What several packages ask for together, component by component."""
    total: dict[str, int] = {}
    for package in packages:
        for name, units in package.allocation.items():
            total[name] = total.get(name, 0) + units
    return total


# What packages together cost; more than the sum of their units where they share components.
Cost = Callable[[Sequence[Package]], float]


def plain_cost(packages: Sequence[Package]) -> float:
    """The sum of their units."""
    return sum(package.units for package in packages)


def worthwhile(packages: Sequence[Package], budget: int, throughput: float) -> list[Package]:
    """Those that can be had and gain something, best ratio first, equals as they came."""
    noise = 1e-9 * throughput
    fitting = [
        package
        for package in packages
        if package.complete and package.units <= budget and package.increase > noise
    ]
    return sorted(fitting, key=lambda package: -package.rank)


def covers(model: FlowModel, large: Package, small: Package) -> bool:
    """Whether the one does what the other does: its head lies above, or has as many units."""
    if large.head == small.head:
        return large.head_units >= small.head_units
    return small.head in model.graph.descendants[large.head]


def greedy(
    model: FlowModel, packages: Sequence[Package], budget: int, cost: Cost = plain_cost
) -> list[Package]:
    """From the best ratio on, what fits.

    What a chosen package covers is passed over; what covers chosen ones takes their place, and
    their units count towards it.
    """
    chosen: list[Package] = []
    for package in packages:
        if cost(chosen) >= budget:
            break
        if any(covers(model, taken, package) for taken in chosen):
            continue
        kept = [taken for taken in chosen if not covers(model, package, taken)]
        if cost([*kept, package]) <= budget:
            chosen = [*kept, package]
    return chosen


def knapsack(
    model: FlowModel, packages: Sequence[Package], budget: int, cost: Cost = plain_cost
) -> list[Package]:
    """The set that gains most, where gains add up and no package covers another.

    What packages cost together is looked at afterwards: while it is more than there is, the one
    of the lowest ratio goes.
    """
    if not packages:
        return []
    program = Program()
    columns: dict[str, list[int]] = {}
    weights = {}
    for package in packages:
        column = program.column(1.0, whole=True, gain=package.increase)
        columns.setdefault(package.head, []).append(column)
        weights[column] = float(package.units)
    program.row(weights, float(budget))
    below = model.graph.descendants
    for head, own in columns.items():
        program.row(dict.fromkeys(own, 1.0), 1.0)
        for other in sorted(columns.keys() & below[head]):
            program.row(dict.fromkeys((*own, *columns[other]), 1.0), 1.0)
    # Taking none is a solution, so there is always one.
    values, _ = program.solve(KNAPSACK_NODES)
    taken = values or [0.0] * len(packages)
    chosen = [package for package, part in zip(packages, taken, strict=True) if part > 0.5]
    while cost(chosen) > budget:
        chosen = chosen[:-1]
    return chosen
