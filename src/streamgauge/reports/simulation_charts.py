"""A simulation's pictures: the distribution of latency, the busy topology, and how it went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.drawing.charts import Series, TickLabel, draw_distribution_chart, draw_line_chart
from streamgauge.drawing.quantities import duration, number, plain_duration, plain_number, share
from streamgauge.drawing.themes import SERIES
from streamgauge.drawing.topology_picture import (
    OperatorMark,
    draw_topology,
    without_ackers,
)
from streamgauge.reports.content import Chart, ChartRow, Text
from streamgauge.reports.simulation_tables import QUANTILES
from streamgauge.reports.wording import count, name_percentile
from streamgauge.topology.topology import OperatorKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

BARS = 80
# Rows of the same in characters, and the length of the longest.
TEXT_ROWS, LONGEST_ROW = 16, 50
# A larger graph cannot be read as a picture.
MANY_OPERATORS = 200


def chart_latency(latency: Latencies) -> Chart | Text:
    """How often which latency was seen, with percentiles."""
    if not latency.count:
        return Text(["No tuple reached a sink: there is no latency to show."])
    from streamgauge.simulation.binning import bin_edges

    occupied = np.flatnonzero(latency.counts)
    first, last = int(occupied[0]), int(occupied[-1]) + 1
    # Whole bins to a bar: parts of them would make teeth where there are none.
    width = -(-(last - first) // BARS)
    counts = [int(latency.counts[at : at + width].sum()) for at in range(first, last, width)]
    bins = [first + width * bar for bar in range(len(counts) + 1)]
    edges = _list_edges(bin_edges(), bins)
    marks = [
        (f"{name_percentile(level)} {duration(latency.quantile(level))}", latency.quantile(level))
        for level in QUANTILES
    ]

    def draw(embedded: bool) -> str:
        return draw_distribution_chart(
            edges,
            counts,
            title="How many tuples took how long",
            x_title="latency from emission to the end of service at a sink, logarithmic",
            bars="tuples, left",
            curve="part of all that took no longer, right",
            marks=marks,
            tick_label=plain_duration,
            embedded=embedded,
        )

    return Chart(
        title="latency",
        draw=draw,
        caption=f"{latency.count:,} tuples in classes of equal ratio.",
        wide=True,
        draw_text=lambda _: _draw_histogram(latency),
    )


def _draw_histogram(latency: Latencies) -> str:
    """How many tuples took how long, in ranges of equal ratio, in characters."""
    lines = [f"From source to sink, {latency.count:,} tuples", ""]
    low, high = latency.quantile(0.005), latency.quantile(0.995)
    if not high > low:
        return "\n".join([*lines, f" all about {duration(low)}"])
    edges = [low * (high / low) ** (row / TEXT_ROWS) for row in range(TEXT_ROWS + 1)]
    counts = latency.between(edges)
    for begin, end, tuples in zip(edges, edges[1:], counts, strict=False):
        bar = "█" * math.ceil(LONGEST_ROW * tuples / max(*counts, 1))
        lines.append(f" {duration(begin):>7} – {duration(end):>7} {bar} {tuples:,}")
    return "\n".join(lines)


def _list_edges(edges: NDArray[np.float64], bins: Sequence[int]) -> list[float]:
    """Lower edges of bins, and of one after the last; above zero, as logarithms need them."""
    ratio = float(edges[-1] / edges[-2])
    beyond = len(edges) - 1
    lower = [float(edges[min(at, beyond)]) * ratio ** max(at - beyond, 0) for at in bins]
    return [max(lower[0], lower[1] / ratio), *lower[1:]]


def chart_topology(plan: PhysicalPlan, result: SimulationResult) -> Chart | Text:
    """The operators with how busy each is."""
    topology = without_ackers(plan.logical.topology)
    if len(topology.operators) > MANY_OPERATORS:
        many = count(len(topology.operators), "operator")
        sentence = f"{many} are too many to draw; the tables below list them."
        return Text([sentence], page_only=True)
    marks = {}
    for operator in topology.operators:
        figures = result.operators[operator.name]
        is_source = operator.kind is OperatorKind.SOURCE
        rate = figures.emitted_per_second if is_source else figures.executed_per_second
        marks[operator.name] = OperatorMark(
            level=figures.busiest,
            line=f"{'emits' if is_source else 'serves'} {number(rate)} tuples/s",
            alarm="saturated" if figures.saturated else "",
        )
    caption = "Gauges: part of the time that an operator's busiest executor is busy."
    ackers = [figures for name, figures in result.operators.items() if name not in marks]
    if ackers:
        most = share(max(figures.busiest for figures in ackers))
        saturated = ", saturated" if any(figures.saturated for figures in ackers) else ""
        caption += f" Ackers are not drawn: busy at most {most}{saturated}."

    executors = {name: len(span) for name, span in plan.logical.spans.items()}

    def draw(embedded: bool) -> str:
        return draw_topology(topology, executors, marks=marks, embedded=embedded)

    return Chart(title="topology", draw=draw, caption=caption, wide=True)


def chart_time(result: SimulationResult) -> ChartRow:
    """Throughput, latency, queues and cores over simulated time."""
    line = result.timeline
    # What was counted in a stretch of time stands in its middle.
    middles = (np.concatenate([[0.0], line.ends[:-1]]) + line.ends) / 2.0
    chart = partial(_chart_lines, warmup=result.warmup, end=float(line.ends.max(initial=0.0)))
    rates = {
        "emitted by sources": line.emitted_per_second,
        "arrived at sinks": line.arrived_per_second,
    }
    latencies = {
        "p99": line.p99_seconds,
        "mean": line.mean_seconds,
        "median": line.median_seconds,
    }
    return ChartRow(
        charts=[
            chart("Throughput, tuples/s", middles, rates, unit="tuples/s"),
            chart(
                "Latency of tuples that arrived at sinks, logarithmic",
                middles,
                latencies,
                unit="s",
                tick_label=plain_duration,
                log=True,
            ),
            chart(
                "Tuples waiting at operators",
                line.ends,
                _sort_longest_first(line.queued),
                unit="tuples",
            ),
            chart("Cores that the job's work keeps busy", middles, line.cores, unit="cores"),
        ]
    )


def _sort_longest_first(
    queued: Mapping[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    return dict(sorted(queued.items(), key=lambda item: -float(item[1].max(initial=0.0))))


def _chart_lines(
    title: str,
    times: NDArray[np.float64],
    named: Mapping[str, NDArray[np.float64]],
    *,
    warmup: float,
    end: float,
    unit: str,
    tick_label: TickLabel = plain_number,
    log: bool = False,
) -> Chart:
    """A chart of the largest of many series."""
    peaks = {name: float(np.nanmax(line, initial=0.0)) for name, line in named.items()}
    largest = sorted(peaks, key=lambda name: -peaks[name])
    # A line along the bottom says less than a word below.
    shown = [name for name in largest[:SERIES] if peaks[name] > 0.0]
    if len(shown) == len(named):
        shown = list(named)
    rest = largest[len(shown) :]
    caption = ""
    if rest:
        peak = peaks[rest[0]]
        most = f"at most {plain_number(peak)} {unit}" if peak > 0.0 else "always 0"
        caption = f"Not drawn: {len(rest)} more, {most}."

    def draw(embedded: bool) -> str:
        return draw_line_chart(
            times.tolist(),
            [Series(name=name, values=named[name].tolist()) for name in shown],
            title=title,
            x_title="simulated time, s",
            x_end=end,
            log=log,
            shaded_until=warmup,
            shaded="warm-up, left out",
            tick_label=tick_label,
            embedded=embedded,
        )

    return Chart(title=title, draw=draw, caption=caption)
