"""Rows become a regular grid: gaps, duplicates, jitter, masks, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.traffic.series import make_series, summarise

MINUTE = 60_000_000


def minutes(*numbers):
    return [number * MINUTE for number in numbers]


def test_rows_in_any_order_give_the_same_series():
    times, values = minutes(*range(12)), [float(n) for n in range(12)]
    ordered = make_series("a", times, values)
    mixed = make_series("a", times[::-1], values[::-1])
    assert ordered.values.tolist() == mixed.values.tolist() == values
    assert (ordered.step_seconds, ordered.warnings) == (60.0, ())


def test_a_gap_is_unknown_and_counted():
    series = make_series("a", minutes(*range(10), 12), [1.0] * 11)
    assert np.flatnonzero(np.isnan(series.values)).tolist() == [10, 11]
    assert series.warnings == ("a: 2 of 13 steps have no value: nothing is learnt there",)


def test_rows_of_the_same_time_are_averaged_and_told():
    series = make_series("a", minutes(*range(10), 3), [1.0] * 10 + [3.0])
    assert series.values[3] == 2.0
    assert series.warnings == ("a: 1 rows have a time that another row has: took their mean",)


def test_a_longer_step_averages_what_is_in_it():
    series = make_series("a", minutes(*range(20)), [0.0, 10.0] * 10, step_seconds=120.0)
    assert series.values.tolist() == [5.0] * 10


def test_a_time_off_the_grid_counts_in_the_step_that_holds_it():
    times = [*minutes(*range(11)), 11 * MINUTE + 20_000_000]
    series = make_series("a", times, [1.0] * 11 + [7.0])
    assert series.values[11] == 7.0 and "1 of 12 times" in series.warnings[0]


def test_a_masked_row_is_unknown_and_no_gap():
    masked = [n == 4 for n in range(12)]
    series = make_series("a", minutes(*range(12)), [1.0] * 12, masked=masked)
    assert math.isnan(series.values[4])
    assert (series.masked, series.observed, series.warnings) == (1, 11, ())


def test_a_step_shorter_than_the_distance_of_values_is_refused():
    with pytest.raises(InvalidInput, match="values of a are 60 s apart"):
        make_series("a", minutes(*range(12)), [1.0] * 12, step_seconds=30.0)


@pytest.mark.parametrize("value", [-1.0, math.inf])
def test_a_negative_or_infinite_rate_is_refused_with_its_place(value):
    with pytest.raises(InvalidInput) as refused:
        make_series("a", minutes(*range(12)), [1.0] * 5 + [value] + [1.0] * 6)
    assert refused.value.problems[0].path == "a[5]"


@pytest.mark.parametrize("size", [0, 1, 9])
def test_too_few_values_are_not_enough_data(size):
    with pytest.raises(NotEnoughData, match=f"a: {size} values; expected at least 10"):
        make_series("a", minutes(*range(size)), [1.0] * size)


def test_values_of_one_time_only_are_not_enough_data():
    with pytest.raises(NotEnoughData):
        make_series("a", [0] * 20, [1.0] * 20)


def test_times_in_the_wrong_unit_are_refused_before_they_fill_the_memory():
    with pytest.raises(InvalidInput, match="check the times"):
        make_series("a", [*range(10), 10**13], [1.0] * 11)


def test_the_last_hour_keeps_sixty_minutes():
    series = make_series("a", minutes(*range(120)), [float(n) for n in range(120)]).last(3600.0)
    assert (len(series.values), series.values[0], series.start_us) == (60, 60.0, 60 * MINUTE)


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_statistics_are_between_the_extremes_and_ordered(values):
    found = summarise(values)
    assert found["min"] <= found["p5"] <= found["p25"] <= found["median"]
    assert found["median"] <= found["p75"] <= found["p95"] <= found["max"]


def test_statistics_on_paper():
    found = summarise([1.0, 2.0, 3.0, 4.0, math.nan])
    assert (found["mean"], found["median"], found["p25"], found["max"]) == (2.5, 2.5, 1.75, 4.0)
    with pytest.raises(NotEnoughData):
        summarise([math.nan])
