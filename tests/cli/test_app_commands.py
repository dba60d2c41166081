"""``streamgauge app``: what it prints, writes and refuses."""

import json

import pytest

from streamgauge.profile.files.jobs import load_job

DIAMOND = """\
workflow:
  depth: 5
  scalability: {parallelism: 24}
  connection: {shape: diamond, routing: hash}
  workload: {processing: 3.0, balancing: decreasing}
  filtering: 0.5
"""


@pytest.fixture
def app(run, monkeypatch):
    """Calls ``streamgauge app``."""
    from streamgauge.cli import applications

    monkeypatch.setattr("streamgauge.cli.app.app", applications.app)
    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text(DIAMOND)
    return path


def test_a_fine_file_is_called_fine(app, file):
    outcome = app("check", file)
    assert outcome.code == 0
    assert outcome.out.endswith("fine: 6 tasks, 6 connections, 24 instances, reliable\n")


def test_a_wrong_file_is_refused_with_line_and_key(app, file):
    file.write_text(DIAMOND.replace("diamond", "diamant"))
    outcome = app("check", file)
    assert outcome.code == 2
    assert f"{file}:4: workflow.connection.shape: 'diamant'" in outcome.err


def test_problems_are_a_document_too(app, file):
    file.write_text("workflow: {depth: 1}")
    problem = json.loads(app("show", file, "--json").out)["error"]["problems"][0]
    assert (problem["line"], problem["path"]) == (1, "workflow.depth")


def test_show_prints_tasks_with_their_loads_and_rates(app, file):
    outcome = app("show", file)
    assert outcome.code == 0
    assert "it: 6 tasks, 24 instances in 1 worker, reliable" in outcome.out
    row = next(line for line in outcome.out.splitlines() if line.startswith(" task-2"))
    # 2400 cycles of 0.7407 ns.
    assert row.split() == ["task-2", "4", "source-1", "hash", "2.4", "1.78", "µs", "0.5", "4,000"]


def test_the_document_has_the_application_and_its_job(app, file):
    document = json.loads(app("show", file, "--json").out)
    tasks = {task["name"]: task for task in document["application"]["tasks"]}
    assert tasks["task-1"]["cycles"] == 3000
    assert tasks["task-3"]["received_per_second"] == 4000.0
    assert document["job"]["topology"]["name"] == "it"


def test_pictures_and_jobs_are_written(app, file, tmp_path):
    outcome = app("show", file, "--svg", tmp_path / "it.svg", "--job", tmp_path / "job.yaml")
    assert outcome.out == ""
    assert "<svg" in (tmp_path / "it.svg").read_text()
    assert load_job(tmp_path / "job.yaml").topology.operator("task-1").tasks == 4


def test_a_platform_and_a_measured_cycle_change_the_job(app, file, tmp_path):
    platform = tmp_path / "platform.yaml"
    platform.write_text("workers: 2\ncluster: {uniform: {nodes: 2}}\n")
    arguments = ("show", file, "--platform", platform, "--cycle-ns", "2", "--json")
    document = json.loads(app(*arguments).out)
    assert document["job"]["configuration"]["workers"] == 2
    assert document["application"]["tasks"][1]["cpu_ms"] == pytest.approx(0.006)


def test_an_engine_that_nobody_knows_is_refused(app, file, tmp_path):
    platform = tmp_path / "platform.yaml"
    platform.write_text("engine: storm-3\n")
    outcome = app("check", file, "--platform", platform)
    assert outcome.code == 2
    assert "platform.yaml:1: engine: engine 'storm-3'; expected one of storm-1" in outcome.err


def test_routing_can_be_kept_to_the_connections_behind_sources(app, file):
    def routings(*arguments):
        tasks = json.loads(app("show", file, "--json", *arguments).out)["application"]["tasks"]
        return [task["routing"] for task in tasks[1:]]

    assert set(routings()) == {"hash"}
    assert routings("--routed", "first-level") == ["hash", "hash", "none", "none", "none"]
    outcome = app("check", file, "--routed", "first")
    assert outcome.code == 2
    assert "--routed: 'first'; expected one of all, first-level" in outcome.err


def test_a_cycle_that_takes_no_time_is_refused(app, file):
    outcome = app("check", file, "--cycle-ns", "0")
    assert outcome.code == 2
    assert "--cycle-ns: cycle_ns: 0.0; expected a finite number above 0" in outcome.err


def test_bursts_without_a_limit_are_warned_of(app, file):
    flow = "{distribution: burst, rate: 10}"
    file.write_text(f"datastream: {{synthetic: {{flow: {flow}}}}}\nworkflow:\n")
    outcome = app("check", file, "--json")
    assert "assumed to run at 100 tuples/s" in json.loads(outcome.out)["warnings"][0]
    assert "warning: source-1: no burst_rate given" in outcome.err


def test_an_application_is_simulated(app, file):
    arguments = ("simulate", file, "--seconds", "2", "--warmup", "0.5", "--json")
    outcome = app(*arguments)
    assert outcome.code == 0
    operators = json.loads(outcome.out)["operators"]
    assert operators["task-1"]["executed_per_second"] == pytest.approx(4000.0, rel=0.01)
    # Both branches let half of their tuples pass.
    assert operators["task-3"]["executed_per_second"] == pytest.approx(4000.0, rel=0.05)


def test_one_tuple_comes_out_of_a_window(app, file):
    """Three instances that gather for a second each."""
    file.write_text(
        "workflow: {depth: 4, scalability: {parallelism: 12}, reliability: false,\n"
        "  windowing: {duration: 1}}"
    )
    outcome = app("simulate", file, "--seconds", "10", "--warmup", "2", "--json")
    operators = json.loads(outcome.out)["operators"]
    assert operators["task-2"]["executed_per_second"] == pytest.approx(3000.0, rel=0.01)
    assert operators["task-3"]["executed_per_second"] == pytest.approx(3.0, abs=0.3)


def test_a_task_that_cannot_keep_up_is_named(app, file):
    file.write_text(
        "workflow: {depth: 2, scalability: {parallelism: 2}, workload: {processing: 3000}}"
    )
    outcome = app("simulate", file, "--seconds", "5", "--warmup", "0")
    assert outcome.code == 3
    assert "Overloaded: task-1 receives 1,000 tuples" in outcome.out


def test_an_application_runs_with_the_rates_and_latency_that_its_file_describes(
    app, file, tmp_path
):
    """Tuples come every 2.5 ms, so that none waits; two tasks take a millisecond of CPU each.

    Half of the tuples end at the first task: their trees take 1 ms, the others 2 ms.
    """
    file.write_text(
        "datastream: {synthetic: {flow: {distribution: uniform, rate: 400}}}\n"
        "workflow: {depth: 3, scalability: {parallelism: 3}, workload: {processing: 1000},\n"
        "  filtering: 0.5}"
    )
    platform = tmp_path / "platform.yaml"
    platform.write_text("cycle_ns: 1\ncluster: {uniform: {nodes: 1, cores: 8}}\n")
    folder = tmp_path / "out"
    arguments = ("--engine", "emulator", "--seconds", "4", "--warmup", "1", "--output", folder)
    outcome = app("run", file, "--platform", platform, *arguments, "--json")
    assert outcome.code == 0, outcome.err
    figures = {
        (one["kind"], one["subject"], one["quantity"]): one["value"]
        for one in json.loads(outcome.out)["truth"]["steps"]["run"]["figures"]
    }
    assert figures["throughput", "source-1", "emitted_per_second"] == pytest.approx(400, rel=0.01)
    assert figures["throughput", "task-1", "executed_per_second"] == pytest.approx(400, rel=0.01)
    assert figures["throughput", "task-2", "executed_per_second"] == pytest.approx(200, rel=0.1)
    assert figures["latency", "all", "mean"] == pytest.approx(0.002, rel=0.02)
    assert figures["complete", "all", "mean"] == pytest.approx(0.0015, rel=0.05)
    assert list(folder.glob("raw/*/samples-*.jsonl.gz"))


def test_an_unknown_engine_is_refused_with_those_that_are_known(app, file):
    outcome = app("run", file, "--engine", "emulatr")
    assert outcome.code == 2
    assert "did you mean 'emulator'?" in outcome.err
