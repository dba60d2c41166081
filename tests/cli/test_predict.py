"""``streamgauge predict``: the verdict first, overload as an answer, errors that name things."""

import json

import pytest

from streamgauge.profile.files.jobs import profile_to_data, save
from tests.profile.measured import word_count


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.json"
    save(profile_to_data(word_count()), path)
    return path


@pytest.fixture
def plan(tmp_path):
    """The profile's topology with other executors, without a placement."""
    data = profile_to_data(word_count())
    document = {key: data[key] for key in ("streamgauge", "topology")}
    document["configuration"] = {
        "executors": {"splitter": 2, "counter": 3},
        "workers": 1,
    }
    document["cluster"] = {"uniform": {"nodes": 1, "cores": 8}}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    return path


def test_the_verdict_comes_first_and_then_tables(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 100)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "100 tuples/s (the given rate), model analytic" in lines[0]
    assert lines[1].startswith("Fits. Up to ")
    for title in ("Latency from source to sink", "Operators", "Machines, in cores"):
        assert title in shown.out
    assert "splitter" in shown.out


def test_overload_leaves_with_3_and_says_what_would_fit(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 1e6)
    assert shown.code == 3
    assert "Overloaded: " in shown.out
    assert "would fit" in shown.out


def test_one_document_for_programs(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 100, "--json")
    document = json.loads(shown.out)
    found = document["prediction"]
    assert found["verdict"] == "fits"
    assert found["latency"]["mean"] > 0
    assert set(found["latency"]["quantiles"]) == {"0.5", "0.9", "0.95", "0.99"}
    assert document["verdict"].startswith("Fits")
    overloaded = json.loads(
        run("predict", "--profile", profile, "--plan", plan, "--rate", 1e6, "--json").out
    )
    assert overloaded["prediction"]["latency"]["mean"] is None


def test_an_unknown_model_is_named_with_those_there_are(run, profile):
    shown = run("predict", "--profile", profile, "--model", "crystal-ball")
    assert shown.code == 2
    assert "'crystal-ball'" in shown.err
    assert "analytic" in shown.err


def test_a_plan_of_another_topology_is_refused(run, profile, job):
    shown = run("predict", "--profile", profile, "--plan", job, "--rate", 10)
    assert shown.code == 2
    assert "not measured: " in shown.err
    assert "in, out, work" in shown.err
    assert "job.yaml" in shown.err


def test_a_negative_rate_is_refused(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", -5)
    assert shown.code == 2
    assert "-5" in shown.err


def test_a_step_needs_a_plan(run, profile):
    shown = run("predict", "--profile", profile, "--step", "wide")
    assert shown.code == 2
    assert "--step" in shown.err
