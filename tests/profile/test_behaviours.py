"""Behaviours: what an operator does, checked against the topology it belongs to."""

import re

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import (
    Behaviour,
    Costs,
    InputBehaviour,
    JoinByParity,
    JoinOnKey,
    Service,
    WindowFunction,
    check_behaviours,
)
from streamgauge.profile.distribution import Constant, Exponential, Fixed, Gamma, PoissonCount
from streamgauge.profile.keys import UniformKeys
from streamgauge.topology import (
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
    Window,
)

TOPOLOGY = Topology(
    name="words",
    operators=(
        Operator(name="lines", kind=OperatorKind.SOURCE),
        Operator(name="split", tasks=2),
        Operator(name="count", window=Window(length_tuples=10)),
    ),
    streams=(
        Stream(source="lines", target="split", grouping=Shuffle()),
        Stream(source="split", target="count", name="words", grouping=Shuffle()),
    ),
)
ONE = Fixed(mean=1)
LINES = StreamKey("lines", "default")


def test_a_service_time_is_cpu_and_waiting():
    """2 ± 2² and 3 ± 0: mean 5, variance 4."""
    service = Service(cpu_ms=Exponential(mean=2), wait_ms=Constant(value=3))
    assert (service.mean_ms, service.scv) == (5.0, 4 / 25)


def test_variances_of_independent_parts_add():
    """Gammas of variance 2 and 3."""
    service = Service(cpu_ms=Gamma(mean=2, scv=0.5), wait_ms=Gamma(mean=3, scv=1 / 3))
    assert service.scv == pytest.approx(5 / 25)


def test_no_service_time_has_no_variability():
    assert (Service().mean_ms, Service().scv) == (0.0, 0.0)


def test_what_differs_by_input_takes_the_place_of_the_rest():
    special = InputBehaviour(service=Service(cpu_ms=Constant(value=9)))
    behaviour = Behaviour(outputs={"words": ONE}, inputs={LINES: special})
    assert behaviour.service_of(LINES).mean_ms == 9
    assert behaviour.outputs_of(LINES) == {"words": ONE}
    assert behaviour.service_of(StreamKey("other", "x")) == Service()


def test_an_input_may_give_no_outputs_at_all():
    behaviour = Behaviour(outputs={"words": ONE}, inputs={LINES: InputBehaviour(outputs={})})
    assert behaviour.outputs_of(LINES) == {}


def test_emitted_streams_are_those_of_all_figures():
    behaviour = Behaviour(
        outputs={"a": ONE},
        inputs={LINES: InputBehaviour(outputs={"b": ONE})},
        window=WindowFunction(outputs={"c": ONE}),
        join=JoinByParity(equal="d", different="e"),
    )
    assert behaviour.emitted_streams() == set("abcde")


def test_behaviours_that_fit_are_taken():
    check_behaviours(
        TOPOLOGY,
        {
            "lines": Behaviour(bytes={"default": Constant(value=80)}),
            "split": Behaviour(
                outputs={"words": ONE},
                keys={"words": UniformKeys(count=5)},
                relative_service=(1, 2),
            ),
            "count": Behaviour(window=WindowFunction()),
        },
    )


@pytest.mark.parametrize(
    ("name", "behaviour", "seen"),
    [
        ("spilt", Behaviour(), "operator 'spilt'.*did you mean 'split'"),
        ("split", Behaviour(outputs={"word": ONE}), "split.outputs.word.*did you mean 'words'"),
        ("split", Behaviour(keys={"x": UniformKeys(count=1)}), "split.keys.x: stream 'x'"),
        ("split", Behaviour(bytes={"x": Constant(value=1)}), "split.bytes.x: stream 'x'"),
        (
            "split",
            Behaviour(inputs={StreamKey("lines", "x"): InputBehaviour()}),
            "split.inputs.lines.x: input stream lines/x",
        ),
        (
            "split",
            Behaviour(relative_service=(1.0,)),
            "split.relative_service: 1 tasks; expected 2",
        ),
        ("split", Behaviour(window=WindowFunction()), "split.window: a window function"),
        ("count", Behaviour(), "count.window: no window function; .* a window of 10 tuples"),
        ("lines", Behaviour(outputs={"default": ONE}), "lines.outputs: outputs of a source"),
    ],
)
def test_behaviours_that_do_not_fit_are_refused(name, behaviour, seen):
    with pytest.raises(InvalidInput, match=seen):
        check_behaviours(TOPOLOGY, {name: behaviour})


def test_an_acker_s_costs_may_be_said_of_an_acked_topology():
    acked = Topology(name="t", operators=TOPOLOGY.operators, streams=TOPOLOGY.streams, acked=True)
    check_behaviours(acked, {"__acker": Behaviour(costs=Costs(ack_ms=0.01))})


def test_an_acker_s_costs_may_not_be_said_of_another():
    with pytest.raises(InvalidInput, match="operator '__acker'"):
        check_behaviours(TOPOLOGY, {"__acker": Behaviour()})


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: JoinOnKey(within_seconds=0), "within_seconds: 0"),
        (
            lambda: Behaviour(join=JoinByParity(equal="a", different="b")),
            "join: a join by parity without a window function",
        ),
        (lambda: Behaviour(relative_service=(1.0, 0.0)), "relative_service[1]: 0.0"),
        (lambda: Behaviour(relative_service=(1.0, -1.0)), "relative_service[1]: -1.0"),
        (lambda: Costs(ack_ms=-1), "ack_ms: -1"),
        (lambda: Costs(serialise_ms_per_byte=float("nan")), "serialise_ms_per_byte: nan"),
        (lambda: WindowFunction(per_tuple_ms=-1), "per_tuple_ms: -1"),
        (
            lambda: Behaviour(exclusive=True, outputs={"a": Fixed(mean=0.6), "b": Fixed(mean=0.5)}),
            "outputs: exclusive outputs that sum to 1.1",
        ),
        (
            lambda: Behaviour(exclusive=True, outputs={"a": PoissonCount(mean=0.5)}),
            "outputs: exclusive outputs that sum to 0.5",
        ),
        (
            lambda: Behaviour(
                exclusive=True, inputs={LINES: InputBehaviour(outputs={"a": Fixed(mean=2)})}
            ),
            "inputs.lines.default.outputs: exclusive outputs that sum to 2",
        ),
    ],
)
def test_a_behaviour_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=re.escape(seen)):
        make()


def test_exclusive_outputs_are_probabilities():
    thirds = {name: Fixed(mean=1 / 3) for name in "abc"}
    assert Behaviour(exclusive=True, outputs=thirds).exclusive
