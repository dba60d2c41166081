"""Layered layout: symmetry, few crossings, nothing on top of anything else."""

import random
from collections.abc import Sequence
from itertools import combinations, pairwise, permutations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.drawing.layered.crossings import count_crossings
from streamgauge.drawing.layered.graph import (
    Box,
    Layout,
    Link,
    PlacedNode,
    Point,
    RoutedEdge,
    Spacing,
)
from streamgauge.drawing.layered.layout import lay_out
from streamgauge.drawing.layered.routes import svg_path

LABEL_HEIGHT = Spacing().label_height


def drawn(*edges: str, label_width: float = 0.0) -> Layout:
    """Lays out edges written as "a-b", boxes of 60 by 30 in order of appearance."""
    ends = [tuple(edge.split("-")) for edge in edges]
    boxes = [
        Box(id=name, width=60, height=30)
        for name in dict.fromkeys(e for pair in ends for e in pair)
    ]
    links = [Link(source=a, target=b, label_width=label_width) for a, b in ends]
    return lay_out(boxes, links)


def by_id(layout: Layout) -> dict[str, PlacedNode]:
    return {node.id: node for node in layout.nodes}


def heights(layout: Layout, ids: str) -> list[float]:
    nodes = by_id(layout)
    return [nodes[name].y for name in ids.split()]


def layers(layout: Layout) -> dict[str, int]:
    return {node.id: node.layer for node in layout.nodes}


def on_curve(edge: RoutedEdge, steps: int = 12) -> list[Point]:
    """Points along the edge by De Casteljau's rule."""
    found = []
    for start in range(0, len(edge.points) - 1, 3):
        for step in range(steps + 1):
            level: Sequence[Point] = edge.points[start : start + 4]
            t = step / steps
            while len(level) > 1:
                level = [
                    (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])) for a, b in pairwise(level)
                ]
            found.append(level[0])
    return found


def boxes_overlap(a: PlacedNode, b: PlacedNode) -> bool:
    apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6
    apart_y = abs(a.y - b.y) >= (a.height + b.height) / 2 - 1e-6
    return not (apart_x or apart_y)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Link]]:
    """Small graphs with cycles, self-loops, parallel links and lone nodes."""
    count = draw(st.integers(1, 9))
    size = st.sampled_from([20.0, 40.0, 90.0])
    boxes = [Box(id=f"n{k}", width=draw(size), height=draw(size)) for k in range(count)]
    end = st.integers(0, count - 1).map("n{}".format)
    link = st.builds(Link, source=end, target=end, label_width=st.sampled_from([0.0, 30.0, 120.0]))
    return boxes, draw(st.lists(link, max_size=16))


def test_a_chain_is_a_straight_line() -> None:
    layout = drawn("a-b", "b-c", "c-d")
    assert len(set(heights(layout, "a b c d"))) == 1
    assert {y for edge in layout.edges for _, y in edge.points} == {15.0}


def test_a_diamond_is_symmetric() -> None:
    layout = drawn("a-b", "a-c", "b-d", "c-d")
    a, b, c, d = heights(layout, "a b c d")
    assert a == d == (b + c) / 2
    assert c - b == 30 + Spacing().node_gap


@pytest.mark.parametrize("children", [2, 3, 4, 5])
def test_a_parent_is_centred_on_its_children(children: int) -> None:
    layout = drawn(*(f"p-c{k}" for k in range(children)))
    (parent, *below) = heights(layout, "p " + " ".join(f"c{k}" for k in range(children)))
    assert parent == pytest.approx((below[0] + below[-1]) / 2)


def test_every_parent_of_a_tree_is_centred_on_its_children() -> None:
    layout = drawn("r-p", "r-q", "p-a", "p-b", "p-c", "q-d", "q-e")
    r, p, q, a, c, d, e = heights(layout, "r p q a c d e")
    assert (p, q, r) == pytest.approx(((a + c) / 2, (d + e) / 2, (p + q) / 2))


def test_three_sources_and_three_sinks_are_centred_on_their_hub() -> None:
    layout = drawn("s-h", "t-h", "u-h", "h-x", "h-y", "h-z")
    s, t, u, h, x, y, z = heights(layout, "s t u h x y z")
    assert t == h == y
    assert u - t == t - s == z - y == y - x


def test_a_long_edge_is_straight_between_its_first_and_last_gap() -> None:
    layout = drawn("a-b", "b-c", "c-d", "d-e", "a-e")
    long = layout.edges[4].points
    assert len({y for x, y in long[3:-3]}) == 1


def test_a_side_source_sits_right_before_its_consumer() -> None:
    assert layers(drawn("a-b", "b-c", "c-d", "side-d"))["side"] == 2


def test_a_side_chain_moves_as_one() -> None:
    layer = layers(drawn("a-b", "b-c", "c-d", "d-e", "s-t", "t-e"))
    assert (layer["s"], layer["t"]) == (2, 3)


def test_a_cycle_is_broken_where_it_returns_to_the_first_node() -> None:
    layout = drawn("a-b", "b-c", "c-a")
    assert [edge.reversed for edge in layout.edges] == [False, False, True]
    assert layers(layout) == {"a": 0, "b": 1, "c": 2}


def test_a_feedback_edge_leaves_on_the_right_and_enters_on_the_left() -> None:
    layout = drawn("a-b", "b-c", "c-a")
    back, nodes = layout.edges[2], by_id(layout)
    assert back.points[0] == (nodes["c"].x + 30, nodes["c"].y)
    assert back.points[-1] == (nodes["a"].x - 30, nodes["a"].y)


def test_an_unconnected_part_starts_below_the_first() -> None:
    layout = drawn("a-b", "x-y")
    a, b, x, y = heights(layout, "a b x y")
    assert a == b
    assert x == y == a + 30 + Spacing().part_gap


def test_lone_nodes_share_rows_no_wider_than_the_widest_part() -> None:
    boxes = [Box(id=name, width=60, height=30) for name in "abwxyz"]
    layout = lay_out(boxes, [Link(source="a", target="b", label_width=60)])
    assert heights(layout, "w x") == [85.0, 85.0]
    assert max(node.x + node.width / 2 for node in layout.nodes) <= layout.width


def test_a_gap_is_wide_enough_for_its_longest_label() -> None:
    nodes = by_id(drawn("a-b", label_width=200))
    assert (nodes["b"].x - 30) - (nodes["a"].x + 30) >= 200


def test_labels_of_parallel_links_lie_apart() -> None:
    layout = drawn("a-b", "a-b", "a-b", label_width=50)
    ys = sorted(edge.label[1] for edge in layout.edges)
    assert all(lower - upper >= LABEL_HEIGHT for upper, lower in pairwise(ys))


def test_a_picture_without_nodes_is_empty() -> None:
    assert lay_out([], []) == Layout(nodes=(), edges=(), width=0.0, height=0.0, crossings=0)


def test_an_unknown_end_is_named() -> None:
    with pytest.raises(ValueError, match="link 0 names unknown box 'b'"):
        lay_out([Box(id="a", width=1, height=1)], [Link(source="a", target="b")])


def test_an_id_given_twice_is_named() -> None:
    with pytest.raises(ValueError, match="'a' occurs twice"):
        lay_out([Box(id="a", width=1, height=1)] * 2, [])


def test_an_svg_path_joins_cubic_curves() -> None:
    assert svg_path([(0, 1), (2, 1), (2, 3), (4, 3)]) == "M0.0,1.0 C2.0,1.0 2.0,3.0 4.0,3.0"


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_has_no_crossings_whatever_the_order_of_its_edges(seed: int) -> None:
    chance = random.Random(seed)
    edges = [f"n{chance.randrange(child)}-n{child}" for child in range(1, 40)]
    chance.shuffle(edges)
    flipped = ["-".join(reversed(edge.split("-"))) for edge in edges]
    assert drawn(*edges).crossings == drawn(*flipped).crossings == 0


@pytest.mark.parametrize(("left", "right"), [(2, 2), (3, 3), (3, 4), (4, 4)])
def test_a_complete_bipartite_graph_has_its_known_number_of_crossings(
    left: int, right: int
) -> None:
    layout = drawn(*(f"l{a}-r{b}" for a in range(left) for b in range(right)))
    assert layout.crossings == comb(left, 2) * comb(right, 2)


def small_layered_graph(seed: int) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Three rows of two to four nodes; every node has a neighbour in each adjacent row."""
    chance = random.Random(seed)
    rows = [[f"{row}{k}" for k in range(chance.randint(2, 4))] for row in "abc"]
    edges = set()
    for left, right in pairwise(rows):
        edges |= {(u, chance.choice(right)) for u in left}
        edges |= {(chance.choice(left), v) for v in right}
        edges |= {(u, v) for u in left for v in right if chance.random() < 0.3}
    return rows, sorted(edges)


def geometric_crossings(segments: Sequence[tuple[int, int]]) -> int:
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(segments, 2))


@pytest.mark.parametrize("seed", range(25))
def test_crossings_are_the_fewest_over_all_orders(seed: int) -> None:
    rows, edges = small_layered_graph(seed)
    fewest = None
    for order in product(*(list(permutations(row)) for row in rows)):
        place = {name: k for row in order for k, name in enumerate(row)}
        crossings = sum(
            geometric_crossings([(place[u], place[v]) for u, v in edges if u in row])
            for row in order
        )
        fewest = crossings if fewest is None else min(fewest, crossings)
    assert drawn(*(f"{u}-{v}" for u, v in edges)).crossings == fewest


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 3)), max_size=30))
def test_counted_crossings_equal_those_of_every_pair(segments: list[tuple[int, int, int]]) -> None:
    copies = [(left, right) for left, right, weight in segments for _ in range(weight)]
    assert count_crossings(segments) == geometric_crossings(copies)


@given(graphs())
def test_boxes_never_overlap_and_stay_inside_the_picture(
    graph: tuple[list[Box], list[Link]],
) -> None:
    layout = lay_out(*graph)
    assert not any(boxes_overlap(a, b) for a, b in combinations(layout.nodes, 2))
    for node in layout.nodes:
        assert node.width / 2 <= node.x + 1e-6 <= layout.width - node.width / 2 + 2e-6
        assert node.height / 2 <= node.y + 1e-6 <= layout.height - node.height / 2 + 2e-6


@given(graphs())
def test_edges_run_from_right_border_to_left_border(graph: tuple[list[Box], list[Link]]) -> None:
    layout = lay_out(*graph)
    nodes = by_id(layout)
    for edge in layout.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        assert edge.points[0][0] == pytest.approx(source.x + source.width / 2)
        assert edge.points[-1][0] == pytest.approx(target.x - target.width / 2)
        assert abs(edge.points[0][1] - source.y) <= source.height / 2
        assert abs(edge.points[-1][1] - target.y) <= target.height / 2


@given(graphs())
def test_every_edge_but_feedback_goes_from_left_to_right(
    graph: tuple[list[Box], list[Link]],
) -> None:
    layout = lay_out(*graph)
    layer = layers(layout)
    for edge in layout.edges:
        assert edge.reversed == (layer[edge.source] >= layer[edge.target])
        if not edge.reversed:
            assert all(a[0] <= b[0] for a, b in pairwise(edge.points))


@settings(max_examples=60)
@given(graphs())
def test_edges_and_labels_keep_off_the_boxes(graph: tuple[list[Box], list[Link]]) -> None:
    layout = lay_out(*graph)
    for edge in layout.edges:
        width = graph[1][edge.index].label_width
        spots = [(x, y, 0.0, 0.0) for x, y in on_curve(edge)]
        spots += [(*edge.label, width, LABEL_HEIGHT)] if width else []
        for node in layout.nodes:
            for x, y, w, h in spots:
                beside = abs(x - node.x) >= (w + node.width) / 2 - 1e-6
                assert beside or abs(y - node.y) >= (h + node.height) / 2 - 1e-6


@given(graphs())
def test_equal_input_gives_an_equal_picture(graph: tuple[list[Box], list[Link]]) -> None:
    boxes, links = graph
    assert lay_out(boxes, links) == lay_out(list(boxes), list(links))


def test_a_chain_of_five_thousand_with_feedback_needs_no_deep_stack() -> None:
    edges = [f"{k}-{k + 1}" for k in range(5_000)]
    layout = drawn(*edges, "5000-0")
    assert layout.crossings == 0
    assert layers(layout)["5000"] == 5_000
