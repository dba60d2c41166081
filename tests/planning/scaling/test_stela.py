"""One unit after the other, by how much of the throughput a component reaches undisturbed."""

import pytest

from streamgauge.planning.scaling.contract import TieRule
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.rates import BY_CAPACITY, FlowModel
from streamgauge.planning.scaling.stela import StelaScaler, reached_share
from tests.planning.scaling.published import (
    DIAMOND_AS_PRINTED,
    LINEAR,
    TOPOLOGY_17,
    TREE,
    TREE_AS_PRINTED,
    graph,
)


def order_of(scaler: StelaScaler, graph, units: int) -> list[str]:
    """Who got the first unit, the second …"""
    return [reason.split()[0] for reason in scaler.scale(graph, units).reasons]


def test_units_of_topology_17_go_where_most_of_the_throughput_is_reached():
    assert order_of(StelaScaler(), TOPOLOGY_17, 6) == ["6", "9", "17", "4", "8", "16"]
    gains = [StelaScaler().scale(TOPOLOGY_17, units).increase for units in range(1, 7)]
    assert gains == pytest.approx([40, 140, 200, 440, 500, 1000])


def test_the_second_unit_of_the_tree_sees_what_the_first_one_did():
    assert order_of(StelaScaler(), TREE, 2) == ["4", "2"]


@pytest.mark.parametrize(
    ("ties", "first"), [(TieRule.FIRST, "2"), (TieRule.LAST, "3"), (TieRule.MOST_DROPPED, "3")]
)
def test_equals_are_told_apart_by_a_rule(ties, first):
    assert order_of(StelaScaler(ties=ties), DIAMOND_AS_PRINTED, 1) == [first]


def test_a_source_grows_when_nothing_is_congested():
    scaling = StelaScaler().scale(LINEAR, 4)
    assert scaling.allocation["1"] == 1
    assert scaling.reasons[-1].startswith("1 gets a unit: a source, as no component is congested")


def test_a_reason_says_how_congested_how_important_and_what_it_brings():
    assert StelaScaler().scale(TREE, 1).reasons == (
        "4 gets a unit: it processes 500 of 600 tuples/s, and 55.6% of the throughput is reached "
        "from it; throughput 900 → 1,000",
    )


def test_leaves_may_count_differently():
    """Without 4 and 5 only what 6 emits counts, which is reached from 3."""
    assert order_of(StelaScaler(weights={"4": 0.0, "5": 0.0}), TREE, 1) == ["3"]


def test_rounding_does_not_break_a_tie():
    """From 2 a sink of 0.3 is reached, from 3 those of 0.1 and 0.2, which add up to a bit more."""
    tied = graph(
        "tied",
        """
        1 1 2 1 2:0.5 3:0.5
        2 1 0.5 1 4:0.6
        3 1 0.5 1 5:0.2 6:0.4
        4 1 9 1
        5 1 9 1
        6 1 9 1
        """,
    )
    assert 0.5 * 0.2 + 0.5 * 0.4 > 0.5 * 0.6
    assert order_of(StelaScaler(), tied, 1) == ["2"]


def etp(graph, name, allocation=None):
    """The expected throughput percentage of a component, from 0 to 1."""
    model = FlowModel(graph)
    flow = model.flow(allocation or {})
    congested = set(BY_CAPACITY.find_congested(model, flow))
    return reached_share(model, flow, model.index[name], congested)


def test_both_sides_of_a_diamond_reach_all_of_it():
    assert [etp(DIAMOND_AS_PRINTED, name) for name in "23"] == [1.0, 1.0]


def test_paths_end_at_congested_components():
    """Of 2's children 4 is congested and 5 emits 200; 4 is a sink and counts itself."""
    assert [etp(TREE, name) for name in "234"] == pytest.approx([200 / 900, 200 / 900, 500 / 900])
    assert [etp(TREE_AS_PRINTED, name) for name in "234"] == pytest.approx([0.2, 0.3, 0.5])


def test_a_path_opens_when_its_congested_component_gets_units():
    assert [etp(TREE, name, {"4": 1}) for name in "23"] == pytest.approx([0.8, 0.2])


def test_topology_17_before_and_after_the_first_units():
    emitted = {"4": 0, "5": 0, "6": 1400, "8": 500, "9": 800, "10": 400, "11": 300, "16": 500}
    for name, reached in emitted.items():
        assert etp(TOPOLOGY_17, name) == pytest.approx(reached / 4740)
    assert etp(TOPOLOGY_17, "9", {"6": 1}) == pytest.approx(800 / 4780)
    assert etp(TOPOLOGY_17, "17", {"6": 1, "9": 1}) == pytest.approx(900 / 4880)


def test_a_sink_that_is_reached_twice_counts_once():
    assert etp(DIAMOND_AS_PRINTED, "1", {"2": 1, "3": 2, "4": 1}) == 1.0


def test_where_nothing_leaves_nothing_is_reached():
    graph = ScalingGraph(
        name="silent",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=1.0), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=1.0), out_per_in=0.0),
        ),
        edges=(Edge(source="s", target="a", share=1.0),),
    )
    assert etp(graph, "s") == 0.0
    assert etp(graph, "a") == 0.0
