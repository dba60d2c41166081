"""Latencies as people read them: figures, tables and charts of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    format_duration,
    format_duration_within,
    format_share,
    name_percentile,
    printable,
)
from streamgauge.reports.content import (
    Block,
    Cell,
    Chart,
    ChartRow,
    Column,
    Row,
    Table,
    Text,
    tabulate_groups,
)

if TYPE_CHECKING:
    from streamgauge.models.end_to_end_latency import Latency

# More bars are no picture any more; tables have the rest.
MOST_BARS = 12
PATH = "time from emission to the end of service at a sink"

# What a time is made up of, in seconds by part, and the whole.
TimeParts = tuple[Mapping[str, float], float]
# Rows that stand below a latency, by the heading above it, its name and itself.
ListEnds = Callable[[str, str, "Latency"], Iterable[Row]]


def list_no_ends(heading: str, name: str, latency: Latency) -> tuple[()]:
    """No rows below a latency."""
    del heading, name, latency
    return ()


def get_quantile(latency: Latency, level: float) -> float:
    """A quantile; infinite where latency grows without bound, NaN where it is not known."""
    unknown = math.inf if math.isinf(latency.mean) else math.nan
    return latency.quantiles.get(level, unknown)


def show_mean(latency: Latency) -> str:
    """The mean, with the half width of its confidence interval where it was sampled."""
    if latency.halfwidth is None or not math.isfinite(latency.mean):
        return format_duration(latency.mean)
    return format_duration_within(latency.mean, latency.halfwidth)


def chart_latencies(latencies: Mapping[str, Latency]) -> Iterator[Block]:
    """Mean latencies with what makes them up, and percentiles: of plans, models or sources."""
    known = {
        printable(name): latency
        for name, latency in latencies.items()
        if not math.isnan(latency.mean)
    }
    left_out = len(known) - MOST_BARS
    text = f"{left_out} more are not drawn; the tables list them." if left_out > 0 else ""
    if not known:
        text = "No tuple reaches a sink: there is no latency."
    elif all(math.isinf(latency.mean) for latency in known.values()):
        text = "Latency grows without bound: there is nothing to draw."
    else:
        shown = dict(list(known.items())[:MOST_BARS])
        yield ChartRow(charts=[_chart_parts(shown), _chart_quantiles(shown)])
    if text:
        yield Text([text], page_only=True)


def build_latency_table(
    groups: Mapping[str, Mapping[str, Latency]], list_ends: ListEnds = list_no_ends
) -> Table:
    """Mean, percentiles, and on a terminal what the mean is made up of, below headings.

    `list_ends` gives the rows below a latency, by heading, name and latency: its intervals.
    """
    latencies = [latency for group in groups.values() for latency in group.values()]
    levels = sorted({level for latency in latencies for level in latency.quantiles})
    return tabulate_groups(
        "Latency",
        {
            heading: [
                row
                for name, latency in group.items()
                for row in (
                    {
                        Column("latency"): name,
                        **show_latency(latency, levels),
                        Column("made up of", words=True, terminal_only=True): _list_parts(latency),
                    },
                    *list_ends(heading, name, latency),
                )
            ]
            for heading, group in groups.items()
        },
    )


def show_latency(
    latency: Latency, levels: Sequence[float], few: Sequence[float] | None = None
) -> dict[Column, Cell]:
    """Cells of the mean and of quantiles of these levels; None where a model does not know them.

    A terminal has room for `few` levels only, where those are given.
    """
    cells: dict[Column, Cell] = {Column("mean"): show_mean(latency)}
    for level in levels:
        seconds = get_quantile(latency, level)
        column = Column(name_percentile(level), page_only=few is not None and level not in few)
        cells[column] = None if math.isnan(seconds) else format_duration(seconds)
    return cells


def build_parts_table(
    caption: str, subject: str, groups: Mapping[str, Mapping[str, TimeParts]]
) -> Table:
    """What mean times are made up of, a column for each part; for pages only.

    By heading and name of the row, `groups` has the parts and the whole in seconds.
    """
    known = {
        heading: {
            name: (parts, whole)
            for name, (parts, whole) in group.items()
            if parts and math.isfinite(whole) and whole > 0.0
        }
        for heading, group in groups.items()
    }
    shown = dict.fromkeys(
        part
        for group in known.values()
        for parts, _ in group.values()
        for part, seconds in parts.items()
        if seconds > 0.0
    )
    return tabulate_groups(
        caption,
        {
            heading: [
                {
                    Column(subject): name,
                    **{Column(part): _show_part(parts.get(part, 0.0), whole) for part in shown},
                }
                for name, (parts, whole) in group.items()
            ]
            for heading, group in known.items()
            if shown and group
        },
        page_only=True,
    )


def name_parts(latency: Latency) -> dict[str, float]:
    """Seconds by the name of the part."""
    return {str(part): seconds for part, seconds in latency.parts.items()}


def _show_part(seconds: float, whole: float) -> Cell:
    return (
        f"{format_duration(seconds)} ({format_share(seconds / whole)})" if seconds > 0.0 else None
    )


def _list_parts(latency: Latency) -> Cell:
    """The largest first, as parts of the mean."""
    if not math.isfinite(latency.mean) or latency.mean <= 0.0 or not latency.parts:
        return None
    parts = sorted(latency.parts.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{part.value} {format_share(seconds / latency.mean)}"
        for part, seconds in parts
        if seconds > 0.0
    )


def _chart_parts(latencies: Mapping[str, Latency]) -> Chart:
    title = "Mean latency and what it is made up of"
    return Chart(title=title, draw=partial(_draw_parts, latencies, title=title))


def _draw_parts(latencies: Mapping[str, Latency], *, title: str, embedded: bool) -> str:
    # What draws is imported with the first picture: most answers are texts.
    from streamgauge.drawing.bar_charts import Bar, draw_bar_chart

    bars = []
    for name, latency in latencies.items():
        known = {part: seconds for part, seconds in name_parts(latency).items() if seconds > 0.0}
        parts = known or {"parts not known": latency.mean}
        bars.append(Bar(name=name, parts=parts, label=show_mean(latency)))
    return draw_bar_chart(bars, title=title, x_title=f"mean {PATH}", embedded=embedded)


def _chart_quantiles(latencies: Mapping[str, Latency]) -> Chart:
    title = "Percentiles of latency"
    return Chart(title=title, draw=partial(_draw_quantiles, latencies, title=title))


def _draw_quantiles(latencies: Mapping[str, Latency], *, title: str, embedded: bool) -> str:
    from streamgauge.drawing.bar_charts import Bar, draw_bar_chart

    levels = sorted({level for latency in latencies.values() for level in latency.quantiles})
    bars = [
        Bar(
            name=name,
            parts={name: get_quantile(latency, level)},
            label=format_duration(get_quantile(latency, level)),
            group=name_percentile(level),
        )
        for level in levels
        for name, latency in latencies.items()
    ]
    return draw_bar_chart(bars, title=title, x_title=PATH, embedded=embedded)
