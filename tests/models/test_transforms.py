"""Transforms against their definitions, and quantiles against known distributions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from streamgauge.errors import InvalidInput
from streamgauge.models import transforms

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999)
POINTS = np.array([0.3 + 0.0j, 1.0 + 2.0j, 0.05 + 30.0j])


def gamma_quantiles(mean, scv, levels=LEVELS):
    return special.gammaincinv(1.0 / scv, levels) * mean * scv


def atoms(places, masses):
    """Transform, mean and standard deviation of a mixture of constants."""
    places, masses = np.array(places), np.array(masses)
    mean = float(places @ masses)
    std = math.sqrt((places - mean) ** 2 @ masses)

    def transform(s):
        return sum(m * transforms.constant(s, p) for p, m in zip(places, masses, strict=True))

    return transform, mean, std


def test_gamma_is_its_special_cases():
    exponential = transforms.exponential(POINTS, 2.0)
    assert transforms.gamma(POINTS, 2.0, 1.0) == pytest.approx(exponential)
    assert transforms.gamma(POINTS, 2.0, 0.0) == pytest.approx(np.exp(-2.0 * POINTS))
    # Shape 2 is the sum of two exponential times.
    assert transforms.gamma(POINTS, 4.0, 0.5) == pytest.approx(exponential**2)


def test_kinds_of_gamma_side_by_side_are_each_their_own():
    scv = np.array([0.0, 0.5, 1.0])
    together = transforms.gamma(POINTS[:, np.newaxis], 2.0, scv)
    for column, one in enumerate(scv):
        assert together[:, column] == pytest.approx(transforms.gamma(POINTS, 2.0, one))


def test_uniform_keeps_its_digits_where_it_is_short():
    s = np.array([1e-3 + 0j])
    for longest in (0.0, 1e-9, 1e-2, 0.2):
        x = 1e-3 * longest
        assert transforms.uniform(s, longest)[0].real == pytest.approx(1 - x / 2 + x * x / 6)


def test_an_atom_is_a_mixture_with_nothing():
    whole = transforms.exponential(POINTS, 3.0)
    assert transforms.with_atom(whole, 0.25) == pytest.approx(0.75 + 0.25 * whole)


@given(mean=st.floats(1e-6, 1e4), scv=st.floats(0.002, 8.0))
def test_gamma_quantiles_are_right_to_a_thousandth(mean, scv):
    found = transforms.quantiles(
        lambda s: transforms.gamma(s, mean, scv), LEVELS, mean, mean * math.sqrt(scv)
    )
    assert found == pytest.approx(gamma_quantiles(mean, scv), rel=1.5e-3)


def test_many_distributions_at_once_are_each_as_alone():
    mean, scv = np.array([1.0, 0.01, 7.0]), np.array([0.3, 2.0, 1.0])
    found = transforms.quantiles(
        lambda s: transforms.gamma(s, mean, scv), LEVELS, mean, mean * np.sqrt(scv)
    )
    assert found.shape == (5, 3)
    for column in range(3):
        expected = gamma_quantiles(mean[column], scv[column])
        assert found[:, column] == pytest.approx(expected, rel=1e-3)


def test_times_of_very_different_size_mix():
    # One in fifty takes a hundred times as long.
    rare, short, long = 0.02, 1e-5, 1e-3
    mean = (1 - rare) * short + rare * long
    std = math.sqrt(2 * (1 - rare) * short**2 + 2 * rare * long**2 - mean**2)

    def transform(s):
        ordinary = (1 - rare) * transforms.exponential(s, short)
        return ordinary + rare * transforms.exponential(s, long)

    def above(t, level):
        return (1 - rare) * math.exp(-t / short) + rare * math.exp(-t / long) - (1 - level)

    expected = [optimize.brentq(above, 0, 1, args=(level,), xtol=1e-12) for level in LEVELS]
    assert transforms.quantiles(transform, LEVELS, mean, std) == pytest.approx(expected, rel=2e-3)


def test_a_uniform_time_is_right_to_half_a_per_cent():
    found = transforms.quantiles(
        lambda s: transforms.uniform(s, 2.0), LEVELS, 1.0, 1 / math.sqrt(3.0)
    )
    assert found == pytest.approx(2.0 * np.array(LEVELS), rel=5e-3)


def test_a_constant_is_found_exactly_by_its_moments_and_nearly_without():
    def transform(s):
        return transforms.constant(s, 2.0)

    assert transforms.quantiles(transform, LEVELS, 2.0, 0.0) == pytest.approx(2.0)
    assert transforms.quantiles(transform, LEVELS, 2.0, 2.0) == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("far", [3.0, 30.0])
@pytest.mark.parametrize("mass", [0.3, 0.6, 0.8, 0.93, 0.97])
def test_atoms_are_found_within_a_few_hundredths(mass, far):
    transform, mean, std = atoms([1.0, far], [mass, 1 - mass])
    found = transforms.quantiles(transform, LEVELS, mean, std)
    expected = np.where(np.array(LEVELS) <= mass, 1.0, far)
    assert found == pytest.approx(expected, rel=0.04)


@given(
    places=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4),
)
def test_quantiles_of_any_atoms_rise_within_the_bounds_that_hold_for_all(places, weights):
    masses = np.array(weights[: len(places)])
    transform, mean, _ = atoms(places, masses / masses.sum())
    spread = math.sqrt(max(0.0, transform_variance(places, masses / masses.sum())))
    found = transforms.quantiles(transform, LEVELS, mean, spread)
    odds = np.sqrt(np.array(LEVELS) / (1 - np.array(LEVELS)))
    assert np.all(np.diff(found) >= 0.0)
    assert np.all(found >= mean - spread / odds - 1e-9)
    assert np.all(found <= mean + spread * odds + 1e-9)


def transform_variance(places, masses):
    mean = np.dot(places, masses)
    return float(np.dot((np.array(places) - mean) ** 2, masses))


def test_probabilities_keep_the_order_they_are_given_in():
    def transform(s):
        return transforms.exponential(s, 1.0)

    up = transforms.quantiles(transform, [0.5, 0.9], 1.0, 1.0)
    assert transforms.quantiles(transform, [0.9, 0.5], 1.0, 1.0) == pytest.approx(
        up[::-1], rel=1e-4
    )


def test_no_time_and_endless_time_are_what_they_are():
    mean = np.array([0.0, np.inf, 1.0])
    found = transforms.quantiles(lambda s: transforms.exponential(s, 1.0), [0.5], mean, mean)
    assert found[0] == pytest.approx([0.0, np.inf, math.log(2.0)], rel=1e-3)


def test_the_transform_is_called_twice():
    calls = []

    def transform(s):
        calls.append(s.shape)
        return transforms.exponential(s, np.ones(7))

    transforms.quantiles(transform, LEVELS, np.ones(7), np.ones(7))
    assert len(calls) == 2
    assert sum(shape[0] for shape in calls) < 700
    assert all(shape[1:] == (7,) for shape in calls)


def test_the_tail_of_an_exponential_time():
    times = np.array([0.1, 1.0, 5.0])
    found = transforms.tail(lambda s: transforms.exponential(s, 1.0), times)
    assert found == pytest.approx(np.exp(-times), abs=2e-4)


@pytest.mark.parametrize("levels", [[], [0.0], [1.0], [0.5, 1.5]])
def test_probabilities_lie_between_zero_and_one(levels):
    with pytest.raises(InvalidInput, match="probabilities"):
        transforms.quantiles(lambda s: transforms.exponential(s, 1.0), levels, 1.0, 1.0)


def test_terms_fade_by_the_normal_distribution_function():
    terms = transforms.FINE_TERMS
    points = transforms.MIDDLE - np.arange(terms) * (transforms.MIDDLE + transforms.FADED) / terms
    weights = transforms._weights(terms)
    assert weights[0] == pytest.approx(special.ndtr(points[0]) / 2.0, rel=1e-15)
    assert weights[1:] == pytest.approx(special.ndtr(points[1:]), rel=2e-15)
