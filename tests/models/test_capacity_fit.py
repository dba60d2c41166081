"""Capacity from observations: plateaus, knees, outliers, and what does not tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamgauge.models.capacity_fit import (
    fit_knee,
    is_free,
    is_pressed,
    mean_of,
    slope_of,
)


def cloud(*, slope=2.0, knee=10.0, noise=0.02, repeats=10, seed=1):
    """Loads of 1 to 20, each repeated, of a curve with a knee."""
    offered = np.arange(1.0, 21.0).repeat(repeats)
    scatter = 1.0 + noise * np.random.default_rng(seed).standard_normal(len(offered))
    return offered, slope * np.minimum(offered, knee) * scatter


@pytest.mark.parametrize(
    ("seconds", "free", "pressed"),
    [
        (0, True, False),
        (4, True, False),
        (20, False, False),
        (30, False, True),
        (59, False, True),
        (60, False, True),
    ],
)
def test_back_pressure_is_binary_by_the_seconds_of_a_minute(seconds, free, pressed):
    assert (is_free(seconds / 60.0), is_pressed(seconds / 60.0)) == (free, pressed)


def test_repeated_observations_have_students_interval():
    values = np.random.default_rng(3).normal(10.0, 0.1, 10)
    # Nothing lies so far out that it would count less.
    values = values.clip(values.mean() - 0.12, values.mean() + 0.12)
    low, high = stats.t.interval(0.9, 9, values.mean(), stats.sem(values))
    found = mean_of(values)
    assert found.value == pytest.approx(values.mean(), rel=2e-3)
    assert found.half_width == pytest.approx((high - low) / 2.0, rel=0.25)


def test_ninety_of_a_hundred_intervals_hold_the_truth():
    generator = np.random.default_rng(5)
    held = [
        abs((one := mean_of(generator.normal(5.0, 1.0, 12))).value - 5.0) <= one.half_width
        for _ in range(1000)
    ]
    assert 0.86 <= np.mean(held) <= 0.94


def test_one_observation_has_no_interval():
    assert np.isnan(mean_of([3.0]).half_width)


@pytest.mark.parametrize("seed", range(5))
def test_a_knee_is_found_where_it_is(seed):
    offered, processed = cloud(seed=seed)
    found = fit_knee(offered, processed)
    assert found.plateau.value == pytest.approx(20.0, rel=0.01)
    assert found.slope.value == pytest.approx(2.0, rel=0.01)
    assert found.point == pytest.approx(10.0, rel=0.02)


def test_the_published_instance_saturates_at_eleven_million_a_minute():
    offered, processed = cloud(slope=7.635, knee=11.0, noise=0.005)
    assert fit_knee(offered, processed).point == pytest.approx(11.0, rel=0.01)


def test_outliers_hardly_count():
    offered, processed = cloud()
    processed[::20] *= 5.0
    processed[7::20] = 0.0
    found = fit_knee(offered, processed)
    assert found.plateau.value == pytest.approx(20.0, rel=0.03)
    assert found.slope.value == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
def test_a_cloud_without_a_knee_says_so(noise):
    offered, processed = cloud(knee=100.0, noise=noise)
    found = fit_knee(offered, processed)
    assert found.plateau is None
    assert found.why == "processed rates grow to the end"
    assert found.at_least == processed.max()


def test_a_flat_cloud_has_a_plateau_and_no_slope():
    offered, processed = cloud(knee=0.5)
    found = fit_knee(offered, processed)
    assert found.plateau.value == pytest.approx(1.0, rel=0.01)
    assert np.isnan(found.slope.value)
    assert "below the knee" in found.why


def test_three_observations_are_too_few():
    assert "at least 4 are needed" in fit_knee([1, 2, 3], [1, 2, 2]).why


def test_constants_and_gaps_do_no_harm():
    assert fit_knee([5.0] * 8, [5.0] * 8).plateau is None
    offered, processed = cloud()
    processed[::9] = np.nan
    assert fit_knee(offered, processed).plateau.value == pytest.approx(20.0, rel=0.01)
    assert slope_of([0.0, 0.0], [0.0, 0.0]).observations == 0


@settings(max_examples=15)
@given(scale=st.floats(1e-6, 1e6), slope=st.floats(0.01, 100.0))
def test_units_do_not_matter(scale, slope):
    offered, processed = cloud()
    base, other = fit_knee(offered, processed), fit_knee(scale * offered, slope * scale * processed)
    assert other.plateau.value == pytest.approx(slope * scale * base.plateau.value, rel=1e-3)
