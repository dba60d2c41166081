"""Times as they were observed: counted in classes, so that memory is bounded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.lake.histogram import quantile

# Digits of a single time that are kept: quantiles of what was traced are right to half a per cent.
DIGITS = 3
NANOSECONDS = 1e9


@dataclass(slots=True)
class Times:
    """How long something took, in nanoseconds.

    An engine gives sums and counts in the lake's classes of 9 %; traces give single times. Both
    may come, of different subjects, never of one.

    Attributes:
        count: How many there are a mean of.
        total_ns: Their sum.
        bins: How many by class of the lake.
        single: How many by time, of those that were seen one by one.
    """

    count: float = 0.0
    total_ns: float = 0.0
    bins: Counter[int] = field(default_factory=Counter)
    single: Counter[int] = field(default_factory=Counter)

    def add_sum(self, total_ns: float, count: float) -> None:
        """That many took that long together."""
        self.total_ns += total_ns
        self.count += count

    def add_bin(self, number: int, count: int) -> None:
        """That many lay in a class of the lake."""
        self.bins[number] += count

    def add_single(self, time_ns: int) -> None:
        """One took that long."""
        self.add_sum(time_ns, 1)
        self.single[_rounded(time_ns)] += 1

    def merge(self, other: Times) -> None:
        """Take over what another has."""
        self.add_sum(other.total_ns, other.count)
        self.bins.update(other.bins)
        self.single.update(other.single)

    @property
    def observed(self) -> int:
        """How many a quantile rests on."""
        return sum(self.bins.values()) or sum(self.single.values())

    @property
    def mean_seconds(self) -> float:
        """NaN without any."""
        return self.total_ns / self.count / NANOSECONDS if self.count else math.nan

    def quantile_seconds(self, probability: float) -> float:
        """The time that a share `probability` does not exceed; NaN without any."""
        if self.bins:
            return quantile(self.bins, probability) / NANOSECONDS
        if not self.single:
            return math.nan
        return _nearest_rank(self.single, probability) / NANOSECONDS


def _nearest_rank(counts: Mapping[int, int], probability: float) -> float:
    """The smallest value with at least that share at or below it."""
    rank = max(math.ceil(probability * sum(counts.values()) - 1e-9), 1)
    reached = 0
    for value in sorted(counts):
        reached += counts[value]
        if reached >= rank:
            return float(value)
    raise AssertionError("a share of at most one is reached")


def _rounded(time_ns: int) -> int:
    """To the digits that are kept."""
    if not time_ns:
        return 0
    return round(time_ns, DIGITS - 1 - math.floor(math.log10(abs(time_ns))))
