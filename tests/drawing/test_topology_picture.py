"""Pictures of topologies: what is said of an operator beside its parallelism."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.drawing.svg import Svg, text_width
from streamgauge.drawing.topology_picture import (
    OperatorMark,
    TopologyDrawing,
    draw_topology,
    without_ackers,
)
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def topology() -> Topology:
    return Topology(
        name="two",
        operators=(
            Operator(name="in", kind=OperatorKind.SOURCE),
            Operator(name="out"),
        ),
        streams=(Stream(source="in", target="out", grouping=Shuffle()),),
    )


def picture(topology: Topology, **how: object) -> ElementTree.Element:
    return ElementTree.fromstring(draw_topology(topology, **how))


def of_class(drawn: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in drawn.iter() if name in one.get("class", "").split()]


def test_a_gauge_is_filled_to_its_level_and_says_it(topology):
    drawn = picture(topology, marks={"out": OperatorMark(level=0.25, line="10 tuples/s")})
    [gauge], [filled] = of_class(drawn, "gauge"), of_class(drawn, "gauge-low")
    part = float(filled.get("width", "")) / float(gauge.get("width", ""))
    assert part == pytest.approx(0.25, abs=0.01)
    said = [one.text for one in drawn.iter(f"{SVG}text")]
    assert {"25.0 %", "10 tuples/s"} <= set(said)


@pytest.mark.parametrize(("level", "grade"), [(0.0, "low"), (0.75, "middle"), (1.7, "high")])
def test_a_gauge_is_coloured_by_its_level_and_never_overflows(topology, level, grade):
    drawn = picture(topology, marks={"out": OperatorMark(level=level)})
    [gauge], [filled] = of_class(drawn, "gauge"), of_class(drawn, f"gauge-{grade}")
    assert float(filled.get("width", "")) <= float(gauge.get("width", ""))


def test_an_alarm_stands_out_with_its_word(topology):
    drawn = picture(topology, marks={"out": OperatorMark(level=1.0, alarm="saturated")})
    assert len(of_class(drawn, "alarm")) == 1
    assert [one.text for one in of_class(drawn, "alarm-word")] == ["saturated"]


def test_without_marks_nothing_changes(topology):
    assert draw_topology(topology) == draw_topology(topology, marks={})
    unknown = {"out": OperatorMark(level=math.nan)}
    assert not of_class(picture(topology, marks=unknown), "gauge")


def test_an_embedded_picture_leaves_title_and_style_to_its_page(topology):
    text = draw_topology(topology, embedded=True)
    assert "<style" not in text
    assert not of_class(ElementTree.fromstring(text), "title")


def test_a_tinted_box_has_the_colour_of_its_gauge_and_words_on_paper(topology):
    mark = OperatorMark(level=0.95, flag="bottleneck", alarm="overloaded")
    svg = Svg()
    TopologyDrawing(topology, marks={"out": mark}, tinted=True).draw(svg, 0.0, 0.0)
    drawn = ElementTree.fromstring(svg.render(1.0, 1.0, title="t"))
    [tint] = [one for one in of_class(drawn, "gauge-high") if "faint" in one.get("class", "")]
    boxes = [one for one in of_class(drawn, "box") if one.get("width") == tint.get("width")]
    assert len(boxes) == 1
    # One plate below the stream's label, and one for each word.
    assert len(of_class(drawn, "plate")) == 3


def test_what_is_singled_out_has_a_second_outline_round_its_box(topology):
    drawn = picture(topology, marks={"out": OperatorMark(flag="bottleneck")})
    [around] = of_class(drawn, "mark")
    [flagged] = [
        group
        for group in drawn.iter(f"{SVG}g")
        if "bottleneck" in [one.text for one in group.iter(f"{SVG}text")]
    ]
    box = next(one for one in flagged.iter(f"{SVG}rect") if "box" in one.get("class", ""))
    assert float(around.get("x", "")) < float(box.get("x", ""))
    assert float(around.get("width", "")) > float(box.get("width", ""))


def test_lines_come_in_their_order_below_the_parallelism(topology):
    mark = OperatorMark(parallelism="1 → 2 executors", line="a", more=("b", "c"), flag="d")
    said = [one.text for one in picture(topology, marks={"out": mark}).iter(f"{SVG}text")]
    start = said.index("out")
    assert said[start : start + 6] == ["out", "1 → 2 executors", "a", "b", "c", "d"]


def test_a_gauge_says_what_it_is_told_to_say(topology):
    drawn = picture(topology, marks={"out": OperatorMark(level=1.0, level_text="over 100 %")})
    said = [one.text for one in drawn.iter(f"{SVG}text")]
    assert "over 100 %" in said
    assert "100 %" not in said


@given(st.lists(st.text("abcdef ", min_size=1, max_size=60), min_size=1, max_size=4))
def test_every_line_fits_its_box(topology, lines):
    mark = OperatorMark(level=0.5, level_text=lines[0], flag=lines[0], more=tuple(lines))
    drawing = TopologyDrawing(topology, marks={"out": mark})
    width, height = drawing.sizes["out"]
    assert all(text_width(line, 11) < width for line in lines)
    assert text_width(mark.flag, 11, bold=True) < width
    assert height > 15.0 * (3 + len(lines))


def test_least_sizes_hold_for_small_boxes_only(topology):
    alone = TopologyDrawing(topology).sizes
    larger = TopologyDrawing(topology, sizes={"in": (500.0, 10.0)}).sizes
    assert larger["in"] == (500.0, alone["in"][1])
    assert larger["out"] == alone["out"]


def test_ackers_are_left_out_with_their_streams(topology):
    acked = replace(topology, acked=True)
    assert without_ackers(acked.with_ackers(2)) == acked
