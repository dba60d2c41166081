"""What synthetic sources emit: values (data), and how many of them a second (flow)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.profile.keys import MAX_KEYS, MAX_LETTERS, LetterKeys, count_letter_keys
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.workload import Recorded, Regular, Sawtooth, Seasonal, Shape, Unlimited

# NAMB's own generator draws values by number from a normal distribution a fifth of them wide.
NONUNIFORM_DEVIATION = 1.0 / 5.0
# The rate within a burst, in multiples of the rate between bursts, where no burst rate is given.
BURST_FACTOR = 10.0
# More than a source can do: a typing error.
MAX_RATE = 1e9
MAX_PHASE_SECONDS = 1e9
# A day; bursts are held as a table of equal buckets.
LONGEST_BURST_SECONDS = 86_400


class DataDistribution(StrEnum):
    """How often each value occurs."""

    UNIFORM = "uniform"
    NONUNIFORM = "nonuniform"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Texts of one size from a set of different ones, numbered by counting in letters.

    Attributes:
        size: Bytes, which are letters, of a value.
        distribution: Whether all are equally frequent, or those in the middle more than others.
    """

    size: int = 8
    values: int = 100
    distribution: DataDistribution = DataDistribution.UNIFORM

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", DataDistribution(self.distribution))
        findings = Findings()
        fine = check_whole(findings, self.size, "size", most=MAX_LETTERS)
        fine = check_whole(findings, self.values, "values", most=MAX_KEYS) and fine
        if fine and self.values > count_letter_keys(self.size):
            most = count_letter_keys(self.size)
            findings.add(
                "values",
                seen=f"{self.values} values of size {self.size}",
                expected=f"at most 26^{self.size} = {most}, as values are made of letters",
                remedy="use a larger size, or fewer values",
            )
        elif fine and self.values * self.size > MAX_LETTERS:
            findings.add(
                "values",
                seen=f"{self.values} values of size {self.size}",
                expected=f"at most {MAX_LETTERS} bytes in total",
            )
        findings.raise_if_any()

    @property
    def keys(self) -> LetterKeys:
        """The values as keys, with how often each occurs."""
        even = self.distribution is DataDistribution.UNIFORM
        deviation = None if even else self.values * NONUNIFORM_DEVIATION
        return LetterKeys(count=self.values, length=self.size, deviation=deviation)


class FlowKind(StrEnum):
    """What the rate does over time."""

    UNIFORM = "uniform"
    BURST = "burst"
    SINUSOIDAL = "sinusoidal"
    SAWTOOTH = "sawtooth"
    REVERSE_SAWTOOTH = "reverse-sawtooth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The arrival flow of one instance of a source.

    Attributes:
        rate: Tuples per second: the constant rate, the peak of a sinusoid or sawtooth, the rate
            between bursts; zero is as fast as possible, whatever the kind.
        phase_seconds: Length of a cycle of a sinusoid or sawtooth.
        burst_rate: Tuples per second within a burst; NAMB's bursts have no limit.
    """

    kind: FlowKind = FlowKind.UNIFORM
    rate: float = 1000.0
    phase_seconds: float = 300.0
    interval_seconds: int = 300
    duration_seconds: int = 120
    burst_rate: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", FlowKind(self.kind))
        findings = Findings()
        check_number(findings, self.rate, "rate", most=MAX_RATE)
        check_number(findings, self.phase_seconds, "phase", above=0.0, most=MAX_PHASE_SECONDS)
        longest = LONGEST_BURST_SECONDS
        check_whole(findings, self.interval_seconds, "interval", most=longest)
        check_whole(findings, self.duration_seconds, "duration", most=longest)
        if self.burst_rate is not None:
            check_number(findings, self.burst_rate, "burst_rate", above=0.0, most=MAX_RATE)
        findings.raise_if_any()

    @property
    def is_unlimited(self) -> bool:
        """Whether the source emits as fast as it can."""
        return self.rate == 0.0

    @property
    def assumes_burst_rate(self) -> bool:
        """Whether bursts run at an assumed rate, as none was given."""
        return self.kind is FlowKind.BURST and not self.is_unlimited and self.burst_rate is None

    @property
    def rate_in_bursts(self) -> float:
        """Tuples per second within a burst, given or assumed."""
        return BURST_FACTOR * self.rate if self.burst_rate is None else self.burst_rate

    @property
    def mean_per_second(self) -> float | None:
        """Mean rate of one instance over a cycle; None when unlimited."""
        if self.is_unlimited:
            return None
        match self.kind:
            case FlowKind.UNIFORM:
                return self.rate
            case FlowKind.BURST:
                between, within = self.interval_seconds, self.duration_seconds
                total = between * self.rate + within * self.rate_in_bursts
                return total / (between + within)
        return self.rate / 2.0

    @property
    def shape(self) -> Shape:
        """How the rate moves about its mean, from the beginning of a cycle on."""
        if self.is_unlimited:
            return Unlimited()
        match self.kind:
            case FlowKind.UNIFORM:
                return Regular()
            case FlowKind.SINUSOIDAL:
                return Seasonal(period_seconds=self.phase_seconds, amplitude=1.0)
            case FlowKind.SAWTOOTH:
                return Sawtooth(period_seconds=self.phase_seconds)
            case FlowKind.REVERSE_SAWTOOTH:
                return Sawtooth(period_seconds=self.phase_seconds, reverse=True)
            case FlowKind.BURST:
                return self._bursts()

    def describe(self) -> str:
        """In a few words: ``1000/s``, ``sinusoidal to 1000/s in 300 s``."""
        rate = f"{self.rate:g}/s"
        if self.is_unlimited:
            return "as fast as possible"
        match self.kind:
            case FlowKind.UNIFORM:
                return rate
            case FlowKind.BURST:
                burst = f"{self.rate_in_bursts:g}/s for {self.duration_seconds} s"
                return f"{rate} for {self.interval_seconds} s, then {burst}"
        return f"{self.kind} to {rate} in {self.phase_seconds:g} s"

    def _bursts(self) -> Recorded:
        """A table of the rates, in the longest buckets that fit both parts of a cycle."""
        bucket = math.gcd(self.interval_seconds, self.duration_seconds)
        between, within = self.interval_seconds // bucket, self.duration_seconds // bucket
        values = (self.rate,) * between + (self.rate_in_bursts,) * within
        return Recorded(bucket_seconds=bucket, values=values)
