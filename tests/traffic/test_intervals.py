"""Adaptive quantiles: coverage where errors stay, grow or jump, and exact order statistics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.traffic.intervals import WINDOW, AdaptiveQuantiles

LEVELS = np.array([0.025, 0.1, 0.9, 0.975])


def learn(quantiles, error, scale, hour):
    now = quantiles.levels.copy(), quantiles.mean_levels()
    quantiles.learn(np.zeros(1, dtype=np.int64), np.array([error]), scale, *now, hour)


def hits(errors):
    """Shares of errors below the quantiles that were given before each, after the first 500."""
    quantiles = AdaptiveQuantiles(1)
    below = []
    one = np.zeros(1, dtype=np.int64)
    for error in errors:
        scale = quantiles.scales(one, one)
        below.append(error <= quantiles.offsets(LEVELS)[0] * scale)
        learn(quantiles, error, scale, 0)
    return np.mean(below[500:], axis=0)


@pytest.mark.parametrize("kind", ["normal", "skewed", "heavy"])
def test_each_quantile_has_its_share_below_where_errors_stay_as_they_are(kind):
    random = np.random.default_rng(7)
    errors = {
        "normal": random.normal(0.0, 3.0, 4000),
        "skewed": random.exponential(2.0, 4000) - 1.4,
        "heavy": random.standard_t(3, 4000),
    }[kind]
    np.testing.assert_allclose(hits(errors), LEVELS, atol=0.015)


def test_coverage_holds_where_errors_grow_fourfold():
    errors = np.random.default_rng(8).normal(0.0, 1.0, 4000) * np.linspace(1.0, 4.0, 4000)
    np.testing.assert_allclose(hits(errors), LEVELS, atol=0.02)


def test_coverage_comes_back_after_errors_jump_tenfold():
    random = np.random.default_rng(9)
    errors = np.concatenate([random.normal(0.0, 1.0, 1500), random.normal(0.0, 10.0, 2500)])
    np.testing.assert_allclose(hits(errors), LEVELS, atol=0.03)


def test_errors_that_differ_by_hour_have_bands_that_do():
    quantiles, random = AdaptiveQuantiles(1), np.random.default_rng(10)
    row = np.zeros(1, dtype=np.int64)
    for turn in range(4000):
        hour = turn // 12 % 24
        scale = quantiles.scales(row, np.array([hour]))
        error = random.normal(0.0, 10.0 if hour < 12 else 1.0)
        learn(quantiles, error, scale, hour)
    noisy, calm = (quantiles.scales(row, np.array([hour]))[0] for hour in (3, 18))
    assert 6.0 < noisy / calm < 16.0


@settings(max_examples=30)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60))
def test_scores_are_kept_in_order_with_the_oldest_leaving(scores):
    quantiles = AdaptiveQuantiles(1)
    many = (scores * (2 * WINDOW // len(scores) + 1))[: WINDOW + len(scores)]
    for score in many:
        quantiles._insert(0, float(score))
    assert quantiles._sorted[0].tolist() == sorted(map(float, many[-WINDOW:]))


def test_without_errors_all_quantiles_are_zero():
    assert AdaptiveQuantiles(2).offsets(LEVELS).tolist() == [[0.0] * 4] * 2


def test_the_first_error_of_an_hour_without_any_is_measured_by_the_other_hours():
    quantiles = AdaptiveQuantiles(1)
    row, quiet, busy = np.zeros(1, dtype=np.int64), np.array([3]), np.array([12])
    for _ in range(50):
        learn(quantiles, 0.0, quantiles.scales(row, quiet), 3)
        learn(quantiles, 10.0, quantiles.scales(row, busy), 12)
    # The mean of all hours is about 5.
    assert quantiles.scales(row, quiet)[0] > 0.01
