"""The question as a whole: horizons and histories that do not fit, cautions, long tables."""

import math

import numpy as np
import pytest

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.traffic.forecast import Wish, forecast
from streamgauge.traffic.long_table import (
    Failure,
    check_any,
    forecast_or_explain,
    forecast_rows,
    read_rows,
)
from streamgauge.traffic.series import SeriesRows
from tests.traffic.day_courses import DAY, STEP_SECONDS, course

HOUR = Wish(horizon_seconds=3600.0)


def rows_of(values, name="a", step=STEP_SECONDS, masked=None):
    times = np.arange(len(values), dtype=np.int64) * round(step * 1e6)
    hidden = np.zeros(len(values), dtype=bool) if masked is None else masked
    return SeriesRows(name, times, np.asarray(values, dtype=float), hidden)


def answer(values, wish=HOUR, **options):
    return forecast(rows_of(values, **options).make_series(wish.step_seconds), wish)


def test_a_forecast_has_a_row_for_each_step_with_its_time_and_quantiles():
    found = answer(course(3))
    assert len(found.middle) == 4
    first = found.rows()[0]
    assert first["time"].isoformat() == "1970-01-04T00:00:00+00:00"
    assert list(first) == ["series", "time", "value", "p2.5", "p10", "p50", "p90", "p97.5"]
    assert first["p2.5"] <= first["p10"] <= first["value"] <= first["p90"] <= first["p97.5"]


def test_the_summary_is_that_of_the_history():
    found = answer([1.0, 2.0, 3.0] * 20)
    assert (found.summary["mean"], found.summary["median"]) == (2.0, 2.0)


def test_a_part_of_a_step_is_a_whole_one():
    assert len(answer(course(2), Wish(horizon_seconds=901.0)).middle) == 2


def test_a_horizon_longer_than_the_history_is_not_enough_data():
    with pytest.raises(NotEnoughData, match="a horizon of 96 steps of 900 s is longer than the"):
        answer(course(2)[:60], Wish(horizon_seconds=86_400.0))


def test_a_horizon_of_too_many_steps_is_refused_with_a_remedy():
    with pytest.raises(InvalidInput, match="give a longer --step"):
        answer(np.ones(100), Wish(horizon_seconds=1e6), step=1.0)


def test_history_is_cut_to_what_may_count():
    cut = answer(course(4), Wish(horizon_seconds=900.0, history_seconds=36_000.0))
    assert (len(cut.series.values), len(answer(course(4)).series.values)) == (40, 4 * DAY)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("horizon_seconds", 0.0),
        ("horizon_seconds", math.nan),
        ("history_seconds", -1.0),
        ("probabilities", (0.9, 0.1)),
        ("probabilities", (0.0,)),
        ("zone", "Mars/Olympus"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(field, value):
    with pytest.raises(InvalidInput):
        Wish(**{"horizon_seconds": 1.0, field: value})


def test_constants_short_histories_and_odd_steps_are_told():
    assert "All 50 values are 7" in answer(np.full(50, 7.0)).cautions[0]
    assert any("shorter than two days" in one for one in answer(course(1)).cautions)
    (odd,) = answer(course(5), step=1000.0 * 7 / 9, wish=Wish(horizon_seconds=4000.0)).cautions
    assert "do not divide a day: no daily pattern" in odd
    assert answer(course(8)).cautions == ()


def test_few_checked_forecasts_are_told():
    found = answer(course(1)[:12], Wish(horizon_seconds=9 * STEP_SECONDS))
    assert any("could be checked" in one for one in found.cautions)


def test_masked_steps_do_not_enter():
    """A job in back-pressure emits half of what comes; masked, nothing changes much."""
    values = course(8, noise=0.0)
    held = values.copy()
    held[-20:-8] *= 0.5
    masked = np.zeros(len(values), dtype=bool)
    masked[-20:-8] = True
    honest = answer(values[:-4]).middle
    hidden = answer(held[:-4], masked=masked[:-4])
    assert hidden.series.masked == 12
    np.testing.assert_allclose(hidden.middle, honest, rtol=0.02)


def test_a_series_with_a_fault_is_a_row_with_an_error():
    good, bad = rows_of(course(2), "good"), rows_of([1.0, -1.0] * 10, "bad")
    (row,) = forecast_rows(bad, HOUR)
    assert row["series"] == "bad" and "finite numbers from zero on" in row["error"]
    assert len(forecast_rows(good, HOUR)) == 4


def test_a_fault_of_ours_is_a_row_with_an_error_too(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("streamgauge.traffic.long_table.forecast", fail)
    (row,) = forecast_rows(rows_of(course(2)), HOUR)
    assert row["error"] == "internal error: ZeroDivisionError: oops"


def test_rows_that_others_computed_are_read_back_as_forecasts():
    series = [rows_of(course(2, seed=1), "one"), rows_of([1.0], "short")]
    rows = [{"error": None, **row} for one in series for row in forecast_rows(one, HOUR)]
    (found,), (failure,) = read_rows(series, rows, HOUR)
    direct = forecast_or_explain(series[0], HOUR)
    np.testing.assert_array_equal(found.middle, direct.middle)
    np.testing.assert_array_equal(found.quantiles, direct.quantiles)
    assert failure.name == "short" and "at least 10" in failure.reason


def test_no_forecast_at_all_is_not_enough_data():
    with pytest.raises(NotEnoughData, match="because"):
        check_any([], [Failure("a", "because")])


def test_an_expert_that_needs_a_longer_history_is_not_enough_data():
    wish = Wish(horizon_seconds=3600.0, experts=("same-time-last-week",))
    with pytest.raises(NotEnoughData, match="same-time-last-week cannot tell from 288 steps"):
        answer(course(3), wish)
    assert np.isfinite(answer(course(8), wish).quantiles).all()


@pytest.mark.parametrize("days", [3, 4, 6, 8])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_bands_a_day_ahead_stay_near_what_was_ever_seen(days, noise):
    values = course(days, noise=noise)
    found = answer(values, Wish(horizon_seconds=86_400.0))
    assert found.quantiles.max() < 3.0 * values.max()
