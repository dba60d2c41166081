import pytest

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.pipeline.estimation.roster import find_cluster
from streamgauge.profile.figures import Figure, HostFigures, WorkerFigures
from streamgauge.topology.cluster import Cluster, Machine, Node


def plan(*placed):
    executors = [
        PlacedExecutor(
            component="work",
            first_task=task,
            last_task=task,
            worker=worker,
            node=worker.rpartition(":")[0],
            machine=machine,
        )
        for task, (worker, machine) in enumerate(placed, start=1)
    ]
    return Plan(
        topology="t",
        plan_id="p",
        engine="storm-2",
        valid_from_us=0,
        document="",
        executors=tuple(executors),
    )


def cores(**machines):
    return {name: HostFigures(available=Figure(value=count)) for name, count in machines.items()}


def test_nodes_of_one_machine_share_its_cores():
    placed = plan(("127.0.0.2:6700", "box"), ("127.0.0.2:6701", "box"), ("127.0.0.3:6702", "box"))
    found = find_cluster(None, placed, cores(box=2.0))
    assert [(one.name, one.cores) for one in found.machines] == [("box", 2.0)]
    assert [(one.name, one.ports) for one in found.nodes] == [
        ("127.0.0.2", (6700, 6701)),
        ("127.0.0.3", (6702,)),
    ]


@pytest.mark.parametrize("node", ["b", "b.example.org"])
def test_a_node_that_nobody_placed_is_on_the_machine_of_its_name(node):
    found = find_cluster(None, plan(("a:6700", "a"), (f"{node}:6700", None)), cores(a=4.0, b=8.0))
    assert found.machine_of(node).cores == 8.0


def test_where_the_cores_of_a_node_are_not_known_neither_is_the_cluster():
    assert find_cluster(None, plan(("a:6700", "a"), ("b:6700", None)), cores(a=4.0)) is None
    assert find_cluster(None, plan(("a:6700", "a")), {}) is None


def test_addresses_are_not_names():
    placed = plan(("10.0.0.1:6700", "a"), ("10.0.0.2:6700", None))
    assert find_cluster(None, placed, {**cores(a=4.0), **cores(**{"10.0.0.9": 4.0})}) is None


def busy(**seen):
    return {
        name.replace("_", ":"): WorkerFigures(cores=Figure(value=v)) for name, v in seen.items()
    }


def test_what_a_machine_used_beyond_the_workers_is_background():
    placed = plan(("a:1", "m"), ("a:2", "m"))
    machine = HostFigures(cores=Figure(value=1.5), available=Figure(value=4.0))
    found = find_cluster(None, placed, {"m": machine}, busy(a_1=0.5, a_2=0.6))
    assert found.machines[0].background_cores == 0.4


@pytest.mark.parametrize("workers", [busy(a_1=0.5), busy(a_1=0.9, a_2=0.9)])
def test_there_is_no_background_where_a_worker_is_unknown_or_nothing_is_left(workers):
    placed = plan(("a:1", "m"), ("a:2", "m"))
    machine = HostFigures(cores=Figure(value=1.5), available=Figure(value=4.0))
    assert find_cluster(None, placed, {"m": machine}, workers).machines[0].background_cores == 0.0


@pytest.mark.parametrize(("declared", "found"), [(0.0, 0.4), (0.1, 0.1)])
def test_background_of_a_declared_machine_is_measured_unless_it_is_declared(declared, found):
    cluster = Cluster(
        machines=(Machine(name="m", cores=4.0, background_cores=declared),),
        nodes=(Node(name="a", machine="m", ports=(1, 2)),),
    )
    machine = HostFigures(cores=Figure(value=1.5), available=Figure(value=4.0))
    placed, workers = plan(("a:1", "m"), ("a:2", "m")), busy(a_1=0.5, a_2=0.6)
    known = find_cluster(cluster, placed, {"m": machine}, workers)
    assert known.machines[0].background_cores == found
