"""The isolation scheduler: one operator a worker, workers even over machines."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.isolation import IsolationScheduler, divide_total, spread_slots
from streamgauge.topology import ACKER, Cluster, Configuration, Machine, Node, Slot
from tests.planning.scheduling.graphs import placed, topology
from tests.strategies import PLAIN_NAMES, topologies

LINE = topology("a-b", "b-c", a=1, b=6, c=3)
ALL = {"a": 1, "b": 6, "c": 3}


def scheduled(units=None, *, nodes=3, slots=4, made=LINE, **given):
    configuration = Configuration(**{"executors": ALL, "workers": 1, **given})
    cluster = Cluster.uniform(nodes=nodes, slots=slots)
    return IsolationScheduler(units=units or {}).schedule(
        PlacementRequest(made, configuration, cluster)
    )


def test_units_are_workers_and_executors_are_dealt_over_them():
    plan = scheduled({"a": 1, "b": 4, "c": 1}).plan
    assert placed(plan) == {
        "n1:6700": ["a"],
        "n2:6700": ["b", "b"],
        "n3:6700": ["b", "b"],
        "n1:6701": ["b"],
        "n2:6701": ["b"],
        "n3:6701": ["c", "c", "c"],
    }


def test_tasks_stay_in_contiguous_ranges():
    made = topology(s=7)
    plan = scheduled({"s": 2}, made=made, executors={"s": 3}).plan
    labels = [[one.label for one in plan.executors_in(worker)] for worker in plan.workers]
    assert labels == [["s[1-3]", "s[6-7]"], ["s[4-5]"]]


def test_without_units_the_workers_asked_for_are_divided_by_executors():
    """Seven workers for 1, 6 and 3 executors."""
    plan = scheduled(workers=7).plan
    found = Counter(plan.executors_in(worker)[0].operator for worker in plan.workers)
    assert found == {"a": 1, "b": 4, "c": 2}


def test_operators_without_units_divide_what_is_left():
    plan = scheduled({"b": 2}, workers=5).plan
    found = Counter(plan.executors_in(worker)[0].operator for worker in plan.workers)
    assert found == {"a": 1, "b": 2, "c": 2}


def test_every_operator_has_a_worker_even_if_fewer_are_asked_for_and_that_is_said():
    schedule = scheduled(workers=2)
    assert len(schedule.plan.workers) == 3
    assert any("3 workers are used and 2 were asked for" in one for one in schedule.warnings)


def test_ackers_have_workers_of_their_own():
    made = topology("a-b", a=1, b=1, acked=True)
    plan = scheduled(made=made, executors={}, ackers=2, workers=4).plan
    assert sorted(map(tuple, placed(plan).values())) == [(ACKER,), (ACKER,), ("a",), ("b",)]


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (0, {"x": 1, "y": 1}),
        (2, {"x": 1, "y": 1}),
        (4, {"x": 3, "y": 1}),
        (5, {"x": 4, "y": 1}),
        (99, {"x": 6, "y": 2}),
    ],
)
def test_whole_parts_are_in_proportion(total, expected):
    """D'Hondt from one each: 6/2, 6/3, 6/4, then 6/5 before 2/2."""
    assert divide_total(total, {"x": 6, "y": 2}) == expected


def test_fewer_slots_than_operators_are_infeasible():
    with pytest.raises(Infeasible, match=r"3 workers are needed .* and 2 slots are free"):
        scheduled(nodes=1, slots=2)


def test_more_units_than_slots_are_infeasible():
    with pytest.raises(Infeasible, match=r"\(a: 1, b: 6, c: 3\), and 8 slots are free"):
        scheduled({"b": 6, "c": 3}, nodes=4, slots=2)


@pytest.mark.parametrize(
    ("units", "seen"),
    [
        ({"c": 4}, r"units\.c: 4 workers for 3 executors"),
        ({"c": 0}, r"units\.c: 0 workers for 3 executors"),
        ({"d": 1}, r"units\.d: unknown operator 'd'"),
    ],
)
def test_units_that_cannot_be_are_refused(units, seen):
    with pytest.raises(InvalidInput, match=seen):
        scheduled(units)


def test_slots_are_taken_from_the_machine_with_the_fewest_in_use():
    """Machine m has two nodes; z has one slot in use already."""
    machines = (Machine(name="m", cores=1), Machine(name="z", cores=1))
    nodes = [
        Node(name="a", machine="m", ports=(1, 2)),
        Node(name="b", machine="m", ports=(1,)),
        Node(name="c", machine="z", ports=(1, 2, 3)),
    ]
    cluster = Cluster(machines=machines, nodes=nodes)
    found = [str(slot) for slot in spread_slots(cluster, [Slot("c", 1)])]
    assert found == ["a:1", "b:1", "c:2", "a:2", "c:3"]


@given(topologies(names=PLAIN_NAMES), st.integers(1, 12), st.integers(1, 5))
@settings(max_examples=40)
def test_no_two_operators_share_a_worker_and_machines_differ_by_one_at_most(made, workers, nodes):
    configuration = Configuration(
        executors={op.name: op.tasks for op in made.operators}, workers=workers
    )
    cluster = Cluster.uniform(nodes=nodes, slots=20)
    plan = IsolationScheduler().schedule(PlacementRequest(made, configuration, cluster)).plan
    for executors in plan.executors_by_worker.values():
        assert len({one.operator for one in executors}) == 1
    loads = Counter(worker.node for worker in plan.workers)
    assert max(loads.values()) - min(loads[node.name] for node in cluster.nodes) <= 1
    for operator in plan.logical.topology.operator_names:
        workers_of = [plan.worker_of(one) for one in plan.logical.executors_of(operator)]
        shares = Counter(workers_of).values()
        assert max(shares) - min(shares) <= 1
