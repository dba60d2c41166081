"""How far a mean can be trusted: Student's intervals, and where a run has settled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over independent runs, or over batches of one.

    Attributes:
        mean: Over the runs.
        half_width: The true mean lies this close with 95 % confidence; NaN for one run.
        runs: How many there were.
    """

    mean: float
    half_width: float
    runs: int


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and Student's confidence interval of independent values."""
    runs = len(values)
    mean = math.fsum(values) / runs
    if runs == 1:
        return Estimate(mean=mean, half_width=math.nan, runs=1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (runs - 1)
    quantile = float(special.stdtrit(runs - 1, 0.5 + confidence / 2.0))
    return Estimate(mean=mean, half_width=quantile * math.sqrt(variance / runs), runs=runs)


def settled_after(series: NDArray[np.float64], most: int) -> int:
    """How many entries at the beginning of a series to leave out, at most `most` of them.

    The marginal standard error rule (White 1997): leave out as many as make the standard error of
    the mean of the rest smallest.
    """
    values = series[~np.isnan(series)]
    skipped = len(series) - len(values)
    if len(values) < 4:
        return 0
    errors = []
    for cut in range(min(most, len(values) - 2) + 1):
        rest = values[cut:]
        errors.append(float(rest.var()) / len(rest))
    return min(int(np.argmin(errors)) + skipped, most)
