"""The same topology on several plans: alike, apart from each other, and explained."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.side_by_side import WIDEST_EMBEDDED, Panel, draw_side_by_side
from streamgauge.drawing.topology_picture import OperatorMark
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology

SVG = "{http://www.w3.org/2000/svg}"


def chain(length: int) -> Topology:
    names = [f"operator-{n}" for n in range(length)]
    return Topology(
        name="chain",
        operators=tuple(
            Operator(name=name, kind=OperatorKind.PROCESSOR if n else OperatorKind.SOURCE)
            for n, name in enumerate(names)
        ),
        streams=tuple(
            Stream(source=one, target=other, grouping=Shuffle()) for one, other in pairwise(names)
        ),
    )


def fan(width: int) -> Topology:
    """A source and many sinks: higher than wide."""
    names = [f"sink-{n}" for n in range(width)]
    return Topology(
        name="fan",
        operators=(
            Operator(name="in", kind=OperatorKind.SOURCE),
            *(Operator(name=name) for name in names),
        ),
        streams=tuple(Stream(source="in", target=name, grouping=Shuffle()) for name in names),
    )


def panel(topology: Topology, title: str, mark: OperatorMark | None = None, **more) -> Panel:
    """All operators marked alike."""
    marks = {one.name: mark or OperatorMark(level=0.5) for one in topology.operators}
    more = {"lines": ["a caption"], **more}
    return Panel(title=title, topology=topology, executors={}, marks=marks, **more)


def drawn(*panels: Panel, **how) -> ElementTree.Element:
    return ElementTree.fromstring(draw_side_by_side(panels, title="t", **how))


def of_class(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in picture.iter() if name in one.get("class", "").split()]


def place(element: ElementTree.Element) -> tuple[float, float]:
    return float(element.get("x", "")), float(element.get("y", ""))


def operators(picture: ElementTree.Element) -> list[ElementTree.Element]:
    """Boxes of operators in the order of the panels, without the legend's."""
    return [box for group in picture.iter(f"{SVG}g") for box in of_class(group, "box")]


def titles(picture: ElementTree.Element) -> list[tuple[float, float]]:
    return [place(one) for one in of_class(picture, "title")]


def test_small_drawings_stand_beside_each_other():
    (left, top), (right, other) = titles(drawn(panel(chain(2), "one"), panel(chain(2), "two")))
    assert left < right
    assert top == other


def test_wide_drawings_stand_below_each_other():
    (left, top), (other, below) = titles(drawn(panel(chain(9), "one"), panel(chain(9), "two")))
    assert left == other
    assert top < below


def test_high_drawings_stand_beside_each_other_however_wide_that_is():
    picture = drawn(*(panel(fan(12), str(n)) for n in range(6)), embedded=True)
    assert float(picture.get("width", "")) > WIDEST_EMBEDDED
    assert len({y for _, y in titles(picture)}) == 1


@pytest.mark.parametrize("length", [2, 9])
def test_drawings_are_alike_whatever_is_written_in_them(length):
    wordy = OperatorMark(level=0.5, line="as long a line as it may be", more=("b", "c"))
    boxes = operators(drawn(panel(chain(length), "one"), panel(chain(length), "two", wordy)))
    assert len(boxes) == 2 * length
    before, after = boxes[:length], boxes[length:]
    sizes = [[(one.get("width"), one.get("height")) for one in half] for half in (before, after)]
    assert sizes[0] == sizes[1]
    moved = [
        tuple(round(a - b, 1) for a, b in zip(place(one), place(other), strict=True))
        for one, other in zip(after, before, strict=True)
    ]
    assert len(set(moved)) == 1


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("topology", [chain(1), chain(2), chain(9), fan(12)])
def test_everything_lies_inside_the_picture(topology, embedded):
    flagged = OperatorMark(level=1.2, flag="bottleneck", alarm="overloaded")
    picture = drawn(
        panel(topology, "one", flagged, flag="Bottleneck: it"),
        panel(topology, "two"),
        embedded=embedded,
    )
    width, height = float(picture.get("width", "")), float(picture.get("height", ""))
    rects = [one for one in picture.iter() if one.tag.endswith("rect") and one.get("x")]
    assert rects
    for one in rects:
        x, y = place(one)
        assert 0.0 <= x <= x + float(one.get("width", "")) <= width
        assert 0.0 <= y <= y + float(one.get("height", "")) <= height


def test_long_captions_are_wrapped_above_the_drawing():
    words = ["word"] * 60
    picture = drawn(panel(chain(1), "one", lines=[" ".join(words)]))
    lines = of_class(picture, "subtitle")
    assert len(lines) > 3
    assert " ".join(one.text or "" for one in lines).split() == words
    assert max(place(one)[1] for one in lines) < min(place(one)[1] for one in operators(picture))


def test_a_title_that_is_too_long_is_cut():
    [title] = of_class(drawn(panel(chain(1), "x" * 500)), "title")
    assert len(title.text or "") < 50
    assert (title.text or "").endswith("…")


def test_the_legend_explains_what_is_drawn_and_no_more():
    def legend(*panels: Panel) -> set[str]:
        said = {one.text or "" for one in drawn(*panels).iter(f"{SVG}text")}
        return said & {"bottleneck", "overloaded", "source", "sink", "from 70 %", "from 90 %"}

    always = {"source", "sink", "from 70 %", "from 90 %"}
    plain = panel(chain(2), "plain")
    assert legend(plain) == always
    flagged = panel(chain(2), "one", OperatorMark(level=0.5, flag="full first"))
    assert legend(plain, flagged) == always | {"bottleneck"}
    alarmed = panel(chain(2), "one", OperatorMark(level=1.0, alarm="too much"))
    assert legend(plain, alarmed) == always | {"overloaded"}


def test_arrow_heads_are_defined_once():
    picture = draw_side_by_side([panel(chain(2), "a"), panel(chain(2), "b")], title="t")
    assert picture.count('id="plain"') == 1


def test_names_cannot_break_a_picture():
    nasty = panel(chain(2), "</text><script>", flag="&<b>", lines=["<i>"])
    picture = drawn(nasty)
    assert not [one for one in picture.iter() if "script" in one.tag]
    assert [one.text for one in of_class(picture, "title")] == ["</text><script>"]


def test_an_embedded_picture_brings_no_style():
    assert "<style" not in draw_side_by_side([panel(chain(2), "a")], title="t", embedded=True)
