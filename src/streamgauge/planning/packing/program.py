"""What to pack onto what, counted: kinds of instances, types of machines, and patterns of both.

The exact program of Kalim 2020 (eq. 4.2 to 4.5, repaired) has a variable for each instance on each
copy of each machine type; copies and instances that are alike make it slow. Here they are counted:
a pattern is a machine type and how many instances of each kind it holds (Gilmore and Gomory 1961).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.packing.catalogue import Catalogue, Vector
from streamgauge.planning.packing.instances import SLACK, Instances, Matrix

Counts = NDArray[np.int64]
# Reduced costs above this part of a price are none.
TOLERANCE = 1e-7
# Prices are whole numbers of millionths.
PRICE_UNIT = 1e-6


@dataclass(frozen=True, slots=True)
class Pattern:
    """A machine of a type, and how many instances of each kind it holds."""

    machine: int
    counts: tuple[int, ...]


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

    def find_step(self) -> float:
        """What a machine counts beside its price, where of the cheapest the fewest are wanted.

        All machines together count for less than a step of prices.
        """
        return (self.grid or float(self.prices.min())) / (2.0 * int(self.sizes.sum()) + 2.0)

    def price_of(self, patterns: Sequence[Pattern]) -> float:
        """Of a machine for each pattern."""
        return float(sum(self.prices[pattern.machine] for pattern in patterns))
