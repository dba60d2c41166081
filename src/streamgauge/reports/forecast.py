"""What a forecast says: what is expected at the horizon, how sure that is, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from streamgauge.drawing.charts import Band, Series, draw_line_chart
from streamgauge.drawing.text_picture import draw_sparkline
from streamgauge.drawing.wording import (
    format_difference,
    format_number,
    format_period,
    format_share,
)
from streamgauge.reports.content import (
    Chart,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report, list_figures
from streamgauge.traffic.forecast import Forecast
from streamgauge.traffic.long_table import Failure

# Steps that a table shows, spread evenly; --json has all of them.
SHOWN_STEPS = 12
# So many series have a picture each.
MOST_CHARTS = 6
# A picture shows so many horizons of the past, and a day at least.
PAST_HORIZONS = 5
DAY_SECONDS = 86_400.0
HOUR_SECONDS = 3600.0
# A change below this is none worth a word.
STEADY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastReport(Report):
    """What is expected of one series or many.

    Attributes:
        origin: What was read: a file, or a lake and topology.
        horizon_seconds: How far ahead.
        forecasts: One for each series.
        failures: Series without a forecast, and why.
        unit: Of the values; empty where it is not known.
    """

    origin: str
    horizon_seconds: float
    forecasts: tuple[Forecast, ...]
    failures: tuple[Failure, ...] = ()
    unit: str = ""

    @property
    def title(self) -> str:
        """What the report is about."""
        return "Traffic forecast"

    @property
    def about(self) -> str:
        """What it was made from."""
        size = len(self.forecasts) + len(self.failures)
        return f"{self.origin}: {size} series, {format_period(self.horizon_seconds)} ahead"

    @property
    def verdict(self) -> Verdict:
        """What is expected at the horizon."""
        cautions = [caution for one in self.forecasts for caution in one.cautions]
        grade = Grade.WARNING if cautions or self.failures else Grade.FINE
        if len(self.forecasts) > 1:
            word, sentence = self._tell_of_many()
        else:
            word, sentence = self._tell_of_one(self.forecasts[0])
        return Verdict(
            grade=grade, word=word, sentence=sentence, cautions=tuple(dict.fromkeys(cautions))
        )

    @property
    def headline(self) -> Sequence[Term]:
        """What is expected, and what may come."""
        if len(self.forecasts) != 1:
            return ()
        (one,) = self.forecasts
        names = [f"p{100 * level:g} at the horizon" for level in one.probabilities]
        return [
            Term("expected at the horizon", self._show(one.middle[-1])),
            Term(names[-1], self._show(one.quantiles[-1, -1])),
        ]

    @property
    def warnings(self) -> Sequence[str]:
        """What had to be repaired, and series without a forecast."""
        repaired = [warning for one in self.forecasts for warning in one.series.warnings]
        return [*repaired, *(f"no forecast: {failure.reason}" for failure in self.failures)]

    def sections(self) -> Sequence[Section]:
        """The next steps, a picture, the history in figures, and the experts' weights."""
        if len(self.forecasts) == 1:
            (one,) = self.forecasts
            return [
                Section("forecast", "Forecast", [self._tabulate_steps(one), self._draw(one)]),
                Section("history", "History", [self._tabulate_history()]),
                Section("experts", "Experts", [self._tabulate_experts(one)]),
                self._describe_making(),
            ]
        charts = [self._draw(one) for one in self.forecasts[:MOST_CHARTS]]
        return [
            Section("forecast", "Forecasts", [self._tabulate_series(), *charts]),
            Section("history", "History", [self._tabulate_history()]),
            self._describe_making(),
        ]

    def document(self) -> Mapping[str, Any]:
        """Every step of every series with its quantiles."""
        return {
            "forecast": {
                "origin": self.origin,
                "horizon_seconds": self.horizon_seconds,
                "unit": self.unit or None,
                "verdict": str(self.verdict),
                "series": [_write_forecast(one) for one in self.forecasts],
                "failures": [
                    {"series": failure.name, "error": failure.reason} for failure in self.failures
                ],
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """The long table: a row for each step and quantile, named by series and time."""
        for one in self.forecasts:
            yield from list_figures("history", one.series.name, one.summary, unit=self.unit)
            for row in one.rows():
                name = f"{row.pop('series')} {row.pop('time').isoformat()}"
                yield from list_figures("forecast", name, row, unit=self.unit)

    def _tell_of_one(self, one: Forecast) -> tuple[str, str]:
        now, then = _newest(one), float(one.middle[-1])
        ahead = format_period(self.horizon_seconds)
        band = self._show_band(one, -1)
        change = (then - now) / now if now > 0.0 else math.inf if then > now else 0.0
        if abs(change) < STEADY:
            return "Steady", f": {self._show(then)} expected in {ahead}{band}."
        word = "Rises" if change > 0.0 else "Falls"
        much = f" ({format_difference(change)})" if math.isfinite(change) else ""
        return word, (f" from {format_number(now)} to {self._show(then)}{much} in {ahead}{band}.")

    def _tell_of_many(self) -> tuple[str, str]:
        rising = sum(
            float(one.middle[-1]) > (1.0 + STEADY) * _newest(one) for one in self.forecasts
        )
        falling = sum(
            float(one.middle[-1]) < (1.0 - STEADY) * _newest(one) for one in self.forecasts
        )
        without = f"; {len(self.failures)} have no forecast" if self.failures else ""
        return (
            f"{len(self.forecasts)} series",
            f": in {format_period(self.horizon_seconds)} {rising} rise and {falling} fall by more"
            f" than {format_share(STEADY)}{without}.",
        )

    def _show(self, value: float) -> str:
        return f"{format_number(float(value))} {self.unit}".strip()

    def _show_band(self, one: Forecast, step: int) -> str:
        if len(one.probabilities) < 2:
            return ""
        low, high = one.quantiles[step, 0], one.quantiles[step, -1]
        share = format_share(one.probabilities[-1] - one.probabilities[0])
        return f"; with {share} between {format_number(float(low))} and {self._show(high)}"

    def _tabulate_steps(self, one: Forecast) -> Table:
        steps = len(one.middle)
        every = math.ceil(steps / SHOWN_STEPS)
        shown = range(every - 1, steps, every) if every > 1 else range(steps)
        rows: list[Row] = [
            {
                Column("time", "UTC"): _show_time(one.times[step]),
                Column("expected", self.unit): format_number(float(one.middle[step])),
                **{
                    Column(f"p{100 * level:g}"): format_number(float(value))
                    for level, value in zip(one.probabilities, one.quantiles[step], strict=True)
                },
            }
            for step in shown
        ]
        note = f"Every {every} of {steps} steps; --json has all." if every > 1 else ""
        return tabulate("What is expected, and quantiles of what may come", rows, note=note)

    def _tabulate_series(self) -> Table:
        rows: list[Row] = [
            {
                Column("series"): one.series.name,
                Column("now", self.unit): format_number(_newest(one)),
                Column("at the horizon"): format_number(float(one.middle[-1])),
                **{
                    Column(f"p{100 * level:g}"): format_number(float(value))
                    for level, value in zip(one.probabilities, one.quantiles[-1], strict=True)
                },
                Column("highest on the way"): format_number(float(one.middle.max())),
            }
            for one in self.forecasts
        ]
        return tabulate("What is expected of each series", rows)

    def _tabulate_history(self) -> Table:
        rows: list[Row] = []
        for one in self.forecasts:
            figures = {Column(name): format_number(value) for name, value in one.summary.items()}
            missing = len(one.series.values) - one.series.observed - one.series.masked
            rows.append(
                {
                    Column("series"): one.series.name,
                    Column("values"): one.series.observed,
                    Column("missing"): missing or None,
                    Column("masked"): one.series.masked or None,
                    **figures,
                }
            )
        note = ""
        if any(one.series.masked for one in self.forecasts):
            note = "Masked: steps in which the job held its sources back; they are left out."
        return tabulate("The history in figures", rows, note=note)

    def _tabulate_experts(self, one: Forecast) -> Table:
        order = sorted(one.weights.items(), key=lambda item: -sum(item[1]))
        rows: list[Row] = [
            {
                Column("expert"): name,
                Column("next step"): format_share(first),
                Column("at the horizon"): format_share(last),
            }
            for name, (first, last) in order
        ]
        return tabulate("Weights of the experts, by how well each did so far", rows)

    def _draw(self, one: Forecast) -> Chart:
        draw = partial(_draw_forecast, one, unit=self.unit)
        return Chart(
            title=one.series.name,
            draw=draw,
            caption="What was, what is expected, and the bands that hold it with the given shares.",
            draw_text=partial(_draw_forecast_text, one),
        )

    def _describe_making(self) -> Section:
        newest = self.forecasts[0].series
        terms = [
            Term("origin", self.origin),
            Term("step", format_period(newest.step_seconds)),
            Term("history until", _show_time(newest.end)),
        ]
        sentence = (
            "Each step ahead is a weighted mean of experts; bands come from past errors. What is"
            " assumed and how far it can be trusted: docs/traffic.md."
        )
        return Section(
            "made", "How this was made", [Terms(terms), Text([sentence], page_only=True)]
        )


def _newest(one: Forecast) -> float:
    known = one.series.values[np.isfinite(one.series.values)]
    return float(known[-1])


def _show_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")


def _past_steps(one: Forecast) -> int:
    """How much of the past is shown."""
    day = DAY_SECONDS / one.series.step_seconds
    return min(len(one.series.values), int(max(PAST_HORIZONS * len(one.middle), day)))


def _draw_forecast(one: Forecast, *, unit: str, embedded: bool = False) -> str:
    past, ahead = _past_steps(one), len(one.middle)
    step_hours = one.series.step_seconds / HOUR_SECONDS
    gap, blank = [math.nan] * past, [math.nan] * ahead
    newest = one.series.values[-past:].tolist()
    pairs = [
        (at, -1 - at)
        for at in range(len(one.probabilities) // 2)
        if math.isclose(one.probabilities[at] + one.probabilities[-1 - at], 1.0)
    ]
    bands = [
        Band(
            name=format_share(one.probabilities[high] - one.probabilities[low]),
            low=[*gap, *one.quantiles[:, low].tolist()],
            high=[*gap, *one.quantiles[:, high].tolist()],
        )
        for low, high in pairs
    ]
    start = one.series.time_of(len(one.series.values) - past)
    return draw_line_chart(
        [step_hours * at for at in range(past + ahead)],
        [
            Series(name="measured", values=[*newest, *blank]),
            Series(name="expected", values=[*gap, *one.middle.tolist()]),
        ],
        title=f"{one.series.name}{f', {unit}' if unit else ''}",
        x_title=f"hours since {_show_time(start)} UTC",
        bands=bands,
        embedded=embedded,
    )


def _draw_forecast_text(one: Forecast, width: int) -> str:
    past = one.series.values[-_past_steps(one) :].tolist()
    values = [value if math.isfinite(value) else None for value in past]
    most = max(width - 14, 20)
    bars = draw_sparkline([*values, *one.middle.tolist()], most)
    ahead = max(1, round(len(bars) * len(one.middle) / (len(values) + len(one.middle))))
    mark = " " * (len(bars) - ahead) + "└" + "─" * (ahead - 1)
    return f" {bars}\n {mark} expected"


def _write_forecast(one: Forecast) -> dict[str, Any]:
    rows = [
        {**row, "time": row["time"].isoformat()} | {"series": one.series.name} for row in one.rows()
    ]
    return {
        "series": one.series.name,
        "step_seconds": one.series.step_seconds,
        "values": one.series.observed,
        "masked": one.series.masked,
        "last": _newest(one),
        "history": one.summary,
        "weights": {name: list(weights) for name, weights in one.weights.items()},
        "cautions": list(one.cautions),
        "steps": rows,
    }
