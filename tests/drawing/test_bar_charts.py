"""Bar charts: bars as long as their figures, parts one after the other, words for what has none."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.drawing.bar_charts import Bar, draw_bar_chart
from streamgauge.drawing.charts import WIDTH
from streamgauge.drawing.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"


def chart(*bars: Bar, **how: object) -> ElementTree.Element:
    return ElementTree.fromstring(draw_bar_chart(bars, title="t", x_title="x axis", **how))


def drawn(picture: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Where parts begin and how long they are, by what a pointer shows."""
    found = {}
    for group in picture.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        title = group.findtext(f"{SVG}title", "")
        found[title] = (float(rect.get("x", "")), float(rect.get("width", "")))
    return found


def said(picture: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in picture.iter(f"{SVG}text")]


def test_bars_are_as_long_as_their_figures():
    one, other = drawn(
        chart(
            Bar(name="a", parts={"a": 0.001}, label="1 ms"),
            Bar(name="b", parts={"b": 0.004}, label="4 ms"),
        )
    ).values()
    assert one[0] == other[0]
    assert other[1] / one[1] == pytest.approx(4.0, rel=0.01)


def test_parts_stand_one_after_the_other_with_their_share():
    picture = chart(Bar(name="a", parts={"service": 0.001, "queueing": 0.003}, label="4 ms"))
    parts = drawn(picture)
    assert set(parts) == {"a: service 1.00 ms (25.0 %)", "a: queueing 3.00 ms (75.0 %)"}
    (first, length), (second, _) = parts.values()
    assert second == pytest.approx(first + length, abs=0.1)


def test_a_part_has_one_colour_in_all_bars():
    picture = chart(
        Bar(name="a", parts={"x": 1.0, "y": 1.0}, label=""),
        Bar(name="b", parts={"y": 1.0}, label=""),
    )
    looks = [group.find(f"{SVG}rect").get("class") for group in picture.iter(f"{SVG}g")]
    assert looks[1] == looks[2] != looks[0]


def test_seven_parts_have_seven_looks():
    picture = chart(Bar(name="a", parts={str(n): 1.0 for n in range(7)}, label=""))
    looks = [group.find(f"{SVG}rect").get("class") for group in picture.iter(f"{SVG}g")]
    assert len(set(looks)) == 7


def test_a_legend_names_parts_where_there_are_several():
    parted = chart(Bar(name="a", parts={"x": 1.0, "y": 1e-6}, label=""))
    assert {"x", "y"} <= set(said(parted))
    assert "x" not in said(chart(Bar(name="a", parts={"x": 1.0}, label="")))


def test_nothing_is_drawn_of_a_part_that_is_nothing():
    picture = chart(Bar(name="a", parts={"x": 1.0, "y": 0.0, "z": 2.0}, label=""))
    assert len(drawn(picture)) == 2
    assert "y" not in said(picture)


@pytest.mark.parametrize("length", [math.inf, math.nan])
def test_what_has_no_length_has_its_word(length):
    picture = chart(
        Bar(name="a", parts={"x": length}, label="endless"),
        Bar(name="b", parts={"x": 1.0}, label="1 s"),
    )
    assert len(drawn(picture)) == 1
    assert "endless" in said(picture)
    assert "inf" not in ElementTree.tostring(picture, encoding="unicode")


def test_a_group_has_one_heading_above_its_bars():
    bars = [
        Bar(name=name, parts={name: 1.0}, label="", group=group)
        for group in ("p50", "p99")
        for name in ("a", "b")
    ]
    words = [one for one in said(chart(*bars)) if one in {"p50", "p99", "a", "b"}]
    assert words == ["p50", "a", "b", "p99", "a", "b"]


@given(
    st.lists(st.tuples(st.text("abcmw", max_size=40), st.floats(1e-6, 1e3)), min_size=1, max_size=8)
)
def test_names_bars_and_labels_stay_apart_and_inside(rows):
    bars = [Bar(name=name, parts={"x": size}, label=f"{size:.3g} ms") for name, size in rows]
    picture = chart(*bars)
    begins = {x for x, _ in drawn(picture).values()}
    assert len(begins) == 1
    [left] = begins
    height = float(picture.get("height", ""))
    for one in picture.iter(f"{SVG}text"):
        x, y = float(one.get("x", "")), float(one.get("y", ""))
        assert y < height
        width = text_width(one.text or "", 10.5)
        if one.get("text-anchor") == "end":
            assert x - width >= 0.0
            assert x < left
        elif one.get("class") == "tick" and one.get("text-anchor") == "start":
            assert x + width <= WIDTH


def test_names_cannot_break_a_chart():
    picture = chart(Bar(name="<b>", parts={"</title>": 1.0, "&": 1.0}, label="<i>"))
    assert "<b>" in said(picture)
