"""Workloads: what the sources emit, how much, and in which shape."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.field_checks import check_known, check_name, check_number
from streamgauge.topology.frozen import freeze
from streamgauge.topology.topology import DEFAULT_STREAM, StreamKey, Topology

SHARE_TOLERANCE = 1e-6
# A thousand machines with a million tuples per millisecond each; more is a typing error, and
# products of far larger rates overflow.
MOST_PER_SECOND = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How an emission's rate moves about its mean; see the subclasses."""

    kind: ClassVar[str] = ""

    def factor_at(self, seconds: float) -> float:
        """Expected rate at that time as a multiple of the mean rate."""
        del seconds
        return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson(Shape):
    """Independent tuples at a constant rate."""

    kind = "poisson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regular(Shape):
    """Equal gaps between tuples."""

    kind = "regular"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited(Shape):
    """A tuple whenever the engine asks for one: as fast as the job can take them."""

    kind = "unlimited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst(Shape):
    """On for a while, then off: Poisson while on, at the rate that keeps the mean.

    Attributes:
        on_seconds: Length of an on period; the mean of exponential lengths when `random`.
        off_seconds: Length of an off period, or the mean when `random`.
        random: Whether the periods vary (an interrupted Poisson process) or repeat exactly.
    """

    kind = "burst"
    on_seconds: float
    off_seconds: float
    random: bool = False

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.on_seconds, "on_seconds", above=0.0)
            check_number(findings, self.off_seconds, "off_seconds", above=0.0)

    def factor_at(self, seconds: float) -> float:
        """The on rate in the first part of each cycle, zero after; one when `random`."""
        if self.random:
            return 1.0
        cycle = self.on_seconds + self.off_seconds
        return cycle / self.on_seconds if seconds % cycle < self.on_seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Modulated(Shape):
    """Markov-modulated Poisson process over a ring of states, visited in turn.

    Attributes:
        factors: Rate in each state, relative to each other; scaled so that the mean is kept.
        mean_seconds: Mean time in each state, exponentially distributed.
    """

    kind = "modulated"
    factors: tuple[float, ...]
    mean_seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        freeze(self, "factors", "mean_seconds")
        findings = Findings()
        for index, factor in enumerate(self.factors):
            check_number(findings, factor, "factors", index)
        for index, seconds in enumerate(self.mean_seconds):
            check_number(findings, seconds, "mean_seconds", index, above=0.0)
        if len(self.factors) < 2 or len(self.factors) != len(self.mean_seconds):
            findings.add(
                "factors",
                seen=f"{len(self.factors)} factors and {len(self.mean_seconds)} mean times",
                expected="the same number of both, at least two",
            )
        if not findings and not any(self.factors):
            findings.add("factors", seen="only zeros", expected="at least one above zero")
        findings.raise_if_any()

    @property
    def scaled_factors(self) -> tuple[float, ...]:
        """Rates in multiples of the mean rate."""
        weighted = math.fsum(
            factor * seconds
            for factor, seconds in zip(self.factors, self.mean_seconds, strict=True)
        )
        mean = weighted / math.fsum(self.mean_seconds)
        return tuple(factor / mean for factor in self.factors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasonal(Shape):
    """A sine about the mean, which it crosses upward at ``phase_seconds``."""

    kind = "seasonal"
    period_seconds: float
    amplitude: float
    phase_seconds: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.period_seconds, "period_seconds", above=0.0)
            check_number(findings, self.amplitude, "amplitude", most=1.0)
            check_number(findings, self.phase_seconds, "phase_seconds", least=-math.inf)

    def factor_at(self, seconds: float) -> float:
        """One plus the sine, scaled by the amplitude."""
        turn = (seconds - self.phase_seconds) / self.period_seconds
        return 1.0 + self.amplitude * math.sin(2.0 * math.pi * turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawtooth(Shape):
    """From zero to twice the mean in a straight line, then again; falling when `reverse`."""

    kind = "sawtooth"
    period_seconds: float
    reverse: bool = False

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.period_seconds, "period_seconds", above=0.0)

    def factor_at(self, seconds: float) -> float:
        """Twice the elapsed (or remaining) part of the period."""
        elapsed = seconds % self.period_seconds / self.period_seconds
        return 2.0 * (1.0 - elapsed if self.reverse else elapsed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Shape):
    """A recorded series of rates, relative to each other, repeated when it ends.

    Attributes:
        values: Counts or rates per bucket; scaled so that the mean is kept.
    """

    kind = "recorded"
    bucket_seconds: float
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        freeze(self, "values")
        with Findings() as findings:
            check_number(findings, self.bucket_seconds, "bucket_seconds", above=0.0)
            for index, value in enumerate(self.values):
                check_number(findings, value, "values", index)
            if not findings and not any(self.values):
                what = "only zeros" if self.values else "no values"
                findings.add("values", seen=what, expected="at least one above zero")

    def factor_at(self, seconds: float) -> float:
        """The bucket's value over the mean of the series."""
        bucket = int(seconds // self.bucket_seconds) % len(self.values)
        return self.values[bucket] * len(self.values) / math.fsum(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """What one source emits on one stream.

    Attributes:
        per_second: Mean tuples per second over all its executors; None when unlimited.
        shares: Part of the whole that each of the source's tasks emits; even when not given.
    """

    source: str
    stream: str = DEFAULT_STREAM
    per_second: float | None = None
    shape: Shape = Poisson()
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        check_name(findings, self.source, "source")
        check_name(findings, self.stream, "stream")
        if isinstance(self.shape, Unlimited):
            if self.per_second is not None:
                findings.add(
                    "per_second",
                    seen=f"{self.per_second!r} with the shape unlimited",
                    expected="no rate, since the job itself sets it",
                )
        else:
            check_number(findings, self.per_second, "per_second")
        if self.shares is not None:
            freeze(self, "shares")
            _check_shares(findings, self.shares)
        findings.raise_if_any()

    @property
    def key(self) -> StreamKey:
        """The stream that is emitted on."""
        return StreamKey(self.source, self.stream)

    def task_shares(self, tasks: int) -> tuple[float, ...]:
        """The share that each of `tasks` tasks emits."""
        return self.shares if self.shares is not None else (1.0 / tasks,) * tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What all sources emit."""

    emissions: tuple[Emission, ...]

    def __post_init__(self) -> None:
        freeze(self, "emissions")
        with Findings() as findings:
            seen: set[StreamKey] = set()
            for index, emission in enumerate(self.emissions):
                if emission.key in seen:
                    what = f"stream {emission.key} twice"
                    findings.add(index, seen=what, expected="each stream once")
                seen.add(emission.key)

    @property
    def eager_sources(self) -> frozenset[str]:
        """Sources that emit on a stream whenever asked: such tuples are never due."""
        return frozenset(one.source for one in self.emissions if isinstance(one.shape, Unlimited))

    def times(self, factor: float) -> Workload:
        """The same with all rates multiplied by `factor`; unlimited streams stay unlimited."""
        return Workload(
            emissions=tuple(
                one if one.per_second is None else replace(one, per_second=factor * one.per_second)
                for one in self.emissions
            )
        )

    def at_rate(self, per_second: float, of: Collection[StreamKey] | None = None) -> Workload:
        """The same with `per_second` tuples per second in total, in unchanged proportions.

        A single unlimited stream gets that rate with Poisson arrivals.

        Args:
            per_second: Sum over these streams.
            of: Which streams; all when not given.

        Raises:
            InvalidInput: The rate is not above zero, or none of several streams has a rate.
        """
        with Findings() as findings:
            check_number(findings, per_second, above=0.0)
        meant = [one for one in self.emissions if of is None or one.key in of]
        if len(meant) == 1:
            (only,) = meant
            shape = Poisson() if isinstance(only.shape, Unlimited) else only.shape
            changed = [replace(only, per_second=per_second, shape=shape)]
        else:
            total = math.fsum(one.per_second or 0.0 for one in meant)
            if not total > 0.0:
                names = ", ".join(str(one.key) for one in meant)
                raise InvalidInput.single(
                    (),
                    seen=f"{per_second:g} tuples/s in total for {names}, none of which has a rate",
                    expected="streams whose rates can be scaled",
                    remedy="give the rate of each stream",
                )
            factor = per_second / total
            changed = [
                one if one.per_second is None else replace(one, per_second=one.per_second * factor)
                for one in meant
            ]
        by_key = {one.key: one for one in changed}
        return Workload(emissions=tuple(by_key.get(one.key, one) for one in self.emissions))

    def check_against(self, topology: Topology) -> None:
        """Raise InvalidInput where this names something that `topology` does not have."""
        findings = Findings()
        sources = {operator.name: operator for operator in topology.sources}
        for index, emission in enumerate(self.emissions):
            name, stream = emission.source, emission.stream
            seen, expected = f"{name!r}", f"a source of topology {topology.name!r}"
            if not check_known(
                findings, name, sources, index, "source", seen=seen, expected=expected
            ):
                continue
            source = sources[name]
            streams = [one.name for one in topology.streams_from(name)]
            seen, expected = f"stream {stream!r}, which has no subscriber", f"a stream of {name!r}"
            check_known(findings, stream, streams, index, "stream", seen=seen, expected=expected)
            if emission.shares is not None and len(emission.shares) != source.tasks:
                findings.add(
                    index,
                    "shares",
                    seen=f"{len(emission.shares)} shares",
                    expected=f"{source.tasks}, one for each task of {name!r}",
                )
        findings.raise_if_any()


def _check_shares(findings: Findings, shares: Sequence[float]) -> None:
    bounded = [
        check_number(findings, share, "shares", index, most=1.0)
        for index, share in enumerate(shares)
    ]
    if all(bounded) and abs(math.fsum(shares) - 1.0) > SHARE_TOLERANCE:
        findings.add(
            "shares",
            seen=f"shares that sum to {math.fsum(shares):.6g}",
            expected="a sum of 1",
            remedy="divide each share by the sum",
        )
