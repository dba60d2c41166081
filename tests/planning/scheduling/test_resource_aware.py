"""The resource-aware scheduler: order, limits, distance, and what it says when nothing fits."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.planning.scheduling.contract import PlacementRequest, load_scheduler
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.packing import nearest_slots
from streamgauge.planning.scheduling.resource_aware import (
    ResourceAwareScheduler,
    connections,
    interleave,
)
from streamgauge.topology import (
    ACKER,
    Cluster,
    Configuration,
    LogicalPlan,
    Machine,
    Node,
    Resources,
    Slot,
)
from tests.planning.scheduling.graphs import (
    HEAP,
    MEGABYTE,
    configured,
    figure_2_1,
    placed,
    racks,
    topology,
)
from tests.planning.scheduling.word_count import LARGE, SMALL
from tests.strategies import PLAIN_NAMES, topologies

SCHEDULER = ResourceAwareScheduler()


def degrees(logical: LogicalPlan) -> dict[str, int]:
    return {name: sum(near.values()) for name, near in connections(logical).items()}


def order(logical: LogicalPlan) -> list[str]:
    return [executor.operator for executor in interleave(logical)]


def logical(job) -> LogicalPlan:
    return LogicalPlan.of(job.topology, job.configuration)


# Pagliari 2021, Figures 2.1, 2.2 and 3.3


def test_the_degree_of_an_operator_counts_links_between_executors():
    made = figure_2_1()
    found = degrees(LogicalPlan.of(made, configured(made)))
    assert found == {"S": 2 * 2 + 2 * 2, "B1": 4 + 2, "B2": 4 + 2, "B3": 2 + 2}


def test_executors_take_turns_with_their_neighbours():
    made = figure_2_1()
    found = [executor.label for executor in interleave(LogicalPlan.of(made, configured(made)))]
    assert found == ["S[1]", "B1[3]", "B2[5]", "S[2]", "B1[4]", "B2[6]", "B3[7]"]


def test_three_executors_a_worker_fill_three_workers_of_one_supervisor():
    made = figure_2_1()
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, megabytes=341), Cluster.uniform(nodes=2, slots=3))
    ).plan
    assert placed(plan) == {
        "n1:6700": ["B1", "B2", "S"],
        "n1:6701": ["B1", "B2", "S"],
        "n1:6702": ["B3"],
    }


def test_ackers_that_need_less_all_go_to_the_last_worker():
    made = figure_2_1(acked=True)
    plan = SCHEDULER.schedule(
        PlacementRequest(
            made, configured(made, megabytes=341, ackers=3), Cluster.uniform(nodes=2, slots=3)
        )
    ).plan
    assert placed(plan)["n1:6702"] == ["B3", ACKER, ACKER, ACKER]


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (LARGE, {"generator": 11250, "counter": 33750, "ranker": 22650, "merger": 150}),
        (SMALL, {"generator": 50, "counter": 150, "ranker": 110, "merger": 10}),
    ],
)
def test_degrees_of_the_word_count(job, expected):
    assert degrees(logical(job)) == expected


@pytest.mark.parametrize(("job", "generators"), [(LARGE, 75), (SMALL, 5)])
def test_order_of_the_word_count(job, generators):
    turn = ["counter", "ranker", "generator"]
    rest = ["counter", "ranker"] * generators
    assert order(logical(job)) == turn * generators + rest + ["merger"]


# Limits


def test_cores_are_a_limit_of_the_node():
    made = topology(s=5)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, cores=0.4), Cluster.uniform(nodes=3, slots=9))
    ).plan
    assert placed(plan) == {"n1:6700": ["s", "s"], "n2:6700": ["s", "s"], "n3:6700": ["s"]}


def test_needs_that_add_up_to_the_node_fit_it():
    """0.3 − 0.1 − 0.1 is 0.1 on paper, and less in floating point."""
    made = topology(s=3)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, cores=0.1), Cluster.uniform(nodes=1, cores=0.3))
    ).plan
    assert len(plan.workers) == 1


def test_memory_is_a_limit_of_the_machine():
    made = topology(s=3)
    cluster = Cluster.uniform(nodes=2, slots=2, memory_bytes=300 * MEGABYTE)
    plan = SCHEDULER.schedule(PlacementRequest(made, configured(made), cluster)).plan
    assert placed(plan) == {"n1:6700": ["s", "s"], "n2:6700": ["s"]}


def test_memory_that_is_not_known_is_no_limit():
    made = topology(s=8)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, megabytes=1024), Cluster.uniform(nodes=1, slots=8))
    ).plan
    assert len(plan.workers) == 8


def test_heap_is_a_limit_of_the_worker():
    made = topology(s=5)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, heap=256), Cluster.uniform(nodes=2, slots=3))
    ).plan
    assert placed(plan) == {"n1:6700": ["s", "s"], "n1:6701": ["s", "s"], "n1:6702": ["s"]}


def test_nodes_on_one_machine_share_its_cores():
    made = topology(s=2)
    machines = (Machine(name="m", cores=1), Machine(name="z", cores=1))
    nodes = [Node(name=name, machine=machine) for name, machine in ("am", "bm", "cz")]
    cluster = Cluster(machines=machines, nodes=nodes)
    plan = SCHEDULER.schedule(PlacementRequest(made, configured(made, cores=1), cluster)).plan
    assert placed(plan) == {"a:6700": ["s"], "c:6700": ["s"]}


def test_cores_that_others_keep_busy_are_not_there():
    made = topology(s=2)
    machines = (
        Machine(name="a", cores=2, background_cores=1.5),
        Machine(name="b", cores=0.6),
    )
    nodes = [Node(name=name, machine=name) for name in "ab"]
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, cores=0.5), Cluster(machines=machines, nodes=nodes))
    ).plan
    assert placed(plan) == {"b:6700": ["s"], "a:6700": ["s"]}


def test_a_small_executor_fills_what_a_large_one_left():
    made = topology("a-b", a=2, b=2)
    resources = {"a": Resources(cpu_cores=0.6), "b": Resources(cpu_cores=0.4)}
    configuration = replace(configured(made), resources=resources)
    plan = SCHEDULER.schedule(PlacementRequest(made, configuration, Cluster.uniform(nodes=2))).plan
    assert placed(plan) == {"n1:6700": ["a", "b"], "n2:6700": ["a", "b"]}


def test_workers_asked_for_are_no_limit_and_that_is_said():
    made = topology(s=2)
    schedule = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, heap=128, workers=1), Cluster.uniform(nodes=2))
    )
    assert len(schedule.plan.workers) == 2
    assert any("2 workers are used and 1 were asked for" in one for one in schedule.warnings)


def test_without_a_word_on_ackers_there_is_one_for_each_worker_asked_for():
    made = topology(s=1, acked=True)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configured(made, workers=4), Cluster.uniform(nodes=1))
    ).plan
    assert len(plan.logical.executors_of(ACKER)) == 4


# Storm's own settings


def test_what_is_not_declared_is_storms_default():
    """10 CU and 128 MB an executor, 768 MB a worker (Storm 2.8.3)."""
    made = topology(s=11)
    plan = SCHEDULER.schedule(
        PlacementRequest(
            made, Configuration(executors={"s": 11}), Cluster.uniform(nodes=2, slots=2)
        )
    ).plan
    sizes = [len(plan.executors_in(worker)) for worker in plan.workers]
    assert (sizes, plan.nodes) == ([6, 4, 1], ("n1", "n2"))


def test_settings_under_storms_names_change_the_defaults():
    made = topology(s=4)
    given = {
        "topology.component.cpu.pcore.percent": 50,
        "topology.component.resources.onheap.memory.mb": 512,
        HEAP: 512.0,
    }
    configuration = Configuration(executors={"s": 4}, settings=given)
    plan = SCHEDULER.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=2, slots=2))
    ).plan
    assert [str(worker) for worker in plan.workers] == ["n1:6700", "n1:6701", "n2:6700", "n2:6701"]


def test_ackers_have_settings_of_their_own():
    made = topology(s=1, acked=True)
    given = {"topology.acker.cpu.pcore.percent": 100}
    configuration = Configuration(ackers=1, settings=given)
    plan = SCHEDULER.schedule(PlacementRequest(made, configuration, Cluster.uniform(nodes=2))).plan
    assert placed(plan) == {"n1:6700": ["s"], "n2:6700": [ACKER]}


@pytest.mark.parametrize("value", ["much", True, -1])
def test_a_setting_that_is_no_need_is_refused(value):
    made = topology(s=1)
    configuration = Configuration(settings={HEAP: value})
    with pytest.raises(InvalidInput, match=r"configuration\.settings\.topology\.worker\.max"):
        SCHEDULER.schedule(PlacementRequest(made, configuration, Cluster.uniform(nodes=1)))


# Distance


def test_racks_and_nodes_with_the_larger_part_of_the_whole_come_first():
    """Half of the cores each, and a third of the memory in rack a; in rack b, z has less of it."""
    machines = [
        Machine(name="a", cores=8, memory_bytes=8),
        Machine(name="b1", cores=4, memory_bytes=10),
        Machine(name="b2", cores=4, memory_bytes=6),
    ]
    nodes = [
        Node(name="x", machine="a", rack="a", ports=(2, 1)),
        Node(name="z", machine="b2", rack="b"),
        Node(name="y", machine="b1", rack="b"),
    ]
    cluster = Cluster(machines=machines, nodes=nodes)
    found = [str(slot) for slot in nearest_slots(cluster)]
    assert found == ["y:6700", "z:6700", "x:1", "x:2"]


@pytest.mark.parametrize(
    ("cores", "memory", "expected"),
    [
        # The smaller shares are 0.1, 0.3 and 0.2.
        ((5, 3, 2), (1, 3, 6), ["b", "c", "a"]),
        # The smaller shares are all 0.2; the sums are 0.7, 0.5 and 0.8.
        ((2, 2, 6), (5, 3, 2), ["c", "a", "b"]),
        # Alike: by name.
        ((1, 1, 1), (1, 1, 1), ["a", "b", "c"]),
    ],
)
def test_nodes_come_by_the_smaller_share_then_the_mean_then_the_name(cores, memory, expected):
    machines = [
        Machine(name=name, cores=own, memory_bytes=size)
        for name, own, size in zip("abc", cores, memory, strict=True)
    ]
    nodes = [Node(name=name, machine=name) for name in "cab"]
    cluster = Cluster(machines=machines, nodes=nodes)
    assert [slot.node for slot in nearest_slots(cluster)] == expected


def test_where_memory_is_not_known_cores_decide():
    machines = [Machine(name="a", cores=4, memory_bytes=8), Machine(name="b", cores=6)]
    cluster = Cluster(machines=machines, nodes=[Node(name=one, machine=one) for one in "ab"])
    assert [slot.node for slot in nearest_slots(cluster)] == ["b", "a"]


SITES = racks(rennes=(15, 24), sophia=(16, 32))


@pytest.mark.parametrize("name", ["resource-aware", "one-per-worker", "isolated-queue"])
def test_two_sites_are_one_too_many_where_one_holds_the_job(name):
    """Pagliari 2021, section 3.5.1: 16 nodes in Sophia and 15 in Rennes."""
    scheduler = load_scheduler(name, LARGE.configuration)
    plan = scheduler.schedule(PlacementRequest(LARGE.topology, LARGE.configuration, SITES)).plan
    assert {name.split("-")[0] for name in plan.nodes} == {"sophia"}


def test_even_spreads_over_both_sites():
    """Thirty-one supervisors; Table 3.1 says 32, which counts the master or one too many."""
    plan = (
        EvenScheduler().schedule(PlacementRequest(LARGE.topology, LARGE.configuration, SITES)).plan
    )
    assert len(plan.nodes) == 31


# Nothing fits


def test_what_has_no_slot_is_named_with_what_was_short():
    made = topology("a-b", a=2, b=1)
    resources = {"a": Resources(cpu_cores=0.5), "b": Resources(cpu_cores=2)}
    configuration = replace(configured(made), resources=resources)
    with pytest.raises(Infeasible) as caught:
        SCHEDULER.schedule(PlacementRequest(made, configuration, Cluster.uniform(nodes=2)))
    assert "1 of 3 executors have no slot: b[3]. " in str(caught.value)
    assert "one of b needs 2 cores and 128 MB" in str(caught.value)
    assert "at most 1 cores are left on a machine" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "cluster", "short"),
    [
        ({"heap": 128}, Cluster.uniform(nodes=1, slots=2), "at most 0 MB of heap are left"),
        (
            {},
            Cluster.uniform(nodes=1, slots=2, memory_bytes=300 * MEGABYTE),
            "at most 44 MB are left on a machine",
        ),
    ],
)
def test_memory_and_heap_are_told_apart(given, cluster, short):
    made = topology(s=3)
    with pytest.raises(Infeasible, match=short):
        SCHEDULER.schedule(PlacementRequest(made, configured(made, **given), cluster))


def test_a_long_list_of_executors_without_a_slot_is_cut():
    made = topology(s=30)
    with pytest.raises(Infeasible, match=r"20 of 30 executors .*s\[18\] and 12 more\."):
        SCHEDULER.schedule(
            PlacementRequest(made, configured(made, heap=8192), Cluster.uniform(nodes=1))
        )


def test_no_free_slot_is_infeasible():
    made = topology(s=1)
    cluster = Cluster.uniform(nodes=1)
    with pytest.raises(Infeasible, match=r"1 of 1 executors .*no slot is free"):
        SCHEDULER.schedule(PlacementRequest(made, configured(made), cluster, taken=cluster.slots))


def test_more_than_a_workers_heap_is_wrong_on_any_cluster():
    made = topology(s=1)
    with pytest.raises(InvalidInput, match=r"configuration\.resources\.s: .* needs 2048 MB"):
        SCHEDULER.schedule(
            PlacementRequest(made, configured(made, megabytes=2048), Cluster.uniform(nodes=1))
        )


def test_what_is_in_taken_slots_is_said_to_be_unknown():
    made = topology(s=1)
    cluster = Cluster.uniform(nodes=1, slots=2)
    schedule = SCHEDULER.schedule(
        PlacementRequest(made, configured(made), cluster, taken=[Slot("n1", 6700)])
    )
    assert [str(worker) for worker in schedule.plan.workers] == ["n1:6701"]
    assert any("the jobs in 1 taken slots" in warning for warning in schedule.warnings)


# Laws


@given(topologies(names=PLAIN_NAMES), st.integers(1, 8), st.data())
@settings(max_examples=40)
def test_no_limit_is_exceeded_whatever_the_needs(made, quarters, data):
    def some() -> Resources:
        return Resources(
            cpu_cores=data.draw(st.integers(0, quarters)) / 4,
            memory_bytes=data.draw(st.integers(0, 4)) * 64 * MEGABYTE,
        )

    needs = {name: some() for name in made.operator_names}
    zero = {"topology.acker.cpu.pcore.percent": 0, "topology.acker.resources.onheap.memory.mb": 0}
    configuration = Configuration(
        executors={op.name: op.tasks for op in made.operators},
        resources=needs,
        settings={HEAP: 256, **zero},
    )
    cluster = Cluster.uniform(nodes=8, slots=3, cores=2, memory_bytes=640 * MEGABYTE)
    try:
        plan = SCHEDULER.schedule(PlacementRequest(made, configuration, cluster)).plan
    except Infeasible:
        assume(False)
    cores = dict.fromkeys(plan.nodes, 0.0)
    memory = dict.fromkeys(plan.nodes, 0)
    for worker, executors in plan.executors_by_worker.items():
        own = [needs[one.operator] for one in executors if one.operator in needs]
        heap = sum(one.memory_bytes for one in own)
        assert heap <= 256 * MEGABYTE
        memory[worker.node] += heap
        cores[worker.node] += sum(one.cpu_cores for one in own)
    assert max(cores.values()) <= 2
    assert max(memory.values()) <= 640 * MEGABYTE


@given(topologies(names=PLAIN_NAMES))
@settings(max_examples=40)
def test_the_order_names_every_executor_of_the_job_once(made):
    configuration = Configuration(executors={op.name: op.tasks for op in made.operators})
    plan = LogicalPlan.of(made, configuration)
    own = [executor for executor in plan.executors if executor.operator != ACKER]
    assert sorted(interleave(plan)) == own
