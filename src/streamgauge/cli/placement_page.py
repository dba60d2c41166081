"""Placements as a picture and as a page: the plan before and after, and all plans in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from streamgauge import __version__
from streamgauge.cli import html_page as html
from streamgauge.cli.html_page import Column, Rows
from streamgauge.cli.output import counted, printable
from streamgauge.cli.placement_tables import P99, bounds_of, busiest_node, notes_of, verdict_of
from streamgauge.cli.placements import Placement, Placements
from streamgauge.cli.prediction_charts import latency_pictures
from streamgauge.cli.scaling_tables import short, signed
from streamgauge.cli.seen import any_duration, mean_of, quantile_of, verdict_parts
from streamgauge.drawing.bar_charts import Bar, bar_chart
from streamgauge.drawing.plan_picture import PlanPanel, draw_plans
from streamgauge.drawing.quantities import plain_number, share
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine

# More executors than this are no picture any more.
MANY_EXECUTORS = 400

ANCHORS = {
    "plans": "Where executors run",
    "traffic": "How far tuples go",
    "latency": "Latency",
    "figures": "All figures",
    "notes": "What to keep in mind",
    "commands": "How to apply it",
    "made": "How this was made",
}


def placement_picture(
    placements: Placements, *, ackers: bool = False, embedded: bool = False
) -> str:
    """The plan before and the chosen one, as an SVG."""
    chosen, before = placements.chosen, placements.before
    panels = []
    if before is not None and before.name != chosen.name:
        panels.append(_panel(placements, "before", before))
    panels.append(_panel(placements, "after" if panels else "", chosen))
    name = chosen.plan.logical.topology.name
    title = printable(f"plans of {name}: " + " and ".join(one.title for one in panels))
    return draw_plans(panels, title=title, ackers=ackers, embedded=embedded)


def _panel(placements: Placements, when: str, one: Placement) -> PlanPanel:
    plan = one.plan
    parts = [
        counted(len(plan.logical.executors), "executor"),
        counted(len(plan.workers), "worker"),
        counted(len(plan.nodes), "node"),
        f"{share(one.remote_share)} of tuples between nodes",
    ]
    if one.prediction is not None:
        parts.append(f"p99 {any_duration(quantile_of(one.prediction.latency, P99))}")
    hops = load_engine(placements.asked.job.configuration.engine).hops
    return PlanPanel(
        title=printable(f"{when}: {one.name}" if when else one.name),
        about=" · ".join(parts),
        flow=TupleFlow.of(plan, hops),
    )


def placement_page(
    placements: Placements, commands: list[str], *, ackers: bool, command: str
) -> str:
    """One self-contained HTML document; the same arguments give the same page."""
    chosen = placements.chosen
    name = chosen.plan.logical.topology.name
    sections = {
        "plans": [_figure(placements, ackers=ackers)],
        "traffic": [html.figure(_traffic_chart(placements))],
        "latency": list(_latencies(placements)),
        "figures": [_table(placements), _acker_table(placements)],
        "notes": [html.paragraph(line) for line in _remarks(placements)],
        "commands": [f"<p><code>{html.text(one)}</code></p>" for one in commands],
        "made": [
            f"<p><code>{html.text(command)}</code></p>",
            html.terms([("streamgauge", __version__)], kind="made"),
        ],
    }
    shown = {anchor: parts for anchor, parts in sections.items() if parts}
    links = "".join(f'<a href="#{anchor}">{html.text(ANCHORS[anchor])}</a>' for anchor in shown)
    overloaded = chosen.prediction is not None and bool(chosen.prediction.overloaded)
    return html.page(
        f"{name}, placed by {chosen.name}",
        f"<h1>{html.text(name)}, placed</h1>",
        f'<div class="verdict {"bad" if overloaded else "fine"}">',
        f"<p>{html.text(verdict_of(placements))}</p>",
        "</div>",
        f'<nav aria-label="Parts of this page">{links}</nav>',
        *(html.section(anchor, ANCHORS[anchor], *parts) for anchor, parts in shown.items()),
    )


def _figure(placements: Placements, *, ackers: bool) -> str:
    many = len(placements.chosen.plan.logical.executors)
    if many > MANY_EXECUTORS:
        return html.paragraph(f"{many} executors are too many to draw.")
    return html.figure(placement_picture(placements, ackers=ackers, embedded=True), wide=True)


def _traffic_chart(placements: Placements) -> str:
    """Per scheduler how many tuples stay, go to other workers, and to other nodes."""
    bars = [
        Bar(
            name=name,
            parts={
                "inside a worker": one.traffic.local,
                "between workers of a node": one.traffic.inter_worker,
                "between nodes": one.traffic.remote,
            },
            label=f"{share(one.remote_share)} between nodes",
        )
        for name, one in placements.found.items()
    ]
    return bar_chart(
        bars,
        title="Tuples and acks by the way they go",
        x_title="every stream alike" if placements.asked.assumed else "per second",
        tick_label=plain_number,
        told=short,
        embedded=True,
    )


def _latencies(placements: Placements) -> Iterator[str]:
    known = {
        name: one.prediction.latency
        for name, one in placements.found.items()
        if one.prediction is not None
    }
    if known:
        yield latency_pictures(known)


def _table(placements: Placements) -> str:
    rows = []
    for name, one in placements.found.items():
        change, found = placements.against(one), one.prediction
        rows.append(
            [
                name,
                str(len(one.plan.workers)),
                str(len(one.plan.nodes)),
                "–" if placements.asked.assumed else short(one.traffic.remote),
                share(one.remote_share),
                "–" if change is None else signed(change),
                busiest_node(one),
                "–" if found is None else mean_of(found.latency),
                "–" if found is None else any_duration(quantile_of(found.latency, P99)),
                "–" if found is None else verdict_parts(found)[0],
            ]
        )
    before = "" if placements.before is None else placements.before.name
    columns = [
        Column(name="scheduler"),
        Column(name="workers"),
        Column(name="nodes"),
        Column(name="between nodes", unit="tuples/s"),
        Column(name="part"),
        Column(name=f"against {before}"),
        Column(name="busiest node"),
        Column(name="mean"),
        Column(name="p99"),
        Column(name="verdict"),
    ]
    return html.table("Placements, the best first", columns, [Rows(rows=rows)])


def _acker_table(placements: Placements) -> str:
    found = placements.found.items()
    if not any(one.diagnostics.ackers for _, one in found):
        return ""
    rows = []
    for name, one in found:
        seen = one.diagnostics
        parts = (seen.acks_local, seen.acks_inter_worker, seen.acks_remote)
        rows.append(
            [
                name,
                str(seen.ackers),
                ", ".join(seen.acker_only_workers) or "–",
                *(share(math.nan if part is None else part) for part in parts),
                ", ".join(seen.hot_nodes) or "–",
                ", ".join(seen.heap_risks) or "–",
            ]
        )
    columns = [
        Column(name="scheduler"),
        Column(name="ackers"),
        Column(name="workers of ackers only", words=True),
        Column(name="acks inside workers"),
        Column(name="between workers"),
        Column(name="between nodes"),
        Column(name="hot nodes", words=True),
        Column(name="heap too small", words=True),
    ]
    return html.table("Ackers and risks", columns, [Rows(rows=rows)])


def _remarks(placements: Placements) -> Iterator[str]:
    yield from bounds_of(placements)
    yield from notes_of(placements)
    for name, why in placements.refused.items():
        yield f"{name} cannot place it: {why}"
