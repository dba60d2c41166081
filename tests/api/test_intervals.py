"""Predictions with their intervals: in tables, documents and frames, and where none are known."""

import json
import math
from dataclasses import replace

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from streamgauge.profile.files.jobs import load_profile, profile_to_json
from tests.resampled_profiles import write_resampled

JOB = "examples/word-count.yaml"
PLAIN = load_profile("examples/word-count.profile.json")
MEAN = ("latency", "source to sink", "mean")


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return write_resampled(PLAIN, tmp_path_factory.mktemp("resampled"), error=0.05)


def test_an_interval_holds_its_figure_and_names_its_parts(profile):
    report = sg.predict(profile, JOB, rate=2000)
    found = report.intervals.of(*MEAN)
    assert found.low < report.prediction.latency.mean < found.high
    assert math.log(found.high / found.low) / 2.0 == pytest.approx(
        math.hypot(found.parameters, found.model, found.sampling)
    )
    assert "90 % from" in report.to_text()
    assert "90 % intervals of what a window of 60 s would measure" in report.to_html()


def test_service_times_that_are_unsure_by_5_percent_make_utilisation_as_unsure(profile):
    report = sg.predict(profile, JOB, rate=2000)
    found = report.intervals.of("operator", "counter", "busiest")
    # Student's 1.80 of eleven degrees, √(12/11), and a little for the likeness of neighbours.
    assert 1.8 * 0.05 < found.parameters < 2.6 * 0.05


def test_the_document_and_the_frame_have_every_interval(profile):
    report = sg.predict(profile, JOB, rate=2000)
    intervals = json.loads(json.dumps(report.to_dict()))["intervals"]
    assert intervals["level"] == 0.9
    assert {"latency", "job", "operator", "executor", "worker", "machine"} <= {
        one["subject"] for one in intervals["figures"]
    }
    frame = report.to_pandas()
    rows = frame[(frame["subject"] == "latency") & (frame["figure"] == "p99")]
    assert (rows["low"] < rows["value"]).all()
    assert (rows["value"] < rows["high"]).all()


def test_a_longer_window_scatters_less(profile):
    short, long = (
        sg.predict(profile, JOB, rate=2000, window=seconds).intervals.of(*MEAN)
        for seconds in (10.0, 1000.0)
    )
    assert long.sampling == pytest.approx(short.sampling / 10.0, rel=1e-6)
    assert long.parameters == short.parameters


def test_without_its_replicas_a_profile_still_predicts_and_says_why_it_is_not_sure(tmp_path):
    path = write_resampled(PLAIN, tmp_path)
    next(tmp_path.glob("*.parquet")).unlink()
    report = sg.predict(path, JOB, rate=2000)
    assert report.prediction.latency.mean > 0.0
    assert report.intervals.of(*MEAN) is None
    assert any("intervals are not known" in text for text in report.warnings)
    assert "90 % intervals are not known" in report.to_text()


def test_a_profile_by_hand_has_intervals_that_are_not_known(tmp_path):
    path = tmp_path / "hand.json"
    path.write_text(profile_to_json(replace(PLAIN, replicas=None)))
    report = sg.predict(path, JOB, rate=2000)
    assert report.intervals.of(*MEAN) is None
    assert "not known" in report.to_text()
    assert not report.warnings


def test_too_few_blocks_are_named(tmp_path):
    assert PLAIN.replicas is not None
    few = replace(PLAIN, replicas=replace(PLAIN.replicas, count=0, blocks=1, file=""))
    path = tmp_path / "short.json"
    path.write_text(profile_to_json(few))
    assert "no replicas: 1 block" in sg.predict(path, JOB, rate=2000).to_text()


def test_a_declared_job_says_that_nothing_was_measured():
    assert "nothing was measured" in sg.predict(plan=JOB, rate=2000).to_text()


def test_nobody_has_to_ask_for_intervals(profile):
    report = sg.predict(profile, JOB, rate=2000, intervals=False)
    assert report.intervals is None
    assert "90 %" not in report.to_text()
    assert "intervals" not in report.to_dict()


def test_near_saturation_overload_has_a_probability_and_latency_no_upper_end(profile):
    limit = sg.predict(profile, JOB, rate=2000).prediction.limit.per_second
    report = sg.predict(profile, JOB, rate=0.99 * limit)
    assert 0.2 < report.intervals.overload < 0.5
    found = report.intervals.of(*MEAN)
    assert found.high == math.inf
    assert 0.0 < found.low < report.prediction.latency.mean
    assert "Overloaded with a probability of" in report.to_text()


def test_an_overloaded_plan_has_a_probability_near_one(profile):
    limit = sg.predict(profile, JOB, rate=2000).prediction.limit.per_second
    report = sg.predict(profile, JOB, rate=2.0 * limit)
    assert report.intervals.overload > 0.99
    assert report.intervals.of(*MEAN).low == math.inf


def test_the_profiles_own_plan_is_tested_against_what_was_measured(profile):
    report = sg.predict(profile)
    assert report.is_own
    assert "Back-test: the plan and load that were measured" in report.to_text()
    other = sg.predict(profile, JOB, rate=2000)
    assert not other.is_own
    assert "Back-test on the measured plan and load:" in other.to_text()
    assert other.to_dict()["back_test"][0]["error"] == pytest.approx(other.tested[0].error)


def test_plans_that_hardly_differ_are_not_told_apart_and_others_are(profile):
    report = sg.compare([JOB, f"{JOB}@splitters-2"], profile, rate=2000, by="mean")
    (difference,) = report.differences.values()
    assert difference.is_certain
    assert "Beyond the 90 % interval" in report.to_text()
    same = sg.compare([JOB, f"{JOB}@splitters-2"], profile, rate=2000, by="p99")
    assert "Not to be told from" in same.to_text()
    assert not next(iter(same.to_dict()["differences"].values()))["certain"]


def test_own_errors_of_models_take_the_place_of_the_default(profile, tmp_path):
    rows = [{"job": "other", "kind": "mean latency", "error": 0.5}]
    path = tmp_path / "residuals.json"
    path.write_text(json.dumps({"streamgauge_residuals": 1, "residuals": rows}))
    report = sg.predict(profile, JOB, rate=2000, residuals=path)
    assert report.intervals.of(*MEAN).model == 0.5


def test_a_window_without_length_is_refused(profile):
    with pytest.raises(InvalidInput, match="seconds above zero"):
        sg.predict(profile, JOB, rate=2000, window=0.0)


def test_other_models_and_measured_parameters_have_no_intervals(profile):
    for options in ({"model": "kingman", "plan": JOB, "rate": 2000}, {"measured": True}):
        report = sg.predict(profile, **options)
        assert report.intervals.of(*MEAN) is None
        assert "90 % intervals are not known" in report.to_text()
