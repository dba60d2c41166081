"""Auto-regression: processes with a known best forecast."""

import numpy as np
import pytest

from streamgauge.traffic.forecaster import Forecaster
from tests.traffic.test_experts import DAY, STEPS, course, fed


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
