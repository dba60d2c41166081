"""Allocations become configurations and commands, as far as there are tasks."""

import pytest

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.planning.scaling.translation import Unit, scaled_job, translate
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.isolation import IsolationScheduler
from streamgauge.profile.files.jobs import job_to_data, parse_job
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.files.document import dump_yaml

JOB = """\
streamgauge: 1
topology:
  name: words
  acked: true
  operators:
    lines: {kind: source, tasks: 2}
    split: {tasks: 4}
    count: {tasks: 1}
  streams:
    - {from: lines, to: split, grouping: shuffle}
    - {from: split, to: count, grouping: shuffle}
configuration: {executors: {split: 2}, workers: 3}
cluster: {uniform: {nodes: 1, slots: 3}}
plan:
  workers:
    - {node: n1, port: 6700, executors: ["lines[1-2]", "split[3-4]", "__acker[8]"]}
    - {node: n1, port: 6701, executors: ["split[5-6]", "__acker[9]"]}
    - {node: n1, port: 6702, executors: ["count[7]", "__acker[10]"]}
"""


@pytest.fixture
def job() -> Job:
    return parse_job(JOB)


def test_units_are_executors_more(job):
    told = translate(job.topology, job.configuration, {"split": 2, "lines": 1})
    assert told.configuration.executors == {"split": 4, "lines": 2}
    assert told.configuration.workers == 3
    assert told.executors == {"split": 4, "lines": 2}


def test_the_command_names_workers_and_the_operators_that_change(job):
    told = translate(job.topology, job.configuration, {"split": 1, "count": 0})
    assert told.shell == "storm rebalance words -n 3 -e split=3"


def test_isolated_units_are_workers_with_one_executor_each(job):
    told = translate(job.topology, job.configuration, {"split": 1}, unit=Unit.ISOLATED_WORKER)
    assert told.workers == {"lines": 1, "split": 3, "count": 1}
    # One more for the ackers.
    assert told.configuration.workers == 1 + 3 + 1 + 1
    assert told.shell == "storm rebalance words -n 6 -e split=3"


def test_a_rebalance_leaves_ackers_as_they_were_submitted(job):
    told = translate(job.topology, job.configuration, {"split": 1}, unit=Unit.ISOLATED_WORKER)
    assert told.configuration.acker_count == job.configuration.acker_count == 3


def test_isolated_units_are_what_the_isolation_scheduler_takes(job):
    told = translate(job.topology, job.configuration, {"split": 1}, unit=Unit.ISOLATED_WORKER)
    schedule = IsolationScheduler(units=told.workers).schedule(
        PlacementRequest(job.topology, told.configuration, Cluster.uniform(nodes=2, slots=4))
    )
    assert len(schedule.plan.executors_by_worker) == told.configuration.workers
    assert schedule.warnings == ()
    for executors in schedule.plan.executors_by_worker.values():
        assert len({one.operator for one in executors}) == 1


def test_more_executors_than_tasks_are_refused_by_name(job):
    asked = {"split": 3, "count": 2, "lines": 1}
    with pytest.raises(Infeasible) as caught:
        translate(job.topology, job.configuration, asked)
    text = str(caught.value)
    assert "split would need 5 executors but has 4 tasks" in text
    assert "count would need 3 executors but has 1 task;" in text
    assert "lines" not in text
    assert "tasks are fixed when a topology is submitted" in text
    assert caught.value.exit_code == 3


def test_what_is_not_there_or_no_number_is_told_at_once(job):
    with pytest.raises(InvalidInput) as caught:
        translate(job.topology, job.configuration, {"splitt": 1, "count": -1})
    assert [one.path for one in caught.value.problems] == ["splitt", "count"]
    assert "did you mean 'split'?" in str(caught.value)


def test_the_scaled_job_can_be_written_and_read_back(job):
    scaled, told = scaled_job(job, {"split": 1})
    assert scaled.configuration == told.configuration
    assert scaled.plan is None
    assert parse_job(dump_yaml(job_to_data(scaled))) == scaled
