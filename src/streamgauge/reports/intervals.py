"""Intervals and back-tests as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    MISSING,
    format_bytes_rate,
    format_difference,
    format_duration,
    format_estimate,
    format_number,
    format_share,
    format_utilisation,
    name_percentile,
)
from streamgauge.models.intervals import LEVEL
from streamgauge.reports.content import Block, Cell, Column, Row, Table, Text, tabulate

if TYPE_CHECKING:
    from streamgauge.models.back_test import BackTested
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.intervals import Interval, Intervals

PERCENT = f"{LEVEL:.0%}".replace("%", " %")
NOT_KNOWN = "not known"
# A probability below this is as good as none.
UNLIKELY = 0.005
# Of a latency, what is told apart by where its uncertainty comes from.
FEW = ("mean", "p99")

Show = Callable[[float], str]


def show_range(interval: Interval | None, show: Show) -> str:
    """``2.01 to 2.60 ms``; in words where it is not known."""
    if interval is None:
        return NOT_KNOWN
    return f"{show(interval.low)} to {show(interval.high)}"


def show_within(value: str, interval: Interval | None) -> str:
    """``0.380 (± 12.0 %)``; the value alone where its interval is not known."""
    return value if interval is None else f"{value} (± {format_share(find_reach(interval))})"


def show_reach(interval: Interval | None) -> Cell:
    """``± 12.0 %``; None where an interval is not known."""
    return None if interval is None else f"± {format_share(find_reach(interval))}"


def find_reach(interval: Interval) -> float:
    """Half of an interval's width as a part of what is predicted."""
    return math.expm1(
        math.hypot(interval.parameters, interval.model, interval.sampling, interval.load)
    )


def list_ends(name: str, latency: Latency, intervals: Intervals | None) -> Iterator[Row]:
    """Where the intervals of a latency begin and end: two rows; none where nothing is known."""
    if intervals is None or intervals.of("latency", name, "mean") is None:
        return
    columns = {"mean": Column("mean")} | {
        percentile: Column(percentile) for percentile in map(name_percentile, latency.quantiles)
    }
    for end, word in (("low", "from"), ("high", "to")):
        cells: dict[Column, Cell] = {Column("latency"): f"  {PERCENT} {word}"}
        for figure, column in columns.items():
            interval = intervals.of("latency", name, figure)
            cells[column] = None if interval is None else format_duration(getattr(interval, end))
        yield cells


def build_certainty(intervals: Intervals | None) -> list[Block]:
    """What intervals are made of, or why they are not known."""
    if intervals is None:
        return []
    if intervals.unknown:
        return [Text([f"{PERCENT} intervals are not known: {intervals.unknown}."])]
    rows = [
        _describe(key.name, key.figure, interval)
        for key, interval in intervals.figures.items()
        if interval.is_known and (key.subject == "job" or key.figure in FEW)
    ]
    window = f"a window of {intervals.window_seconds:g} s"
    table = tabulate(
        f"{PERCENT} intervals of what {window} would measure",
        rows,
        note="Parameters: other minutes might have been measured. Model: errors of"
        f" {intervals.origin}. Sampling: one window is not like another. What they do not"
        " contain: docs/intervals.md.",
    )
    return [table, *_say_overload(intervals)]


def _say_overload(intervals: Intervals) -> Iterator[Text]:
    if intervals.overload > UNLIKELY:
        yield Text([f"Overloaded with a probability of {format_share(intervals.overload)}."])


def _describe(name: str, figure: str, interval: Interval) -> Row:
    is_time = bool(name)
    show: Show = format_duration if is_time else format_estimate
    words = {"highest_rate": "highest rate (tuples/s)", "headroom": "headroom (times the load)"}
    return {
        Column("figure"): f"{name}, {figure}" if name else words.get(figure, figure),
        Column("from"): show(interval.low),
        Column("to"): show(interval.high),
        Column("parameters"): _show_part(interval.parameters),
        Column("model"): _show_part(interval.model),
        Column("sampling"): _show_part(interval.sampling),
        Column("load"): _show_part(interval.load) if interval.load else None,
    }


def _show_part(width: float) -> str:
    return MISSING if math.isnan(width) else f"± {format_share(math.expm1(width))}"


def tabulate_back_test(tested: Sequence[BackTested]) -> Table:
    """What the model says of the plan and load that were measured, beside what was measured."""
    return tabulate(
        "Back-test: the plan and load that were measured",
        [
            {
                Column("figure"): one.name,
                Column("predicted"): _show(one, one.predicted),
                Column("measured"): _show(one, one.measured),
                Column("error"): format_difference(one.error),
            }
            for one in tested
        ],
        note="Error: (predicted − measured)/measured. No prediction rests on these latencies.",
    )


def say_back_test(tested: Sequence[BackTested]) -> str:
    """How near the back-test came, in one line; empty without one."""
    if not tested:
        return ""
    times = [one for one in tested if one.unit == "s"]
    others = [one for one in tested if one.unit != "s"]
    told = [f"{one.name} {format_difference(one.error)}" for one in times]
    for unit, word in (
        ("1/s", "rates"),
        ("cores", "CPU of workers"),
        ("B/s", "bytes between workers"),
    ):
        errors = [abs(one.error) for one in others if one.unit == unit]
        if errors:
            told.append(f"{word} within {format_share(max(errors))}")
    return f"Back-test on the measured plan and load: {', '.join(told)}."


def _show(one: BackTested, value: float) -> str:
    if one.unit == "s":
        return format_duration(value)
    if one.unit == "B/s":
        return format_bytes_rate(value)
    return f"{format_number(value)} {'cores' if one.unit == 'cores' else 'tuples/s'}"


def document_intervals(intervals: Intervals | None) -> dict[str, Any]:
    """For JSON: every interval, by subject, name and figure."""
    if intervals is None:
        return {}
    return {
        "intervals": {
            "level": LEVEL,
            "window_seconds": intervals.window_seconds,
            "overload_probability": intervals.overload,
            "model_errors": intervals.origin,
            "unknown": intervals.unknown or None,
            "figures": [
                {
                    "subject": key.subject,
                    "name": key.name,
                    "figure": key.figure,
                    "low": one.low,
                    "high": one.high,
                    "parameters": one.parameters,
                    "model": one.model,
                    "sampling": one.sampling,
                    "load": one.load,
                }
                for key, one in intervals.figures.items()
            ],
        }
    }


def show_utilisation(value: float, interval: Interval | None) -> str:
    """A utilisation with its interval."""
    return show_within(format_utilisation(value), interval)


def document_back_test(tested: Sequence[BackTested]) -> dict[str, Any]:
    """For JSON: what was measured of the measured plan, beside what is predicted of it."""
    return {"back_test": [{**asdict(one), "error": one.error} for one in tested]} if tested else {}
