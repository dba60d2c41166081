"""How plans are compared over many cases: ratios, ranks and signs, with what is missing counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Ratios nearer to one than this count as equal.
SAME = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """A sample by its quartiles, which are among its values; NaN without any."""

    low: float
    median: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Quartiles:
        """Of those that are there: NaN is not, infinite is the highest."""
        found = [value for value in values if not math.isnan(value)]
        if not found:
            return cls(low=math.nan, median=math.nan, high=math.nan, count=0)
        # Nothing is read off between values: one of them may be infinite.
        low, median, high = np.quantile(found, (0.25, 0.5, 0.75), method="nearest").tolist()
        return cls(low=low, median=median, high=high, count=len(found))

    def as_list(self) -> list[float]:
        """Low, median, high."""
        return [self.low, self.median, self.high]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """In how many pairs the first was lower, the same within `SAME`, or higher."""

    lower: int
    same: int
    higher: int

    @classmethod
    def of(cls, ratios: Iterable[float]) -> Signs:
        """Of ratios of pairs: an infinite one is higher, zero lower; NaN counts nowhere."""
        found = [ratio for ratio in ratios if not math.isnan(ratio)]
        lower = sum(ratio < 1.0 - SAME for ratio in found)
        higher = sum(ratio > 1.0 + SAME for ratio in found)
        return cls(lower=lower, same=len(found) - lower - higher, higher=higher)

    @property
    def p_value(self) -> float:
        """Of the two-sided sign test: how likely so uneven a count is if neither is better."""
        pairs, least = self.lower + self.higher, min(self.lower, self.higher)
        if not pairs:
            return 1.0
        tail = sum(math.comb(pairs, count) for count in range(least + 1)) / 2.0**pairs
        return min(1.0, 2.0 * tail)

    def __str__(self) -> str:
        return f"{self.lower} / {self.same} / {self.higher}"


def ratios_to(values: Mapping[str, Sequence[float]], reference: str) -> dict[str, list[float]]:
    """Each one's values over the reference's, case by case.

    Infinite values (overloaded) stay so; two infinite ones, or a missing one (NaN), give NaN.
    """
    base = values[reference]
    return {
        name: [_ratio(one, other) for one, other in zip(found, base, strict=True)]
        for name, found in values.items()
    }


def _ratio(one: float, other: float) -> float:
    if math.isnan(one) or math.isnan(other) or (math.isinf(one) and math.isinf(other)):
        return math.nan
    if other == 0.0:
        return 1.0 if one == 0.0 else math.inf
    return one / other


def extremes(values: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Part of the cases in which each is the best, and the worst: the lowest and the highest value.

    Whoever is within `SAME` of the best (worst) is it too, so that parts may sum to more than one.
    A case in which all are the same is left out, NaN is neither, infinite is the worst.
    """
    best, worst = dict.fromkeys(values, 0), dict.fromkeys(values, 0)
    cases = 0
    for row in zip(*values.values(), strict=True):
        found = {name: one for name, one in zip(values, row, strict=True) if not math.isnan(one)}
        lowest, highest = min(found.values()), max(found.values())
        if highest <= lowest * (1.0 + SAME):
            continue
        cases += 1
        for name, one in found.items():
            best[name] += one <= lowest * (1.0 + SAME)
            worst[name] += one == highest or one >= highest / (1.0 + SAME)
    part = max(cases, 1)
    return (
        {name: count / part for name, count in best.items()},
        {name: count / part for name, count in worst.items()},
    )


def noise(first: Iterable[float], second: Iterable[float]) -> Quartiles:
    """How far apart repetitions of the same figures lie: |ln(second / first)|.

    For small ones that is the part by which they differ.
    """
    return Quartiles.of(
        abs(math.log(other / one))
        for one, other in zip(first, second, strict=True)
        if 0.0 < one < math.inf and 0.0 < other < math.inf
    )
