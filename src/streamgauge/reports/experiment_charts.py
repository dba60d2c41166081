"""An experiment's pictures: steps beside each other, and how each went over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.bar_charts import Bar, draw_bar_chart
from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.quantities import duration, number, plain_duration, plain_number
from streamgauge.drawing.themes import SERIES
from streamgauge.experiments.figures import ALL, FigureKind
from streamgauge.experiments.study_results import THROUGHPUT
from streamgauge.reports.content import Chart, ChartRow
from streamgauge.reports.wording import show_measured

if TYPE_CHECKING:
    from streamgauge.experiments.truth import StepTruth, Truth

HELD = (FigureKind.BACK_PRESSURE, ALL, "held")
# More bars cannot be read as a picture; tables have the rest.
MOST_BARS = 30


def chart_steps(truth: Truth) -> ChartRow:
    """Latency, throughput, CPU and back-pressure of every step."""
    steps = truth.steps[:MOST_BARS]
    return ChartRow(
        charts=[
            Chart(
                title="latency",
                draw=lambda embedded: draw_bar_chart(
                    [_make_latency_bar(step) for step in steps],
                    title="Latency from source to sink",
                    x_title="median over windows",
                    embedded=embedded,
                ),
            ),
            _chart_figure(steps, THROUGHPUT, "Sources emit", "tuples per second"),
            Chart(
                title="CPU",
                draw=lambda embedded: draw_bar_chart(
                    [_make_cpu_bar(step) for step in steps],
                    title="CPU of the workers",
                    x_title="cores",
                    tick_label=plain_number,
                    part_label=number,
                    embedded=embedded,
                ),
            ),
            _chart_figure(steps, HELD, "Executors held back", "mean over time"),
        ]
    )


def chart_courses(truth: Truth) -> ChartRow:
    """Mean latency bucket by bucket, a chart for every step and a line for every repetition."""
    return ChartRow(
        charts=[
            _chart_course(step)
            for step in truth.steps[:MOST_BARS]
            if any(repetition.course.latency_seconds for repetition in step.repetitions)
        ]
    )


def _make_latency_bar(step: StepTruth) -> Bar:
    """A bar up to the highest quantile that is known, cut at the others."""
    parts: dict[str, float] = {}
    reached, label = 0.0, "–"
    for name in ("p50", "p95", "p99"):
        figure = step.figure(FigureKind.LATENCY, ALL, name)
        if figure is None:
            continue
        parts[f"to {name}"] = max(figure.value - reached, 0.0)
        reached = max(figure.value, reached)
        label = f"{name} {duration(figure.value)}"
    return Bar(name=step.name, parts=parts or {"none": math.nan}, label=label)


def _make_cpu_bar(step: StepTruth) -> Bar:
    parts = {
        figure.subject.removeprefix("worker "): figure.value
        for figure in step.figures
        if figure.kind == FigureKind.CPU and figure.subject.startswith("worker ")
    }
    label = f"{number(sum(parts.values()))} cores" if parts else "–"
    if len(parts) > SERIES:
        parts = {"all workers": sum(parts.values())}
    return Bar(name=step.name, parts=parts or {"none": math.nan}, label=label)


def _chart_figure(
    steps: Sequence[StepTruth], key: tuple[FigureKind, str, str], title: str, x_title: str
) -> Chart:
    """A bar for each step."""
    bars = []
    for step in steps:
        figure = step.figure(*key)
        value = math.nan if figure is None else figure.value
        label = "–" if figure is None else show_measured(figure.value, figure.spread, figure.unit)
        bars.append(Bar(name=step.name, parts={title: value}, label=label))

    def draw(embedded: bool) -> str:
        return draw_bar_chart(
            bars,
            title=title,
            x_title=x_title,
            tick_label=plain_number,
            part_label=number,
            embedded=embedded,
        )

    return Chart(title=title, draw=draw)


def _chart_course(step: StepTruth) -> Chart:
    shown = step.repetitions[:SERIES]
    length = max(len(repetition.course.latency_seconds) for repetition in shown)
    bucket = shown[0].course.bucket_seconds
    lines = [
        Series(
            name=f"repetition {repetition.turn.repetition}",
            values=repetition.course.latency_seconds,
        )
        for repetition in shown
    ]

    def draw(embedded: bool) -> str:
        return draw_line_chart(
            [(place + 0.5) * bucket for place in range(length)],
            lines,
            title=f"{step.name}: mean latency, logarithmic",
            x_title="seconds from the start of measuring",
            log=True,
            tick_label=plain_duration,
            embedded=embedded,
        )

    more = len(step.repetitions) - len(shown)
    return Chart(title=step.name, draw=draw, caption=f"Not drawn: {more} more." if more > 0 else "")
