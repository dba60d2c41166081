"""A plan whose sources may have only so many roots open: at which rates, and with which limit.

By Little's law limit·tasks/(time of a round) get through (`open_roots`); the more there are, the
longer a round takes. Rates, and limits, are found by looking between what fits and what does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.closed_network import find_admission
from streamgauge.models.load_limit import PRECISION, find_between
from streamgauge.models.open_roots import OpenRoots, Places, PlanState, RootClass, Vector, meet

# Rates under a limit are found to this part of them.
NEAR = 2e-3
# Steps after which a search is as near as it gets.
MOST_STEPS = 24
# Of the highest rate that threads can do, the part at which services are looked at if more is due.
BELOW_FULL = 0.9
# Of the roots that the fullest executor has open, the part from which another is as full.
FULL = 0.95
# Part of the tuples that may wait for a limit that is ample, and standard deviations above the mean
# that a normal variable is as seldom.
SELDOM, SELDOM_ABOVE = 0.01, 2.33
# A limit of so many times the roots that are open on the mean, and some, is never met.
TIMES_OPEN, SOME = 10, 100


class LimitedRoots:
    """The roots of a plan of whose sources each task may have `most` open.

    Args:
        roots: Those that are due.
        most: Roots that a task of a source may have open.
        ceiling: The largest multiple of the load that threads can do.

    Attributes:
        idle: The plan with one root that meets nobody.
        classes: Of roots that go the same ways.
    """

    def __init__(self, roots: OpenRoots, most: int, ceiling: float) -> None:
        self._roots, self.most, self._ceiling = roots, most, ceiling
        self.tasks, self._places, self._due = roots.tasks, roots.places, roots.due
        crowd = 1.0 - 1.0 / (most * float(self.tasks[self._places].sum()))
        self.idle = roots.at(min(1.0, BELOW_FULL * ceiling), 0.0, crowd=crowd)
        self.classes = roots.classify(self.idle)

    def customers(self, one: RootClass, most: int | None = None) -> int:
        """Roots of a class that may be open."""
        return (most or self.most) * int(self.tasks[one.members].sum())

    def fullness(
        self, state: PlanState, most: int | None = None, judged: Places | None = None
    ) -> float:
        """Of the roots that may be open, the part that is, at the fullest executor."""
        here = self._places if judged is None else judged
        return float((state.open_roots[here] / ((most or self.most) * self.tasks[here])).max())

    def is_ever_met(self, state: PlanState) -> bool:
        """Whether an executor's roots may ever be as many as may be open."""
        few = self.most * self.tasks < TIMES_OPEN * state.open_roots + SOME
        return bool(few[self._places].any())

    def closed(self, factors: Vector | float, most: int | None = None) -> PlanState:
        """The plan at multiples of what is due, with all roots open that may be."""
        return self._roots.at(factors, self._met(most), paced=1.0)

    def semi_open(self, full: PlanState) -> PlanState:
        """The plan at the rates that are due, which all get through; `full` is when no more would.

        Tuples meet the fewer, the seldomer all roots are open.
        """
        parts = []
        for one in self.classes:
            through = self.most * self.tasks[one.members] / full.rounds.mean[one.members]
            part = one.per_second / float(through.sum())
            parts.append(one.part_met(self.customers(one), part))
        return self._roots.at(1.0, meet(self.classes, parts))

    def _met(self, most: int | None = None) -> Vector:
        parts = [one.part_met_closed(self.customers(one, most)) for one in self.classes]
        return meet(self.classes, parts)

    def find_highest(self, due: PlanState | None) -> tuple[float, PlanState]:
        """The largest multiple of the load at which no more roots are open than may be.

        It is the threads' own where these are full before; nought where even a little is too much.
        `due` is what `closed` gives at one, if that is known.
        """
        top = self._ceiling * (1.0 - PRECISION)
        # Where the networks alone would have it.
        near = min(
            self.customers(one)
            / float(one.network.round_seconds(self.customers(one))[-1])
            / one.per_second
            for one in self.classes
        )
        everywhere = np.ones_like(self._due)
        factor, state = self._search(lambda one: one * everywhere, top, near, at_one=due)
        return (self._ceiling if factor >= top else factor), state

    def _search(
        self,
        rates: Callable[[float], Vector],
        top: float,
        near: float,
        *,
        at_one: PlanState | None = None,
        judged: Places | None = None,
    ) -> tuple[float, PlanState]:
        """The largest number up to `top` whose multiples of what is due do not need more roots.

        Args:
            rates: From the number to the multiples of all executors.
            top: Where to begin, if it is not infinite.
            near: Where to look next.
            at_one: What is found at one, if that is known.
            judged: Executors whose roots count; all when not given.
        """
        seen = {} if at_one is None else {1.0: at_one}
        asked = top if math.isfinite(top) else near
        low, high = 0.0, math.inf
        while len(seen) < MOST_STEPS:
            if asked not in seen:
                seen[asked] = self.closed(rates(asked))
            filled = {one: self.fullness(state, judged=judged) for one, state in seen.items()}
            low = max((one for one, full in filled.items() if full <= 1.0), default=0.0)
            high = min((one for one, full in filled.items() if full > 1.0), default=math.inf)
            if low >= top or high - low <= NEAR * high:
                break
            is_new = low < near < high and near not in seen
            asked = near if is_new else find_between(low, high, filled)
        return low, seen[low if low > 0.0 else high]

    def find_delivered(self, state: PlanState) -> PlanState:
        """What gets through where not all does; `state` is at the highest rate of all alike.

        Executors that are not held back yet emit more until one of them is, or all that is due; the
        others then what is left.
        """
        held = self._due <= 0.0
        for _ in range(MOST_STEPS):
            part = np.where(held, 0.0, state.open_roots / (self.most * self.tasks))
            now = self._emitted_part(state)
            held = held | (part >= FULL * part.max()) | (now >= 1.0)
            if held.all():
                break
            factor, more = self._search(
                _change_some(now, ~held), 1.0, 2.0 * now[~held].max(), judged=np.flatnonzero(~held)
            )
            if factor <= now[~held].max():
                break
            state = more
        now = self._emitted_part(state)
        _, state = self._search(lambda one: np.where(now < 1.0, one * now, now), 1.0, FULL)
        return self._crowd(state)

    def _emitted_part(self, state: PlanState) -> Vector:
        """What executors emit of what is due; nought where nothing is."""
        return np.asarray(state.per_second / np.where(self._due > 0.0, self._due, 1.0))

    def _crowd(self, state: PlanState) -> PlanState:
        """The same with all roots open: what is left of them waits for threads that are full."""
        met, factors = self._met(), self._emitted_part(state)
        low, high = 0.0, 1.0
        while high - low > NEAR and self.fullness(state) < 1.0 - NEAR:
            middle = (low + high) / 2.0
            asked = self._roots.at(factors, met + middle * (1.0 - met), paced=1.0)
            if self.fullness(asked) > 1.0:
                high = middle
            else:
                state, low = asked, middle
        return state

    def find_smallest(self, unlimited: PlanState) -> int:
        """The smallest limit that lets through all that is due; `unlimited` is without any.

        The smallest that is above the number of roots that are open under it; the first guess is
        the number of those that are open without it.
        """

        def find_needed(most: int) -> int:
            return math.floor(self.fullness(self.closed(1.0, most), most) * most) + 1

        smallest = math.floor(self.fullness(unlimited) * self.most) + 1
        for _ in range(MOST_STEPS):
            needed = find_needed(smallest)
            if needed <= smallest:
                break
            smallest = needed
        for _ in range(MOST_STEPS):
            needed = find_needed(smallest - 1) if smallest > 1 else smallest
            if needed >= smallest:
                break
            smallest = needed
        return smallest

    def find_ample(self, unlimited: PlanState, smallest: int) -> int:
        """The smallest limit that hardly any tuple waits for.

        It is above the smallest that fits by as much, at the least, as a Poisson number of roots is
        seldom above its mean.
        """
        few = int(self.tasks[self._places].min())
        spread = math.ceil(SELDOM_ABOVE * math.sqrt(smallest * few) / few)
        return max(
            smallest + spread,
            *(
                math.ceil(self._find_ample(place, one, unlimited) / int(self.tasks[place]))
                for one in self.classes
                for place in one.members.tolist()
            ),
        )

    def _find_ample(self, place: int, one: RootClass, unlimited: PlanState) -> int:
        """The same in roots of an executor."""
        own = float(unlimited.open_roots[place])
        others = float(unlimited.open_roots[one.members].sum()) - own
        high = int(TIMES_OPEN * own) + SOME
        network = one.network.round_seconds(high + math.ceil(others))
        grown = one.network.open_seconds(one.per_second) - float(network[0])
        longest = float(unlimited.rounds.mean[place])
        seconds = self.grow_rounds(
            place, network, np.arange(1.0, high + 1.0) + others, longest, grown
        )
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            if find_admission(float(self._due[place]), seconds[:middle]).waits > SELDOM:
                low = middle
            else:
                high = middle
        return high

    def grow_rounds(
        self, place: int, network: Vector, customers: Vector, longest: float, grown: float
    ) -> Vector:
        """Rounds of an executor's roots with several numbers of customers.

        From as long as in an idle plan, they grow as those of the network do, to `longest` where
        the network's have `grown`.
        """
        shortest = float(self.idle.rounds.mean[place])
        by = (longest - shortest) / grown if grown > 0.0 else 0.0
        known = np.arange(1.0, len(network) + 1.0)
        more = np.interp(customers, known, network) - network[0]
        return np.asarray(shortest + by * more)


def _change_some(now: Vector, changed: NDArray[np.bool_]) -> Callable[[float], Vector]:
    """From a number to multiples that are that where they change, and else as now."""
    return lambda one: np.where(changed, one, now)
