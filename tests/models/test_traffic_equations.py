"""Rates of tuples and acknowledgements on any graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import CyclicTopology, InvalidInput
from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.traffic_equations import Conversion, find_conversion, source_rates
from streamgauge.profile.figures import Figure, InputFigures, OutputFigures, TaskId, TaskProfile
from streamgauge.profile.profile import Profile
from streamgauge.topology import Configuration, Operator, Topology
from streamgauge.topology.grouping import All, Fields, Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import ACKER, StreamKey, Window
from streamgauge.topology.workload import Emission, Unlimited, Workload
from streamgauge.transport.mechanics import PLAIN
from tests.models.plans import flow_of, per_input, rates_of, source, stream, timed, traffic_of


def test_outputs_are_the_dot_product_of_coefficients_and_inputs():
    """Worked example after eq. 4.9: [1, 2, 3]·[12, 26, 35] = 169."""
    flow = flow_of(
        (source("s"), Operator(name="d"), Operator(name="e")),
        (*(stream("s", "d", f"s{n}") for n in (1, 2, 3)), stream("d", "e", "s4")),
    )
    conversion = per_input({("s", f"s{n}", "s4"): float(n) for n in (1, 2, 3)})
    rates = rates_of(
        flow,
        {("s", "s1"): 12, ("s", "s2"): 26, ("s", "s3"): 35},
        {"d": conversion, "e": per_input({})},
    )
    assert rates.emitted[StreamKey("d", "s4")] == pytest.approx([169])
    assert rates.into(flow, "e") == pytest.approx([169])
    assert rates.into(flow, "d") == pytest.approx([73])


def test_ways_of_different_lengths_meet():
    """Breadth first would send on c before all its input has come."""
    flow = flow_of(
        (source("s"), *(Operator(name=name) for name in "abcd")),
        (
            stream("s", "a"),
            stream("s", "c"),
            stream("a", "b"),
            stream("b", "c"),
            stream("c", "d"),
        ),
    )
    one = {
        name: per_input({(first, "default", "default"): 2.0})
        for first, name in (("s", "a"), ("a", "b"))
    }
    c = per_input({("s", "default", "default"): 1.0, ("b", "default", "default"): 0.5})
    rates = rates_of(flow, {("s", "default"): 10}, {**one, "c": c, "d": per_input({})})
    assert rates.into(flow, "c") == pytest.approx([50])
    assert rates.into(flow, "d") == pytest.approx([10 + 20])


def test_a_feedback_loop_is_a_geometric_sum():
    """Of what a emits a quarter comes back: 100 / (1 − 0.25)."""
    flow = flow_of(
        (source("s"), Operator(name="a", tasks=2), Operator(name="b")),
        (stream("s", "a"), stream("a", "b", "out"), stream("a", "a", "again")),
    )
    a = per_input(
        {
            ("s", "default", "out"): 1.0,
            ("s", "default", "again"): 0.25,
            ("a", "again", "out"): 1.0,
            ("a", "again", "again"): 0.25,
        }
    )
    rates = rates_of(flow, {("s", "default"): 100}, {"a": a, "b": per_input({})})
    assert rates.into(flow, "a") == pytest.approx([200 / 3, 200 / 3])
    assert rates.into(flow, "b") == pytest.approx([400 / 3])


@pytest.mark.parametrize("share", [1.0, 1.5])
def test_tuples_that_do_not_die_out_are_refused(share):
    flow = flow_of((source("s"), Operator(name="a")), (stream("s", "a"), stream("a", "a", "again")))
    a = per_input({("s", "default", "again"): share, ("a", "again", "again"): share})
    with pytest.raises(CyclicTopology, match="do not die out"):
        rates_of(flow, {("s", "default"): 1}, {"a": a})


def test_windows_fire_by_count_and_by_the_clock():
    """60 a second into three tasks: every 5 tuples, and every 2 s and task."""
    count = Window(length_tuples=10, slide_tuples=5)
    time = Window(length_seconds=4.0, slide_seconds=2.0)
    flow = flow_of(
        (
            source("s"),
            Operator(name="c", tasks=3, window=count),
            Operator(name="t", tasks=3, window=time),
            Operator(name="x"),
        ),
        (stream("s", "c"), stream("s", "t"), stream("c", "x"), stream("t", "x")),
        executors={"c": 2, "t": 2},
    )
    parts = (np.full(2, 0.5), np.ones(1))
    fired = Conversion(per_input={}, per_trigger={"default": 3.0}, task_parts=parts)
    conversions = {"c": fired, "t": fired, "x": per_input({})}
    rates = rates_of(flow, {("s", "default"): 60}, conversions)
    assert rates.triggers["c"] == pytest.approx([8, 4])
    assert rates.triggers["t"] == pytest.approx([1, 0.5])
    assert rates.into(flow, "x") == pytest.approx([3 * 13.5])
    job = flow.plan.logical.topology
    traffic = traffic_of(flow, rates, conversions)
    assert traffic.window_tuples(job.operator("c")) == pytest.approx([10, 10])
    assert traffic.window_tuples(job.operator("t")) == pytest.approx([80, 80])
    roots = roots_per_tuple(traffic)
    assert roots[StreamKey("c", "default")] == pytest.approx(10)
    assert roots[StreamKey("t", "default")] == pytest.approx(80)


def test_a_copy_for_everyone():
    flow = flow_of((source("s"), Operator(name="a", tasks=3)), (stream("s", "a", grouping=All()),))
    rates = rates_of(flow, {("s", "default"): 7}, {"a": per_input({})})
    assert rates.into(flow, "a") == pytest.approx([7, 7, 7])


def thesis_plan():
    """Worked example 5.6 and 5.11 of the thesis: two workers, two ackers, rates per ms."""
    flow = flow_of(
        (source("S", 4), Operator(name="A", tasks=6), Operator(name="B", tasks=6)),
        (stream("S", "A"), stream("A", "B")),
        executors={"S": 2, "A": 3, "B": 3},
        acked=True,
        ackers=2,
        workers=2,
    )
    conversions = {
        "A": per_input({("S", "default", "default"): 1.0}),
        "B": per_input({}),
    }
    rates = rates_of(flow, {("S", "default"): 0.2}, conversions)
    traffic = traffic_of(flow, rates, conversions)
    acked = with_acks(traffic, roots_per_tuple(traffic))
    return acked.flow, acked.rates


def test_acknowledgements_of_the_thesis_example():
    """Total output: S 0.2, A 0.13333, B 0.06667, acker 0.1 for each executor."""
    flow, rates = thesis_plan()
    for name, total in {"S": 0.2, "A": 0.4 / 3, "B": 0.2 / 3, ACKER: 0.1}.items():
        assert rates.out_of(flow, name) == pytest.approx(
            [total] * len(flow.plan.logical.spans[name])
        )
    assert rates.into(flow, ACKER) == pytest.approx([0.3, 0.3])
    assert rates.into(flow, "S") == pytest.approx([0.1, 0.1])


def test_answers_go_to_where_roots_began():
    flow, rates = thesis_plan()
    shares = next(b.shares for b in flow.blocks if b.stream.source == ACKER)
    assert shares == pytest.approx(np.full((2, 2), 0.5))
    back = rates.emitted[StreamKey(ACKER, "__ack_ack")] @ shares
    assert back == pytest.approx(rates.into(flow, "S"))


def test_a_source_without_a_rate_is_refused():
    flow = flow_of((source("s"), Operator(name="a")), (stream("s", "a"),))
    workload = Workload(emissions=[Emission(source="s", shape=Unlimited())])
    with pytest.raises(InvalidInput, match="as fast as it can"):
        source_rates(flow.plan.logical, workload)


def test_a_rate_for_a_source_that_does_not_exist_is_refused():
    flow = flow_of((source("s"), Operator(name="a")), (stream("s", "a"),))
    with pytest.raises(InvalidInput, match="'z'"):
        source_rates(flow.plan.logical, Workload(emissions=[Emission(source="z", per_second=1)]))


def measured(coefficients, parts, grouping):
    """Tasks of a, their tuples out per tuple in, and their parts of the input."""
    job = Topology(
        name="t",
        operators=(source("s"), Operator(name="a", tasks=4), Operator(name="b")),
        streams=(stream("s", "a", grouping=grouping), stream("a", "b")),
    )
    key = StreamKey("s", "default")
    tasks = {
        TaskId("a", place): TaskProfile(
            inputs={key: InputFigures(share=Figure(value=parts[place]))},
            outputs={"default": OutputFigures(coefficients={key: Figure(value=beta)})},
        )
        for place, beta in coefficients.items()
    }
    return job, timed(Profile(topology=job, configuration=Configuration(), tasks=tasks))


def test_coefficients_after_shuffle_are_the_mean_of_the_tasks():
    job, behaviour = measured({0: 1.0, 1: 2.0}, {0: 0.5, 1: 0.5}, Shuffle())
    logical = LogicalPlan.of(job, Configuration(executors={"a": 3}))
    found = find_conversion(logical, "a", behaviour, PLAIN)
    assert found.per_input[StreamKey("s", "default"), "default"] == pytest.approx([1.5] * 3)


def test_coefficients_after_fields_are_weighted_by_input():
    """Eq. 4.11: tasks 0 and 1 have parts 0.6 and 0.2, tasks 2 and 3 nothing but 0.2."""
    parts = {0: 0.6, 1: 0.2, 2: 0.0, 3: 0.2}
    job, behaviour = measured({0: 1.0, 1: 2.0, 2: 5.0, 3: 3.0}, parts, Fields(keys=("k",)))
    logical = LogicalPlan.of(job, Configuration(executors={"a": 2}))
    found = find_conversion(logical, "a", behaviour, PLAIN)
    expected = [(0.6 * 1 + 0.2 * 2) / 0.8, 3.0]
    assert found.per_input[StreamKey("s", "default"), "default"] == pytest.approx(expected)


@settings(max_examples=60)
@given(st.data())
def test_flow_is_conserved_on_random_graphs(data):
    """Whatever is emitted arrives, once for every subscriber."""
    count = data.draw(st.integers(2, 6))
    names = [f"o{n}" for n in range(count)]
    operators = [source(names[0], data.draw(st.integers(1, 3)))]
    operators += [Operator(name=name, tasks=data.draw(st.integers(1, 5))) for name in names[1:]]
    edges = {(data.draw(st.integers(0, other - 1)), other) for other in range(1, count)} | set(
        data.draw(
            st.lists(
                st.tuples(st.integers(0, count - 2), st.integers(1, count - 1)).filter(
                    lambda pair: pair[0] < pair[1]
                ),
                max_size=5,
            )
        )
    )
    streams = [stream(names[a], names[b], f"to-{b}") for a, b in sorted(edges)]
    flow = flow_of(
        tuple(operators),
        tuple(streams),
        executors={one.name: data.draw(st.integers(1, one.tasks)) for one in operators},
    )
    conversions = {}
    for name in names[1:]:
        into = [one for one in streams if one.target == name]
        out = [one for one in streams if one.source == name]
        conversions[name] = per_input(
            {(*a.key, b.name): data.draw(st.floats(0.0, 3.0)) for a in into for b in out}
        )
    roots = {
        (names[0], one.name): data.draw(st.floats(0.0, 100.0))
        for one in streams
        if one.source == names[0]
    }
    rates = rates_of(flow, roots, conversions)
    for one in streams:
        sent = rates.emitted[one.key].sum()
        assert rates.arrived[one.subscription].sum() == pytest.approx(sent)
        if one.source != names[0]:
            conversion = conversions[one.source].per_input
            expected = sum(
                float(conversion[other.key, one.name]) * rates.arrived[other.subscription].sum()
                for other in streams
                if other.target == one.source
            )
            assert sent == pytest.approx(expected)
