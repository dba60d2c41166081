"""Text drawings: exact pictures of small graphs, and lines that lead where they should."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.drawing.canvas import Canvas, TextEdge, TextNode, draw_graph
from streamgauge.drawing.wording import text_width

LINKS = {"─": "LR", "│": "UD", "┌": "RD", "┐": "LD", "└": "RU", "┘": "LU"}
LINKS |= {"├": "RUD", "┤": "LUD", "┬": "LRD", "┴": "LRU", "┼": "LRUD", "▶": "L"}
STEPS = {"L": (0, -1), "R": (0, 1), "U": (-1, 0), "D": (1, 0)}
OPPOSITE = {"L": "R", "R": "L", "U": "D", "D": "U"}


def drawn(*edges: str, max_width: int | None = None, ascii_only: bool = False) -> str | None:
    """Draws edges written as "a-b" or "a-b:label"."""
    parsed = []
    for edge in edges:
        ends, _, label = edge.partition(":")
        source, target = ends.split("-")
        parsed.append(TextEdge(source=source, target=target, label=label))
    names = dict.fromkeys(name for edge in parsed for name in (edge.source, edge.target))
    nodes = [TextNode(id=name, lines=(name,)) for name in names]
    return draw_graph(nodes, parsed, max_width=max_width, ascii_only=ascii_only)


def picture(text: str) -> str:
    """A picture from an indented literal."""
    lines = text.strip("\n").split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[indent:].rstrip() for line in lines).rstrip()


def traced(drawing: str, names: Sequence[str]) -> set[tuple[str, str]]:
    """Edges found by following lines from each box's right side to arrow heads."""
    cells = {
        (row, column): char
        for row, line in enumerate(drawing.split("\n"))
        for column, char in enumerate(line)
    }
    homes = {
        (row, column): name
        for name in names
        for (row, column), char in cells.items()
        if all(cells.get((row, column + k)) == letter for k, letter in enumerate(name))
    }
    found = set()
    for (row, column), name in homes.items():
        port = (row, column + len(name))
        while cells.get(port) not in {"│", "├"}:
            port = (port[0], port[1] + 1)
        if cells[port] == "├":
            found |= {(name, homes[end]) for end in _ends(cells, port, homes)}
    return found


def _ends(
    cells: dict[tuple[int, int], str], port: tuple[int, int], homes: dict[tuple[int, int], str]
) -> set[tuple[int, int]]:
    """Places of the names that can be reached by line from a port."""
    ends, seen, walk = set(), set(), [(port, "R")]
    while walk:
        (row, column), heading = walk.pop()
        at = (row + STEPS[heading][0], column + STEPS[heading][1])
        char = cells[at]
        if (at, heading) in seen or char == " ":
            continue
        seen.add((at, heading))
        if char == "▶":
            ends.add(min(home for home in homes if home[0] == at[0] and home[1] > at[1]))
        elif char == "│" and heading in "LR":
            walk.append((at, heading))
        elif char not in LINKS:
            continue
        elif OPPOSITE[heading] in LINKS[char]:
            walk += [(at, way) for way in LINKS[char] if way != OPPOSITE[heading]]
    return ends


@st.composite
def edge_lists(draw: st.DrawFn, *, spare: str = "") -> tuple[list[str], set[tuple[str, str]]]:
    """Names and edges; with spare "in" or "out" every node has at most one such edge."""
    names = [f"n{k}" for k in range(draw(st.integers(1, 8)))]
    end = st.sampled_from(names)
    pairs = draw(st.lists(st.tuples(end, end), max_size=14))
    if spare:
        pairs = list({pair[spare == "in"]: pair for pair in pairs}.values())
    return names, set(pairs)


def draw_pairs(names: Sequence[str], pairs: set[tuple[str, str]]) -> str:
    nodes = [TextNode(id=name, lines=(name,)) for name in names]
    edges = [TextEdge(source=source, target=target) for source, target in sorted(pairs)]
    drawing = draw_graph(nodes, edges, max_width=None)
    assert drawing is not None
    return drawing


def test_a_chain_shows_its_labels_on_the_line() -> None:
    assert drawn("spout-split:shuffle", "split-sink") == picture("""
        ┌───────┐            ┌───────┐   ┌──────┐
        │ spout ├─ shuffle ─▶│ split ├──▶│ sink │
        └───────┘            └───────┘   └──────┘
    """)


def test_a_diamond_is_symmetric() -> None:
    assert drawn("a-b", "a-c", "b-d", "c-d") == picture("""
                 ┌───┐
              ┌─▶│ b ├─┐
        ┌───┐ │  └───┘ │  ┌───┐
        │ a ├─┤        ├─▶│ d │
        └───┘ │  ┌───┐ │  └───┘
              └─▶│ c ├─┘
                 └───┘
    """)


def test_fan_in_and_fan_out_share_one_trunk_each() -> None:
    assert drawn("s-h", "t-h", "u-h", "h-x:all", "h-y", "h-z:k") == picture("""
        ┌───┐                   ┌───┐
        │ s ├─┐        ┌─ all ─▶│ x │
        └───┘ │        │        └───┘
              │        │
        ┌───┐ │  ┌───┐ │        ┌───┐
        │ t ├─┼─▶│ h ├─┼───────▶│ y │
        └───┘ │  └───┘ │        └───┘
              │        │
        ┌───┐ │        │        ┌───┐
        │ u ├─┘        └── k ──▶│ z │
        └───┘                   └───┘
    """)


def test_feedback_runs_back_below_the_drawing() -> None:
    assert drawn("a-b", "b-c", "c-a:retry") == picture("""
           ┌───┐   ┌───┐   ┌───┐
        ┌─▶│ a ├──▶│ b ├──▶│ c ├─┐
        │  └───┘   └───┘   └───┘ │
        └──────── retry ─────────┘
    """)


def test_a_self_loop_runs_round_its_box() -> None:
    assert drawn("a-a") == picture("""
           ┌───┐
        ┌─▶│ a ├─┐
        │  └───┘ │
        └────────┘
    """)


def test_lines_of_two_sources_with_the_same_targets_cross_without_joining() -> None:
    assert drawn("a-c", "a-d", "b-c", "b-d") == picture("""
        ┌───┐        ┌───┐
        │ a ├─┬─┬───▶│ c │
        └───┘ │ │    └───┘
              │ │
        ┌───┐ │ │    ┌───┐
        │ b ├─│─┴─┬─▶│ d │
        └───┘ └───┘  └───┘
    """)


def test_a_long_edge_passes_beside_the_boxes() -> None:
    assert drawn("a-b", "b-c", "a-c:late") == picture("""
                        ┌───┐
        ┌───┐ ┌────────▶│ b ├─┐  ┌───┐
        │ a ├─┤         └───┘ ├─▶│ c │
        └───┘ │               │  └───┘
              └─ late ────────┘
    """)


def test_parts_are_stacked() -> None:
    assert drawn("a-b", "x-y") == picture("""
        ┌───┐   ┌───┐
        │ a ├──▶│ b │
        └───┘   └───┘

        ┌───┐   ┌───┐
        │ x ├──▶│ y │
        └───┘   └───┘
    """)


def test_parallel_edges_share_a_line_and_join_their_labels() -> None:
    assert drawn("a-b:x", "a-b:y", "a-b:x") == picture("""
        ┌───┐         ┌───┐
        │ a ├─ x, y ─▶│ b │
        └───┘         └───┘
    """)


def test_ascii_uses_no_other_characters() -> None:
    assert drawn("a-b", "a-ü", "b-a", ascii_only=True) == picture("""
                    +---+
                 +->| b +-+
           +---+ |  +---+ |
        +->| a +-+        |
        |  +---+ |  +---+ |
        |        +->| ? | |
        |           +---+ |
        +-----------------+
    """)


def test_boxes_of_one_and_two_lines_meet_at_the_first_line() -> None:
    nodes = [TextNode(id="a", lines=("a", "8 tasks")), TextNode(id="b", lines=("b",))]
    edges = [TextEdge(source="a", target="b")]
    assert draw_graph(nodes, edges, max_width=None) == picture("""
        ┌─────────┐   ┌───┐
        │    a    ├──▶│ b │
        │ 8 tasks │   └───┘
        └─────────┘
    """)


def test_wide_characters_take_two_cells() -> None:
    nodes = [TextNode(id="a", lines=("日本", "abcde"))]
    drawing = draw_graph(nodes, [], max_width=None)
    assert drawing is not None
    assert {text_width(line) for line in drawing.split("\n")} == {9}


def test_a_combining_accent_takes_no_cell() -> None:
    assert text_width("e\u0301") == 1
    assert draw_graph([TextNode(id="a", lines=("e\u0301",))], [], max_width=5) is not None


def test_labels_give_way_before_the_drawing_does() -> None:
    assert drawn("a-b:shuffle", max_width=13) == picture("""
        ┌───┐   ┌───┐
        │ a ├──▶│ b │
        └───┘   └───┘
    """)


def test_a_drawing_that_does_not_fit_is_none() -> None:
    assert drawn("a-b", max_width=12) is None


def test_no_nodes_give_an_empty_drawing() -> None:
    assert draw_graph([], [], max_width=10) == ""


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(ValueError, match="unknown box 'b'"):
        draw_graph(
            [TextNode(id="a", lines=("a",))], [TextEdge(source="a", target="b")], max_width=None
        )


@pytest.mark.parametrize(("owner", "middle"), [(1, "┼"), (2, "│")])
def test_crossing_lines_join_only_if_they_share_an_owner(owner: int, middle: str) -> None:
    canvas = Canvas()
    canvas.line(1, 1, 0, 1, 2)
    canvas.line(owner, 0, 1, 2, 1)
    assert canvas.render().split("\n")[1] == f"╶{middle}╴"


@given(edge_lists(), st.booleans(), st.none() | st.integers(5, 80))
def test_every_name_appears_once_within_the_width(
    graph: tuple[list[str], set[tuple[str, str]]], ascii_only: bool, max_width: int | None
) -> None:
    names, pairs = graph
    nodes = [TextNode(id=name, lines=(name, "8 tasks")) for name in names]
    edges = [TextEdge(source=a, target=b, label=f"key {a[1:]}") for a, b in sorted(pairs)]
    drawing = draw_graph(nodes, edges, max_width=max_width, ascii_only=ascii_only)
    if drawing is None:
        assert max_width is not None
        return
    assert all(drawing.count(name) == 1 for name in names)
    assert max_width is None or max(map(text_width, drawing.split("\n"))) <= max_width


@given(edge_lists())
def test_every_edge_can_be_followed_to_its_target(
    graph: tuple[list[str], set[tuple[str, str]]],
) -> None:
    names, pairs = graph
    drawing = draw_pairs(names, pairs)
    assert traced(drawing, names) >= pairs
    assert all(drawing.count(name) == 1 for name in names)


@settings(max_examples=200)
@given(edge_lists(spare="out") | edge_lists(spare="in"))
def test_lines_lead_nowhere_else_where_nodes_have_one_edge_in_or_out(
    graph: tuple[list[str], set[tuple[str, str]]],
) -> None:
    names, pairs = graph
    assert traced(draw_pairs(names, pairs), names) == pairs
