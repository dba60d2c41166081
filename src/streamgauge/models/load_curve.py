"""Load curve: one plan under many loads, more of them where it saturates.

Loads lie on a line between two workloads, such as the same sources at 50 and at 500 tuples per
second. Latency is flat far below saturation and steep near it, so half of the points are even and
half come near, at parts 1 − 0.3·2⁻ᵏ of the highest rate that fits, and one lies beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Limit
from streamgauge.models.prediction import Prediction
from streamgauge.models.throughput import Throughput, predict_throughput
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

# Where something begins on the line is found to this part of the rates there.
PRECISION = 1e-3
# How far from saturation the nearest half of the points begins, and where the one beyond lies.
NEAR, BEYOND = 0.3, 1.05
# So many points are even at least, and near saturation at most.
MOST_NEAR = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLine:
    """Workloads between two of the same sources.

    Attributes:
        low: Where it begins.
        high: Where it ends.
    """

    low: Workload
    high: Workload

    def at(self, part: float) -> Workload:
        """The workload at a part of the way; beyond one it goes on."""
        return Workload(
            emissions=tuple(
                one
                if one.per_second is None or other.per_second is None
                else replace(one, per_second=_between(one.per_second, other.per_second, part))
                for one, other in zip(self.low.emissions, self.high.emissions, strict=True)
            )
        )

    def part_of(self, per_second: float) -> float:
        """The part of the way at which all sources together emit so much."""
        low, high = total_rate(self.low), total_rate(self.high)
        return (per_second - low) / (high - low)

    def rate_at(self, part: float) -> float:
        """What all sources emit together at a part of the way."""
        return _between(total_rate(self.low), total_rate(self.high), part)


def _between(low: float, high: float, part: float) -> float:
    return max(low + part * (high - low), 0.0)


def total_rate(workload: Workload) -> float:
    """What all sources emit together; NaN where one emits as fast as it can."""
    rates = [one.per_second for one in workload.emissions]
    return math.fsum(math.nan if rate is None else rate for rate in rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """A plan under one of the loads.

    Attributes:
        per_second: What all sources should emit together.
        prediction: As if nothing held sources back.
        throughput: What the plan really processes.
        cores: That all workers keep busy by that.
    """

    per_second: float
    workload: Workload
    prediction: Prediction
    throughput: Throughput
    cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """A plan under loads between two.

    Attributes:
        points: Ascending.
        saturation: The highest rate that fits on the line, in tuples per second of all sources
            together; infinite where nothing limits it.
        full: What is full first there; empty where nothing is.
    """

    points: tuple[LoadPoint, ...]
    saturation: float
    full: str


def find_load_curve(
    behaviour: JobBehaviour, plan: PhysicalPlan, line: LoadLine, count: int
) -> LoadCurve:
    """A plan under so many loads of a line, by the analytic model.

    Args:
        behaviour: What the job's operators do.
        plan: Where its executors run.
        line: The loads.
        count: How many points; at least two, the ends.
    """
    model = AnalyticModel()
    saturation, full = find_saturation(behaviour, plan, line)
    points = []
    for rate in choose_rates(line.rate_at(0.0), line.rate_at(1.0), count, saturation):
        workload = line.at(line.part_of(rate))
        prediction = model.predict(behaviour, plan, workload)
        throughput = predict_throughput(behaviour, plan, workload)
        real = prediction
        if throughput.is_held_back:
            processed = workload.times(throughput.processed_part)
            real = AnalyticModel(brief=True).predict(behaviour, plan, processed)
        points.append(
            LoadPoint(
                per_second=rate,
                workload=workload,
                prediction=prediction,
                throughput=throughput,
                cores=math.fsum(worker.cores for worker in real.workers),
            )
        )
    return LoadCurve(points=tuple(points), saturation=saturation, full=full)


def find_saturation(
    behaviour: JobBehaviour, plan: PhysicalPlan, line: LoadLine
) -> tuple[float, str]:
    """The highest rate on a line, or beyond its end, that is processed; and what is full there."""

    def saturate(workload: Workload) -> Limit:
        return predict_throughput(behaviour, plan, workload).saturation

    limit = saturate(line.low)
    if limit.factor >= 1.0 and not _is_proportional(line):
        # One source grows faster than another: the highest multiple of one end says little.
        end = saturate(line.high)
        if end.factor < math.inf:
            part = find_threshold(
                lambda part: saturate(line.at(part)).factor < 1.0, 0.0, max(2.0 * end.factor, 1.0)
            )
            end = saturate(line.at(part))
        limit = end
    return limit.per_second, "" if math.isinf(limit.factor) else limit.by


def _is_proportional(line: LoadLine) -> bool:
    """Whether all sources grow alike."""
    ratios = [
        other.per_second / one.per_second
        for one, other in zip(line.low.emissions, line.high.emissions, strict=True)
        if one.per_second and other.per_second
    ]
    return len(ratios) == len(line.low.emissions) and max(ratios) - min(ratios) < PRECISION


def find_threshold(is_beyond: Callable[[float], bool], low: float, high: float) -> float:
    """Where something begins between a number at which it is not so and one at which it is.

    The upper one where it is not so even there.
    """
    if not is_beyond(high):
        return high
    while high - low > PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return low


def choose_rates(low: float, high: float, count: int, saturation: float) -> list[float]:
    """Rates from `low` to `high`, denser below saturation, where that lies between them."""
    near: list[float] = []
    if low < saturation < high:
        wanted = min(count // 2, MOST_NEAR, count - 2)
        parts = [1.0 - NEAR * 0.5**k for k in range(wanted)]
        if wanted > 1:
            parts = [*parts[1:], BEYOND]
        near = [saturation * part for part in parts if low < saturation * part < high]
    even = count - len(near)
    rates = [low + (high - low) * at / (even - 1) for at in range(even)]
    return _drop_neighbours(sorted({*rates, *(float(f"{rate:.4g}") for rate in near)}), high - low)


def _drop_neighbours(rates: Sequence[float], span: float) -> list[float]:
    """Without rates that are nearly that before them; the ends stay."""
    kept = [rates[0]]
    for rate in rates[1:-1]:
        if min(rate - kept[-1], rates[-1] - rate) > PRECISION * span:
            kept.append(rate)
    return [*kept, *rates[1:][-1:]]
