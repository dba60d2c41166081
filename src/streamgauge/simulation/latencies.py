"""Distributions of latencies: bounded memory, however many were recorded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.binning import BINS, bin_edges
from streamgauge.simulation.replications import Estimate, estimate

_EDGES = bin_edges()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latencies:
    """Latencies in bins of 1.1 %, with batches of them for intervals.

    Attributes:
        counts: How many lay in each bin.
        total_seconds: Sum of all.
        batches: The same counts for stretches of equal length, one after the other.
        batch_seconds: Sums of each stretch.
    """

    counts: NDArray[np.int64]
    total_seconds: float
    batches: NDArray[np.int64]
    batch_seconds: NDArray[np.float64]

    @classmethod
    def none(cls) -> Latencies:
        """Nothing recorded."""
        return cls(
            counts=np.zeros(BINS, dtype=np.int64),
            total_seconds=0.0,
            batches=np.zeros((0, BINS), dtype=np.int64),
            batch_seconds=np.zeros(0),
        )

    @classmethod
    def merged(cls, parts: Iterable[Latencies]) -> Latencies:
        """All of them together; batches of the same stretches are added."""
        given = list(parts)
        if not given:
            return cls.none()
        return cls(
            counts=np.sum([one.counts for one in given], axis=0),
            total_seconds=math.fsum(one.total_seconds for one in given),
            batches=np.sum([one.batches for one in given], axis=0),
            batch_seconds=np.sum([one.batch_seconds for one in given], axis=0),
        )

    @property
    def count(self) -> int:
        """How many were recorded."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean in seconds; NaN without any."""
        return self.total_seconds / self.count if self.count else math.nan

    def quantile(self, probability: float) -> float:
        """The latency in seconds that is not exceeded with that probability.

        Read off inside its bin as if that were evenly filled; right to 1.1 %.
        """
        return float(find_quantiles(self.counts[None, :], probability)[0])

    def mean_estimate(self) -> Estimate:
        """The mean with its interval by batch means."""
        counts = self.batches.sum(axis=1)
        means = self.batch_seconds[counts > 0] / counts[counts > 0]
        return _around(self.mean, means)

    def quantile_estimate(self, probability: float) -> Estimate:
        """A quantile with its interval by the quantiles of batches."""
        found = find_quantiles(self.batches, probability)
        return _around(self.quantile(probability), found[~np.isnan(found)])

    def between(self, edges: Sequence[float]) -> list[int]:
        """How many lie between each two neighbouring edges, in seconds."""
        middles = np.sqrt(np.maximum(_EDGES[:-1], 1e-10) * _EDGES[1:])
        middles = np.append(middles, _EDGES[-1])
        return [int(n) for n in np.histogram(middles, bins=list(edges), weights=self.counts)[0]]

    def above(self, seconds: float) -> float:
        """Part of them that took longer; NaN without any."""
        if not self.count:
            return math.nan
        place = int(np.searchsorted(_EDGES, seconds, side="right")) - 1
        longer = float(self.counts[place + 1 :].sum())
        if place + 1 < BINS:
            inside = (_EDGES[place + 1] - seconds) / (_EDGES[place + 1] - _EDGES[place])
            longer += inside * float(self.counts[place])
        return longer / self.count


def find_quantiles(counts: NDArray[np.int64], probability: float) -> NDArray[np.float64]:
    """The quantile of each row of counts by bin, in seconds; NaN of an empty row."""
    found = np.full(len(counts), np.nan)
    filled = np.flatnonzero(counts.any(axis=1))
    reached = np.cumsum(counts[filled], axis=1)
    # The smallest latency for a probability of zero: an empty bin has no inside.
    wanted = np.maximum(probability * reached[:, -1], 1e-9)
    place = np.minimum((reached < wanted[:, None]).sum(axis=1), BINS - 1)
    row = np.arange(len(filled))
    inside = counts[filled, place]
    part = (wanted - (reached[row, place] - inside)) / inside
    low = _EDGES[place]
    high = np.append(_EDGES[1:], _EDGES[-1])[place]
    found[filled] = low + np.minimum(np.maximum(part, 0.0), 1.0) * (high - low)
    return found


def _around(value: float, batches: Sequence[float] | NDArray[np.float64]) -> Estimate:
    """The value itself with the half width that its batches give."""
    if len(batches) < 2:
        return Estimate(mean=value, half_width=math.nan, runs=len(batches))
    spread = estimate([float(one) for one in batches])
    return Estimate(mean=value, half_width=spread.half_width, runs=spread.runs)
