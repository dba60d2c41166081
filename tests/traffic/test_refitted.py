"""Experts of other packages: what they carry on, what they do without, and what is missing."""

import sys

import numpy as np
import pytest

from streamgauge.errors import MissingExtra
from streamgauge.traffic.expert import load_expert
from streamgauge.traffic.forecaster import Forecaster
from streamgauge.traffic.history import Clock, History, make_rungs
from streamgauge.traffic.refitted import MOST_THETA_VALUES, MOST_VALUES
from tests.traffic.day_courses import DAY, STEP_SECONDS, course
from tests.traffic.test_experts import STEPS, fed

NAMES = ("auto-ets", "auto-theta", "mstl", "prophet")


def test_none_of_them_is_standard():
    assert not any(load_expert(name).is_standard for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_they_cannot_tell_before_they_were_fitted(name):
    assert np.isnan(fed(name, course(3)[: 2 * DAY - 1]).predict(STEPS)).all()
    assert np.isfinite(fed(name, course(3)[: 2 * DAY]).predict(STEPS)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(name, monkeypatch):
    package = "prophet" if name == "prophet" else "statsforecast"
    for module in (package, f"{package}.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"streamgauge\[{package}\]"):
        Forecaster(start_us=0, step_seconds=900.0, horizon=1, experts=[name])


def test_between_fits_ets_is_what_statsforecast_makes_of_all_values_with_the_fitted_constants():
    from statsforecast.models import AutoETS

    values = course(3, noise=0.05)[: 2 * DAY + 40]
    fitted = AutoETS(season_length=1).fit(values[: 2 * DAY])
    truth = fitted.forward(values, h=4)["mean"]
    np.testing.assert_allclose(fed("auto-ets", values).predict(STEPS), truth)


def test_on_the_hour_ets_has_the_season_of_a_day():
    hours = np.arange(24 * 9)
    values = 100.0 + 30.0 * np.sin(2.0 * np.pi * hours / 24.0)
    values += np.random.default_rng(1).normal(size=len(hours))
    history = History(Clock(0, 3_600_000_000), make_rungs(6))
    expert = load_expert("auto-ets")(history)
    for value in values[:-6]:
        history.append(float(value), is_observed=True)
        expert.update()
    assert np.abs(expert.predict(np.arange(1, 7)) - values[-6:]).mean() < 3.0


def test_when_it_was_fitted_theta_is_autotheta_of_statsforecast():
    from statsforecast.models import AutoTheta

    values = course(5, noise=0.02)
    truth = AutoTheta(season_length=DAY).fit(values).predict(h=4)["mean"]
    np.testing.assert_allclose(fed("auto-theta", values).predict(STEPS), truth, rtol=1e-6)


def test_when_it_was_fitted_mstl_is_that_of_statsforecast_but_for_jumps():
    from statsforecast.models import MSTL

    values = course(5, noise=0.02)
    truth = MSTL(season_length=DAY).fit(values).predict(h=4)["mean"]
    np.testing.assert_allclose(fed("mstl", values).predict(STEPS), truth, rtol=0.01)


@pytest.mark.parametrize("name", ["auto-theta", "mstl", "prophet"])
def test_a_course_of_days_is_forecast_hours_after_the_fit(name):
    values = course(6, noise=0.002)
    found = fed(name, values[:-30]).predict(STEPS)
    np.testing.assert_allclose(found, values[-30:-26], rtol=0.05)


def test_mstl_knows_weekdays():
    values = course(22, noise=0.005, weekend=0.5)
    until = 19 * DAY - 2  # the last steps of a Friday
    found = fed("mstl", values[:until]).predict(STEPS)
    np.testing.assert_allclose(found, values[until : until + 4], rtol=0.1)


def test_the_season_follows_the_zones_clock():
    """Clocks in Berlin went back on 2019-10-27; the course of the day comes an hour later."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    start = round(datetime(2019, 10, 22, tzinfo=UTC).timestamp() * 1e6)
    values, change = course(7, noise=0.0), 5 * DAY + 4
    shifted = np.concatenate([values[:change], values[change - 4 : -4]])
    until = change + 30
    zone = ZoneInfo("Europe/Berlin")
    history = History(Clock(start, round(STEP_SECONDS * 1e6), zone), make_rungs(4))
    expert = load_expert("auto-theta")(history)
    for value in shifted[:until]:
        history.append(float(value), is_observed=True)
        expert.update()
    np.testing.assert_allclose(expert.predict(STEPS), shifted[until : until + 4], rtol=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_sees_a_bounded_history(name, monkeypatch):
    monkeypatch.setattr("streamgauge.traffic.refitted.MOST_VALUES", 3 * DAY)
    expert = fed(name, course(6))
    assert (expert._first, expert._end) == (3 * DAY, 6 * DAY)
    assert MOST_THETA_VALUES < MOST_VALUES


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_that_fails_leaves_the_one_before_in_force(name, monkeypatch):
    expert = fed(name, course(2))

    def fail(*_):
        raise RuntimeError("no convergence")

    monkeypatch.setattr(expert, "_fit", fail)
    for value in course(3)[2 * DAY :]:
        expert._history.append(float(value), is_observed=True)
        expert.update()
    assert expert._end == 2 * DAY
    np.testing.assert_allclose(expert.predict(STEPS), course(4)[3 * DAY : 3 * DAY + 4], rtol=0.2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["zeros", "constant", "spikes", "odd step"])
def test_series_that_fits_do_not_like_give_finite_forecasts_or_none(name, kind):
    values = {
        "zeros": np.zeros(3 * DAY),
        "constant": np.full(3 * DAY, 7.0),
        "spikes": np.where(np.arange(3 * DAY) % 50 == 0, 1e6, 0.0),
        "odd step": course(7),
    }[kind]
    step = 7 * 60.0 if kind == "odd step" else STEP_SECONDS
    history = History(Clock(0, round(step * 1e6)), make_rungs(4))
    expert = load_expert(name)(history)
    for value in values:
        history.append(float(value), is_observed=True)
        expert.update()
    found = expert.predict(STEPS)
    assert np.isnan(found).all() or (np.isfinite(found) & (found >= 0.0)).all()


def test_they_join_the_combination():
    forecaster = Forecaster(
        start_us=0, step_seconds=STEP_SECONDS, horizon=4, experts=["last-value", *NAMES]
    )
    forecaster.fit(course(5, noise=0.01))
    weights = forecaster.weights
    assert set(weights) == {"last-value", *NAMES}
    assert sum(weights[name][-1] for name in ("auto-theta", "mstl", "prophet")) > 0.7
