"""Distributions of times against scipy.stats, closed forms and large samples."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.errors import InvalidInput
from streamgauge.profile.distribution import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Uniform,
)

SAMPLES = 200_000


def lognormal(mean: float, scv: float):
    sigma = math.sqrt(math.log(1 + scv))
    return stats.lognorm(s=sigma, scale=mean / math.sqrt(1 + scv))


# Ours, and the same in scipy's terms.
CONTINUOUS = [
    (Exponential(mean=2.5), stats.expon(scale=2.5)),
    (Gamma(mean=3.0, scv=0.25), stats.gamma(4, scale=0.75)),
    (Gamma(mean=3.0, scv=1.0), stats.expon(scale=3.0)),
    (Gamma(mean=0.5, scv=2.0), stats.gamma(0.5, scale=1.0)),
    (Lognormal(mean=4.0, scv=0.5), lognormal(4.0, 0.5)),
    (Lognormal(mean=0.01, scv=0.1), lognormal(0.01, 0.1)),
    (Uniform(low=1.0, high=5.0), stats.uniform(loc=1.0, scale=4.0)),
]
WEIGHTED = Empirical(values=(5.0, 1.0, 2.0), weights=(1.0, 1.0, 2.0))
ALL = [*(ours for ours, _ in CONTINUOUS), Constant(value=7.0), WEIGHTED]


def named(value: object) -> str | None:
    return repr(value) if hasattr(value, "kind") else None


@pytest.mark.parametrize(("ours", "theirs"), CONTINUOUS, ids=named)
def test_moments_are_those_of_scipy(ours, theirs):
    assert (ours.mean, ours.variance) == pytest.approx((theirs.mean(), theirs.var()))


@pytest.mark.parametrize(("ours", "theirs"), CONTINUOUS, ids=named)
@pytest.mark.parametrize("probability", [0.0, 1e-6, 0.05, 0.5, 0.9, 0.99, 0.999999, 1.0])
def test_quantiles_are_those_of_scipy(ours, theirs, probability):
    assert ours.quantile(probability) == pytest.approx(theirs.ppf(probability), rel=1e-9)


@pytest.mark.parametrize(("ours", "theirs"), CONTINUOUS, ids=named)
def test_samples_follow_the_distribution(ours, theirs):
    """Kolmogorov and Smirnov: one in a million right samplers would fail."""
    sample = ours.sample(np.random.default_rng(7), SAMPLES)
    assert stats.kstest(sample, theirs.cdf).pvalue > 1e-6


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_a_sample_s_mean_is_within_five_standard_errors(ours):
    sample = ours.sample(np.random.default_rng(11), SAMPLES)
    assert sample.mean() == pytest.approx(ours.mean, abs=5 * math.sqrt(ours.variance / SAMPLES))


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_a_sample_s_variance_is_within_five_standard_errors(ours):
    sample = ours.sample(np.random.default_rng(13), SAMPLES)
    squares = (sample - ours.mean) ** 2
    error = squares.std() / math.sqrt(SAMPLES)
    assert squares.mean() == pytest.approx(ours.variance, abs=5 * error)


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_a_seed_gives_the_same_sample(ours):
    first, second = (ours.sample(np.random.default_rng(3), 5).tolist() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_scv_is_variance_over_squared_mean(ours):
    assert ours.scv == pytest.approx(ours.variance / ours.mean**2)


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_scaling_scales_mean_deviation_and_quantiles(ours):
    scaled = ours.scale(3.0)
    assert type(scaled) is type(ours)
    assert scaled.mean == pytest.approx(3 * ours.mean)
    assert scaled.variance == pytest.approx(9 * ours.variance)
    assert scaled.quantile(0.7) == pytest.approx(3 * ours.quantile(0.7))


@pytest.mark.parametrize("ours", ALL, ids=named)
def test_quantiles_do_not_fall(ours):
    quantiles = [ours.quantile(step / 50) for step in range(51)]
    assert quantiles == sorted(quantiles)


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan])
def test_a_probability_is_from_zero_to_one(probability):
    with pytest.raises(InvalidInput, match="probability"):
        Exponential(mean=1).quantile(probability)


def test_a_constant_is_the_same_everywhere():
    constant = Constant(value=3.0)
    assert (constant.mean, constant.variance, constant.scv) == (3.0, 0.0, 0.0)
    assert (constant.quantile(0.0), constant.quantile(1.0)) == (3.0, 3.0)


def test_weighted_values_by_hand():
    """1, 2, 2, 5: mean 2.5, variance 9/4."""
    assert (WEIGHTED.mean, WEIGHTED.variance) == (2.5, 2.25)
    assert [WEIGHTED.quantile(p) for p in (0.0, 0.25, 0.26, 0.75, 0.76, 1.0)] == [1, 1, 2, 2, 5, 5]


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=40), st.data())
def test_empirical_quantiles_are_those_of_numpy(values, data):
    probability = data.draw(st.integers(0, len(values)).map(lambda k: k / len(values)))
    expected = np.quantile(values, probability, method="inverted_cdf")
    assert Empirical(values=tuple(values)).quantile(probability) == expected


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=40))
def test_empirical_moments_are_those_of_numpy(values):
    ours = Empirical(values=tuple(values))
    assert ours.mean == pytest.approx(np.mean(values))
    assert ours.variance == pytest.approx(np.var(values), rel=1e-9, abs=1e-6)


def test_a_weight_of_zero_is_never_drawn():
    ours = Empirical(values=(1.0, 2.0, 3.0), weights=(0.0, 1.0, 0.0))
    assert set(ours.sample(np.random.default_rng(1), 1000)) == {2.0}


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_the_scv_of_a_constant_is_zero_however_small_or_large(value):
    assert Constant(value=value).scv == 0.0


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_the_scv_of_an_exponential_is_one_however_small_or_large(value):
    assert Exponential(mean=value).scv == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: Constant(value=-1), "value: -1"),
        (lambda: Constant(value=math.nan), "value: nan"),
        (lambda: Constant(value=math.inf), "value: inf"),
        (lambda: Constant(value=True), "value: True"),
        (lambda: Constant(value="1"), "value: '1'"),
        (lambda: Constant(value=10**400), "value:"),
        (lambda: Exponential(mean=0), "mean: 0"),
        (lambda: Gamma(mean=0, scv=1), "mean: 0"),
        (lambda: Gamma(mean=1, scv=0), "scv: 0"),
        (lambda: Lognormal(mean=1, scv=-1), "scv: -1"),
        (lambda: Lognormal(mean=-1, scv=1), "mean: -1"),
        (lambda: Uniform(low=2, high=1), "high: 1 below low 2"),
        (lambda: Uniform(low=-1, high=1), "low: -1"),
        (lambda: Empirical(values=()), "values: no values"),
        (lambda: Empirical(values=(-1.0,)), "values[0]: -1.0"),
        (lambda: Empirical(values=(1.0,), weights=(1.0, 1.0)), "weights: 2 weights"),
        (lambda: Empirical(values=(1.0, 2.0), weights=(0.0, 0.0)), "weights: only zeros"),
        (lambda: Empirical(values=(1.0, 2.0), weights=(2.0, -1.0)), "weights[1]: -1.0"),
    ],
)
def test_a_distribution_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=re.escape(seen)):
        make()


def test_scaling_by_a_negative_factor_is_refused():
    with pytest.raises(InvalidInput):
        Exponential(mean=1.0).scale(-1.0)
