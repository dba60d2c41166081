"""Heat maps: a cell where its row and column meet, coloured by sign and size."""

import math
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.heat_maps import HeatCell, choose_look, draw_heat_map

SVG = "{http://www.w3.org/2000/svg}"
LIMITS = (0.05, 0.1, 0.25)
CELLS = {
    ("a", "x"): HeatCell(value=0.01, label="+1.0 %", title="a from x"),
    ("a", "y"): HeatCell(value=-0.4, label="−40 %", title="a from y"),
    ("b", "y"): HeatCell(value=0.07, label="+7.0 %", title="b from y", is_apart=True),
}


@pytest.fixture
def picture():
    text = draw_heat_map(
        ["a", "b"],
        ["x", "y"],
        CELLS,
        title="errors",
        row_title="profile of",
        column_title="predicted step",
        limits=LIMITS,
    )
    return ElementTree.fromstring(text)


def cells(picture):
    """Rectangle and label by what a pointer shows."""
    found = {}
    for group in picture.iter(f"{SVG}g"):
        rect, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        found[group.findtext(f"{SVG}title")] = (rect, text.text)
    return found


@pytest.mark.parametrize(
    ("value", "look"),
    [
        (0.0, "heat heat-0"),
        (-0.05, "heat heat-0"),
        (0.06, "heat heat-over-1"),
        (-0.2, "heat heat-under-2"),
        (math.inf, "heat heat-over-3"),
        (math.nan, "heat heat-none"),
    ],
)
def test_sign_and_size_choose_the_colour(value, look):
    assert choose_look(value, LIMITS) == look


def test_cells_stand_where_row_and_column_meet(picture):
    found = cells(picture)
    places = {name: (float(r.get("x")), float(r.get("y"))) for name, (r, _) in found.items()}
    assert places["a from x"][1] == places["a from y"][1] < places["b from y"][1]
    assert places["a from x"][0] < places["a from y"][0] == places["b from y"][0]


def test_every_cell_says_its_error(picture):
    assert {name: label for name, (_, label) in cells(picture).items()} == {
        "a from x": "+1.0 %",
        "a from y": "−40 %",
        "b from y": "+7.0 %",
    }


def test_cells_that_are_apart_have_no_colour(picture):
    rect, _ = cells(picture)["b from y"]
    assert "heat-apart" in rect.get("class")
    assert "heat-over" not in rect.get("class")


def test_everything_lies_inside_the_picture(picture):
    width, height = (float(picture.get(name)) for name in ("width", "height"))
    for rect in picture.iter(f"{SVG}rect"):
        if rect.get("x") is not None:
            assert float(rect.get("x")) + float(rect.get("width")) <= width
            assert float(rect.get("y")) + float(rect.get("height")) <= height


def test_a_map_without_cells_is_a_picture_too():
    text = draw_heat_map(
        [], [], {}, title="t", row_title="r", column_title="c", limits=LIMITS, embedded=True
    )
    assert text.startswith("<svg")
