"""A simulation's figures as pictures of an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.cli.html_page import figure, paragraph
from streamgauge.cli.output import counted
from streamgauge.cli.topology import without_ackers
from streamgauge.drawing.charts import Series, TickLabel, distribution_chart, line_chart
from streamgauge.drawing.quantities import duration, number, plain_duration, plain_number, share
from streamgauge.drawing.themes import SERIES
from streamgauge.drawing.topology_picture import OperatorMark, draw_topology
from streamgauge.topology.topology import OperatorKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.tuple_flow import TupleFlow

QUANTILES = (0.5, 0.9, 0.95, 0.99)
BARS = 80
# A larger graph is no picture any more.
MANY_OPERATORS = 200


def latency_picture(latency: Latencies) -> str:
    """How often which latency was seen, with percentiles."""
    if not latency.count:
        return paragraph("No tuple came to the end of its way: there is no latency to show.")
    from streamgauge.simulation.binning import bin_edges

    seen = np.flatnonzero(latency.counts)
    first, last = int(seen[0]), int(seen[-1]) + 1
    # Whole bins to a bar: parts of them would make teeth where there are none.
    width = -(-(last - first) // BARS)
    counts = [int(latency.counts[at : at + width].sum()) for at in range(first, last, width)]
    bins = [first + width * bar for bar in range(len(counts) + 1)]
    svg = distribution_chart(
        _edges(bin_edges(), bins),
        counts,
        title="How many tuples took how long",
        x_title="latency from emission to the end of service at a sink, logarithmic",
        bars="tuples, left",
        curve="part of all that took no longer, right",
        marks=[
            (f"p{100 * q:g} {duration(latency.quantile(q))}", latency.quantile(q))
            for q in QUANTILES
        ],
        tick_label=plain_duration,
        embedded=True,
    )
    return figure(svg, f"{latency.count:,} tuples in classes of equal ratio.", wide=True)


def _edges(edges: NDArray[np.float64], bins: Sequence[int]) -> list[float]:
    """Lower edges of bins, and of one after the last; above zero, as logarithms need them."""
    ratio = float(edges[-1] / edges[-2])
    beyond = len(edges) - 1
    found = [float(edges[min(at, beyond)]) * ratio ** max(at - beyond, 0) for at in bins]
    return [max(found[0], found[1] / ratio), *found[1:]]


def topology_picture(flow: TupleFlow, result: SimulationResult) -> str:
    """The operators with how busy each is."""
    topology = without_ackers(flow)
    if len(topology.operators) > MANY_OPERATORS:
        many = counted(len(topology.operators), "operator")
        return paragraph(f"{many} are too many to draw; the tables below list them.")
    marks = {}
    for operator in topology.operators:
        one = result.operators[operator.name]
        is_source = operator.kind is OperatorKind.SOURCE
        rate = one.emitted_per_second if is_source else one.executed_per_second
        marks[operator.name] = OperatorMark(
            level=one.busiest,
            line=f"{'emits' if is_source else 'serves'} {number(rate)} tuples/s",
            alarm="saturated" if one.saturated else "",
        )
    caption = "Gauges: part of the time that an operator's busiest executor is busy."
    ackers = [one for name, one in result.operators.items() if name not in marks]
    if ackers:
        caption += f" Ackers are not drawn: busy at most {share(max(a.busiest for a in ackers))}"
        caption += ", saturated." if any(one.saturated for one in ackers) else "."
    executors = {name: len(span) for name, span in flow.plan.logical.spans.items()}
    svg = draw_topology(topology, executors, marks=marks, embedded=True)
    return figure(svg, caption, wide=True)


def time_pictures(result: SimulationResult) -> str:
    """Throughput, latency, queues and cores over simulated time."""
    line = result.timeline
    # What was counted in a stretch of time stands in its middle.
    middles = (np.concatenate([[0.0], line.ends[:-1]]) + line.ends) / 2.0
    span = (result.warmup, float(line.ends.max(initial=0.0)))
    rates = {
        "emitted by sources": line.emitted_per_second,
        "at the end of their way": line.arrived_per_second,
    }
    latencies = {
        "99 %": line.p99_seconds,
        "mean": line.mean_seconds,
        "median": line.median_seconds,
    }
    charts = [
        _chart("Throughput, tuples/s", middles, rates, *span, unit="tuples/s"),
        _chart(
            "Latency at the end of their way, logarithmic",
            middles,
            latencies,
            *span,
            unit="s",
            tick_label=plain_duration,
            log=True,
        ),
        _chart(
            "Tuples waiting at operators",
            line.ends,
            _longest_first(line.queued),
            *span,
            unit="tuples",
        ),
        _chart("Cores that the job's work keeps busy", middles, line.cores, *span, unit="cores"),
    ]
    return f'<div class="charts">{"".join(charts)}</div>'


def _longest_first(queued: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    return dict(sorted(queued.items(), key=lambda one: -float(one[1].max(initial=0.0))))


def _chart(
    title: str,
    times: NDArray[np.float64],
    named: Mapping[str, NDArray[np.float64]],
    shaded_until: float,
    x_end: float,
    *,
    unit: str,
    tick_label: TickLabel = plain_number,
    log: bool = False,
) -> str:
    """A chart of the largest of many series."""
    peaks = {name: float(np.nanmax(line, initial=0.0)) for name, line in named.items()}
    largest = sorted(peaks, key=lambda name: -peaks[name])
    # A line along the bottom says less than a word below.
    shown = [name for name in largest[:SERIES] if peaks[name] > 0.0]
    if len(shown) == len(named):
        shown = list(named)
    svg = line_chart(
        times.tolist(),
        [Series(name=name, values=named[name].tolist()) for name in shown],
        title=title,
        x_title="simulated time, s",
        x_end=x_end,
        log=log,
        shaded_until=shaded_until,
        shaded="warm-up, left out",
        tick_label=tick_label,
        embedded=True,
    )
    rest = largest[len(shown) :]
    if not rest:
        return figure(svg)
    most = f"at most {plain_number(peaks[rest[0]])} {unit}" if peaks[rest[0]] > 0.0 else "always 0"
    return figure(svg, f"Not drawn: {len(rest)} more, {most}.")
