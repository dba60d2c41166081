"""The program over patterns: made as values of kinds ask for them, and bought in whole numbers.

Patterns are made as the program without whole numbers asks for them; that program's optimum is a
lower bound, and close.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linprog

from streamgauge.planning.packing.catalogue import Vector
from streamgauge.planning.packing.fillings import (
    CLOSE,
    fill_exactly,
    fill_greedily,
    relaxed_worth,
    worth_at_most,
)
from streamgauge.planning.packing.program import TOLERANCE, Pattern, Program
from streamgauge.planning.packing.whole_numbers import minimise

MOST_ROUNDS = 400
# Types that are worth no more than their price by this part are not looked at more closely.
NEAR = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long the search may go on, in steps, so that it gives the same answer everywhere.

    Attributes:
        rounds: Of new patterns.
        nodes: Of a whole-number program's tree.
        patterns: That are listed for the proof.
        looks: While they are listed.
        cuts: Inequalities on whole machines.
        seconds: Of a whole-number program in addition, where somebody waits: with this, the answer
            depends on the machine.
    """

    rounds: int = MOST_ROUNDS
    nodes: int = 1_000
    patterns: int = 5_000
    looks: int = 60_000
    cuts: int = 60
    seconds: float | None = None


USUAL_EFFORT = Effort()


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """Prices of kinds, by the program without whole numbers.

    Attributes:
        values: What one more instance of each kind costs.
        limits: What one more copy of each type would save.
    """

    values: Vector
    limits: Vector
    bound: float
    short: tuple[int, ...] = ()


@dataclass
class Master:
    """The program over the patterns that are known."""

    program: Program
    effort: Effort
    patterns: list[Pattern] = field(default_factory=list)
    known: set[Pattern] = field(default_factory=set)

    def __post_init__(self) -> None:
        program = self.program
        for machine in program.types:
            for kind, most in enumerate(program.most[machine].tolist()):
                if most:
                    counts = [0] * len(program.sizes)
                    counts[kind] = most
                    self.extend([Pattern(machine, tuple(counts))])

    def extend(self, patterns: Sequence[Pattern]) -> bool:
        """Add patterns; whether one is new."""
        new = [one for one in dict.fromkeys(patterns) if one not in self.known]
        self.known.update(new)
        self.patterns.extend(new)
        return bool(new)

    def find_bound(self) -> Priced:
        """Patterns until none is worth more than its machine costs."""
        if self.program.copies is not None:
            first = self._price(self.program.prices * 0.0, missing=1.0)
            if first.short:
                return first
        dear = 1e3 * float(self.program.prices.max())
        return self._price(self.program.prices, missing=dear)

    def _price(self, prices: Vector, missing: float) -> Priced:
        """Column generation; `missing` is what an instance without a machine costs."""
        best: Priced | None = None
        for turn in range(self.effort.rounds):
            total, values, limits, left = self._relax(prices, missing)
            _, found = self.most_valuable(values, prices - limits, exact=False)
            is_last = turn == self.effort.rounds - 1
            if self.extend(found) and not is_last:
                continue
            worth, found = self.most_valuable(values, prices - limits, exact=True)
            settled = self._settle(values, limits, prices, worth)
            if best is None or settled.bound > best.bound:
                best = settled
            is_closed = best.bound >= total * (1.0 - CLOSE)
            if is_closed or not self.extend(found) or is_last:
                short = np.flatnonzero(left > 1e-6) if missing == 1.0 else ()
                return replace(best, short=tuple(int(kind) for kind in short))
        raise AssertionError("the last round always ends the search")

    def _settle(self, values: Vector, limits: Vector, prices: Vector, worth: Vector) -> Priced:
        """Prices of kinds at which no machine is worth more than it costs (Farley 1990).

        They are lowered for all kinds; where copies are limited, those limits are worth more.
        """
        program, types = self.program, list(self.program.types)
        if program.copies is None:
            with np.errstate(divide="ignore"):
                factors = np.where(worth > 0.0, prices[types] / worth, np.inf)
            values = values * min(1.0, float(factors.min()))
        else:
            limits = limits.copy()
            limits[types] = np.minimum(np.minimum(limits[types], prices[types] - worth), 0.0)
        bound = float(values @ program.sizes) + (program.copies or 0) * float(limits.sum())
        return Priced(values=values, limits=limits, bound=max(bound, 0.0))

    def _relax(self, prices: Vector, missing: float) -> tuple[float, Vector, Vector, Vector]:
        """Optimum, values of kinds, values of limits, and instances without a machine."""
        program = self.program
        kinds, columns = len(program.sizes), len(self.patterns)
        held = np.asarray([one.counts for one in self.patterns], dtype=np.float64).T
        cost = np.concatenate(
            [[prices[one.machine] for one in self.patterns], np.full(kinds, missing)]
        )
        rows, limits = [-np.hstack([held, np.eye(kinds)])], [-program.sizes.astype(np.float64)]
        if program.copies is not None:
            owner = np.asarray([one.machine for one in self.patterns])
            mine = (owner == np.arange(len(prices))[:, np.newaxis]).astype(np.float64)
            rows.append(np.hstack([mine, np.zeros((len(prices), kinds))]))
            limits.append(np.full(len(prices), float(program.copies)))
        found = linprog(cost, A_ub=np.vstack(rows), b_ub=np.concatenate(limits), method="highs")
        assert found.x is not None and found.fun is not None
        marginals = np.asarray(found.ineqlin.marginals)
        of_types = marginals[kinds:] if program.copies is not None else np.zeros(len(prices))
        left = np.asarray(found.x[columns:])
        return float(found.fun), np.maximum(-marginals[:kinds], 0.0), of_types, left

    def relax_within(self, counts: Vector) -> tuple[float, Vector, Vector]:
        """Parts of patterns on so many machines of each type.

        Gives how many instances find no room, what room for one more of each kind is worth, and
        what one more machine of each type is.
        """
        program = self.program
        kinds = len(program.sizes)
        held = np.asarray([one.counts for one in self.patterns], dtype=np.float64).T
        owner = np.asarray([one.machine for one in self.patterns])
        mine = (owner == np.arange(len(program.prices))[:, np.newaxis]).astype(np.float64)
        found = linprog(
            np.concatenate([np.zeros(len(self.patterns)), np.ones(kinds)]),
            A_ub=np.vstack(
                [
                    -np.hstack([held, np.eye(kinds)]),
                    np.hstack([mine, np.zeros((len(program.prices), kinds))]),
                ]
            ),
            b_ub=np.concatenate([-program.sizes.astype(np.float64), counts]),
            method="highs",
        )
        assert found.fun is not None
        marginals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        return float(found.fun), marginals[:kinds], marginals[kinds:]

    def most_valuable(
        self, values: Vector, offers: Vector, *, exact: bool
    ) -> tuple[Vector, list[Pattern]]:
        """Of each type what its best pattern is worth at most, and patterns worth their price."""
        program = self.program
        worth, found = np.zeros(len(program.types)), []
        for index, machine in enumerate(program.types):
            price = float(offers[machine])
            most = worth_at_most(program, machine, values)
            if most <= price * (1.0 + TOLERANCE) + 1e-12:
                worth[index] = most
                continue
            if exact:
                most = min(most, relaxed_worth(program, machine, values))
                if most <= price * (1.0 + NEAR):
                    worth[index] = most
                    continue
                counts, worth[index] = fill_exactly(program, machine, values)
            else:
                counts = fill_greedily(program, machine, values)
            if float(values @ counts) > price * (1.0 + TOLERANCE) + 1e-12:
                found.append(Pattern(machine, tuple(counts.tolist())))
        return worth, found

    def buy(
        self,
        patterns: Sequence[Pattern],
        hint: Sequence[Pattern],
        *,
        fewest: bool = False,
    ) -> tuple[tuple[Pattern, ...], float]:
        """The cheapest whole numbers of patterns, and what none of them is cheaper than.

        Args:
            patterns: To buy,
            hint: and a solution of them to begin with.
            fewest: Whether, of the cheapest, the fewest machines are looked for.
        """
        program = self.program
        columns = list(dict.fromkeys([*patterns, *hint]))
        total = int(program.sizes.sum())
        step = program.find_step() if fewest else 0.0
        costs = [float(program.prices[one.machine]) + step for one in columns]
        rows = [
            ([one.counts[kind] for one in columns], float(size), math.inf)
            for kind, size in enumerate(program.sizes.tolist())
        ]
        if program.copies is not None:
            for machine in range(len(program.prices)):
                mine = [int(one.machine == machine) for one in columns]
                rows.append((mine, -math.inf, float(program.copies)))
        counted = Counter(hint)
        chosen, bound = minimise(
            costs,
            rows,
            most=[total] * len(columns),
            hint=[counted.get(one, 0) for one in columns],
            nodes=self.effort.nodes,
            seconds=self.effort.seconds,
        )
        bought = tuple(p for p, many in zip(columns, chosen, strict=False) for _ in range(many))
        return bought, bound - step * len(bought)
