"""Compiled draws have the distributions they were made of."""

import numpy as np
import pytest
from numba import njit

from streamgauge.profile.distribution import (
    Constant,
    Empirical,
    EmpiricalCount,
    Exponential,
    Fixed,
    Gamma,
    Geometric,
    Lognormal,
    PoissonCount,
    RoundedNormal,
    Uniform,
)
from streamgauge.simulation.draws import draw, make_draws
from streamgauge.simulation.random_streams import make_streams

COUNT = 200_000
TIMES = [
    Constant(value=2.5),
    Exponential(mean=3.0),
    Gamma(mean=2.0, scv=0.25),
    Gamma(mean=2.0, scv=4.0),
    Lognormal(mean=1.5, scv=0.7),
    Uniform(low=1.0, high=4.0),
    Empirical(values=(5.0, 1.0, 3.0), weights=(1.0, 2.0, 5.0)),
]
COUNTS = [
    Fixed(mean=3),
    Fixed(mean=7.638),
    Fixed(mean=0.333),
    RoundedNormal(centre=10, deviation=1, low=1, high=20),
    PoissonCount(mean=2.2),
    Geometric(mean=1.5),
    EmpiricalCount(values=(0, 4, 4, 9)),
]


@njit
def sample(draws, which, stream, count):
    result = np.empty(count)
    for index in range(count):
        result[index] = draw(draws, which, stream, 0)
    return result


def drawn(distributions, which):
    return sample(make_draws(distributions), which, make_streams(17, 1), COUNT)


@pytest.mark.parametrize("which", range(len(TIMES)), ids=lambda n: repr(TIMES[n]))
def test_times_have_the_mean_and_quantiles_of_their_distribution(which):
    distribution = TIMES[which]
    values = drawn(TIMES, which)
    error = np.sqrt(distribution.variance / COUNT)
    assert abs(values.mean() - distribution.mean) <= 4 * error + 1e-12
    for probability in (0.1, 0.5, 0.9, 0.99):
        below = (values <= distribution.quantile(probability) + 1e-9).mean()
        assert below >= probability - 4 * np.sqrt(probability * (1 - probability) / COUNT)


@pytest.mark.parametrize("which", [1, 2, 3, 4, 5], ids=lambda n: repr(TIMES[n]))
def test_continuous_times_follow_their_whole_distribution(which):
    values = np.sort(drawn(TIMES, which))
    levels = (np.arange(200) + 0.5) / 200
    quantiles = np.asarray([TIMES[which].quantile(level) for level in levels])
    found = np.searchsorted(values, quantiles) / COUNT
    # Kolmogorov–Smirnov distance at 99.9 %.
    assert np.abs(found - levels).max() < 1.95 / np.sqrt(COUNT)


@pytest.mark.parametrize("which", range(len(COUNTS)), ids=lambda n: repr(COUNTS[n]))
def test_counts_come_as_often_as_their_table_says(which):
    values = drawn(COUNTS, which)
    counts, shares = COUNTS[which].table()
    assert np.isin(values, counts).all()
    for count, share in zip(counts, shares, strict=True):
        error = np.sqrt(share * (1 - share) / COUNT)
        assert abs((values == count).mean() - share) <= 4.5 * error + 1e-12


def test_a_fixed_number_spends_no_random_number():
    stream = make_streams(1, 1)
    before = stream.copy()
    sample(make_draws([Fixed(mean=4), Constant(value=1.0)]), 0, stream, 10)
    assert (stream == before).all()
