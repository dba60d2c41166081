"""Ackers: who tracks tuple trees, and by which streams (storm-tracer 2.2.5)."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.topology import (
    ACKER,
    Configuration,
    Direct,
    Fields,
    LogicalPlan,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    Topology,
)


def line(*, acked: bool = True) -> Topology:
    """S → A → B."""
    return Topology(
        name="line",
        operators=(Operator(name="S", kind=OperatorKind.SOURCE), *map(named, "AB")),
        streams=(
            Stream(source="S", target="A", grouping=Shuffle()),
            Stream(source="A", target="B", grouping=Shuffle()),
        ),
        acked=acked,
    )


def named(name: str) -> Operator:
    return Operator(name=name)


def test_the_acker_is_an_operator_with_its_tasks():
    acker = line().with_ackers(3).operator(ACKER)
    assert (acker.kind, acker.tasks) == (OperatorKind.ACKER, 3)


def test_sources_announce_processors_acknowledge_and_the_acker_returns():
    added = {one.subscription for one in line().with_ackers(1).streams if one.is_system}
    assert added == {
        ("S", "__ack_init", ACKER),
        ("A", "__ack_ack", ACKER),
        ("B", "__ack_ack", ACKER),
        (ACKER, "__ack_ack", "S"),
    }


def test_acks_go_by_root_and_returns_to_the_task_that_began():
    groupings = {one.target: one.grouping for one in line().with_ackers(1).streams if one.is_system}
    assert groupings == {ACKER: Fields(keys=("root",)), "S": Direct()}


def test_data_streams_stay_as_they_were():
    assert line().with_ackers(2).data_streams == line().streams


def test_ackers_make_no_cycle_and_come_last():
    acked = line().with_ackers(1)
    assert acked.cycle() is None
    assert [op.name for op in acked.topological_order()] == ["S", "A", "B", ACKER]


def test_ackers_change_neither_sources_nor_sinks():
    acked = line().with_ackers(1)
    assert [op.name for op in (*acked.sources, *acked.sinks)] == ["S", "B"]


def test_no_acker_tasks_are_no_ackers():
    assert line().with_ackers(0) == line()


def test_an_unacked_topology_has_no_ackers():
    assert line(acked=False).with_ackers(2) == line(acked=False)


def test_ackers_are_not_added_twice():
    with pytest.raises(InvalidInput, match="has '__acker' already"):
        line().with_ackers(1).with_ackers(1)


@pytest.mark.parametrize(("ackers", "made"), [(None, 4), (0, 0), (2, 2), (9, 9)])
def test_there_is_one_acker_a_worker_unless_said_otherwise(ackers, made):
    plan = LogicalPlan.of(line(), Configuration(workers=4, ackers=ackers))
    assert sum(executor.operator == ACKER for executor in plan.executors) == made
