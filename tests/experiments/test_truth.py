"""Truth: medians over windows, spread, floor, and what is left out."""

import pytest

from streamgauge.experiments.experiment import Turn
from streamgauge.experiments.figures import FigureKind, Key, Value
from streamgauge.experiments.truth import (
    Course,
    RepetitionTruth,
    WindowTruth,
    find_floor,
    summarise_step,
)

MEAN = Key(FigureKind.LATENCY, "all", "mean")
TAIL = Key(FigureKind.LATENCY, "all", "p99")
HELD = Key(FigureKind.BACK_PRESSURE, "out", "held")
COURSE = Course(bucket_seconds=1.0, latency_seconds=(), emitted_per_second=(), held=())


def window(figures, *marks):
    named = {key: Value(value, 100) for key, value in figures.items()}
    return WindowTruth(start="", seconds=1.0, marks=marks, figures=named)


def repetition(number, *windows, pooled=None):
    return RepetitionTruth(
        turn=Turn("step", number),
        began_at="",
        windows=windows,
        pooled={key: Value(value, 10_000) for key, value in (pooled or {}).items()},
        course=COURSE,
    )


def means(number, *values):
    return repetition(number, *(window({MEAN: value}) for value in values))


def test_truth_is_the_median_over_all_windows_and_half_the_quartiles_distance():
    step = summarise_step("step", [means(1, 1.0, 2.0, 3.0), means(2, 4.0, 5.0)])
    figure = step.figure(*MEAN)
    # 1, 2, 3, 4, 5: the quartiles are 2 and 4.
    assert (figure.value, figure.spread, figure.least, figure.most) == (3.0, 1.0, 1.0, 5.0)
    assert (figure.number, figure.repetitions, figure.over, figure.count) == (5, 2, "windows", 500)


def test_marked_windows_are_left_out():
    marked = repetition(1, window({MEAN: 1.0}), window({MEAN: 99.0}, "stolen"))
    step = summarise_step("step", [marked])
    assert step.figure(*MEAN).value == 1.0
    assert (step.windows, step.marked) == (2, 1)


def test_a_step_whose_windows_are_all_marked_has_no_truth():
    step = summarise_step("step", [repetition(1, window({MEAN: 1.0}, "stolen"))])
    assert step.figures == ()


def test_the_floor_is_the_error_of_predicting_a_repetition_by_another():
    # By 4 for 5: a fifth. By 5 for 4: a quarter. The median of both is 0.225.
    assert find_floor([4.0, 5.0]) == pytest.approx((0.225, 0.25))


def test_one_repetition_has_no_floor():
    assert find_floor([4.0]) is None
    assert summarise_step("step", [means(1, 1.0, 2.0)]).figure(*MEAN).floor is None


def test_the_floor_is_of_the_medians_of_repetitions():
    step = summarise_step("step", [means(1, 3.0, 4.0, 9.0), means(2, 1.0, 5.0, 6.0)])
    assert step.figure(*MEAN).floor == pytest.approx(0.225)


def test_a_tail_of_windows_with_too_few_tuples_is_taken_over_repetitions():
    first = repetition(1, window({TAIL: 7.0}), window({MEAN: 1.0}), pooled={TAIL: 8.0})
    second = repetition(2, window({MEAN: 1.0}), pooled={TAIL: 10.0})
    figure = summarise_step("step", [first, second]).figure(*TAIL)
    assert (figure.value, figure.over, figure.number) == (9.0, "repetitions", 2)


def test_a_tail_that_even_repetitions_are_too_small_for_is_missing():
    step = summarise_step("step", [repetition(1, window({TAIL: 7.0}), window({MEAN: 1.0}))])
    assert step.figure(*TAIL) is None


def test_what_did_not_happen_is_zero_and_a_latency_that_was_not_seen_is_not():
    one = repetition(1, window({HELD: 0.9, MEAN: 5.0}), window({}), window({}))
    step = summarise_step("step", [one])
    assert step.figure(*HELD).value == 0.0
    assert step.figure(*MEAN).value == 5.0
