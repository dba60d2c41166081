import json

import pytest

from streamgauge.engines.storm.jars import JAR_VARIABLE

PLACED = """\
streamgauge: 1
topology:
  name: tiny
  operators: {in: {kind: source}, out: {}}
  streams: [{from: in, to: out, grouping: shuffle}]
cluster: {uniform: {nodes: 1}}
plan: {workers: [{node: n1, port: 6700, executors: ["in[1]", "out[2]"]}]}
"""


@pytest.fixture
def data(tmp_path):
    return tmp_path / "cluster"


def test_without_a_cluster_its_status_is_unreachable(run, data):
    outcome = run("storm", "status", "--data", data)
    assert outcome.code == 4
    assert "start one" in outcome.err


def test_taking_down_what_is_not_there_is_no_fault(run, data):
    outcome = run("storm", "down", "--data", data, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["storm"] == {"ended_processes": 0}


def test_a_cluster_without_nodes_is_refused(run, data):
    outcome = run("storm", "up", "--nodes", 0, "--data", data)
    assert outcome.code == 2
    assert "nodes" in outcome.err


def test_a_job_without_a_plan_cannot_be_applied(run, job, data):
    outcome = run("storm", "apply", job, "--data", data)
    assert outcome.code == 2
    assert "no section 'plan'" in outcome.err


def test_a_plan_is_applied_to_a_cluster_that_runs(run, tmp_path, data):
    (tmp_path / "plan.yaml").write_text(PLACED)
    assert run("storm", "apply", tmp_path / "plan.yaml", "--data", data).code == 4


def test_the_agent_is_a_jar_and_two_lines(run, tmp_path, monkeypatch):
    jar = tmp_path / "ours.jar"
    jar.touch()
    monkeypatch.setenv(JAR_VARIABLE, str(jar))
    outcome = run("storm", "agent")
    where, *lines = outcome.out.splitlines()
    assert where == str(jar)
    assert [line.split(":")[0] for line in lines] == [
        "topology.metrics.reporters",
        "topology.auto.task.hooks",
    ]
