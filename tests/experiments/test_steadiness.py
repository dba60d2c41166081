"""Repetitions in which a backlog grew or drained are told from steady ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.judged_steps import judge_step
from streamgauge.experiments.steadiness import keep_steady, tell_unsteady
from streamgauge.experiments.truth import summarise_step
from tests.experiments.test_truth import repetition, window

DUE = Key(FigureKind.SINCE_DUE, "all", "mean")
EMITTED = Key(FigureKind.LATENCY, "all", "mean")


def windows(*latencies, key=DUE, number=1):
    """Windows of a quarter of a minute, one after the other."""
    return repetition(
        number,
        *(
            replace(window({key: value}), start=f"2026-01-01T00:00:{15 * place:02d}+00:00")
            for place, value in enumerate(latencies)
        ),
    )


def test_a_backlog_that_drains_by_more_than_a_hundredth_of_the_input_is_told():
    # 400/s come and 413/s are served: 3 % drain, so that times shrink by 0.03 s a second.
    assert tell_unsteady(windows(3.0, 2.55, 2.1)) == (
        "a backlog drained while it was measured (tuples took 3 s in the first window, 2.1 s in"
        " the last one)"
    )
    assert tell_unsteady(windows(1.0, 1.14, 1.29)) == ""


def test_a_backlog_that_grows_is_told_by_times_since_emission_where_nothing_is_due():
    assert "a backlog grew" in tell_unsteady(windows(0.1, 0.4, 0.7, key=EMITTED))


@pytest.mark.parametrize("latencies", [(0.01, 0.02, 0.01), (0.5,), ()])
def test_what_scatters_or_cannot_be_told_is_steady(latencies):
    assert tell_unsteady(windows(*latencies)) == ""


def test_marked_windows_tell_nothing():
    (first, second) = windows(9.0, 1.0).windows
    assert tell_unsteady(repetition(1, replace(first, marks=("stolen",)), second)) == ""


def test_the_truth_is_of_the_steady_repetitions():
    truth = summarise_step("step", [windows(3.0, 2.0), windows(0.1, 0.1, number=2)])
    kept, reasons = keep_steady(truth)
    assert [one.turn.repetition for one in kept.repetitions] == [2]
    assert kept.figure(*DUE).value == 0.1
    assert reasons[0].startswith("step, repetition 1: a backlog drained")
    assert keep_steady(kept) == (kept, ())


def test_a_step_without_a_steady_repetition_has_no_truth(monkeypatch):
    monkeypatch.setattr("streamgauge.experiments.judged_steps.list_raw_files", lambda _: ["one"])
    slow = windows(3.0, 2.0)
    slow = replace(slow, windows=tuple(_with_both(one) for one in slow.windows))
    judged, truth = judge_step("step", [_Done()], summarise_step("step", [slow]), Path())
    assert truth is None
    assert "a backlog drained" in judged.no_truth


class _Done:
    folder = "raw"
    executors = ()


def _with_both(one):
    return replace(one, figures={**one.figures, EMITTED: one.figures[DUE]})
