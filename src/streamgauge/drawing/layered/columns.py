"""Columns: how wide layers and the gaps between them are, and where links meet their boxes.

A layer is as wide as its widest box. A gap is widened for its labels, for the turns of feedback
edges, and where edges would be too steep, for which Gansner, Koutsofios, North and Vo (1993) widen
it too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.drawing.layered.graph import Arrangement, Box, Link, PlacedNode, Spacing

# Reach of the innermost turn of a feedback edge: a little less than half the default layer gap,
# for a round bend that adds little width.
TURN = 22.0
# Distance between nested turns: half the default label height.
TURN_STEP = 7.0
# Least width of a gap per height of its tallest bend, up to two layer gaps: a bend is no steeper
# than four to one on average unless it is very tall.
_SLANT = 0.25
# Share of a box's side over which parallel links spread; its corners stay free.
_PORT_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One part with the places its edges run between.

    Attributes:
        nodes: Placed box of every vertex that is one.
        gaps: Gap that holds the label of a link; gap g is right of layer g.
        turns: How far a route's turn, (route, at source), reaches into its gap.
        ports: Height of a link's end, (link, at source).
        left: Left border of every layer.
        right: Right border of every layer.
    """

    part: Arrangement
    links: Sequence[Link]
    space: Spacing
    layer: dict[int, int]
    gaps: dict[int, int]
    turns: dict[tuple[int, bool], float]
    ports: dict[tuple[int, bool], float]
    nodes: dict[int, PlacedNode]
    left: list[float]
    right: list[float]


def plan_columns(
    boxes: Sequence[Box], links: Sequence[Link], part: Arrangement, number: int, space: Spacing
) -> Sheet:
    """Places everything of a part but its curves and labels; number is the part's own."""
    layer = {v: level for level, row in enumerate(part.layers) for v in row}
    gaps = _label_gaps(links, part, layer)
    turns = _turns(part, layer)
    left, right = _columns(boxes, links, part, layer, gaps=gaps, turns=turns, space=space)
    return Sheet(
        part=part,
        links=links,
        space=space,
        layer=layer,
        gaps=gaps,
        turns=turns,
        ports=_ports(boxes, part, space),
        nodes=_place_nodes(boxes, part, number, left, right),
        left=left,
        right=right,
    )


def _label_gaps(links: Sequence[Link], part: Arrangement, layer: dict[int, int]) -> dict[int, int]:
    """The gap for every label: where it fits without widening, then where few others are."""
    room, taken = [0.0] * len(part.layers), [0] * len(part.layers)
    spans = {
        index: range(layer[route.path[0]], layer[route.path[-1]])
        for route in part.routes
        for index in route.links
        if route.path
    }
    gaps = {}
    for index in sorted(spans, key=lambda index: (len(spans[index]), index)):
        width, span = links[index].label_width, spans[index]
        middle = (span[0] + span[-1]) / 2
        gap = min(
            span, key=lambda g: (max(0.0, width - room[g]), width and taken[g], abs(g - middle), g)
        )
        room[gap] = max(room[gap], width)
        taken[gap] += width > 0
        gaps[index] = gap
    return gaps


def _turns(part: Arrangement, layer: dict[int, int]) -> dict[tuple[int, bool], float]:
    """Reach of every feedback turn, short turns nested inside tall ones."""
    tall: dict[tuple[int, bool], list[tuple[float, int]]] = defaultdict(list)
    for number, route in enumerate(part.routes):
        for at_source in (False, True) if route.path and route.feedback else ():
            end = route.source if at_source else route.target
            beside = part.y[route.path[-1 if at_source else 0]]
            tall[layer[end], at_source].append((abs(part.y[end] - beside), number))
    return {
        (number, at_source): TURN + TURN_STEP * (rank + len(part.routes[number].links) - 1)
        for (_, at_source), turns in tall.items()
        for rank, (_, number) in enumerate(sorted(turns))
    }


def _columns(
    boxes: Sequence[Box],
    links: Sequence[Link],
    part: Arrangement,
    layer: dict[int, int],
    *,
    gaps: dict[int, int],
    turns: dict[tuple[int, bool], float],
    space: Spacing,
) -> tuple[list[float], list[float]]:
    """Left and right border of every layer."""
    width, crowd, room, rise = ([0.0] * len(part.layers) for _ in range(4))
    for v, box in enumerate(part.boxes):
        width[layer[v]] = max(width[layer[v]], boxes[box].width)
    for route in part.routes:
        for v, w in pairwise(route.path):
            crowd[layer[v]] += len(route.links)
            rise[layer[v]] = max(rise[layer[v]], abs(part.y[v] - part.y[w]))
        for index in () if route.path else route.links:
            at = layer[route.source]
            width[at] = max(width[at], links[index].label_width)
    for index, gap in gaps.items():
        room[gap] = max(room[gap], links[index].label_width)
    turning = turning_room(part, layer, turns)
    left, right = [0.0], [width[0]]
    for gap in range(len(part.layers) - 1):
        free = max(space.layer_gap, room[gap] + 2 * space.label_margin) if crowd[gap] else 0.0
        # Tall bends look like walls unless they have some width.
        free = max(free, min(_SLANT * rise[gap], 2 * space.layer_gap))
        free += space.crowding * max(0.0, crowd[gap] - 1)
        left.append(right[gap] + free + sum(turning[gap]))
        right.append(left[-1] + width[gap + 1])
    return left, right


def turning_room(
    part: Arrangement, layer: dict[int, int], turns: dict[tuple[int, bool], float]
) -> list[tuple[float, float]]:
    """Width that turns take at the left and at the right of every gap."""
    room = [(0.0, 0.0) for _ in part.layers]
    for (number, at_source), reach in turns.items():
        route = part.routes[number]
        gap = layer[route.source] if at_source else layer[route.target] - 1
        near, far = room[gap]
        room[gap] = (max(near, reach), far) if at_source else (near, max(far, reach))
    return room


def _place_nodes(
    boxes: Sequence[Box],
    part: Arrangement,
    number: int,
    left: Sequence[float],
    right: Sequence[float],
) -> dict[int, PlacedNode]:
    rows = [[v for v in row if v < len(part.boxes)] for row in part.layers]
    first = next(level for level, row in enumerate(rows) if row)
    return {
        v: PlacedNode(
            id=boxes[part.boxes[v]].id,
            part=number,
            layer=level - first,
            order=order,
            x=(left[level] + right[level]) / 2,
            y=part.y[v],
            width=boxes[part.boxes[v]].width,
            height=boxes[part.boxes[v]].height,
        )
        for level, row in enumerate(rows)
        for order, v in enumerate(row)
    }


def _ports(
    boxes: Sequence[Box], part: Arrangement, space: Spacing
) -> dict[tuple[int, bool], float]:
    """Where links meet their boxes: all at the middle, unless some run parallel."""
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = defaultdict(list)
    for number, route in enumerate(part.routes):
        if route.path:
            away, home = (-1, 0) if route.feedback else (1, -2)
            sides[route.source, True].append((part.y[route.path[away]], number))
            sides[route.target, False].append((part.y[route.path[home]], number))
    ports = {}
    for (v, at_source), routes in sides.items():
        links = [index for _, number in sorted(routes) for index in part.routes[number].links]
        last = len(links) - 1
        fan = last + 1 > len(routes)
        step = min(space.lane, _PORT_SHARE * boxes[part.boxes[v]].height / max(1, last)) * fan
        for slot, index in enumerate(links):
            ports[index, at_source] = part.y[v] + (slot - last / 2) * step
    return ports
