"""Throughput curves: the published numbers of Caladrius, what is wrong in print, and laws."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.capacity_fit import relative_error, slope_of
from streamgauge.models.throughput_curve import (
    ComponentCurve,
    CurveGraph,
    InstanceCurve,
    is_at_risk,
)
from streamgauge.topology import Operator
from streamgauge.topology.paths import count_paths
from streamgauge.topology.topology import StreamKey
from tests.models.plans import flow_of, source, stream

IN, WORDS = StreamKey("spout", "sentences"), StreamKey("splitter", "words")
OTHER = StreamKey("other", "default")
# Plateaus of three splitters, in millions a minute.
OUTPUT, INPUT = 210.239, 27.526
ALPHA, SP = OUTPUT / INPUT, INPUT / 3


def curve(saturation, alpha, key=IN, output="words"):
    return InstanceCurve(saturation_per_second=saturation, amplification={output: {key: alpha}})


def splitters(count):
    return ComponentCurve.shuffled(curve(SP, ALPHA), [IN], count)


def emitted(component, rate, key=IN, output="words"):
    return component.emitted({key: rate})[output]


def test_alpha_of_the_published_plateaus():
    assert slope_of([INPUT], [OUTPUT]).value == pytest.approx(7.638, abs=5e-4)


@pytest.mark.parametrize(
    ("count", "input_", "output"), [(2, 18.3507, 140.159), (4, 36.7013, 280.319)]
)
def test_the_curve_of_three_scaled_to_other_parallelisms(count, input_, output):
    scaled = splitters(3).rescaled(count)
    assert 1.0 / max(scaled.utilisation({IN: 1.0})) == pytest.approx(input_, rel=1e-5)
    assert emitted(scaled, 1e6) == pytest.approx(output, rel=1e-5)


def test_one_of_three_instances():
    assert curve(SP, ALPHA).emitted({IN: 1e6})["words"] == pytest.approx(70.0797, rel=1e-5)
    assert pytest.approx(9.17533, rel=1e-5) == SP


@pytest.mark.parametrize(
    ("rate", "output"), [(10, 76.378), (18, 137.481), (20, 140.159), (40, 140.159)]
)
def test_two_splitters_follow_a_line_and_then_a_plateau(rate, output):
    assert emitted(splitters(2), rate) == pytest.approx(output, rel=1e-5)


def test_published_errors_are_relative_to_what_was_observed():
    assert relative_error(140, 136) == pytest.approx(0.0294, abs=5e-5)
    # Printed as 2.5 %, which is divided by the prediction.
    assert relative_error(280, 287) == pytest.approx(0.0244, abs=5e-5)
    assert relative_error(135, 139) == pytest.approx(0.0288, abs=5e-5)
    assert relative_error(139, 135) == pytest.approx(0.0296, abs=5e-5)
    assert relative_error(2.284, 2.399) == pytest.approx(0.0479, abs=5e-5)
    assert relative_error(4.568, 4.435) == pytest.approx(0.030, abs=5e-5)


FIELDS = ComponentCurve(instance=curve(5.0, 2.0), shares={IN: (0.5, 0.3, 0.2)})


def test_fixed_shares_saturate_one_instance_after_the_other():
    assert emitted(FIELDS, 8) == pytest.approx(16)
    assert emitted(FIELDS, 16) == pytest.approx(26)


def test_a_smaller_load_than_a_saturated_one_scales_what_was_offered():
    beta, reference = 0.5, 16
    printed = sum(
        min(beta * one.emitted({IN: share * reference})["words"], 10.0)
        for one, share in ((FIELDS.instance, part) for part in FIELDS.shares[IN])
    )
    assert printed == pytest.approx(13)
    assert emitted(FIELDS, beta * reference) == pytest.approx(16)


def test_two_inputs_share_one_budget_where_print_lets_each_saturate_on_its_own():
    alpha, saturation, arriving = 2.0, 5.0, {IN: 4.0, OTHER: 4.0}
    printed = sum(min(alpha * rate, alpha * saturation) for rate in arriving.values())
    assert printed == 16
    shared = InstanceCurve(
        saturation_per_second=saturation, amplification={"out": {IN: alpha, OTHER: alpha}}
    )
    assert shared.emitted(arriving)["out"] == pytest.approx(10)


def test_a_dearer_stream_uses_more_of_the_budget():
    instance = InstanceCurve(
        saturation_per_second=10.0, amplification={"out": {IN: 1.0}}, costs={OTHER: 3.0}
    )
    # 5 + 3·5 = 20 of 10: half of each gets through.
    assert instance.emitted({IN: 5.0, OTHER: 5.0})["out"] == pytest.approx(2.5)


def test_outputs_have_their_own_ratios_and_one_plateau_of_input():
    instance = InstanceCurve(
        saturation_per_second=10.0, amplification={"a": {IN: 2.0}, "b": {IN: 0.5}}
    )
    assert instance.emitted({IN: 20.0}) == pytest.approx({"a": 20.0, "b": 5.0})


def chain(counter_capacity):
    counter = ComponentCurve.shuffled(curve(counter_capacity, 1.0, WORDS, "out"), [WORDS], 4)
    return CurveGraph(
        curves={"splitter": splitters(2), "counter": counter},
        inputs={"splitter": (IN,), "counter": (WORDS,)},
    )


@pytest.mark.parametrize(
    ("counter", "rate", "bottleneck"), [(60.0, 18.351, "splitter"), (30.0, 15.711, "counter")]
)
def test_a_chain_saturates_where_its_first_component_does(counter, rate, bottleneck):
    found = chain(counter).headrooms({IN: 1.0})
    assert next(iter(found.items())) == (bottleneck, pytest.approx(rate, rel=1e-4))


def test_a_chain_shows_each_component():
    found = chain(30.0).flow({IN: 18.0})
    assert found["splitter"].utilisation < 1.0 < found["counter"].utilisation
    assert found["counter"].emitted["out"] == pytest.approx(120.0)
    assert found["counter"].processed[WORDS] == pytest.approx(120.0)


def test_back_pressure_holds_back_branches_that_have_room():
    slow = ComponentCurve.shuffled(curve(5.0, 1.0, IN, "out"), [IN], 1)
    fast = ComponentCurve.shuffled(curve(100.0, 1.0, IN, "out"), [IN], 1)
    graph = CurveGraph(curves={"slow": slow, "fast": fast}, inputs={"slow": (IN,), "fast": (IN,)})
    alone, held = graph.flow({IN: 10.0}), graph.held_back({IN: 10.0})
    assert [alone[name].emitted["out"] for name in ("slow", "fast")] == pytest.approx([5.0, 10.0])
    assert [held[name].emitted["out"] for name in ("slow", "fast")] == pytest.approx([5.0, 5.0])


@pytest.mark.parametrize(
    ("headroom", "risky"), [(2.0, False), (1.06, False), (1.04, True), (0.5, True)]
)
def test_risk_is_high_near_saturation_and_above_where_print_has_it_the_other_way(headroom, risky):
    assert is_at_risk(headroom) is risky


def test_two_two_and_four_instances_make_sixteen_paths():
    flow = flow_of(
        [source("spout", 2), Operator(name="splitter", tasks=2), Operator(name="counter", tasks=4)],
        [stream("spout", "splitter"), stream("splitter", "counter")],
    )
    assert sum(count_paths(flow).values()) == 16


def test_a_backlog_grows_by_what_the_source_cannot_take():
    source = curve(3.0, 1.0)
    assert 5.0 - source.emitted({IN: 5.0})["words"] == pytest.approx(2.0)


rates = st.floats(min_value=0.0, max_value=1e6)
positive = st.floats(min_value=1e-3, max_value=1e6)


@given(saturation=positive, alpha=positive, one=rates, two=rates)
def test_no_mix_of_inputs_is_processed_beyond_the_budget(saturation, alpha, one, two):
    instance = InstanceCurve(
        saturation_per_second=saturation, amplification={"out": {IN: alpha, OTHER: alpha}}
    )
    most = alpha * min(saturation, one + two)
    assert instance.emitted({IN: one, OTHER: two})["out"] == pytest.approx(most, rel=1e-9, abs=1e-9)


@given(parallelism=st.integers(1, 50), gamma=st.integers(1, 5), rate=positive)
def test_more_instances_stretch_the_curve_by_gamma(parallelism, gamma, rate):
    component = ComponentCurve.shuffled(curve(SP, ALPHA), [IN], parallelism)
    more = component.rescaled(gamma * parallelism)
    assert emitted(more, gamma * rate) == pytest.approx(gamma * emitted(component, rate))


@given(rate=positive)
def test_held_back_no_component_is_beyond_its_capacity(rate):
    flow = chain(30.0).held_back({IN: rate})
    assert all(one.utilisation <= 1.0 + 1e-9 for one in flow.values())
    assert math.isfinite(sum(one.emitted[name] for one in flow.values() for name in one.emitted))
