"""Least squares from sums of products: the same as from every bucket."""

import numpy as np
import pytest
from scipy import optimize

from streamgauge.pipeline.estimation.regression import Design, fit
from streamgauge.pipeline.estimation.standard_errors import Bootstrap, Groups, stated_error
from streamgauge.profile.block_weights import weights

STEP = 30_000_000
BUCKETS = 6


def design_of(x, y):
    """x: fits × blocks × buckets × regressors, y: fits × blocks × buckets."""
    fits, blocks = x.shape[:2]
    groups = Groups.of(
        np.repeat(np.arange(fits), blocks),
        np.tile(np.arange(blocks) * STEP, fits),
        np.full(fits * blocks, STEP),
    )
    gram = np.einsum("fbti,fbtj->fbij", x, x)
    moments = np.einsum("fbti,fbt->fbi", x, y)
    return Design(
        groups=groups,
        gram=gram.reshape(-1, *gram.shape[2:]),
        moments=moments.reshape(-1, moments.shape[2]),
    )


def fitted(x, y, replicas=0):
    blocks = np.arange(x.shape[1]) * STEP
    return fit(design_of(x, y), Bootstrap(blocks, seed=1, count=replicas))


def drawn(fits, blocks, rates, slopes, seed=1):
    generator = np.random.default_rng(seed)
    load = generator.uniform(0.5, 1.5, (fits, blocks, 1, len(rates)))
    x = generator.poisson(load * np.asarray(rates), (fits, blocks, BUCKETS, len(rates)))
    y = generator.poisson(x @ np.asarray(slopes))
    return x.astype(float), y.astype(float)


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_coefficients_are_those_of_numpy_on_all_buckets(inputs):
    x, y = drawn(5, 10, [100.0, 60.0, 30.0][:inputs], [1.5, 0.5, 3.0][:inputs])
    found = fitted(x, y)
    for place in range(5):
        expected = np.linalg.lstsq(x[place].reshape(-1, inputs), y[place].ravel(), rcond=None)[0]
        assert found.coefficients[place].tolist() == pytest.approx(expected.tolist())
    assert not found.ridged.any()
    assert not found.bounded.any()


def test_replicas_are_weighted_least_squares():
    x, y = drawn(1, 10, [100.0, 60.0], [1.5, 0.5])
    found = fitted(x, y, replicas=3)
    by_block = weights(np.arange(10) * STEP, seed=1, count=3)
    for replica in range(3):
        root = np.sqrt(np.repeat(by_block[:, replica], BUCKETS))
        expected = np.linalg.lstsq(x.reshape(-1, 2) * root[:, None], y.ravel() * root, rcond=None)[
            0
        ]
        assert found.replicas[0, :, replica].tolist() == pytest.approx(expected.tolist())


def test_what_always_comes_together_shares_its_effect():
    x, _ = drawn(1, 10, [100.0], [1.0])
    both = np.concatenate([x, x], axis=3)
    found = fitted(both, 3.0 * x[..., 0], replicas=2)
    assert found.ridged.tolist() == [True]
    assert found.coefficients[0].tolist() == pytest.approx([1.5, 1.5], rel=1e-4)
    assert found.replicas[0].ravel().tolist() == pytest.approx([1.5] * 4, rel=1e-4)


def test_coefficients_are_never_negative():
    x, y = drawn(1, 10, [100.0, 60.0, 40.0], [2.0, 0.0, 1.0])
    y = y - 0.4 * x[..., 1]
    found = fitted(x, y, replicas=20)
    expected, _ = optimize.nnls(x.reshape(-1, 3), y.ravel())
    assert found.bounded.tolist() == [True]
    assert found.coefficients[0].tolist() == pytest.approx(expected.tolist())
    assert found.coefficients[0, 1] == 0.0
    assert (found.replicas >= 0.0).all()
    assert (found.replicas[0, 1] == 0.0).all()


def test_fits_do_not_depend_on_each_other():
    x, y = drawn(4, 10, [100.0, 60.0], [1.5, 0.5])
    together = fitted(x, y, replicas=5)
    for place in range(4):
        alone = fitted(x[place : place + 1], y[place : place + 1], replicas=5)
        assert (alone.coefficients[0] == together.coefficients[place]).all()
        assert (alone.errors[0] == together.errors[place]).all()
        assert (alone.replicas[0] == together.replicas[place]).all()


@pytest.mark.parametrize("blocks", [12, 30])
def test_intervals_of_coefficients_hold_the_truth(blocks):
    # The variance of what comes out grows with the load, which no constant variance allows for.
    x, y = drawn(1500, blocks, [100.0, 60.0], [1.5, 0.5], seed=2)
    found = fitted(x, y)
    reach = np.asarray([[stated_error(e, blocks) for e in row] for row in found.errors.tolist()])
    holds = np.abs(found.coefficients - [1.5, 0.5]) <= 1.96 * reach
    assert 0.93 <= holds[:, 0].mean() <= 0.975
    assert 0.93 <= holds[:, 1].mean() <= 0.975


def test_products_that_contradict_each_other_give_nothing():
    design = Design(
        groups=design_of(*drawn(1, 9, [10.0, 10.0], [1.0, 1.0])).groups,
        gram=np.tile([[1.0, 5.0], [5.0, 1.0]], (9, 1, 1)),
        moments=np.ones((9, 2)),
    )
    found = fit(design, Bootstrap(np.arange(9) * STEP, seed=1))
    assert np.isnan(found.coefficients).all()
    assert not found.resampled.any()


def test_an_input_that_never_came_has_no_coefficient():
    x, y = drawn(1, 9, [100.0], [2.0])
    both = np.concatenate([x, np.zeros_like(x)], axis=3)
    found = fitted(both, y, replicas=3)
    assert np.isnan(found.coefficients[0, 1])
    assert found.coefficients[0, 0] == pytest.approx(2.0, rel=0.05)
