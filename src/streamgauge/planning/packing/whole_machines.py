"""A higher bound: how many whole machines of each type there must be, whatever they hold.

Let kinds of instances have any values v ≥ 0. Machines that hold all instances are then worth at
least what these are: Σ n·W(v) ≥ Σ v·size over the types, where n is how many machines of a type
there are, and W(v) the most that any filling of one is worth. The cheapest whole numbers n that
keep such inequalities cost no more than any solution does. Where parts of patterns on so many
machines do not hold all instances, the dual values of that program give an inequality that these
numbers break (Benders 1962), and others are looked for. Where they do, whole instances are dealt to
just these machines: a solution costs what the bound says, and is proven to be cheapest. Where there
is none, any solution has a machine more of some type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.planning.packing.catalogue import Vector
from streamgauge.planning.packing.columns import Effort, Master
from streamgauge.planning.packing.fillings import fill_exactly, relaxed_worth
from streamgauge.planning.packing.program import TOLERANCE, Pattern, Program
from streamgauge.planning.packing.whole_numbers import Row, minimise

# Parts of instances without a machine that are none.
MISSING = 1e-6
# Costs that differ by a smaller part are the same.
EQUAL = 1e-9
# Beyond so many machines times kinds whole instances are not dealt, and beyond so many types times
# kinds no whole machines are looked for: there the bound is near anyway, and higher ones take long.
MOST_DEALT, MOST_PRICED = 600, 300
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What whole machines say.

    Attributes:
        bound: No solution costs less.
        patterns: A solution that costs as much, on the fewest machines where these count; none
            where none was found.
        is_settled: Whether nothing is better than it or, where there is none, than what was known.
    """

    bound: float
    patterns: tuple[Pattern, ...] = ()
    is_settled: bool = False


def find_by_counts(
    master: Master,
    values: Vector,
    known: Sequence[Pattern],
    effort: Effort,
    *,
    fewest: bool = False,
) -> Counted:
    """A bound on the price of any solution, and a solution on the machines it rests on, if any.

    Args:
        master: With the patterns that are known; those that are found are added.
        values: Of kinds, by which the first inequality is made.
        known: The best solution; a bound as high as its price ends the search.
        effort: How many inequalities are looked for.
        fewest: Whether, of the cheapest, the fewest machines are looked for.
    """
    program = master.program
    if len(program.types) * len(program.sizes) > MOST_PRICED:
        return Counted(bound=0.0)
    step = program.find_step() if fewest else 0.0
    costs = program.prices + step
    cuts = [_cut_resource(program, number) for number in range(program.needs.shape[1])]
    cuts.append(_make_cut(program, values, np.zeros(len(program.prices))))
    too_few: list[Vector] = []
    bound, enough = 0.0, program.price_of(known) + step * len(known)
    for _ in range(effort.cuts):
        counts, least = _choose_counts(program, costs, cuts, too_few, effort)
        bound = max(bound, program.round_up(least - step * float(program.sizes.sum())))
        if counts is None or least >= enough * (1.0 - EQUAL):
            return Counted(bound=bound, is_settled=True)
        if not fewest and bound >= enough * (1.0 - TOLERANCE):
            return Counted(bound=bound, is_settled=True)
        broken = _find_broken(master, counts)
        if broken is not None:
            cuts.append(broken)
            continue
        found, is_impossible = _deal(program, counts, effort)
        if found or not is_impossible:
            is_least = float(costs @ counts) <= least * (1.0 + EQUAL)
            return Counted(bound=bound, patterns=found, is_settled=bool(found) and is_least)
        too_few.append(counts)
    return Counted(bound=bound)


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
    program: Program, costs: Vector, cuts: list[Cut], too_few: list[Vector], effort: Effort
) -> tuple[Vector | None, float]:
    """The cheapest machines that keep all inequalities, and what none of them is cheaper than.

    Of each choice that is too few, there must be more of some type.
    """
    types = list(program.types)
    many, width = len(types), len(types) * (1 + len(too_few))
    most = int(program.sizes.sum()) if program.copies is None else program.copies

    def fill(entries: Mapping[int, float]) -> list[float]:
        return [entries.get(column, 0.0) for column in range(width)]

    rows: list[Row] = [
        (
            fill(dict(enumerate(cut.worth[types].tolist()))),
            cut.need * (1.0 - TOLERANCE),
            math.inf,
        )
        for cut in cuts
        if cut.need > 0.0
    ]
    for number, counts in enumerate(too_few, start=1):
        first = number * many
        for place, machine in enumerate(types):
            more = {place: 1.0, first + place: -float(counts[machine] + 1.0)}
            rows.append((fill(more), 0.0, math.inf))
        rows.append((fill({first + place: 1.0 for place in range(many)}), 1.0, math.inf))
    found, least = minimise(
        [*costs[types].tolist(), *[0.0] * (width - many)],
        rows,
        most=[most] * many + [1] * (width - many),
        hint=[0] * width,
        nodes=effort.nodes,
        seconds=effort.seconds,
    )
    if not found:
        return None, least
    chosen = np.zeros(len(program.prices))
    chosen[types] = found[:many]
    return chosen, least


def _deal(program: Program, counts: Vector, effort: Effort) -> tuple[tuple[Pattern, ...], bool]:
    """Whole instances on just these machines, and whether it is proven that they do not fit."""
    machines = np.repeat(np.arange(len(counts)), counts.astype(np.int64)).tolist()
    kinds, width = len(program.sizes), len(program.sizes) * len(machines)
    if width > MOST_DEALT:
        return (), False

    def fill(entries: Iterable[tuple[int, float]]) -> list[float]:
        row = [0.0] * width
        for column, factor in entries:
            row[column] = factor
        return row

    rows: list[Row] = [
        (
            fill((place * kinds + kind, 1.0) for place in range(len(machines))),
            float(size),
            float(size),
        )
        for kind, size in enumerate(program.sizes.tolist())
    ]
    for place, machine in enumerate(machines):
        for resource, room in enumerate(program.rooms[machine].tolist()):
            needs = enumerate(program.needs[:, resource].tolist(), start=place * kinds)
            rows.append((fill(needs), -math.inf, room))
        # Of machines that are alike the first has no fewer of the first kind.
        if place and machines[place - 1] == machine:
            pair = (((place - 1) * kinds, 1.0), (place * kinds, -1.0))
            rows.append((fill(pair), 0.0, math.inf))
    dealt, bound = minimise(
        [1.0] * width,
        rows,
        most=[int(program.most[machine, kind]) for machine in machines for kind in range(kinds)],
        hint=[0] * width,
        nodes=effort.nodes,
        seconds=effort.seconds,
    )
    if not dealt:
        return (), math.isinf(bound)
    return tuple(
        Pattern(machine, tuple(dealt[place * kinds : (place + 1) * kinds]))
        for place, machine in enumerate(machines)
    ), False


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
