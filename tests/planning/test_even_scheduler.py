"""The even scheduler: slots interleaved over nodes, executors dealt round-robin."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import Cursor, EvenScheduler, SlotOrder
from streamgauge.topology import (
    Cluster,
    Configuration,
    ConnectionType,
    LocalOrShuffle,
    Machine,
    Node,
    Slot,
    TaskOrder,
    Topology,
    TupleFlow,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.engine import load_engine
from tests.planning.scheduling.graphs import topology
from tests.strategies import PLAIN_NAMES, configurations, topologies

# As the literature draws it.
STORM_1 = EvenScheduler(task_order=TaskOrder.DECLARED, slot_order=SlotOrder.BY_SLOT)
STORM_2 = EvenScheduler.for_engine("storm-2")
LOCAL, INTER_LOCAL, REMOTE = ConnectionType


def cluster(**slots: int) -> Cluster:
    """Nodes with so many slots each, ports from 1 on."""
    return Cluster(
        machines=(Machine(name="m", cores=1),),
        nodes=[
            Node(name=name, machine="m", ports=tuple(range(1, count + 1)))
            for name, count in slots.items()
        ],
    )


def one_executor_a_task(made: Topology, **given) -> Configuration:
    return Configuration(executors={op.name: op.tasks for op in made.operators}, **given)


def placed(plan: PhysicalPlan) -> dict[str, list[str]]:
    return {
        str(worker): [executor.label for executor in plan.executors_in(worker)]
        for worker in plan.workers
    }


FIGURE_2_1 = {
    "edges": ("S-B1", "S-B2", "B1-B3", "B2-B3"),
    "tasks": {"S": 2, "B1": 2, "B2": 2, "B3": 1},
}


def figure_2_1(*, acked: bool = False) -> PhysicalPlan:
    made = topology(*FIGURE_2_1["edges"], acked=acked, **FIGURE_2_1["tasks"])
    configuration = one_executor_a_task(made, workers=3)
    return STORM_1.schedule(PlacementRequest(made, configuration, cluster(A=3, B=3))).plan


def test_slots_are_sorted_by_number_then_supervisor():
    """Placement 5.1: 1/A, 1/B, 2/A, 2/B, 3/A, 3/B."""
    arranged = SlotOrder.BY_SLOT.arrange(cluster(A=3, B=3))
    assert [str(slot) for slot in arranged] == ["A:1", "B:1", "A:2", "B:2", "A:3", "B:3"]


def test_the_first_slots_are_on_different_supervisors():
    """20 slots over 5 supervisors: the first 5 are on 5 of them."""
    arranged = SlotOrder.BY_SLOT.arrange(Cluster.uniform(nodes=5, slots=4))
    assert len(arranged) == 20
    assert len({slot.node for slot in arranged[:5]}) == 5


def test_figure_2_1_is_dealt_as_in_placement_5_1():
    assert placed(figure_2_1()) == {
        "A:1": ["S[1]", "B1[4]", "B3[7]"],
        "B:1": ["S[2]", "B2[5]"],
        "A:2": ["B1[3]", "B2[6]"],
    }


def test_ackers_are_dealt_last_one_to_each_worker():
    ackers = {slot: labels[-1] for slot, labels in placed(figure_2_1(acked=True)).items()}
    assert ackers == {"B:1": "__acker[8]", "A:2": "__acker[9]", "A:1": "__acker[10]"}


@pytest.mark.parametrize(
    ("executors", "workers", "loads"),
    [
        (376, 60, {8: 16, 7: 44}),
        (376, 16, {25: 8, 24: 8}),
        (376, 13, {30: 12, 29: 1}),
        (26, 16, {3: 10, 2: 6}),
        (26, 13, {3: 13}),
    ],
)
def test_loads_of_the_test_cluster(executors, workers, loads):
    """Placement 5.1, executors and one acker a worker."""
    made = topology(S=executors, acked=True)
    configuration = one_executor_a_task(made, workers=workers)
    plan = STORM_1.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=workers))
    ).plan
    sizes = [len(plan.executors_in(worker)) for worker in plan.workers]
    ackers = Counter(e.operator for worker in plan.workers for e in plan.executors_in(worker)[-1:])
    assert Counter(sizes) == loads
    assert ackers == {"__acker": workers}


def fractions(nodes: int, spouts: int, bolts: int, slots: int, cursor: Cursor):
    """α local, node and remote, and active workers of <n,s,b,w>."""
    made = topology("s-b", s=spouts, b=bolts)
    scheduler = EvenScheduler(
        task_order=TaskOrder.DECLARED, slot_order=SlotOrder.BY_SLOT, cursor=cursor
    )
    configuration = one_executor_a_task(made, workers=nodes * slots)
    plan = scheduler.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=nodes, slots=slots))
    ).plan
    counts = TupleFlow.of(plan, load_engine("storm-1").hops).count_types()
    total = sum(counts.values())
    return *(counts[kind] / total for kind in (LOCAL, INTER_LOCAL, REMOTE)), len(plan.workers)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ((1, 1, 1, 1), (1, 0, 0, 1)),
        ((1, 1, 1, 2), (0, 1, 0, 2)),
        ((1, 1, 2, 2), (0.5, 0.5, 0, 2)),
        ((1, 2, 2, 2), (0.5, 0.5, 0, 2)),
        ((1, 2, 2, 4), (0, 1, 0, 4)),
        ((1, 4, 4, 2), (0.5, 0.5, 0, 2)),
        ((1, 4, 4, 4), (0.25, 0.75, 0, 4)),
        ((1, 4, 4, 8), (0, 1, 0, 8)),
        ((1, 8, 8, 1), (1, 0, 0, 1)),
        ((1, 8, 8, 2), (0.5, 0.5, 0, 2)),
        ((1, 8, 8, 4), (0.25, 0.75, 0, 4)),
        ((1, 8, 8, 8), (0.125, 0.875, 0, 8)),
        ((1, 8, 8, 16), (0, 1, 0, 16)),
        ((2, 1, 1, 1), (0, 0, 1, 2)),
        ((2, 2, 2, 1), (0.5, 0, 0.5, 2)),
        ((2, 2, 2, 2), (0, 0.5, 0.5, 4)),
        ((2, 4, 4, 2), (0.25, 0.25, 0.5, 4)),
        ((2, 8, 8, 4), (0.125, 0.375, 0.5, 8)),
        ((2, 8, 8, 8), (0, 0.5, 0.5, 16)),
        ((3, 3, 3, 1), (1 / 3, 0, 2 / 3, 3)),
        ((3, 4, 4, 1), (0.3125, 0, 0.6875, 3)),
        ((3, 8, 8, 1), (0.328125, 0, 0.671875, 3)),
        ((3, 8, 8, 2), (0.15625, 0.171875, 0.671875, 6)),
        ((4, 4, 4, 1), (0.25, 0, 0.75, 4)),
        ((4, 8, 8, 1), (0.25, 0, 0.75, 4)),
        ((4, 8, 8, 2), (0.125, 0.125, 0.75, 8)),
        ((4, 8, 8, 4), (0, 0.25, 0.75, 16)),
        ((4, 8, 8, 16), (0, 0.25, 0.75, 16)),
        ((4, 1, 1, 1), (0, 0, 1, 2)),
    ],
)
def test_placement_fractions_with_a_continuing_cursor(setting, expected):
    """Engine-costs 5.1."""
    assert fractions(*setting, Cursor.CONTINUE) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ((1, 1, 1, 2), (1, 0, 0, 1)),
        ((1, 8, 8, 16), (0.125, 0.875, 0, 8)),
        ((3, 8, 8, 1), (0.34375, 0, 0.65625, 3)),
    ],
)
def test_placement_fractions_with_a_restarting_cursor(setting, expected):
    assert fractions(*setting, Cursor.RESTART) == pytest.approx(expected)


def test_two_edges_are_placed_as_in_engine_costs_5_1():
    made = topology("s-b1", "b1-b2", s=2, b1=4, b2=2)
    configuration = one_executor_a_task(made, workers=4)
    plan = STORM_1.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=2, slots=2))
    ).plan
    assert placed(plan) == {
        "n1:6700": ["s[1]", "b1[5]"],
        "n2:6700": ["s[2]", "b1[6]"],
        "n1:6701": ["b1[3]", "b2[7]"],
        "n2:6701": ["b1[4]", "b2[8]"],
    }
    counts = TupleFlow.of(plan, load_engine("storm-1").hops).count_types()
    assert [counts[kind] / 16 for kind in (LOCAL, INTER_LOCAL, REMOTE)] == [0.25, 0.25, 0.5]


def test_worked_example_5_6_of_the_thesis():
    """Storm-tracer 5.6: executors in task order, dealt alternately to two workers."""
    made = topology("S-A", "A-B", S=4, A=6, B=6, acked=True)
    configuration = Configuration(executors={"S": 2, "A": 3, "B": 3}, workers=2)
    plan = STORM_1.schedule(PlacementRequest(made, configuration, Cluster.uniform(nodes=2))).plan
    assert list(placed(plan).values()) == [
        ["S[1-2]", "A[5-6]", "A[9-10]", "B[13-14]", "__acker[17]"],
        ["S[3-4]", "A[7-8]", "B[11-12]", "B[15-16]", "__acker[18]"],
    ]


def test_storm_2_takes_the_nodes_with_most_free_slots_first():
    arranged = SlotOrder.MOST_FREE_FIRST.arrange(cluster(a=1, b=3, c=2))
    assert [str(slot) for slot in arranged] == ["b:1", "c:1", "a:1", "b:2", "c:2", "b:3"]


def test_storm_2_counts_free_slots_only():
    taken = [Slot("b", 1), Slot("b", 2)]
    arranged = SlotOrder.MOST_FREE_FIRST.arrange(cluster(a=1, b=3, c=2), taken)
    assert [str(slot) for slot in arranged] == ["c:1", "a:1", "b:3", "c:2"]


def test_ports_are_taken_in_ascending_order():
    node = Node(name="a", machine="m", ports=(9, 7, 8))
    made = Cluster(machines=(Machine(name="m", cores=1),), nodes=(node,))
    for order in SlotOrder:
        assert [slot.port for slot in order.arrange(made)] == [7, 8, 9]


def test_a_taken_slot_leaves_the_order_of_the_others():
    """Placement 2.2: free slots sorted by (number, supervisor); 1/A is taken."""
    arranged = SlotOrder.BY_SLOT.arrange(cluster(A=3, B=3), [Slot("A", 1)])
    assert [str(slot) for slot in arranged] == ["B:1", "A:2", "B:2", "A:3", "B:3"]


def test_storm_2_numbers_tasks_alphabetically_ackers_before_lower_case():
    made = topology("source-work", source=1, work=2, acked=True)
    plan = STORM_2.schedule(
        PlacementRequest(made, Configuration(workers=2), Cluster.uniform(nodes=2))
    ).plan
    assert placed(plan) == {
        "n1:6700": ["__acker[1]", "source[3]"],
        "n2:6700": ["__acker[2]", "work[4-5]"],
    }


def test_what_was_seen_on_a_real_cluster():
    """Storm-2x 4: two spouts, four `work`, three workers; two executors get nothing."""
    made = topology("spout-work", spout=2, work=4, acked=True, grouping=LocalOrShuffle())
    configuration = one_executor_a_task(made, workers=3)
    plan = STORM_2.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=3))
    ).plan
    shares = TupleFlow.of(plan, load_engine("storm-2").hops).blocks[0].shares
    assert sorted(shares.sum(axis=0).tolist()) == [0.0, 0.0, 1.0, 1.0]


def test_fewer_slots_than_workers_are_used_with_a_warning():
    made = topology(s=4)
    configuration = one_executor_a_task(made, workers=5)
    schedule = STORM_2.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=2))
    )
    assert len(schedule.plan.workers) == 2
    assert any("5 workers were asked for and 2 slots are free" in w for w in schedule.warnings)


def test_workers_that_would_idle_are_left_out_with_a_warning():
    schedule = STORM_2.schedule(
        PlacementRequest(topology(s=1), Configuration(workers=3), Cluster.uniform(nodes=3))
    )
    assert len(schedule.plan.workers) == 1
    assert any("1 of 3 workers get an executor" in warning for warning in schedule.warnings)


def test_enough_slots_need_no_warning():
    made = topology(s=2)
    schedule = STORM_2.schedule(
        PlacementRequest(made, one_executor_a_task(made, workers=2), Cluster.uniform(nodes=2))
    )
    assert schedule.warnings == ()


def test_no_free_slot_is_infeasible():
    taken = cluster(a=2).slots
    with pytest.raises(Infeasible, match="no free slot for 't': all 2 slots"):
        EvenScheduler().schedule(
            PlacementRequest(topology(s=1), Configuration(), cluster(a=2), taken=taken)
        )


@st.composite
def scheduled(draw: st.DrawFn, cursor: Cursor) -> tuple[PhysicalPlan, int]:
    """A plan, and how many workers could have been used."""
    made = draw(topologies(names=PLAIN_NAMES))
    configuration = draw(configurations(made))
    free = draw(st.fixed_dictionaries({name: st.integers(1, 3) for name in "xyz"}))
    scheduler = EvenScheduler(
        task_order=draw(st.sampled_from(TaskOrder)),
        slot_order=draw(st.sampled_from(SlotOrder)),
        cursor=cursor,
    )
    plan = scheduler.schedule(PlacementRequest(made, configuration, cluster(**free))).plan
    return plan, min(configuration.workers, sum(free.values()))


@given(scheduled(Cursor.CONTINUE) | scheduled(Cursor.RESTART))
@settings(max_examples=40)
def test_every_executor_is_in_one_worker_and_every_task_is_run_once(made):
    plan, _ = made
    tasks = [t for w in plan.workers for e in plan.executors_in(w) for t in e.tasks]
    assert sorted(tasks) == list(
        range(1, sum(op.tasks for op in plan.logical.topology.operators) + 1)
    )


@given(scheduled(Cursor.CONTINUE))
@settings(max_examples=40)
def test_loads_differ_by_at_most_one_and_the_first_take_the_remainder(made):
    plan, workers = made
    loads = [len(plan.executors_in(worker)) for worker in plan.workers]
    size, remainder = divmod(len(plan.logical.executors), workers)
    expected = [size + 1] * remainder + [size] * (workers - remainder)
    assert loads == [load for load in expected if load]


@given(scheduled(Cursor.RESTART))
@settings(max_examples=40)
def test_a_restarting_cursor_spreads_every_operator_from_the_first_worker(made):
    plan, _ = made
    for operator in plan.logical.topology.operators:
        executors = plan.logical.executors_of(operator.name)
        counts = Counter(plan.worker_of(executor) for executor in executors)
        loads = [counts[worker] for worker in plan.workers]
        assert loads == sorted(loads, reverse=True)
        assert loads[0] - loads[len(counts) - 1] <= 1


@given(st.permutations(["x", "y", "z"]), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=20)
def test_renaming_nodes_changes_no_fraction(names, spouts, bolts):
    made = topology("s-b", s=spouts, b=bolts)
    counts = []
    for order in (["x", "y", "z"], names):
        free = cluster(**dict.fromkeys(order, 2))
        plan = STORM_1.schedule(
            PlacementRequest(made, one_executor_a_task(made, workers=6), free)
        ).plan
        counts.append(TupleFlow.of(plan, load_engine("storm-1").hops).count_types())
    assert counts[0] == counts[1]
