"""Heat maps: tables of signed parts whose cells are coloured by sign and size, with labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.drawing.charts import HEADING
from streamgauge.drawing.svg import CHARTS, HEAT, STYLE, Svg, text_width
from streamgauge.drawing.wording import clip

CELL_WIDTH, CELL_HEIGHT = 68.0, 26.0
GAP = 2.0
EDGE = 8.0
LONGEST_NAME = 18
LETTER_ROOM = 1.12
LEGEND_HEIGHT = 24.0
SAMPLE = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cell.

    Attributes:
        value: Colours it: below zero blue, above orange, the darker the larger; NaN is grey.
        label: What stands in it.
        title: What a pointer over it shows.
        is_apart: Whether it is to be read with care: it is framed and grey.
    """

    value: float
    label: str
    title: str = ""
    is_apart: bool = False


def draw_heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], HeatCell],
    *,
    title: str,
    row_title: str,
    column_title: str,
    limits: tuple[float, float, float],
    embedded: bool = False,
) -> str:
    """A picture of cells by row and column, as an SVG; those that are missing stay empty.

    Args:
        rows: Names from the top.
        columns: Names from the left.
        cells: By row and column.
        title: What is shown.
        row_title: What rows are.
        column_title: What columns are.
        limits: Sizes up to which a cell is pale, light and middling; darker beyond.
        embedded: Whether the page around it brings the style.
    """
    svg = Svg()
    svg.text(4.0, 15.0, title, kind="heading")
    names = [clip(row, LONGEST_NAME) for row in (*rows, row_title)]
    left = 4.0 + max(text_width(name, 10.5) for name in names) * LETTER_ROOM + EDGE
    top = HEADING + 36.0
    svg.text(left, HEADING + 12.0, column_title, kind="tick")
    svg.text(left - EDGE, top - 8.0, row_title, kind="tick", anchor="end")
    for place, column in enumerate(columns):
        x = left + place * (CELL_WIDTH + GAP) + CELL_WIDTH / 2.0
        svg.text(x, top - 8.0, clip(column, 11), kind="tick", anchor="middle")
    for line, row in enumerate(rows):
        y = top + line * (CELL_HEIGHT + GAP)
        name = clip(row, LONGEST_NAME)
        svg.text(left - EDGE, y + CELL_HEIGHT / 2.0 + 3.5, name, kind="tick", anchor="end")
        for place, column in enumerate(columns):
            if (row, column) in cells:
                x = left + place * (CELL_WIDTH + GAP)
                _draw_cell(svg, cells[row, column], x, y, limits)
    bottom = top + len(rows) * (CELL_HEIGHT + GAP)
    width = max(left + len(columns) * (CELL_WIDTH + GAP), _draw_legend(svg, bottom, limits))
    width = max(width, 8.0 + text_width(title, 13, bold=True) * LETTER_ROOM)
    return svg.render(
        width + EDGE,
        bottom + LEGEND_HEIGHT + EDGE,
        title=title,
        style=STYLE + CHARTS + HEAT,
        embedded=embedded,
    )


def choose_look(value: float, limits: tuple[float, float, float]) -> str:
    """The class of a cell of that value."""
    if math.isnan(value):
        return "heat heat-none"
    level = sum(abs(value) > limit for limit in limits)
    side = "over" if value > 0.0 else "under"
    return f"heat heat-{side}-{level}" if level else "heat heat-0"


def _draw_cell(
    svg: Svg, cell: HeatCell, x: float, y: float, limits: tuple[float, float, float]
) -> None:
    svg.open_group(title=cell.title)
    look = "heat heat-none heat-apart" if cell.is_apart else choose_look(cell.value, limits)
    svg.rect(x, y, CELL_WIDTH, CELL_HEIGHT, kind=look, radius=2.0)
    middle = (x + CELL_WIDTH / 2.0, y + CELL_HEIGHT / 2.0 + 3.5)
    svg.text(*middle, cell.label, kind="heat-label", anchor="middle")
    svg.close_group()


def _draw_legend(svg: Svg, top: float, limits: tuple[float, float, float]) -> float:
    """What the colours mean; gives where it ends."""
    texts = [
        (-limits[2] * 2.0, f"below −{limits[2]:.0%}"),
        (-limits[1] * 1.01, ""),
        (-limits[0] * 1.01, ""),
        (0.0, f"within {limits[0]:.0%}"),
        (limits[0] * 1.01, ""),
        (limits[1] * 1.01, ""),
        (limits[2] * 2.0, f"above +{limits[2]:.0%}"),
    ]
    x = 4.0
    for value, text in texts:
        svg.rect(x, top + 8.0, SAMPLE, SAMPLE, kind=choose_look(value, limits))
        x += SAMPLE + 3.0
        if text:
            shown = text.replace("%", " %")
            svg.text(x, top + 18.0, shown, kind="tick")
            x += text_width(shown, 10.5) * LETTER_ROOM + 8.0
    return x
