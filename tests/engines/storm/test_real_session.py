import os
import signal
from collections import Counter
from dataclasses import replace

import pytest

from streamgauge.engines.runner import StepOrder, WarmUp
from streamgauge.engines.storm.applying import as_storm_numbers, plan_document
from streamgauge.engines.storm.processes import processes_of
from streamgauge.engines.storm.session import StormSession
from streamgauge.lake.raw import Plan, Sample, Trace, decode
from streamgauge.lake.records import ungroup
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from tests.engines.storm.deployments import command_of, job, parent_of

pytestmark = pytest.mark.storm

JOB = job(
    "stepwise",
    executors={"source": 1, "work": 2, "end": 1},
    tasks={"source": 1, "work": 4, "end": 2},
    ackers=1,
)


def order(session, name, described, folder):
    schedule = EvenScheduler.for_engine("storm-2").schedule(
        PlacementRequest(described.topology, described.configuration, session.cluster)
    )
    return StepOrder(
        name=name,
        repetition=1,
        job=described,
        plan=schedule.plan,
        warm_up=WarmUp(seconds=2, calls=200, rate_factor=2.0, agreement=0.9, most_seconds=90),
        windows=2,
        window_seconds=4.0,
        bucket_seconds=1.0,
        folder=folder / name,
        seed=1,
    )


def records(folder):
    lines = [line for path in sorted(folder.iterdir()) for line in path.read_bytes().splitlines()]
    return list(ungroup(decode(line) for line in lines))


def worker_pid(storm, worker):
    """The process in a slot: a child of its log writer, which is a child of a supervisor."""
    marked = {one.pid for one in processes_of(storm.state.cluster)}
    shells = {one.process.pid for one in storm.state.daemons}
    supervisors = {pid for pid in marked if parent_of(pid) in shells}
    writers = {pid for pid in marked if parent_of(pid) in supervisors}
    # A worker of the plan before may still be on its way out, in another slot.
    (found,) = (
        pid for pid in marked if parent_of(pid) in writers and str(worker.port) in command_of(pid)
    )
    return found


@pytest.fixture(scope="module")
def session(storm, bridge, tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    opened = StormSession(storm=storm, bridge=bridge, folder=folder)
    yield opened
    opened._kill("stepwise")


def test_a_step_is_measured_and_the_next_is_reached_by_a_rebalance(session, storm, tmp_path):
    first = order(session, "first", JOB, tmp_path)
    record = session.run_step(first, lambda part, doing: None)
    found = records(first.folder)
    kinds = Counter(type(one) for one in found)
    assert set(kinds) >= {Sample, Trace, Plan}
    assert plan_document(record.plan, "x") == plan_document(first.plan, "x")
    executed = {
        one.component for one in found if isinstance(one, Sample) and one.metric == "executed"
    }
    assert executed >= {"work", "end"}

    more = replace(JOB.configuration, executors={"source": 1, "work": 4, "end": 1}, workers=3)
    second = order(session, "second", replace(JOB, configuration=more), tmp_path)
    killed = []

    def kill_one(part, doing):
        if doing == "measuring" and not killed:
            killed.append(worker_pid(storm, as_storm_numbers(second.plan).workers[0]))
            os.kill(killed[0], signal.SIGKILL)

    submitted = session._running
    record = session.run_step(second, kill_one)
    assert session._running is submitted
    assert plan_document(record.plan, "x") == plan_document(second.plan, "x")
    worker = as_storm_numbers(second.plan).workers[0]
    assert any(
        str(worker) in note and ("restarted" in note or "stopped reporting" in note)
        for note in record.notes
    )
    # What the dead worker wrote is there, and every line of it is whole.
    assert all(not hasattr(one, "reason") for one in records(second.folder))
