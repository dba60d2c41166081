"""The same job with its shares swapped, or with more capacity further down."""

import pytest

from benchmarks.graph_variants import (
    with_fixed_sources,
    with_stepped_capacity,
    with_swapped_shares,
)
from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.rates import propagate
from tests.planning.scaling.published import TEST_MIX, TOPOLOGY_17


def test_the_first_child_gets_the_share_of_the_last():
    shares = {edge.target: edge.share for edge in with_swapped_shares(TOPOLOGY_17).children["1"]}
    assert shares == {"2": 0.25, "3": 0.35, "4": 0.4}


def test_swapping_twice_changes_nothing():
    assert with_swapped_shares(with_swapped_shares(TEST_MIX)).edges == TEST_MIX.edges


def test_capacity_rises_by_a_step_for_each_level_below_the_second():
    stepped = propagate(with_stepped_capacity(TOPOLOGY_17, 200.0))
    assert [stepped[name].capacity for name in ("2", "5", "10")] == [900.0, 1000.0, 800.0]
    mixed = propagate(with_stepped_capacity(TEST_MIX, 100.0))
    assert [mixed[name].capacity for name in ("2", "4", "8", "15", "22")] == [
        1500.0,
        900.0,
        900.0,
        900.0,
        1100.0,
    ]


def test_every_unit_of_a_table_rises_alike():
    table = TableLaw(rates=(100.0, 150.0))
    chain = ScalingGraph(
        name="chain",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=1.0), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=1.0)),
            Component(name="b", units=2, law=table),
        ),
        edges=(Edge(source="s", target="a", share=1.0), Edge(source="a", target="b", share=1.0)),
    )
    assert propagate(with_stepped_capacity(chain, 10.0))["b"].capacity == 170.0


def test_a_law_of_another_kind_cannot_be_raised():
    class Constant:
        def rate(self, units: int) -> float:
            return 1.0

    chain = ScalingGraph(
        name="chain",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=1.0), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=1.0)),
            Component(name="b", units=2, law=Constant()),
        ),
        edges=(Edge(source="s", target="a", share=1.0), Edge(source="a", target="b", share=1.0)),
    )
    with pytest.raises(InvalidInput, match="law: Constant"):
        with_stepped_capacity(chain, 10.0)


def test_a_fixed_source_emits_no_more_with_more_units():
    fixed = with_fixed_sources(TOPOLOGY_17)
    assert propagate(fixed).throughput == propagate(TOPOLOGY_17).throughput
    assert propagate(fixed, {"1": 5})["1"].output == 2000.0
