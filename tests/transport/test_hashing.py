"""Keys land on the task they land on in Storm; values of `Arrays.deepHashCode` from Java 17."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.topology import Configuration, LogicalPlan, Operator, OperatorKind, Topology
from streamgauge.transport.hashing import deep_hash, java_hash, task_index, two_choices

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

JAVA = [
    *((["A"], 96), (["hello"], 99162353), (["Word042"], -1105414301), ([""], 31)),
    *((["straße"], -891990059), (["😀"], 1772930), (["流量计"], 28071122), (["\0"], 31)),
    *((["\U0001f469\u200d\U0001f680"], 1274359683), (["\ud800"], 55327)),
    *((["a" * 1000], 904019615), (["polygenelubricants"], -2147483617)),
    *((["AaAaAaAa"], -540425953), (["The quick brown fox jumps over the lazy dog"], -609428110)),
    *(([0], 31), ([42], 73), ([-1], 30), ([-7], 24), ([INT_MIN], -2147483617)),
    *(([INT_MAX], -2147483618), ([2**31], -2147483617), ([INT_MIN - 1], -2147483617)),
    *(([2**32], 32), ([2**40], 287), ([-(2**40)], -225)),
    *(([LONG_MIN], -2147483617), ([LONG_MAX], -2147483617)),
    *(([1.5], 1073217567), ([-1.5], -1074266081), ([0.0], 31), ([-0.0], -2147483617)),
    *(([0.1], -1507852254), ([5e-324], 32), ([1.7976931348623157e308], -2146435041)),
    *(([math.nan], 2146959391), ([-math.nan], 2146959391)),
    *(([math.inf], 2146435103), ([-math.inf], -1048545)),
    *(([True], 1262), ([False], 1268), ([None], 31), ([None, None], 961), ([], 1)),
    *((["a", 1], 3969), (["x", "y", "z"], 148984)),
    (["key", 7, True, None, 2.5, -(2**40)], 274856090),
]

# floorMod(deepHashCode([key]), n) for n = 1, 3, 7, 16, from Java 17.
TASKS = {
    "A": (0, 0, 5, 0),
    "hello": (0, 2, 3, 1),
    "Word042": (0, 1, 2, 3),
    "straße": (0, 1, 5, 5),
    "😀": (0, 2, 5, 2),
    "": (0, 1, 3, 15),
    "polygenelubricants": (0, 2, 1, 15),
}


@pytest.mark.parametrize(("values", "expected"), JAVA, ids=lambda value: ascii(value)[:30])
def test_a_key_hashes_as_in_java(values, expected):
    assert deep_hash(values) == expected


@pytest.mark.parametrize(("key", "places"), TASKS.items(), ids=ascii)
def test_a_key_goes_to_the_task_it_goes_to_in_storm(key, places):
    assert tuple(task_index([key], tasks) for tasks in (1, 3, 7, 16)) == places


@given(st.text())
def test_one_text_is_31_plus_its_hash(text):
    assert (deep_hash([text]) - java_hash(text) - 31) % 2**32 == 0


@given(st.lists(st.none() | st.text() | st.integers() | st.floats() | st.booleans()))
def test_a_hash_is_a_signed_32_bit_number(values):
    assert INT_MIN <= deep_hash(values) <= INT_MAX


@given(key=st.text(), tasks=st.integers(min_value=1, max_value=50), data=st.data())
def test_a_key_keeps_its_task_when_executors_change(key, tasks, data):
    """Storm-tracer 5.19: only the executor that hosts the task changes."""
    operator = Operator(name="count", kind=OperatorKind.SOURCE, tasks=tasks)
    topology = Topology(name="t", operators=(operator,))
    executors = data.draw(st.integers(min_value=1, max_value=tasks))
    plan = LogicalPlan.of(topology, Configuration(executors={"count": executors}))
    task = plan.tasks_of("count")[task_index([key], tasks)]
    assert task == 1 + deep_hash([key]) % tasks
    assert task in plan.executors[plan.index_of_task[task]].tasks


def test_the_hosting_executor_changes_with_the_executors():
    """ "hello" goes to place 3 of 7: task 4, in [1-4] of two executors and [4-5] of three."""
    topology = Topology(
        name="t", operators=(Operator(name="count", kind=OperatorKind.SOURCE, tasks=7),)
    )
    hosts = []
    for executors in (1, 2, 3, 7):
        plan = LogicalPlan.of(topology, Configuration(executors={"count": executors}))
        task = plan.tasks_of("count")[task_index(["hello"], 7)]
        hosts.append(plan.executors[plan.index_of_task[task]].label)
    assert hosts == ["count[1-7]", "count[1-4]", "count[4-5]", "count[4]"]


@pytest.mark.parametrize(
    ("tasks", "choices"),
    [
        (2, [(0, 1), (0, 1), (1, 0), (0, 1), (0, 1)]),
        (3, [(0, 1), (2, 0), (2, 0), (2, 1), (1, 0)]),
        (5, [(1, 2), (0, 1), (2, 3), (1, 2), (1, 2)]),
        (8, [(3, 0), (3, 2), (6, 1), (0, 5), (0, 6)]),
        (16, [(6, 1), (7, 4), (13, 3), (1, 10), (0, 13)]),
    ],
)
def test_partial_keys_choose_between_the_tasks_that_storm_chooses(tasks, choices):
    # Taken from PartialKeyGrouping of Storm 2.8.3: where the first two tuples of a key go.
    keys = ("alpha", "beta", "gamma", "key000", "ключ")
    assert [two_choices([key], tasks) for key in keys] == choices
