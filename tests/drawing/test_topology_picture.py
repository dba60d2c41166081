"""Pictures of topologies: what is said of an operator beside its parallelism."""

import math
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.topology_picture import OperatorMark, draw_topology
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
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
