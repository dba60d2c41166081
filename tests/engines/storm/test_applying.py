import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engines.storm.applying import (
    FoundAssignment,
    apply_command,
    as_storm_numbers,
    plan_document,
    rebalance_command,
    remove_plan,
    scheduler_says,
    write_plan,
)
from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.logical_plan import Executor, LogicalPlan, TaskOrder

CLUSTER = Cluster.uniform(nodes=2, slots=2)
JOB = parse_job(
    """
streamgauge: 1
topology:
  name: tiny
  acked: true
  operators: {source: {kind: source, tasks: 2}, end: {tasks: 3}}
  streams: [{from: source, to: end, grouping: shuffle}]
configuration: {executors: {source: 2, end: 2}, workers: 2, ackers: 1}
"""
)


@pytest.fixture
def plan():
    return EvenScheduler().schedule(PlacementRequest(JOB.topology, JOB.configuration, CLUSTER)).plan


def answer_for(plan, status="ACTIVE"):
    executors = [
        {
            "component": one.operator,
            "first_task": one.first_task,
            "last_task": one.last_task,
            "node": plan.worker_of(one).node,
            "port": plan.worker_of(one).port,
        }
        for one in plan.logical.executors
    ]
    return {"status": status, "executors": executors[::-1]}


def test_a_plan_file_names_tasks_by_worker(plan, tmp_path):
    write_plan(tmp_path, plan, "tiny")
    written = json.loads((tmp_path / "tiny.json").read_text())
    # Executors by task: the acker, end with two tasks, end with one, two sources.
    assert written["workers"] == [
        {"node": "n1", "port": 6700, "executors": [[1, 1], [4, 4], [6, 6]]},
        {"node": "n2", "port": 6700, "executors": [[2, 3], [5, 5]]},
    ]


def test_what_is_read_back_is_the_plan_that_was_written(plan):
    found = FoundAssignment.of(answer_for(plan))
    assert found.differences(plan) == []
    assert found.plan(JOB.topology, JOB.configuration, CLUSTER) == plan


def test_differences_name_the_executor_and_both_places(plan):
    answer = answer_for(plan)
    answer["executors"][0]["port"] = 6701
    del answer["executors"][1]
    assert FoundAssignment.of(answer).differences(plan) == [
        "source[5]: planned on n2:6700, does not run",
        "source[6]: planned on n1:6700, runs on n1:6701",
    ]


def test_only_workers_with_other_executors_start_anew(plan):
    found = FoundAssignment.of(answer_for(plan))
    assert found.changed_workers(plan) == []
    moved = FoundAssignment(
        status="ACTIVE",
        slots={one: Slot("n1", 6700) for one in found.slots},
    )
    assert moved.changed_workers(plan) == list(plan.workers)


def test_a_plan_with_other_numbers_is_numbered_as_storm_does():
    declared = LogicalPlan.of(JOB.topology, JOB.configuration, task_order=TaskOrder.DECLARED)
    scheduler = EvenScheduler(task_order=TaskOrder.DECLARED)
    plan = scheduler.schedule(PlacementRequest(JOB.topology, JOB.configuration, CLUSTER)).plan
    assert plan.logical == declared
    numbered = as_storm_numbers(plan)
    assert numbered.logical.executors[0] == Executor(1, 1, "__acker")
    assert numbered.worker_of(Executor(1, 1, "__acker")) == plan.worker_of(
        Executor(6, 6, "__acker")
    )
    assert as_storm_numbers(numbered) is numbered


def test_an_assignment_outside_of_the_cluster_is_no_plan(plan):
    answer = answer_for(plan)
    answer["executors"][0]["node"] = "elsewhere"
    with pytest.raises(Infeasible, match="elsewhere"):
        FoundAssignment.of(answer).plan(JOB.topology, JOB.configuration, CLUSTER)


def test_what_the_scheduler_says_goes_with_the_plan(plan, tmp_path):
    write_plan(tmp_path, plan, "tiny")
    assert scheduler_says(tmp_path, "tiny") == ""
    (tmp_path / "tiny.status").write_text('{"fits": false, "trouble": "no room"}')
    assert scheduler_says(tmp_path, "tiny") == "no room"
    remove_plan(tmp_path, "tiny")
    assert list(tmp_path.iterdir()) == []


def test_a_document_names_its_topology(plan):
    assert plan_document(plan, "other")["topology"] == "other"


def test_names_are_quoted_for_the_shell():
    words = rebalance_command("top; rm x", executors={"a b": 2, "$c": 3})
    told = shlex.join(words)
    assert told == "storm rebalance 'top; rm x' -e 'a b=2' -e '$c=3'"


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 9), max_size=3), st.text(min_size=1))
def test_a_shell_sees_the_words_that_were_meant(executors, name):
    words = rebalance_command(name, workers=4, executors=executors)
    assert tuple(shlex.split(shlex.join(words))) == words


def test_a_plan_file_is_applied_by_a_command_of_ours():
    assert shlex.join(apply_command("my plan.yaml")) == "streamgauge storm apply 'my plan.yaml'"
