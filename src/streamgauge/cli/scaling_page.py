"""A scale-out as pictures and as a page: components before and after, and throughput by units."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge import __version__
from streamgauge.cli import html_page as html
from streamgauge.cli.html_page import Column, Rows
from streamgauge.cli.output import counted, printable
from streamgauge.cli.scaling_tables import (
    FULL,
    busy,
    commands_of,
    gets,
    next_of,
    on_cluster,
    short,
    signed,
    state_of,
    verdict_of,
)
from streamgauge.cli.scalings import Growths
from streamgauge.cli.seen import changed
from streamgauge.cli.simulation_charts import MANY_OPERATORS
from streamgauge.drawing.charts import Series, line_chart
from streamgauge.drawing.quantities import estimate, share
from streamgauge.drawing.side_by_side import Panel, draw_side_by_side
from streamgauge.drawing.topology_picture import OperatorMark
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.rates import ComponentRates, GraphRates
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology

ANCHORS = {
    "growth": "Who gets how many",
    "curve": "Throughput by units",
    "reasons": "Why",
    "notes": "What to keep in mind",
    "commands": "How to apply it",
    "made": "How this was made",
}


def growth_picture(growths: Growths, *, embedded: bool = False) -> str:
    """Components as they are and as they would be, as an SVG."""
    chosen = growths.chosen
    before = growths.before
    panels = [
        _panel("before", _throughput(before), growths, before, before),
        _panel(
            f"after: {chosen.scaling.scaler} with {counted(chosen.scaling.units, 'unit')} more",
            f"{_throughput(chosen.rates)}. {next_of(chosen)}",
            growths,
            chosen.rates,
            before,
        ),
    ]
    name = growths.scaled.graph.name
    title = printable(f"components of {name} before and after scaling out")
    return draw_side_by_side(
        panels,
        title=title,
        embedded=embedded,
        gauge="component",
        alarm="congested",
        flag="gets more",
    )


def _throughput(rates: GraphRates) -> str:
    return f"{estimate(rates.throughput)} tuples/s leave"


def _panel(title: str, line: str, growths: Growths, rates: GraphRates, before: GraphRates) -> Panel:
    graph = growths.scaled.graph
    return Panel(
        title=printable(title),
        lines=[printable(line)],
        topology=_drawn(growths),
        executors={one.name: rates[one.name].units for one in graph.components},
        marks=_marks(graph, rates, before),
    )


def _drawn(growths: Growths) -> Topology:
    """The job's own topology, else one that looks like the graph."""
    if growths.scaled.job is not None:
        return growths.scaled.job.topology
    graph = growths.scaled.graph
    return Topology(
        name=graph.name,
        operators=tuple(
            Operator(
                name=one.name,
                kind=OperatorKind.SOURCE if one.source else OperatorKind.PROCESSOR,
                tasks=max(1, growths.chosen.rates[one.name].units),
            )
            for one in graph.components
        ),
        streams=tuple(
            Stream(source=edge.source, target=edge.target, name=edge.target, grouping=Shuffle())
            for edge in graph.edges
        ),
    )


def _marks(
    graph: ScalingGraph, rates: GraphRates, before: GraphRates
) -> Mapping[str, OperatorMark]:
    return {
        one.name: _mark(rates[one.name], before[one.name], source=one.source)
        for one in graph.components
    }


def _mark(now: ComponentRates, was: ComponentRates, *, source: bool) -> OperatorMark:
    units = counted(now.units, "unit")
    if was.units != now.units:
        units = f"{was.units} → {units}"
    if source:
        return OperatorMark(
            parallelism=units, line=f"emits {changed(was.output, now.output, short)} tuples/s"
        )
    return OperatorMark(
        level=min(busy(now), 1.0),
        level_text=share(busy(now)),
        flag=f"{now.units - was.units} more" if now.units > was.units else "",
        parallelism=units,
        line=f"gets {changed(was.input, now.input, short)} tuples/s",
        more=(f"can do {changed(was.capacity, now.capacity, short)} tuples/s",),
        alarm="congested" if busy(now) > FULL else "",
    )


def curve_picture(growths: Growths, *, embedded: bool = False) -> str:
    """Throughput by units, a line for every planner, as an SVG."""
    return line_chart(
        [float(step) for step in range(growths.scaled.units + 1)],
        [Series(name=name, values=growths.curve(name)) for name in growths.found],
        title="Throughput, tuples per second",
        x_title="units more",
        embedded=embedded,
    )


def growth_page(growths: Growths, *, command: str, written: str = "") -> str:
    """One self-contained HTML document; the same arguments give the same page."""
    graph, chosen = growths.scaled.graph, growths.chosen
    sections = {
        "growth": [_figure(growths), _component_table(growths), _planner_table(growths)],
        "curve": [html.figure(curve_picture(growths, embedded=True))] if growths.sweep else [],
        "reasons": [html.paragraph(line) for line in chosen.scaling.reasons],
        "notes": [html.paragraph(line) for line in growths.scaled.notes],
        "commands": [
            f"<p><code>{html.text(one)}</code></p>" for one in commands_of(growths, written)
        ],
        "made": [
            f"<p><code>{html.text(command)}</code></p>",
            html.terms(
                [("planner", chosen.scaling.scaler), ("streamgauge", __version__)], kind="made"
            ),
        ],
    }
    shown = {anchor: parts for anchor, parts in sections.items() if parts}
    links = "".join(f'<a href="#{anchor}">{html.text(ANCHORS[anchor])}</a>' for anchor in shown)
    last = chosen.bottleneck
    congested = last is not None and last.utilisation > FULL
    overloaded = growths.prediction is not None and bool(growths.prediction.overloaded)
    return html.page(
        f"{graph.name}, scaled out",
        f"<h1>{html.text(graph.name)}, scaled out</h1>",
        f'<div class="verdict {"warning" if congested or overloaded else "fine"}">',
        f"<p>{html.text(verdict_of(growths))}</p>",
        html.paragraph(on_cluster(growths)) if growths.prediction is not None else "",
        "</div>",
        f'<nav aria-label="Parts of this page">{links}</nav>',
        *(html.section(anchor, ANCHORS[anchor], *parts) for anchor, parts in shown.items()),
    )


def _figure(growths: Growths) -> str:
    many = len(growths.scaled.graph.components)
    if many > MANY_OPERATORS:
        return html.paragraph(f"{many} components are too many to draw; the table lists them.")
    caption = "Gauges: what a component gets, as a part of what its units can do."
    return html.figure(growth_picture(growths, embedded=True), caption, wide=True)


def _component_table(growths: Growths) -> str:
    rows = []
    for one in growths.scaled.graph.components:
        was, now = growths.before[one.name], growths.chosen.rates[one.name]
        rows.append(
            [
                one.name,
                str(was.units),
                str(now.units),
                "–" if one.source else changed(was.input, now.input, short),
                changed(was.capacity, now.capacity, short),
                "–" if one.source else state_of(was, now),
                changed(was.output, now.output, short),
            ]
        )
    columns = [
        Column(name="component"),
        Column(name="units"),
        Column(name="units then"),
        Column(name="gets", unit="tuples/s"),
        Column(name="can do", unit="tuples/s"),
        Column(name="busy"),
        Column(name="emits", unit="tuples/s"),
    ]
    return html.table("Components, before → after", columns, [Rows(rows=rows)])


def _planner_table(growths: Growths) -> str:
    before = growths.before.throughput
    rows = []
    for name, one in growths.found.items():
        more = signed(one.scaling.increase / before) if before > 0.0 else "–"
        rows.append(
            [name, gets(one.scaling.allocation), estimate(one.scaling.expected), more, next_of(one)]
        )
    rows += [[name, why, "–", "–", "–"] for name, why in growths.refused.items()]
    columns = [
        Column(name="planner"),
        Column(name="who gets how many", words=True),
        Column(name="throughput", unit="tuples/s"),
        Column(name="more"),
        Column(name="then", words=True),
    ]
    return html.table("Planners, the best first", columns, [Rows(rows=rows)])
