"""Who gets which part of a stream in a plan that has never run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.load_aware_shuffle import SCOPES, nearest_shares
from streamgauge.models.routing import keyed_shares, route
from streamgauge.profile.figures import Figure, OutputFigures, Shares, TaskId, TaskProfile
from streamgauge.profile.keys import GivenKeys
from streamgauge.profile.profile import Profile
from streamgauge.topology import Cluster, Configuration, Operator, Stream, Topology
from streamgauge.topology.cluster import Machine, Node
from streamgauge.topology.grouping import All, Fields, Global, LocalOrShuffle, PartialKey, Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, StreamKey
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine
from streamgauge.transport.hashing import task_index
from tests.models.plans import timed

# Tables 4.3 and 4.4 of the thesis; output parts of the tasks by what its text leaves over.
TASK_SHARES = {
    0: (0.60, 0.15, 0.05, 0.20),
    1: (0.25, 0.05, 0.40, 0.30),
    2: (0.15, 0.65, 0.05, 0.15),
    3: (0.05, 0.35, 0.20, 0.40),
}
OUTPUT_PARTS = {0: 0.70, 1: 0.10, 2: 0.15, 3: 0.05}


def line(first, second, *, tasks=4):
    """s → b → c by two groupings."""
    return Topology(
        name="line",
        operators=(
            Operator(name="s", kind=OperatorKind.SOURCE, tasks=tasks),
            Operator(name="b", tasks=tasks),
            Operator(name="c", tasks=tasks),
        ),
        streams=(
            Stream(source="s", target="b", grouping=first),
            Stream(source="b", target="c", grouping=second),
        ),
    )


def logical(topology, executors, engine="storm-1"):
    names = topology.operator_names
    return LogicalPlan.of(
        topology, Configuration(engine=engine, executors=dict.fromkeys(names, executors))
    )


def behaviour_of(topology, shares=TASK_SHARES, parts=OUTPUT_PARTS, **more):
    """What was measured of the tasks of b."""
    tasks = {
        TaskId("b", place): TaskProfile(
            outputs={
                "default": OutputFigures(
                    per_second=Figure(value=100 * parts[place]),
                    share=Figure(value=parts[place]),
                    shares={"c": Shares(parts=row)},
                )
            }
        )
        for place, row in shares.items()
    }
    return timed(Profile(topology=topology, configuration=Configuration(), tasks=tasks, **more))


def test_fields_after_shuffle_has_one_row_for_all():
    """Tables 4.1 and 4.2: 0.60, 0.20, 0.15, 0.05 become 0.80 and 0.20 from everywhere."""
    job = line(Shuffle(), Fields(keys=("k",)))
    same = dict.fromkeys(range(4), (0.60, 0.20, 0.15, 0.05))
    found = keyed_shares(logical(job, 2), job.streams[1], behaviour_of(job, same))
    assert found == pytest.approx(np.asarray([[0.80, 0.20], [0.80, 0.20]]))


def test_fields_after_fields_weighs_tasks_by_their_output():
    """Tables 4.3 and 4.4: 0.69 and 0.31 (0.69375, 0.30625), 0.70 and 0.30."""
    job = line(Fields(keys=("j",)), Fields(keys=("k",)))
    found = keyed_shares(logical(job, 2), job.streams[1], behaviour_of(job))
    assert found == pytest.approx(np.asarray([[0.69375, 0.30625], [0.70, 0.30]]))
    assert keyed_shares(logical(job, 1), job.streams[1], behaviour_of(job)) == pytest.approx(1.0)


def test_after_shuffle_all_sending_tasks_are_pooled():
    """Each counts by what it sent."""
    job = line(Shuffle(), Fields(keys=("k",)))
    found = keyed_shares(logical(job, 2), job.streams[1], behaviour_of(job))
    pooled = sum(OUTPUT_PARTS[t] * np.asarray(TASK_SHARES[t]) for t in range(4))
    expected = [pooled[:2].sum(), pooled[2:].sum()]
    assert found == pytest.approx(np.asarray([expected, expected]))


def test_a_silent_task_has_no_say_and_a_silent_executor_has_the_pooled_shares():
    job = line(Fields(keys=("j",)), Fields(keys=("k",)))
    heard = {place: TASK_SHARES[place] for place in (0, 1)}
    found = keyed_shares(logical(job, 2), job.streams[1], behaviour_of(job, heard))
    assert found[0] == pytest.approx([0.69375, 0.30625])
    assert found[1] == pytest.approx(found[0])


def test_tasks_of_no_output_count_alike():
    job = line(Fields(keys=("j",)), Fields(keys=("k",)))
    nothing = dict.fromkeys(range(4), 0.0)
    found = keyed_shares(logical(job, 2), job.streams[1], behaviour_of(job, parts=nothing))
    assert found[0] == pytest.approx([(0.75 + 0.30) / 2, (0.25 + 0.70) / 2])


def test_traced_keys_go_where_the_hash_puts_them():
    job = line(Shuffle(), Fields(keys=("k",)))
    keys = GivenKeys(weights={"apple": 3.0, "pear": 1.0})
    measured = behaviour_of(job, {}, keys={StreamKey("b", "default"): keys})
    found = keyed_shares(logical(job, 4), job.streams[1], measured)
    expected = np.zeros(4)
    expected[task_index(["apple"], 4)] += 0.75
    expected[task_index(["pear"], 4)] += 0.25
    assert found == pytest.approx(np.broadcast_to(expected, (4, 4)))


@given(
    counts=st.lists(st.lists(st.integers(0, 1000), min_size=6, max_size=6), min_size=6, max_size=6),
    executors=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    keyed=st.booleans(),
)
def test_rows_sum_to_one_and_tasks_keep_their_keys(counts, executors, keyed):
    """However tasks are dealt to executors: what goes to a task does not change."""
    job = line(Fields(keys=("j",)) if keyed else Shuffle(), Fields(keys=("k",)), tasks=6)
    sent = np.asarray(counts, dtype=float)
    total = sent.sum()
    shares = {t: tuple(row / row.sum()) for t, row in enumerate(sent) if row.sum()}
    parts = {t: sent[t].sum() / total for t in shares}
    plan = LogicalPlan.of(
        job, Configuration(executors={"s": 1, "b": executors[0], "c": executors[1]})
    )
    found = keyed_shares(plan, job.streams[1], behaviour_of(job, shares, parts))
    if found is None:
        assert not shares
        return
    assert found.sum(axis=1) == pytest.approx(np.ones(executors[0]))
    if keyed:
        emitted = np.asarray(
            [
                sum(parts.get(t - plan.tasks_of("b").start, 0.0) for t in one.tasks)
                for one in plan.executors_of("b")
            ]
        )
    else:
        emitted = np.full(executors[0], 1.0 / executors[0])
    got = emitted @ found
    start = plan.tasks_of("c").start
    expected = [
        sum(sent[:, t - start].sum() for t in one.tasks) / total for one in plan.executors_of("c")
    ]
    assert got == pytest.approx(expected)


def spread(*, nodes=2, slots=2, racks=1, executors=4, tasks=4, grouping=None, engine="storm-2"):
    """s → b → c dealt in turn over all slots of a cluster."""
    job = line(Shuffle(), grouping or Shuffle(), tasks=tasks)
    cluster = Cluster(
        machines=tuple(Machine(name=f"m{n}", cores=2) for n in range(nodes)),
        nodes=tuple(
            Node(
                name=f"n{n}",
                machine=f"m{n}",
                rack=f"r{n % racks}",
                ports=tuple(range(6700, 6700 + slots)),
            )
            for n in range(nodes)
        ),
    )
    plan = logical(job, executors, engine)
    slots_used = cluster.slots
    dealt = [index % len(slots_used) for index in range(len(plan.executors))]
    return PhysicalPlan.from_slots(plan, cluster, slots_used, dealt)


def test_shuffle_by_load_stays_in_the_worker():
    """Four of each in four workers: everyone sends to the one beside it."""
    plan = spread()
    shares, scopes = nearest_shares(plan, plan.logical.topology.streams[0], 0.8)
    assert shares == pytest.approx(np.eye(4))
    assert {SCOPES[scope] for scope in scopes} == {"worker"}


def test_seen_on_a_cluster_executors_elsewhere_get_nothing():
    """`storm-2x` section 4: two spouts, four bolts, three workers: two bolts got all."""
    job = line(Shuffle(), Shuffle())
    plan = LogicalPlan.of(job, Configuration(executors={"s": 2, "b": 4, "c": 1}))
    cluster = Cluster.uniform(nodes=3)
    s, b, c = ([one.label for one in plan.executors_of(name)] for name in "sbc")
    placed = PhysicalPlan.explicit(
        plan,
        cluster,
        {
            cluster.slots[0]: [b[0], s[0], c[0]],
            cluster.slots[1]: [b[1], s[1]],
            cluster.slots[2]: [b[2], b[3]],
        },
    )
    flow = TupleFlow.of(placed, load_engine("storm-2").hops)
    mechanics = load_engine("storm-2").mechanics({})
    found = route(flow, behaviour_of(job, {}), mechanics)
    assert found.flow.blocks[0].shares == pytest.approx(np.eye(2, 4))
    assert found.idle == tuple(b[2:])


def test_an_empty_scope_is_widened_at_once():
    """One c in all: its own worker's, its own node's, its rack's, and then anyone's."""
    plan = spread(nodes=4, slots=2, racks=2, executors=8, tasks=8)
    job = plan.logical.topology
    narrow = LogicalPlan.of(job, Configuration(executors={"s": 1, "b": 8, "c": 1}))
    only = PhysicalPlan.from_slots(narrow, plan.cluster, plan.cluster.slots, [0, *range(8), 0])
    shares, scopes = nearest_shares(only, job.streams[1], 1.0)
    assert shares == pytest.approx(np.ones((8, 1)))
    assert [SCOPES[scope] for scope in scopes] == [
        "worker", "node", "everywhere", "everywhere", "rack", "rack", "everywhere", "everywhere",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tasks", "scope"), [(4, "worker"), (8, "worker"), (20, "worker"), (24, "everywhere")]
)
def test_many_tasks_an_executor_look_like_load(tasks, scope):
    """Of k tasks k − 1 count as full: above 0.8, from six on, the scope is everything."""
    plan = spread(executors=4, tasks=tasks)
    _, scopes = nearest_shares(plan, plan.logical.topology.streams[0], 0.8)
    assert {SCOPES[one] for one in scopes} == {scope}


@pytest.mark.parametrize(
    ("grouping", "row"),
    [
        (Shuffle(), [0.25] * 4),
        (All(), [1.0] * 4),
        (Global(), [1.0, 0.0, 0.0, 0.0]),
        (PartialKey(keys=("k",)), [0.25] * 4),
    ],
)
def test_what_needs_no_figures(grouping, row):
    """Storm 1.x, nothing measured."""
    plan = spread(grouping=grouping, engine="storm-1")
    job = plan.logical.topology
    flow = TupleFlow.of(plan, load_engine("storm-1").hops)
    empty = behaviour_of(job, {})
    found = route(flow, empty, load_engine("storm-1").mechanics({}))
    assert found.flow.blocks[1].shares == pytest.approx(np.tile(row, (4, 1)))
    assert bool(found.notes) == isinstance(grouping, PartialKey)


def test_local_or_shuffle_keeps_to_its_worker():
    plan = spread(grouping=LocalOrShuffle(), engine="storm-1")
    flow = TupleFlow.of(plan, load_engine("storm-1").hops)
    empty = behaviour_of(plan.logical.topology, {})
    found = route(flow, empty, load_engine("storm-1").mechanics({}))
    assert found.flow.blocks[1].shares == pytest.approx(np.eye(4))
