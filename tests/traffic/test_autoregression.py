"""Auto-regression: the recursion against closed forms, and processes with a known best forecast."""

import numpy as np
import pytest

from streamgauge.traffic.autoregression import RIDGE, Regression
from tests.traffic.test_experts import DAY, STEPS, course, fed


def test_recursive_least_squares_is_ridge_regression_in_closed_form(monkeypatch):
    monkeypatch.setattr("streamgauge.traffic.autoregression.CLIP", 1e15)
    random = np.random.default_rng(1)
    x, y = random.normal(size=(300, 5)), random.normal(size=300)
    regression = Regression(1, 5, np.inf)
    for row, value in zip(x, y, strict=True):
        regression.learn(row[None], np.array([value]))
    closed = np.linalg.solve(x.T @ x + RIDGE * np.eye(5), x.T @ y)
    np.testing.assert_allclose(regression.theta[0], closed, rtol=1e-8)


def test_forgetting_is_weighted_least_squares_in_closed_form(monkeypatch):
    monkeypatch.setattr("streamgauge.traffic.autoregression.CLIP", 1e15)
    monkeypatch.setattr("streamgauge.traffic.autoregression.BOUND_EVERY", 10**9)
    random = np.random.default_rng(2)
    x, y = random.normal(size=(200, 3)), random.normal(size=200)
    regression = Regression(1, 3, 50.0)
    for row, value in zip(x, y, strict=True):
        regression.learn(row[None], np.array([value]))
    weights = 0.98 ** np.arange(200)[::-1]
    prior = RIDGE * 0.98**200 * np.eye(3)
    closed = np.linalg.solve((x.T * weights) @ x + prior, (x.T * weights) @ y)
    np.testing.assert_allclose(regression.theta[0], closed, rtol=1e-7)


def test_forgetting_never_forgets_the_prior():
    regression = Regression(1, 2, 20.0)
    for _ in range(5000):
        regression.learn(np.array([[1.0, 0.0]]), np.array([1.0]))
    regression.learn(np.array([[0.0, 1.0]]), np.array([1000.0]))
    assert np.isfinite(regression.theta).all()
    assert np.einsum("nii->ni", regression._covariance).max() <= 2.0 / RIDGE


def test_one_outlier_moves_coefficients_no_more_than_a_large_error():
    random = np.random.default_rng(3)

    def learnt(outlier):
        regression = Regression(1, 2, np.inf)
        for turn in range(400):
            x = np.array([[1.0, np.sin(turn)]])
            value = 2.0 + 3.0 * np.sin(turn) + 0.1 * random.normal()
            regression.learn(x, np.array([outlier if turn == 300 else value]))
        return regression.theta[0]

    np.testing.assert_allclose(learnt(1e6), [2.0, 3.0], atol=0.1)


@pytest.mark.parametrize("name", ["autoregression", "autoregression-log"])
def test_a_course_that_repeats_is_forecast_nearly_exactly(name):
    values = course(15, noise=0.0)
    found = fed(name, values[:-4]).predict(STEPS)
    np.testing.assert_allclose(found, values[-4:], rtol=2e-3)


def test_the_errors_of_an_autoregressive_process_come_near_its_noise():
    """y = 100 + 0.8·(y₋₁ − 100) + noise of one: no forecast errs by less than 0.80 in the mean."""
    random = np.random.default_rng(4)
    values = np.full(3000, 100.0)
    for at in range(1, 3000):
        values[at] = 100.0 + 0.8 * (values[at - 1] - 100.0) + random.normal()
    errors = []
    from streamgauge.traffic.forecaster import Forecaster

    forecaster = Forecaster(start_us=0, step_seconds=900.0, horizon=1, experts=["autoregression"])
    for at, value in enumerate(values):
        if at > 1500:
            errors.append(abs(forecaster.newest_forecasts()[0][0] - value))
        forecaster.update(float(value))
    assert np.sqrt(2.0 / np.pi) * 0.94 < np.mean(errors) < np.sqrt(2.0 / np.pi) * 1.06


def test_between_rungs_coefficients_are_interpolated():
    values = course(10, seed=5)
    expert = fed("autoregression", values, horizon=8)
    rungs = np.array([4, 5, 6])
    found = expert.predict(rungs)
    at_rungs = expert.predict(np.array([4, 6]))
    np.testing.assert_allclose(found[[0, 2]], at_rungs)
    assert abs(found[1] - values[-DAY + 4]) < 0.1 * values.mean()


def test_a_forecast_stays_within_a_range_beyond_what_was_seen():
    values = 2.0 ** np.arange(40)
    found = fed("autoregression-log", values).predict(STEPS)
    assert (found <= 2.0 * values.max()).all() and (found >= 0.0).all()
