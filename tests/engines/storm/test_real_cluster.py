import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from streamgauge.engines.storm import cluster as clusters
from streamgauge.engines.storm.applying import (
    apply_plan,
    await_plan,
    plan_document,
    read_assignment,
    write_plan,
)
from streamgauge.engines.storm.cluster import StormCluster, cluster_id, take_down
from streamgauge.engines.storm.processes import processes_of
from streamgauge.engines.storm.status import status_of
from streamgauge.errors import Infeasible, InvalidInput, SourceUnreachable
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.logical_plan import LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan
from tests.engines.storm.deployments import command_of, job, submitted, until

pytestmark = pytest.mark.storm

SHAPES = {
    "one-worker": {"executors": {"source": 1, "work": 2, "end": 1}, "workers": 1},
    "acked": {"executors": {"source": 2, "work": 4, "end": 2}, "workers": 3},
    "odd-tasks": {
        "executors": {"source": 2, "work": 3, "end": 2},
        "tasks": {"source": 3, "work": 8, "end": 5},
        "workers": 4,
    },
    "too-many-workers": {
        "executors": {"source": 1, "work": 1, "end": 1},
        "workers": 5,
        "acked": False,
    },
}


def even_plan(described, storm, bridge, taken=()):
    """Our even plan, where nodes have the order that nimbus sees: that of supervisors' ids."""
    supervisors = sorted(bridge.ask("cluster")["supervisors"], key=lambda one: one["id"])
    rank = {one["host"]: f"rank-{index}" for index, one in enumerate(supervisors)}
    host = {ranked: name for name, ranked in rank.items()}
    cluster = storm.cluster
    ranked = replace(cluster, nodes=[replace(n, name=rank[n.name]) for n in cluster.nodes])
    plan = (
        EvenScheduler.for_engine("storm-2")
        .schedule(
            PlacementRequest(
                described.topology,
                described.configuration,
                ranked,
                taken={Slot(rank[slot.node], slot.port) for slot in taken},
            )
        )
        .plan
    )
    workers = tuple(Slot(host[slot.node], slot.port) for slot in plan.workers)
    return replace(plan, cluster=cluster, workers=workers)


@pytest.mark.parametrize("shape", SHAPES)
def test_our_even_scheduler_does_what_nimbus_does(storm, bridge, shape):
    described = job(shape, **SHAPES[shape])
    with submitted(storm, bridge, described) as name:
        found = read_assignment(bridge, name)
        assert found.differences(even_plan(described, storm, bridge)) == []


def test_a_second_topology_gets_the_slots_that_are_left(storm, bridge):
    first = job("first", executors={"source": 1, "work": 1, "end": 1}, workers=1)
    second = job("second", executors={"source": 1, "work": 2, "end": 1}, workers=2)
    with submitted(storm, bridge, first), submitted(storm, bridge, second) as name:
        taken = set(read_assignment(bridge, "first").slots.values())
        wanted = even_plan(second, storm, bridge, taken)
        assert read_assignment(bridge, name).differences(wanted) == []


def test_a_plan_of_ours_is_applied_and_read_back_and_then_another(storm, bridge):
    described = job("planned", ackers=1, **SHAPES["acked"])
    with submitted(storm, bridge, described) as name:
        for executors, step in (({"source": 2, "work": 4, "end": 2}, 2), ({"work": 2}, 3)):
            configuration = replace(described.configuration, executors=executors, workers=2)
            # Numbered in another order than Storm's, and on slots that an even plan would not use.
            logical = LogicalPlan.of(
                described.topology, configuration, task_order=TaskOrder.DECLARED
            )
            slots = storm.cluster.slots[::-step]
            dealt = [index % 2 for index in range(len(logical.executors))]
            plan = PhysicalPlan.from_slots(logical, storm.cluster, slots, dealt)
            placed = apply_plan(bridge, storm.layout.plans, name, plan)
            found = read_assignment(bridge, name)
            back = found.plan(described.topology, configuration, storm.cluster)
            assert plan_document(back, name) == plan_document(placed, name)


def test_a_plan_that_does_not_fit_is_infeasible_and_the_reason_is_told(storm, bridge):
    described = job("unfit", executors={"source": 1, "work": 1, "end": 1}, workers=1, ackers=1)
    elsewhere = Cluster.uniform(nodes=1)
    with submitted(storm, bridge, described) as name:
        schedule = EvenScheduler.for_engine("storm-2").schedule(
            PlacementRequest(described.topology, described.configuration, elsewhere)
        )
        wanted = schedule.plan
        write_plan(storm.layout.plans, wanted, name)
        with pytest.raises(Infeasible, match=r"no supervisor has slot n1:6700"):
            until_told(storm, name)
            await_plan(bridge, storm.layout.plans, name, wanted, patience_seconds=0.0)


def until_told(storm, name):
    until((storm.layout.plans / f"{name}.status").exists, "the scheduler's word")


def test_the_status_tells_daemons_nodes_and_slots(storm):
    status = status_of(storm.layout.data)
    assert [daemon.is_alive for daemon in status.daemons] == [True] * 4
    assert [len(node.slots) for node in status.nodes] == [3, 3]
    assert status.trouble == ""


def test_a_supervisor_that_ends_is_started_again(storm):
    def supervisors():
        marked = {one.pid for one in processes_of(storm.state.cluster)}
        # A shell that starts them has their class in its command too.
        return {pid for pid in marked if runs(pid, "daemon.supervisor.Supervisor", "java")}

    before = supervisors()
    assert len(before) == 2
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len(supervisors() - before) == 1, "another supervisor")


def runs(pid, main, program):
    words = command_of(pid)
    return words[0].endswith(program) and any(word.endswith(main) for word in words)


def test_a_topology_that_nobody_submitted_is_unknown(bridge):
    with pytest.raises(InvalidInput, match="topology 'nobody'"):
        bridge.ask("assignment", topology="nobody")


def test_a_folder_has_one_cluster(storm):
    with pytest.raises(InvalidInput, match="storm down"):
        StormCluster.up(storm.layout.data)


CONTROLLER = """
import sys, time
from pathlib import Path
from streamgauge.engines.storm.cluster import StormCluster
StormCluster.up(Path(sys.argv[1]), nodes=1, slots=1, outlives=False)
print("up", flush=True)
time.sleep(600)
"""


def test_what_a_killed_controller_left_is_ended_by_whoever_comes_next(storm, tmp_path):
    data = tmp_path / "left"
    command = [sys.executable, "-c", CONTROLLER, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
        assert controller.stdout.readline() == "up\n"
        controller.send_signal(signal.SIGKILL)
    left = cluster_id(data)
    # ZooKeeper, nimbus, a supervisor and who starts it again.
    assert len(processes_of(left)) == 4
    assert take_down(tmp_path / "another") == 4
    assert processes_of(left) == []
    assert storm.processes() >= 4


def test_a_dead_nimbus_is_named_with_its_log(jars, tmp_path, monkeypatch):
    del jars
    # The first port is taken between the moment when it was free and the daemon's start.
    choose, chosen = clusters.choose_ports, []
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()

        def choose_badly(*shape, taken):
            ports = choose(*shape, taken=taken)
            chosen.append(ports)
            taken = other.getsockname()[1]
            return replace(ports, zookeeper=taken) if len(chosen) == 1 else ports

        monkeypatch.setattr(clusters, "choose_ports", choose_badly)
        cluster = StormCluster.up(tmp_path / "data", nodes=1, slots=1, outlives=False)
    try:
        assert len(chosen) == 2
        nimbus = next(one for one in cluster.state.daemons if one.name == "nimbus")
        os.kill(nimbus.process.pid, signal.SIGKILL)
        until(lambda: not nimbus.process.is_alive(), "nimbus to die")
        assert "nimbus is dead; see" in status_of(cluster.layout.data).trouble
        with pytest.raises(SourceUnreachable, match=r"nimbus\.log"):
            StormCluster.attach(cluster.layout.data)
    finally:
        cluster.down()
    assert cluster.processes() == 0
