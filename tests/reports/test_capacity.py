"""What predictions and profiles say of capacities."""

from dataclasses import replace

import pytest

import streamgauge as sg
from streamgauge.models.measured_capacity import learn_scaling
from streamgauge.profile.files.jobs import parse_profile, profile_to_json
from streamgauge.reports.profile import ProfileReport
from tests.models.observed_jobs import observed, profile_of
from tests.models.test_caladrius import plan_of


@pytest.fixture(scope="module")
def profile():
    """Measured with one, two and four splitters, each slower than the one before."""
    plans = [observed(p, capacity=200.0 * p**-0.3, seed=p) for p in (1, 2, 4)]
    found = profile_of(*plans)
    return replace(found, scaling=learn_scaling(found))


@pytest.fixture(scope="module")
def report(profile):
    return sg.predict(profile, plan_of(profile), rate=300.0, intervals=False)


def test_a_prediction_shows_measured_beside_computed_and_both_rules(report):
    assert "How much each operator can take on this plan" in report.to_text(width=120)
    row = report.to_dict()["capacities"][1]
    assert row["operator"] == "splitter"
    assert row["computed_per_second"] == pytest.approx(3000.0, rel=0.05)
    assert row["measured_per_second"]["value"] == pytest.approx(200.0 * 3**0.7, rel=0.03)
    assert row["linear_rule_per_second"]["value"] == pytest.approx(600.0 * 4**-0.3, rel=0.03)
    error = row["computed_per_second"] / row["measured_per_second"]["value"] - 1.0
    assert row["relative_error"] == pytest.approx(error)
    assert (row["basis"], row["measured_executors"], row["differs"]) == ("back-pressure", 4, True)


def test_a_contradiction_is_said_above_the_verdict(report):
    (doubt,) = (one for one in report.doubts if one.code == "capacity-below-computed")
    assert "splitter at 43" in str(doubt)
    assert any("capacity-below-computed" in one for one in report.verdict.doubts)


def test_a_prediction_shows_psi_and_both_alerts(report):
    text, document = report.to_text(width=120), report.to_dict()
    assert "CPU of executors' threads, polling included" in text
    assert "alert by median" in text
    assert document["capacities"][1]["psi_cores"] == pytest.approx(0.3 + 1.2, rel=0.05)
    assert [one["operator"] for one in document["alerts"]] == ["splitter", "counter"]


def test_a_profile_shows_curves_exponents_and_psi(profile):
    report = ProfileReport(profile=profile)
    text = report.to_text(width=120)
    assert "Throughput of one executor" in text
    assert "never saturated" in text
    assert "learned from (executors)" in text
    found = report.to_dict()["capacities"]["splitter"]
    assert [one["executors"] for one in found["curves"]] == [1, 2, 4]
    assert found["scaling"]["exponent"] == pytest.approx(0.7, abs=0.01)
    assert found["psi"]["core_seconds_per_tuple"]["value"] == pytest.approx(0.001, rel=0.02)


def test_observations_and_exponents_survive_a_file(profile):
    assert parse_profile(profile_to_json(profile)) == profile


def test_a_profile_of_before_says_what_it_can(project):
    old = sg.load_profile(project / "examples/word-count.profile.json")
    assert not old.observed
    text = ProfileReport(profile=old).to_text(width=120)
    assert "Throughput of one executor" in text
    assert "never saturated" in text
