"""Random graphs to judge scalers on."""

import pytest

from benchmarks.random_graphs import RandomGraphs
from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.graph import TableLaw
from streamgauge.planning.scaling.rates import find_congested, propagate


def test_a_seed_is_a_graph():
    assert RandomGraphs().make(7) == RandomGraphs().make(7)
    assert RandomGraphs().make(7) != RandomGraphs().make(8)


@pytest.mark.parametrize("seed", range(5))
def test_something_arrives_everywhere_and_outputs_are_divided(seed):
    graph = RandomGraphs(components=20).make(seed)
    rates = propagate(graph)
    assert all(rates[one.name].input > 0.0 for one in graph.components)
    for edges in graph.children.values():
        assert not edges or sum(edge.share for edge in edges) == pytest.approx(1.0)


def test_some_are_congested_and_some_are_not():
    graph = RandomGraphs(components=20).make(0)
    assert 0 < len(find_congested(graph)) < 19


def test_laws_may_fade_and_parents_be_several():
    graph = RandomGraphs(components=30, joins=1.0, tables=1.0).make(0)
    assert all(isinstance(one.law, TableLaw) for one in graph.components if not one.source)
    assert max(map(len, graph.parents.values())) > 1


def test_what_cannot_be_made_is_refused_all_at_once():
    with pytest.raises(InvalidInput) as refused:
        RandomGraphs(components=1, tables=2.0)
    assert [problem.path for problem in refused.value.problems] == ["components", "tables"]
