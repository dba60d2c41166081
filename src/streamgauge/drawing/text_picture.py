"""A topology as text: a drawn graph where the terminal is wide enough, else an outline."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.drawing.canvas import TextEdge, TextNode, draw_graph
from streamgauge.drawing.svg import shorten
from streamgauge.drawing.topology_picture import edge_label
from streamgauge.topology.topology import ACKER, Topology

LONGEST_NAME = 24
# No terminal is wide enough for more, and finding that out takes time.
MANY_OPERATORS = 200


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
