"""Charts: round numbers on axes, everything inside the frame, nothing on top of anything else."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.drawing.charts import (
    Axis,
    Series,
    draw_distribution_chart,
    draw_line_chart,
    linear_axis,
    log_axis,
    log_ticks,
    ticks,
)
from streamgauge.drawing.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
POSITIVE = st.floats(1e-9, 1e9)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[float, float]:
    low = draw(st.floats(-1e6, 1e6))
    return low, low + draw(st.floats(1e-3, 1e6))


def mantissa(value: float) -> int:
    """The first digit of a number that has only one; 0 for others."""
    digits = f"{value:.9e}".split("e")[0].replace(".", "").rstrip("0")
    return int(digits) if len(digits) == 1 else 0


@given(ranges(), st.integers(1, 12))
def test_ticks_lie_in_the_range_ascending_and_not_too_many(span, most):
    found = ticks(*span, most)
    assert len(found) <= most
    assert all(span[0] <= tick <= span[1] for tick in found)
    assert all(a < b for a, b in pairwise(found))


@given(ranges(), st.integers(6, 12))
def test_ticks_are_multiples_of_one_two_or_five(span, most):
    found = ticks(*span, most)
    assert len(found) >= 2
    step = float(f"{found[1] - found[0]:.3g}")
    assert mantissa(step) in {1, 2, 5}
    assert found == pytest.approx([round(tick / step) * step for tick in found], rel=1e-12)


@given(POSITIVE, st.floats(1.2, 1e12), st.integers(3, 12))
def test_ticks_of_a_logarithmic_axis_are_round_too(low, ratio, most):
    found = log_ticks(low, low * ratio, most)
    assert len(found) <= most
    assert all(low <= tick <= low * ratio for tick in found)
    assert all(a < b for a, b in pairwise(found))
    if ratio > 30.0:
        assert all(mantissa(tick) in {1, 2, 3, 5} for tick in found)


def test_decades_are_thinned_out_where_they_are_many():
    assert log_ticks(1e-9, 1e3, 5) == [1e-9, 1e-6, 1e-3, 1.0, 1e3]


@given(st.lists(POSITIVE, min_size=1))
def test_an_axis_holds_what_it_is_made_for(values):
    for axis in (linear_axis(values), log_axis(values)):
        assert all(0.0 <= axis.part(value) <= 1.0 for value in values)


def test_an_axis_without_numbers_has_a_length_all_the_same():
    assert linear_axis([math.nan, 0.0]).high == 1.0
    assert log_axis([math.nan, 0.0]).log


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [(1.0, 1.0, False), (2.0, 1.0, False), (0.0, 1.0, True), (0.0, math.inf, False)],
)
def test_an_axis_needs_a_range(low, high, log):
    with pytest.raises(ValueError, match="no axis"):
        Axis(low=low, high=high, log=log)


def lines(*series: list[float], **how: object) -> ElementTree.Element:
    """A line chart over times 1, 2, 3 and so on."""
    times = [float(n + 1) for n in range(len(series[0]))]
    named = [Series(name=f"line {n}", values=values) for n, values in enumerate(series)]
    return ElementTree.fromstring(draw_line_chart(times, named, title="t", x_title="s", **how))


def of_class(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in picture.iter() if name in one.get("class", "").split()]


def drawn(picture: ElementTree.Element, index: int = 0) -> list[str]:
    """The paths of a series, its sample in the legend left out."""
    return [one.get("d", "") for one in of_class(picture, f"series-{index}")][1:]


def test_a_line_goes_through_every_value():
    [d] = drawn(lines([1.0, 2.0, 4.0]))
    assert len(re.findall(r"[\d.]+,[\d.]+", d)) == 3


def test_larger_values_stand_higher():
    [d] = drawn(lines([1.0, 2.0, 4.0]))
    heights = [float(y) for _, y in re.findall(r"([\d.]+),([\d.]+)", d)]
    assert heights == sorted(heights, reverse=True)


def test_a_line_breaks_where_there_is_no_value():
    picture = lines([1.0, 2.0, math.nan, 3.0, 4.0, math.nan, 5.0])
    [d] = drawn(picture)
    assert d.count("M") == 2
    assert len(of_class(picture, "dot-0")) == 1


def test_on_a_logarithmic_axis_zero_is_a_gap():
    [d] = drawn(lines([1.0, 2.0, 0.0, 3.0, 4.0], log=True))
    assert d.count("M") == 2


def test_a_chart_of_nothing_is_a_frame():
    picture = lines([math.nan, math.nan])
    assert not drawn(picture)
    assert "nan" not in ElementTree.tostring(picture, encoding="unicode")


def test_the_legend_names_every_line_and_the_shading():
    picture = lines([1.0, 2.0], [2.0, 1.0], shaded_until=1.0, shaded="left out")
    said = [one.text for one in picture.iter(f"{SVG}text")]
    assert {"line 0", "line 1", "left out"} <= set(said)
    assert len(of_class(picture, "warmup")) == 2


def test_long_names_keep_both_ends_in_the_legend():
    named = [Series(name="a" * 40 + str(n), values=[1.0]) for n in range(2)]
    picture = ElementTree.fromstring(draw_line_chart([1.0], named, title="t", x_title="s"))
    said = [one.text or "" for one in picture.iter(f"{SVG}text")]
    assert sorted(text[-1] for text in said if "…" in text) == ["0", "1"]


def test_the_shading_ends_at_its_time():
    picture = lines([1.0] * 10, shaded_until=5.0, shaded="left out")
    shade = of_class(picture, "warmup")[-1]
    frame = next(one for one in of_class(picture, "axis") if "H" in one.get("d", ""))
    left, right = (float(x) for x in re.findall(r"[MH]([\d.]+)", frame.get("d", "")))
    assert float(shade.get("width", "")) == pytest.approx((right - left) / 2, abs=0.1)


def test_names_cannot_break_a_chart():
    series = [Series(name='</text><script>"&', values=[1.0, 2.0])]
    picture = ElementTree.fromstring(draw_line_chart([1.0, 2.0], series, title="<b>", x_title="s"))
    assert not list(picture.iter("script"))
    assert picture.get("aria-label") == "<b>"


def test_an_embedded_chart_brings_no_style_and_names_no_address():
    text = draw_line_chart(
        [1.0], [Series(name="a", values=[1.0])], title="t", x_title="s", embedded=True
    )
    assert "<style" not in text
    assert "http" not in text
    assert ElementTree.fromstring(text).get("role") == "img"


def distribution(
    counts: list[int], marks: list[tuple[str, float]] | None = None
) -> ElementTree.Element:
    edges = [0.001 * 1.5**n for n in range(len(counts) + 1)]
    return ElementTree.fromstring(
        draw_distribution_chart(
            edges, counts, title="t", x_title="x", bars="b", curve="c", marks=marks or []
        )
    )


def test_bars_are_as_high_as_their_counts():
    _, *bars = of_class(distribution([1, 0, 4]), "bar")
    heights = [float(bar.get("height", "")) for bar in bars]
    assert len(heights) == 2
    assert heights[1] / heights[0] == pytest.approx(4.0, rel=0.01)


def test_the_line_reaches_the_whole_at_the_end():
    picture = distribution([1, 2, 1])
    _, curve = of_class(picture, "series-0")
    heights = [float(y) for y in re.findall(r",([\d.]+)", curve.get("d", ""))]
    bottom, half, top = heights[0], heights[1], heights[-1]
    assert (bottom - half) / (bottom - top) == pytest.approx(0.25, abs=0.01)


@given(st.lists(st.floats(0.001, 0.0075), min_size=1, max_size=5))
def test_labels_of_marks_lie_neither_on_each_other_nor_on_lines(places):
    marks = [(f"p{n} 1.23 ms", at) for n, at in enumerate(places)]
    picture = distribution([1, 2, 3, 2, 1], marks)
    labels = of_class(picture, "mark-label")
    upright = [
        re.findall(r"[MV, ]*([\d.]+)", one.get("d", "")) for one in of_class(picture, "mark")
    ]
    spans = []
    for label in labels:
        width = text_width(label.text or "", 11.0, bold=True)
        x, y = float(label.get("x", "")), float(label.get("y", ""))
        spans.append((x - width, x, y))
    assert min(left for left, _, _ in spans) > 0.0
    for left, right, y in spans:
        assert not [x for x, top, _ in upright if left < float(x) < right and float(top) < y]
    for n, (left, right, y) in enumerate(spans):
        others = spans[:n]
        assert not [one for one in others if one[2] == y and one[0] < right and left < one[1]]
