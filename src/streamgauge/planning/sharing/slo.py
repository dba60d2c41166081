"""Objectives of jobs that share a cluster, and what their jobs are worth under them.

An objective has a threshold of latency, of juice, or of both (then it is worth the mean of two
utilities with the same maximum). Juice is the part of the sources' input that a job processes.
What is not known has no utility, never the highest one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.planning.sharing.utility import Knee, Shape, check_shape
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.frozen import FrozenDict, freeze

# Juice is a ratio of counts that were not taken at the same moment.
ROUNDING = 1e-9


class Statistic(StrEnum):
    """Which latency counts."""

    MEAN = "mean"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well a job does over a window.

    Attributes:
        latency_seconds: By statistic, those that are known.
        juice: None where it is not known; may exceed one for a moment.
    """

    latency_seconds: Mapping[Statistic, float] = field(default_factory=FrozenDict)
    juice: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """What a job is to reach, and what that is worth.

    Attributes:
        latency_seconds: What latency must not exceed; None where it does not matter.
        statistic: Of which that is.
        juice: The least part of the input to be processed; None where it does not matter.
        max_utility: What the job is worth that meets it: its priority.
        shape: Which part of that remains where it is missed.
        sink_weights: What a tuple counts in juice by the sink where it ends; 1 unless named.
    """

    latency_seconds: float | None = None
    statistic: Statistic = Statistic.MEAN
    juice: float | None = None
    max_utility: float = 1.0
    shape: Shape = field(default_factory=Knee)
    sink_weights: Mapping[str, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "sink_weights")
        findings = Findings()
        for sink, weight in self.sink_weights.items():
            check_number(findings, weight, "sink_weights", sink)
        if self.latency_seconds is None and self.juice is None:
            findings.add("slo", seen="no threshold", expected="one of latency, juice, or both")
        if self.latency_seconds is not None:
            check_number(findings, self.latency_seconds, "latency", above=0.0)
        if self.juice is not None:
            check_number(findings, self.juice, "juice", above=0.0, most=1.0)
        check_number(findings, self.max_utility, "max_utility", above=0.0)
        findings.raise_if_any()
        if self.latency_seconds is not None:
            check_shape(self.shape, is_latency=True)
        if self.juice is not None:
            check_shape(self.shape, is_latency=False)

    def find_utility(self, quality: Quality) -> float | None:
        """What the job is worth; None where a figure that counts is not known."""
        parts = []
        if self.latency_seconds is not None:
            latency = quality.latency_seconds.get(self.statistic)
            # A latency of zero is one that nobody measured.
            if latency is None or not latency > 0.0:
                return None
            off = math.inf if math.isinf(latency) else latency / self.latency_seconds - 1.0
            parts.append(self._part(off, is_latency=True))
        if self.juice is not None:
            if quality.juice is None or math.isnan(quality.juice):
                return None
            off = min(1.0, 1.0 - quality.juice / self.juice)
            parts.append(self._part(off, is_latency=False))
        return self.max_utility * sum(parts) / len(parts)

    def _part(self, shortfall: float, *, is_latency: bool) -> float:
        if shortfall <= ROUNDING:
            return 1.0
        if math.isinf(shortfall):
            return 0.0
        return self.shape.of(shortfall, is_latency=is_latency)

    def is_met(self, quality: Quality) -> bool | None:
        """Whether every threshold is met; None where that is not known."""
        utility = self.find_utility(quality)
        return None if utility is None else utility >= self.max_utility


def add_utilities(utilities: Iterable[float | None]) -> float:
    """The system's utility; jobs of which it is not known add nothing."""
    return sum(one for one in utilities if one is not None)
