"""A topology as a picture: operators in layers, parallelism on them, groupings between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from streamgauge.drawing.layered.graph import Box, Link, PlacedNode, Point
from streamgauge.drawing.layered.layout import lay_out
from streamgauge.drawing.layered.routes import svg_path
from streamgauge.drawing.svg import GAUGES, MARGIN, STYLE, Svg, arrow, shorten, text_width
from streamgauge.drawing.wording import HIGH_LEVEL, MIDDLE_LEVEL, format_share
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
OUTLINE = 5.0

_WORDS = ("mark-label", "alarm-word")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorMark:
    """What is shown of an operator in addition to its parallelism.

    Attributes:
        level: From 0 to 1, drawn as a gauge and written in per cent; no gauge when NaN.
        level_text: Text next to the gauge instead of the per cent.
        parallelism: Text instead of the numbers of executors and tasks.
        line: A few words below the parallelism.
        more: Further lines below it.
        flag: Why it is marked; its box then has a second, dashed outline.
        alarm: A word on what is wrong with it; its box is then highlighted.
    """

    level: float = math.nan
    level_text: str = ""
    parallelism: str = ""
    line: str = ""
    more: tuple[str, ...] = ()
    flag: str = ""
    alarm: str = ""


Marks = Mapping[str, OperatorMark]
Size = tuple[float, float]

MARKERS = (arrow("plain", "#66737f"), arrow("keyed", "#a8571c"), arrow("copied", "#7a3fa0"))


class TopologyDrawing:
    """A topology laid out, to be drawn anywhere in a picture that brings `MARKERS`.

    Args:
        topology: With or without its ackers; ack streams are drawn where it has them.
        executors: Executors per operator; without them only tasks are shown.
        marks: What else to say of operators, by name.
        tinted: Whether boxes have the colour of their level.
        sizes: Minimum sizes of boxes by name, for drawings with equal boxes.
    """

    def __init__(
        self,
        topology: Topology,
        executors: Mapping[str, int] | None = None,
        marks: Marks | None = None,
        *,
        tinted: bool = False,
        sizes: Mapping[str, Size] | None = None,
    ) -> None:
        self._topology, self._tinted = topology, tinted
        self._sinks = {op.name for op in topology.sinks}
        given = marks or {}
        self._marks = {op.name: given.get(op.name, OperatorMark()) for op in topology.operators}
        self._lines = {
            op.name: _lines(op, executors, self._marks[op.name]) for op in topology.operators
        }
        least = sizes or {}
        self.sizes = {
            name: _largest(self._own_size(name), least.get(name, (0.0, 0.0)))
            for name in self._lines
        }
        self._labels = [edge_label(stream) for stream in topology.streams]
        self._layout = lay_out(
            [Box(id=name, width=size[0], height=size[1]) for name, size in self.sizes.items()],
            [
                Link(
                    source=stream.source,
                    target=stream.target,
                    label_width=text_width(label, 10.5),
                    # Streams back from ackers: ackers are drawn right of all that send to them.
                    back=stream.source == ACKER,
                )
                for stream, label in zip(topology.streams, self._labels, strict=True)
            ],
        )

    @property
    def width(self) -> float:
        """Without a margin, which a dashed outline reaches into."""
        return self._layout.width

    @property
    def height(self) -> float:
        """Without a margin, which a dashed outline reaches into."""
        return self._layout.height

    def _own_size(self, name: str) -> Size:
        lines, mark = self._lines[name], self._marks[name]
        return (
            max(_width(lines), _words_width(mark), _gauge_width(mark)),
            _height(lines) + _gauge_height(mark),
        )

    def draw(self, svg: Svg, left: float, top: float) -> None:
        """All of it, from its upper left corner."""
        streams, edges = self._topology.streams, self._layout.edges
        for stream, edge in zip(streams, edges, strict=True):
            points = [(x + left, y + top) for x, y in edge.points]
            kind, marker = _edge_kind(stream)
            svg.path(
                svg_path(points),
                kind=f"edge {kind} {'feedback' if edge.reversed else ''}".strip(),
                marker=marker,
                title=f"{stream.source} → {stream.target}: {edge_label(stream)}",
            )
        for operator, node in zip(self._topology.operators, self._layout.nodes, strict=True):
            self._node(svg, operator, node, (left, top))
        for label, edge in zip(self._labels, edges, strict=True):
            x, y = edge.label[0] + left, edge.label[1] + top
            _plate(svg, x, y, text_width(label, 10.5))
            svg.text(x, y + 3.5, label, kind="label", anchor="middle")

    def _node(self, svg: Svg, operator: Operator, node: PlacedNode, origin: Point) -> None:
        lines, mark = self._lines[operator.name], self._marks[operator.name]
        left = origin[0] + node.x - node.width / 2
        top = origin[1] + node.y - node.height / 2
        is_sink = operator.name in self._sinks
        kind = "sink" if is_sink else str(operator.kind)
        tinted = self._tinted and not math.isnan(mark.level)
        svg.open_group(title=f"{operator.name}: {kind}, {operator.tasks} tasks")
        frame = (left, top, node.width, node.height)
        svg.rect(*frame, kind="box" if tinted else f"box {kind}", radius=6)
        if tinted:
            svg.rect(*frame, kind=f"gauge-{_grade(mark.level)} faint", radius=6)
        # Sources and sinks are also told apart without colour: a bar where tuples enter or leave.
        if operator.kind is OperatorKind.SOURCE:
            svg.rect(left, top, BAR, node.height, kind="bar-source", radius=2)
        elif is_sink:
            svg.rect(left + node.width - BAR, top, BAR, node.height, kind="bar-sink", radius=2)
        if mark.alarm:
            svg.rect(*frame, kind="alarm", radius=6)
        if mark.flag:
            dashed_outline(svg, *frame)
        # What is less high than its box, for the sake of others, stands in its middle.
        top += (node.height - self._own_size(operator.name)[1]) / 2
        centre = left + node.width / 2
        for index, (line, look) in enumerate(_looks(lines, mark, tinted=tinted)):
            y = top + PADDING + 6.0 + index * LINE
            if tinted and look in _WORDS:
                _plate(svg, centre, y - 4.0, text_width(line, 11, bold=True))
            svg.text(centre, y, line, kind=look, anchor="middle")
        if not math.isnan(mark.level):
            detail = "label" if tinted else "detail"
            width = node.width - 2 * PADDING
            _gauge(svg, left + PADDING, top + _height(lines) - 2.0, width, mark, detail)
        svg.close_group()


def draw_topology(
    topology: Topology,
    executors: Mapping[str, int] | None = None,
    *,
    marks: Marks | None = None,
    embedded: bool = False,
) -> str:
    """The topology as an SVG; a page that it is embedded in brings title and style.

    The other arguments are those of `TopologyDrawing`.
    """
    drawing = TopologyDrawing(topology, executors, marks)
    svg = Svg()
    header = 0.0 if embedded else HEADER
    if not embedded:
        _header(svg, topology, executors)
    drawing.draw(svg, MARGIN, MARGIN + header)
    return svg.render(
        max(drawing.width, 0.0 if embedded else _header_width(topology, executors)) + 2 * MARGIN,
        drawing.height + header + 2 * MARGIN,
        title=f"topology {topology.name}",
        markers=MARKERS,
        style=STYLE + GAUGES if marks else STYLE,
        embedded=embedded,
    )


def dashed_outline(svg: Svg, left: float, top: float, width: float, height: float) -> None:
    """Round about a box that is singled out."""
    svg.rect(
        left - OUTLINE,
        top - OUTLINE,
        width + 2 * OUTLINE,
        height + 2 * OUTLINE,
        kind="mark",
        radius=6 + OUTLINE,
    )


def without_ackers(topology: Topology) -> Topology:
    """The topology as its user declared it."""
    return replace(
        topology,
        operators=tuple(op for op in topology.operators if op.kind is not OperatorKind.ACKER),
        streams=topology.data_streams,
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
    lines = [
        shorten(operator.name, LONGEST_NAME),
        mark.parallelism or parallelism(operator, executors),
    ]
    if operator.window is not None:
        lines.append(f"window {operator.window.describe()}")
    return lines + [line for line in (mark.line, *mark.more, mark.flag, mark.alarm) if line]


def _looks(lines: list[str], mark: OperatorMark, *, tinted: bool) -> Iterator[tuple[str, str]]:
    """Each line with how it looks: the name, details, and at the end why to look at it."""
    words = [look for look, word in (("mark-label", mark.flag), ("alarm-word", mark.alarm)) if word]
    details = len(lines) - 1 - len(words)
    # What is written on a colour has to be darker, or on a dark page lighter, than on none.
    looks = ["name", *["label" if tinted else "detail"] * details, *words]
    return zip(lines, looks, strict=True)


def _width(lines: list[str]) -> float:
    name = text_width(lines[0], 13, bold=True)
    details = max(text_width(line, 11) for line in lines[1:])
    return max(name, details) + 2 * PADDING + BAR


def _words_width(mark: OperatorMark) -> float:
    return max(text_width(word, 11, bold=True) for word in (mark.flag, mark.alarm)) + 2 * PADDING


def _height(lines: list[str]) -> float:
    return len(lines) * LINE + PADDING + 4.0


def _largest(one: Size, other: Size) -> Size:
    return max(one[0], other[0]), max(one[1], other[1])


def _gauge_text_width(mark: OperatorMark) -> float:
    return max(GAUGE_TEXT, text_width(mark.level_text, 11) + 8.0 if mark.level_text else 0.0)


def _gauge_width(mark: OperatorMark) -> float:
    if math.isnan(mark.level):
        return 0.0
    return 2 * PADDING + GAUGE_LENGTH + _gauge_text_width(mark)


def _gauge_height(mark: OperatorMark) -> float:
    return 0.0 if math.isnan(mark.level) else GAUGE + 6.0


def _grade(level: float) -> str:
    return "high" if level >= HIGH_LEVEL else "middle" if level >= MIDDLE_LEVEL else "low"


def _gauge(svg: Svg, left: float, top: float, width: float, mark: OperatorMark, look: str) -> None:
    level = min(max(mark.level, 0.0), 1.0)
    length = width - _gauge_text_width(mark)
    svg.rect(left, top, length, GAUGE, kind="gauge", radius=2)
    svg.rect(left, top, length * level, GAUGE, kind=f"gauge-{_grade(level)}", radius=2)
    level_text = mark.level_text or format_share(mark.level)
    svg.text(left + width, top + GAUGE, level_text, kind=look, anchor="end")


def _plate(svg: Svg, x: float, y: float, width: float) -> None:
    """Paper below a line of text, which is centred there."""
    svg.rect(x - width / 2 - 2, y - 7, width + 4, 14, kind="plate", radius=3)


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
