"""Costs of an engine: a guess, corrected by what was seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from streamgauge.errors import InvalidInput
from streamgauge.models.engine_costs import Seen, fit_above_zero, fit_costs, guess_costs
from streamgauge.models.job_behaviour import Origin
from streamgauge.transport.costs import Cost, EngineCosts

EXACTLY = 1e-9


def fitted(seen, **costs):
    return fit_costs(guess_costs(EngineCosts(**costs)), seen)


def error_of(found, **amounts):
    """Standard error of a sum of costs."""
    amount = np.asarray([amounts.get(name, 0.0) for name in found.names])
    return float(np.sqrt(amount @ found.covariance @ amount))


def test_a_guess_is_as_good_as_one_figure_of_the_same_error():
    seen = Seen(figure=5.0, error=1.0, made_of={"worker_cores": 1.0})
    found = fitted([seen], worker_cores=Cost(2.0, 1.0))
    assert found.value("worker_cores") == pytest.approx(3.5)
    assert error_of(found, worker_cores=1.0) == pytest.approx(np.sqrt(0.5))
    assert found.values.origin is Origin.MEASURED


def test_nothing_seen_leaves_the_guess():
    found = fitted([], sent_seconds=Cost(5e-6, 3e-6))
    assert found.value("sent_seconds") == 5e-6
    assert error_of(found, sent_seconds=1.0) == pytest.approx(3e-6)
    assert found.values.origin is Origin.ASSUMED


def test_what_one_load_cannot_tell_apart_moves_together_and_the_sum_is_known():
    seen = Seen(figure=4.0, error=EXACTLY, made_of={"worker_cores": 1.0, "network_cores": 1.0})
    found = fitted([seen], worker_cores=Cost(1.0, 1.0), network_cores=Cost(1.0, 1.0))
    assert found.value("worker_cores") == pytest.approx(2.0)
    assert found.value("network_cores") == pytest.approx(2.0)
    assert error_of(found, worker_cores=1.0) == pytest.approx(np.sqrt(0.5))
    assert error_of(found, worker_cores=1.0, network_cores=1.0) == pytest.approx(0.0, abs=1e-6)


def test_the_less_sure_guess_moves_further():
    seen = Seen(figure=6.0, error=EXACTLY, made_of={"worker_cores": 1.0, "network_cores": 1.0})
    found = fitted([seen], worker_cores=Cost(1.0, 1.0), network_cores=Cost(1.0, 3.0))
    # Four more, divided as the variances are: 1 to 9.
    assert found.value("worker_cores") == pytest.approx(1.4)
    assert found.value("network_cores") == pytest.approx(4.6)


def test_two_loads_tell_a_fixed_cost_from_one_that_grows():
    seen = [
        Seen(
            figure=0.05 + 4e-6 * rate,
            error=EXACTLY,
            made_of={"worker_cores": 1.0, "sent_seconds": rate},
        )
        for rate in (100.0, 5000.0)
    ]
    found = fitted(seen, worker_cores=Cost(0.2, 0.1), sent_seconds=Cost(0.0, 1e-4))
    assert found.value("worker_cores") == pytest.approx(0.05, rel=1e-5)
    assert found.value("sent_seconds") == pytest.approx(4e-6, rel=1e-4)


def test_a_second_plan_corrects_what_the_first_left_open():
    first = Seen(figure=0.07, error=0.001, made_of={"worker_cores": 1.0, "sent_seconds": 5000.0})
    second = Seen(figure=0.052, error=0.001, made_of={"worker_cores": 1.0, "sent_seconds": 400.0})
    guess = guess_costs(EngineCosts(worker_cores=Cost(0.04, 0.02), sent_seconds=Cost(5e-6, 3e-6)))
    together = fit_costs(guess, [first, second])
    one_by_one = fit_costs(fit_costs(guess, [first]), [second])
    assert one_by_one.values.value == pytest.approx(together.values.value)
    assert one_by_one.covariance == pytest.approx(together.covariance)


def test_no_cost_is_negative_and_the_others_make_up_for_it():
    seen = [
        Seen(figure=0.02, error=EXACTLY, made_of={"worker_cores": 1.0, "sent_seconds": 1000.0}),
        Seen(figure=0.01, error=EXACTLY, made_of={"worker_cores": 1.0, "sent_seconds": 9000.0}),
    ]
    found = fitted(seen, worker_cores=Cost(0.04, 0.02), sent_seconds=Cost(1e-6, 1e-6))
    assert found.value("sent_seconds") == 0.0
    assert found.value("worker_cores") == pytest.approx(0.015, rel=1e-3)


def test_a_cost_without_deviation_is_certain():
    seen = Seen(figure=9.0, error=0.1, made_of={"worker_cores": 1.0, "network_cores": 1.0})
    found = fitted([seen], worker_cores=Cost(2.0, 0.0), network_cores=Cost(0.0, 100.0))
    assert found.value("worker_cores") == 2.0
    assert found.value("network_cores") == pytest.approx(7.0, rel=1e-3)


def test_planted_costs_are_found_within_their_errors():
    """Workers of many loads, each seen with an error of 0.002 cores, two hundred times."""
    planted = {
        "network_cores": 0.03,
        "worker_cores": 0.02,
        "sent_seconds": 8e-6,
        "received_seconds": 2e-6,
        "executed_seconds": 2e-7,
    }
    guess = guess_costs(
        EngineCosts(
            network_cores=Cost(0.024, 0.02),
            worker_cores=Cost(0.035, 0.02),
            sent_seconds=Cost(5e-6, 5e-6),
            received_seconds=Cost(3e-6, 3e-6),
            executed_seconds=Cost(1e-7, 1e-7),
        )
    )
    draw = np.random.default_rng(7)
    within, errors = [], []
    for _ in range(200):
        seen = []
        for _ in range(12):
            rates = draw.uniform(100.0, 20_000.0, 3).tolist()
            made_of = dict(zip(planted, [1.0, 1.0, *rates], strict=True))
            figure = sum(planted[name] * made_of[name] for name in planted)
            seen.append(Seen(figure=figure + draw.normal(0.0, 0.002), error=0.002, made_of=made_of))
        found = fit_costs(guess, seen)
        misses = [found.value(name) - planted[name] for name in planted]
        known = [error_of(found, **{name: 1.0}) for name in planted]
        within.append(np.abs(misses) <= 2.0 * np.asarray(known))
        errors.append(found.value("sent_seconds") / planted["sent_seconds"] - 1.0)
    assert np.mean(within) > 0.95
    assert np.std(errors) < 0.05


@given(seed=st.integers(0, 10_000), size=st.integers(1, 10), rows=st.integers(0, 15))
def test_the_nearest_above_zero_is_that_of_another_program(seed, size, rows):
    draw = np.random.default_rng(seed)
    matrix = draw.normal(size=(rows, size)) * 10.0 ** draw.uniform(-3.0, 3.0, (rows, 1))
    matrix = np.vstack([matrix, np.eye(size)])
    vector = draw.normal(size=rows + size)
    found = fit_above_zero(matrix, vector)
    theirs, _ = nnls(matrix, vector)
    assert (found >= 0.0).all()
    squares, best = (np.sum((matrix @ one - vector) ** 2) for one in (found, theirs))
    assert squares == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_costs_are_amounts(bad):
    with pytest.raises(InvalidInput, match="sent_seconds"):
        EngineCosts(sent_seconds=Cost(bad, 1.0))
    with pytest.raises(InvalidInput, match="waking"):
        EngineCosts(waking=Cost(1.0, bad))
