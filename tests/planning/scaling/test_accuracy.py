"""What was measured against what was estimated, with a band of ten per cent."""

import math

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.measured import Compared, accuracy_of

GRAPH = ScalingGraph(
    name="line",
    components=(
        Component(name="s", units=1, law=LinearLaw(per_unit=100), source=True),
        Component(name="a", units=1, law=LinearLaw(per_unit=60), out_per_in=2),
        Component(name="b", units=1, law=LinearLaw(per_unit=500), out_per_in=0.5),
    ),
    edges=(Edge(source="s", target="a", share=1), Edge(source="a", target="b", share=1)),
)


def test_an_error_is_a_part_of_what_was_measured():
    assert Compared(measured=80, estimated=100).relative_error == pytest.approx(0.25)
    assert Compared(measured=100, estimated=80).relative_error == pytest.approx(-0.2)
    assert Compared(measured=0, estimated=0).relative_error == 0
    assert Compared(measured=0, estimated=1).relative_error == math.inf


def test_estimates_beyond_the_band_are_named_the_worst_first():
    # The graph says 100, 60 and 120.
    found = accuracy_of(GRAPH, {"s": 100, "a": 50, "b": 100})
    assert found.components["b"] == Compared(measured=100, estimated=120)
    assert found.share_within == pytest.approx(1 / 3)
    assert accuracy_of(GRAPH, {"a": 50, "b": 60}).outside == ("b", "a")
    assert accuracy_of(GRAPH, {"s": 100, "a": 55, "b": 110}).outside == ()


def test_the_band_can_be_chosen():
    measured = {"s": 100, "a": 50, "b": 100}
    assert accuracy_of(GRAPH, measured, band=0.2).outside == ()
    assert accuracy_of(GRAPH, {"a": 30, "b": 100}, band=0.05).outside == ("a", "b")


def test_throughput_is_what_the_leaves_emit_of_what_they_were_seen_to_process():
    found = accuracy_of(GRAPH, {"b": 110})
    assert found.throughput == Compared(measured=55, estimated=60)
    assert found.missing == ("s", "a")
    assert accuracy_of(GRAPH, {"a": 60}).throughput is None


def test_the_run_had_the_units_of_the_allocation():
    assert accuracy_of(GRAPH, {"a": 100}, {"a": 1}).components["a"].estimated == 100


def test_a_record_has_no_infinite_number():
    row = accuracy_of(GRAPH, {"a": 0}).to_dict()["components"]["a"]
    assert row == {
        "measured_per_second": 0,
        "estimated_per_second": 60,
        "relative_error": None,
        "within": False,
    }


def test_rates_of_what_is_not_there_are_refused():
    with pytest.raises(InvalidInput, match="a rate of 'c'"):
        accuracy_of(GRAPH, {"c": 1})
    with pytest.raises(NotEnoughData, match="no rate of 'line' was measured"):
        accuracy_of(GRAPH, {})
