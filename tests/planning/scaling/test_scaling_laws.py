"""Laws of rates and scalers on any graph."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.planning.scaling.combined import CombinedScaler
from streamgauge.planning.scaling.exact import ExactScaler
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.predictive import PredictiveScaler
from streamgauge.planning.scaling.rates import FlowModel, find_congested, propagate
from streamgauge.planning.scaling.residual import ResidualScaler
from streamgauge.planning.scaling.stela import StelaScaler
from tests.planning.scaling.graphs import graphs

UNITS = st.integers(min_value=1, max_value=12)


@given(graph=graphs())
def test_what_arrives_is_processed_or_dropped(graph: ScalingGraph):
    rates = propagate(graph)
    for name, one in rates.components.items():
        assert one.processed + one.dropped == pytest.approx(one.input)
        assert 0.0 <= one.processed <= one.capacity
        if not graph.by_name[name].source:
            sent = (rates[edge.source].output * edge.share for edge in graph.parents[name])
            assert one.input == pytest.approx(sum(sent))


@given(graph=graphs(), data=st.data())
def test_more_units_never_lower_any_rate(graph: ScalingGraph, data):
    """As no law falls and no share is negative; with back-pressure it would not hold."""
    names = st.sampled_from([one.name for one in graph.components])
    more = data.draw(st.dictionaries(names, st.integers(0, 5)))
    before, after = propagate(graph), propagate(graph, more)
    assert after.throughput >= before.throughput
    assert all(after[name].output >= one.output for name, one in before.components.items())


@given(graph=graphs(), units=UNITS)
def test_stela_and_residual_use_all_units_and_lose_nothing(graph: ScalingGraph, units: int):
    for scaler in (StelaScaler(), ResidualScaler()):
        scaling = scaler.scale(graph, units)
        assert scaling.units == units
        assert scaling.increase >= 0.0


@given(graph=graphs(), units=UNITS)
def test_combined_expects_no_less_than_stela_or_residual(graph: ScalingGraph, units: int):
    combined = CombinedScaler().scale(graph, units).expected
    for scaler in (StelaScaler(), ResidualScaler()):
        assert combined >= scaler.scale(graph, units).expected * (1.0 - 1e-9)


@given(graph=graphs(), units=UNITS)
@settings(max_examples=40)
def test_exact_expects_no_less_than_any_other(graph: ScalingGraph, units: int):
    best = ExactScaler().scale(graph, units)
    for scaler in (StelaScaler(), PredictiveScaler(), ResidualScaler(), CombinedScaler()):
        assert best.expected >= scaler.scale(graph, units).expected * (1.0 - 1e-9)
        assert best.bound >= scaler.scale(graph, units).expected * (1.0 - 1e-9)


@given(graph=graphs(), units=UNITS)
def test_residual_expects_no_less_than_the_packages_it_begins_with(graph, units: int):
    scaling = ResidualScaler().scale(graph, units)
    assert scaling.expected >= scaling.considered[0].expected * (1.0 - 1e-9)


def below_the_chosen(scaler: PredictiveScaler, graph: ScalingGraph, units: int) -> set[str]:
    """Congested components below the heads of the packages that were taken."""
    model = FlowModel(graph)
    choice = scaler.choose(model, model.flow(), units)
    below = {name for one in choice.chosen for name in graph.descendants[one.head]}
    return below.intersection(find_congested(graph, choice.allocation))


@given(graph=graphs(tree=True), units=UNITS)
def test_in_trees_nothing_below_a_package_is_congested(graph: ScalingGraph, units: int):
    assert not below_the_chosen(PredictiveScaler(), graph, units)


@given(graph=graphs(), units=UNITS)
def test_with_a_second_look_nothing_below_a_package_is_congested_anywhere(graph, units: int):
    assert not below_the_chosen(PredictiveScaler(recheck=True), graph, units)
