"""Odds of meeting an objective follow from the interval of what is predicted."""

import math
from types import SimpleNamespace

import pytest

from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.intervals import REACH, Interval, Intervals, Key
from streamgauge.models.objectives import parse_objective
from streamgauge.models.odds import HIGHEST_RATE, find_margin, find_odds

P99 = Key("latency", "source to sink", "p99")


def predicted(p99, capacity=math.inf, *, overloaded=False):
    latency = Latency(mean=p99 / 3, variance=0.0, quantiles={0.99: p99}, parts={})
    return SimpleNamespace(
        latency=latency,
        overloaded={"m": 2.0} if overloaded else {},
        limit=SimpleNamespace(per_second=capacity),
    )


def interval(reach):
    return Interval(low=1.0, high=2.0, parameters=reach, model=0.0, sampling=0.0)


def intervals(**reaches):
    keys = {"p99": P99, "rate": HIGHEST_RATE}
    return Intervals(
        window_seconds=60.0, figures={keys[name]: interval(one) for name, one in reaches.items()}
    )


GOAL = parse_objective("p99<100ms")


def test_a_figure_at_its_goal_meets_it_in_half_of_the_cases():
    assert find_odds(GOAL, predicted(0.1), intervals(p99=0.2), 10.0) == pytest.approx(0.5)


def test_a_goal_at_the_upper_end_of_the_90_percent_interval_is_met_in_95_of_100_cases():
    odds = find_odds(GOAL, predicted(0.1 * math.exp(-0.2)), intervals(p99=0.2), 10.0)
    assert odds == pytest.approx(0.95)


def test_the_margin_for_some_odds_leads_to_these_odds():
    better = 0.1 * math.exp(-find_margin(0.3, 0.8))
    assert find_odds(GOAL, predicted(better), intervals(p99=0.3), 10.0) == pytest.approx(0.8)


def test_a_rate_that_may_not_fit_limits_the_odds():
    capacity = 10.0 * math.exp(0.1 / REACH)
    odds = find_odds(GOAL, predicted(0.01, capacity), intervals(p99=0.2, rate=0.1), 10.0)
    assert odds == pytest.approx(0.8413, abs=1e-4)


def test_an_overloaded_plan_meets_no_latency():
    assert find_odds(GOAL, predicted(0.1, overloaded=True), intervals(p99=0.2), 10.0) == 0.0


def test_odds_are_not_known_where_intervals_are_not():
    assert math.isnan(find_odds(GOAL, predicted(0.1), None, 10.0))
    unknown = Intervals(window_seconds=60.0, unknown="declared")
    assert math.isnan(find_odds(GOAL, predicted(0.1), unknown, 10.0))
