"""Expert aggregation: known best experts, mixtures, sleepers, and the bound of the regret."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.traffic.aggregation import Boa, ExpertAggregation, MlPoly, mix, normalise

RULES = {
    "ml-poly": MlPoly,
    "gradient": lambda rows, experts: MlPoly(rows, experts, by_gradient=True),
    "boa": Boa,
}


def weigh(rule, forecasts):
    awake = np.isfinite(forecasts)
    return normalise(rule.weigh(awake), awake)


def aggregate(make, forecasts, values):
    """The mixed forecasts of one row, and the weights in the end."""
    rule = make(1, forecasts.shape[1])
    mixed = []
    for row, value in zip(forecasts, values, strict=True):
        mixed.append(mix(weigh(rule, row[None]), row[None]))
        rule.learn(row[None], mixed[-1], value)
    return np.concatenate(mixed), weigh(rule, forecasts[-1:])[0]


@pytest.fixture(params=RULES)
def make(request):
    return RULES[request.param]


def test_the_first_weights_are_even():
    for weights in ExpertAggregation(1, 4).weigh(np.ones((1, 4))):
        assert weights.tolist() == [[0.25] * 4]


def test_an_expert_that_is_always_right_gets_nearly_all_weight(make):
    values = np.random.default_rng(1).normal(100.0, 10.0, 500)
    forecasts = np.stack([values, values + 5.0, np.full(500, 100.0)], axis=1)
    mixed, weights = aggregate(make, forecasts, values)
    assert weights[0] > 0.95
    assert np.abs(mixed[-100:] - values[-100:]).mean() < 0.5


def test_two_experts_that_err_by_as_much_on_both_sides_are_averaged():
    values = np.random.default_rng(2).normal(100.0, 10.0, 2000)
    forecasts = np.stack([values - 4.0, values + 4.0], axis=1)
    mixed, _ = aggregate(RULES["gradient"], forecasts, values)
    # Each alone errs by 4; their mean by nothing.
    assert np.abs(mixed[-500:] - values[-500:]).mean() < 0.4


def test_weights_follow_when_another_expert_becomes_the_best(make):
    values = np.zeros(2000)
    good, bad = np.zeros(1000), np.full(1000, 3.0)
    first = np.concatenate([good[:300], bad, bad[:700]])
    second = np.concatenate([bad[:300], good, good[:700]])
    _, weights = aggregate(make, np.stack([first, second], axis=1), values)
    assert weights[1] > 0.9


def test_an_expert_that_sleeps_has_no_weight_and_keeps_its_regret():
    rule = MlPoly(1, 2)
    rule.learn(np.array([[1.0, 5.0]]), np.array([3.0]), 1.0)
    regret = rule.regret.copy()
    asleep = np.array([[np.nan, 5.0]])
    assert weigh(rule, asleep).tolist() == [[0.0, 1.0]]
    rule.learn(asleep, np.array([5.0]), 4.0)
    assert rule.regret[0, 0] == regret[0, 0]


def test_memory_lets_a_newcomer_lead_sooner():
    values = np.zeros(1300)
    first = np.concatenate([np.zeros(1000), np.full(300, 1.0)])
    forecasts = np.stack([first, 1.0 - first], axis=1)
    lasting = aggregate(MlPoly, forecasts, values)[1][1]
    forgetful = aggregate(lambda rows, experts: MlPoly(rows, experts, 100.0), forecasts, values)
    assert forgetful[1][1] > max(lasting, 0.9)


def test_a_row_in_which_all_sleep_is_unknown():
    asleep = np.full((1, 3), np.nan)
    assert math.isnan(mix(weigh(MlPoly(1, 3), asleep), asleep)[0])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from([1.0, 1e-6, 1e9]), st.booleans())
def test_the_regret_is_within_the_bound_whatever_comes(seed, experts, scale, by_gradient):
    """Forecasts and values between 0 and 1, some of them chosen against us, in any unit.

    With the largest square L in place of 1, the bound of the paper holds times √L, since weights
    do not depend on the unit.
    """
    random = np.random.default_rng(seed)
    rule = MlPoly(1, experts, by_gradient=by_gradient)
    regrets, squares, largest, rounds = np.zeros(experts), np.zeros(experts), 0.0, 200
    for turn in range(rounds):
        forecasts = scale * random.random((1, experts)) ** (1 + turn % 3)
        mixed = mix(weigh(rule, forecasts), forecasts)
        # The value that hurts most lies beyond the mixture, on the side of the leading expert.
        value = scale * (float(mixed[0] < scale * 0.5) if turn % 2 else random.random())
        rule.learn(forecasts, mixed, value)
        loss = np.abs(mixed[0] - value)
        regrets += loss - np.abs(forecasts[0] - value)
        squares += (mixed[0] - forecasts[0]) ** 2
        largest = max(largest, float(((mixed[0] - forecasts[0]) ** 2).max()))
    bound = np.sqrt((largest + squares) * experts * (1.0 + math.log(1.0 + rounds)))
    assert (regrets <= bound).all()


def test_weights_do_not_depend_on_the_unit(make):
    random = np.random.default_rng(3)
    values, forecasts = random.random(100), random.random((100, 4))
    one, weights = aggregate(make, forecasts, values)
    thousand, others = aggregate(make, 1000.0 * forecasts, 1000.0 * values)
    np.testing.assert_allclose(thousand, 1000.0 * one)
    np.testing.assert_allclose(weights, others)
