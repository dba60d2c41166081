"""Expert aggregation: known best experts, mixtures, sleepers, and the bound of the regret."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.traffic.aggregation import ExpertAggregation, mix


def aggregate(forecasts, values):
    """The mixed forecasts of one row, and the weights in the end."""
    aggregation = ExpertAggregation(1, forecasts.shape[1])
    mixed = []
    for row, value in zip(forecasts, values, strict=True):
        weights = aggregation.weigh(row[None])
        mixed.append(mix(weights, row[None]))
        aggregation.learn(row[None], mixed[-1], value)
    return np.concatenate(mixed), aggregation.weigh(forecasts[-1:])[0]


def test_the_first_weights_are_even():
    assert ExpertAggregation(1, 4).weigh(np.ones((1, 4))).tolist() == [[0.25] * 4]


def test_an_expert_that_is_always_right_gets_nearly_all_weight():
    values = np.random.default_rng(1).normal(100.0, 10.0, 500)
    forecasts = np.stack([values, values + 5.0, np.full(500, 100.0)], axis=1)
    mixed, weights = aggregate(forecasts, values)
    assert weights[0] > 0.95
    assert np.abs(mixed[-100:] - values[-100:]).mean() < 0.5


def test_two_experts_that_err_by_as_much_on_both_sides_are_averaged():
    values = np.random.default_rng(2).normal(100.0, 10.0, 2000)
    forecasts = np.stack([values - 4.0, values + 4.0], axis=1)
    mixed, _ = aggregate(forecasts, values)
    # Each alone errs by 4; their mean by nothing.
    assert np.abs(mixed[-500:] - values[-500:]).mean() < 0.4


def test_weights_follow_when_another_expert_becomes_the_best():
    values = np.zeros(2000)
    good, bad = np.zeros(1000), np.full(1000, 3.0)
    first = np.concatenate([good[:300], bad, bad[:700]])
    second = np.concatenate([bad[:300], good, good[:700]])
    _, weights = aggregate(np.stack([first, second], axis=1), values)
    assert weights[1] > 0.9


def test_an_expert_that_sleeps_has_no_weight_and_keeps_its_regret():
    aggregation = ExpertAggregation(1, 2)
    aggregation.learn(np.array([[1.0, 5.0]]), np.array([3.0]), 1.0)
    regret = aggregation.regret.copy()
    asleep = np.array([[np.nan, 5.0]])
    assert aggregation.weigh(asleep).tolist() == [[0.0, 1.0]]
    aggregation.learn(asleep, np.array([5.0]), 4.0)
    assert aggregation.regret[0, 0] == regret[0, 0]


def test_a_row_in_which_all_sleep_is_unknown():
    asleep = np.full((1, 3), np.nan)
    assert math.isnan(mix(ExpertAggregation(1, 3).weigh(asleep), asleep)[0])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from([1.0, 1e-6, 1e9]))
def test_the_regret_is_within_the_bound_whatever_comes(seed, experts, scale):
    """Forecasts and values between 0 and 1, some of them chosen against us, in any unit.

    With the largest square L in place of 1, the bound of the paper holds times √L, since weights
    do not depend on the unit.
    """
    random = np.random.default_rng(seed)
    aggregation = ExpertAggregation(1, experts)
    regrets, squares, largest, rounds = np.zeros(experts), np.zeros(experts), 0.0, 200
    for turn in range(rounds):
        forecasts = scale * random.random((1, experts)) ** (1 + turn % 3)
        mixed = mix(aggregation.weigh(forecasts), forecasts)
        # The value that hurts most lies beyond the mixture, on the side of the leading expert.
        value = scale * (float(mixed[0] < scale * 0.5) if turn % 2 else random.random())
        aggregation.learn(forecasts, mixed, value)
        loss = np.abs(mixed[0] - value)
        regrets += loss - np.abs(forecasts[0] - value)
        squares += (mixed[0] - forecasts[0]) ** 2
        largest = max(largest, float(((mixed[0] - forecasts[0]) ** 2).max()))
    bound = np.sqrt((largest + squares) * experts * (1.0 + math.log(1.0 + rounds)))
    assert (regrets <= bound).all()


def test_weights_do_not_depend_on_the_unit():
    random = np.random.default_rng(3)
    values, forecasts = random.random(100), random.random((100, 4))
    one, weights = aggregate(forecasts, values)
    thousand, others = aggregate(1000.0 * forecasts, 1000.0 * values)
    np.testing.assert_allclose(thousand, 1000.0 * one)
    np.testing.assert_allclose(weights, others)
