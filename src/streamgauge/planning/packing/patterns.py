"""The cheapest machines, with proof: whole-number programs over what machines can hold.

The exact program of Kalim 2020 (eq. 4.2 to 4.5, repaired) has a variable for each instance on each
copy of each machine type; copies and instances that are alike make it slow. Here they are counted:
a pattern is a machine type and how many instances of each kind it holds, and the program buys
patterns (Gilmore and Gomory 1961). Patterns are made as prices of kinds, from the program without
whole numbers, ask for them; that program's optimum is a lower bound, and close. Where the best
found costs more, all patterns that could belong to anything cheaper are listed by their reduced
cost; the whole-number program over these proves what is cheapest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from streamgauge.planning.packing.catalogue import Catalogue, Vector
from streamgauge.planning.packing.instances import SLACK, Instances, Matrix
from streamgauge.planning.packing.whole_numbers import minimise

Counts = NDArray[np.int64]
# Reduced costs above this part of a price are none.
TOLERANCE = 1e-7
# Prices are whole numbers of millionths.
PRICE_UNIT = 1e-6
MOST_ROUNDS = 400
# Fillings of one machine that are looked at for the one that is worth most.
FILL_LOOKS = 2_000
# Parts of what a solution's reduced costs add up to that are tried, one after the other.
REACHES = (1.0, 0.2, 0.05, 0.01)
FILL_NODES = 100
# A bound that is this near to what is not whole can hardly be raised.
CLOSE = 1e-4
# Types that are worth no more than their price by this part are not looked at more closely.
NEAR = 1e-3


@dataclass(frozen=True, slots=True)
class Pattern:
    """A machine of a type, and how many instances of each kind it holds."""

    machine: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long the search may go on, in steps, so that it gives the same answer everywhere.

    Attributes:
        rounds: Of new patterns.
        nodes: Of a whole-number program's tree.
        patterns: That are listed for the proof.
        looks: While they are listed.
        seconds: Of a whole-number program in addition, where somebody waits: with this, the answer
            depends on the machine.
    """

    rounds: int = MOST_ROUNDS
    nodes: int = 1_000
    patterns: int = 5_000
    looks: int = 60_000
    seconds: float | None = None


USUAL_EFFORT = Effort()


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Kinds of instances, and types of machines.

    Attributes:
        needs: Of an instance of each kind, in resources that matter.
        sizes: Instances of each kind.
        rooms: Of each type.
        prices: Likewise.
        copies: Machines of each type that there are; None: any number.
    """

    needs: Matrix
    sizes: Counts
    rooms: Matrix
    prices: Vector
    copies: int | None = None

    @classmethod
    def of(cls, instances: Instances, catalogue: Catalogue, copies: int | None = None) -> Program:
        """Each resource in units of its largest need; those that nobody needs are left out."""
        needs = np.asarray([instances.needs[kind[0]] for kind in instances.kinds])
        rooms = np.asarray([machine.room for machine in catalogue.machines])
        used = needs.max(axis=0) > 0.0
        unit = needs[:, used].max(axis=0)
        ample = 2.0 * instances.total[used] / unit
        return cls(
            needs=needs[:, used] / unit,
            sizes=np.asarray([len(kind) for kind in instances.kinds], dtype=np.int64),
            rooms=np.minimum(rooms[:, used] / unit, ample) * (1.0 + SLACK) + SLACK,
            prices=np.asarray([machine.price_per_hour for machine in catalogue.machines]),
            copies=copies,
        )

    @cached_property
    def types(self) -> tuple[int, ...]:
        """Types worth a look: with any number of each, none that another makes needless."""
        every = range(len(self.prices))
        if self.copies is not None:
            return tuple(every)
        order = sorted(every, key=lambda one: (self.prices[one], -self.rooms[one].sum(), one))
        kept: list[int] = []
        for one in order:
            if not any(np.all(self.rooms[other] >= self.rooms[one]) for other in kept):
                kept.append(one)
        return tuple(sorted(kept))

    @cached_property
    def most(self) -> Counts:
        """Of types × kinds: how many instances of a kind a machine holds, with nothing else."""
        with np.errstate(divide="ignore"):
            each = np.where(
                self.needs > 0.0, self.rooms[:, np.newaxis, :] / self.needs, np.inf
            ).min(axis=2)
        return np.asarray(np.minimum(np.floor(each), self.sizes), dtype=np.int64)

    @cached_property
    def grid(self) -> float:
        """All prices are whole multiples of this."""
        units = [round(price / PRICE_UNIT) for price in self.prices.tolist()]
        exact = all(
            abs(unit * PRICE_UNIT - price) < PRICE_UNIT * 1e-3
            for unit, price in zip(units, self.prices.tolist(), strict=True)
        )
        return math.gcd(*units) * PRICE_UNIT if exact else 0.0

    def round_up(self, bound: float) -> float:
        """The bound, as sums of prices can be."""
        if not self.grid:
            return bound
        return math.ceil(bound / self.grid - TOLERANCE) * self.grid

    def price_of(self, patterns: Sequence[Pattern]) -> float:
        """Of a machine for each pattern."""
        return float(sum(self.prices[pattern.machine] for pattern in patterns))


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
    master = _Master(program, effort)
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
    if math.isfinite(price) and (fewest or price > bound * (1 + TOLERANCE)):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Priced:
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
class _Master:
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

    def find_bound(self) -> _Priced:
        """Patterns until none is worth more than its machine costs."""
        if self.program.copies is not None:
            first = self._price(self.program.prices * 0.0, missing=1.0)
            if first.short:
                return first
        dear = 1e3 * float(self.program.prices.max())
        return self._price(self.program.prices, missing=dear)

    def _price(self, prices: Vector, missing: float) -> _Priced:
        """Column generation; `missing` is what an instance without a machine costs."""
        best: _Priced | None = None
        for turn in range(self.effort.rounds):
            total, values, limits, left = self._relax(prices, missing)
            _, found = self._most_valuable(values, prices - limits, exact=False)
            is_last = turn == self.effort.rounds - 1
            if self.extend(found) and not is_last:
                continue
            worth, found = self._most_valuable(values, prices - limits, exact=True)
            settled = self._settle(values, limits, prices, worth)
            if best is None or settled.bound > best.bound:
                best = settled
            is_closed = best.bound >= total * (1.0 - CLOSE)
            if is_closed or not self.extend(found) or is_last:
                short = np.flatnonzero(left > 1e-6) if missing == 1.0 else ()
                return replace(best, short=tuple(int(kind) for kind in short))
        raise AssertionError("the last round always ends the search")

    def _settle(self, values: Vector, limits: Vector, prices: Vector, worth: Vector) -> _Priced:
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
        return _Priced(values=values, limits=limits, bound=max(bound, 0.0))

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

    def _most_valuable(
        self, values: Vector, offers: Vector, *, exact: bool
    ) -> tuple[Vector, list[Pattern]]:
        """Of each type what its best pattern is worth at most, and patterns worth their price."""
        program = self.program
        worth, found = np.zeros(len(program.types)), []
        for index, machine in enumerate(program.types):
            price = float(offers[machine])
            most = _worth_at_most(program, machine, values)
            if most <= price * (1.0 + TOLERANCE) + 1e-12:
                worth[index] = most
                continue
            if exact:
                most = min(most, _relaxed_worth(program, machine, values))
                if most <= price * (1.0 + NEAR):
                    worth[index] = most
                    continue
                counts, worth[index] = _fill_exactly(program, machine, values)
            else:
                counts = _fill_greedily(program, machine, values)
            if float(values @ counts) > price * (1.0 + TOLERANCE) + 1e-12:
                found.append(Pattern(machine, tuple(counts.tolist())))
        return worth, found

    def buy(
        self, patterns: Sequence[Pattern], hint: Sequence[Pattern], *, fewest: bool = False
    ) -> tuple[tuple[Pattern, ...], float]:
        """The cheapest whole numbers of patterns, and what none of them is cheaper than."""
        program = self.program
        columns = list(dict.fromkeys([*patterns, *hint]))
        total = int(program.sizes.sum())
        # All machines together count for less than a step of prices.
        step = (program.grid or float(program.prices.min())) / (2.0 * total + 2.0) * fewest
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
        counts, bound = minimise(
            costs,
            rows,
            most=[total] * len(columns),
            hint=[counted.get(one, 0) for one in columns],
            nodes=self.effort.nodes,
            seconds=self.effort.seconds,
        )
        bought = tuple(p for p, many in zip(columns, counts, strict=False) for _ in range(many))
        return bought, bound - step * len(bought)


def _worth_at_most(program: Program, machine: int, values: Vector) -> float:
    """What no filling of a machine is worth more than: by each resource alone."""
    room, most = program.rooms[machine], program.most[machine]
    usable = most > 0
    worth = float(values @ most)
    for resource in range(program.needs.shape[1]):
        needs = program.needs[:, resource]
        free = usable & (needs <= 0.0)
        paid = usable & (needs > 0.0)
        rate = float((values[paid] / needs[paid]).max()) if paid.any() else 0.0
        worth = min(worth, rate * float(room[resource]) + float(values[free] @ most[free]))
    return worth


def _relaxed_worth(program: Program, machine: int, values: Vector) -> float:
    """What no filling is worth more than, as parts of instances could be put there."""
    found = linprog(
        -values,
        A_ub=program.needs.T,
        b_ub=program.rooms[machine],
        bounds=[(0.0, float(most)) for most in program.most[machine].tolist()],
        method="highs",
    )
    assert found.fun is not None
    return -float(found.fun) * (1.0 + TOLERANCE)


def _fill_greedily(program: Program, machine: int, values: Vector) -> Counts:
    """Kinds by their value for what they take of the room, largest first."""
    room, counts = program.rooms[machine].copy(), np.zeros(len(values), dtype=np.int64)
    taken = (program.needs / np.maximum(room, 1e-300)).max(axis=1)
    for kind in np.argsort(-values / np.maximum(taken, 1e-300), kind="stable").tolist():
        if values[kind] <= 0.0:
            break
        needs = program.needs[kind]
        paid = needs > 0.0
        many = int(min(program.sizes[kind], np.floor((room[paid] / needs[paid]).min())))
        counts[kind] = max(many, 0)
        room = room - counts[kind] * needs
    return counts


def _fill_exactly(program: Program, machine: int, values: Vector) -> tuple[Counts, float]:
    """The filling that is worth most, and a bound on what any is worth."""
    best = _fill_greedily(program, machine, values)
    worth, looks = float(values @ best), [FILL_LOOKS]
    search = _Fillings(program, machine, values, looks)
    for better in search.better_than(worth):
        best = np.asarray(better, dtype=np.int64)
    worth = float(values @ best)
    if looks[0] > 0:
        return best, worth * (1.0 + TOLERANCE)
    kinds = np.flatnonzero(values > 0.0)
    rows = [
        (program.needs[kinds, resource].tolist(), -math.inf, float(room))
        for resource, room in enumerate(program.rooms[machine].tolist())
    ]
    found, bound = minimise(
        (-values[kinds]).tolist(),
        rows,
        most=program.most[machine][kinds].tolist(),
        hint=best[kinds].tolist(),
        nodes=FILL_NODES,
        gap=CLOSE,
    )
    counts = np.zeros_like(best)
    counts[kinds] = found or 0
    best = counts if float(values @ counts) > worth else best
    return best, min(_worth_at_most(program, machine, values), -bound * (1.0 + TOLERANCE))


def _list_patterns(
    program: Program, priced: _Priced, wanted: float, effort: Effort
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
    program: Program, priced: _Priced, values: Vector, reach: float, effort: Effort
) -> list[Pattern] | None:
    """Full patterns of reduced costs up to `reach`; None where there are too many."""
    listed: list[Pattern] = []
    looks = [effort.looks]
    for machine in program.types:
        least = float(program.prices[machine] - priced.limits[machine]) - reach
        for counts in _Fillings(program, machine, values, looks).at_least(least):
            listed.append(Pattern(machine, counts))
            if len(listed) > effort.patterns:
                return None
        if looks[0] <= 0:
            return None
    return listed


class _Fillings:
    """Looks through the fillings of a machine, kind by kind; what cannot be worth enough is cut."""

    def __init__(self, program: Program, machine: int, values: Vector, looks: list[int]) -> None:
        most = program.most[machine]
        share = (program.needs / np.maximum(program.rooms[machine], 1e-300)).max(axis=1)
        dense = np.argsort(-values / np.maximum(share, 1e-300), kind="stable")
        self.order = [int(kind) for kind in dense if most[kind] > 0]
        self.room = program.rooms[machine].tolist()
        self.kinds = len(values)
        self.needs = [program.needs[kind].tolist() for kind in self.order]
        self.worth = [float(values[kind]) for kind in self.order]
        self.most = [int(most[kind]) for kind in self.order]
        self.resources = range(len(self.room))
        self.looks = looks
        self.least = 0.0
        self._limit_rest()

    def at_least(self, least: float) -> Iterator[tuple[int, ...]]:
        """Those worth so much to which nothing can be added."""
        self.least = least
        yield from self._go(0, self.room, 0.0, rising=False)

    def better_than(self, worth: float) -> Iterator[tuple[int, ...]]:
        """Each worth more than the one before; the last one is worth most."""
        self.least = worth * (1.0 + TOLERANCE)
        yield from self._go(0, self.room, 0.0, rising=True)

    def _limit_rest(self) -> None:
        """From each kind on, the most that a unit of each resource is worth, and what is free."""
        width, depth = len(self.room), len(self.order)
        self.rates = [[0.0] * width for _ in range(depth + 1)]
        self.free = [[0.0] * width for _ in range(depth + 1)]
        for place in reversed(range(depth)):
            for r in self.resources:
                need, worth = self.needs[place][r], self.worth[place]
                rate = worth / need if need > 0.0 else 0.0
                self.rates[place][r] = max(self.rates[place + 1][r], rate)
                gift = 0.0 if need > 0.0 else worth * self.most[place]
                self.free[place][r] = self.free[place + 1][r] + gift
        self.counts = [0] * depth

    def _go(
        self, place: int, room: list[float], value: float, *, rising: bool
    ) -> Iterator[tuple[int, ...]]:
        self.looks[0] -= 1
        if self.looks[0] <= 0:
            return
        rates, free = self.rates[place], self.free[place]
        if value + min(rates[r] * room[r] + free[r] for r in self.resources) < self.least:
            return
        if place == len(self.order):
            if rising:
                self.least = value * (1.0 + TOLERANCE)
            elif any(self._holds(other, room) for other in range(place)):
                return
            yield self._full()
            return
        need, many = self.needs[place], self.most[place]
        for r in self.resources:
            if need[r] > 0.0:
                many = min(many, int(room[r] / need[r]))
        for count in range(many, -1, -1):
            self.counts[place] = count
            left = [room[r] - count * need[r] for r in self.resources]
            yield from self._go(place + 1, left, value + count * self.worth[place], rising=rising)
        self.counts[place] = 0

    def _holds(self, place: int, room: list[float]) -> bool:
        need = self.needs[place]
        more = self.counts[place] < self.most[place]
        return more and all(need[r] <= room[r] for r in self.resources)

    def _full(self) -> tuple[int, ...]:
        full = [0] * self.kinds
        for place, kind in enumerate(self.order):
            full[kind] = self.counts[place]
        return tuple(full)
