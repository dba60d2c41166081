"""What a tuple meets between two executors, by engine and distance (storm-tracer 2.3)."""

import pytest

from streamgauge.errors import InvalidInput
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
from streamgauge.transport.contract import load_transport, transport_names

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
    flow = TupleFlow.of(plan, load_transport(engine).hops)
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


@pytest.mark.parametrize("engine", transport_names())
def test_an_engine_says_what_lies_on_every_kind_of_connection(engine):
    assert set(load_transport(engine).hops) == set(ConnectionType)


def test_an_unknown_engine_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"engine 'strom-2'; expected .*did you mean 'storm-2'"):
        load_transport("strom-2")
