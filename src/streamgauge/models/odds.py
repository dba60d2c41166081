"""Odds: how likely a measured window would meet an objective, from the intervals of a prediction.

In logarithms figures scatter normally about what is predicted (`intervals`), so that the odds are
Φ(ln(goal / figure) · z / half-width). A plan may miss several goals for the same reason, such as a
service that takes longer than was measured: the odds of meeting all of them are taken to be those
of the hardest.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from streamgauge.models.intervals import REACH, Interval, Intervals, Key
from streamgauge.models.objectives import LatencyGoal, Objective
from streamgauge.models.prediction import Prediction

HIGHEST_RATE = Key("job", "", "highest_rate")


def find_odds(
    objective: Objective,
    prediction: Prediction,
    intervals: Intervals | None,
    required_per_second: float,
) -> float:
    """Probability that the objective is met; NaN where intervals are not known.

    Args:
        objective: What is to be met.
        prediction: By the analytic model, with its highest rate.
        intervals: Of that prediction.
        required_per_second: The rate that is to get through.
    """
    if intervals is None or intervals.unknown:
        return math.nan
    odds = [find_latency_odds(goal, prediction, intervals) for goal in objective.latencies]
    capacity = prediction.limit.per_second
    if math.isfinite(capacity):
        reach = find_reach(intervals.figures.get(HIGHEST_RATE))
        odds.append(_probability(math.log(max(capacity, 1e-12) / required_per_second), reach))
    # min() would keep or drop a NaN by its place.
    return math.nan if any(map(math.isnan, odds)) else min(odds, default=1.0)


def find_latency_odds(goal: LatencyGoal, prediction: Prediction, intervals: Intervals) -> float:
    """Probability that a latency is at most what it is to be."""
    value = goal.measure(prediction)
    if math.isinf(value):
        return 0.0
    reach = find_reach(intervals.figures.get(goal.key))
    return _probability(math.log(goal.most_seconds / value), reach)


def find_reach(interval: Interval | None) -> float:
    """Half-width of an interval as a logarithm; NaN where it is not known."""
    if interval is None:
        return math.nan
    return math.hypot(interval.parameters, interval.model, interval.sampling)


def find_margin(reach: float, odds: float) -> float:
    """By how much, as a logarithm, a figure has to be better than its goal for such odds."""
    return NormalDist().inv_cdf(odds) * reach / REACH


def _probability(room: float, reach: float) -> float:
    """That something with this half-width stays within this room."""
    if math.isnan(reach):
        return math.nan
    if reach <= 0.0:
        return 1.0 if room >= 0.0 else 0.0
    return NormalDist().cdf(room * REACH / reach)
