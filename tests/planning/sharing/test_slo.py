"""Utilities: the worked examples of Henge, and what shapes must not do."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic, add_utilities
from streamgauge.planning.sharing.utility import (
    Custom,
    Knee,
    Linear,
    Lognormal,
    Piecewise,
    Step,
)


def quality(latency_ms=None, juice=None, statistic=Statistic.MEAN):
    latencies = {} if latency_ms is None else {statistic: latency_ms / 1e3}
    return Quality(latency_seconds=latencies, juice=juice)


@pytest.mark.parametrize(
    ("latency_ms", "worth"), [(80, 26.25), (120, 17.5), (60, 35.0), (30, 35.0)]
)
def test_u3_a_latency_beyond_its_threshold_is_worth_the_threshold_over_it(latency_ms, worth):
    slo = Slo(latency_seconds=0.06, max_utility=35.0)
    assert slo.find_utility(quality(latency_ms)) == pytest.approx(worth)


@pytest.mark.parametrize(("juice", "worth"), [(0.5, 5.0), (1.0, 10.0), (1.02, 10.0)])
def test_u4_juice_below_its_threshold_is_worth_its_part_of_it(juice, worth):
    assert Slo(juice=1.0, max_utility=10.0).find_utility(quality(juice=juice)) == worth


def test_u5_a_hybrid_objective_is_worth_the_mean_of_both():
    slo = Slo(latency_seconds=0.07, juice=1.0, max_utility=35.0)
    seen = quality(140, juice=1.0)
    assert slo.find_utility(seen) == pytest.approx(26.25)
    assert slo.is_met(seen) is False


def test_u6_satisfaction_of_five_jobs():
    assert add_utilities([24.0] * 5) / (5 * 35.0) == pytest.approx(0.6857, abs=1e-4)


def test_u11_juice_of_0_992_misses_an_objective_of_one():
    assert Slo(juice=1.0).is_met(quality(juice=0.992)) is False


def test_a_percentile_is_worth_what_the_mean_would_be():
    slo = Slo(latency_seconds=0.1, statistic=Statistic.P99, max_utility=2.0)
    assert slo.find_utility(quality(200, statistic=Statistic.P99)) == 1.0
    assert slo.find_utility(quality(200)) is None


@pytest.mark.parametrize("seen", [quality(), quality(0.0), quality(math.nan)])
def test_what_is_not_known_is_worth_nothing_known(seen):
    slo = Slo(latency_seconds=0.1)
    assert slo.find_utility(seen) is None
    assert slo.is_met(seen) is None
    assert add_utilities([None, 3.0]) == 3.0


def test_what_never_arrives_is_worth_nothing():
    assert Slo(latency_seconds=0.1).find_utility(quality(math.inf)) == 0.0


SHAPES = [
    Knee(),
    Linear(zero_at=0.5),
    Piecewise(points=((0.0, 1.0), (0.1, 0.9), (1.0, 0.0))),
    Step(),
    Step(steps=((0.2, 0.5), (1.0, 0.1))),
    Lognormal(),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@given(st.floats(0.001, 10.0), st.floats(1.0, 10.0))
def test_no_shape_is_worth_more_the_worse_a_job_is(shape, latency, times):
    slo = Slo(latency_seconds=0.1, shape=shape)
    better = slo.find_utility(quality(latency * 1e3))
    worse = slo.find_utility(quality(latency * times * 1e3))
    assert 0.0 <= worse <= better <= 1.0
    assert (better == 1.0) == (latency / 0.1 - 1.0 <= 1e-9)


def test_values_of_shapes_on_paper():
    assert Linear(zero_at=0.5).of(0.25, is_latency=True) == 0.5
    assert Piecewise(points=((0.0, 1.0), (1.0, 0.5))).of(0.5, is_latency=True) == 0.75
    assert Step(steps=((0.2, 0.5),)).of(0.2, is_latency=True) == 0.5
    assert Step(steps=((0.2, 0.5),)).of(0.21, is_latency=True) == 0.0
    assert Lognormal(median=0.3).of(0.3, is_latency=True) == pytest.approx(0.5)


def rising(shortfall):
    return 1.0 if shortfall == 0.0 else min(0.9, shortfall)


def lenient(shortfall):
    return 1.0 if shortfall < 0.5 else 0.0


def modest(shortfall):
    return 0.5


@pytest.mark.parametrize(
    ("function", "says"),
    [("rising", "never rises"), ("lenient", "threshold is missed"), ("modest", "expected 1")],
)
def test_a_function_of_the_users_own_that_is_no_utility_is_refused(function, says):
    with pytest.raises(InvalidInput, match=says):
        Slo(latency_seconds=0.1, shape=Custom(function=f"{__name__}:{function}"))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"juice": 0.0},
        {"juice": 1.5},
        {"latency_seconds": 0.0},
        {"latency_seconds": 0.1, "max_utility": 0.0},
    ],
)
def test_thresholds_and_priorities_are_above_zero(settings):
    with pytest.raises(InvalidInput):
        Slo(**settings)


def test_points_that_rise_are_refused():
    with pytest.raises(InvalidInput, match="no larger part"):
        Piecewise(points=((0.0, 1.0), (0.5, 0.2), (1.0, 0.4)))
