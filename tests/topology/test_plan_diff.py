"""What changes from one plan to another, counted by hand."""

import pytest
from hypothesis import given, settings

from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology import (
    Cluster,
    Configuration,
    Executor,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Slot,
    Stream,
    Topology,
    diff_plans,
)
from tests.strategies import placed_topologies

W1, W2, W3 = Slot("n1", 6700), Slot("n2", 6700), Slot("n3", 6700)


def plan(workers: dict[Slot, list[str]], executors: int = 2) -> PhysicalPlan:
    """One operator of four tasks."""
    operator = Operator(name="a", kind=OperatorKind.SOURCE, tasks=4)
    logical = LogicalPlan.of(
        Topology(name="t", operators=(operator,)), Configuration(executors={"a": executors})
    )
    return PhysicalPlan.explicit(logical, Cluster.uniform(nodes=3), workers)


TWO = plan({W1: ["a[1-2]"], W2: ["a[3-4]"]})


@given(placed_topologies())
@settings(max_examples=20)
def test_a_plan_does_not_differ_from_itself(same: PhysicalPlan):
    diff = diff_plans(same, same)
    assert diff.is_empty
    assert (diff.kept, diff.tasks_moved) == (len(same.logical.executors), 0)
    assert (diff.workers_added, diff.workers_removed) == ((), ())


def test_an_executor_in_another_worker_has_moved_with_its_tasks():
    diff = diff_plans(TWO, plan({W1: ["a[1-2]"], W3: ["a[3-4]"]}))
    assert [(m.executor.label, m.source, m.target) for m in diff.moved] == [("a[3-4]", W2, W3)]
    assert (diff.kept, diff.tasks_moved, diff.is_empty) == (1, 2, False)
    assert (diff.workers_added, diff.workers_removed) == ((W3,), (W2,))


def test_executors_cut_anew_are_added_and_removed():
    diff = diff_plans(TWO, plan({W1: ["a[1]", "a[2]"], W2: ["a[3]", "a[4]"]}, executors=4))
    assert [worker for _, worker in diff.added] == [W1, W1, W2, W2]
    assert diff.removed == ((Executor(1, 2, "a"), W1), (Executor(3, 4, "a"), W2))
    assert (diff.moved, diff.kept) == ((), 0)


def test_tasks_that_stay_in_their_worker_do_not_move_however_executors_are_cut():
    diff = diff_plans(TWO, plan({W1: ["a[1]", "a[2]"], W2: ["a[3]", "a[4]"]}, executors=4))
    assert diff.tasks_moved == 0


def test_a_task_that_changes_worker_in_a_new_cut_has_moved():
    """1-2 | 3-4 becomes 1 | 2 3 4: task 2 moves."""
    diff = diff_plans(TWO, plan({W1: ["a[1]"], W2: ["a[2]", "a[3]", "a[4]"]}, executors=4))
    assert diff.tasks_moved == 1


def test_swapped_workers_move_everything():
    diff = diff_plans(TWO, plan({W2: ["a[1-2]"], W1: ["a[3-4]"]}))
    assert (len(diff.moved), diff.tasks_moved, diff.workers_added) == (2, 4, ())


def test_ids_that_shift_with_the_ackers_move_nothing():
    """Storm 2.x numbers ackers first: one acker more and every id is one higher."""
    topology = Topology(
        name="t",
        operators=(
            Operator(name="a", kind=OperatorKind.SOURCE),
            Operator(name="b", tasks=2),
        ),
        streams=(Stream(source="a", target="b", grouping=Shuffle()),),
        acked=True,
    )
    before, after = (
        EvenScheduler()
        .schedule(
            PlacementRequest(
                topology,
                Configuration(executors={"b": 2}, workers=1, ackers=ackers),
                Cluster.uniform(nodes=1),
            )
        )
        .plan
        for ackers in (1, 2)
    )
    change = diff_plans(before, after)
    assert (change.moved, change.removed, change.kept) == ((), (), 4)
    assert [executor.label for executor, _ in change.added] == ["__acker[2]"]


def test_plans_of_different_topologies_are_refused():
    other = Topology(name="u", operators=(Operator(name="a", kind=OperatorKind.SOURCE, tasks=3),))
    logical = LogicalPlan.of(other, Configuration())
    plan_of_other = PhysicalPlan.explicit(logical, Cluster.uniform(nodes=3), {W1: ["a[1-3]"]})
    with pytest.raises(InvalidInput, match="plans of 't' and 'u', which differ in a"):
        diff_plans(TWO, plan_of_other)
