"""Expert aggregation: known best experts, mixtures, sleepers, and the bound of the regret."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.traffic.aggregation import (
    Boa,
    ExpertAggregation,
    MlPoly,
    gradient_regret,
    mix,
    normalise,
)


def loss_regret(forecasts, mixed, value):
    return np.abs(mixed - value) - np.abs(forecasts - value)


RULES = {
    "ml-poly": (MlPoly, loss_regret),
    "gradient": (MlPoly, gradient_regret),
    "boa": (Boa, loss_regret),
}


def weigh(rule, forecasts):
    awake = np.isfinite(forecasts)
    return normalise(rule.weigh(awake), awake)


def aggregate(make, forecasts, values):
    """The mixed forecasts of one row, and the weights in the end."""
    kind, find_regret = make
    rule = kind(1, forecasts.shape[1])
    mixed = []
    for row, value in zip(forecasts, values, strict=True):
        mixed.append(mix(weigh(rule, row[None]), row[None]))
        rule.learn(find_regret(row[None], mixed[-1][:, None], value))
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
    combined = ExpertAggregation(1, 2)
    combined.learn(np.array([[1.0, 5.0]]), np.full((1, 3), 3.0), 1.0)
    asleep = np.array([[np.nan, 5.0]])
    regret = combined.rules[0].regret[0, 0]
    assert combined.weigh(asleep).tolist() == [[[0.0, 1.0]]] * 3
    combined.learn(asleep, np.full((1, 3), 5.0), 4.0)
    assert combined.rules[0].regret[0, 0] == regret == 2.0


def test_memory_lets_a_newcomer_lead_sooner():
    values = np.zeros(1300)
    first = np.concatenate([np.zeros(1000), np.full(300, 1.0)])
    forecasts = np.stack([first, 1.0 - first], axis=1)
    lasting = aggregate((MlPoly, loss_regret), forecasts, values)[1][1]
    brief = partial(MlPoly, memory=100.0)
    forgetful = aggregate((brief, loss_regret), forecasts, values)
    assert forgetful[1][1] > max(lasting, 0.9)


def test_a_row_in_which_all_sleep_is_unknown():
    asleep = np.full((1, 3), np.nan)
    assert math.isnan(mix(weigh(MlPoly(1, 3), asleep), asleep)[0])


def play(rule, find_regret, *, seed, experts, scale, rounds=300):
    """Regrets of losses, and sums of squared regrets, where half of what comes is against us."""
    random = np.random.default_rng(seed)
    regrets, squares, largest = np.zeros(experts), np.zeros(experts), 0.0
    for turn in range(rounds):
        forecasts = scale * random.random((1, experts)) ** (1 + turn % 3)
        mixed = mix(weigh(rule, forecasts), forecasts)
        # The value that hurts most lies beyond the mixture, on the side of the leading expert.
        value = scale * (float(mixed[0] < scale * 0.5) if turn % 2 else random.random())
        regret = find_regret(forecasts, mixed[:, None], value)
        rule.learn(regret)
        regrets += loss_regret(forecasts, mixed[:, None], value)[0]
        squares += regret[0] ** 2
        largest = max(largest, float((regret**2).max()))
    return regrets, squares, largest


GAMES = (st.integers(0, 10**6), st.integers(2, 8), st.sampled_from([1.0, 1e-6, 1e9]))


@settings(max_examples=60)
@given(*GAMES, st.sampled_from([loss_regret, gradient_regret]))
def test_the_regret_of_ml_poly_is_within_its_bound_whatever_comes(
    seed, experts, scale, find_regret
):
    """Gaillard, Stoltz and van Erven 2014, theorem 5: √(K · (1 + ln(1 + T)) · (1 + Σ r²)).

    With the largest square L in place of 1 it holds in any unit: weights do not depend on it.
    """
    regrets, squares, largest = play(
        MlPoly(1, experts), find_regret, seed=seed, experts=experts, scale=scale
    )
    bound = np.sqrt(experts * (1.0 + math.log(301.0)) * (largest + squares))
    assert (regrets <= bound).all()


@settings(max_examples=60)
@given(*GAMES)
def test_the_regret_of_boa_is_within_the_bound_of_adaptive_rates(seed, experts, scale):
    """Gaillard, Stoltz and van Erven 2014, corollary 4, in units of the range.

    C · (√((1 + Σ r²) / ln K) + 2) with C = 3 ln K + ln(1 + K / 2e · (1 + ln(1 + T))), for weights
    (1 + η r) and rates min(1/2, √(ln K / (1 + Σ r²))). It holds for BOA's e^(η r − (η r)²), which
    are no greater (Wintenberger 2017); the range is told by a first round in which all are alike.
    """
    rule = Boa(1, experts)
    rule.learn(np.full((1, experts), scale))
    regrets, squares, _ = play(rule, loss_regret, seed=seed, experts=experts, scale=scale)
    log = math.log(experts)
    grows = 3.0 * log + math.log(1.0 + experts / (2.0 * math.e) * (1.0 + math.log(301.0)))
    bound = grows * (np.sqrt((1.0 + squares / scale**2) / log) + 2.0)
    assert (regrets / scale <= bound).all()


def test_one_good_expert_among_many_costs_boa_no_more_than_the_bound_and_even_weights_much_more():
    """The bound is worth something: after 5,000 rounds it is an eighth of what ignorance costs."""
    random = np.random.default_rng(6)
    values, experts, rounds = random.random(5000), 30, 5000
    forecasts = random.random((rounds, experts))
    forecasts[:, 7] = values
    mixed, _ = aggregate((Boa, loss_regret), forecasts, values)
    lost = np.abs(mixed - values).sum()
    even = np.abs(forecasts.mean(axis=1) - values).sum()
    squares = ((mixed - values) ** 2).sum()
    log = math.log(experts)
    grows = 3.0 * log + math.log(1.0 + experts / (2.0 * math.e) * (1.0 + math.log(1.0 + rounds)))
    bound = grows * (math.sqrt((1.0 + squares) / log) + 2.0)
    assert lost <= bound < even / 8.0


def test_weights_do_not_depend_on_the_unit(make):
    random = np.random.default_rng(3)
    values, forecasts = random.random(100), random.random((100, 4))
    one, weights = aggregate(make, forecasts, values)
    thousand, others = aggregate(make, 1000.0 * forecasts, 1000.0 * values)
    np.testing.assert_allclose(thousand, 1000.0 * one)
    np.testing.assert_allclose(weights, others)
