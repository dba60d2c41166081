"""Distributions of times and sizes, and of whole numbers of outputs.

Each knows its mean, variability and quantiles, and can be sampled. One object serves the simulator,
which samples it, and the formulas, which take its moments, so that each can check the other. Values
are non-negative and carry no unit of their own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import freeze

Sample = NDArray[np.float64]
Counts = NDArray[np.int64]
# Beyond this many distinct outcomes a table is no sensible way to hold a distribution.
MAX_SUPPORT = 100_000
MAX_COUNT = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(ABC):
    """A distribution of a non-negative quantity; see the subclasses.

    Where a subclass is given by its mean it says ``mean: float = field()``: without a value of
    its own the field would take this class's property as its default.
    """

    kind: ClassVar[str] = ""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected value."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Expected squared distance from the mean."""

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, variance / mean²; zero for a zero mean."""
        return compute_scv(self.mean, self.variance)

    def quantile(self, probability: float) -> float:
        """The value that is not exceeded with that probability."""
        check_probability(probability)
        return self._quantile(probability)

    @abstractmethod
    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """`size` independent values."""

    @abstractmethod
    def scale(self, factor: float) -> Self:
        """The distribution of `factor` times the quantity."""

    @abstractmethod
    def _quantile(self, probability: float) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Distribution):
    """Always the same value."""

    kind = "constant"
    value: float

    def __post_init__(self) -> None:
        _check(self, "value")

    @property
    def mean(self) -> float:
        """The value."""
        return self.value

    @property
    def variance(self) -> float:
        """Zero."""
        return 0.0

    @property
    def scv(self) -> float:
        """Zero."""
        return 0.0

    def _quantile(self, probability: float) -> float:
        del probability
        return self.value

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """The value, `size` times."""
        del generator
        return np.full(size, self.value)

    def scale(self, factor: float) -> Constant:
        """`factor` times the value."""
        return Constant(value=self.value * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByMoments(Distribution):
    """Given by its mean and its squared coefficient of variation."""

    mean: float = field()
    scv: float = 1.0

    def __post_init__(self) -> None:
        _check(self, "mean", "scv", above=0.0)

    @property
    def variance(self) -> float:
        """Scv · mean²."""
        return self.scv * self.mean * self.mean

    def scale(self, factor: float) -> Self:
        """The same shape with `factor` times the mean."""
        return type(self)(mean=self.mean * factor, scv=self.scv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gamma(_ByMoments):
    """Gamma with shape 1/scv: Erlang-like below scv 1, heavier than exponential above."""

    kind = "gamma"

    def _quantile(self, probability: float) -> float:
        from scipy import special

        return float(special.gammaincinv(1.0 / self.scv, probability)) * self.mean * self.scv

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """Independent gamma values."""
        return generator.gamma(1.0 / self.scv, self.mean * self.scv, size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal(_ByMoments):
    """Lognormal: σ² = ln(1 + scv), μ = ln(mean) − σ²/2."""

    kind = "lognormal"

    def _quantile(self, probability: float) -> float:
        from scipy import special

        mu, sigma = self._parameters()
        return math.exp(mu + sigma * float(special.ndtri(probability)))

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """Independent lognormal values."""
        mu, sigma = self._parameters()
        return generator.lognormal(mu, sigma, size)

    def _parameters(self) -> tuple[float, float]:
        sigma2 = math.log1p(self.scv)
        return math.log(self.mean) - sigma2 / 2.0, math.sqrt(sigma2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential(Distribution):
    """Exponential with the given mean."""

    kind = "exponential"
    mean: float = field()

    def __post_init__(self) -> None:
        _check(self, "mean", above=0.0)

    @property
    def variance(self) -> float:
        """mean²."""
        return self.mean * self.mean

    @property
    def scv(self) -> float:
        """One."""
        return 1.0

    def _quantile(self, probability: float) -> float:
        return -self.mean * math.log1p(-probability) if probability < 1.0 else math.inf

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """Independent exponential values."""
        return generator.exponential(self.mean, size)

    def scale(self, factor: float) -> Exponential:
        """`factor` times the mean."""
        return Exponential(mean=self.mean * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(Distribution):
    """Evenly spread between two values."""

    kind = "uniform"
    low: float
    high: float

    def __post_init__(self) -> None:
        _check(self, "low", "high")
        if self.high < self.low:
            raise InvalidInput.single(
                ("high",), seen=f"{self.high:g} below low {self.low:g}", expected="low ≤ high"
            )

    @property
    def mean(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2.0

    @property
    def variance(self) -> float:
        """(high − low)² / 12."""
        return (self.high - self.low) * (self.high - self.low) / 12.0

    @property
    def scv(self) -> float:
        """((high − low) / (high + low))² / 3."""
        total = self.high + self.low
        spread = (self.high - self.low) / total if total > 0.0 else 0.0
        return spread * spread / 3.0

    def _quantile(self, probability: float) -> float:
        return self.low + probability * (self.high - self.low)

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """Independent uniform values."""
        return generator.uniform(self.low, self.high, size)

    def scale(self, factor: float) -> Uniform:
        """Both ends times `factor`."""
        return Uniform(low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical(Distribution):
    """Values that were seen, each with a weight (equal weights when not given)."""

    kind = "empirical"
    values: tuple[float, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        freeze(self, "values", "weights")
        with Findings() as findings:
            check_weighted(findings, self.values, self.weights)
            for index, value in enumerate(self.values):
                check_number(findings, value, "values", index)

    @property
    def mean(self) -> float:
        """Weighted mean of the values."""
        values, shares = self.table()
        return float(values @ shares)

    @property
    def variance(self) -> float:
        """Weighted mean of the squared distances from the mean."""
        values, shares = self.table()
        return float((values - self.mean) ** 2 @ shares)

    def _quantile(self, probability: float) -> float:
        return float(self._invert(np.asarray([probability]))[0])

    def sample(self, generator: np.random.Generator, size: int) -> Sample:
        """Independent draws from the values by weight."""
        return self._invert(generator.random(size))

    def scale(self, factor: float) -> Empirical:
        """Every value times `factor`."""
        return Empirical(values=tuple(v * factor for v in self.values), weights=self.weights)

    def table(self) -> tuple[Sample, Sample]:
        """The values, ascending, and their probabilities."""
        values, weights = self._sorted()
        return values, weights / weights.sum()

    def _sorted(self) -> tuple[Sample, Sample]:
        values = np.asarray(self.values, dtype=np.float64)
        weights = np.ones_like(values) if self.weights is None else np.asarray(self.weights)
        order = np.argsort(values, kind="stable")
        return values[order], weights[order]

    def _invert(self, probabilities: Sample) -> Sample:
        values, weights = self._sorted()
        return np.asarray(values[invert_cumulative(weights, probabilities)])


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
        _check(self, "mean", most=MAX_COUNT)

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
        _check(self, "mean", above=0.0, most=MAX_SUPPORT / 2)

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
        _check(self, "mean", above=0.0, most=MAX_SUPPORT / 40)

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
        freeze(self, "values", "weights")
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


def invert_cumulative(weights: Sample, probabilities: Sample) -> NDArray[np.intp]:
    """For each probability the first index at which the cumulative weight reaches it."""
    cumulative = np.cumsum(weights)
    # A hair below, or 5/9 of nine equal weights would be a little more than five of them.
    wanted = probabilities * cumulative[-1] * (1.0 - 1e-12)
    index = np.searchsorted(cumulative, wanted, side="left")
    return np.asarray(np.minimum(index, len(cumulative) - 1), dtype=np.intp)


def compute_scv(mean: float, variance: float) -> float:
    """The variance over the squared mean; zero where that square is."""
    square = mean * mean
    return variance / square if square > 0.0 else 0.0


def check_weighted(
    findings: Findings, values: Sequence[object], weights: Sequence[float] | None
) -> None:
    """At least one value, and one weight each, not all zero, where weights are given."""
    if not values:
        findings.add("values", seen="no values", expected="at least one")
    if weights is None:
        return
    for index, weight in enumerate(weights):
        check_number(findings, weight, "weights", index)
    if len(weights) != len(values):
        findings.add(
            "weights", seen=f"{len(weights)} weights", expected=f"{len(values)}, one per value"
        )
    elif not findings and not any(weights):
        findings.add("weights", seen="only zeros", expected="at least one above zero")


def check_probability(probability: float) -> None:
    """Raise InvalidInput unless the number is in [0, 1]."""
    with Findings() as findings:
        check_number(findings, probability, "probability", most=1.0)


def _check(
    distribution: object, *names: str, above: float | None = None, most: float = math.inf
) -> None:
    with Findings() as findings:
        for name in names:
            check_number(findings, getattr(distribution, name), name, above=above, most=most)
