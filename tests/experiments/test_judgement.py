"""What errors come to, beside a program of the formulas that was written for it."""

import math
import statistics
from dataclasses import replace

import pytest

from streamgauge.experiments.figures import FigureKind, Key, Value
from streamgauge.experiments.judged_steps import JudgedStep, find_overloads
from streamgauge.experiments.judgement import Cell, Judgement, compare_figures, summarise_cells
from streamgauge.experiments.predicted_figures import Predicted
from streamgauge.experiments.quantities import (
    EXECUTOR_RATES,
    MEAN_SINCE_DUE,
    SATURATION,
    find_quantity,
)
from streamgauge.experiments.truth import summarise_step
from tests.experiments.test_truth import repetition, window

MEAN = Key(FigureKind.LATENCY, "from in", "mean")
DUE = Key(FigureKind.SINCE_DUE, "from in", "mean")
CARRIED = Key(FigureKind.LOAD, "all", "carried_per_second")


def truth(name, *figures, number=(10.0, 10.2)):
    """A step whose repetitions have these figures, times so much each."""
    return summarise_step(
        name,
        [
            replace(
                repetition(place, window({})),
                pooled={key: Value(value * scale, 100) for key, value in figures},
            )
            for place, scale in enumerate(number, start=1)
        ],
    )


def cell(predicted, measured, floor=0.0, quantity=MEAN_SINCE_DUE, **changes):
    given = {"model": "analytic", "source": "a", "proposed": "b", "subject": "x", "unit": "s"}
    return Cell(
        quantity=quantity,
        predicted=predicted,
        measured=measured,
        floor=floor,
        **{**given, **changes},
    )


def test_errors_are_those_of_the_formulas():
    pairs = [(1.1, 1.0), (0.8, 1.0), (3.0, 2.0), (2.02, 2.0), (1.0, 1.25)]
    floors = [0.01, 0.02, 0.0, 0.02, 0.024]
    found = summarise_cells(
        [cell(p, a, floor) for (p, a), floor in zip(pairs, floors, strict=True)]
    )
    errors = [(p - a) / a for p, a in pairs]
    assert found.median == pytest.approx(statistics.median(map(abs, errors)))
    assert found.mean == pytest.approx(statistics.fmean(map(abs, errors)))
    assert found.bias == pytest.approx(statistics.median(errors))
    assert found.worst == pytest.approx(0.5)
    assert found.worst_cell.predicted == 3.0
    assert found.floor == pytest.approx(statistics.median(floors))
    assert (found.cells, found.not_measurable) == (5, 0)
    assert found.is_met is False


def test_a_cell_whose_floor_exceeds_half_of_its_target_does_not_count():
    # The target of a mean latency is 5 %.
    found = summarise_cells([cell(1.02, 1.0, 0.024), cell(9.0, 1.0, 0.026)])
    assert (found.cells, found.not_measurable) == (1, 1)
    assert found.worst == pytest.approx(0.02)
    assert found.is_met is True
    assert found.rough_bias == pytest.approx((0.02 + 8.0) / 2)


def test_without_a_cell_that_can_tell_nothing_is_met():
    found = summarise_cells([cell(1.0, 1.0, 0.5)])
    assert found.is_met is None
    assert math.isnan(found.median)


def test_with_one_repetition_floors_are_not_known_and_cells_count():
    found = summarise_cells([cell(1.1, 1.0, None)])
    assert (found.cells, found.floor) == (1, None)


def test_a_latency_without_end_is_an_error_without_end():
    found = summarise_cells([cell(math.inf, 1.0), cell(1.0, 1.0), cell(1.1, 1.0)])
    assert (found.median, found.worst) == (pytest.approx(0.1), math.inf)


def test_something_where_nothing_was_measured_is_an_error_without_end():
    assert cell(0.1, 0.0).error == math.inf
    assert cell(0.0, 0.0).error == 0.0


def test_a_median_over_other_steps_leaves_out_the_own_one():
    own, other = cell(1.0, 1.0, proposed="a"), cell(1.3, 1.0)
    assert summarise_cells([own, other]).other_median == pytest.approx(0.3)


def test_figures_of_one_key_make_a_cell():
    truths = {"a": truth("a", (MEAN, 1.0)), "b": truth("b", (MEAN, 2.0), (DUE, 3.0))}
    predictions = {
        ("a", "a", "analytic"): [Predicted(MEAN, 10.1)],
        ("a", "b", "analytic"): [Predicted(MEAN, 22.0), Predicted(DUE, 31.0)],
        ("b", "a", "analytic"): [Predicted(MEAN, 10.1), Predicted(DUE, 5.0)],
    }
    cells = list(compare_figures(predictions, truths, [], one_clock=True))
    found = {(one.source, one.proposed, one.quantity.name): one.error for one in cells}
    # Truth is the median of two repetitions: 10.1 and 20.2, and 30.3.
    assert found == {
        ("a", "a", "mean latency since emission"): pytest.approx(0.0),
        ("a", "b", "mean latency since emission"): pytest.approx(22.0 / 20.2 - 1.0),
        ("a", "b", "mean latency since due"): pytest.approx(31.0 / 30.3 - 1.0),
        ("b", "a", "mean latency since emission"): pytest.approx(0.0),
    }
    # One repetition predicts the other to 2 % of 10, or 2/10.2.
    assert cells[0].floor == pytest.approx((0.02 + 0.2 / 10.2) / 2)


def test_intervals_count_where_they_are_known_and_the_step_is_another():
    truths = {"a": truth("a", (MEAN, 1.0)), "b": truth("b", (MEAN, 2.0))}
    own = Predicted(MEAN, 10.1, low=10.0, high=10.2)
    # 20.2 was measured.
    near, far = (
        Predicted(MEAN, 22.0, low=18.0, high=24.0),
        Predicted(MEAN, 22.0, low=21.0, high=24.0),
    )
    for predicted, within in ((near, 1), (far, 0)):
        predictions = {("a", "a", "analytic"): [own], ("a", "b", "analytic"): [predicted]}
        found = summarise_cells(list(compare_figures(predictions, truths, [], one_clock=True)))
        assert (found.cells, found.with_intervals, found.within) == (2, 1, within)
        assert found.half_width == pytest.approx((24.0 / predicted.low) ** 0.5 - 1.0)


def test_an_interval_that_nobody_knows_holds_nothing_and_misses_nothing():
    assert cell(1.0, 1.0).is_within is None
    assert summarise_cells([cell(1.0, 1.0)]).with_intervals == 0


def test_cells_of_overloaded_steps_are_apart_but_for_their_saturation():
    figures = ((MEAN, 1.0), (CARRIED, 70.0))
    truths = {name: truth(name, *figures, number=(1.0, 1.0)) for name in ("calm", "full")}
    predictions = {
        (source, proposed, "analytic"): [Predicted(MEAN, 1.1), Predicted(CARRIED, 77.0)]
        for source in truths
        for proposed in truths
    }
    cells = list(compare_figures(predictions, truths, ["full"], one_clock=True))
    judged = {(one.source, one.proposed, one.quantity.name) for one in cells if not one.is_apart}
    assert judged == {
        ("calm", "calm", "mean latency since emission"),
        ("calm", "full", "saturation"),
    }
    (saturation,) = [one for one in cells if one.quantity == SATURATION and not one.is_apart]
    assert saturation.error == pytest.approx(0.1)
    # A step that kept up does not tell what it could carry.
    assert not [one for one in cells if one.quantity == SATURATION and one.proposed == "calm"]


def test_clocks_of_two_machines_are_not_judged():
    two = Key(FigureKind.PATH, "in → out (two clocks)", "mean")
    one = Key(FigureKind.PATH, "in → out", "mean")
    every, alike = (Key(FigureKind.LATENCY, name, "mean") for name in ("all", "all with one clock"))
    figures = [(MEAN, 1.0), (two, 1.0), (one, 1.0), (every, 1.0)]
    predicted = [Predicted(key, 1.0) for key in (MEAN, two, one)]
    predictions = {("a", "a", "analytic"): predicted}

    def judged(truth_of, **how):
        cells = compare_figures(predictions, {"a": truth_of}, [], **how)
        return [cell.subject for cell in cells]

    assert judged(truth("a", *figures), one_clock=False) == ["in → out"]
    assert len(judged(truth("a", *figures), one_clock=True)) == 3
    on_one_machine = truth("a", (MEAN, 1.0), (one, 1.0), (every, 1.0), (alike, 1.0))
    assert judged(on_one_machine, one_clock=False) == ["from in", "in → out"]


def test_executors_and_operators_are_told_apart():
    executor = Predicted(Key(FigureKind.ARRIVAL, "work[3-4]", "per_second"), 1.0)
    assert find_quantity(executor) == EXECUTOR_RATES
    assert find_quantity(executor._replace(key=executor.key._replace(subject="work"))).name == (
        "arrival rates of operators"
    )
    assert find_quantity(Predicted(Key(FigureKind.CPU, "all", "cores"), 1.0)) is None


def test_overload_is_a_shortfall_beyond_chance():
    def shares(value, observed):
        key = Key(FigureKind.LOAD, "work[1]", "served_share")
        one = replace(repetition(1, window({})), pooled={key: Value(value, observed)})
        return find_overloads(summarise_step("a", [one]).figures)

    assert shares(0.9, 10_000) == ("work[1] serves 90 % of what comes",)
    assert shares(0.99, 10_000) == ()
    # Four standard deviations of a hundred are 40 %.
    assert shares(0.9, 100) == ()


def test_a_matrix_has_every_pair_and_a_summary_every_quantity():
    cells = [
        cell(1.1, 1.0),
        cell(0.9, 1.0, proposed="a"),
        cell(1.0, 1.0, quantity=EXECUTOR_RATES, model="stages"),
    ]
    judgement = Judgement(
        experiment="e",
        engine="emulator",
        models=("analytic",),
        steps=(JudgedStep(name="a"), JudgedStep(name="b", no_truth="broken", no_source="broken")),
        cells=tuple(cells),
        verdicts={},
    )
    names = [summary.quantity.name for summary in judgement.summarise()]
    assert names == ["arrival rates of executors", "mean latency since due"]
    matrix = judgement.matrix(MEAN_SINCE_DUE, "analytic")
    assert {pair: round(one.bias, 9) for pair, one in matrix.items()} == {
        ("a", "b"): 0.1,
        ("a", "a"): -0.1,
    }
    assert (judgement.sources, judgement.proposed) == (("a",), ("a",))
