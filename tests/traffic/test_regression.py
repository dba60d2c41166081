"""Recursive least squares: against closed forms, and what it must never forget or fall for."""

import numpy as np

from streamgauge.traffic.regression import RIDGE, Regression


def test_recursive_least_squares_is_ridge_regression_in_closed_form(monkeypatch):
    monkeypatch.setattr("streamgauge.traffic.regression.CLIP", 1e15)
    random = np.random.default_rng(1)
    x, y = random.normal(size=(300, 5)), random.normal(size=300)
    regression = Regression(1, 5, np.inf)
    for row, value in zip(x, y, strict=True):
        regression.learn(row[None], np.array([value]))
    closed = np.linalg.solve(x.T @ x + RIDGE * np.eye(5), x.T @ y)
    np.testing.assert_allclose(regression.theta[0], closed, rtol=1e-8)


def test_forgetting_is_weighted_least_squares_in_closed_form(monkeypatch):
    monkeypatch.setattr("streamgauge.traffic.regression.CLIP", 1e15)
    monkeypatch.setattr("streamgauge.traffic.regression.BOUND_EVERY", 10**9)
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
    assert np.einsum("nii->ni", regression.covariance).max() <= 2.0 / RIDGE


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


def test_rows_with_different_memories_are_learnt_as_each_would_be_alone():
    random = np.random.default_rng(4)
    memories = np.array([np.inf, 60.0])
    together = Regression(2, 3, memories)
    alone = [Regression(1, 3, memory) for memory in memories]
    for _ in range(500):
        x, y = random.normal(size=(2, 3)), random.normal(size=2)
        together.learn(x, y)
        for row, one in enumerate(alone):
            one.learn(x[row : row + 1], y[row : row + 1])
    for row, one in enumerate(alone):
        np.testing.assert_allclose(together.theta[row], one.theta[0], rtol=1e-10)
        np.testing.assert_allclose(together.covariance[row], one.covariance[0], atol=1e-12)


def test_coefficients_stay_finite_where_regressors_are_nearly_the_same():
    random = np.random.default_rng(5)
    regression = Regression(1, 4, 50.0)
    for _ in range(5000):
        base = 1e6 * random.normal()
        x = base + 1e-3 * random.normal(size=(1, 4))
        regression.learn(x, np.array([base]))
    # All are about as large as what they explain, so their coefficients add up to one.
    assert abs(regression.theta.sum() - 1.0) < 1e-3 and np.abs(regression.theta).max() < 10.0
