"""How much of the throughput a component reaches undisturbed."""

import pytest

from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.rates import BY_CAPACITY, FlowModel
from streamgauge.planning.scaling.stela import reached_share
from tests.planning.scaling.published import DIAMOND_AS_PRINTED, TOPOLOGY_17, TREE, TREE_AS_PRINTED


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
