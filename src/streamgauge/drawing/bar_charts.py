"""Horizontal bar charts, with bars divided into parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.drawing.charts import (
    BOTTOM,
    HEADING,
    LEGEND_GAP,
    LEGEND_LINE,
    TICK_GAP_X,
    WIDTH,
    Axis,
    TickLabel,
    linear_axis,
)
from streamgauge.drawing.svg import CHARTS, COLOURS, SERIES, STYLE, Svg, text_width
from streamgauge.drawing.wording import clip, format_duration, format_plain_duration, format_share

THICKNESS = 15.0
ROW_GAP = 7.0
PART_LINE = 13.0
GROUP_LINE = 21.0
SAMPLE = 12.0
LONGEST_NAME = 28
LETTER_ROOM = 1.12
EDGE = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Attributes:
        name: What it shows.
        parts: Lengths of its parts, in order; a bar with an infinite part is not drawn. Names in
            `COLOURS` have the same colour in every chart.
        label: Text at its end.
        group: Neighbouring bars of one group share a heading.
    """

    name: str
    parts: Mapping[str, float]
    label: str
    group: str = ""

    @property
    def length(self) -> float:
        """All its parts together."""
        return sum(self.parts.values())

    @property
    def is_drawn(self) -> bool:
        """Whether it has a length."""
        return math.isfinite(self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """Where bars begin and end, and the colours of their parts."""

    axis: Axis
    left: float
    right: float
    colours: Mapping[str, str]
    parted: bool

    def px(self, value: float) -> float:
        return self.left + self.axis.part(value) * (self.right - self.left)


def draw_bar_chart(
    bars: Sequence[Bar],
    *,
    title: str,
    x_title: str,
    tick_label: TickLabel = format_plain_duration,
    part_label: TickLabel = format_duration,
    embedded: bool = False,
) -> str:
    """Bars from zero as an SVG, one below the other.

    Args:
        bars: In their order from the top; parts of one name have one colour.
        title: What is shown.
        x_title: What their lengths are, with the unit.
        tick_label: How lengths are written at the axis.
        part_label: How lengths of parts are written.
        embedded: Whether the page around it brings the style.
    """
    svg = Svg()
    svg.text(4.0, 15.0, title, kind="heading")
    plot = _plot(bars)
    top = HEADING + 4.0
    if plot.parted:
        top = _draw_legend(svg, plot.colours, top) + 6.0
    rows, bottom = _place_rows(bars, top, PART_LINE if plot.parted else 0.0)
    _draw_axis(svg, plot, top, bottom, x_title, tick_label)
    group = ""
    for bar, y in zip(bars, rows, strict=True):
        if bar.group and bar.group != group:
            svg.text(4.0, y - 5.0, bar.group, kind="name")
        group = bar.group
        _draw_bar(svg, plot, bar, y, part_label)
    return svg.render(WIDTH, bottom + BOTTOM, title=title, style=STYLE + CHARTS, embedded=embedded)


def _plot(bars: Sequence[Bar]) -> _Plot:
    parts = dict.fromkeys(
        name for bar in bars for name, length in bar.parts.items() if bar.is_drawn and length > 0.0
    )
    names = max((text_width(clip(bar.name, LONGEST_NAME), 10.5) for bar in bars), default=0.0)
    labels = max((text_width(bar.label, 11, bold=True) for bar in bars), default=0.0)
    parted = any(len(bar.parts) > 1 for bar in bars if bar.is_drawn)
    return _Plot(
        axis=linear_axis([bar.length for bar in bars]),
        left=4.0 + names * LETTER_ROOM + EDGE,
        right=WIDTH - labels * LETTER_ROOM - EDGE,
        colours=_choose_colours(list(parts), parted=parted),
        parted=parted,
    )


def _choose_colours(names: Sequence[str], *, parted: bool) -> dict[str, str]:
    """By name: the colour of its meaning, or else the next one; bars without parts share one."""
    unknown = [name for name in names if name not in COLOURS]
    # Beyond the colours of series, parts have the colour of plain bars.
    others = {
        name: f"dot dot-{index}" if parted and index < SERIES else "bar"
        for index, name in enumerate(unknown)
    }
    return {name: COLOURS.get(name) or others[name] for name in names}


def _place_rows(bars: Sequence[Bar], top: float, below: float) -> tuple[list[float], float]:
    """Where each bar begins, headings of groups above them, and where the last one ends."""
    rows, y, group = [], top + ROW_GAP, ""
    for bar in bars:
        if bar.group and bar.group != group:
            y += GROUP_LINE
        group = bar.group
        rows.append(y)
        y += THICKNESS + below + ROW_GAP
    return rows, y


def _draw_legend(svg: Svg, colours: Mapping[str, str], top: float) -> float:
    """Samples with names, in the order of the parts; gives where they end."""
    x, y = 4.0, top
    for name, look in colours.items():
        width = SAMPLE + 6.0 + text_width(name, 10.5)
        if x > 4.0 and x + width > WIDTH:
            x, y = 4.0, y + LEGEND_LINE
        svg.rect(x, y, SAMPLE, SAMPLE, kind=look)
        svg.text(x + SAMPLE + 6.0, y + 10.0, name, kind="tick")
        x += width + LEGEND_GAP
    return y + SAMPLE


def _draw_axis(
    svg: Svg, plot: _Plot, top: float, bottom: float, x_title: str, tick_label: TickLabel
) -> None:
    for value in plot.axis.ticks(max(int((plot.right - plot.left) / TICK_GAP_X), 2)):
        x = plot.px(value)
        svg.line(f"M{x:.1f},{top:.1f} V{bottom + 4.0:.1f}", kind="grid")
        svg.text(x, bottom + 16.0, tick_label(value), kind="tick", anchor="middle")
    svg.line(f"M{plot.left:.1f},{top:.1f} V{bottom:.1f} H{plot.right:.1f}", kind="axis")
    svg.text((plot.left + plot.right) / 2, bottom + 32.0, x_title, kind="tick", anchor="middle")


def _draw_bar(svg: Svg, plot: _Plot, bar: Bar, y: float, part_label: TickLabel) -> None:
    middle = y + THICKNESS / 2 + 3.5
    name = clip(bar.name, LONGEST_NAME)
    svg.text(plot.left - EDGE, middle, name, kind="tick", anchor="end")
    if not bar.is_drawn:
        svg.text(plot.left + EDGE, middle, bar.label, kind="mark-label")
        return
    reached = 0.0
    for part, length in bar.parts.items():
        if length <= 0.0:
            continue
        left, right = plot.px(reached), plot.px(reached + length)
        reached += length
        label = f"{part} {part_label(length)}"
        svg.open_group(title=f"{bar.name}: {label} ({format_share(length / bar.length)})")
        svg.rect(left, y, right - left, THICKNESS, kind=plot.colours[part])
        if plot.parted:
            _draw_part_label(svg, (left, right), y + THICKNESS + 10.0, (label, part))
        svg.close_group()
    svg.text(plot.px(reached) + EDGE / 2, middle, bar.label, kind="tick")


def _draw_part_label(svg: Svg, span: tuple[float, float], y: float, labels: Sequence[str]) -> None:
    """The first label that fits below a part; none where it is too short for all of them."""
    left, right = span
    for label in labels:
        if text_width(label, 10.5) * LETTER_ROOM < right - left:
            svg.text((left + right) / 2, y, label, kind="tick", anchor="middle")
            return
