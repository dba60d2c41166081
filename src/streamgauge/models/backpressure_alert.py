"""Back-pressure alerts by two rules, side by side: the thesis's, and ours.

Cooper 2020, section on Heron and Caladrius: alert where the arrival rate of an instance exceeds one
over the median of its service time in the same window. A queue grows where arrivals exceed one over
the *mean*; times are skewed, so that their median is shorter, and that alert comes late. Ours is
utilisation: mean time, crowded cores and windows included, with a margin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamgauge.models.distribution_fitting import from_moments
from streamgauge.models.prediction import ExecutorPrediction, Prediction
from streamgauge.models.throughput_curve import MARGIN, is_at_risk
from streamgauge.profile.figures import TimeFigures
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import OperatorKind

MEDIAN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BackpressureAlert:
    """The busiest executor of an operator.

    Attributes:
        arriving: Tuples a second that come to it.
        median_seconds: Of its service, as it was measured.
        is_measured: Whether quantiles were; else the median is that of a gamma distribution with
            the measured mean and variation.
        utilisation: Part of the time for which it would be busy.
    """

    operator: str
    executor: str
    arriving: float
    median_seconds: float
    is_measured: bool
    utilisation: float

    @property
    def load_by_median(self) -> float:
        """Arrivals over one by the median: above one, the thesis's rule warns."""
        return self.arriving * self.median_seconds

    @property
    def by_median(self) -> bool:
        """Whether the thesis's rule warns."""
        return self.load_by_median > 1.0

    @property
    def by_utilisation(self) -> bool:
        """Whether ours does: full, or nearer to it than the margin."""
        return self.utilisation > 0.0 and is_at_risk(1.0 / self.utilisation, MARGIN)


def find_alerts(profile: Profile, prediction: Prediction) -> tuple[BackpressureAlert, ...]:
    """The busiest executor of every operator whose median service time is known, in their order."""
    busiest: dict[str, ExecutorPrediction] = {}
    for one in prediction.executors:
        known = busiest.get(one.operator)
        if known is None or one.utilisation > known.utilisation:
            busiest[one.operator] = one
    found = []
    for operator in profile.topology.operators:
        median = _median_ms(profile, operator.name)
        if operator.kind is OperatorKind.SOURCE or operator.name not in busiest or median is None:
            continue
        value_ms, is_measured = median
        executor = busiest[operator.name]
        found.append(
            BackpressureAlert(
                operator=operator.name,
                executor=executor.name,
                arriving=executor.arrived_per_second,
                median_seconds=value_ms / 1e3,
                is_measured=is_measured,
                utilisation=executor.utilisation,
            )
        )
    return tuple(found)


def _median_ms(profile: Profile, operator: str) -> tuple[float, bool] | None:
    """Of all tuples, those of each stream and task by their number; and whether it was measured."""
    known = [one for one in _times(profile, operator) if one[1] > 0.0]
    total = sum(weight for _, weight in known)
    if not total:
        return None
    medians = [_median_of(times) for times, _ in known]
    if any(one is None for one in medians):
        return None
    value = sum(
        one[0] * weight for one, (_, weight) in zip(medians, known, strict=True) if one is not None
    )
    return value / total, all(one is not None and one[1] for one in medians)


def _times(profile: Profile, operator: str) -> Iterator[tuple[TimeFigures, float]]:
    for task in profile.tasks_of(operator).values():
        for one in task.inputs.values():
            times = one.wall or one.cpu
            if times is not None:
                yield times, 0.0 if one.per_second is None else one.per_second.value


def _median_of(times: TimeFigures) -> tuple[float, bool] | None:
    if MEDIAN in times.quantiles_ms:
        return times.quantiles_ms[MEDIAN], True
    if times.scv is None:
        return None
    mean = times.mean_ms.value
    return from_moments(mean, times.scv.value * mean**2).quantile(MEDIAN), False
