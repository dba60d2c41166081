"""Tuple flow: how far every connection goes and what part of the tuples takes it."""

import numpy as np
import pytest
from hypothesis import given, settings

from streamgauge.topology import (
    All,
    Cluster,
    Configuration,
    ConnectionType,
    Custom,
    Fields,
    Global,
    LocalOrShuffle,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Slot,
    Stream,
    Topology,
    TupleFlow,
)
from streamgauge.topology.paths import iter_paths
from streamgauge.transport.engine import load_engine
from tests.strategies import placed_topologies

LOCAL, INTER_LOCAL, REMOTE = ConnectionType


def flow_of(plan: PhysicalPlan) -> TupleFlow:
    return TupleFlow.of(plan, load_engine("storm-1").hops)


def task_share(plan: PhysicalPlan, stream: Stream, sender: int, receiver: int) -> float:
    """What part of a sending task's tuples a receiving task gets, straight from the words."""
    logical = plan.logical
    tasks = logical.tasks_of(stream.target)
    grouping = stream.grouping
    if isinstance(grouping, All):
        return 1.0
    if isinstance(grouping, Global):
        return float(receiver == min(tasks))
    if isinstance(grouping, Custom):
        row = grouping.matrix[(sender - logical.tasks_of(stream.source)[0]) % len(grouping.matrix)]
        return row[receiver - tasks[0]]
    candidates = set(tasks)
    if isinstance(grouping, LocalOrShuffle):
        own = plan.worker_of(logical.executors[logical.index_of_task[sender]])
        workers = {t: plan.worker_of(logical.executors[logical.index_of_task[t]]) for t in tasks}
        near = {t for t in tasks if workers[t] == own}
        candidates = near or candidates
    return (receiver in candidates) / len(candidates)


@given(placed_topologies())
@settings(max_examples=40)
def test_an_executor_s_share_is_the_mean_over_its_tasks(plan: PhysicalPlan):
    for block in flow_of(plan).blocks:
        for row, source in enumerate(plan.logical.executors_of(block.stream.source)):
            for column, target in enumerate(plan.logical.executors_of(block.stream.target)):
                pairs = [(i, j) for i in source.tasks for j in target.tasks]
                total = sum(task_share(plan, block.stream, i, j) for i, j in pairs)
                assert block.shares[row, column] == pytest.approx(total / len(source.tasks))


@given(placed_topologies())
@settings(max_examples=40)
def test_shares_sum_to_one_or_for_all_to_the_number_of_tasks(plan: PhysicalPlan):
    for block in flow_of(plan).blocks:
        copies = isinstance(block.stream.grouping, All)
        tasks = plan.logical.topology.operator(block.stream.target).tasks
        assert block.shares.sum(axis=1) == pytest.approx(tasks if copies else 1.0)


@given(placed_topologies())
@settings(max_examples=40)
def test_a_connection_s_type_follows_from_worker_and_node(plan: PhysicalPlan):
    executors = plan.logical.executors
    for connection in flow_of(plan).connections():
        near = plan.worker_of(executors[connection.source])
        far = plan.worker_of(executors[connection.target])
        if near.node != far.node:
            assert connection.type is REMOTE
        else:
            assert connection.type is (LOCAL if near.port == far.port else INTER_LOCAL)


@given(placed_topologies())
@settings(max_examples=40)
def test_counted_types_are_those_of_the_connections(plan: PhysicalPlan):
    flow = flow_of(plan)
    kinds = [connection.type for connection in flow.connections()]
    assert flow.count_types(data_only=False) == {kind: kinds.count(kind) for kind in ConnectionType}


def example_5_6() -> PhysicalPlan:
    """Storm-tracer 5.6: S → A → B with two ackers, dealt alternately to two workers."""
    topology = Topology(
        name="fig-4-10",
        operators=(
            Operator(name="S", kind=OperatorKind.SOURCE, tasks=4),
            Operator(name="A", tasks=6),
            Operator(name="B", tasks=6),
        ),
        streams=(
            Stream(source="S", target="A", grouping=Shuffle()),
            Stream(source="A", target="B", grouping=Fields(keys=("word",))),
        ),
        acked=True,
    )
    logical = LogicalPlan.of(topology, Configuration(executors={"S": 2, "A": 3, "B": 3}, workers=2))
    return PhysicalPlan.explicit(
        logical,
        Cluster.uniform(nodes=2),
        {
            Slot("n1", 6700): ["S[1-2]", "A[5-6]", "A[9-10]", "B[13-14]", "__acker[17]"],
            Slot("n2", 6700): ["S[3-4]", "A[7-8]", "B[11-12]", "B[15-16]", "__acker[18]"],
        },
    )


@pytest.mark.parametrize(
    ("source", "remote"),
    [
        ("S[1-2]", {"A[7-8]", "__acker[18]"}),
        ("A[5-6]", {"B[11-12]", "B[15-16]", "__acker[18]"}),
        ("A[9-10]", {"B[11-12]", "B[15-16]", "__acker[18]"}),
        ("B[13-14]", {"__acker[18]"}),
        ("__acker[17]", {"S[3-4]"}),
        ("S[3-4]", {"A[5-6]", "A[9-10]", "__acker[17]"}),
        ("A[7-8]", {"B[13-14]", "__acker[17]"}),
        ("__acker[18]", {"S[1-2]"}),
    ],
)
def test_table_4_5_remote_destinations(source, remote):
    plan = example_5_6()
    labels = [executor.label for executor in plan.logical.executors]
    found = {
        labels[connection.target]
        for connection in flow_of(plan).connections()
        if labels[connection.source] == source and connection.type is REMOTE
    }
    assert found == remote


def test_executors_that_share_a_transfer_thread_but_no_stream_are_not_connected():
    """Storm-tracer flaw 9: X → worker → B where X sends to A only."""
    topology = Topology(
        name="t",
        operators=(
            *(Operator(name=name, kind=OperatorKind.SOURCE) for name in "XY"),
            *(Operator(name=name) for name in "AB"),
        ),
        streams=(
            Stream(source="X", target="A", grouping=Shuffle()),
            Stream(source="Y", target="B", grouping=Shuffle()),
        ),
    )
    plan = PhysicalPlan.explicit(
        LogicalPlan.of(topology, Configuration()),
        Cluster.uniform(nodes=2),
        {Slot("n1", 6700): ["X[1]", "Y[2]"], Slot("n2", 6700): ["A[3]", "B[4]"]},
    )
    flow = flow_of(plan)
    assert sorted(path.describe(flow) for path in iter_paths(flow)) == [
        "X[1] → A[3]",
        "Y[2] → B[4]",
    ]


def test_shuffle_is_even_over_tasks_not_executors():
    """Seven tasks on three executors: 3/7, 2/7, 2/7."""
    topology = Topology(
        name="t",
        operators=(Operator(name="S", kind=OperatorKind.SOURCE), Operator(name="A", tasks=7)),
        streams=(Stream(source="S", target="A", grouping=Shuffle()),),
    )
    logical = LogicalPlan.of(topology, Configuration(executors={"A": 3}))
    plan = PhysicalPlan(
        logical=logical,
        cluster=Cluster.uniform(nodes=1),
        workers=(Slot("n1", 6700),),
        placement=(0,) * 4,
    )
    (block,) = flow_of(plan).blocks
    assert np.allclose(block.shares, [[3 / 7, 2 / 7, 2 / 7]])
