"""The cheapest machines, with proof: a whole-number program over what machines can hold.

A bound comes from the program without whole numbers, and a higher one from whole machines. Where
the best found costs more, all patterns that could belong to anything cheaper are listed by their
reduced cost; the whole-number program over these proves what is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.planning.packing.catalogue import Vector
from streamgauge.planning.packing.columns import USUAL_EFFORT, Effort, Master, Priced
from streamgauge.planning.packing.fillings import Fillings
from streamgauge.planning.packing.program import TOLERANCE, Pattern, Program
from streamgauge.planning.packing.whole_machines import find_by_counts

# Parts of what a solution's reduced costs add up to that are tried, one after the other.
REACHES = (1.0, 0.2, 0.05, 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What the program found.

    Attributes:
        patterns: One for each machine; none where nothing was found.
        price: Of all; infinite where nothing was found.
        bound: Nothing is cheaper.
        short: Kinds that no machines are left for, proven: then there is no solution.
    """

    patterns: tuple[Pattern, ...]
    price: float
    bound: float
    short: tuple[int, ...] = ()


def solve(
    program: Program,
    known: Sequence[Pattern] = (),
    *,
    effort: Effort = USUAL_EFFORT,
    fewest: bool = False,
) -> Solution:
    """The cheapest machines that were found, and what nothing is cheaper than.

    Args:
        program: What to pack, onto what.
        known: A solution, to begin with.
        effort: How long to search.
        fewest: Whether, of the cheapest, the fewest machines are looked for (eq. 4.5).
    """
    master = Master(program, effort)
    if known:
        master.extend(known)
    priced = master.find_bound()
    if priced.short:
        return Solution(patterns=(), price=math.inf, bound=math.inf, short=priced.short)
    best = master.buy(master.patterns, known)[0] or tuple(known)
    if known and program.price_of(known) < program.price_of(best):
        best = tuple(known)
    price = program.price_of(best) if best else math.inf
    bound = program.round_up(priced.bound)
    is_settled = price <= bound * (1 + TOLERANCE) and not fewest
    if math.isfinite(price) and not is_settled:
        counted = find_by_counts(master, priced.values, best, effort, fewest=fewest)
        bound, is_settled = max(bound, min(counted.bound, price)), counted.is_settled
        if counted.patterns and program.price_of(counted.patterns) <= price * (1 + TOLERANCE):
            best, price = counted.patterns, program.price_of(counted.patterns)
    if math.isfinite(price) and not is_settled:
        wanted = price - (0.0 if fewest else program.grid) + TOLERANCE * price
        listed, is_complete = _list_patterns(program, priced, wanted, effort)
        is_new = master.extend(listed)
        found: tuple[Pattern, ...] = ()
        proven = 0.0
        if is_new or is_complete or fewest:
            found, proven = master.buy(master.patterns, best, fewest=fewest)
        if found and program.price_of(found) <= price * (1 + TOLERANCE):
            best, price = found, program.price_of(found)
        if is_complete:
            # Anything cheaper is made of patterns that were listed.
            bound = max(bound, min(program.round_up(proven), price))
    return Solution(patterns=best, price=price, bound=min(bound, price))


def _list_patterns(
    program: Program, priced: Priced, wanted: float, effort: Effort
) -> tuple[list[Pattern], bool]:
    """Full patterns that a solution of the wanted price can have, and whether these are all.

    The reduced costs of a solution's patterns add up to no more than its price less the bound.
    Where too many patterns are within that, those of the least reduced costs are listed. Prices of
    kinds may be too high by a rounding; they are lowered so that nothing is missed.
    """
    values = priced.values * (1.0 - 10.0 * TOLERANCE)
    bound = float(values @ program.sizes) + (program.copies or 0) * float(priced.limits.sum())
    for part in REACHES:
        reach = part * max(wanted - bound, 0.0)
        listed = _list_within(program, priced, values, reach, effort)
        if listed is not None:
            return listed, part == 1.0
    return [], False


def _list_within(
    program: Program, priced: Priced, values: Vector, reach: float, effort: Effort
) -> list[Pattern] | None:
    """Full patterns of reduced costs up to `reach`; None where there are too many."""
    listed: list[Pattern] = []
    looks = [effort.looks]
    for machine in program.types:
        least = float(program.prices[machine] - priced.limits[machine]) - reach
        for counts in Fillings(program, machine, values, looks).at_least(least):
            listed.append(Pattern(machine, counts))
            if len(listed) > effort.patterns:
                return None
        if looks[0] <= 0:
            return None
    return listed
