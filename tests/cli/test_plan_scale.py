"""``streamgauge plan scale``: who gets how many, what that brings, and how to apply it."""

import io
import json
import xml.etree.ElementTree as ET

import pytest

from streamgauge.planning.scaling.contract import scaler_names
from streamgauge.profile.files.jobs import load_job

# 400 a second come; one executor of `work` does 100, one of `out` 200.
JOB = """\
streamgauge: 1
topology:
  name: tiny
  operators:
    in: {kind: source, tasks: 2}
    work: {tasks: 6}
    out: {tasks: 4}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: shuffle}
behaviours:
  work: {service: {cpu_ms: 10}, outputs: {default: 1}}
  out: {service: {cpu_ms: 5}}
workload: [{source: in, per_second: 400}]
configuration: {executors: {work: 1, out: 1}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 4}}
steps:
  wide: {executors: {work: 4, out: 2}}
"""

# A spout of 100 a second, a bolt that does 40 a unit.
COMPONENTS = {
    "name": "two",
    "freeResources": 2,
    "components": [
        {"id": "s", "type": "spout", "outputRate": 100, "childOutputRatio": {"b": 1}},
        {"id": "b", "type": "bolt", "maxProcessingRate": 40, "outInRatio": 1},
    ],
}


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


def scaled(run, *arguments, code=0):
    shown = run("plan", "scale", *arguments, "--json")
    assert shown.code == code
    return json.loads(shown.out)["scaling"]


def test_the_congested_operator_gets_the_units_until_the_next_one_is_full(run, job):
    """With 4 more: 3 of `work` do 300 or 4 do 400, and 2 of `out` do 400."""
    document = scaled(run, job, "--units", 4)
    found = document["planners"]["combined"]
    assert found["allocation"] == {"work": 3, "out": 1}
    assert (found["throughput"], found["expected"]) == pytest.approx((100.0, 400.0))


def test_the_verdict_comes_first_and_the_command_last(run, job):
    shown = run("plan", "scale", job, "--units", 4)
    lines = shown.out.strip().splitlines()
    assert lines[0].startswith("work +3, out +1: throughput 100 → 400 tuples/s, +300.0 %")
    assert lines[-1] == "  storm rebalance tiny -n 2 -e work=4 -e out=2"


def test_a_cluster_that_cannot_carry_it_is_said(run, job):
    """Four of `work` and two of `out` keep six cores busy; two machines of two have four."""
    # By keys, as shuffle would keep to the few executors near the source.
    text = JOB.replace("grouping: shuffle", "grouping: {fields: [k]}")
    text = text.replace("work: {tasks: 6}", "work: {tasks: 4}")
    job.write_text(text)
    fits = scaled(run, job, "--units", 4, "--rate", 390)
    assert fits["on_cluster"].startswith("Placed evenly on its own cluster: fits")
    job.write_text(text.replace("cores: 4", "cores: 2"))
    full = scaled(run, job, "--units", 4, "--rate", 390)
    assert "overloaded: m" in full["on_cluster"]


def test_a_job_may_come_from_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    document = scaled(run, "-", "--units", 4)
    assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_units_that_bring_nothing_stay_unused(run, job):
    """What sources emit is the workload: no planner gives them executors."""
    document = scaled(run, job, "--units", 10, "--planner", "all", "--sweep")
    for one in (*document["planners"].values(), *document["sweep"]):
        assert "in" not in one["allocation"]
    assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_where_nothing_is_congested_no_unit_is_needed(run, job):
    shown = run("plan", "scale", job, "--units", 3, "--step", "wide")
    assert shown.code == 0
    assert "Nothing is congested with 400 tuples/s out: no unit is needed." in shown.out
    assert "rebalance" not in shown.out


def test_a_higher_rate_congests_again(run, job):
    document = scaled(run, job, "--units", 3, "--step", "wide", "--rate", 600)
    assert document["planners"]["combined"]["allocation"] == {"work": 2, "out": 1}


def test_every_planner_is_asked_and_none_beats_the_exact_one(run, job):
    document = scaled(run, job, "--units", 3, "--planner", "all")
    assert set(document["planners"]) == set(scaler_names())
    best = document["planners"]["exact"]["expected"]
    assert all(one["expected"] <= best + 1e-9 for one in document["planners"].values())


def test_the_sweep_has_a_row_for_every_number_of_units(run, job):
    document = scaled(run, job, "--units", 4, "--sweep")
    assert [row["units"] for row in document["sweep"]] == [1, 2, 3, 4]
    rows = [row["throughput"] for row in document["sweep"]]
    assert rows == pytest.approx([200.0, 200.0, 300.0, 400.0])
    assert "What fewer units would bring" in run("plan", "scale", job, "--units", 4, "--sweep").out


def test_components_alone_are_scaled_by_what_their_file_has_to_give(run, components):
    document = scaled(run, components)
    assert document["units"] == 2
    assert document["planners"]["combined"]["allocation"] == {"b": 2}
    assert document["planners"]["combined"]["expected"] == pytest.approx(100.0)
    assert document["commands"] == []


def test_rates_that_contradict_each_other_are_named(run, tmp_path):
    wrong = json.loads(json.dumps(COMPONENTS))
    wrong["components"][1]["inputRate"] = 70
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(wrong))
    document = scaled(run, path)
    assert any("inputRate" in note for note in document["notes"])


def test_the_written_job_has_the_new_executors(run, job, tmp_path):
    path = tmp_path / "grown.yaml"
    document = scaled(run, job, "--units", 4, "-o", path)
    assert document["commands"] == [
        f"streamgauge plan place {path} -o plan.yaml",
        "streamgauge storm apply plan.yaml",
    ]
    assert dict(load_job(path).configuration.executors) == {"work": 4, "out": 2}


def test_pictures_mark_who_is_congested_before_and_after(run, job, tmp_path):
    svg, curve, page = tmp_path / "g.svg", tmp_path / "c.svg", tmp_path / "g.html"
    run(
        *("plan", "scale", job, "--units", 2, "--planner", "all"),
        *("--svg", svg, "--curve", curve, "--html", page),
    )
    texts = [one.text for one in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("congested") >= 2
    assert "1 → 3 units" in texts or "1 → 2 units" in texts
    lines = [one.text for one in ET.parse(curve).iter("{http://www.w3.org/2000/svg}text")]
    assert set(scaler_names()) <= set(lines)
    assert ">Throughput by units</h2>" in page.read_text()


def test_a_profile_stands_in_for_behaviours(run, job, tmp_path):
    from streamgauge.models.declared import declared_profile
    from streamgauge.profile.files.jobs import profile_to_data, save

    described = load_job(job)
    save(profile_to_data(declared_profile(described)), tmp_path / "profile.json")
    bare = tmp_path / "bare.yaml"
    head, _, rest = JOB.partition("behaviours:")
    bare.write_text(head + rest[rest.index("configuration:") :])
    document = scaled(run, bare, "--units", 4, "--profile", tmp_path / "profile.json")
    assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_a_rate_holds_where_the_file_has_no_load(run, job, tmp_path):
    """200 a second need 2 of `work`; 400 were measured, and need 4 and 2 of `out`."""
    from streamgauge.models.declared import declared_profile
    from streamgauge.profile.files.jobs import profile_to_data, save

    save(profile_to_data(declared_profile(load_job(job))), tmp_path / "profile.json")
    head, _, rest = JOB.partition("workload:")
    job.write_text(head + rest[rest.index("configuration:") :])
    for options in ([], ["--profile", tmp_path / "profile.json"]):
        document = scaled(run, job, "--units", 4, "--rate", 200, *options)
        assert document["planners"]["combined"]["allocation"] == {"work": 1}


def test_far_more_units_than_tasks_end_where_tasks_do(run, job):
    """Each number of units from 20,000 downwards would be tried for hours."""
    document = scaled(run, job, "--units", 20_000, "--rate", 1e6)
    assert document["planners"]["combined"]["allocation"] == {"work": 5, "out": 2}


def test_fewer_units_are_handed_out_where_tasks_end(run, job):
    """600 a second would need 6 of `work` and 3 of `out`; `out` has 2 tasks here."""
    job.write_text(JOB.replace("out: {tasks: 4}", "out: {tasks: 2}"))
    document = scaled(run, job, "--units", 7, "--rate", 600, "--sweep")
    found = document["planners"]["combined"]
    assert document["sweep"][-1]["throughput"] == pytest.approx(found["expected"])
    assert found["allocation"]["out"] <= 1
    assert any("cannot all be used" in reason for reason in found["reasons"])


@pytest.mark.parametrize("planner", scaler_names())
def test_units_that_find_no_task_go_to_others(run, job, planner):
    """`work` gains 100 a unit and `more` 10; of 5 units one finds a task of `work`."""
    job.write_text(
        JOB.partition("steps:")[0]
        .replace("work: {tasks: 6}", "work: {tasks: 2}\n    more: {tasks: 9}")
        .replace("  streams:", "  streams:\n    - {from: in, to: more, grouping: shuffle}")
        .replace("behaviours:", "behaviours:\n  more: {service: {cpu_ms: 100}}")
    )
    document = scaled(run, job, "--units", 5, "--planner", planner)
    assert document["planners"][planner]["allocation"] == {"work": 1, "more": 4}


def test_where_tasks_allow_nothing_it_is_infeasible(run, job):
    job.write_text(JOB.partition("steps:")[0].replace("work: {tasks: 6}", "work: {tasks: 1}"))
    shown = run("plan", "scale", job, "--units", 2)
    assert shown.code == 3
    assert "work has as many executors as tasks, 1" in shown.err


@pytest.mark.parametrize("units", [0, -1])
def test_units_must_be_some(run, job, units):
    shown = run("plan", "scale", job, "--units", units)
    assert shown.code == 2
    assert "--units" in shown.err


def test_units_are_needed_where_no_file_has_them(run, job):
    shown = run("plan", "scale", job)
    assert shown.code == 2
    assert "--units" in shown.err


def test_a_cycle_is_named_and_invalid(run, tmp_path, job):
    text = JOB.replace(
        "    - {from: work, to: out",
        "    - {from: out, to: work, grouping: shuffle}\n    - {from: work, to: out",
    )
    job.write_text(
        text.replace(
            "out: {service: {cpu_ms: 5}}", "out: {service: {cpu_ms: 5}, outputs: {default: 0.1}}"
        )
    )
    shown = run("plan", "scale", job, "--units", 2)
    assert shown.code == 2
    assert "cycle" in shown.err


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


def test_a_profile_is_its_own_job(run, project):
    profile = project / "examples" / "word-count.profile.json"
    outcome = run("plan", "scale", profile, "--units", 2, "--rate", 300000)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("splitter +1")
