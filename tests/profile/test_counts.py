"""Numbers of outputs against scipy.stats and brute force."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from streamgauge.errors import InvalidInput
from streamgauge.profile.distribution import (
    EmpiricalCount,
    Fixed,
    Geometric,
    PoissonCount,
    RoundedNormal,
)
from tests.strategies import counts

SAMPLES = 200_000
NORMAL = RoundedNormal(centre=7.3, deviation=2.5, low=4, high=12)
EXAMPLES = [
    Fixed(mean=3),
    Fixed(mean=7.6),
    Fixed(mean=0.333),
    NORMAL,
    PoissonCount(mean=0.2),
    PoissonCount(mean=40.0),
    Geometric(mean=0.5),
    Geometric(mean=20.0),
    EmpiricalCount(values=(3, 1, 3, 7)),
    EmpiricalCount(values=(0, 10), weights=(0.75, 0.25)),
]
SCIPY = [
    (PoissonCount(mean=0.2), stats.poisson(0.2)),
    (PoissonCount(mean=40.0), stats.poisson(40.0)),
    (PoissonCount(mean=5000.0), stats.poisson(5000.0)),
    (Geometric(mean=0.5), stats.geom(1 / 1.5, loc=-1)),
    (Geometric(mean=20.0), stats.geom(1 / 21, loc=-1)),
    (Fixed(mean=0.333), stats.bernoulli(0.333)),
]


@pytest.mark.parametrize("ours", EXAMPLES, ids=repr)
def test_a_table_is_ascending_and_sums_to_one(ours):
    values, shares = ours.table()
    assert list(values) == sorted(set(values))
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


@given(counts())
@settings(max_examples=60)
def test_any_table_sums_to_one(ours):
    _, shares = ours.table()
    assert shares.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("ours", EXAMPLES, ids=repr)
def test_moments_are_those_of_the_table(ours):
    values, shares = ours.table()
    mean = math.fsum(values * shares)
    assert ours.mean == pytest.approx(mean)
    assert ours.variance == pytest.approx(math.fsum((values - mean) ** 2 * shares))
    assert ours.scv == pytest.approx(ours.variance / mean**2)


@pytest.mark.parametrize(("ours", "theirs"), SCIPY, ids=lambda one: str(getattr(one, "kind", "")))
def test_probabilities_and_moments_are_those_of_scipy(ours, theirs):
    values, shares = ours.table()
    assert shares == pytest.approx(theirs.pmf(values), abs=1e-11)
    assert (ours.mean, ours.variance) == pytest.approx((theirs.mean(), theirs.var()))


@pytest.mark.parametrize(("ours", "theirs"), SCIPY, ids=lambda one: str(getattr(one, "kind", "")))
@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_quantiles_are_those_of_scipy(ours, theirs, probability):
    assert ours.quantile(probability) == theirs.ppf(probability)


def test_a_fixed_mean_of_0_333_is_a_coin():
    values, shares = Fixed(mean=0.333).table()
    assert (values.tolist(), shares.tolist()) == ([0, 1], [1 - 0.333, 0.333])


def test_a_whole_fixed_mean_is_constant():
    assert set(Fixed(mean=3).sample(np.random.default_rng(1), 100)) == {3}


def test_a_fixed_mean_of_7_6_is_7_or_8():
    """Variance 0.6 × 0.4."""
    assert (Fixed(mean=7.6).mean, Fixed(mean=7.6).variance) == pytest.approx((7.6, 0.24))


def test_a_rounded_normal_is_a_normal_rounded_and_clipped():
    draws = np.random.default_rng(5).normal(7.3, 2.5, 2_000_000)
    brute = np.clip(np.rint(draws), 4, 12).astype(int)
    values, shares = NORMAL.table()
    seen = np.bincount(brute, minlength=13)[4:] / len(brute)
    assert values.tolist() == list(range(4, 13))
    assert shares == pytest.approx(seen, abs=5 * math.sqrt(0.25 / len(brute)))


def test_the_ends_of_a_rounded_normal_take_the_tails():
    _, shares = NORMAL.table()
    normal = stats.norm(7.3, 2.5)
    assert (shares[0], shares[-1]) == pytest.approx((normal.cdf(4.5), normal.sf(11.5)))


def test_a_rounded_normal_may_have_one_value():
    only = RoundedNormal(centre=1, deviation=1, low=5, high=5)
    assert (only.mean, only.variance) == (5.0, 0.0)


@pytest.mark.parametrize("ours", EXAMPLES, ids=repr)
def test_samples_come_as_often_as_the_table_says(ours):
    sample = ours.sample(np.random.default_rng(17), SAMPLES)
    values, shares = ours.table()
    seen = np.asarray([(sample == value).mean() for value in values])
    assert seen == pytest.approx(shares, abs=5 * math.sqrt(0.25 / SAMPLES))


@pytest.mark.parametrize("ours", EXAMPLES, ids=repr)
def test_a_sample_s_mean_is_within_five_standard_errors(ours):
    sample = ours.sample(np.random.default_rng(19), SAMPLES)
    error = math.sqrt(ours.variance / SAMPLES)
    assert sample.mean() == pytest.approx(ours.mean, abs=5 * error + 1e-9)


@pytest.mark.parametrize("ours", EXAMPLES, ids=repr)
def test_a_quantile_is_the_least_count_not_exceeded_so_often(ours):
    values, shares = ours.table()
    below = np.cumsum(shares)
    for probability in (0.1, 0.35, 0.5, 0.83, 0.99):
        assert ours.quantile(probability) == values[np.argmax(below >= probability)]


def test_seen_counts_are_pooled():
    values, shares = EmpiricalCount(values=(3, 1, 3, 7)).table()
    assert (values.tolist(), shares.tolist()) == ([1, 3, 7], [0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: Fixed(mean=-0.1), "mean: -0.1"),
        (lambda: Fixed(mean=math.nan), "mean: nan"),
        (lambda: Fixed(mean=2e9), "mean: 2000000000.0"),
        (lambda: RoundedNormal(centre=1, deviation=0, high=3), "deviation: 0"),
        (lambda: RoundedNormal(centre=1, deviation=1, low=4, high=3), "high: 3 with low 4"),
        (lambda: RoundedNormal(centre=1, deviation=1, low=-1, high=3), "low: -1"),
        (lambda: RoundedNormal(centre=1, deviation=1, high=10**9), "high: 1000000000 with low 0"),
        (lambda: PoissonCount(mean=0), "mean: 0"),
        (lambda: PoissonCount(mean=1e9), "mean: 1000000000.0"),
        (lambda: Geometric(mean=0), "mean: 0"),
        (lambda: Geometric(mean=1e9), "mean: 1000000000.0"),
        (lambda: EmpiricalCount(values=()), "values: no values"),
        (lambda: EmpiricalCount(values=(1.5,)), "values[0]: 1.5"),
        (lambda: EmpiricalCount(values=(-1,)), "values[0]: -1"),
        (lambda: EmpiricalCount(values=(2**63,)), "values[0]: 9223372036854775808"),
        (lambda: EmpiricalCount(values=(1,), weights=(1.0, 2.0)), "weights: 2 weights"),
    ],
)
def test_a_count_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=re.escape(seen)):
        make()
