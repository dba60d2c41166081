"""Meezan: instances along the busiest edges onto the largest machines, then smaller machines.

Kalim 2020, section 4.4. As prices are nearly linear, a large machine costs what small ones do and
keeps more tuples inside: machines are bought large, and exchanged for the cheapest that holds what
came to lie there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from streamgauge.planning.packing.catalogue import (
    GIBIBYTE,
    Catalogue,
    Category,
    MachineType,
    Vector,
)
from streamgauge.planning.packing.instances import (
    Instances,
    PackingPlan,
    check_each_fits,
    fits,
)

# Table 4.1: cores per GiB.
SHAPES = {Category.MEMORY: 0.13, Category.GENERAL: 0.25, Category.COMPUTE: 0.53}


class CategoryRule(StrEnum):
    """Which family of machines suits a need of cores and memory.

    PRINTED: Memory up to 0.13 cores per GiB, general up to 0.53, else compute.
    NEAREST: The family whose shape is nearest, by the ratio of ratios: 0.5 goes to compute, which
        has 0.53, and not to general with 0.25, where cores would run out first.
    """

    PRINTED = "printed"
    NEAREST = "nearest"

    def choose(self, cores: float, memory_bytes: float) -> Category:
        """The category."""
        ratio = cores * GIBIBYTE / memory_bytes if memory_bytes > 0.0 else math.inf
        if self is CategoryRule.PRINTED:
            if ratio <= SHAPES[Category.MEMORY]:
                return Category.MEMORY
            return Category.GENERAL if ratio <= SHAPES[Category.COMPUTE] else Category.COMPUTE
        if ratio == 0.0:
            return Category.MEMORY
        if ratio == math.inf:
            return Category.COMPUTE
        return min(SHAPES, key=lambda category: abs(math.log(ratio / SHAPES[category])))


def alignment(needs: Vector, free: Vector, whole: Vector) -> float:
    """How well needs suit what is free: Σ needs · free, both as parts of the whole machine.

    Without the division, memory in bytes would outweigh everything else (Grandl 2014 divides
    too). What is not limited does not count.
    """
    known = np.isfinite(whole) & (whole > 0.0)
    return float(np.sum(needs[known] / whole[known] * (free[known] / whole[known])))


def pack_by_meezan(
    instances: Instances, catalogue: Catalogue, rule: CategoryRule = CategoryRule.NEAREST
) -> PackingPlan:
    """Pack along edges, then exchange machines for cheaper ones.

    Raises:
        Infeasible: No machine type holds some instance.
    """
    check_each_fits(instances, catalogue)
    bins = _Bins(instances=instances, catalogue=catalogue, rule=rule)
    # Ties are broken by the numbers of instances.
    for edge in np.lexsort((instances.receivers, instances.senders, -instances.rates)).tolist():
        bins.place_edge(int(instances.senders[edge]), int(instances.receivers[edge]))
        if bins.unplaced == 0:
            break
    for index in range(len(instances)):
        if bins.place[index] < 0:
            bins.place_by_alignment([index])
    plan = PackingPlan(
        method="meezan",
        instances=instances,
        machines=tuple(bins.machines),
        contents=tuple(map(tuple, bins.contents)),
    )
    return shrink(plan, catalogue)


def shrink(plan: PackingPlan, catalogue: Catalogue) -> PackingPlan:
    """The same with every machine the cheapest of any category that holds what runs there."""
    machines = []
    for machine, load in zip(plan.machines, plan.loads, strict=True):
        cheaper = (
            other
            for other in catalogue.cheapest_first
            if other.price_per_hour < machine.price_per_hour and fits(load, other.room)
        )
        machines.append(next(cheaper, machine))
    return PackingPlan(
        method=plan.method,
        instances=plan.instances,
        machines=tuple(machines),
        contents=plan.contents,
    )


@dataclass(kw_only=True)
class _Bins:
    """Machines that are open, while instances are placed."""

    instances: Instances
    catalogue: Catalogue
    rule: CategoryRule
    machines: list[MachineType] = field(default_factory=list)
    contents: list[list[int]] = field(default_factory=list)
    free: list[Vector] = field(default_factory=list)
    place: list[int] = field(init=False)
    unplaced: int = field(init=False)
    upstream: dict[int, list[tuple[float, int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.unplaced = len(self.instances)
        self.place = [-1] * self.unplaced
        self.upstream = {}
        edges = self.instances
        for sender, receiver, rate in zip(
            edges.senders.tolist(), edges.receivers.tolist(), edges.rates.tolist(), strict=True
        ):
            self.upstream.setdefault(receiver, []).append((-rate, sender))
        for parents in self.upstream.values():
            parents.sort()

    def place_edge(self, first: int, second: int) -> None:
        """Place both ends of an edge, near each other where that can be."""
        here = [end for end in dict.fromkeys((first, second)) if self.place[end] < 0]
        if not here:
            return
        if len(here) == 1:
            other = second if here[0] == first else first
            # Of a loop both ends are the same, and nowhere yet.
            beside = self.place[other]
            if beside < 0 or not self._put(here, beside):
                self.place_by_alignment(here)
            return
        if self._put_upstream(first, second):
            return
        if not self._put_aligned(here):
            self._separate(here)

    def place_by_alignment(self, group: Sequence[int]) -> None:
        """Into the open machine that suits best, else into a new one."""
        if not self._put_aligned(group):
            self._open(group)

    def _separate(self, pair: Sequence[int]) -> None:
        """Each for itself where there is room; one new machine for what remains."""
        remaining = [index for index in pair if not self._put_aligned([index])]
        if remaining:
            self._open(remaining)

    def _put_upstream(self, first: int, second: int) -> bool:
        """Both to a parent of one of them, that which sends most first."""
        parents = [*self.upstream.get(first, ()), *self.upstream.get(second, ())]
        for _, parent in sorted(parents):
            if (
                parent not in (first, second)
                and self.place[parent] >= 0
                and self._put([first, second], self.place[parent])
            ):
                return True
        return False

    def _put_aligned(self, group: Sequence[int]) -> bool:
        if not self.machines:
            return False
        needs = self._needs(group)
        free = np.asarray(self.free)
        # As in `fits` and `alignment`, of all machines at once.
        holds = np.all(needs <= free + 1e-9 * np.maximum(np.abs(needs), 1.0), axis=1)
        if not holds.any():
            return False
        scores = [
            alignment(needs, self.free[number], self.machines[number].room)
            for number in np.flatnonzero(holds).tolist()
        ]
        return self._put(group, int(np.flatnonzero(holds)[int(np.argmax(scores))]))

    def _put(self, group: Sequence[int], number: int) -> bool:
        needs = self._needs(group)
        if not fits(needs, self.free[number]):
            return False
        self.free[number] = self.free[number] - needs
        self.contents[number].extend(group)
        for index in group:
            self.place[index] = number
        self.unplaced -= len(group)
        return True

    def _open(self, group: Sequence[int]) -> None:
        """A new machine: the largest of the suitable category, else the largest that holds it."""
        needs = self._needs(group)
        category = self.rule.choose(float(needs[0]), float(needs[1]))
        suitable = self.catalogue.of_category(category)[:1]
        for machine in (*suitable, *self.catalogue.largest_first):
            if fits(needs, machine.room):
                self.machines.append(machine)
                self.contents.append([])
                self.free.append(machine.room)
                self._put(group, len(self.machines) - 1)
                return
        # Both ends of an edge are more than any machine holds; each alone is not.
        for index in group:
            self.place_by_alignment([index])

    def _needs(self, group: Sequence[int]) -> Vector:
        needs = self.instances.needs
        return np.asarray(needs[group[0]] if len(group) == 1 else needs[list(group)].sum(axis=0))
