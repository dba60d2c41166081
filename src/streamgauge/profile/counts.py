"""Distributions of whole numbers: how many tuples come out for one that goes in."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.distribution import (
    check_probability,
    check_weighted,
    compute_scv,
    invert_cumulative,
)
from streamgauge.topology.field_checks import check_number, check_whole

Counts = NDArray[np.int64]
# Beyond this many distinct outcomes a table is no sensible way to hold a distribution.
MAX_SUPPORT = 100_000
MAX_COUNT = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDistribution(ABC):
    """A distribution of a whole number of outputs; see the subclasses."""

    kind: ClassVar[str] = ""

    @abstractmethod
    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """The possible counts, ascending, and their probabilities."""

    @property
    def mean(self) -> float:
        """Expected outputs per input."""
        counts, shares = self.table()
        return float(counts @ shares)

    @property
    def variance(self) -> float:
        """Expected squared distance from the mean."""
        counts, shares = self.table()
        return float((counts - counts @ shares) ** 2 @ shares)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation; zero for a zero mean."""
        return compute_scv(self.mean, self.variance)

    def quantile(self, probability: float) -> int:
        """The count that is not exceeded with that probability."""
        check_probability(probability)
        return int(self._invert(np.asarray([probability]))[0])

    def sample(self, generator: np.random.Generator, size: int) -> Counts:
        """`size` independent counts."""
        return self._invert(generator.random(size))

    def _invert(self, probabilities: NDArray[np.float64]) -> Counts:
        counts, shares = self.table()
        return np.asarray(counts[invert_cumulative(shares, probabilities)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(CountDistribution):
    """As constant as whole numbers allow: the two next to the mean, in proportion.

    A mean of 3 is always 3; 7.6 is 7 or 8; 0.333 is a filter that lets a third pass.
    """

    kind = "fixed"
    mean: float = field()

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.mean, "mean", most=MAX_COUNT)
        findings.raise_if_any()

    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """Floor and ceiling of the mean."""
        low = math.floor(self.mean)
        part = self.mean - low
        if part == 0.0:
            return np.asarray([low]), np.ones(1)
        return np.asarray([low, low + 1]), np.asarray([1.0 - part, part])


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedNormal(CountDistribution):
    """A normal variable rounded to the nearest whole number and clipped to [low, high]."""

    kind = "rounded-normal"
    centre: float
    deviation: float
    low: int = 0
    high: int

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.centre, "centre")
        check_number(findings, self.deviation, "deviation", above=0.0)
        check_whole(findings, self.low, "low", least=0)
        check_whole(findings, self.high, "high", least=0)
        if not findings and not self.low <= self.high <= self.low + MAX_SUPPORT:
            findings.add(
                "high",
                seen=f"{self.high} with low {self.low}",
                expected=f"low ≤ high ≤ low + {MAX_SUPPORT}",
            )
        findings.raise_if_any()

    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """Probability of the half-unit interval around each count; the ends take the tails."""
        from scipy import special

        counts = np.arange(self.low, self.high + 1, dtype=np.int64)
        borders = (counts[1:] - 0.5 - self.centre) / self.deviation
        cumulative = np.concatenate([[0.0], special.ndtr(borders), [1.0]])
        return counts, np.diff(cumulative)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonCount(CountDistribution):
    """Poisson with the given mean."""

    kind = "poisson"
    mean: float = field()

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.mean, "mean", above=0.0, most=MAX_SUPPORT / 2)
        findings.raise_if_any()

    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """Counts up to far beyond the mean; what is cut off is below 1e-15."""
        from scipy import special

        most = math.ceil(self.mean + 12.0 * math.sqrt(self.mean) + 24.0)
        counts = np.arange(most + 1, dtype=np.int64)
        log_shares = counts * math.log(self.mean) - self.mean - special.gammaln(counts + 1.0)
        return counts, np.exp(log_shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric(CountDistribution):
    """Zero or more, each further one equally likely: P(n) = (1 − q)·qⁿ, q = mean/(1 + mean)."""

    kind = "geometric"
    mean: float = field()

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.mean, "mean", above=0.0, most=MAX_SUPPORT / 40)
        findings.raise_if_any()

    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """Counts until the rest is below 1e-15."""
        again = self.mean / (1.0 + self.mean)
        most = math.ceil(math.log(1e-15) / math.log(again))
        counts = np.arange(most + 1, dtype=np.int64)
        return counts, np.asarray((1.0 - again) * again**counts, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmpiricalCount(CountDistribution):
    """Counts that were seen, each with a weight (equal weights when not given)."""

    kind = "empirical"
    values: tuple[int, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(self.weights))
        findings = Findings()
        check_weighted(findings, self.values, self.weights)
        for index, value in enumerate(self.values):
            check_whole(findings, value, "values", index, least=0, most=MAX_COUNT)
        if len(self.values) > MAX_SUPPORT:
            raise InvalidInput.single(
                ("values",), seen=f"{len(self.values)} values", expected=f"at most {MAX_SUPPORT}"
            )
        findings.raise_if_any()

    def table(self) -> tuple[Counts, NDArray[np.float64]]:
        """Distinct counts with their pooled weights."""
        counts, place = np.unique(np.asarray(self.values, dtype=np.int64), return_inverse=True)
        weights = None if self.weights is None else np.asarray(self.weights)
        pooled = np.bincount(place, weights=weights).astype(np.float64)
        return counts, pooled / pooled.sum()
