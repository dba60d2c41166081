"""The steps one after another, and the drawings of unconnected parts put together.

The order of the steps is that of Sugiyama, Tagawa and Toda (1981). Parts fill rows by the next-fit
rule of Coffman, Garey, Johnson and Tarjan (1980), in input order instead of by falling height.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from streamgauge.drawing.layered.columns import Sheet, plan_columns
from streamgauge.drawing.layered.coordinates import assign_coordinates
from streamgauge.drawing.layered.crossings import order_layers
from streamgauge.drawing.layered.graph import (
    LOOP_PITCH,
    Arrangement,
    Box,
    Graph,
    Layout,
    Link,
    PlacedNode,
    Point,
    RoutedEdge,
    Spacing,
)
from streamgauge.drawing.layered.layers import (
    assign_layers,
    backward,
    closing_links,
    connected_parts,
    link_ends,
    thread_route,
)
from streamgauge.drawing.layered.routes import place_labels, trace_routes


def lay_out(
    boxes: Sequence[Box], links: Sequence[Link], *, spacing: Spacing | None = None
) -> Layout:
    """Places boxes and routes links from left to right.

    Raises:
        ValueError: If two boxes share an id or a link names an unknown box.
    """
    space = spacing or Spacing()
    parts = [
        _draw(boxes, links, arrangement, number, space)
        for number, arrangement in enumerate(arrange(boxes, links, spacing=space))
    ]
    return _stack(parts, boxes, space)


def arrange(
    boxes: Sequence[Box], links: Sequence[Link], *, spacing: Spacing
) -> tuple[Arrangement, ...]:
    """Layers, orders and vertical places of every connected part, parts in input order."""
    ends = link_ends(boxes, links)
    feedback = closing_links(len(boxes), ends, backward(links))
    return tuple(
        _arrange_part(part, boxes, ends, feedback, spacing)
        for part in connected_parts(len(boxes), ends)
    )


def _arrange_part(
    part: Sequence[int],
    boxes: Sequence[Box],
    ends: Sequence[tuple[int, int]],
    feedback: set[int],
    space: Spacing,
) -> Arrangement:
    local = {box: v for v, box in enumerate(part)}
    bundles: dict[tuple[int, int, bool], list[int]] = defaultdict(list)
    for number, (source, target) in enumerate(ends):
        if source in local:
            bundles[local[source], local[target], number in feedback].append(number)
    arcs = [(u, v, len(numbers)) for (u, v, back), numbers in bundles.items() if not back]
    # A feedback edge turns in the layers next to its ends: it may need one more on the left.
    shift = any(back and u != v for u, v, back in bundles)
    layer = [level + shift for level in assign_layers(len(part), arcs)]
    widest: dict[int, int] = {}
    for (u, v, _), numbers in bundles.items():
        for end in (u, v):
            widest[end] = max(len(numbers), widest.get(end, 1))
    graph = Graph(real=len(part))
    for v, box in enumerate(part):
        loops = len(bundles.get((v, v, True), ()))
        half = boxes[box].height / 2
        reach = max(half, (widest.get(v, 1) - 1) * space.lane / 2)
        graph.add(
            layer[v], reach, reach + loops * LOOP_PITCH * space.label_height, space.node_gap / 2, v
        )
    routes = [
        thread_route(graph, u, v, tuple(numbers), back=back, space=space)
        for (u, v, back), numbers in bundles.items()
    ]
    layers, crossings = order_layers(graph)
    return Arrangement(
        boxes=tuple(part),
        layers=tuple(tuple(row) for row in layers),
        y=tuple(assign_coordinates(graph, layers)),
        routes=tuple(routes),
        crossings=crossings,
    )


def _draw(
    boxes: Sequence[Box], links: Sequence[Link], part: Arrangement, number: int, space: Spacing
) -> Layout:
    sheet = plan_columns(boxes, links, part, number, space)
    curves = trace_routes(sheet)
    return _frame(sheet, curves, place_labels(sheet, curves))


def _frame(sheet: Sheet, curves: dict[int, tuple[Point, ...]], labels: dict[int, Point]) -> Layout:
    """The part as a layout of its own, moved so that it starts at (0, 0)."""
    boxes = [(node.x, node.y, node.width, node.height) for node in sheet.nodes.values()]
    for index, (x, y) in labels.items():
        width = sheet.links[index].label_width
        boxes.append((x, y, width, sheet.space.label_height if width else 0.0))
    boxes += [(x, y, 0.0, 0.0) for points in curves.values() for x, y in points]
    left = min(x - width / 2 for x, _, width, _ in boxes)
    top = min(y - height / 2 for _, y, _, height in boxes)
    edges = (
        RoutedEdge(
            index=index,
            source=sheet.links[index].source,
            target=sheet.links[index].target,
            points=curves[index],
            reversed=route.feedback,
            label=labels[index],
        )
        for route in sheet.part.routes
        for index in route.links
    )
    return Layout(
        nodes=tuple(_move_node(node, -left, -top) for node in sheet.nodes.values()),
        edges=tuple(_move_edge(edge, -left, -top) for edge in edges),
        width=max(x + width / 2 for x, _, width, _ in boxes) - left,
        height=max(y + height / 2 for _, y, _, height in boxes) - top,
        crossings=sheet.part.crossings,
    )


def _move_node(node: PlacedNode, dx: float, dy: float) -> PlacedNode:
    return replace(node, x=node.x + dx, y=node.y + dy)


def _move_edge(edge: RoutedEdge, dx: float, dy: float) -> RoutedEdge:
    points = tuple((x + dx, y + dy) for x, y in edge.points)
    return replace(edge, points=points, label=(edge.label[0] + dx, edge.label[1] + dy))


def _stack(parts: Sequence[Layout], boxes: Sequence[Box], space: Spacing) -> Layout:
    """Parts in rows, top to bottom; a row is never wider than the widest part."""
    limit = max((part.width for part in parts), default=0.0)
    x = y = height = 0.0
    nodes: dict[str, PlacedNode] = {}
    edges: dict[int, RoutedEdge] = {}
    for part in parts:
        if x and x + part.width > limit:
            x, y, height = 0.0, y + height + space.part_gap, 0.0
        nodes.update((node.id, _move_node(node, x, y)) for node in part.nodes)
        edges.update((edge.index, _move_edge(edge, x, y)) for edge in part.edges)
        x, height = x + part.width + space.part_gap, max(height, part.height)
    return Layout(
        nodes=tuple(nodes[box.id] for box in boxes),
        edges=tuple(edges[index] for index in sorted(edges)),
        width=limit,
        height=y + height,
        crossings=sum(part.crossings for part in parts),
    )
