"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.drawing.wording import (
    format_duration,
    format_duration_within,
    format_estimate,
    format_number,
    format_number_within,
    format_plain_duration,
    format_plain_number,
    format_share,
)

ANY = st.floats(allow_nan=True, allow_infinity=True, width=32)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (12.345, "12.3"),
        (1234567.8, "1,234,568"),
        (0.01234, "0.0123"),
        (1e-9, "<0.001"),
        (math.nan, "–"),
    ],
)
def test_numbers_have_the_digits_that_count(value, shown):
    assert format_number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (337_232.0, "337,000"),
        (999.6, "1,000"),
        (33.44, "33.4"),
        (0.00183, "0.00183"),
        (0.0, "0"),
        (math.inf, "–"),
    ],
)
def test_an_estimate_has_no_digits_beyond_its_third(value, shown):
    assert format_estimate(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0 s"),
        (0.001393, "1.39 ms"),
        (75.2, "75.2 s"),
        (4e-6, "4.00 µs"),
        (1e-12, "<1 ns"),
        (math.nan, "–"),
    ],
)
def test_times_have_the_unit_that_fits(seconds, shown):
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.99961, "100 %"),
        (0.973, "97.3 %"),
        (1e-5, "<0.1 %"),
        (math.nan, "–"),
    ],
)
def test_parts_are_shown_in_per_cent(part, shown):
    assert format_share(part) == shown


@pytest.mark.parametrize(
    ("value", "half_width", "shown"),
    [
        (1.39310, 0.01996, "1.393 ± 0.020"),
        (2005.3, 30.4, "2,005 ± 31"),
        (8.77, 1.05, "8.8 ± 1.1"),
        (2.00136, 0.00051, "2.001 ± 0.001"),
        (5.0, 0.0, "5.000 ± 0.000"),
        (5.0, math.nan, "5.00"),
        (math.nan, math.nan, "–"),
    ],
)
def test_a_number_has_no_more_digits_than_its_interval_leaves_it(value, half_width, shown):
    assert format_number_within(value, half_width) == shown


def test_a_time_and_its_interval_share_a_unit():
    assert format_duration_within(0.152706, 0.0153) == "153 ± 16 ms"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5, "0.5"), (2000.0, "2,000"), (200_000.0, "200k"), (1.5e6, "1.5M"), (0.0, "0")],
)
def test_numbers_on_an_axis_are_short(value, shown):
    assert format_plain_number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.002, "2 ms"), (1.5, "1.5 s"), (3600.0, "3,600 s"), (1e-6, "1 µs")]
)
def test_times_on_an_axis_end_without_zeros(seconds, shown):
    assert format_plain_duration(seconds) == shown


@given(ANY, ANY)
def test_what_is_no_number_is_never_spelled_out(value, half_width):
    for shown in (
        format_number(value),
        format_share(value),
        format_duration(value),
        format_number_within(value, half_width),
    ):
        assert "nan" not in shown
        assert "inf" not in shown.replace("infinite", "")
