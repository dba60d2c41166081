"""Routes: the curve of every link and the place of its label.

Curves are cubic Béziers through the dummy vertices, as Gansner, Koutsofios, North and Vo (1993)
draw edges by splines, but level wherever they enter or leave a layer. Labels choose among a few
points of their curve in turn, after the discrete gradient descent of Christensen, Marks and Shieber
(1995).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from streamgauge.drawing.layered.columns import TURN, TURN_STEP, Sheet, turning_room
from streamgauge.drawing.layered.graph import LOOP_PITCH, PlacedNode, Point, Spacing

# Reach of the first self-loop of a box in turns: it lies inside the turns of feedback edges.
_LOOP_REACH = 0.8
# Height from a box to its first self-loop, in label heights: half a label, the rest is free. With
# LOOP_PITCH the last label then ends within the height that the loops claim in their layer.
_LOOP_DROP = 0.9
# Where a label may lie, as shares of the free width of its gap: the middle first, then ever further
# out on both sides in steps of about an eighth, up to the ends.
_LABEL_STOPS = (0.0, -0.13, 0.13, -0.25, 0.25, -0.37, 0.37, -0.5, 0.5)
# Free width at each end of a label, and between two of them.
_LABEL_CLEARANCE = 4.0
# Free height between two labels; Spacing.lane, the pitch of parallel links, leaves twice as much.
_LABEL_LEADING = 1.0
# Rounds in which every label answers the others' choices. On 60 random graphs the first takes away
# nearly all overlap, the second the rest of what can be had; the third is a reserve.
_LABEL_ROUNDS = 3
# Halvings of a curve in search of an x: a millionth of the curve, far below what can be seen.
_HALVINGS = 20


def svg_path(points: Sequence[Point]) -> str:
    """The ``d`` attribute of an SVG path through an edge's points."""
    x, y = points[0]
    curves = " ".join(f"{px:.1f},{py:.1f}" for px, py in points[1:])
    return f"M{x:.1f},{y:.1f} C{curves}"


def trace_routes(sheet: Sheet) -> dict[int, tuple[Point, ...]]:
    """Control points of the curve of every link of a part."""
    curves: dict[int, tuple[Point, ...]] = {}
    for at, route in enumerate(sheet.part.routes):
        for lane, index in enumerate(route.links):
            curves[index] = _trace(sheet, at, lane)
    return curves


def _trace(sheet: Sheet, number: int, lane: int) -> tuple[Point, ...]:
    """Control points of one link of a route."""
    route = sheet.part.routes[number]
    source, target = sheet.nodes[route.source], sheet.nodes[route.target]
    if route.source == route.target:
        return _loop(source, lane, sheet.space)
    offset = (lane - (len(route.links) - 1) / 2) * sheet.space.lane
    start = (source.x + source.width / 2, sheet.ports[route.links[lane], True])
    stop = (target.x - target.width / 2, sheet.ports[route.links[lane], False])
    leave = (sheet.right[sheet.layer[route.source]], start[1])
    arrive = (sheet.left[sheet.layer[route.target]], stop[1])
    if route.feedback:
        return _trace_back(sheet, number, offset, (start, leave, arrive, stop))
    stops = [start, leave]
    for v in route.path[1:-1]:
        y = sheet.part.y[v] + offset
        stops += [(sheet.left[sheet.layer[v]], y), (sheet.right[sheet.layer[v]], y)]
    level = abs(leave[1] - arrive[1]) < sheet.space.lane
    if len(route.path) == 2 and len(route.links) > 1 and level:
        # Ports of a small box are too close for labels, so parallel links bow apart half-way.
        middle = sum(sheet.ports[index, end] for index in route.links for end in (True, False))
        height = middle / 2 / len(route.links) + offset
        stops.append(((leave[0] + arrive[0]) / 2, height))
    return _smooth([*stops, arrive, stop])


def _trace_back(
    sheet: Sheet, number: int, offset: float, ends: tuple[Point, Point, Point, Point]
) -> tuple[Point, ...]:
    start, leave, arrive, stop = ends
    route = sheet.part.routes[number]
    ys = [sheet.part.y[v] for v in route.path]
    # Parallel links nest when each swaps sides on the way round.
    nesting = offset / sheet.space.lane * TURN_STEP
    back = []
    for v, y in zip(reversed(route.path), reversed(ys), strict=True):
        level, height = sheet.layer[v], y - offset
        back += [(sheet.right[level], height), (sheet.left[level], height)]
    out = sheet.turns[number, True] - (nesting if ys[-1] > leave[1] else -nesting)
    home = sheet.turns[number, False] - (nesting if ys[0] > arrive[1] else -nesting)
    turn_out = ((leave[0] + out, leave[1]), (leave[0] + out, back[0][1]))
    turn_home = ((arrive[0] - home, back[-1][1]), (arrive[0] - home, arrive[1]))
    return (
        *_smooth([start, leave]),
        *turn_out,
        *_smooth(back),
        *turn_home,
        *_smooth([arrive, stop]),
    )


def _loop(node: PlacedNode, lane: int, space: Spacing) -> tuple[Point, ...]:
    right, left = node.x + node.width / 2, node.x - node.width / 2
    low = node.y + node.height / 2 + (_LOOP_DROP + LOOP_PITCH * lane) * space.label_height
    reach = min(TURN * _LOOP_REACH + TURN_STEP * lane, space.layer_gap / 2)
    return (
        *((right, node.y), (right + reach, node.y), (right + reach, low)),
        *_smooth([(right, low), (left, low)]),
        *((left - reach, low), (left - reach, node.y), (left, node.y)),
    )


def _smooth(stops: Sequence[Point]) -> tuple[Point, ...]:
    """Curves through the stops that are level at every stop; repeated stops are dropped."""
    points = [stops[0]]
    for stop in stops[1:]:
        (x, y), (to_x, to_y) = points[-1], stop
        if (x, y) != stop:
            points += [((x + to_x) / 2, y), ((x + to_x) / 2, to_y), stop]
    return tuple(points)


def place_labels(sheet: Sheet, curves: dict[int, tuple[Point, ...]]) -> dict[int, Point]:
    """Label centres on their curves, clear of boxes and, where possible, of each other."""
    # The second of a self-loop's three curves is its level stretch.
    labels = {index: points[4] for index, points in curves.items() if index not in sheet.gaps}
    by_gap: dict[int, list[int]] = defaultdict(list)
    for index in sorted(sheet.gaps):
        by_gap[sheet.gaps[index]].append(index)
    room = turning_room(sheet.part, sheet.layer, sheet.turns)
    for gap, indices in by_gap.items():
        low = sheet.right[gap] + room[gap][0]
        high = sheet.left[gap + 1] - room[gap][1]
        choices = {
            index: _label_choices(curves[index], sheet.links[index].label_width, low, high)
            for index in indices
        }
        labels.update(_spread(choices, sheet))
    return labels


def _label_choices(points: Sequence[Point], width: float, low: float, high: float) -> list[Point]:
    """Points on the curve where a label stays between two borders, the middle first."""
    slack = max(0.0, high - low - width - 2 * _LABEL_CLEARANCE)
    centre = (low + high) / 2
    for p, q, r, s in zip(points[::3], points[1::3], points[2::3], points[3::3], strict=False):
        if min(p[0], s[0]) <= centre <= max(p[0], s[0]):
            return [_on_curve((p, q, r, s), centre + slack * stop) for stop in _LABEL_STOPS]
    raise AssertionError("an edge leaves the gap of its label uncrossed")


def _on_curve(curve: tuple[Point, Point, Point, Point], x: float) -> Point:
    """The point of a cubic that is monotone in x, by bisection."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        s = 1 - t
        at = s * s * s * x0 + 3 * s * s * t * x1 + 3 * s * t * t * x2 + t * t * t * x3
        if (at < x) == (x0 < x3):
            low = t
        else:
            high = t
    return x, s * s * s * y0 + 3 * s * s * t * y1 + 3 * s * t * t * y2 + t * t * t * y3


def _spread(choices: dict[int, list[Point]], sheet: Sheet) -> dict[int, Point]:
    """Picks one point per label by repeated best response."""
    height = sheet.space.label_height
    widths = {index: sheet.links[index].label_width for index in choices}
    picked = {index: points[0] for index, points in choices.items()}

    def overlap(index: int, at: Point) -> float:
        total = 0.0
        for other, (x, y) in picked.items():
            if other != index and widths[other]:
                wide = (widths[index] + widths[other]) / 2 + _LABEL_CLEARANCE - abs(at[0] - x)
                total += max(0.0, wide) * max(0.0, height + _LABEL_LEADING - abs(at[1] - y))
        return total

    for _ in range(_LABEL_ROUNDS):
        for index, points in choices.items():
            if widths[index]:
                costs = [(overlap(index, point), rank) for rank, point in enumerate(points)]
                picked[index] = points[min(costs)[1]]
    return picked
