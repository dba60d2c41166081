"""What a report says first, what it warns of, and its page."""

from dataclasses import replace

import pytest

from streamgauge.cli.experiment_page import experiment_page
from streamgauge.cli.experiment_report import cautions, print_truth, truth_document, verdict_lines
from streamgauge.cli.experiment_studies import step_regime, study_lines
from streamgauge.experiments.experiment import Turn
from streamgauge.experiments.figures import Key
from streamgauge.experiments.journal import Journal, Repetition, placed
from streamgauge.experiments.regimes import Regime, regime_of
from streamgauge.experiments.studies import EventRule, Fidelity, LoadSweep
from streamgauge.experiments.truth import Course, Truth, step_truth
from tests.experiments.lines import START
from tests.experiments.small import small_experiment
from tests.experiments.test_truth import MEAN, repetition, window

EMITTED = Key("throughput", "all", "emitted_per_second")
MEDIAN = Key("latency", "all", "p50")
ONE_CLOCK = Key("latency", "all with one clock", "mean")


def course(*latencies):
    flat = (0.0,) * len(latencies)
    return Course(bucket_seconds=1.0, latency_seconds=latencies, emitted_per_second=flat, held=flat)


def measured(number, *latencies, marks=()):
    windows = [
        window({MEAN: one, MEDIAN: one, ONE_CLOCK: one, EMITTED: 100.0}) for one in latencies
    ]
    windows += [window({MEAN: 9.0}, mark) for mark in marks]
    return replace(repetition(number, *windows), course=course(*latencies))


@pytest.fixture
def journal(tmp_path):
    """Three steps, of which one is done twice and one once."""
    experiment = small_experiment(tmp_path)
    executors = placed(experiment.step("slow").schedule(experiment.cluster).plan)
    done = [
        Repetition(
            turn=Turn(step, number),
            folder="raw/x",
            began_at=START,
            measured_from=START,
            measured_to=START,
            executors=executors,
        )
        for step, number in (("slow", 1), ("slow", 2), ("fast", 1))
    ]
    return Journal(experiment=experiment, engine="fake", done=tuple(done))


@pytest.fixture
def truth():
    slow = step_truth("slow", [measured(1, 0.004, 0.004), measured(2, 0.005, 0.005)])
    fast = step_truth("fast", [measured(1, 0.002, marks=("the host took 5 %",))])
    return Truth(experiment="small", engine="fake", steps=(slow, fast), left=3)


def test_the_verdict_says_how_much_was_measured_what_was_left_out_and_the_floor(journal, truth):
    assert verdict_lines(journal, truth)[:3] == [
        "small on fake: 2 steps, 3 of 6 repetitions, 6 windows of 2 s",
        "1 of them marked and left out",
        "floor: one repetition predicts another's mean latency to 22.5 %",
    ]


def test_the_report_warns_of_what_is_missing_or_marked(truth):
    found = cautions(truth)
    assert "3 repetitions not done yet" in found
    assert "step, repetition 1: the host took 5 %" in found
    assert "slow: no p99 from less than 10,000 tuples" in found
    assert not any("clock" in line for line in found)


def test_tuples_between_two_clocks_are_warned_of():
    apart = step_truth("apart", [repetition(1, window({MEAN: 1.0}))])
    truth = Truth(experiment="x", engine="fake", steps=(apart,), left=0)
    assert any("two clocks" in line for line in cautions(truth))


def test_a_step_without_a_window_that_counts_is_said_to_have_no_truth():
    none = step_truth("none", [repetition(1, window({MEAN: 1.0}, "stolen"))])
    truth = Truth(experiment="x", engine="fake", steps=(none,), left=0)
    assert "none: every window is marked: there is no truth" in cautions(truth)


def test_a_table_a_step_has_value_spread_and_number(journal, truth, capsys):
    print_truth(journal, truth, brief=True)
    out = capsys.readouterr().out
    assert "slow: 2 repetitions, 4 windows" in out
    assert "4.50 ± 0.50 ms" in out and "4 windows" in out
    assert "fast: 1 repetition, 2 windows, 1 left out" in out


def test_details_follow_where_they_are_wanted(journal, truth, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    print_truth(journal, truth, brief=False)
    assert "all with one clock, mean" in capsys.readouterr().out


def test_the_document_has_verdict_truth_and_cautions(journal, truth):
    document = truth_document(journal, truth)
    figures = document["truth"]["steps"]["slow"]["figures"]
    means = [one["value"] for one in figures if one["quantity"] == "mean"]
    assert means == pytest.approx([0.0045, 0.0045])
    assert document["verdict"] == verdict_lines(journal, truth)
    assert document["study"] is None


def test_the_page_has_pictures_and_whatever_names_say(journal, truth):
    step = truth.steps[0]
    evil = replace(truth, steps=(replace(step, name="<script>"),))
    page = experiment_page(journal, evil)
    assert page.count("<svg") == 5
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "4.50 ± 0.50 ms" in page


def test_a_sweep_names_the_regime_of_every_step(journal, truth):
    sweep = replace(
        journal, experiment=replace(journal.experiment, study=LoadSweep(baseline="slow"))
    )
    assert study_lines(sweep, truth) == ["regimes: slow normal, fast normal"]


def test_a_step_whose_repetitions_differ_says_how_many_agree():
    calm, high = (regime_of(course(value, value), 1.0, EventRule()) for value in (1.0, 9.0))
    assert (calm.regime, high.regime) == (Regime.NORMAL, Regime.PERSISTENT)
    assert step_regime([calm, calm, high]) == "normal (2/3)"


def test_fidelity_names_the_worst_difference(journal, truth):
    study = Fidelity(reference="slow")
    one = replace(journal, experiment=replace(journal.experiment, study=study))
    # 2 ms beside 4.5 ms are 55.6 % less.
    assert study_lines(one, truth) == [
        "fidelity: within 55.6 % of slow in throughput and mean latency"
        " (worst: latency, mean of fast, −55.6 %)"
    ]
