"""Layered graphs as text: boxes in columns, joined by orthogonal lines.

Layers, orders and rows come from the same layout as the pictures. Between two columns lies a gap,
which is routed like a channel on a circuit board: every left end owns one vertical track, tracks
are ordered for few crossings, and lines that would lie on each other take a detour. Where lines of
different edges cross, the vertical one stays whole (``─│─``); ``┼`` always means a joint.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streamgauge.drawing.layered.graph import Arrangement, Box, Link, Spacing
from streamgauge.drawing.layered.layers import feedback_links
from streamgauge.drawing.layered.layout import arrange
from streamgauge.drawing.wording import char_width, text_width

_LEFT, _RIGHT, _UP, _DOWN = 1, 2, 4, 8
_LINES = " ╴╶─╵┘└┴╷┐┌┬│┤├┼"
_ASCII_LINES = " ---|+++|+++|+++"
_OVERLAP = 1_000
_LABEL_LIMITS = (1_000_000, 24, 18, 14, 10, 7, 0)
_ROWS = Spacing(node_gap=1.0, edge_gap=2.0, layer_gap=3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextNode:
    """A node and the lines of text in its box."""

    id: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdge:
    """An edge; its label is shown if there is a free stretch of line for it.

    One that is meant to run back is drawn so, and breaks the cycles it is part of.
    """

    source: str
    target: str
    label: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hop:
    """One edge's way across one gap, from a vertex on the left to one on the right."""

    wire: int
    left: int
    right: int


@dataclass(slots=True, kw_only=True)
class _Trunk:
    """The vertical line of all hops with the same left vertex.

    Attributes:
        ins: Rows of the lines that leave the trunk to the left.
        outs: Rows of the lines that leave it to the right.
        detours: Row to use instead, for rows in outs that another edge needs further left.
    """

    ins: set[int] = field(default_factory=set)
    outs: set[int] = field(default_factory=set)
    detours: dict[int, int] = field(default_factory=dict)
    track: int = 0

    @property
    def rows(self) -> set[int]:
        return self.ins | {self.detours.get(row, row) for row in self.outs}


@dataclass(slots=True, kw_only=True)
class _Plan:
    """One connected part before it is drawn.

    Vertices are those of the arrangement, then one per feedback edge for its lane below the boxes.
    Gap g lies left of layer g.
    """

    part: Arrangement
    nodes: Sequence[TextNode]
    row: list[int]
    gaps: list[list[_Hop]]
    labels: dict[int, str]
    lanes: dict[int, int]
    trunks: list[dict[int, _Trunk]] = field(default_factory=list)


class Canvas:
    """A grid of cells that joins the lines drawn on it."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        self._ascii = ascii_only
        self._walls: dict[tuple[int, int], int] = defaultdict(int)
        self._flat: dict[tuple[int, int], int] = defaultdict(int)
        self._upright: dict[tuple[int, int], int] = defaultdict(int)
        self._flat_owners: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._upright_owners: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._texts: dict[tuple[int, int], str] = {}

    def box(self, row: int, column: int, width: int, lines: Sequence[str]) -> None:
        """Draws a box with centred text; the width includes the border."""
        right, bottom = column + width - 1, row + len(lines) + 1
        for x in range(column, right):
            for y in (row, bottom):
                self._walls[y, x] |= _RIGHT
                self._walls[y, x + 1] |= _LEFT
        for y in range(row, bottom):
            for x in (column, right):
                self._walls[y, x] |= _DOWN
                self._walls[y + 1, x] |= _UP
        for y, line in enumerate(lines, start=row + 1):
            self.text(y, column + (width - text_width(line)) // 2, line)

    def line(self, owner: int, row: int, column: int, to_row: int, to_column: int) -> None:
        """Draws a level or an upright line; lines that share an owner join where they meet."""
        first, last = sorted((column, to_column))
        for x in range(first, last):
            self._flat[row, x] |= _RIGHT
            self._flat[row, x + 1] |= _LEFT
        for x in range(first, last + 1) if first < last else ():
            self._flat_owners[row, x].add(owner)
        first, last = sorted((row, to_row))
        for y in range(first, last):
            self._upright[y, column] |= _DOWN
            self._upright[y + 1, column] |= _UP
        for y in range(first, last + 1) if first < last else ():
            self._upright_owners[y, column].add(owner)

    def text(self, row: int, column: int, text: str) -> None:
        """Writes text over whatever is there; a wide character takes two cells."""
        cell = (row, column)
        for char in text:
            width = char_width(char)
            shown = char if char.isprintable() and (char.isascii() or not self._ascii) else "?"
            if not width and cell[1] > column:
                last = (row, cell[1] - 1) if self._texts[row, cell[1] - 1] else (row, cell[1] - 2)
                self._texts[last] += shown
                continue
            self._texts[cell] = shown
            if width == 2:
                self._texts[row, cell[1] + 1] = "?" if self._ascii else ""
            cell = (row, cell[1] + max(1, width))

    def arrow(self, row: int, column: int) -> None:
        """Puts an arrow head that points right."""
        self._texts[row, column] = ">" if self._ascii else "▶"

    def render(self) -> str:
        """The drawing as lines of text without trailing blanks."""
        cells = {*self._walls, *self._flat, *self._upright, *self._texts}
        height = max((row for row, _ in cells), default=-1) + 1
        width = max((column for _, column in cells), default=-1) + 1
        rows = ("".join(self._cell(row, x) for x in range(width)) for row in range(height))
        return "\n".join(row.rstrip() for row in rows)

    def _cell(self, row: int, column: int) -> str:
        at = (row, column)
        if at in self._texts:
            return self._texts[at]
        flat, upright = self._flat.get(at, 0), self._upright.get(at, 0)
        meets = not self._flat_owners.get(at, set()).isdisjoint(self._upright_owners.get(at, set()))
        if flat and upright and not meets:
            flat = 0
        return (_ASCII_LINES if self._ascii else _LINES)[self._walls.get(at, 0) | flat | upright]


def draw_graph(
    nodes: Sequence[TextNode],
    edges: Sequence[TextEdge],
    *,
    max_width: int | None,
    ascii_only: bool = False,
) -> str | None:
    """Draws a graph from left to right, feedback edges below it.

    Long labels are dropped first when space is short. Parallel edges share one line and join their
    labels.

    Returns:
        The drawing, or None if it does not fit into ``max_width`` cells.

    Raises:
        ValueError: If two nodes share an id or an edge names an unknown node.
    """
    plans = _plan(nodes, edges)
    for limit in _LABEL_LIMITS:
        blocks = [_draw_part(plan, limit, ascii_only=ascii_only) for plan in plans]
        width = max((text_width(line) for block in blocks for line in block.split("\n")), default=0)
        if max_width is None or width <= max_width:
            return "\n\n".join(blocks)
    return None


def _plan(nodes: Sequence[TextNode], edges: Sequence[TextEdge]) -> list[_Plan]:
    boxes = [Box(id=node.id, width=1.0, height=_odd_height(node)) for node in nodes]
    labels: dict[tuple[str, str, bool], dict[str, None]] = defaultdict(dict)
    for edge in edges:
        joined = labels[edge.source, edge.target, edge.back]
        joined.update({edge.label: None} if edge.label else {})
    links = [Link(source=source, target=target, back=back) for source, target, back in labels]
    texts = [", ".join(names) for names in labels.values()]
    back = feedback_links(boxes, links)
    forward = [link for number, link in enumerate(links) if number not in back]
    forward_texts = [text for number, text in enumerate(texts) if number not in back]
    plans = []
    for part in arrange(boxes, forward, spacing=_ROWS):
        home = {nodes[box].id: v for v, box in enumerate(part.boxes)}
        loops = [
            (home[links[number].source], home[links[number].target], texts[number])
            for number in sorted(back)
            if links[number].source in home
        ]
        plans.append(_plan_part(part, nodes, forward_texts, loops))
    return plans


def _odd_height(node: TextNode) -> float:
    """Rows of a box, made odd so that all distances between centres are whole numbers."""
    return float((max(1, len(node.lines)) + 2) | 1)


def _plan_part(
    part: Arrangement,
    nodes: Sequence[TextNode],
    texts: Sequence[str],
    loops: Sequence[tuple[int, int, str]],
) -> _Plan:
    # Rounding down keeps whole distances; the nudge undoes floating-point noise.
    row = [math.floor(y + 1e-6) for y in part.y]
    highest = min(row[v] - _lines_above(nodes[box]) for v, box in enumerate(part.boxes))
    highest = min(highest, *row)
    row = [place - highest for place in row]
    layer = {v: level for level, vertices in enumerate(part.layers) for v in vertices}
    gaps: list[list[_Hop]] = [[] for _ in range(len(part.layers) + 1)]
    labels = {}
    for wire, route in enumerate(part.routes):
        labels[wire] = texts[route.links[0]]
        for left, right in pairwise(route.path):
            gaps[layer[right]].append(_Hop(wire=wire, left=left, right=right))
    bottom = max(
        row[v] - _lines_above(nodes[box]) + max(1, len(nodes[box].lines)) + 1
        for v, box in enumerate(part.boxes)
    )
    bottom = max(bottom, *row) + 1
    lanes = {}
    inner_first = sorted(loops, key=lambda loop: layer[loop[0]] - layer[loop[1]])
    for wire, (source, target, text) in enumerate(inner_first, start=len(part.routes)):
        lane = len(row)
        row.append(bottom + wire - len(part.routes))
        labels[wire], lanes[wire] = text, lane
        gaps[layer[source] + 1].append(_Hop(wire=wire, left=source, right=lane))
        gaps[layer[target]].append(_Hop(wire=wire, left=lane, right=target))
    plan = _Plan(part=part, nodes=nodes, row=row, gaps=gaps, labels=labels, lanes=lanes)
    plan.trunks = [_route_gap(hops, row, set(lanes.values())) for hops in gaps]
    return plan


def _lines_above(node: TextNode) -> int:
    """Rows of a box above the row where edges meet it, which is a row of text."""
    return (max(1, len(node.lines)) + 1) // 2


def _route_gap(hops: Sequence[_Hop], row: Sequence[int], lanes: set[int]) -> dict[int, _Trunk]:
    """A trunk with its track for every left vertex that has a line to another row."""
    trunks: dict[int, _Trunk] = defaultdict(_Trunk)
    for hop in hops:
        trunk = trunks[hop.left]
        (trunk.outs if hop.left in lanes else trunk.ins).add(row[hop.left])
        (trunk.ins if hop.right in lanes else trunk.outs).add(row[hop.right])
    upright = {left: trunk for left, trunk in trunks.items() if len(trunk.rows) > 1}
    order = _order_trunks(list(upright.values()))
    used = {row[v] for hop in hops for v in (hop.left, hop.right)} | {row[v] for v in lanes}
    for place, trunk in enumerate(order):
        for later in order[place + 1 :]:
            for level in sorted(trunk.outs & later.ins):
                if level not in trunk.detours:
                    trunk.detours[level] = _free_row(level, used)
    for place, trunk in enumerate(order):
        earlier = [other.track for other in order[:place] if _collide(other, trunk)]
        trunk.track = max(earlier, default=-1) + 1
    return upright


def _order_trunks(trunks: list[_Trunk]) -> list[_Trunk]:
    """Left to right: each trunk moves to its cheapest place until none gains."""
    cost = {(id(a), id(b)): _conflicts(a, b) for a in trunks for b in trunks if a is not b}
    order = trunks[:]
    for _ in range(len(trunks)):
        changed = False
        for trunk in trunks:
            rest = [other for other in order if other is not trunk]
            # Passing one neighbour to the right changes the cost by the swap of that pair alone.
            totals = [sum(cost[id(trunk), id(other)] for other in rest)]
            for other in rest:
                swap = cost[id(other), id(trunk)] - cost[id(trunk), id(other)]
                totals.append(totals[-1] + swap)
            now = order.index(trunk)
            place = totals.index(min(totals))
            if totals[place] < totals[now]:
                order = [*rest[:place], trunk, *rest[place:]]
                changed = True
        if not changed:
            break
    return order


def _conflicts(left: _Trunk, right: _Trunk) -> int:
    """Crossings of two trunks in this order, overlapping lines counted as many."""
    crossings = sum(min(right.rows) <= row <= max(right.rows) for row in left.outs - right.outs)
    crossings += sum(min(left.rows) <= row <= max(left.rows) for row in right.ins)
    return crossings + _OVERLAP * len(left.outs & right.ins)


def _free_row(near: int, used: set[int]) -> int:
    """The unused row nearest to another, which is used from now on."""
    away = 1
    while True:
        for row in (near + away, near - away):
            if row >= 0 and row not in used:
                used.add(row)
                return row
        away += 1


def _collide(a: _Trunk, b: _Trunk) -> bool:
    """Whether two trunks may not share a track; they may end at their only, common target."""
    top, bottom = max(min(a.rows), min(b.rows)), min(max(a.rows), max(b.rows))
    if top == bottom and a.rows - a.ins == b.rows - b.ins == {top}:
        return False
    return top <= bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gap:
    """Columns of a gap: borders, first track, first detour and the two stretches for labels."""

    start: int
    stop: int
    tracks: int
    detours: dict[tuple[int, int], int]
    left_zone: tuple[int, int]
    right_zone: tuple[int, int]

    def column(self, trunk: _Trunk) -> int:
        return self.tracks + 2 * trunk.track


def _draw_part(plan: _Plan, limit: int, *, ascii_only: bool) -> str:
    canvas = Canvas(ascii_only=ascii_only)
    homes = {
        wire: home
        for wire, text in plan.labels.items()
        if text and text_width(text) <= limit and (home := _label_home(plan, wire))
    }
    gaps, x = [], 0
    for number in range(len(plan.gaps)):
        gap = _measure(plan, number, x, homes)
        gaps.append(gap)
        x = gap.stop
        if number < len(plan.part.layers):
            x = _draw_column(canvas, plan, number, x)
    for number, gap in enumerate(gaps):
        for hop in plan.gaps[number]:
            _draw_hop(canvas, plan, number, gap, hop)
    for wire, lane in plan.lanes.items():
        _draw_lane(canvas, plan, gaps, wire, lane)
    for wire, (number, vertex, at_left) in homes.items():
        zone = gaps[number].left_zone if at_left else gaps[number].right_zone
        _write_label(canvas, plan.labels[wire], plan.row[vertex], zone)
    return canvas.render()


def _label_home(plan: _Plan, wire: int) -> tuple[int, int, bool] | None:
    """Gap, vertex and side of a line that no other edge shares; lanes are seen to elsewhere."""
    if wire in plan.lanes:
        return None
    for number, hops in enumerate(plan.gaps):
        for hop in hops:
            if hop.wire != wire:
                continue
            if sum(other.left == hop.left for other in hops) == 1:
                return number, hop.left, True
            if sum(other.right == hop.right for other in hops) == 1:
                return number, hop.right, False
    return None


def _measure(plan: _Plan, number: int, start: int, homes: dict[int, tuple[int, int, bool]]) -> _Gap:
    trunks = plan.trunks[number]
    hops = plan.gaps[number]
    zones = {True: 0, False: 0}
    for wire, (gap, _, at_left) in homes.items():
        if gap == number:
            zones[at_left] = max(zones[at_left], text_width(plan.labels[wire]) + 2 + bool(trunks))
    leaves = any(hop.left < len(plan.row) - len(plan.lanes) for hop in hops)
    arrives = any(hop.right < len(plan.row) - len(plan.lanes) for hop in hops)
    tracks = start + leaves + zones[True]
    after = tracks + 2 * (max((trunk.track for trunk in trunks.values()), default=-1) + 1)
    rerouted = [(left, level) for left, trunk in trunks.items() for level in trunk.detours]
    detours = {key: after + 2 * place for place, key in enumerate(rerouted)}
    last = after + 2 * len(rerouted)
    last -= last > tracks
    stop = last + zones[False] + 2 * arrives
    return _Gap(
        start=start,
        stop=stop,
        tracks=tracks,
        detours=detours,
        left_zone=(start + 1, tracks - bool(trunks)),
        right_zone=(last + bool(trunks), stop - 1),
    )


def _draw_column(canvas: Canvas, plan: _Plan, level: int, x: int) -> int:
    """Draws a layer's boxes and the edges that pass it; gives the column after it."""
    boxes = {v: plan.nodes[plan.part.boxes[v]] for v in plan.part.layers[level] if _is_box(plan, v)}
    widest = max(text_width(line) for node in boxes.values() for line in node.lines or ("",))
    width = widest + 4
    for v, node in boxes.items():
        canvas.box(plan.row[v] - _lines_above(node), x, width, node.lines or ("",))
    for wire, route in enumerate(plan.part.routes):
        for v in route.path:
            if v in plan.part.layers[level] and not _is_box(plan, v):
                canvas.line(wire, plan.row[v], x, plan.row[v], x + width - 1)
    return x + width


def _is_box(plan: _Plan, v: int) -> bool:
    return v < len(plan.part.boxes)


def _draw_hop(canvas: Canvas, plan: _Plan, number: int, gap: _Gap, hop: _Hop) -> None:
    row, to_row = plan.row[hop.left], plan.row[hop.right]
    lanes = plan.lanes.values()
    trunk = plan.trunks[number].get(hop.left)
    x = gap.column(trunk) if trunk else gap.start
    if hop.left not in lanes:
        canvas.line(hop.wire, row, gap.start - 1, row, x)
    via = trunk.detours.get(to_row, to_row) if trunk else to_row
    canvas.line(hop.wire, row, x, via, x)
    if via != to_row:
        aside = gap.detours[hop.left, to_row]
        canvas.line(hop.wire, via, x, via, aside)
        canvas.line(hop.wire, via, aside, to_row, aside)
        x = aside
    if hop.right in lanes:
        return
    # Lines overlap the next column by one cell where an edge passes it, so that they join.
    end = gap.stop - 1 if _is_box(plan, hop.right) else gap.stop
    canvas.line(hop.wire, to_row, x, to_row, end)
    if _is_box(plan, hop.right):
        canvas.arrow(to_row, gap.stop - 1)


def _draw_lane(canvas: Canvas, plan: _Plan, gaps: Sequence[_Gap], wire: int, lane: int) -> None:
    ends: list[int] = []
    for gap, hops, trunks in zip(gaps, plan.gaps, plan.trunks, strict=True):
        ends += [gap.column(trunks[hop.left]) for hop in hops if hop.wire == wire]
    row = plan.row[lane]
    canvas.line(wire, row, min(ends), row, max(ends))
    _write_label(canvas, plan.labels[wire], row, (min(ends) + 2, max(ends) - 1))


def _write_label(canvas: Canvas, text: str, row: int, zone: tuple[int, int]) -> None:
    """Centres a label with a blank on each side between two columns, the second excluded."""
    room = zone[1] - zone[0] - text_width(text) - 2
    if text and room >= 0:
        canvas.text(row, zone[0] + room // 2, f" {text} ")
