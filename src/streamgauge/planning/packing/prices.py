"""Price planes: what cores and memory cost in each category (Kalim 2020, section 4.4.1).

price = a · cores + b · memory + c, with a, b, c ≥ 0, by least squares. Where the plane fits,
several small machines cost what a large one does; where it does not, some types are dear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category, MachineType


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePlane:
    """A category's prices per hour.

    Attributes:
        per_core: a.
        per_gib: b.
        base: c.
        r_squared: Part of the variance of prices that the plane explains; 1 where all are equal.
        machines: How many types it was fitted to; with three or fewer it says nothing.
    """

    per_core: float
    per_gib: float
    base: float
    r_squared: float
    machines: int

    def price(self, machine: MachineType) -> float:
        """Per hour, by the plane."""
        gib = machine.memory_bytes / GIBIBYTE
        return self.per_core * machine.cores + self.per_gib * gib + self.base


def fit_price_planes(catalogue: Catalogue) -> Mapping[Category, PricePlane]:
    """The plane of every category that the catalogue has."""
    planes = {}
    for category in Category:
        machines = catalogue.of_category(category)
        if machines:
            planes[category] = _fit(machines)
    return planes


def _fit(machines: tuple[MachineType, ...]) -> PricePlane:
    rows = np.asarray([[one.cores, one.memory_bytes / GIBIBYTE, 1.0] for one in machines])
    prices = np.asarray([one.price_per_hour for one in machines])
    factors, residual = nnls(rows, prices)
    spread = float(np.sum((prices - prices.mean()) ** 2))
    per_core, per_gib, base = factors.tolist()
    return PricePlane(
        per_core=per_core,
        per_gib=per_gib,
        base=base,
        r_squared=1.0 - residual**2 / spread if spread > 0.0 else 1.0,
        machines=len(machines),
    )
