"""How plans are compared over many cases: ratios, ranks and signs, with what is missing counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Ratios nearer to one than this count as equal.
SAME = 0.02


def quartiles(values: Iterable[float]) -> list[float]:
    """Low, median and high of the values that are there; NaN is not, infinite is the highest."""
    known = [value for value in values if not math.isnan(value)]
    # Nothing is read off between values: one of them may be infinite.
    levels = (0.25, 0.5, 0.75)
    return np.quantile(known, levels, method="nearest").tolist() if known else [math.nan] * 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """In how many pairs the first was lower, the same within `SAME`, or higher."""

    lower: int
    same: int
    higher: int

    @classmethod
    def of(cls, ratios: Iterable[float]) -> Signs:
        """Of ratios of pairs: an infinite one is higher, zero lower; NaN counts nowhere."""
        known = [ratio for ratio in ratios if not math.isnan(ratio)]
        lower = sum(ratio < 1.0 - SAME for ratio in known)
        higher = sum(ratio > 1.0 + SAME for ratio in known)
        return cls(lower=lower, same=len(known) - lower - higher, higher=higher)

    @property
    def p_value(self) -> float:
        """Of the two-sided sign test: how likely so uneven a count is if neither is better."""
        pairs, least = self.lower + self.higher, min(self.lower, self.higher)
        tail = sum(math.comb(pairs, count) for count in range(least + 1)) / 2.0**pairs
        return min(1.0, 2.0 * tail)


def divide(values: Sequence[float], reference: Sequence[float]) -> list[float]:
    """Values over those of a reference, case by case.

    Infinite values (overloaded) stay so; two infinite ones, or a missing one (NaN), give NaN.
    """
    return [_ratio(value, base) for value, base in zip(values, reference, strict=True)]


def _ratio(value: float, base: float) -> float:
    if math.isnan(value) or (math.isinf(value) and math.isinf(base)):
        return math.nan
    if base == 0.0:
        return 1.0 if value == 0.0 else math.inf
    return value / base


def extremes(values: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Part of the cases in which each is the best, and the worst: the lowest and the highest value.

    All that are within `SAME` of the best (worst) count, so that parts may sum to more than one.
    A case in which all are the same is left out, NaN is neither, infinite is the worst.
    """
    best, worst = dict.fromkeys(values, 0), dict.fromkeys(values, 0)
    cases = 0
    for row in zip(*values.values(), strict=True):
        known = {name: one for name, one in zip(values, row, strict=True) if not math.isnan(one)}
        lowest, highest = min(known.values()), max(known.values())
        if highest <= lowest * (1.0 + SAME):
            continue
        cases += 1
        for name, value in known.items():
            best[name] += value <= lowest * (1.0 + SAME)
            worst[name] += value == highest or value >= highest / (1.0 + SAME)
    part = max(cases, 1)
    return (
        {name: count / part for name, count in best.items()},
        {name: count / part for name, count in worst.items()},
    )


def noise(first: Iterable[float], second: Iterable[float]) -> list[float]:
    """Quartiles of how far apart repetitions of the same figures lie: |ln(second / first)|.

    For small ones that is the part by which they differ.
    """
    return quartiles(
        abs(math.log(other / one))
        for one, other in zip(first, second, strict=True)
        if 0.0 < one < math.inf and 0.0 < other < math.inf
    )
