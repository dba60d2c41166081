"""What studies found: regimes of back-pressure, what halving gained, how near imitations come.

Back-pressure is events in time, and the regime that they make (Pagliari 2021, section 5.3.2).
Averages hide it: where queues fill and drain in turn, a mean latency says little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from streamgauge.experiments.figures import ALL, FigureKind
from streamgauge.experiments.studies import BottleneckSearch, EventRule, Fidelity, LoadSweep
from streamgauge.experiments.truth import Course, StepTruth, Truth

THROUGHPUT = (FigureKind.THROUGHPUT, ALL, "emitted_per_second")
LATENCY = (FigureKind.LATENCY, ALL, "mean")
SINCE_DUE = (FigureKind.SINCE_DUE, ALL, "mean")
# What is compared of two steps, by what reports call it; latency counts from emission if nothing
# else is said.
COMPARED = {
    "throughput": THROUGHPUT,
    "latency, mean": LATENCY,
    "latency, p50": (FigureKind.LATENCY, ALL, "p50"),
    "latency, p95": (FigureKind.LATENCY, ALL, "p95"),
    "latency since due, mean": SINCE_DUE,
}
# Without repetitions nothing is known of chance: less than this is taken for it.
LEAST_FLOOR = 0.02


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

    A value that is missing (NaN) changes nothing: where nothing arrives, an event goes on. The rule
    says which events are one, and which are none.
    """
    events: list[Period] = []
    start: float | None = None
    for place, value in enumerate(values):
        if start is None and value > enter:
            start = place * bucket_seconds
        elif start is not None and value < leave:
            events.append(Period(start=start, end=place * bucket_seconds))
            start = None
    if start is not None:
        events.append(Period(start=start, end=len(values) * bucket_seconds))
    joined = _join_periods(events, rule.gap_seconds)
    return [event for event in joined if event.seconds >= rule.least_seconds]


def classify(events: Sequence[Period], measured_seconds: float, rule: EventRule) -> Regime:
    """The regime that events make; one short event came and went."""
    if not events:
        return Regime.NORMAL
    if len(events) == 1 and events[0].seconds >= rule.persistent_share * measured_seconds:
        return Regime.PERSISTENT
    return Regime.ALTERNATING


def find_baseline(step: StepTruth) -> float:
    """The latency without back-pressure: the median over all buckets; NaN without any."""
    known = [
        latency
        for repetition in step.repetitions
        for latency in repetition.course.delay_seconds
        if math.isfinite(latency)
    ]
    return float(np.median(known)) if known else math.nan


def find_regime(course: Course, baseline: float, rule: EventRule) -> RepetitionRegime:
    """What one repetition was like, beside a baseline."""
    events = find_events(
        course.delay_seconds,
        course.bucket_seconds,
        enter=rule.enter * baseline,
        leave=rule.leave * baseline,
        rule=rule,
    )
    measured = len(course.delay_seconds) * course.bucket_seconds
    return RepetitionRegime(
        regime=classify(events, measured, rule),
        events=tuple(events),
        measured_seconds=measured,
        throughput_deviation=_compute_deviation(course.emitted_per_second),
        latency_deviation=_compute_deviation(course.delay_seconds),
    )


def find_regimes(truth: Truth, sweep: LoadSweep) -> dict[str, list[RepetitionRegime]]:
    """Every repetition of every step; nothing as long as the baseline was not measured."""
    base = truth.step(sweep.baseline)
    if base is None:
        return {}
    baseline = find_baseline(base)
    return {
        step.name: [
            find_regime(repetition.course, baseline, sweep.rule) for repetition in step.repetitions
        ]
        for step in truth.steps
    }


def _join_periods(events: Sequence[Period], gap_seconds: float) -> list[Period]:
    joined: list[Period] = []
    for event in events:
        if joined and gap_seconds > 0.0 and event.start - joined[-1].end <= gap_seconds:
            joined[-1] = Period(start=joined[-1].start, end=event.end)
        else:
            joined.append(event)
    return joined


def _compute_deviation(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.std(known)) if known else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What became better when an operator was made twice as fast.

    Attributes:
        throughput: Part that the sources emitted more.
        latency: Part that the mean latency was shorter.
        throughput_floor: What chance alone makes of the throughput.
    """

    operator: str
    throughput: float
    latency: float
    throughput_floor: float
    latency_floor: float

    @property
    def verdict(self) -> str:
        """Which kind of bottleneck it is; one that only lowers latency limits no throughput."""
        if self.throughput > self.throughput_floor:
            return "limits throughput"
        return "adds latency" if self.latency > self.latency_floor else "no bottleneck"


def rank_gains(truth: Truth, search: BottleneckSearch) -> list[Gain]:
    """All halved operators, the one that gained most throughput first (Pagliari 2021, chapter 5).

    Gains in throughput that chance alone can make are alike: latency tells these apart.
    """
    gains = []
    for name, operator in search.halved:
        throughput = _compare(truth, search.base, name, "throughput")
        latency = _compare(truth, search.base, name, "latency, mean")
        if throughput is not None and latency is not None:
            gains.append(
                Gain(
                    operator=operator,
                    throughput=throughput.part,
                    latency=-latency.part,
                    throughput_floor=throughput.floor,
                    latency_floor=latency.floor,
                )
            )
    return sorted(gains, key=_rank, reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure of a step and of the reference, their relative difference, and that of chance."""

    step: str
    figure: str
    reference: float
    value: float
    part: float
    floor: float


def compare_with_reference(truth: Truth, study: Fidelity) -> Iterator[Difference]:
    """How far the other steps are from the reference (Pagliari 2021, section 5.3.1)."""
    for step in truth.steps:
        if step.name != study.reference:
            for figure in COMPARED:
                difference = _compare(truth, study.reference, step.name, figure)
                if difference is not None:
                    yield difference


def _rank(gain: Gain) -> tuple[float, float]:
    beyond_chance = gain.throughput if gain.throughput > gain.throughput_floor else 0.0
    return beyond_chance, gain.latency


def _compare(truth: Truth, reference: str, name: str, figure: str) -> Difference | None:
    """One figure of two steps; None where it was not measured of both, or is none of nothing."""
    base, step = truth.step(reference), truth.step(name)
    if base is None or step is None:
        return None
    before, after = base.figure(*COMPARED[figure]), step.figure(*COMPARED[figure])
    if before is None or after is None or not before.value:
        return None
    floors = [floor for floor in (before.floor, after.floor) if floor is not None]
    return Difference(
        step=name,
        figure=figure,
        reference=before.value,
        value=after.value,
        part=(after.value - before.value) / before.value,
        floor=max([LEAST_FLOOR, *floors]),
    )
