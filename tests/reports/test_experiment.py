"""What a report says first, what it warns of, and its page."""

from dataclasses import replace

import pytest

from streamgauge.experiments.experiment import Turn
from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.journal import Journal, Repetition, list_placed_executors
from streamgauge.experiments.studies import BottleneckSearch, EventRule, Fidelity, LoadSweep
from streamgauge.experiments.study_results import Regime, find_regime
from streamgauge.experiments.truth import Course, Truth, summarise_step
from streamgauge.reports.experiment import ExperimentReport, name_regime
from tests.experiments.lines import START
from tests.experiments.small import small_experiment
from tests.experiments.test_truth import MEAN, repetition, window
from tests.reports.pages import verdict

EMITTED = Key(FigureKind.THROUGHPUT, "all", "emitted_per_second")
MEDIAN = Key(FigureKind.LATENCY, "all", "p50")
ONE_CLOCK = Key(FigureKind.LATENCY, "all with one clock", "mean")


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
    executors = list_placed_executors(experiment.step("slow").schedule(experiment.cluster).plan)
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
    slow = summarise_step("slow", [measured(1, 0.004, 0.004), measured(2, 0.005, 0.005)])
    fast = summarise_step("fast", [measured(1, 0.002, marks=("the host took 5 %",))])
    return Truth(experiment="small", engine="fake", steps=(slow, fast), left=3)


@pytest.fixture
def report(journal, truth):
    return ExperimentReport(journal=journal, truth=truth)


def with_study(report, study):
    experiment = replace(report.journal.experiment, study=study)
    return replace(report, journal=replace(report.journal, experiment=experiment))


def report_of(report, *steps):
    return replace(report, truth=Truth(experiment="x", engine="fake", steps=tuple(steps), left=0))


def test_the_finding_comes_first_then_what_was_left_out_and_the_floor(report):
    assert report.about == "small on fake: 2 steps, 3 of 6 repetitions, 6 windows of 2 s"
    assert str(report.verdict) == (
        "Measured: mean latency since emission is 2.00 ms (fast) to 4.50 ± 0.50 ms (slow)."
    )
    assert report.verdict.cautions[:2] == (
        "1 window marked and left out.",
        "Floor: one repetition predicts another's mean latency since emission to 22.5 %.",
    )
    lines = report.to_text().splitlines()
    assert lines[1].startswith("Measured: mean latency")


def test_the_report_warns_of_what_is_missing_or_marked(report):
    assert "3 repetitions not done yet" in report.warnings
    assert "step, repetition 1: the host took 5 %" in report.warnings
    assert "slow: no p99, which takes 10,000 tuples" in report.warnings
    assert not any("clock" in line for line in report.warnings)


def test_tuples_between_two_clocks_are_warned_of(report):
    apart = summarise_step("apart", [repetition(1, window({MEAN: 1.0}))])
    assert any("two clocks" in line for line in report_of(report, apart).warnings)


def test_a_step_without_a_window_that_counts_has_no_figures(report):
    none = summarise_step("none", [repetition(1, window({MEAN: 1.0}, "stolen"))])
    warnings = report_of(report, none).warnings
    assert "none: every window is marked, so there are no figures" in warnings


def test_a_table_a_step_has_value_spread_and_number(report):
    text = replace(report, is_brief=True).to_text()
    assert "slow: 2 repetitions, 4 windows" in text
    assert "4.50 ± 0.50 ms" in text and "4 windows" in text
    assert "fast: 1 repetition, 2 windows, 1 left out" in text


def test_details_follow_unless_the_report_is_brief(report):
    detail = "all with one clock, mean"
    assert detail in report.to_text(120)
    assert detail not in replace(report, is_brief=True).to_text(120)


def test_the_document_has_verdict_truth_and_cautions(report):
    document = report.document()
    figures = document["truth"]["steps"]["slow"]["figures"]
    means = [one["value"] for one in figures if one["quantity"] == "mean"]
    assert means == pytest.approx([0.0045, 0.0045])
    assert document["verdict"][:2] == [str(report.verdict), report.about]
    assert document["cautions"] == list(report.warnings)
    assert document["study"] is None


def test_the_long_table_names_step_and_subject(report):
    frame = report.to_pandas()
    slow = frame[(frame.name == "slow: all") & (frame.subject == "latency")]
    assert slow[slow.figure == "mean"].value.item() == pytest.approx(0.0045)


def test_the_page_has_pictures_and_shows_any_name_as_text(report):
    step = report.truth.steps[0]
    evil = replace(report.truth, steps=(replace(step, name="<script>"),))
    page = replace(report, truth=evil).to_html()
    assert page.count("<svg") == 5
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "4.50 ± 0.50 ms" in page


def test_a_sweep_names_the_regime_of_every_step(report):
    sweep = with_study(report, LoadSweep(baseline="slow"))
    assert str(sweep.verdict) == "Regimes: slow normal, fast normal."
    assert verdict(sweep.to_html()).startswith("Regimes: slow normal, fast normal.")
    assert sweep.document()["study"]["kind"] == "sweep"


def test_a_search_names_the_bottleneck(report):
    study = BottleneckSearch(base="slow", halved=(("fast", "work"),))
    # 2 ms beside 4.5 ms, at the same throughput.
    assert str(with_study(report, study).verdict) == (
        "Bottleneck: none of throughput; work adds most latency: 55.6 % of it."
    )


def test_a_step_whose_repetitions_differ_says_how_many_agree():
    calm, high = (find_regime(course(value, value), 1.0, EventRule()) for value in (1.0, 9.0))
    assert (calm.regime, high.regime) == (Regime.NORMAL, Regime.PERSISTENT)
    assert name_regime([calm, calm, high]) == "normal (2/3)"


def test_fidelity_names_the_worst_difference(report):
    # 2 ms beside 4.5 ms are 55.6 % less.
    assert str(with_study(report, Fidelity(reference="slow")).verdict) == (
        "Fidelity: within 55.6 % of slow in throughput and mean latency"
        " (worst: latency, mean of fast, −55.6 %)."
    )
