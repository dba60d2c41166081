"""Pictures in characters: a topology as a graph or an outline, and a figure's course as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streamgauge.drawing.canvas import TextEdge, TextNode, draw_graph
from streamgauge.drawing.svg import shorten
from streamgauge.drawing.topology_picture import edge_label
from streamgauge.topology.topology import ACKER, Topology

LONGEST_NAME = 24
# No terminal is wide enough for more, and finding that out takes time.
MANY_OPERATORS = 200
BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.:-=+*#"


def draw_text(
    topology: Topology,
    executors: Mapping[str, int] | None = None,
    *,
    width: int,
    ascii_only: bool = False,
) -> str:
    """The topology in at most `width` columns: boxes and lines, or an outline."""
    nodes = [
        TextNode(
            id=operator.name,
            lines=(
                shorten(operator.name, LONGEST_NAME),
                _parallelism(operator.name, operator.tasks, executors),
            ),
        )
        for operator in topology.operators
    ]
    edges = [
        TextEdge(
            source=stream.source,
            target=stream.target,
            label=edge_label(stream),
            back=stream.source == ACKER,
        )
        for stream in topology.streams
    ]
    if len(nodes) > MANY_OPERATORS:
        return outline(topology, executors)
    drawn = draw_graph(nodes, edges, max_width=width, ascii_only=ascii_only)
    return drawn if drawn is not None else outline(topology, executors)


def outline(topology: Topology, executors: Mapping[str, int] | None = None) -> str:
    """One line per subscription, indented below its sender; an operator is opened only once."""
    tasks = {operator.name: operator.tasks for operator in topology.operators}
    opened: set[str] = set()
    lines: list[str] = []
    # A stack, last first, since a chain may be longer than the recursion limit.
    stack = [(op.name, "", "", "") for op in reversed(topology.sources)]
    while stack:
        name, label, indent, branch = stack.pop()
        again = name in opened
        note = " (above)" if again else ""
        arrow = f"{label} → " if label else ""
        size = "" if again else f"  {_parallelism(name, tasks[name], executors)}"
        lines.append(f"{indent}{branch}{arrow}{name}{size}{note}")
        if again:
            continue
        opened.add(name)
        below = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        streams = topology.streams_from(name)
        for index in reversed(range(len(streams))):
            last = index == len(streams) - 1
            stream = streams[index]
            stack.append((stream.target, edge_label(stream), below, "└─ " if last else "├─ "))
    return "\n".join(lines)


def _parallelism(name: str, tasks: int, executors: Mapping[str, int] | None) -> str:
    return f"×{tasks if executors is None else executors.get(name, 1)}"


def draw_sparkline(values: Sequence[float | None], most: int, bars: str = BARS) -> str:
    """Values as bars of eight heights, the least one lowest; a blank where nothing is known.

    Args:
        values: From left to right.
        most: Bars at most; beyond that, several values share one.
        bars: The bars from the lowest to the highest.
    """
    step = math.ceil(len(values) / most)
    if step > 1:
        values = [_mean_of(values[at : at + step]) for at in range(0, len(values), step)]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    top = len(bars) - 1
    return "".join(
        " "
        if value is None
        else bars[round(top * (value - low) / (high - low)) if high > low else top // 2]
        for value in values
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
