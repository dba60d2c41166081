"""Charts: axes, lines over time, and distributions of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from streamgauge.drawing.svg import CHARTS, SERIES, STYLE, Svg, text_width
from streamgauge.drawing.wording import (
    format_number,
    format_plain_duration,
    format_plain_number,
    format_share,
)

_STEPS = (1, 2, 5)
_FEWER_STEPS = (1, 3)
_LEAST_TICKS = 3
WIDTH, HEIGHT = 520.0, 260.0
WIDE = 1060.0
LEFT, RIGHT, BOTTOM = 56.0, 16.0, 40.0
HEADING = 26.0
LEGEND_LINE = 17.0
LEGEND_SAMPLE = 26.0
LEGEND_GAP = 14.0
LONGEST_LEGEND = 28
TICK_GAP_X, TICK_GAP_Y = 75.0, 26.0
MARK_LINE = 14.0
MARK_GAP = 4.0
DOT = 3.6
CUMULATIVE = (0.0, 0.25, 0.5, 0.75, 1.0)

TickLabel = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of numbers along a line; on a logarithmic one equal ratios are equally long."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf or (self.log and self.low <= 0.0):
            raise ValueError(f"no axis from {self.low!r} to {self.high!r}")

    def part(self, value: float) -> float:
        """Position of a number on the axis: 0 at its beginning, 1 at its end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the axis, ascending, at most `most`."""
        return (log_ticks if self.log else ticks)(self.low, self.high, most)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most`."""
    power = math.floor(math.log10((high - low) / max(most, 1)))
    while True:
        for factor in _STEPS:
            # Dividing by a whole number keeps 0.3 what it is; multiplying by 0.1 does not.
            up, down = factor * 10 ** max(power, 0), 10 ** max(-power, 0)
            first, last = math.ceil(low * down / up), math.floor(high * down / up)
            if last - first < most:
                numbers = [count * up / down for count in range(first, last + 1)]
                return [number for number in numbers if low <= number <= high]
        power += 1


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with 2 and 5 or 3 times them where there is room, or others as round."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    sparse = [((1,), every) for every in (1, 2, 3, 5, 10, 30, 100, 300)]
    for factors, every in ((_STEPS, 1), (_FEWER_STEPS, 1), *sparse):
        powers = [power for power in range(first, last + 1) if power % every == 0]
        numbers = [_times_ten(factor, power) for power in powers for factor in factors]
        numbers = [number for number in numbers if low <= number <= high]
        if len(numbers) < _LEAST_TICKS and factors is _STEPS:
            break
        if len(numbers) <= most:
            return numbers
    return ticks(low, high, most)


def _times_ten(factor: int, power: int) -> float:
    return float(factor * 10**power) if power >= 0 else factor / 10**-power


def linear_axis(values: list[float]) -> Axis:
    """From zero to a little above the largest; from zero to one where there is none."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    return Axis(low=0.0, high=largest * 1.06 if largest > 0.0 else 1.0)


def log_axis(values: list[float], least_ratio: float = 3.0) -> Axis:
    """An axis around all numbers above zero, at least `least_ratio` wide."""
    above = [value for value in values if math.isfinite(value) and value > 0.0]
    low, high = min(above, default=1.0), max(above, default=1.0)
    spread = max(math.sqrt(least_ratio / (high / low)), 1.08)
    return Axis(low=low / spread, high=high * spread, log=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart: its name, and a value for every time; NaN is a gap."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A filled range of a chart: its name, and two values for every time; NaN is a gap."""

    name: str
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """Where the axes of a chart lie."""

    x: Axis
    y: Axis
    left: float
    top: float
    right: float
    bottom: float

    def px(self, value: float) -> float:
        return self.left + self.x.part(value) * (self.right - self.left)

    def py(self, value: float) -> float:
        return self.bottom - self.y.part(value) * (self.bottom - self.top)


def draw_line_chart(
    times: Sequence[float],
    series: Sequence[Series],
    *,
    title: str,
    x_title: str,
    x_end: float = 0.0,
    log: bool = False,
    shaded_until: float = 0.0,
    shaded: str = "",
    bands: Sequence[Band] = (),
    marks: Sequence[tuple[str, float]] = (),
    tick_label: TickLabel = format_plain_number,
    labels: Sequence[str] = (),
    embedded: bool = False,
) -> str:
    """Lines over time as an SVG.

    Args:
        times: Ascending, in seconds.
        series: At most six lines can be told apart.
        title: What is shown, with its unit.
        x_title: What the times are, with their unit.
        x_end: Where the horizontal axis ends, if after the last time.
        log: Whether the vertical axis is logarithmic; what is not above zero is then a gap.
        shaded_until: End of the part at the beginning that is shaded.
        shaded: What the shading means.
        bands: Ranges behind the lines, the widest first: a narrower one darkens what it covers.
        marks: Places on the horizontal axis to be marked, with what is written at each.
        tick_label: How numbers at the vertical axis are written.
        labels: What to write below the points of the first line; none: nothing.
        embedded: Whether the page around it brings the style.
    """
    svg = Svg()
    svg.text(4.0, 15.0, title, kind="heading")
    has_shade = shaded_until > 0.0
    meaning = ", ".join([*([shaded] if has_shade else []), *(band.name for band in bands)])
    rows = _draw_legend(svg, [line.name for line in series], meaning)
    shown = [value for line in series for value in line.values]
    shown += [value for band in bands for value in band.high]
    x = Axis(low=0.0, high=max(*times, x_end, shaded_until, 0.0) or 1.0)
    marked = _Marks(
        [(text, LEFT + x.part(at) * (WIDTH - RIGHT - LEFT)) for text, at in marks if at <= x.high]
    )
    plot = _Plot(
        x=x,
        y=log_axis(shown) if log else linear_axis(shown),
        left=LEFT,
        top=HEADING + rows * LEGEND_LINE + marked.rows * MARK_LINE + 6.0,
        right=WIDTH - RIGHT,
        bottom=HEIGHT - BOTTOM,
    )
    if has_shade:
        end = plot.px(shaded_until)
        svg.rect(plot.left, plot.top, end - plot.left, plot.bottom - plot.top, kind="warmup")
    _draw_axes(svg, plot, x_title, format_plain_number, tick_label)
    for band in bands:
        _draw_band(svg, plot, times, band)
    for index, line in enumerate(series):
        _draw_series(svg, plot, times, line, index % SERIES)
    marked.draw(svg, plot.top - 6.0, plot.bottom)
    for time, value, label in zip(times, series[0].values, labels, strict=False):
        # Below the point, and inside the picture where that is at an end.
        across = plot.px(time)
        anchor = "end" if across - plot.left > text_width(label, 10.5) else "start"
        svg.text(
            across + (0.0 if anchor == "end" else MARK_GAP),
            plot.py(value) + LEGEND_GAP,
            label,
            kind="tick",
            anchor=anchor,
        )
    return _render(svg, WIDTH, HEIGHT, title, embedded=embedded)


def draw_distribution_chart(
    edges: Sequence[float],
    counts: Sequence[int],
    *,
    title: str,
    x_title: str,
    bars: str,
    curve: str,
    marks: Sequence[tuple[str, float]] = (),
    tick_label: TickLabel = format_plain_duration,
    embedded: bool = False,
) -> str:
    """How many values lie between each two neighbouring edges, and the part up to each edge.

    Args:
        edges: Ascending and above zero, one more than `counts`; the axis is logarithmic.
        counts: How many lie between.
        title: What is shown.
        x_title: What the values are.
        bars: What is counted, at the left.
        curve: What the part up to an edge is called, at the right.
        marks: Values to be marked, with what is written at each.
        tick_label: How values are written.
        embedded: Whether the page around it brings the style.
    """
    total = sum(counts)
    svg = Svg()
    svg.text(4.0, 15.0, title, kind="heading")
    x = log_axis(list(edges), least_ratio=1.3)
    _draw_keys(svg, bars, curve)
    left = max(LEFT, *(_Marks.width(text) for text, _ in marks), 0.0)
    right = WIDE - LEFT
    labels = _Marks([(text, left + x.part(at) * (right - left)) for text, at in marks])
    top = HEADING + LEGEND_LINE + labels.rows * MARK_LINE + 6.0
    height = HEIGHT + 110.0
    plot = _Plot(
        x=x,
        y=linear_axis([float(count) for count in counts]),
        left=left,
        top=top,
        right=right,
        bottom=height - BOTTOM,
    )
    _draw_axes(svg, plot, x_title, tick_label, format_plain_number)
    for (low, high), count in zip(pairwise(edges), counts, strict=True):
        if count:
            count_text = f"{format_number(count)} ({format_share(count / total)})"
            svg.open_group(
                title=f"{tick_label(_round(low))} to {tick_label(_round(high))}: {count_text}"
            )
            y = plot.py(float(count))
            width = plot.px(high) - plot.px(low)
            svg.rect(plot.px(low), y, width, plot.bottom - y, kind="bar")
            svg.close_group()
    _draw_cumulative(svg, plot, edges, counts)
    labels.draw(svg, top - 6.0, plot.bottom)
    return _render(svg, WIDE, height, title, embedded=embedded)


def _render(svg: Svg, width: float, height: float, title: str, *, embedded: bool) -> str:
    return svg.render(width, height, title=title, style=STYLE + CHARTS, embedded=embedded)


def _draw_axes(svg: Svg, plot: _Plot, x_title: str, x_label: TickLabel, y_label: TickLabel) -> None:
    for value in plot.y.ticks(max(int((plot.bottom - plot.top) / TICK_GAP_Y), 2)):
        y = plot.py(value)
        svg.line(f"M{plot.left:.1f},{y:.1f} H{plot.right:.1f}", kind="grid")
        svg.text(plot.left - 6.0, y + 3.5, y_label(value), kind="tick", anchor="end")
    for value in plot.x.ticks(max(int((plot.right - plot.left) / TICK_GAP_X), 2)):
        x = plot.px(value)
        svg.line(f"M{x:.1f},{plot.bottom:.1f} v4", kind="axis")
        svg.text(x, plot.bottom + 16.0, x_label(value), kind="tick", anchor="middle")
    frame = f"M{plot.left:.1f},{plot.top:.1f} V{plot.bottom:.1f} H{plot.right:.1f}"
    svg.line(frame, kind="axis")
    middle = (plot.left + plot.right) / 2
    svg.text(middle, plot.bottom + 32.0, x_title, kind="tick", anchor="middle")


def _draw_legend(svg: Svg, names: Sequence[str], shaded: str) -> int:
    """Samples with names below the heading; gives the rows that they take."""
    x, row = 4.0, 0
    entries = [(index % SERIES, name) for index, name in enumerate(names)]
    for index, name in [*entries, *([(-1, shaded)] if shaded else [])]:
        text = _shorten_inside(name, LONGEST_LEGEND)
        width = LEGEND_SAMPLE + text_width(text, 10.5)
        if x > 4.0 and x + width > WIDTH:
            x, row = 4.0, row + 1
        y = HEADING + row * LEGEND_LINE + 6.0
        if index < 0:
            svg.rect(x, y - 5.0, LEGEND_SAMPLE - 6.0, 10.0, kind="warmup")
        else:
            d = f"M{x:.1f},{y:.1f} h{LEGEND_SAMPLE - 6.0:.1f}"
            svg.line(d, kind=f"series series-{index}")
        svg.text(x + LEGEND_SAMPLE, y + 3.5, text, kind="tick")
        x += width + LEGEND_GAP
    return row + 1 if names or shaded else 0


def _draw_keys(svg: Svg, bars: str, curve: str) -> None:
    """What bars and the line are, below the heading."""
    y = HEADING + 6.0
    svg.rect(4.0, y - 5.0, LEGEND_SAMPLE - 6.0, 10.0, kind="bar")
    svg.text(4.0 + LEGEND_SAMPLE, y + 3.5, bars, kind="tick")
    x = 4.0 + LEGEND_SAMPLE + text_width(bars, 10.5) + LEGEND_GAP
    svg.line(f"M{x:.1f},{y:.1f} h{LEGEND_SAMPLE - 6.0:.1f}", kind="series series-0")
    svg.text(x + LEGEND_SAMPLE, y + 3.5, curve, kind="tick")


def _draw_series(svg: Svg, plot: _Plot, times: Sequence[float], series: Series, index: int) -> None:
    """A line through neighbouring values; one without neighbours is a dot."""
    run: list[tuple[float, float]] = []
    runs = [run]
    for time, value in zip(times, series.values, strict=True):
        if math.isfinite(value) and (value > 0.0 or not plot.y.log):
            run.append((plot.px(time), plot.py(value)))
        elif run:
            run = []
            runs.append(run)
    lines = [_join_points(points) for points in runs if len(points) > 1]
    if lines:
        d = " ".join(lines)
        svg.line(d, kind=f"series series-{index}", title=series.name)
    for [(x, y)] in (points for points in runs if len(points) == 1):
        svg.rect(x - DOT / 2, y - DOT / 2, DOT, DOT, kind=f"dot dot-{index}", radius=DOT / 2)


def _draw_band(svg: Svg, plot: _Plot, times: Sequence[float], band: Band) -> None:
    """One outline there and back; values between gaps are taken as neighbours."""
    known = [
        (plot.px(time), plot.py(low), plot.py(high))
        for time, low, high in zip(times, band.low, band.high, strict=True)
        if math.isfinite(low) and math.isfinite(high)
    ]
    if known:
        outline = [(x, high) for x, _, high in known] + [(x, low) for x, low, _ in reversed(known)]
        svg.line(f"{_join_points(outline)} Z", kind="warmup", title=band.name)


def _join_points(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _draw_cumulative(svg: Svg, plot: _Plot, edges: Sequence[float], counts: Sequence[int]) -> None:
    """The part of all values up to each edge, on an axis of its own at the right."""
    total = sum(counts)
    whole = replace(plot, y=Axis(low=0.0, high=1.0))
    reached, points = 0, [(plot.px(edges[0]), plot.bottom)]
    for high, count in zip(edges[1:], counts, strict=True):
        reached += count
        points.append((plot.px(high), whole.py(reached / total if total else 0.0)))
    svg.line(_join_points(points), kind="series series-0")
    svg.line(f"M{plot.right:.1f},{plot.top:.1f} V{plot.bottom:.1f}", kind="axis")
    for part in CUMULATIVE:
        svg.text(plot.right + 6.0, whole.py(part) + 3.5, f"{100 * part:g} %", kind="tick")


class _Marks:
    """Labels to the left of the upper ends of upright lines, none on another or on a line.

    The further right a line is among its neighbours, the higher its label: no line from above
    passes through it.
    """

    def __init__(self, marks: Sequence[tuple[str, float]]) -> None:
        self._placed: list[tuple[str, float, int]] = []
        for text, x in sorted(marks, key=lambda mark: mark[1]):
            width = self.width(text)
            below = [row for _, other, row in self._placed if x - other < width]
            self._placed.append((text, x, max(below, default=-1) + 1))

    @staticmethod
    def width(text: str) -> float:
        """Room that a label takes, its line included; fonts differ, so more than enough."""
        return text_width(text, 12.0, bold=True) + 2 * MARK_GAP

    @property
    def rows(self) -> int:
        """Lines of labels, one above the other."""
        return max((row for _, _, row in self._placed), default=-1) + 1

    def draw(self, svg: Svg, lowest: float, bottom: float) -> None:
        """Labels upwards from a height, lines down to another."""
        for text, x, row in self._placed:
            y = lowest - row * MARK_LINE
            svg.line(f"M{x:.1f},{y - 10.0:.1f} V{bottom:.1f}", kind="mark")
            svg.text(x - MARK_GAP, y, text, kind="mark-label", anchor="end")


def _shorten_inside(text: str, longest: int) -> str:
    """The text with its middle left out where it is too long: names often differ at their ends."""
    if len(text) <= longest:
        return text
    tail = longest // 2
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def _round(value: float) -> float:
    """To three digits, enough for the edges of a bar."""
    return float(f"{value:.3g}")
