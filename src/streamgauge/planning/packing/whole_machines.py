"""A higher bound: how many whole machines of each type there must be, whatever they hold.

Let kinds of instances have any values v ≥ 0. Machines that hold all instances are then worth at
least what these are: Σ n·W(v) ≥ Σ v·size over the types, where n is how many machines of a type
there are, and W(v) the most that any filling of one is worth. The cheapest whole numbers n that
keep such inequalities cost no more than any solution does. Where parts of patterns on so many
machines do not hold all instances, the dual values of that program give an inequality that these
numbers break (Benders 1962), and others are looked for. Where they do, whole patterns are tried on
just these machines: a solution there costs what the bound says, and is proven to be cheapest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.planning.packing.catalogue import Vector
from streamgauge.planning.packing.columns import Effort, Master
from streamgauge.planning.packing.fillings import fill_exactly, relaxed_worth
from streamgauge.planning.packing.program import TOLERANCE, Pattern, Program
from streamgauge.planning.packing.whole_numbers import minimise

# Parts of instances without a machine that are none.
MISSING = 1e-6
# Rounds of new patterns for one choice of machines.
MOST_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Cut:
    """An inequality that machines which hold all instances keep.

    Attributes:
        worth: By type, what no filling is worth more than.
        need: What all instances are worth together.
    """

    worth: Vector
    need: float


def find_by_counts(
    master: Master, values: Vector, price: float, effort: Effort
) -> tuple[float, tuple[Pattern, ...]]:
    """A bound on the price of any solution, and a solution on the machines it rests on, if any.

    Args:
        master: With the patterns that are known; those that are found are added.
        values: Of kinds, by which the first inequality is made.
        price: Of the best solution; a bound as high as that ends the search.
        effort: How many inequalities are looked for.
    """
    program = master.program
    cuts = [_cut_resource(program, number) for number in range(program.needs.shape[1])]
    cuts.append(_make_cut(program, values, np.ones(len(program.prices))))
    bound = 0.0
    for _ in range(effort.cuts):
        counts, least = _choose_counts(program, cuts, effort)
        bound = max(bound, program.round_up(least))
        if counts is None or bound >= price * (1.0 - TOLERANCE):
            return bound, ()
        broken = _find_broken(master, counts)
        if broken is None:
            return bound, master.buy(master.patterns, (), counts=counts)[0]
        cuts.append(broken)
    return bound, ()


def _cut_resource(program: Program, resource: int) -> Cut:
    """All instances need no more of a resource than all machines have."""
    needs = program.needs[:, resource]
    return Cut(worth=program.rooms[:, resource], need=float(needs @ program.sizes))


def _make_cut(program: Program, values: Vector, counts: Vector) -> Cut:
    """The inequality of these values, exact for the types of which there are some."""
    worth = np.zeros(len(program.prices))
    for machine in program.types:
        worth[machine] = relaxed_worth(program, machine, values)
        if counts[machine] > 0:
            worth[machine] = min(worth[machine], fill_exactly(program, machine, values)[1])
    return Cut(worth=worth, need=float(values @ program.sizes))


def _choose_counts(
    program: Program, cuts: list[Cut], effort: Effort
) -> tuple[Vector | None, float]:
    """The cheapest machines that keep all inequalities, and what none of them is cheaper than."""
    types = list(program.types)
    most = int(program.sizes.sum()) if program.copies is None else program.copies
    found, least = minimise(
        program.prices[types].tolist(),
        [
            (cut.worth[types].tolist(), cut.need * (1.0 - TOLERANCE), math.inf)
            for cut in cuts
            if cut.need > 0.0
        ],
        most=[most] * len(types),
        hint=[0] * len(types),
        nodes=effort.nodes,
        seconds=effort.seconds,
    )
    if not found:
        return None, least
    counts = np.zeros(len(program.prices))
    counts[types] = found
    return counts, least


def _find_broken(master: Master, counts: Vector) -> Cut | None:
    """An inequality that these numbers of machines break; None where none was found."""
    program = master.program
    for _ in range(MOST_ROUNDS):
        missing, values, worths = master.relax_within(counts)
        if missing <= MISSING:
            return None
        _, found = master.most_valuable(values, worths, exact=False)
        if master.extend(found):
            continue
        cut = _make_cut(program, values, counts)
        if float(cut.worth @ counts) < cut.need * (1.0 - 10.0 * TOLERANCE):
            return cut
        _, found = master.most_valuable(values, worths, exact=True)
        if not master.extend(found):
            return None
    return None
