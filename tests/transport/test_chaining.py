"""Chains: operators of one thread, as one operator and told apart again."""

from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology import (
    Cluster,
    Configuration,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Stream,
    Topology,
)
from streamgauge.topology.configuration import Resources
from streamgauge.topology.topology import ACKER, StreamKey, Window
from streamgauge.transport import chaining as chains
from streamgauge.transport.chaining import Chaining, chain_members, find_chaining
from streamgauge.transport.engine import Engine


def topology(**changes):
    """S → A → B → C, with four tasks of A and of B."""
    return Topology(
        name="line",
        operators=(
            Operator(name="S", kind=OperatorKind.SOURCE),
            Operator(name="A", tasks=4),
            Operator(name="B", tasks=4),
            Operator(name="C"),
        ),
        streams=tuple(
            Stream(source=ends[0], target=ends[1], grouping=Shuffle())
            for ends in ("SA", "AB", "BC")
        ),
        **changes,
    )


LINE = topology()
CONFIGURATION = Configuration(executors={"A": 2, "B": 2}, workers=2)


def chained(whole=None, configuration=CONFIGURATION):
    return Chaining(topology=whole or LINE, configuration=configuration, chains={"A+B": ("A", "B")})


def place(one: Chaining) -> PhysicalPlan:
    cluster = Cluster.uniform(nodes=2)
    scheduler = EvenScheduler.for_engine("storm-2")
    return scheduler.schedule(
        PlacementRequest(one.chained_topology, one.chained_configuration, cluster)
    ).plan


def test_a_chain_has_the_streams_that_leave_it():
    assert [one.subscription for one in chained().chained_topology.streams] == [
        ("S", "default", "A+B"),
        ("A+B", "default", "C"),
    ]
    assert chained().is_inner(StreamKey("A", "default"))
    assert not chained().is_inner(StreamKey("B", "default"))


def test_a_chain_acknowledges_once():
    acked = chained(topology(acked=True).with_ackers(1)).chained_topology
    into = sorted(one.source for one in acked.streams_into(ACKER))
    assert into == ["A+B", "C", "S"]


def test_what_executors_of_a_chain_need_is_added_up():
    needs = {"A": Resources(cpu_cores=0.5, memory_bytes=100), "B": Resources(cpu_cores=0.25)}
    one = chained(configuration=replace(CONFIGURATION, resources=needs))
    assert one.chained_configuration.resources == {
        "A+B": Resources(cpu_cores=0.75, memory_bytes=100)
    }


def test_a_plan_of_chains_is_split_and_chained_again():
    one = chained()
    plan = place(one)
    own = one.split_plan(plan)
    assert own.logical.configuration == CONFIGURATION
    assert len(own.logical.executors) == len(plan.logical.executors) + 2
    again = replace(one, topology=own.logical.topology).chain_plan(own)
    assert [plan.workers[n] for n in plan.placement] == [own.workers[n] for n in again.placement]


def test_a_plan_with_a_chain_apart_is_refused():
    logical = LogicalPlan.of(LINE, CONFIGURATION)
    cluster = Cluster.uniform(nodes=2)
    apart = PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0, 0, 1, 1, 1, 1])
    with pytest.raises(InvalidInput, match=r"A\[2-3\] and B\[6-7\] in different workers"):
        chained().chain_plan(apart)


@pytest.mark.parametrize(
    ("chain", "configuration", "window"),
    [
        (("S", "A"), CONFIGURATION, None),
        (("B", "C"), CONFIGURATION, None),
        (("A", "C"), CONFIGURATION, None),
        (("A", "B"), Configuration(executors={"A": 2}), None),
        (("A", "B"), CONFIGURATION, Window(length_tuples=2)),
    ],
)
def test_what_cannot_be_one_operator_is_refused(monkeypatch, chain, configuration, window):
    engine = Engine(name="bad", transport="", chaining="bad:chains")
    monkeypatch.setattr(Engine, "load", lambda self, part: lambda *given: [chain])
    monkeypatch.setattr(chains, "load_engine", lambda name: engine)
    whole = topology()
    operators = [
        replace(one, window=window if one.name == "B" else None) for one in whole.operators
    ]
    with pytest.raises(InvalidInput, match=f"chains {chain[0]} and {chain[1]}"):
        find_chaining(replace(LINE, operators=tuple(operators)), configuration)


def test_an_engine_that_makes_no_chains_has_none():
    assert find_chaining(LINE, CONFIGURATION) is None


def test_work_is_divided_by_calls_and_times():
    first, second = chain_members(("A", "B"), calls=[1, 0.5], cpu=[1, 4], wait=[1, 0])
    assert (first.share, second.share) == (0.5, 0.5)
    assert (first.cpu_share, second.cpu_share) == pytest.approx((1 / 3, 2 / 3))
    assert (first.next_calls, second.next_calls) == (0.5, None)
    assert (first.is_first, second.is_first) == (True, False)


def test_no_work_is_divided_evenly():
    members = chain_members(("A", "B"), calls=[1, 1], cpu=[0, 0], wait=[0, 0])
    assert [one.share for one in members] == [0.5, 0.5]
