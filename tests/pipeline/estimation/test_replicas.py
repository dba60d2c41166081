"""Replicas: weights that are the same everywhere, and what they make of figures."""

import numpy as np
import pytest

from streamgauge.pipeline.estimation.standard_errors import Bootstrap, Groups, ratios, resampled
from streamgauge.profile.block_weights import HIGH, LOW, mixed, weights

STEP = 30_000_000
STARTS = np.arange(2000) * STEP


def test_the_mixing_is_splitmix64():
    # The first numbers of the published generator from seed 0.
    golden = 0x9E3779B97F4A7C15
    states = np.asarray([0, golden, (2 * golden) % 2**64], dtype=np.uint64)
    assert [hex(one) for one in mixed(states).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_a_weight_depends_on_seed_replica_and_start_alone():
    some = weights(STARTS[5:9], seed=7, count=20)
    assert (some == weights(STARTS, seed=7, count=50)[5:9, :20]).all()
    assert not (some == weights(STARTS[5:9], seed=8, count=20)).all()


def test_weights_have_mean_variance_and_third_moment_one():
    drawn = weights(STARTS, seed=1)
    assert set(np.unique(drawn)) == {LOW, HIGH}
    assert drawn.mean() == pytest.approx(1.0, abs=0.01)
    assert drawn.var() == pytest.approx(1.0, abs=0.01)
    assert ((drawn - 1.0) ** 3).mean() == pytest.approx(1.0, abs=0.03)


def test_weights_of_different_blocks_and_replicas_are_not_related():
    drawn = weights(STARTS, seed=1)
    by_block = np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]
    by_replica = np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]
    assert abs(by_block) < 0.01
    assert abs(by_replica) < 0.01


def test_weighted_sums_are_those_of_a_loop():
    by_block = weights(STARTS[:6], seed=3, count=4)
    values, blocks = np.asarray([1.0, 2.0, 3.0, 5.0]), np.asarray([0, 4, 1, 5])
    found = resampled(values, np.asarray([0, 2, 4]), blocks, by_block)
    assert found[0].tolist() == pytest.approx((by_block[0] + 2 * by_block[4]).tolist())
    assert found[1].tolist() == pytest.approx((3 * by_block[1] + 5 * by_block[5]).tolist())


def estimated(parts, wholes):
    figures, blocks = parts.shape
    groups = Groups.of(
        np.repeat(np.arange(figures), blocks),
        np.tile(STARTS[:blocks], figures),
        np.full(figures * blocks, STEP),
    )
    bootstrap = Bootstrap(groups.starts_us, seed=5)
    return ratios(parts.ravel(), wholes.ravel(), groups, bootstrap)


def test_fewer_than_eight_blocks_have_no_replicas():
    assert estimated(np.ones((1, 7)), np.ones((1, 7))).replicas.shape == (0, 100)
    assert estimated(np.ones((1, 8)), np.ones((1, 8))).replicas.shape == (1, 100)


def test_figures_of_the_same_blocks_move_together():
    generator = np.random.default_rng(4)
    parts = generator.random((1, 20))
    both = estimated(np.vstack([parts, 3 * parts]), np.ones((2, 20)))
    assert both.replicas[1].tolist() == pytest.approx((3 * both.replicas[0]).tolist())


def test_replicas_spread_as_far_as_the_standard_error_says():
    generator = np.random.default_rng(6)
    parts = 1.0 + 0.2 * generator.standard_normal((400, 40))
    found = estimated(parts, np.ones((400, 40)))
    plain = parts.std(axis=1, ddof=1) / np.sqrt(40)
    assert np.mean(found.replicas.std(axis=1, ddof=1) / plain) == pytest.approx(1.0, abs=0.04)
    assert np.mean(found.replicas.mean(axis=1) - found.values) == pytest.approx(0.0, abs=1e-3)
