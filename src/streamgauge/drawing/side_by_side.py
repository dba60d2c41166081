"""The same topology on several plans: uniform drawings side by side, with a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.drawing.svg import CHARTS, GAUGES, MARGIN, STYLE, Svg, shorten, text_width
from streamgauge.drawing.topology_picture import (
    BAR,
    MARKERS,
    OUTLINE,
    Marks,
    Size,
    TopologyDrawing,
    dashed_outline,
)
from streamgauge.drawing.wording import HIGH_LEVEL, MIDDLE_LEVEL
from streamgauge.topology.topology import Topology

# What is wider is hard to read: by itself on a screen, or on a page.
WIDEST, WIDEST_EMBEDDED = 1800.0, 1250.0
GAP = 40.0
TITLE = 24.0
LINE = 17.0
# A caption is never set narrower.
LEAST_WIDTH = 330.0
LETTER = text_width("n", 12)
LEGEND_LINE = 24.0
LEGEND_GAP = 18.0
SAMPLE_WIDTH, SAMPLE_HEIGHT = 24.0, 13.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A topology on one plan, with executors and marks by operator.

    Attributes:
        lines: What is said of it, each wrapped where it is too long.
        flag: What is singled out in it, written so that it is seen.
    """

    title: str
    lines: Sequence[str]
    flag: str = ""
    topology: Topology
    executors: Mapping[str, int]
    marks: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlacedPanel:
    """A panel with its drawing and its lines as they are set."""

    panel: Panel
    drawing: TopologyDrawing
    lines: tuple[str, ...]
    flag: tuple[str, ...]
    width: float

    @property
    def caption_height(self) -> float:
        return TITLE + LINE * (len(self.lines) + len(self.flag)) + 12.0


def draw_side_by_side(
    panels: Sequence[Panel],
    *,
    title: str,
    embedded: bool = False,
    gauge: str = "busiest executor",
    alarm: str = "overloaded",
    flag: str = "bottleneck",
) -> str:
    """Panels side by side, or one below the other where that would be too wide.

    Panels that are higher than wide are always side by side.

    Args:
        panels: At least one; operators of one name are drawn equally large in all.
        title: What the picture shows, for those who cannot see it.
        embedded: Whether the page that the picture stands in brings the style.
        gauge: Legend of colours and gauges: whose load they show.
        alarm: Legend of boxes with an alarm.
        flag: Legend of a dashed outline.
    """
    placed = _place_panels(panels)
    caption = max(panel.caption_height for panel in placed)
    width = max(panel.width for panel in placed)
    height = caption + max(panel.drawing.height for panel in placed)
    together = sum(panel.width + GAP for panel in placed) - GAP
    widest = WIDEST_EMBEDDED if embedded else WIDEST
    side_by_side = together <= widest or width < height
    svg = Svg()
    left = top = MARGIN
    for panel in placed:
        own = caption if side_by_side else panel.caption_height
        _draw_caption(svg, panel, left, top)
        panel.drawing.draw(svg, left, top + own)
        if side_by_side:
            left += panel.width + GAP
        else:
            top += own + panel.drawing.height + GAP
    right = left - GAP if side_by_side else MARGIN + width
    bottom = top + height if side_by_side else top - GAP
    bottom = _draw_legend(
        svg, _list_samples(gauge) | _list_marks(panels, alarm, flag), right, bottom + GAP / 2
    )
    return svg.render(
        right + MARGIN,
        bottom + MARGIN,
        title=title,
        markers=MARKERS,
        style=STYLE + CHARTS + GAUGES,
        embedded=embedded,
    )


def _place_panels(panels: Sequence[Panel]) -> list[_PlacedPanel]:
    """Laid out with boxes as large as the largest of their name."""
    sizes: dict[str, Size] = {}
    for panel in panels:
        alone = TopologyDrawing(panel.topology, panel.executors, panel.marks, sizes=sizes)
        sizes |= alone.sizes
    placed = []
    for panel in panels:
        drawing = TopologyDrawing(
            panel.topology, panel.executors, panel.marks, tinted=True, sizes=sizes
        )
        width = max(drawing.width, LEAST_WIDTH)
        letters = int(width / LETTER)
        lines = [part for line in panel.lines for part in textwrap.wrap(line, letters)]
        flag = textwrap.wrap(panel.flag, letters)
        placed.append(
            _PlacedPanel(
                panel=panel, drawing=drawing, lines=tuple(lines), flag=tuple(flag), width=width
            )
        )
    return placed


def _draw_caption(svg: Svg, placed: _PlacedPanel, left: float, top: float) -> None:
    letters = int(placed.width / text_width("n", 17, bold=True))
    svg.text(left, top + 14.0, shorten(placed.panel.title, letters), kind="title")
    looks = [(line, "subtitle") for line in placed.lines]
    looks += [(line, "mark-label") for line in placed.flag]
    for index, (line, look) in enumerate(looks, start=1):
        svg.text(left, top + 14.0 + TITLE - LINE + index * LINE, line, kind=look)


def _list_samples(gauge: str) -> dict[str, str]:
    """What stands for what: looks of samples by what they mean."""
    samples = {
        f"{gauge} under {MIDDLE_LEVEL:.0%} busy": "gauge-low",
        f"from {MIDDLE_LEVEL:.0%}": "gauge-middle",
        f"from {HIGH_LEVEL:.0%}": "gauge-high",
        "source": "bar-source",
        "sink": "bar-sink",
    }
    return {meaning.replace("%", " %"): look for meaning, look in samples.items()}


def _list_marks(panels: Sequence[Panel], alarm: str, flag: str) -> dict[str, str]:
    """The same of what only some boxes have."""
    marks = [mark for panel in panels for mark in panel.marks.values()]
    samples = {flag: "mark"} if any(mark.flag for mark in marks) else {}
    return samples | ({alarm: "alarm"} if any(mark.alarm for mark in marks) else {})


def _draw_legend(svg: Svg, samples: Mapping[str, str], right: float, top: float) -> float:
    """Samples with what they mean, in as many lines as they need; gives where they end."""
    x, y = MARGIN, top
    for meaning, look in samples.items():
        width = SAMPLE_WIDTH + 8.0 + text_width(meaning, 11)
        if x > MARGIN and x + width > right:
            x, y = MARGIN, y + LEGEND_LINE
        _draw_sample(svg, look, x, y)
        svg.text(x + SAMPLE_WIDTH + 8.0, y + 10.5, meaning, kind="detail")
        x += width + LEGEND_GAP
    return y + SAMPLE_HEIGHT


def _draw_sample(svg: Svg, look: str, x: float, y: float) -> None:
    frame = (x, y, SAMPLE_WIDTH, SAMPLE_HEIGHT)
    if look == "mark":
        inner = (x + OUTLINE, y + OUTLINE / 2, SAMPLE_WIDTH - 2 * OUTLINE, SAMPLE_HEIGHT - OUTLINE)
        svg.rect(*inner, kind="box", radius=2)
        dashed_outline(svg, *inner)
        return
    svg.rect(*frame, kind="box", radius=3)
    if look.startswith("gauge"):
        svg.rect(*frame, kind=f"{look} faint", radius=3)
    elif look == "bar-source":
        svg.rect(x, y, BAR, SAMPLE_HEIGHT, kind=look, radius=2)
    elif look == "bar-sink":
        svg.rect(x + SAMPLE_WIDTH - BAR, y, BAR, SAMPLE_HEIGHT, kind=look, radius=2)
    else:
        svg.rect(*frame, kind=look, radius=3)
