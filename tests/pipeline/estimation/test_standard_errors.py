"""Errors of ratios: closed forms, and simulations of how often intervals hold the truth."""

import math

import numpy as np
import pytest
from scipy import special

from streamgauge.pipeline.estimation.standard_errors import (
    Bootstrap,
    Groups,
    block_errors,
    interval,
    ratios,
    share_errors,
    stated_error,
)
from streamgauge.profile.figures import Figure

STEP = 30_000_000


def groups_of(figures, blocks):
    """That many figures with that many blocks each, one behind the other in time."""
    return Groups.of(
        np.repeat(np.arange(figures), blocks),
        np.tile(np.arange(blocks) * STEP, figures),
        np.full(figures * blocks, STEP),
    )


def estimated(parts, wholes, replicas=0):
    figures, blocks = parts.shape
    groups = groups_of(figures, blocks)
    bootstrap = Bootstrap(groups.starts_us, seed=1, count=replicas)
    return ratios(parts.ravel(), wholes.ravel(), groups, bootstrap)


def test_a_ratio_is_total_over_total():
    found = estimated(np.asarray([[2.0, 4.0]]), np.asarray([[1.0, 5.0]]))
    assert found.values[0] == 1.0
    assert found.blocks[0] == 2


def test_the_error_of_equal_blocks_is_that_of_a_mean():
    # Neighbours differ as much as they can, so that nothing is stretched.
    parts = np.asarray([[1.0, 3.0, 1.0, 3.0]])
    found = estimated(parts, np.ones((1, 4)))
    assert found.errors[0] == pytest.approx(np.std(parts, ddof=1) / math.sqrt(4))


def test_blocks_that_resemble_their_neighbours_stretch_the_error():
    # Σz² = 4, neighbours' products 1 − 1 + 1: ρ = 1/4 + 1/4, and (1 + ρ)/(1 − ρ) = 3.
    influences = np.asarray([1.0, 1.0, -1.0, -1.0])
    error = block_errors(influences, groups_of(1, 4))[0]
    assert error == pytest.approx(math.sqrt(4 / 3 * 4 * 3))


def test_blocks_with_a_gap_between_them_are_no_neighbours():
    influences = np.asarray([1.0, 1.0, -1.0, -1.0])
    apart = Groups.of(np.zeros(4, int), np.arange(4) * 2 * STEP, np.full(4, STEP))
    # ρ is 1/n alone: 1.25/0.75.
    assert block_errors(influences, apart)[0] == pytest.approx(math.sqrt(4 / 3 * 4 * 5 / 3))


def test_one_block_has_no_error():
    assert np.isnan(estimated(np.ones((1, 1)), np.ones((1, 1))).errors[0])


def test_figures_do_not_depend_on_each_other():
    generator = np.random.default_rng(2)
    parts, wholes = generator.random((7, 9)), generator.random((7, 9))
    together = estimated(parts, wholes, replicas=10)
    for place in range(7):
        alone = estimated(parts[place : place + 1], wholes[place : place + 1], replicas=10)
        assert alone.values[0] == together.values[place]
        assert alone.errors[0] == together.errors[place]
        assert (alone.replicas[0] == together.replicas[place]).all()


def covered(blocks, memory, figures=4000, seed=3):
    """How often the stated 95 % intervals of a ratio hold the truth.

    Buckets follow an autoregression with that memory; five make a block.
    """
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal((figures, blocks * 5))
    level = np.empty_like(noise)
    level[:, 0] = noise[:, 0]
    for bucket in range(1, noise.shape[1]):
        fresh = math.sqrt(1 - memory**2) * noise[:, bucket]
        level[:, bucket] = memory * level[:, bucket - 1] + fresh
    weights = generator.uniform(0.5, 1.5, (figures, blocks))
    parts = 2.0 * weights + 0.1 * level.reshape(figures, blocks, 5).sum(axis=2)
    found = estimated(parts, weights)
    reach = [stated_error(error, blocks) for error in found.errors.tolist()]
    holds = [
        interval(Figure(value=value, standard_error=error))[0]
        <= 2.0
        <= interval(Figure(value=value, standard_error=error))[1]
        for value, error in zip(found.values.tolist(), reach, strict=True)
    ]
    return np.mean(holds)


@pytest.mark.parametrize("blocks", [10, 20, 50])
@pytest.mark.parametrize("memory", [0.0, 0.3, 0.5])
def test_intervals_hold_the_truth_in_93_to_97_percent(blocks, memory):
    assert 0.93 <= covered(blocks, memory) <= 0.97


def test_the_stated_error_makes_students_interval():
    reach = special.ndtri(0.975) * stated_error(2.0, 10)
    assert reach == pytest.approx(2.0 * special.stdtrit(9, 0.975))


def test_an_interval_without_an_error_is_endless():
    assert interval(Figure(value=1.0)) == (-math.inf, math.inf)


def test_a_share_of_nothing_has_the_error_of_the_rule_of_three():
    shares, errors = np.asarray([0.0, 1.0, 0.5]), np.asarray([0.0, 0.0, 0.1])
    assert share_errors(shares, errors, np.full(3, 300.0)).tolist() == [0.005, 0.005, 0.1]
