"""What one machine can hold, and what that is worth where each kind of instance has a value."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from streamgauge.planning.packing.catalogue import Vector
from streamgauge.planning.packing.program import TOLERANCE, Counts, Program
from streamgauge.planning.packing.whole_numbers import minimise

# Fillings of one machine that are looked at for the one that is worth most.
FILL_LOOKS = 2_000
FILL_NODES = 100
# A bound that is this near to what is not whole can hardly be raised.
CLOSE = 1e-4


def worth_at_most(program: Program, machine: int, values: Vector) -> float:
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


def relaxed_worth(program: Program, machine: int, values: Vector) -> float:
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


def fill_greedily(program: Program, machine: int, values: Vector) -> Counts:
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


def fill_exactly(program: Program, machine: int, values: Vector) -> tuple[Counts, float]:
    """The filling that is worth most, and a bound on what any is worth."""
    best = fill_greedily(program, machine, values)
    worth, looks = float(values @ best), [FILL_LOOKS]
    search = Fillings(program, machine, values, looks)
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
    return best, min(worth_at_most(program, machine, values), -bound * (1.0 + TOLERANCE))


class Fillings:
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
