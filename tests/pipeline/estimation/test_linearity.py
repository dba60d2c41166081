"""Which operators are flagged as not linear, and how often by mistake."""

import numpy as np
import pytest

from streamgauge.pipeline.estimation.linearity import is_linear
from streamgauge.pipeline.estimation.standard_errors import Groups
from tests.pipeline.estimation.rows import IN, OUT, counted, figures

TRIALS = 1000
BLOCKS = 20


def judged(x, y):
    """The share of trials that are flagged; x: trials × blocks (× inputs)."""
    trials, blocks = y.shape
    groups = Groups.of(
        np.repeat(np.arange(trials), blocks),
        np.tile(np.arange(blocks) * 30_000_000, trials),
        np.full(trials * blocks, 30_000_000),
    )
    x = np.asarray(x, dtype=float).reshape(trials * blocks, -1)
    told, linear = is_linear(x, np.asarray(y, dtype=float).ravel(), groups)
    assert told.all()
    return np.mean(~linear)


def arrivals(rate, vary=0.5, seed=1):
    generator = np.random.default_rng(seed)
    load = generator.uniform(1 - vary, 1 + vary, (TRIALS, BLOCKS))
    return generator.poisson(rate * load)


def two_inputs(first, second):
    return np.stack([arrivals(first, seed=2), arrivals(second, seed=3)], axis=2)


def random():
    return np.random.default_rng(7)


LINEAR = {
    "three for each": (lambda: arrivals(1000), lambda x: 3 * x),
    "poisson": (lambda: arrivals(1000), lambda x: random().poisson(2.0 * x)),
    "filter": (lambda: arrivals(1000), lambda x: random().binomial(x, 0.1)),
    "few tuples": (lambda: arrivals(20) + 1, lambda x: random().poisson(2.0 * x)),
    "geometric": (lambda: arrivals(1000), lambda x: random().negative_binomial(x, 1 / 11)),
    "steady load": (lambda: arrivals(1000, vary=0.0), lambda x: random().poisson(2.0 * x)),
    "two inputs": (
        lambda: two_inputs(1000, 600),
        lambda x: random().poisson(x @ np.asarray([0.05, 0.1])),
    ),
}
BENT = {
    "saturates at 1.1 of its mean": (lambda: arrivals(1000), lambda x: np.minimum(2 * x, 2200)),
    "waits for a partner": (lambda: two_inputs(1000, 1000), lambda x: x.min(axis=2)),
    "joins all pairs": (
        lambda: two_inputs(1000, 1000),
        lambda x: random().poisson(x.prod(axis=2) / 1000),
    ),
    # Sixty windows a block, each of which has its result on this stream if parities are equal.
    "joins by parity": (
        lambda: two_inputs(1000, 1000),
        lambda x: random().binomial(60, 0.5, x.shape[:2]),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_operators_are_flagged_in_about_one_percent(name):
    draw, emit = LINEAR[name]
    x = draw()
    assert judged(x, emit(x)) <= 0.02


@pytest.mark.parametrize("name", BENT)
def test_operators_that_are_not_linear_are_flagged(name):
    draw, emit = BENT[name]
    x = draw()
    assert judged(x, emit(x)) >= 0.95


def test_output_that_has_nothing_to_do_with_input_is_flagged():
    x = arrivals(1000, vary=0.0)
    assert judged(x, np.where(random().random(x.shape) < 0.5, 20_000, 0)) >= 0.99


def flags(blocks):
    executed = np.random.default_rng(5).poisson(500, blocks)
    rows = counted("executed", executed, **IN) + counted("emitted", 2 * executed, **OUT)
    return [one["value"] for one in figures(rows) if one["figure"] == "linear"]


def test_of_fewer_than_twelve_blocks_nothing_is_said():
    assert flags(11) == []
    assert flags(12) == [1.0]
