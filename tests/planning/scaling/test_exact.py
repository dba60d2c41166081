"""The best there is, and the proof of it."""

import sys

import pytest
from hypothesis import given, settings

from benchmarks.random_graphs import RandomGraphs
from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.combined import CombinedScaler
from streamgauge.planning.scaling.exact import ExactScaler
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.rates import propagate
from tests.planning.scaling.graphs import best_of_all, graphs
from tests.planning.scaling.published import LINEAR, TOPOLOGY_17, TREE


@given(graph=graphs(most=5))
@settings(max_examples=60)
def test_nothing_beats_it_on_any_small_graph(graph):
    scaling = ExactScaler().scale(graph, 3)
    assert scaling.expected == pytest.approx(best_of_all(graph, 3))
    assert scaling.bound == scaling.expected


@pytest.mark.parametrize("seed", range(10))
def test_nothing_beats_it_on_random_graphs_with_laws_that_fade(seed):
    graph = RandomGraphs(components=6, tables=0.5).make(seed)
    scaling = ExactScaler().scale(graph, 4)
    assert scaling.expected == pytest.approx(best_of_all(graph, 4))
    assert scaling.bound == scaling.expected


def test_a_unit_that_pays_only_together_with_the_next_is_not_counted_alone():
    """The second unit brings nothing, the third doubles; with one more there is nothing to gain."""
    late = ScalingGraph(
        name="late",
        components=(
            Component(name="s", units=1, law=TableLaw(rates=(100.0, 100.0)), source=True),
            Component(name="a", units=1, law=TableLaw(rates=(40.0, 40.0, 90.0))),
        ),
        edges=(Edge(source="s", target="a", share=1.0),),
    )
    one, two = (ExactScaler().scale(late, units) for units in (1, 2))
    assert (one.increase, one.bound) == (0.0, 40.0)
    assert (two.increase, two.bound) == (50.0, 90.0)


def test_a_law_that_rises_late_is_waited_for_where_others_take_what_is_near():
    """A first unit of b gains 50 and a second 10; two of a gain 90, and the first alone nothing."""
    near = ScalingGraph(
        name="near",
        components=(
            Component(name="s", units=1, law=TableLaw(rates=(200.0, 200.0)), source=True),
            Component(name="a", units=1, law=TableLaw(rates=(10.0, 10.0, 100.0))),
            Component(name="b", units=1, law=TableLaw(rates=(40.0, 90.0, 100.0))),
        ),
        edges=(Edge(source="s", target="a", share=0.5), Edge(source="s", target="b", share=0.5)),
    )
    assert CombinedScaler().scale(near, 2).increase == 60.0
    scaling = ExactScaler().scale(near, 2)
    assert (scaling.allocation, scaling.bound) == ({"a": 2}, 140.0)


def test_units_that_gain_nothing_stay_unused():
    flat = ScalingGraph(
        name="flat",
        components=(
            Component(name="s", units=1, law=TableLaw(rates=(100.0, 100.0)), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=60.0)),
        ),
        edges=(Edge(source="s", target="a", share=1.0),),
    )
    scaling = ExactScaler().scale(flat, 9)
    assert (scaling.allocation, scaling.expected) == ({"a": 1}, 100.0)


def test_a_reason_says_what_the_units_are_worth_and_what_is_proven():
    assert ExactScaler().scale(LINEAR, 2).reasons == (
        "1 to 2: without them throughput is 100 lower",
        "1 to 3: without them throughput is 250 lower",
        "no allocation of these units gives more than 500 tuples/s",
    )


def test_nobody_gets_more_units_than_it_can_have():
    """Unlimited, both go to a, for 50 each; b gains 20."""
    limited = ScalingGraph(
        name="limited",
        components=(
            Component(name="s", units=1, law=TableLaw(rates=(400.0, 400.0)), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=50.0), most_units=2),
            Component(name="b", units=1, law=LinearLaw(per_unit=20.0)),
        ),
        edges=(Edge(source="s", target="a", share=0.5), Edge(source="s", target="b", share=0.5)),
    )
    scaling = ExactScaler().scale(limited, 2)
    assert (scaling.allocation, scaling.bound) == ({"a": 1, "b": 1}, 140.0)
    assert CombinedScaler().scale(limited, 2).allocation == {"a": 1, "b": 1}


def test_a_search_that_is_cut_short_still_has_a_bound():
    graph = RandomGraphs(components=10, tables=0.5).make(6)
    short, whole = (ExactScaler(nodes=nodes).scale(graph, 10) for nodes in (1, 100_000))
    assert short.expected <= whole.expected < short.bound
    assert whole.bound == whole.expected
    assert short.reasons[-1].startswith("no better allocation was found")


def test_leaves_may_count_differently():
    assert ExactScaler(weights={"4": 0.0, "5": 0.0}).scale(TREE, 2).allocation == {"3": 2}


def test_the_same_question_has_the_same_answer():
    first, second = (ExactScaler().scale(TOPOLOGY_17, 6) for _ in range(2))
    assert first == second


def test_without_the_solver_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.linear_solver.python", None)
    with pytest.raises(InvalidInput, match=r"pip install 'streamgauge\[planning\]'"):
        ExactScaler().scale(LINEAR, 1)


def test_a_search_needs_a_node():
    with pytest.raises(InvalidInput, match="nodes: 0"):
        ExactScaler(nodes=0)


@given(graph=graphs())
@settings(max_examples=30)
def test_no_unit_can_be_taken_away_for_free(graph):
    scaling = ExactScaler().scale(graph, 6)
    for name, units in scaling.allocation.items():
        fewer = propagate(graph, {**scaling.allocation, name: units - 1})
        assert fewer.throughput < scaling.expected
