"""Long tables in and out: rows of series, time and value, for callers that have many series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from streamgauge.errors import NotEnoughData, StreamgaugeError
from streamgauge.traffic.forecast import Forecast, Wish, forecast
from streamgauge.traffic.series import SeriesRows


class Failure(NamedTuple):
    """A series without a forecast, and why."""

    name: str
    reason: str


def forecast_or_explain(rows: SeriesRows, wish: Wish) -> Forecast | Failure:
    """The forecast of one series among many: what is wrong with it does not stop the others."""
    try:
        return forecast(rows.make_series(wish.step_seconds), wish)
    except StreamgaugeError as error:
        return Failure(rows.name, str(error))
    except Exception as error:  # one series of thousands must not end a job of hours
        return Failure(rows.name, f"internal error: {type(error).__name__}: {error}")


def forecast_rows(rows: SeriesRows, wish: Wish) -> list[dict[str, Any]]:
    """The same as rows of a long table; one row with an error where there is no forecast."""
    found = forecast_or_explain(rows, wish)
    if isinstance(found, Failure):
        return [{"series": found.name, "error": found.reason}]
    first, step_us = len(found.series.values), found.series.step_us
    return [
        {
            "series": rows.name,
            "time_us": found.series.start_us + (first + step) * step_us,
            "value": float(found.middle[step]),
            "quantiles": [float(value) for value in found.quantiles[step]],
        }
        for step in range(len(found.middle))
    ]


def read_rows(
    series: Sequence[SeriesRows], rows: Sequence[Mapping[str, Any]], wish: Wish
) -> tuple[list[Forecast], list[Failure]]:
    """Forecasts again, of the rows that others computed for these series."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row["series"], []).append(row)
    forecasts, failures = [], []
    for one in series:
        own = by_name.get(one.name, [])
        fault = next((row["error"] for row in own if row["error"]), None)
        if fault is not None or not own:
            failures.append(Failure(one.name, fault or "no answer"))
            continue
        made = one.make_series(wish.step_seconds)
        if wish.history_seconds is not None:
            made = made.last(wish.history_seconds)
        forecasts.append(
            Forecast(
                series=made,
                probabilities=wish.probabilities,
                middle=np.array([row["value"] for row in own]),
                quantiles=np.array([row["quantiles"] for row in own]),
                weights={},
                cautions=(),
            )
        )
    return forecasts, failures


def check_any(forecasts: Sequence[Forecast], failures: Sequence[Failure]) -> None:
    """Refuse an answer without any forecast.

    Raises:
        NotEnoughData: No series has one.
    """
    if not forecasts:
        listed = "; ".join(failure.reason for failure in failures[:5])
        raise NotEnoughData(listed or "there is no series to forecast")
