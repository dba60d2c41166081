"""The question that the room answers: what comes next, of one series or of a long table of them.

Everything here is a pure function of the series and the wish: Spark and the command line call the
same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from streamgauge.errors import Findings, InvalidInput, NotEnoughData
from streamgauge.traffic.forecaster import Forecaster
from streamgauge.traffic.history import DAY_SECONDS
from streamgauge.traffic.series import LEAST_VALUES, TrafficSeries, Vector, summarise

# Bands that hold what comes with 80 and 95 %.
PROBABILITIES = (0.025, 0.1, 0.5, 0.9, 0.975)
# Further ahead than this many steps is a plan, not a forecast.
MOST_STEPS = 10_080
# Weights below this are not worth a word.
LEAST_WEIGHT = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked for.

    Attributes:
        horizon_seconds: How far ahead.
        history_seconds: How much of the past may count; all of it where none is given.
        step_seconds: Length of a step; as values are apart where none is given.
        experts: Names of experts to combine; the standard ones where none are named.
        probabilities: Of the quantiles, ascending.
        zone: Name of the time zone whose days are repeated; UTC where none is given.
    """

    horizon_seconds: float
    history_seconds: float | None = None
    step_seconds: float | None = None
    experts: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = PROBABILITIES
    zone: str | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        lengths = {
            "horizon": self.horizon_seconds,
            "history": self.history_seconds,
            "step": self.step_seconds,
        }
        for place, seconds in lengths.items():
            if seconds is not None and not 0.0 < seconds < math.inf:
                findings.add(place, seen=f"{seconds:g} s", expected="a length above zero")
        wrong = [level for level in self.probabilities if not 0.0 < level < 1.0]
        if wrong or list(self.probabilities) != sorted(set(self.probabilities)):
            findings.add(
                "quantile",
                seen=", ".join(f"{level:g}" for level in self.probabilities),
                expected="numbers between 0 and 1, ascending",
            )
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                findings.add("timezone", seen=repr(self.zone), expected="a name: Europe/Berlin")
        findings.raise_if_any()


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is expected of one series.

    Attributes:
        series: What it was made from.
        probabilities: Of the quantiles.
        middle: The median of each step ahead.
        quantiles: A row for each step ahead.
        weights: By expert its weight one step ahead and at the horizon.
        cautions: What a reader must not overlook.
    """

    series: TrafficSeries
    probabilities: tuple[float, ...]
    middle: Vector
    quantiles: Vector
    weights: Mapping[str, tuple[float, float]]
    cautions: tuple[str, ...] = ()

    @cached_property
    def times(self) -> tuple[datetime, ...]:
        """Begin of each step ahead, UTC."""
        first = len(self.series.values)
        return tuple(self.series.time_of(first + step) for step in range(len(self.middle)))

    @cached_property
    def summary(self) -> dict[str, float]:
        """Statistics of the history."""
        return summarise(self.series.values)

    def quantile(self, probability: float) -> Vector:
        """One of the quantiles, by step."""
        return self.quantiles[:, self.probabilities.index(probability)]

    def rows(self) -> list[dict[str, Any]]:
        """The long table: series, time, value and quantiles, a row for each step."""
        names = [f"p{100 * level:g}" for level in self.probabilities]
        return [
            {
                "series": self.series.name,
                "time": time,
                "value": float(value),
                **dict(zip(names, map(float, spread), strict=True)),
            }
            for time, value, spread in zip(self.times, self.middle, self.quantiles, strict=True)
        ]


def forecast(series: TrafficSeries, wish: Wish) -> Forecast:
    """What is expected of a series.

    Raises:
        NotEnoughData: The history is too short for the horizon, or for the experts.
        InvalidInput: The horizon is shorter than a step, or has too many of them.
    """
    if wish.history_seconds is not None:
        series = series.last(wish.history_seconds)
    steps = _count_steps(series, wish)
    forecaster = make_forecaster(series, wish, steps)
    forecaster.fit(series.values)
    middle, quantiles = forecaster.predict(probabilities=wish.probabilities)
    if not np.isfinite(middle).all():
        raise NotEnoughData(
            f"{series.name}: {', '.join(forecaster.names)} cannot tell from"
            f" {len(series.values)} steps of {series.step_seconds:g} s; expected a history of two"
            " days or weeks, whichever it repeats, or --method standard"
        )
    seen = int(forecaster.errors_seen[-1])
    return Forecast(
        series=series,
        probabilities=wish.probabilities,
        middle=middle,
        quantiles=quantiles,
        weights={
            name: (float(weights[0]), float(weights[-1]))
            for name, weights in forecaster.weights.items()
            if max(weights[0], weights[-1]) >= LEAST_WEIGHT
        },
        cautions=tuple(_list_cautions(series, wish, seen)),
    )


def make_forecaster(series: TrafficSeries, wish: Wish, steps: int) -> Forecaster:
    """A forecaster for a series, which has seen nothing of it yet."""
    return Forecaster(
        start_us=series.start_us,
        step_seconds=series.step_seconds,
        horizon=steps,
        experts=wish.experts,
        zone=None if wish.zone is None else ZoneInfo(wish.zone),
    )


def _count_steps(series: TrafficSeries, wish: Wish) -> int:
    steps = math.ceil(wish.horizon_seconds / series.step_seconds - 1e-9)
    if steps > MOST_STEPS:
        raise InvalidInput.single(
            ("horizon",),
            seen=f"{steps:,} steps of {series.step_seconds:g} s",
            expected=f"at most {MOST_STEPS:,}",
            remedy="give a longer --step",
        )
    if series.observed < LEAST_VALUES:
        raise NotEnoughData(
            f"{series.name}: {series.observed} values; expected at least {LEAST_VALUES}"
        )
    if steps >= series.observed:
        raise NotEnoughData(
            f"{series.name}: a horizon of {steps} steps of {series.step_seconds:g} s is longer than"
            f" the history of {series.observed} values; expected a longer history or a nearer"
            " horizon"
        )
    return steps


def _list_cautions(series: TrafficSeries, wish: Wish, seen: int) -> list[str]:
    found = []
    known = series.values[np.isfinite(series.values)]
    span_seconds = len(series.values) * series.step_seconds
    if known.min() == known.max():
        found.append(f"All {len(known)} values are {known[0]:g}: nothing says how they may change.")
    outermost = 2.0 / (1.0 - max(abs(2.0 * level - 1.0) for level in wish.probabilities) + 1e-12)
    if seen < outermost:
        found.append(
            f"Only {seen} forecasts so far ahead could be checked: the band is the range of their"
            " errors."
        )
    if DAY_SECONDS % series.step_seconds:
        found.append(
            f"Steps of {series.step_seconds:g} s do not divide a day: no daily pattern is used. A"
            " --step of 1m, 5m, 15m or 1h does."
        )
    elif span_seconds < 2 * DAY_SECONDS:
        found.append("The history is shorter than two days: daily patterns are hardly known.")
    return found
