"""What several tasks show together, by hand."""

import math

import numpy as np
import pytest

from streamgauge.profile.figures import Figure, TimeFigures
from streamgauge.profile.pooling import pool_mean, pool_times, pool_total


def figure(value, samples=0, buckets=0, error=None):
    return Figure(value=value, samples=samples, buckets=buckets, standard_error=error)


def times(mean, scv=None, samples=0, **quantiles):
    return TimeFigures(
        mean_ms=figure(mean, samples),
        scv=None if scv is None else figure(scv, samples),
        quantiles_ms={float(f"0.{name[1:]}"): value for name, value in quantiles.items()},
    )


def test_nothing_pools_to_nothing():
    assert pool_mean([]) is pool_total([]) is pool_times([]) is None


def test_a_mean_is_weighted_by_samples():
    """30 × 2 and 10 × 6 over 40."""
    assert pool_mean([figure(2, 30), figure(6, 10)]) == figure(3.0, 40)


def test_figures_by_hand_count_alike():
    assert pool_mean([figure(2), figure(6)]) == figure(4.0)


def test_tasks_share_their_buckets():
    assert pool_mean([figure(1, 1, buckets=60), figure(1, 1, buckets=58)]).buckets == 60


def test_errors_of_tasks_are_independent():
    """Of a sum √(3² + 4²); of a mean with equal weights half of it."""
    both = [figure(1, 10, error=3.0), figure(1, 10, error=4.0)]
    assert pool_total(both).standard_error == pytest.approx(5.0)
    assert pool_mean(both).standard_error == pytest.approx(2.5)


def test_an_error_that_one_task_does_not_know_nobody_knows():
    assert pool_total([figure(1, error=3.0), figure(1)]).standard_error is None


def test_variability_is_that_within_tasks_and_between_them():
    """As numpy finds it in the tuples of both: 3 of 1 or 3 ms, and 1 of 5 or 15 ms."""
    fast, slow = np.asarray([1.0, 3.0] * 3), np.asarray([5.0, 15.0])
    pooled = pool_times([times(2.0, fast.var() / 4.0, 6), times(10.0, slow.var() / 100.0, 2)])
    together = np.concatenate([fast, slow])
    assert pooled.mean_ms.value == pytest.approx(together.mean())
    assert pooled.scv.value == pytest.approx(together.var() / together.mean() ** 2)


def test_a_variability_that_one_task_does_not_know_nobody_knows():
    assert pool_times([times(2.0, 1.0, 6), times(2.0, None, 6)]).scv is None


def test_a_task_without_samples_has_no_say_beside_one_that_has():
    pooled = pool_times([times(2.0, 1.0, 6), times(9.0, None, 0)])
    assert (pooled.mean_ms.value, pooled.scv.value) == (2.0, 1.0)


def test_a_quantile_is_that_of_the_slowest_task():
    pooled = pool_times([times(1, p5=1.0, p99=9.0), times(1, p5=2.0, p99=4.0)])
    assert pooled.quantiles_ms == {0.5: 2.0, 0.99: 9.0}


def test_quantiles_that_only_some_know_do_not_fall():
    assert pool_times([times(1, p5=7.0), times(1, p99=4.0)]).quantiles_ms == {0.5: 7.0, 0.99: 7.0}


def test_a_mean_of_nothing_has_no_variability():
    pooled = pool_times([times(0.0, 1.0, 5)])
    assert (pooled.mean_ms.value, pooled.scv) == (0.0, None)
    assert not math.isnan(pooled.mean_ms.value)
