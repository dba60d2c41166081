"""Forecasts of traffic on recorded traces: errors, coverage, and the cost of one update.

Traces are CSV files in the folder that STREAMGAUGE_TRACES names, each with a time and a value.
Every forecaster starts at the first value and is scored over the last fifth: the sum of absolute
errors over the sum of values, one step and one hour ahead; at 15 minutes also that of the mean of
the forecasts made one to four steps before, as published figures have it. Nothing is fitted to a
trace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Entry, say
from benchmarks.traffic_courses import make_courses
from streamgauge.traffic.expert import standard_experts
from streamgauge.traffic.forecaster import Forecaster
from streamgauge.traffic.series import TrafficSeries, Vector
from streamgauge.traffic.series_files import read_series_file

FOLDER = "STREAMGAUGE_TRACES"
SCORED = 0.2
HOUR_SECONDS = 3600.0
PUBLISHED_STEP_SECONDS = 900.0
PUBLISHED_STEPS = 4
PROBABILITIES = (0.025, 0.1, 0.9, 0.975)
# Experts that are fitted anew once a day.
FITTED = ("auto-ets", "auto-theta", "mstl")
# By the band's share: places of its ends among the probabilities.
BANDS = {0.95: (0, 3), 0.8: (1, 2)}


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Forecasts of the scored part, by the steps ahead at which they were made.

    Attributes:
        values: What came; NaN where it is not known.
        mixed: By value and rung, the combination's forecasts.
        experts: By value, rung and expert.
        bands: By value, first and last rung, and probability.
        update_seconds: CPU time of one update, all experts and their combination.
    """

    names: tuple[str, ...]
    rungs: tuple[int, ...]
    values: Vector
    mixed: Vector
    experts: Vector
    bands: Vector
    update_seconds: float


def run(*, large: bool) -> Iterator[Entry]:
    """One entry a trace; with `large` also made-up courses, and experts that are fitted daily."""
    folder = os.environ.get(FOLDER)
    if not folder:
        say(f"traffic: recorded traces left out; {FOLDER} names no folder of them")
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    traces = [rows.make_series() for path in files for rows in read_series_file(path)]
    for series in [*traces, *make_courses()] if large else traces:
        yield score_trace(series)
        if large:
            yield score_trace(series, (*standard_experts(), *FITTED), " with fitted experts")


def score_trace(series: TrafficSeries, experts: Sequence[str] = (), suffix: str = "") -> Entry:
    """Errors and coverage of a trace."""
    replay = replay_trace(series, experts)
    entry = Entry(f"traffic {series.name}{suffix}", "absolute errors over values, per cent")
    for rung in (1, replay.rungs[-1]):
        ahead = round(rung * series.step_seconds)
        row = replay.rungs.index(rung)
        errors = _errors(replay, replay.mixed[:, row])
        alone = {
            name: _errors(replay, replay.experts[:, row, column])
            for column, name in enumerate(replay.names)
        }
        best = min(alone, key=lambda name: alone[name])
        entry.cases[f"{ahead} s ahead"] = {"combination": errors, "best": best, **alone}
        entry.ratios[f"combination, {ahead} s ahead, %"] = errors
        entry.ratios[f"last value, {ahead} s ahead, %"] = alone["last-value"]
        entry.ratios[f"to the best expert ({best}), {ahead} s ahead"] = errors / alone[best]
        entry.ratios.update(_score_bands(replay, 0 if rung == 1 else 1, ahead))
    if series.step_seconds == PUBLISHED_STEP_SECONDS:
        rows = [replay.rungs.index(rung) for rung in range(1, PUBLISHED_STEPS + 1)]
        mean = replay.mixed[:, rows].mean(axis=1)
        entry.ratios["combination, mean of the last four, %"] = _errors(replay, mean)
    entry.ratios["CPU time of one update, ms"] = 1e3 * replay.update_seconds
    return entry


def replay_trace(series: TrafficSeries, experts: Sequence[str] = ()) -> Replay:
    """Forecast a trace value by value; with the standard experts where none are named."""
    horizon = max(1, round(HOUR_SECONDS / series.step_seconds))
    forecaster = Forecaster(
        start_us=series.start_us,
        step_seconds=series.step_seconds,
        horizon=horizon,
        experts=experts,
    )
    rungs = forecaster.rungs
    values = series.values
    first = len(values) - round(SCORED * len(values))
    shape = (len(values) + horizon, len(rungs))
    mixed = np.full(shape, np.nan)
    alone = np.full((*shape, len(forecaster.names)), np.nan)
    bands = np.full((shape[0], 2, len(PROBABILITIES)), np.nan)
    ends = np.array([1, horizon])
    spent = 0.0
    for at, value in enumerate(values):
        begin = time.process_time()
        forecaster.update(float(value))
        spent += time.process_time() - begin
        if at + horizon < first:
            continue
        one, all_of_them = forecaster.newest_forecasts()
        mixed[at + rungs, np.arange(len(rungs))] = one
        alone[at + rungs, np.arange(len(rungs))] = all_of_them
        bands[at + ends, [0, 1]] = forecaster.predict(ends, PROBABILITIES)[1]
    scored = slice(first, len(values))
    return Replay(
        names=forecaster.names,
        rungs=tuple(rungs.tolist()),
        values=values[scored],
        mixed=mixed[scored],
        experts=alone[scored],
        bands=bands[scored],
        update_seconds=spent / len(values),
    )


def _errors(replay: Replay, forecasts: Vector) -> float:
    """The sum of absolute errors over the sum of values, in per cent."""
    known = np.isfinite(replay.values)
    if np.isnan(forecasts[known]).any():
        return float("inf")
    errors = np.abs(forecasts[known] - replay.values[known])
    return float(100.0 * errors.sum() / replay.values[known].sum())


def _score_bands(replay: Replay, end: int, ahead: int) -> dict[str, float]:
    """Coverage of bands, and their interval scores over the mean value, in per cent."""
    known = np.isfinite(replay.values)
    values = replay.values[known]
    found = {}
    for share, (low_at, high_at) in BANDS.items():
        low, high = replay.bands[known, end, low_at], replay.bands[known, end, high_at]
        inside = (values >= low) & (values <= high)
        # Gneiting and Raftery 2007, eq. 43.
        outside = np.maximum(low - values, 0.0) + np.maximum(values - high, 0.0)
        score = (high - low + 2.0 / (1.0 - share) * outside).mean() / values.mean()
        found[f"coverage of {share:.0%}, {ahead} s ahead, %"] = 100.0 * float(inside.mean())
        found[f"interval score of {share:.0%}, {ahead} s ahead, %"] = 100.0 * float(score)
    return found
