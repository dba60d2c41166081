"""Behaviours of chains: times and counts of operators that run in one thread, added up."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import (
    Behaviour,
    Costs,
    InputBehaviour,
    JoinOnKey,
    Service,
)
from streamgauge.profile.distribution import Constant, Exponential, Fixed, PoissonCount
from streamgauge.simulation.chained import chain_behaviours, find_members
from streamgauge.topology import (
    Configuration,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    Topology,
)
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.chaining import Chaining

LINE = Topology(
    name="line",
    operators=(
        Operator(name="S", kind=OperatorKind.SOURCE),
        *(Operator(name=name) for name in "ABCD"),
    ),
    streams=tuple(
        Stream(source=ends[0], target=ends[1], grouping=Shuffle())
        for ends in ("SA", "AB", "BC", "CD")
    ),
)
CHAINING = Chaining(topology=LINE, configuration=Configuration(), chains={"A+B+C": ("A", "B", "C")})


def takes(mean_ms, count=None, **more):
    outputs = {} if count is None else {"default": count}
    return Behaviour(service=Service(cpu_ms=Exponential(mean=mean_ms)), outputs=outputs, **more)


def chain_of(*members, **others):
    behaviours = dict(zip("ABC", members, strict=True)) | others
    return chain_behaviours(CHAINING, behaviours)["A+B+C"]


def test_times_of_operators_that_pass_every_tuple_on_are_added():
    one = Fixed(mean=1)
    chain = chain_of(takes(1, one), takes(2, one), takes(3, one))
    assert chain.service.cpu_ms.mean == pytest.approx(6)
    assert chain.service.cpu_ms.variance == pytest.approx(1 + 4 + 9)
    assert chain.outputs == {"default": one}


def test_a_random_number_of_outputs_adds_to_the_spread():
    chain = chain_of(takes(1, PoissonCount(mean=2)), takes(3, Fixed(mean=1)), Behaviour())
    assert chain.service.cpu_ms.mean == pytest.approx(1 + 2 * 3)
    # Of a Poisson number of times: the mean number times their mean square, 2 · (3² + 3²).
    assert chain.service.cpu_ms.variance == pytest.approx(1 + 2 * 18)


def test_an_operator_that_takes_no_time_leaves_the_shape_as_it_is():
    chain = chain_of(
        takes(1, Fixed(mean=1)), Behaviour(outputs={"default": Fixed(mean=1)}), Behaviour()
    )
    assert chain.service == Service(cpu_ms=Exponential(mean=1))


def test_times_off_the_cores_are_added_apart():
    waits = Behaviour(
        service=Service(wait_ms=Constant(value=5)), outputs={"default": Fixed(mean=1)}
    )
    chain = chain_of(waits, waits, takes(1))
    assert chain.service.wait_ms == Constant(value=10)
    assert chain.service.cpu_ms == Exponential(mean=1)


def test_what_differs_by_input_stream_differs_for_the_chain():
    key = StreamKey("S", "default")
    rare = InputBehaviour(
        service=Service(cpu_ms=Constant(value=9)), outputs={"default": Fixed(mean=0)}
    )
    chain = chain_of(takes(1, Fixed(mean=1), inputs={key: rare}), takes(2, Fixed(mean=1)), takes(3))
    assert chain.service_of(key).cpu_ms == Constant(value=9)
    assert chain.service.cpu_ms.mean == pytest.approx(6)


def test_operators_behind_a_chain_know_its_stream_by_the_name_of_the_chain():
    special = InputBehaviour(service=Service(cpu_ms=Constant(value=7)))
    after = Behaviour(inputs={StreamKey("C", "default"): special})
    chained = chain_behaviours(CHAINING, {"D": after})
    assert chained["D"].inputs == {StreamKey("A+B+C", "default"): special}


def test_a_chain_turns_bytes_into_tuples_at_its_head_and_back_at_its_end():
    costs = Costs(serialise_ms=1, deserialise_ms=2)
    chain = chain_of(
        takes(1, Fixed(mean=1), costs=costs),
        takes(1, Fixed(mean=1)),
        takes(1, costs=Costs(serialise_ms=3)),
    )
    assert chain.costs == Costs(serialise_ms=3, deserialise_ms=2)


def test_a_join_in_a_chain_is_refused():
    joins = takes(1, Fixed(mean=1), join=JoinOnKey(within_seconds=1))
    with pytest.raises(InvalidInput, match=r"behaviours\.A\.join: a join in a chain"):
        chain_of(joins, takes(1), takes(1))


def test_later_operators_are_called_as_often_as_earlier_ones_emit():
    behaviours = {"A": takes(2, Fixed(mean=0.5)), "B": takes(4, Fixed(mean=3)), "C": takes(1)}
    members = find_members(CHAINING, behaviours)["A+B+C"]
    assert [one.calls for one in members] == [1, 0.5, 1.5]
    # 2 ms, 0.5 · 4 ms and 1.5 · 1 ms for each tuple.
    assert [one.share for one in members] == pytest.approx([2 / 5.5, 2 / 5.5, 1.5 / 5.5])
