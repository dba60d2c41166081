"""Physical plans: every executor in one worker, near or far from the others."""

import pickle

import pytest
from hypothesis import given, settings

from streamgauge.errors import InvalidInput
from streamgauge.topology import (
    Cluster,
    Configuration,
    ConnectionType,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Slot,
    Topology,
)
from tests.strategies import placed_topologies

CLUSTER = Cluster.uniform(nodes=2, slots=2)
FIRST, SECOND, FAR = Slot("n1", 6700), Slot("n1", 6701), Slot("n2", 6700)
LOGICAL = LogicalPlan.of(
    Topology(name="t", operators=(Operator(name="s", kind=OperatorKind.SOURCE, tasks=3),)),
    Configuration(executors={"s": 3}),
)
ONE, TWO, THREE = LOGICAL.executors


def explicit(*workers: tuple[Slot, list[str]]) -> PhysicalPlan:
    return PhysicalPlan.explicit(LOGICAL, CLUSTER, workers)


PLAN = explicit((FAR, ["s[2]"]), (FIRST, ["s[3]", "s[1]"]))


def test_a_plan_knows_who_runs_what():
    assert [PLAN.worker_of(executor) for executor in LOGICAL.executors] == [FIRST, FAR, FIRST]
    assert PLAN.executors_in(FIRST) == (ONE, THREE)
    assert PLAN.executors_in(SECOND) == ()


def test_workers_keep_the_order_they_were_filled_in():
    assert (PLAN.workers, PLAN.nodes) == ((FAR, FIRST), ("n2", "n1"))


def test_a_worker_without_executors_is_left_out():
    assert explicit((SECOND, []), (FIRST, ["s[1]", "s[2]", "s[3]"])).workers == (FIRST,)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        (FIRST, FIRST, ConnectionType.LOCAL),
        (FIRST, SECOND, ConnectionType.INTER_LOCAL),
        (FIRST, FAR, ConnectionType.REMOTE),
        (SECOND, Slot("n2", 6701), ConnectionType.REMOTE),
    ],
)
def test_a_connection_is_local_inter_local_or_remote(source, target, kind):
    assert ConnectionType.between(source, target) is kind


@pytest.mark.parametrize(
    ("workers", "seen"),
    [
        ([(FIRST, ["s[1]", "s[2]"])], r"no worker for executor s\[3\]"),
        ([(FIRST, ["s[1]", "s[2]", "s[3]"]), (FAR, ["s[1]"])], r"s\[1\] a second time"),
        ([(FIRST, ["s[1]", "s[2]", "s[3]", "s[3]"])], r"s\[3\] a second time"),
        ([(FIRST, ["s[1]", "s[2-3]"])], r"s\[2-3\], which does not follow from the configuration"),
        ([(FIRST, ["s[1]", "s[2]", "nonsense"])], "executor 'nonsense'"),
        ([(Slot("n3", 6700), ["s[1]", "s[2]", "s[3]"])], "unknown node 'n3'"),
        ([(Slot("n1", 1), ["s[1]", "s[2]", "s[3]"])], "port 1 of 'n1'; expected .*6700, 6701"),
        ([(FIRST, ["s[1]"]), (FIRST, ["s[2]", "s[3]"])], "slot n1:6700 twice"),
    ],
)
def test_a_plan_that_is_none_is_refused(workers, seen):
    with pytest.raises(InvalidInput, match=seen):
        explicit(*workers)


@pytest.mark.parametrize(
    ("placement", "seen"),
    [
        ((0, 1), "2 placed executors; expected the plan's 3"),
        ((0, 0, 1, 1), "4 placed executors; expected the plan's 3"),
        ((0, 1, 2), r"placement\[2\]: worker 2"),
        ((0, 1, -1), r"placement\[2\]: worker -1"),
        ((0, 0, 0), "worker n2:6700 without executors"),
    ],
)
def test_a_placement_has_a_worker_an_executor_and_no_idle_worker(placement, seen):
    with pytest.raises(InvalidInput, match=f"^[^\n]*{seen}[^\n]*$"):
        PhysicalPlan(logical=LOGICAL, cluster=CLUSTER, workers=(FIRST, FAR), placement=placement)


@given(placed_topologies())
@settings(max_examples=30)
def test_every_executor_is_in_exactly_one_worker(plan: PhysicalPlan):
    found = [executor for worker in plan.workers for executor in plan.executors_in(worker)]
    assert sorted(found) == sorted(plan.logical.executors)


def test_a_plan_survives_pickling_and_is_a_key():
    copy = pickle.loads(pickle.dumps(PLAN))
    assert {PLAN: 1}[copy] == 1
