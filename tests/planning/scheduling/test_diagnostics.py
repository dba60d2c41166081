"""Diagnostics: where ackers are, which nodes are hot, how far tuples and acks go."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.diagnostics import diagnose
from streamgauge.topology import (
    ACKER,
    Cluster,
    Configuration,
    Fields,
    LogicalPlan,
    Machine,
    Node,
    PhysicalPlan,
    Resources,
    Slot,
    StreamKey,
)
from tests.planning.scheduling.graphs import HEAP, MEGABYTE, configured, topology
from tests.planning.scheduling.word_count import at, scheduled
from tests.strategies import placed_topologies

BY_KEY = Fields(keys=("k",))


def rates(**per_second: float) -> Expected:
    return Expected(rates={StreamKey(name, "default"): rate for name, rate in per_second.items()})


def plan_of(made, assignment: dict[tuple[str, int], list[str]], cluster=None, **given):
    """A plan by hand: slots as (node, port), ports 6700 and on."""
    executors = {op.name: op.tasks for op in made.operators}
    configuration = Configuration(executors=executors, engine="storm-1", **given)
    logical = LogicalPlan.of(made, configuration)
    cluster = cluster or Cluster.uniform(nodes=3, slots=3, cores=4)
    slots = {Slot(*slot): labels for slot, labels in assignment.items()}
    return PhysicalPlan.explicit(logical, cluster, slots)


def reconfigured(plan: PhysicalPlan, **changes) -> PhysicalPlan:
    configuration = replace(plan.logical.configuration, **changes)
    return replace(plan, logical=replace(plan.logical, configuration=configuration))


# Ackers


def test_the_last_node_has_all_ackers_and_one_worker_of_nothing_else():
    """265 CU and 128 MB: six ackers beside the last executors, three alone."""
    found = diagnose(scheduled("resource-aware", at("265-cu-128-mb")).plan)
    assert found.ackers_by_node == {"n09": 9}
    assert found.ackers_by_worker == {"n09:6700": 6, "n09:6701": 3}
    assert found.acker_only_workers == ("n09:6701",)
    assert found.acker_concentration == 1.0


@pytest.mark.parametrize("scheduler", ["one-per-worker", "isolated-queue"])
def test_ackers_placed_apart_are_spread_over_all_nodes(scheduler):
    found = diagnose(scheduled(scheduler, at("265-cu-128-mb")).plan)
    assert found.acker_concentration == pytest.approx(1 / 9)
    assert len(found.acker_only_workers) == (9 if scheduler == "isolated-queue" else 0)


def test_a_job_without_ackers_has_no_concentration():
    made = topology("s-b", s=1, b=1)
    found = diagnose(plan_of(made, {("n1", 6700): ["s[1]", "b[2]"]}), rates(s=1))
    assert (found.ackers, found.acker_concentration, found.acks_local) == (0, None, None)
    assert found.ack_share == 0.0


def test_workers_and_nodes_in_use_are_counted():
    found = diagnose(scheduled("isolated-queue", at("265-cu-128-mb")).plan)
    assert (found.workers, found.nodes, found.ackers) == (18, 9, 9)


# Heap


@pytest.mark.parametrize(
    ("scheduler", "step", "risks"),
    [
        # Every worker is full: 8 × 128 MB.
        ("one-per-worker", "33-cu-128-mb", 47),
        # 26 × 32 MB leave 192 MB in the worker of a node.
        ("one-per-worker", "30-cu-32-mb", 0),
        # Four ackers in a worker of their own.
        ("isolated-queue", "30-cu-128-mb", 0),
        # Needs of ackers were counted.
        ("resource-aware", "30-cu-128-mb", 0),
    ],
)
def test_an_acker_that_was_said_to_need_nothing_may_be_too_much(scheduler, step, risks):
    assert len(diagnose(scheduled(scheduler, at(step)).plan).heap_risks) == risks


@pytest.mark.parametrize(("need", "risk"), [(896, ()), (897, ("n1:6700",))])
def test_an_acker_of_no_declared_need_counts_with_storms_128_mb(need, risk):
    made = topology(s=1, acked=True)
    settings = {HEAP: 1024, "topology.acker.resources.onheap.memory.mb": 0}
    resources = {"s": Resources(memory_bytes=need * MEGABYTE)}
    assignment = {("n1", 6700): ["s[1]", f"{ACKER}[2]"]}
    plan = plan_of(made, assignment, settings=settings, resources=resources)
    assert diagnose(plan).heap_risks == risk


@pytest.mark.parametrize(("need", "risk"), [(512, ()), (513, ("n1:6700",))])
def test_a_heap_is_too_small_without_ackers_too(need, risk):
    resources = {"s": Resources(memory_bytes=need * MEGABYTE)}
    assignment = {("n1", 6700): ["s[1]", "s[2]"]}
    plan = plan_of(topology(s=2), assignment, settings={HEAP: 1024}, resources=resources)
    assert diagnose(plan).heap_risks == risk


def test_a_job_that_declares_nothing_is_not_blamed():
    """Twenty-six executors and an acker in one worker of 1024 MB."""
    job = at("265-cu-128-mb")
    silent = scheduled("even", job, workers=1, ackers=1, resources={}).plan
    assert diagnose(silent).heap_risks == ()
    assert diagnose(scheduled("even", job, workers=1, ackers=1).plan).heap_risks == ("n01:6700",)


# Load


LINE = topology("s-b", s=2, b=2, grouping=BY_KEY)
SPREAD = {("n1", 6700): ["s[1]", "b[3]"], ("n2", 6700): ["s[2]", "b[4]"]}


def test_load_is_the_part_of_the_cores_that_is_expected_to_be_busy():
    """s keeps 2 cores busy and b 5: half of each on either node of four."""
    expected = replace(rates(s=10), cores={"s": 2, "b": 5})
    found = diagnose(plan_of(LINE, SPREAD), expected)
    assert (found.load_by, found.loads) == ("cores", {"n1": 3.5 / 4, "n2": 3.5 / 4})
    assert found.hot_nodes == ("n1", "n2")


def test_an_executor_that_gets_more_tuples_keeps_more_cores_busy():
    """Keys give the first task of b nine of ten tuples."""
    shares = {("s", "default", "b"): (0.9, 0.1)}
    expected = replace(rates(s=10), cores={"s": 0, "b": 4}, task_shares=shares)
    found = diagnose(plan_of(LINE, SPREAD), expected)
    assert found.loads == pytest.approx({"n1": 0.9, "n2": 0.1})
    assert (found.hot_nodes, found.busiest_node) == (("n1",), "n1")
    assert found.busiest_load == pytest.approx(0.9)


def test_nodes_on_one_machine_have_one_load_with_what_others_keep_busy():
    machines = (Machine(name="m", cores=4, background_cores=1),)
    nodes = [Node(name=name, machine="m") for name in ("n1", "n2")]
    plan = plan_of(LINE, SPREAD, Cluster(machines=machines, nodes=nodes))
    expected = replace(rates(s=10), cores={"s": 1, "b": 1})
    assert diagnose(plan, expected).loads == {"n1": 0.75, "n2": 0.75}


def test_without_cores_a_node_is_hot_by_executors():
    """Four executors and one on four cores: 1.6 times the mean."""
    made = topology("s-b", s=1, b=4)
    assignment = {("n1", 6700): ["b[2]", "b[3]", "b[4]", "b[5]"], ("n2", 6700): ["s[1]"]}
    found = diagnose(plan_of(made, assignment), replace(rates(s=1), cores={"s": 1}))
    assert (found.load_by, found.loads) == ("executors", {"n1": 1.0, "n2": 0.25})
    assert found.hot_nodes == ("n1",)


def test_ackers_of_unknown_cores_count_for_nothing():
    made = topology(s=1, acked=True)
    plan = plan_of(made, {("n1", 6700): ["s[1]"], ("n2", 6700): [f"{ACKER}[2]"]}, workers=1)
    assert diagnose(plan, Expected(cores={"s": 2})).loads == {"n1": 0.5, "n2": 0.0}
    both = Expected(cores={"s": 2, ACKER: 1})
    assert diagnose(plan, both).loads == {"n1": 0.5, "n2": 0.25}


# Distance


@pytest.mark.parametrize("bolts", [1, 2, 3])
def test_acks_are_more_than_half_of_all_messages(bolts):
    """Pagliari 2021, Figure 3.7: b tuples, one init, b acks and one answer for a root."""
    names = [f"b{index}" for index in range(bolts)]
    line = ["s", *names]
    edges = (f"{one}-{other}" for one, other in zip(line, names, strict=False))
    made = topology(*edges, acked=True, **dict.fromkeys(line, 1))
    configuration = replace(configured(made), workers=1)
    plan = PhysicalPlan.from_slots(
        LogicalPlan.of(made, configuration),
        Cluster.uniform(nodes=1),
        [Slot("n1", 6700)],
        [0] * (bolts + 2),
    )
    found = diagnose(plan, rates(**dict.fromkeys(line[:-1], 100)))
    assert found.ack_share == pytest.approx((bolts + 2) / (2 * bolts + 2))
    assert found.data_local_per_second == 100 * bolts


def test_tuples_are_counted_by_how_far_they_go():
    """Of 100 tuples/s by key from one executor, a quarter goes to each of four others."""
    made = topology("s-b", s=1, b=4, grouping=BY_KEY)
    assignment = {
        ("n1", 6700): ["s[1]", "b[2]"],
        ("n1", 6701): ["b[3]"],
        ("n2", 6700): ["b[4]", "b[5]"],
    }
    found = diagnose(plan_of(made, assignment), rates(s=100))
    assert found.data_local_per_second == pytest.approx(25)
    assert found.data_inter_worker_per_second == pytest.approx(25)
    assert found.data_remote_per_second == pytest.approx(50)
    assert found.remote_per_second == pytest.approx(50)


@pytest.mark.parametrize(("disabled", "remote"), [(False, 0.0), (True, 50.0)])
def test_shuffle_of_storm_2_stays_near_unless_that_is_switched_off(disabled, remote):
    made = topology("s-b", s=2, b=2)
    plan = plan_of(made, SPREAD)
    settings = {"topology.disable.loadaware.messaging": disabled}
    plan = reconfigured(plan, engine="storm-2", settings=settings)
    assert diagnose(plan, rates(s=100)).data_remote_per_second == pytest.approx(remote)


# Pagliari 2021, section 3.4: ackers are chosen by the root, evenly.


def test_one_per_worker_keeps_one_over_the_workers_of_all_acks_local():
    plan = scheduled("one-per-worker", at("265-cu-128-mb")).plan
    found = diagnose(plan, rates(generator=2000, counter=2000, ranker=5))
    assert found.acks_local == pytest.approx(1 / 9)
    assert found.acks_inter_worker == 0.0
    assert found.acks_remote == pytest.approx(8 / 9)


def test_isolated_queue_keeps_none_in_the_worker_and_one_over_the_nodes_on_the_node():
    plan = scheduled("isolated-queue", at("265-cu-128-mb")).plan
    found = diagnose(plan, rates(generator=2000, counter=2000, ranker=5))
    assert found.acks_local == 0.0
    assert found.acks_inter_worker == pytest.approx(1 / 9)


def test_ackers_on_one_node_make_most_acks_remote():
    """Only what the two executors on the ackers' node send and get stays there."""
    plan = scheduled("resource-aware", at("265-cu-128-mb")).plan
    found = diagnose(plan, rates(generator=2000, counter=2000, ranker=5))
    apart = diagnose(
        scheduled("one-per-worker", at("265-cu-128-mb")).plan,
        rates(generator=2000, counter=2000, ranker=5),
    )
    assert found.acks_remote > apart.acks_remote


def test_rates_of_acks_that_are_given_are_taken():
    made = topology(s=1, acked=True)
    plan = plan_of(made, {("n1", 6700): ["s[1]"], ("n2", 6700): [f"{ACKER}[2]"]}, workers=1)
    measured = Expected(rates={StreamKey("s", "__ack_init"): 7, StreamKey(ACKER, "__ack_ack"): 3})
    assert diagnose(plan, measured).remote_per_second == pytest.approx(10)


# What is not known


def test_without_rates_nothing_is_said_of_traffic():
    found = diagnose(plan_of(LINE, SPREAD))
    unknown = [found.data_local_per_second, found.remote_per_second, found.ack_share]
    assert unknown == [None, None, None]


def test_the_record_is_json():
    found = diagnose(scheduled("even", at("265-cu-128-mb")).plan, rates(generator=1))
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert written["nodes"] == found.nodes
    assert written["ackers_by_node"] == dict(found.ackers_by_node)


@given(placed_topologies(), st.sampled_from(("storm-1", "storm-2")), st.floats(0, 1e6))
@settings(max_examples=40)
def test_shares_of_acks_sum_to_one_and_every_tuple_is_somewhere(plan, engine, rate):
    plan = reconfigured(plan, engine=engine, settings={})
    streams = plan.logical.topology.data_streams
    expected = Expected(rates={stream.key: rate for stream in streams})
    found = diagnose(plan, expected)
    if found.acks_local is not None:
        shares = found.acks_local + found.acks_inter_worker + found.acks_remote
        assert shares == pytest.approx(1.0)
    tasks = {one.name: one.tasks for one in plan.logical.topology.operators}
    copies = sum(tasks[one.target] if one.grouping.kind == "all" else 1 for one in streams)
    everywhere = (
        found.data_local_per_second
        + found.data_inter_worker_per_second
        + found.data_remote_per_second
    )
    assert everywhere == pytest.approx(rate * copies)
