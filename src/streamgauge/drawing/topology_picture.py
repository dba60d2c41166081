"""A topology as a picture: operators in layers, parallelism on them, groupings between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.drawing.layered import Box, Link, PlacedNode, lay_out, svg_path
from streamgauge.drawing.quantities import share
from streamgauge.drawing.svg import MARGIN, STYLE, Svg, arrow, shorten, text_width
from streamgauge.drawing.themes import GAUGES
from streamgauge.topology.grouping import All, Fields, PartialKey
from streamgauge.topology.topology import (
    ACKER,
    DEFAULT_STREAM,
    Operator,
    OperatorKind,
    Stream,
    Topology,
)

HEADER = 46.0
LINE = 15.0
PADDING = 11.0
BAR = 5.0
LONGEST_NAME = 30
LONGEST_LABEL = 36
GAUGE = 8.0
GAUGE_LENGTH = 50.0
GAUGE_TEXT = 46.0
MIDDLE_LEVEL, HIGH_LEVEL = 0.7, 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorMark:
    """What is said of an operator beside its parallelism.

    Attributes:
        level: From 0 to 1, drawn as a gauge and written in per cent; none when NaN.
        line: A few words below the parallelism.
        alarm: A word on what is wrong with it; its box then stands out.
    """

    level: float = math.nan
    line: str = ""
    alarm: str = ""


def draw_topology(
    topology: Topology,
    executors: Mapping[str, int] | None = None,
    *,
    marks: Mapping[str, OperatorMark] | None = None,
    embedded: bool = False,
) -> str:
    """The topology as an SVG.

    Args:
        topology: With or without its ackers; ack streams are drawn where it has them.
        executors: Executors per operator; without them only tasks are shown.
        marks: What else to say of operators, by name.
        embedded: Whether the page that the picture stands in brings title and style.
    """
    given = marks or {}
    marked = {op.name: given.get(op.name, OperatorMark()) for op in topology.operators}
    lines = {op.name: _lines(op, executors, marked[op.name]) for op in topology.operators}
    boxes = [
        Box(
            id=op.name,
            width=max(_width(lines[op.name]), _gauge_width(marked[op.name])),
            height=_height(lines[op.name]) + _gauge_height(marked[op.name]),
        )
        for op in topology.operators
    ]
    labels = [edge_label(stream) for stream in topology.streams]
    links = [
        Link(
            source=stream.source,
            target=stream.target,
            label_width=text_width(label, 10.5),
            # Ackers answer the sources: they belong to the right of all that they hear from.
            back=stream.source == ACKER,
        )
        for stream, label in zip(topology.streams, labels, strict=True)
    ]
    layout = lay_out(boxes, links)
    svg = Svg()
    header = 0.0 if embedded else HEADER
    if not embedded:
        _header(svg, topology, executors)
    origin_x, origin_y = MARGIN, MARGIN + header
    for stream, edge in zip(topology.streams, layout.edges, strict=True):
        points = [(x + origin_x, y + origin_y) for x, y in edge.points]
        kind, marker = _edge_kind(stream)
        svg.path(
            svg_path(points),
            kind=f"edge {kind} {'feedback' if edge.reversed else ''}".strip(),
            marker=marker,
            title=f"{stream.source} → {stream.target}: {edge_label(stream)}",
        )
    sinks = {op.name for op in topology.sinks}
    for operator, node in zip(topology.operators, layout.nodes, strict=True):
        name = operator.name
        corner = (
            node.x - node.width / 2 + origin_x,
            node.y - node.height / 2 + origin_y,
        )
        _node(svg, operator, node, corner, lines[name], marked[name], is_sink=name in sinks)
    for label, edge in zip(labels, layout.edges, strict=True):
        x, y = edge.label[0] + origin_x, edge.label[1] + origin_y
        width = text_width(label, 10.5)
        svg.rect(x - width / 2 - 2, y - 7, width + 4, 14, kind="plate", radius=3)
        svg.text(x, y + 3.5, label, kind="label", anchor="middle")
    return svg.render(
        max(layout.width, 0.0 if embedded else _header_width(topology, executors)) + 2 * MARGIN,
        layout.height + header + 2 * MARGIN,
        title=f"topology {topology.name}",
        markers=[arrow("plain", "#66737f"), arrow("keyed", "#a8571c"), arrow("copied", "#7a3fa0")],
        style=STYLE + GAUGES if marks else STYLE,
        embedded=embedded,
    )


def edge_label(stream: Stream) -> str:
    """Stream name, where it is not the default, and grouping."""
    name = "" if stream.name == DEFAULT_STREAM else f"{stream.name} · "
    return shorten(name + stream.grouping.describe(), LONGEST_LABEL)


def parallelism(operator: Operator, executors: Mapping[str, int] | None) -> str:
    """``4 executors · 16 tasks``, shorter where they are equal or unknown."""
    tasks = f"{operator.tasks} task{'s' if operator.tasks > 1 else ''}"
    if executors is None:
        return tasks
    count = executors.get(operator.name, 1)
    running = f"{count} executor{'s' if count > 1 else ''}"
    return running if count == operator.tasks else f"{running} · {tasks}"


def _lines(
    operator: Operator, executors: Mapping[str, int] | None, mark: OperatorMark
) -> list[str]:
    lines = [shorten(operator.name, LONGEST_NAME), parallelism(operator, executors)]
    if operator.window is not None:
        lines.append(f"window {operator.window.describe()}")
    return lines + [line for line in (mark.line, mark.alarm) if line]


def _width(lines: list[str]) -> float:
    name = text_width(lines[0], 13, bold=True)
    details = max(text_width(line, 11) for line in lines[1:])
    return max(name, details) + 2 * PADDING + BAR


def _height(lines: list[str]) -> float:
    return len(lines) * LINE + PADDING + 4.0


def _gauge_width(mark: OperatorMark) -> float:
    return 0.0 if math.isnan(mark.level) else 2 * PADDING + GAUGE_LENGTH + GAUGE_TEXT


def _gauge_height(mark: OperatorMark) -> float:
    return 0.0 if math.isnan(mark.level) else GAUGE + 6.0


def _node(
    svg: Svg,
    operator: Operator,
    node: PlacedNode,
    corner: tuple[float, float],
    lines: list[str],
    mark: OperatorMark,
    *,
    is_sink: bool,
) -> None:
    left, top = corner
    kind = "sink" if is_sink else str(operator.kind)
    svg.open_group(title=f"{operator.name}: {kind}, {operator.tasks} tasks")
    svg.rect(left, top, node.width, node.height, kind=f"box {kind}", radius=6)
    # Sources and sinks are also told apart without colour: a bar where tuples enter or leave.
    if operator.kind is OperatorKind.SOURCE:
        svg.rect(left, top, BAR, node.height, kind="bar-source", radius=2)
    elif is_sink:
        svg.rect(left + node.width - BAR, top, BAR, node.height, kind="bar-sink", radius=2)
    if mark.alarm:
        svg.rect(left, top, node.width, node.height, kind="alarm", radius=6)
    centre = left + node.width / 2
    for index, line in enumerate(lines):
        look = "name" if index == 0 else "detail"
        if mark.alarm and index == len(lines) - 1:
            look = "alarm-word"
        svg.text(centre, top + PADDING + 6.0 + index * LINE, line, kind=look, anchor="middle")
    if not math.isnan(mark.level):
        _gauge(svg, left + PADDING, top + _height(lines) - 2.0, node.width - 2 * PADDING, mark)
    svg.close_group()


def _gauge(svg: Svg, left: float, top: float, width: float, mark: OperatorMark) -> None:
    level = min(max(mark.level, 0.0), 1.0)
    grade = "high" if level >= HIGH_LEVEL else "middle" if level >= MIDDLE_LEVEL else "low"
    length = width - GAUGE_TEXT
    svg.rect(left, top, length, GAUGE, kind="gauge", radius=2)
    svg.rect(left, top, length * level, GAUGE, kind=f"gauge-{grade}", radius=2)
    svg.text(left + width, top + GAUGE, share(mark.level), kind="detail", anchor="end")


def _edge_kind(stream: Stream) -> tuple[str, str]:
    if isinstance(stream.grouping, Fields | PartialKey):
        return "keyed", "keyed"
    if isinstance(stream.grouping, All):
        return "copied", "copied"
    return "", "plain"


def _summary(topology: Topology, executors: Mapping[str, int] | None) -> str:
    parts = [f"{len(topology.operators)} operators", f"{len(topology.streams)} streams"]
    if executors is not None:
        total = sum(executors.get(operator.name, 1) for operator in topology.operators)
        parts.append(f"{total} executors")
    parts.append("acked" if topology.acked else "not acked")
    return " · ".join(parts)


def _header(svg: Svg, topology: Topology, executors: Mapping[str, int] | None) -> None:
    svg.text(MARGIN, MARGIN + 14, topology.name, kind="title")
    svg.text(MARGIN, MARGIN + 32, _summary(topology, executors), kind="subtitle")


def _header_width(topology: Topology, executors: Mapping[str, int] | None) -> float:
    return max(
        text_width(topology.name, 17, bold=True), text_width(_summary(topology, executors), 12)
    )
