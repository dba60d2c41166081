"""Tables of the study are Markdown that can be copied."""

import math

from benchmarks.planners_page import page, percent, spread


def test_a_spread_is_the_median_with_its_quartiles():
    assert spread([0.5, 1.0, 2.0]) == "1.00 (0.50–2.00)"
    assert spread([0.5, 1.0, math.inf]) == "1.00 (0.50–∞)"
    assert spread([math.nan] * 3) == "–"


def test_small_parts_have_a_digit_more():
    assert (percent(0.5), percent(0.025)) == ("50%", "2.5%")


def test_sections_stand_one_below_the_other():
    assert page([("one", ["a", "b"]), ("two", ["c"])]) == "### one\n\na\nb\n\n### two\n\nc\n"
