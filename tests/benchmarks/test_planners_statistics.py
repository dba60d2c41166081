"""Figures over many cases, on samples one can count by hand."""

import math

import pytest

from benchmarks.planners_statistics import Signs, divide, extremes, noise, quartiles


def test_quartiles_leave_out_what_is_missing_and_count_infinite_as_the_highest():
    assert quartiles([1.0, math.nan, 2.0, 3.0, math.inf, math.inf]) == [2.0, 3.0, math.inf]
    assert all(map(math.isnan, quartiles([])))


def test_signs_count_near_ones_as_the_same_and_infinite_ones_as_higher():
    assert Signs.of([0.5, 0.99, 1.01, 1.5, math.inf, math.nan]) == Signs(lower=1, same=2, higher=2)


def test_the_sign_test_is_that_of_coins():
    # All of five coins on one side, either side: 2 / 2⁵.
    assert Signs(lower=5, same=3, higher=0).p_value == pytest.approx(2 / 32)
    assert Signs(lower=2, same=0, higher=2).p_value == 1.0


def test_ratios_are_taken_case_by_case():
    *known, unknown = divide([1.0, math.inf, math.inf], [2.0, 4.0, math.inf])
    assert known == [0.5, math.inf]
    assert math.isnan(unknown)


def test_of_nothing_remote_more_is_infinitely_more():
    assert divide([0.0, 3.0], [0.0, 0.0]) == [1.0, math.inf]


def test_the_best_and_the_worst_are_parts_of_the_cases_in_which_plans_differ():
    best, worst = extremes(
        {"a": [1.0, 1.0, 5.0, math.nan], "b": [2.0, 1.0, math.inf, 3.0], "c": [2.0, 1.0, 5.0, 1.0]}
    )
    assert best == {"a": 2 / 3, "b": 0.0, "c": 2 / 3}
    assert worst == {"a": 0.0, "b": 1.0, "c": 1 / 3}


def test_noise_is_the_part_by_which_repetitions_differ():
    _, median, _ = noise([1.0, 1.0, math.inf], [1.01, 1 / 1.01, 1.0])
    assert median == pytest.approx(math.log(1.01))
