"""What every registered scaler keeps to."""

import pytest
from hypothesis import given, settings

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.contract import (
    Scaling,
    load_scaler,
    merge_allocations,
    scaler_names,
)
from streamgauge.planning.scaling.rates import propagate
from tests.planning.scaling.graphs import graphs
from tests.planning.scaling.published import LINEAR, TEST_MIX

every_scaler = pytest.mark.parametrize("name", scaler_names())


def test_the_published_scalers_and_the_exact_one_are_registered():
    assert {"stela", "predictive", "residual", "combined", "exact"} <= set(scaler_names())


@every_scaler
@given(graph=graphs())
@settings(max_examples=20)
def test_no_more_units_than_there_are_and_what_it_expects_is_what_flows(name, graph):
    scaling = load_scaler(name).scale(graph, 5)
    assert scaling.units <= 5
    assert all(units > 0 for units in scaling.allocation.values())
    assert scaling.expected == pytest.approx(propagate(graph, scaling.allocation).throughput)
    assert scaling.throughput == pytest.approx(propagate(graph).throughput)


@every_scaler
def test_the_same_question_has_the_same_answer(name):
    assert load_scaler(name).scale(TEST_MIX, 5) == load_scaler(name).scale(TEST_MIX, 5)


@every_scaler
def test_a_scaler_says_who_it_is_and_why(name):
    scaler = load_scaler(name)
    assert scaler.name == name == scaler.scale(LINEAR, 1).scaler
    assert scaler.describe()
    assert scaler.scale(LINEAR, 1).reasons


@every_scaler
@pytest.mark.parametrize("units", [0, -1, 10**6])
def test_units_that_cannot_be_handed_out_are_refused(name, units):
    with pytest.raises(InvalidInput, match=f"{units}; expected units to hand out"):
        load_scaler(name).scale(LINEAR, units)


def test_an_unknown_scaler_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match=r"planner 'stella'; expected one of .*did you mean"):
        load_scaler("stella")


def test_allocations_are_merged_component_by_component():
    assert merge_allocations({"A": 1, "B": 2}, {"A": 0, "B": 2}) == {"A": 1, "B": 4}


def test_a_result_names_only_who_gets_units():
    scaling = Scaling(scaler="s", allocation={"a": 1, "b": 0}, throughput=1.0, expected=3.0)
    assert scaling.allocation == {"a": 1}
    assert (scaling.increase, scaling.units) == (2.0, 1)
