"""How plans are compared over many cases: ratios, ranks and signs, with what is missing counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

# Ratios nearer to one than this count as equal.
SAME = 0.02


def quartiles(values: Iterable[float]) -> list[float]:
    """Low, median and high of the values that are there; NaN is not, infinite is the highest."""
    known = [value for value in values if not math.isnan(value)]
    # Nothing is read off between values: one of them may be infinite.
    levels = (0.25, 0.5, 0.75)
    return np.quantile(known, levels, method="nearest").tolist() if known else [math.nan] * 3


def count_signs(ratios: Iterable[float]) -> dict[str, int]:
    """Ratios that are lower than one, the same within `SAME`, or higher; NaN counts nowhere."""
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    lower = sum(ratio < 1.0 - SAME for ratio in known)
    higher = sum(ratio > 1.0 + SAME for ratio in known)
    return {"lower": lower, "same": len(known) - lower - higher, "higher": higher}


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


def share_of_best(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Part of the cases in which each has the lowest value.

    All that are within `SAME` of the best count, so that parts may sum to more than one. A case in
    which all are the same is left out, NaN is never the best, infinite is the worst.
    """
    best, cases = dict.fromkeys(values, 0), 0
    for row in zip(*values.values(), strict=True):
        known = {name: one for name, one in zip(values, row, strict=True) if not math.isnan(one)}
        limit = min(known.values()) * (1.0 + SAME)
        if max(known.values()) > limit:
            cases += 1
            for name, value in known.items():
                best[name] += value <= limit
    return {name: count / max(cases, 1) for name, count in best.items()}


def noise(first: Iterable[float], second: Iterable[float]) -> list[float]:
    """Quartiles of how far apart repetitions of the same figures lie: |ln(second / first)|.

    For small ones that is the part by which they differ.
    """
    return quartiles(
        abs(math.log(other / one))
        for one, other in zip(first, second, strict=True)
        if 0.0 < one < math.inf and 0.0 < other < math.inf
    )
