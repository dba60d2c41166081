"""Figures over many cases, on samples one can count by hand."""

import math

import pytest

from benchmarks.planners_statistics import count_signs, divide, noise, quartiles, share_of_best


def test_quartiles_leave_out_what_is_missing_and_count_infinite_as_the_highest():
    assert quartiles([1.0, math.nan, 2.0, 3.0, math.inf, math.inf]) == [2.0, 3.0, math.inf]
    assert all(map(math.isnan, quartiles([])))


def test_signs_count_near_ones_as_the_same_and_infinite_ones_as_higher():
    signs = count_signs([0.5, 0.99, 1.01, 1.5, math.inf, math.nan])
    assert signs == {"lower": 1, "same": 2, "higher": 2}


def test_ratios_are_taken_case_by_case():
    *known, unknown = divide([1.0, math.inf, math.inf], [2.0, 4.0, math.inf])
    assert known == [0.5, math.inf]
    assert math.isnan(unknown)


def test_of_nothing_remote_more_is_infinitely_more():
    assert divide([0.0, 3.0], [0.0, 0.0]) == [1.0, math.inf]


def test_the_best_is_counted_where_plans_differ():
    values = {"a": [1.0, 1.0, 5.0, math.nan], "b": [2.0, 1.0, math.inf, 3.0], "c": [2, 1, 5, 1]}
    assert share_of_best(values) == {"a": 2 / 3, "b": 0.0, "c": 2 / 3}


def test_noise_is_the_part_by_which_repetitions_differ():
    _, median, _ = noise([1.0, 1.0, math.inf], [1.01, 1 / 1.01, 1.0])
    assert median == pytest.approx(math.log(1.01))
