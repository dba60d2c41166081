"""The combination: laws that any forecaster must keep, and series whose answer is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.traffic.expert import standard_experts
from streamgauge.traffic.forecaster import Forecaster
from tests.traffic.day_courses import DAY, STEP_SECONDS, course

LEVELS = (0.025, 0.1, 0.9, 0.975)


def fitted(values, horizon=4, **options):
    forecaster = Forecaster(start_us=0, step_seconds=STEP_SECONDS, horizon=horizon, **options)
    forecaster.fit(values)
    return forecaster


def test_a_forecast_does_not_change_when_later_values_do():
    """Every forecast made on the way is that of a forecaster that has seen nothing later."""
    values = course(9, noise=0.05, seed=1)
    other = values.copy()
    other[600:] = np.random.default_rng(2).uniform(0.0, 1e6, len(values) - 600)
    answers = []
    for one in (values, other):
        forecaster = fitted(one[:600])
        answers.append(forecaster.predict(probabilities=LEVELS))
        forecaster.fit(one[600:])
    alone = fitted(values[:600]).predict(probabilities=LEVELS)
    for middle, quantiles in answers:
        np.testing.assert_array_equal(middle, alone[0])
        np.testing.assert_array_equal(quantiles, alone[1])


def test_asking_changes_nothing():
    values = course(4)
    silent, asked = fitted(values[:200]), fitted(values[:200])
    for value in values[200:]:
        asked.predict(probabilities=LEVELS)
        asked.update(value)
        silent.update(value)
    np.testing.assert_array_equal(asked.predict()[0], silent.predict()[0])


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1e6) | st.just(math.nan), min_size=12, max_size=150))
def test_whatever_comes_quantiles_are_ordered_finite_and_not_negative(values):
    values[0] = 1.0
    middle, quantiles = fitted(values).predict(probabilities=LEVELS)
    assert np.isfinite(middle).all() and (middle >= 0.0).all()
    assert (np.diff(quantiles, axis=1) >= 0.0).all() and (quantiles >= 0.0).all()
    assert (quantiles[:, 1] <= middle).all() and (middle <= quantiles[:, 2]).all()


@settings(max_examples=5)
@given(st.sampled_from([1e-3, 7.0, 1e6]))
def test_forecasts_do_not_depend_on_the_unit(unit):
    values = course(4, noise=0.05)
    one, bands = fitted(values).predict(probabilities=LEVELS)
    other, others = fitted(unit * values).predict(probabilities=LEVELS)
    np.testing.assert_allclose(other, unit * one, rtol=1e-6)
    np.testing.assert_allclose(others, unit * bands, rtol=1e-6)


def test_a_constant_is_certain():
    middle, quantiles = fitted(np.full(300, 7.0)).predict(probabilities=LEVELS)
    np.testing.assert_allclose(middle, 7.0)
    np.testing.assert_allclose(quantiles, 7.0)


def test_a_gap_is_bridged_by_what_was_expected():
    values = course(10, noise=0.002, seed=3)
    broken = values.copy()
    broken[-DAY - 40 : -DAY] = math.nan
    whole, _ = fitted(values[:-4]).predict()
    bridged, _ = fitted(broken[:-4]).predict()
    np.testing.assert_allclose(bridged, values[-4:], rtol=0.03)
    np.testing.assert_allclose(bridged, whole, rtol=0.03)


def test_a_gap_at_the_beginning_is_skipped():
    values = course(3)
    late, _ = fitted([*[math.nan] * DAY, *values]).predict()
    np.testing.assert_allclose(late, fitted(values).predict()[0])


def test_an_outlier_does_not_spoil_what_comes_after():
    values = course(10, noise=0.01, seed=4)
    spoilt = values.copy()
    spoilt[-20] *= 100.0
    clean, _ = fitted(values[:-4]).predict()
    found, _ = fitted(spoilt[:-4]).predict()
    np.testing.assert_allclose(found, clean, rtol=0.05)


def test_a_new_level_is_believed_when_the_next_value_confirms_it():
    random = np.random.default_rng(5)
    values = np.concatenate([random.normal(100.0, 1.0, 400), random.normal(300.0, 1.0, 12)])
    middle, _ = fitted(values).predict()
    np.testing.assert_allclose(middle, 300.0, rtol=0.1)


def test_a_change_to_daylight_saving_time_is_followed_with_the_zone():
    """The course follows Berlin's clock; on 2019-10-27 it comes an hour later in UTC."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    start = round(datetime(2019, 10, 15, tzinfo=UTC).timestamp() * 1e6)
    values = course(14, noise=0.0)
    change = 12 * DAY + 4
    shifted = np.concatenate([values[:change], values[change - 4 : -4]])
    until = change + 30
    found = {}
    for zone in (None, ZoneInfo("Europe/Berlin")):
        forecaster = Forecaster(
            start_us=start,
            step_seconds=STEP_SECONDS,
            horizon=8,
            experts=["same-time-yesterday"],
            zone=zone,
        )
        forecaster.fit(shifted[:until])
        found[zone is None] = np.abs(forecaster.predict()[0] - shifted[until : until + 8]).mean()
    assert found[False] < 1e-9
    assert found[True] > 10.0


def test_coverage_of_bands_on_a_course_with_noise():
    values = course(21, noise=0.05, seed=6)
    forecaster = fitted(values[: 14 * DAY])
    inside = []
    steps = np.array([1, 4])
    for at in range(14 * DAY, len(values) - 4):
        bands = forecaster.predict(steps, LEVELS)[1]
        coming = values[at + steps - 1][:, None]
        inside.append((coming >= bands[:, [0, 1]]) & (coming <= bands[:, [3, 2]]))
        forecaster.update(values[at])
    np.testing.assert_allclose(np.mean(inside, axis=0), [[0.95, 0.8]] * 2, atol=0.04)


@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_the_combination_is_hardly_worse_than_its_best_expert(noise):
    values = course(14, noise=noise, seed=7, weekend=0.6)
    forecaster = Forecaster(start_us=0, step_seconds=STEP_SECONDS, horizon=4)
    mixed, alone = [], []
    for at, value in enumerate(values):
        if at > 11 * DAY:
            one, experts = forecaster.newest_forecasts()
            mixed.append(abs(one[0] - value))
            alone.append(np.abs(experts[0] - value))
        forecaster.update(value)
    assert np.mean(mixed) <= 1.05 * np.mean(alone, axis=0).min()


def test_weights_add_up_to_one_at_every_rung():
    weights = fitted(course(3)).weights
    assert set(weights) == set(standard_experts())
    np.testing.assert_allclose(sum(weights.values()), 1.0)


def test_an_expert_that_sleeps_for_a_day_spoils_neither_history_nor_bands():
    values = course(6, noise=0.02)
    values[10:13] = math.nan  # before it can tell, and what stands in for a gap must be a number
    forecaster = fitted(values, experts=["same-time-yesterday"])
    assert np.isfinite(forecaster.history.values).all()
    middle, quantiles = forecaster.predict(probabilities=LEVELS)
    assert np.isfinite(quantiles).all()
    np.testing.assert_allclose(middle, course(6, noise=0.0)[:4], rtol=0.1)


def test_traffic_that_begins_after_days_of_nothing_blows_nothing_up():
    """Units, scales and bands of the quiet days must not be those of the others."""
    random = np.random.default_rng(8)
    at = np.arange(10 * DAY)
    busy = (at >= 4 * DAY) & (at % DAY >= 30) & (at % DAY < 80)
    values = np.where(busy, 500.0 + 20.0 * random.normal(size=len(at)), 0.0)
    for until in (9 * DAY + 50, 9 * DAY + 90):
        middle, quantiles = fitted(values[:until]).predict(probabilities=LEVELS)
        truth = values[until : until + 4]
        assert np.abs(middle - truth).max() < 100.0
        assert quantiles.max() < 4.0 * values.max()
