"""Logical plans: tasks in contiguous, even ranges, numbered as the engine numbers them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.topology import (
    ACKER,
    Configuration,
    Executor,
    Fields,
    LogicalPlan,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    TaskOrder,
    Topology,
)
from streamgauge.topology.tuple_flow import derive_shares
from tests.strategies import configurations, topologies

BY_WORD = Fields(keys=("word",))


def sources(**tasks: int) -> Topology:
    """Unconnected sources of so many tasks."""
    operators = [Operator(name=n, kind=OperatorKind.SOURCE, tasks=t) for n, t in tasks.items()]
    return Topology(name="t", operators=operators)


def labels(plan: LogicalPlan) -> list[str]:
    return [executor.label for executor in plan.executors]


@pytest.mark.parametrize(
    ("tasks", "executors", "made"),
    [
        (7, 3, ["a[1-3]", "a[4-5]", "a[6-7]"]),
        (4, 3, ["a[1-2]", "a[3]", "a[4]"]),
        (4, 2, ["a[1-2]", "a[3-4]"]),
        (3, 3, ["a[1]", "a[2]", "a[3]"]),
        (5, 1, ["a[1-5]"]),
    ],
)
def test_the_first_executors_take_the_remainder(tasks, executors, made):
    plan = LogicalPlan.of(sources(a=tasks), Configuration(executors={"a": executors}))
    assert labels(plan) == made


@given(topology=topologies(), data=st.data())
@settings(max_examples=40)
def test_every_task_is_run_once_and_executors_differ_by_at_most_one_task(topology, data):
    configuration = data.draw(configurations(topology))
    plan = LogicalPlan.of(topology, configuration)
    tasks = [task for executor in plan.executors for task in executor.tasks]
    assert tasks == list(range(1, len(tasks) + 1))
    for operator in plan.topology.operators:
        sizes = [len(executor.tasks) for executor in plan.executors_of(operator.name)]
        assert sum(sizes) == operator.tasks
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1


def test_declared_order_is_as_declared_with_ackers_last():
    topology = Topology(name="t", operators=sources(z=1, a=1).operators, acked=True)
    assert labels(LogicalPlan.of(topology, Configuration())) == ["z[1]", "a[2]", "__acker[3]"]


def test_alphabetical_order_is_that_of_java():
    """Upper case, then the underscore, then lower case; then by code unit, not code point."""
    names = ["b", "a", "B", "_x", "aa", "\uffee", "\U0001f600", "é", "1"]
    topology = Topology(
        name="t", operators=sources(**dict.fromkeys(names, 1)).operators, acked=True
    )
    arranged = TaskOrder.ALPHABETICAL.arrange(topology.with_ackers(1))
    assert arranged == ("1", "B", ACKER, "_x", "a", "aa", "b", "é", "\U0001f600", "\uffee")


def test_tasks_are_numbered_from_the_first():
    plan = LogicalPlan.of(sources(a=2, b=1), Configuration(), first_task=5)
    assert labels(plan) == ["a[5-6]", "b[7]"]


def test_a_task_is_found_in_its_executor():
    plan = LogicalPlan.of(sources(a=4, b=3), Configuration(executors={"a": 2, "b": 2}))
    assert [plan.executors[plan.index_of_task[task]].label for task in (2, 3, 6, 7)] == [
        "a[1-2]",
        "a[3-4]",
        "b[5-6]",
        "b[7]",
    ]


@given(st.builds(Executor, st.integers(0, 99), st.integers(100, 200), st.text(min_size=1)))
def test_a_label_names_its_executor(executor):
    if executor.operator.isprintable():
        assert Executor.parse(executor.label) == executor


@pytest.mark.parametrize(
    "label", ["", "a", "a[]", "a[1", "[1]", "a[1-2-3]", "a[-1]", "a[x]", "a[1] "]
)
def test_no_label_is_refused(label):
    with pytest.raises(InvalidInput, match=r"expected OPERATOR\[FIRST-LAST\]"):
        Executor.parse(label)


@pytest.mark.parametrize(
    ("executors", "seen"),
    [
        ([Executor(1, 2, "a")], "2 tasks of 'a' in executors; expected its 4"),
        ([Executor(1, 2, "a"), Executor(4, 5, "a")], "expected task 3 next"),
        ([Executor(1, 2, "a"), Executor(2, 4, "a")], "expected task 3 next"),
        ([Executor(1, 4, "a"), Executor(5, 5, "b")], "unknown operator 'b'"),
        ([Executor(3, 1, "a"), Executor(2, 5, "a")], "expected an ascending range"),
        ([], "0 tasks of 'a' in executors; expected its 4"),
    ],
)
def test_executors_that_do_not_cover_the_tasks_once_are_refused(executors, seen):
    with pytest.raises(InvalidInput, match=seen):
        LogicalPlan(topology=sources(a=4), configuration=Configuration(), executors=executors)


def test_an_operator_s_executors_stand_together():
    executors = [Executor(1, 1, "a"), Executor(2, 2, "b"), Executor(3, 3, "a")]
    with pytest.raises(InvalidInput, match="separated from the other executors of 'a'"):
        LogicalPlan(topology=sources(a=2, b=1), configuration=Configuration(), executors=executors)


def line(*names: str, **more: str) -> Topology:
    """Four tasks each in a line; `more` hangs further operators of one task on one of them."""
    operators = [Operator(name=name, tasks=4) for name in names[1:]]
    operators += [Operator(name=name) for name in more]
    ends = [*itertools.pairwise(names), *((on, name) for name, on in more.items())]
    streams = [
        Stream(
            source=source,
            target=target,
            name=f"Stream-{number}",
            grouping=Shuffle() if number in (1, 4) else BY_WORD,
        )
        for number, (source, target) in enumerate(ends, start=1)
    ]
    first = Operator(name=names[0], kind=OperatorKind.SOURCE, tasks=4)
    return Topology(name="fig", operators=(first, *operators), streams=streams)


def test_figure_4_3():
    """Storm-tracer 5.16: three executors of S, two of A, B and C, one of D."""
    topology = line("S", "A", "B", "C", D="B")
    plan = LogicalPlan.of(
        topology, Configuration(executors={"S": 3, "A": 2, "B": 2, "C": 2, "D": 1})
    )
    assert labels(plan) == [
        *("S[1-2]", "S[3]", "S[4]", "A[5-6]", "A[7-8]", "B[9-10]", "B[11-12]"),
        *("C[13-14]", "C[15-16]", "D[17]"),
    ]
    assert [one.subscription for one in topology.streams] == [
        ("S", "Stream-1", "A"),
        ("A", "Stream-2", "B"),
        ("B", "Stream-3", "C"),
        ("B", "Stream-4", "D"),
    ]


def test_in_figure_4_3_a_source_sends_half_to_each_executor_of_a():
    topology = line("S", "A", "B", "C", D="B")
    plan = LogicalPlan.of(topology, Configuration(executors={"S": 3, "A": 2, "B": 2, "C": 2}))
    assert derive_shares(plan, topology.streams[0])[0].tolist() == [0.5, 0.5]


def test_figure_4_5():
    """One executor a component."""
    plan = LogicalPlan.of(line("S", "A", "B", "C"), Configuration())
    assert labels(plan) == ["S[1-4]", "A[5-8]", "B[9-12]", "C[13-16]"]


def test_figure_4_6():
    """Two executors a component, the same tasks."""
    plan = LogicalPlan.of(
        line("S", "A", "B", "C"), Configuration(executors=dict.fromkeys("SABC", 2))
    )
    assert labels(plan) == [
        *("S[1-2]", "S[3-4]", "A[5-6]", "A[7-8]"),
        *("B[9-10]", "B[11-12]", "C[13-14]", "C[15-16]"),
    ]
