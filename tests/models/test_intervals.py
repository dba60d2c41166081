"""Intervals: three parts that add up as squares, and what overload does to them."""

import math

import numpy as np
import pytest

from streamgauge.models.intervals import (
    REACH,
    Interval,
    Predicted,
    find_difference,
    find_interval,
    find_overload,
)
from streamgauge.models.model_error import Kind
from streamgauge.models.parameter_noise import COUNT, Draws, balance_signs
from streamgauge.profile.files.jobs import load_profile

SIGNS = balance_signs()[:, :12]
DRAWS = Draws(
    profile=load_profile("examples/word-count.profile.json"), signs=SIGNS, changes=({},) * COUNT
)


def latency(value=1.0, drawn=None, scatter=0.0, kind=Kind.MEAN):
    known = np.full(COUNT, value) if drawn is None else np.asarray(drawn)
    return Predicted(value=value, drawn=known, kind=kind, scatter=scatter)


def test_the_parts_add_up_as_squares():
    found = find_interval(latency(scatter=0.03 / REACH), DRAWS, 0.04, 0.0)
    assert (found.parameters, found.model, found.sampling) == pytest.approx((0.0, 0.04, 0.03))
    assert (found.low, found.high) == pytest.approx((math.exp(-0.05), math.exp(0.05)))


def test_what_draws_scatter_by_widens_an_interval():
    found = find_interval(latency(drawn=np.exp(0.1 * SIGNS[:, 0])), DRAWS, 0.0, 0.0)
    assert found.parameters == pytest.approx(DRAWS.half_width(0.1 * SIGNS[:, 0], 0.9))
    assert found.high == pytest.approx(math.exp(found.parameters))


def test_without_draws_an_interval_is_not_known_and_never_zero():
    found = find_interval(
        Predicted(value=1.0, drawn=None, kind=Kind.MEAN, scatter=0.1), None, 0.04, math.nan
    )
    assert not found.is_known
    assert math.isnan(found.parameters)
    assert found.model == 0.04


def test_a_latency_that_may_be_endless_has_no_upper_end_but_a_lower_one():
    drawn = np.where(SIGNS[:, 0] > 0, np.inf, 0.8)
    found = find_interval(latency(drawn=drawn), DRAWS, 0.0, 0.3)
    assert found.high == math.inf
    assert 0.4 < found.low < 0.8


def test_draws_far_above_do_not_lower_the_lower_end():
    near = find_interval(latency(drawn=np.exp(0.1 * SIGNS[:, 0])), DRAWS, 0.0, 0.3)
    far = np.where(SIGNS[:, 0] > 0, 50.0, math.exp(-0.1))
    assert find_interval(latency(drawn=far), DRAWS, 0.0, 0.3).low == pytest.approx(near.low)


def test_utilisation_keeps_its_upper_end_where_overload_is_likely():
    found = find_interval(latency(kind=Kind.SERVICE), DRAWS, 0.1, 0.5)
    assert found.high == pytest.approx(math.exp(0.1))


def test_an_overloaded_plan_that_may_fit_begins_at_what_it_then_has():
    drawn = np.where(SIGNS[:, 0] > 0, np.inf, 2.0)
    found = find_interval(latency(value=math.inf, drawn=drawn), DRAWS, 0.1, 0.8)
    assert (found.low, found.high) == (2.0, math.inf)
    sure = find_interval(latency(value=math.inf, drawn=drawn), DRAWS, 0.1, 0.99)
    assert sure.low == math.inf


@pytest.mark.parametrize(
    ("headroom", "reach", "probability"),
    [(1.0, 0.1, 0.5), (math.exp(0.1), 0.1, 0.05), (math.exp(-0.1), 0.1, 0.95), (math.inf, 0.1, 0)],
)
def test_overload_is_as_likely_as_headroom_below_one(headroom, reach, probability):
    assert find_overload(headroom, reach) == pytest.approx(probability)


def test_plans_that_vary_together_differ_surely_though_each_is_unsure():
    together = np.exp(0.3 * SIGNS[:, 0])
    one, other = latency(value=1.1, drawn=1.1 * together), latency(drawn=together)
    each = find_interval(one, DRAWS, 0.02, 0.0)
    assert each.low < 1.0 < each.high
    difference = find_difference(one, other, DRAWS, 0.02)
    assert difference.apart == pytest.approx(math.log(1.1))
    assert difference.reach == pytest.approx(0.02)
    assert difference.is_certain


def test_a_difference_without_draws_is_not_certain():
    one = Predicted(value=2.0, drawn=None, kind=Kind.MEAN, scatter=0.0)
    assert not find_difference(one, one, None, 0.02).is_certain


def test_an_interval_with_an_end_that_is_not_known_is_not_known():
    unknown = Interval(low=math.nan, high=math.nan, parameters=math.nan, model=0.1, sampling=0.1)
    assert not unknown.is_known
