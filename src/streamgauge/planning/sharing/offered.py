"""What comes to a job over time: made-up courses, and recorded ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number
from streamgauge.traffic.series import TrafficSeries

Vector = NDArray[np.float64]
HOUR = 3600.0


class Offered(Protocol):
    """Tuples per second that are due."""

    def at(self, seconds: Vector) -> Vector:
        """At times since the begin; NaN where it is not known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Diurnal:
    """mean × (1 + swing × cos(2π (t − peak) / period)), times what spikes say.

    Attributes:
        mean: Tuples per second.
        swing: From 0, always the same, to 1, nothing at the lowest.
        peak_hour: When it is highest.
        period_hours: From one peak to the next.
        spikes: From which hour to which hour so many times as much comes.
    """

    mean: float
    swing: float = 0.0
    peak_hour: float = 14.0
    period_hours: float = 24.0
    spikes: tuple[tuple[float, float, float], ...] = ()

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.mean, "mean")
        check_number(findings, self.swing, "swing", most=1.0)
        check_number(findings, self.peak_hour, "peak_hour")
        check_number(findings, self.period_hours, "period_hours", above=0.0)
        for index, (begin, end, times) in enumerate(self.spikes):
            check_number(findings, begin, "spikes", index, 0)
            check_number(findings, end, "spikes", index, 1, above=begin)
            check_number(findings, times, "spikes", index, 2)
        findings.raise_if_any()

    def at(self, seconds: Vector) -> Vector:
        """The course."""
        phase = 2.0 * math.pi * (seconds / HOUR - self.peak_hour) / self.period_hours
        rate = self.mean * (1.0 + self.swing * np.cos(phase))
        for begin, end, times in self.spikes:
            rate = np.where((seconds >= begin * HOUR) & (seconds < end * HOUR), rate * times, rate)
        return np.asarray(rate, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recorded:
    """A series, from its begin; when it ends it begins again.

    Attributes:
        scale: Its values are multiplied by this.
        mean: Or so that their mean is this.
        hasten: So many of its seconds pass in one.
    """

    series: TrafficSeries
    scale: float = 1.0
    mean: float | None = None
    hasten: float = 1.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.scale, "scale", above=0.0)
        check_number(findings, self.hasten, "hasten", above=0.0)
        if self.mean is not None:
            check_number(findings, self.mean, "mean", above=0.0)
        findings.raise_if_any()

    def at(self, seconds: Vector) -> Vector:
        """The value of the cell that a time falls into."""
        cells = np.floor(seconds * self.hasten / self.series.step_seconds).astype(np.int64)
        values = self.series.values[cells % len(self.series.values)]
        scale = self.scale
        if self.mean is not None:
            scale = self.mean / max(float(np.nanmean(self.series.values)), 1e-12)
        return np.asarray(values * scale, dtype=np.float64)
