import pytest

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.pipeline.estimation.roster import seen_cluster
from streamgauge.profile.figures import Figure, HostFigures


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
    found = seen_cluster(placed, cores(box=2.0))
    assert [(one.name, one.cores) for one in found.machines] == [("box", 2.0)]
    assert [(one.name, one.ports) for one in found.nodes] == [
        ("127.0.0.2", (6700, 6701)),
        ("127.0.0.3", (6702,)),
    ]


@pytest.mark.parametrize("node", ["b", "b.example.org"])
def test_a_node_that_nobody_placed_is_on_the_machine_of_its_name(node):
    found = seen_cluster(plan(("a:6700", "a"), (f"{node}:6700", None)), cores(a=4.0, b=8.0))
    assert found.machine_of(node).cores == 8.0


def test_where_the_cores_of_a_node_are_not_known_neither_is_the_cluster():
    assert seen_cluster(plan(("a:6700", "a"), ("b:6700", None)), cores(a=4.0)) is None
    assert seen_cluster(plan(("a:6700", "a")), {}) is None


def test_addresses_are_not_names():
    placed = plan(("10.0.0.1:6700", "a"), ("10.0.0.2:6700", None))
    assert seen_cluster(placed, {**cores(a=4.0), **cores(**{"10.0.0.9": 4.0})}) is None
