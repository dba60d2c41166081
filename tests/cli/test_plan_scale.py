"""``streamgauge plan scale``: options, files it writes, exit codes and refusals."""

import json
import xml.etree.ElementTree as ET

import pytest

from streamgauge.planning.scaling.contract import scaler_names
from streamgauge.profile.files.jobs import load_job
from tests.planning.scaling.tiny_job import COMPONENTS, JOB


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def components(tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps(COMPONENTS))
    return path


def test_the_verdict_comes_first_and_the_command_last(run, job):
    job.write_text(JOB.replace("grouping: shuffle", "grouping: {fields: [k]}"))
    shown = run("plan", "scale", job, "--units", 4, "--rate", 290)
    assert shown.code == 0
    lines = shown.out.strip().splitlines()
    assert lines[0].startswith("Fits with work +2, out +1 (combined, 3 of 4 units), placed evenly")
    assert lines[-1] == "  storm rebalance tiny -n 2 -e work=3 -e out=2"


def test_a_cluster_that_cannot_carry_it_leaves_with_3(run, job):
    shown = run("plan", "scale", job, "--units", 4, "--rate", 1000)
    assert shown.code == 3
    assert shown.out.startswith("Overloaded even with ")


def test_components_that_stay_congested_leave_with_3(run, components):
    shown = run("plan", "scale", components, "--units", 1)
    assert shown.code == 3
    assert shown.out.startswith("Still congested with b +1 (combined, 1 unit): b gets 1.25 times")
    assert run("plan", "scale", components).code == 0


def test_the_written_job_has_the_new_executors(run, job, tmp_path):
    path = tmp_path / "grown.yaml"
    shown = run("plan", "scale", job, "--units", 4, "-o", path)
    assert f"  streamgauge plan place {path} -o plan.yaml\n" in shown.out
    assert dict(load_job(path).configuration.executors) == {"work": 4, "out": 2}


def test_pictures_mark_who_is_congested_before_and_after(run, job, tmp_path):
    svg, curve, page = tmp_path / "g.svg", tmp_path / "c.svg", tmp_path / "g.html"
    run(
        *("plan", "scale", job, "--units", 2, "--planner", "all"),
        *("--svg", svg, "--curve", curve, "--html", page),
    )
    texts = [node.text for node in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("congested") >= 2
    assert [text for text in texts if text.endswith(" units") and "→" in text] == ["1 → 3 units"]
    lines = [node.text for node in ET.parse(curve).iter("{http://www.w3.org/2000/svg}text")]
    assert set(scaler_names()) <= set(lines)
    assert ">What fewer units bring</h2>" in page.read_text()


def test_weights_of_sinks_are_read_and_refused(run, components):
    shown = run("plan", "scale", components, "--sink-weight", "b=2", "--json")
    assert json.loads(shown.out)["scaling"]["planners"]["combined"]["expected"] == 200.0
    assert run("plan", "scale", components, "--sink-weight", "b").code == 2
    shown = run("plan", "scale", components, "--sink-weight", "s=2")
    assert shown.code == 2
    assert "which is not a sink" in shown.err


@pytest.mark.parametrize("option", ["--unit", "--ties", "--packages"])
def test_an_unknown_choice_names_the_known_ones(run, job, option):
    shown = run("plan", "scale", job, "--units", 1, option, "nothing")
    assert shown.code == 2
    assert f"{option}: 'nothing'; expected one of" in shown.err


@pytest.mark.parametrize("units", [0, -1])
def test_units_must_be_some(run, job, units):
    shown = run("plan", "scale", job, "--units", units)
    assert shown.code == 2
    assert "--units" in shown.err


def test_units_are_needed_where_no_file_has_them(run, job):
    shown = run("plan", "scale", job)
    assert shown.code == 2
    assert "--units" in shown.err


def test_an_inconsistent_file_of_components_is_refused(run, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"components": [{"id": "s", "type": "spout"}]}))
    shown = run("plan", "scale", path, "--units", 1)
    assert shown.code == 2
    assert "outputRate" in shown.err


def test_unknown_planners_and_files_are_named(run, job, tmp_path):
    shown = run("plan", "scale", job, "--units", 1, "--planner", "stella")
    assert shown.code == 2
    assert "did you mean 'stela'?" in shown.err
    shown = run("plan", "scale", tmp_path / "none.yaml", "--units", 1)
    assert shown.code == 2
    assert "none.yaml" in shown.err


def test_components_take_no_options_of_jobs(run, components, tmp_path):
    assert run("plan", "scale", components, "--rate", 5).code == 2
    assert run("plan", "scale", components, "-o", tmp_path / "x.yaml").code == 2


def test_a_measured_job_is_shown_with_how_sure_its_headroom_is(run):
    outcome = run("plan", "scale", "examples/recorded/quiet.profile.json", "--units", "2", "--json")
    body = json.loads(outcome.out)["scaling"]
    headroom = next(one for one in body["intervals"]["figures"] if one["figure"] == "headroom")
    assert headroom["low"] < body["prediction"]["limit"]["factor"] < headroom["high"]
