"""Back-pressure as events in time, and the regime that they make (Pagliari 2021, section 5.3.2).

Averages hide it: where queues fill and drain in turn, a mean latency says little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from streamgauge.experiments.studies import EventRule, LoadSweep
from streamgauge.experiments.truth import Course, StepTruth, Truth


class Regime(StrEnum):
    """How a load is carried.

    Normal: no event. Alternating: back-pressure comes and goes. Persistent: it came and stayed.
    """

    NORMAL = "normal"
    ALTERNATING = "alternating"
    PERSISTENT = "persistent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """An event, in seconds from the start of measuring."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionRegime:
    """What one repetition was like.

    Attributes:
        regime: By its events.
        events: Times of high latency.
        measured_seconds: How long it was looked at.
        throughput_deviation: Standard deviation of tuples emitted per second, by bucket.
        latency_deviation: The same of the mean latency in seconds.
    """

    regime: Regime
    events: tuple[Period, ...]
    measured_seconds: float
    throughput_deviation: float
    latency_deviation: float

    @property
    def total_seconds(self) -> float:
        """All events together."""
        return math.fsum(event.seconds for event in self.events)

    @property
    def mean_seconds(self) -> float:
        """Of one event; NaN without any."""
        return self.total_seconds / len(self.events) if self.events else math.nan

    @property
    def share(self) -> float:
        """Part of the time that is an event."""
        return self.total_seconds / self.measured_seconds


def find_events(
    values: Sequence[float], bucket_seconds: float, *, enter: float, leave: float, rule: EventRule
) -> list[Period]:
    """Times in which a value was high: from above one threshold to below a lower one.

    A value that is missing changes nothing: where nothing arrives, an event goes on.

    Args:
        values: One a bucket; NaN where there is none.
        bucket_seconds: Length of a bucket.
        enter: An event begins above this.
        leave: It ends below this.
        rule: Which events are one, and which are none.
    """
    found: list[Period] = []
    start: float | None = None
    for place, value in enumerate(values):
        if start is None and value > enter:
            start = place * bucket_seconds
        elif start is not None and value < leave:
            found.append(Period(start=start, end=place * bucket_seconds))
            start = None
    if start is not None:
        found.append(Period(start=start, end=len(values) * bucket_seconds))
    return [
        one for one in _join_periods(found, rule.gap_seconds) if one.seconds >= rule.least_seconds
    ]


def classify(events: Sequence[Period], measured_seconds: float, rule: EventRule) -> Regime:
    """The regime that events make; one short event came and went."""
    if not events:
        return Regime.NORMAL
    if len(events) == 1 and events[0].seconds >= rule.persistent_share * measured_seconds:
        return Regime.PERSISTENT
    return Regime.ALTERNATING


def find_baseline(step: StepTruth) -> float:
    """The latency without back-pressure: the median over all buckets; NaN without any."""
    values = [value for one in step.repetitions for value in one.course.latency_seconds]
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


def find_regime(course: Course, baseline: float, rule: EventRule) -> RepetitionRegime:
    """What one repetition was like, beside a baseline."""
    events = find_events(
        course.latency_seconds,
        course.bucket_seconds,
        enter=rule.enter * baseline,
        leave=rule.leave * baseline,
        rule=rule,
    )
    measured = len(course.latency_seconds) * course.bucket_seconds
    return RepetitionRegime(
        regime=classify(events, measured, rule),
        events=tuple(events),
        measured_seconds=measured,
        throughput_deviation=_compute_deviation(course.emitted_per_second),
        latency_deviation=_compute_deviation(course.latency_seconds),
    )


def find_regimes(truth: Truth, sweep: LoadSweep) -> dict[str, list[RepetitionRegime]]:
    """Every repetition of every step; nothing as long as the baseline was not measured."""
    base = truth.step(sweep.baseline)
    if base is None:
        return {}
    baseline = find_baseline(base)
    return {
        step.name: [find_regime(one.course, baseline, sweep.rule) for one in step.repetitions]
        for step in truth.steps
    }


def _join_periods(events: Sequence[Period], gap_seconds: float) -> list[Period]:
    joined: list[Period] = []
    for one in events:
        if joined and gap_seconds > 0.0 and one.start - joined[-1].end <= gap_seconds:
            joined[-1] = Period(start=joined[-1].start, end=one.end)
        else:
            joined.append(one)
    return joined


def _compute_deviation(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.std(known)) if known else math.nan
