"""Bands of a line chart: one closed outline, gaps left out, and room for the highest."""

import math

from streamgauge.drawing.charts import Band, Series, draw_line_chart


def drawn(**band):
    line = Series(name="expected", values=[1.0, 1.0, 1.0])
    bands = [Band(name="80 %", **band)]
    return draw_line_chart([0, 1, 2], [line], title="t", x_title="x", bands=bands)


def test_a_band_is_one_closed_outline_there_and_back():
    picture = drawn(low=[0.0, 0.5, 0.5], high=[2.0, 2.0, 3.0])
    (outline,) = [line for line in picture.splitlines() if "<title>80 %</title>" in line]
    assert outline.count(",") == 6 and ' Z"' in outline


def test_times_without_a_band_are_left_out():
    picture = drawn(low=[math.nan, 0.5, 0.5], high=[math.nan, 2.0, 3.0])
    (outline,) = [line for line in picture.splitlines() if "<title>80 %</title>" in line]
    assert outline.count(",") == 4


def test_the_axis_reaches_the_upper_end_of_the_band():
    assert ">10</text>" in drawn(low=[0.0] * 3, high=[10.0] * 3)
