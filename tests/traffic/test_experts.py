"""Every registered expert keeps the contract; each has a known answer on a series made for it."""

import numpy as np
import pytest

from streamgauge.plugins import FORECASTERS, plugin_names
from streamgauge.traffic.expert import load_expert, standard_experts
from streamgauge.traffic.history import Clock, History, make_rungs
from tests.traffic.day_courses import DAY, STEP_SECONDS, course

STEPS = np.arange(1, 5)
NAMES = (*standard_experts(), "median")


def fed(name, values, horizon=4):
    clock = Clock(0, round(STEP_SECONDS * 1e6))
    history = History(clock, make_rungs(horizon))
    expert = load_expert(name)(history)
    for value in values:
        history.append(float(value), is_observed=True)
        expert.update()
    return expert


def test_the_standard_experts_are_registered_and_named_as_they_are_registered():
    assert set(standard_experts()) <= set(plugin_names(FORECASTERS))
    assert all(load_expert(name).name == name for name in standard_experts())
    assert {"last-value", "holt-winters", "autoregression", "same-time-last-week"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_expert_says_what_it_does(name):
    assert len(load_expert(name).describe()) > 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 5, 30, DAY + 1, 8 * DAY])
def test_an_expert_forecasts_each_step_or_says_that_it_cannot(name, size):
    found = fed(name, course(9)[:size]).predict(STEPS)
    assert found.shape == (4,)
    assert np.isfinite(found).all() or np.isnan(found).any()
    assert not np.isinf(found).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_is_forecast_as_itself(name):
    found = fed(name, np.full(8 * DAY, 42.0)).predict(STEPS)
    np.testing.assert_allclose(found, 42.0, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_zeros_are_forecast_as_zeros(name):
    np.testing.assert_allclose(fed(name, np.zeros(8 * DAY)).predict(STEPS), 0.0, atol=1e-6)


def test_the_last_value_and_the_mean_on_paper():
    values = [*range(DAY), 1000.0]
    assert fed("last-value", values).predict(STEPS).tolist() == [1000.0] * 4
    mean = (sum(range(1, DAY)) + 1000.0) / DAY
    np.testing.assert_allclose(fed("mean", values).predict(STEPS), mean)
    assert fed("median", [1.0, 2.0, 9.0]).predict(STEPS).tolist() == [2.0] * 4


def test_seasonal_naive_repeats_yesterday_and_last_week():
    values = np.arange(8.0 * DAY)
    yesterday = fed("same-time-yesterday", values).predict(STEPS)
    assert yesterday.tolist() == (7.0 * DAY + STEPS - 1).tolist()
    last_week = fed("same-time-last-week", values).predict(STEPS)
    assert last_week.tolist() == (1.0 * DAY + STEPS - 1).tolist()


def test_seasonal_naive_repeats_the_newest_day_beyond_a_day():
    steps = np.array([1, DAY, DAY + 1, 3 * DAY])
    found = fed("same-time-yesterday", np.arange(2.0 * DAY), 3 * DAY).predict(steps)
    assert found.tolist() == [DAY, 2 * DAY - 1, DAY, 2 * DAY - 1]


def test_a_damped_trend_goes_on_and_fades():
    found = fed("damped-trend", np.arange(100.0)).predict(np.array([1, 2, 100]))
    assert found[1] > found[0] > 99.0
    # φ/(1 − φ) = 9 steps of a trend of at most one.
    assert found[2] < 99.0 + 10.0


@pytest.mark.parametrize("name", ["day-profile", "holt-winters"])
def test_a_course_that_repeats_is_forecast_exactly(name):
    values = course(5, noise=0.0)
    found = fed(name, values[:-4]).predict(STEPS)
    np.testing.assert_allclose(found, values[-4:], rtol=1e-6)


def test_the_day_profile_follows_todays_level():
    values = course(6, noise=0.0)
    values[5 * DAY :] *= 1.3
    found = fed("day-profile", values[:-4]).predict(STEPS)
    np.testing.assert_allclose(found, values[-4:], rtol=0.03)
