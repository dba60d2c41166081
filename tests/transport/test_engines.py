"""What a tuple meets between two executors, by engine and distance (storm-tracer 2.3)."""

import subprocess
import sys

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.plugins import resolve
from streamgauge.topology import (
    Cluster,
    Configuration,
    ConnectionType,
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
from streamgauge.transport.engine import Engine, engine_names, load_engine

LOCAL, INTER_LOCAL, REMOTE = ConnectionType
PAIR = Topology(
    name="pair",
    operators=(Operator(name="S", kind=OperatorKind.SOURCE), Operator(name="A")),
    streams=(Stream(source="S", target="A", grouping=Shuffle()),),
)
TARGETS = {
    LOCAL: Slot("n1", 6700),
    INTER_LOCAL: Slot("n1", 6701),
    REMOTE: Slot("n2", 6700),
}


def elements(engine: str, kind: ConnectionType) -> str:
    """The elements between S on n1:6700 and A at that distance, as ``element(owner)``."""
    logical = LogicalPlan.of(PAIR, Configuration())
    placed = [(Slot("n1", 6700), ["S[1]"]), (TARGETS[kind], ["A[2]"])]
    if kind is LOCAL:
        placed = [(Slot("n1", 6700), ["S[1]", "A[2]"])]
    plan = PhysicalPlan.explicit(logical, Cluster.uniform(nodes=2, slots=2), placed)
    flow = TupleFlow.of(plan, load_engine(engine).hops)
    (connection,) = flow.connections()
    assert connection.type is kind
    return " ".join(f"{hop.element}({hop.owner})" for hop in flow.elements(connection))


@pytest.mark.parametrize(
    ("kind", "met"),
    [
        (LOCAL, "send(S[1]) queue(A[2])"),
        (INTER_LOCAL, "send(S[1]) transfer(n1:6700) receive(n1:6701) queue(A[2])"),
        (
            REMOTE,
            "send(S[1]) transfer(n1:6700) network(n1 → n2) receive(n2:6700) queue(A[2])",
        ),
    ],
)
def test_storm_1_has_a_send_thread_an_executor(kind, met):
    assert elements("storm-1", kind) == met


@pytest.mark.parametrize(
    ("kind", "met"),
    [
        (LOCAL, "queue(A[2])"),
        (INTER_LOCAL, "transfer(n1:6700) receive(n1:6701) queue(A[2])"),
        (REMOTE, "transfer(n1:6700) network(n1 → n2) receive(n2:6700) queue(A[2])"),
    ],
)
def test_storm_2_has_no_send_thread(kind, met):
    assert elements("storm-2", kind) == met


@pytest.mark.parametrize("engine", engine_names())
def test_an_engine_says_what_lies_on_every_kind_of_connection(engine):
    assert set(load_engine(engine).hops) == set(ConnectionType)


def test_an_unknown_engine_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"engine 'strom-2'; expected .*did you mean 'storm-2'"):
        load_engine("strom-2")


PARTS = ("transport", "delays", "chaining", "rebalance", "apply", "busy_waits")
BY_NAME = ("runners", "collectors", "commands")


@pytest.mark.parametrize("name", engine_names())
def test_every_part_that_a_record_names_exists(name):
    engine = load_engine(name)
    assert engine.name == name
    assert all(engine.load(part) is not None for part in PARTS if getattr(engine, part))
    assert all(resolve(one) for part in BY_NAME for one in getattr(engine, part).values())


def test_a_part_that_an_engine_does_not_have_is_none():
    bare = Engine(name="bare", transport="streamgauge.transport.storm2:TRANSPORT")
    assert bare.load("delays") is None
    assert bare.rebalance_command("job", executors={"a": 2}) == ()
    assert bare.apply_command("plan.yaml") == ()


def test_records_are_read_without_what_they_name():
    code = (
        "import sys; from streamgauge.transport.engine import Engine, engine_names, load_engine;"
        "[load_engine(name) for name in engine_names()];"
        "sys.exit('numpy' in sys.modules or 'streamgauge.models' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
