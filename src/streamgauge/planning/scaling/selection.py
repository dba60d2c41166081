"""Which packages are taken: greedily by what a unit gains, or the best set of them.

Puttaswamy 2018, section 5.2.5, for the greedy choice and its rules on overlap; a knapsack in its
place is named there as future work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamgauge.planning.scaling.packages import Package
from streamgauge.planning.scaling.programs import Program
from streamgauge.planning.scaling.rates import FlowModel

# Nodes of the search tree; some dozens of packages need a handful.
KNAPSACK_NODES = 10_000

# What packages together cost; more than the sum of their units where they share components.
Cost = Callable[[Sequence[Package]], float]


def plain_cost(packages: Sequence[Package]) -> float:
    """The sum of their units."""
    return sum(package.units for package in packages)


def worthwhile(packages: Sequence[Package], budget: int, throughput: float) -> list[Package]:
    """Those that can be had and gain something, best ratio first, equals as they came."""
    noise = 1e-9 * throughput
    fitting = [
        one for one in packages if one.complete and one.units <= budget and one.increase > noise
    ]
    return sorted(fitting, key=lambda one: -one.rank)


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

    Args:
        model: The graph.
        packages: Worthwhile ones, best first.
        budget: Units that there are.
        cost: What packages together cost.
    """
    chosen: list[Package] = []
    for package in packages:
        if cost(chosen) >= budget:
            break
        if any(covers(model, one, package) for one in chosen):
            continue
        kept = [one for one in chosen if not covers(model, package, one)]
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
    values = program.solve(KNAPSACK_NODES).values or (0.0,) * len(packages)
    chosen = [one for one, taken in zip(packages, values, strict=True) if taken > 0.5]
    while cost(chosen) > budget:
        chosen = chosen[:-1]
    return chosen
