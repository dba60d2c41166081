"""What a topology may be, and how a wrong one is refused."""

import itertools

import networkx as nx
import pytest
from hypothesis import given, settings

from streamgauge.errors import CyclicTopology, InvalidInput
from streamgauge.topology import (
    All,
    Custom,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
    Window,
)
from tests.strategies import topologies

SOURCE = Operator(name="lines", kind=OperatorKind.SOURCE, tasks=2)
SPLIT = Operator(name="split", tasks=3)
COUNT = Operator(name="count", tasks=4)


def stream(source: str, target: str, name: str = "default", grouping=Shuffle()) -> Stream:  # noqa: B008
    return Stream(source=source, target=target, name=name, grouping=grouping)


LINE = (stream("lines", "split"), stream("split", "count"))


def topology(*streams: Stream, operators=(SOURCE, SPLIT, COUNT), **given) -> Topology:
    return Topology(name="words", operators=operators, streams=streams, **given)


def refused(*streams: Stream, operators=(SOURCE, SPLIT, COUNT)) -> str:
    with pytest.raises(InvalidInput) as caught:
        topology(*streams, operators=operators)
    return str(caught.value)


@pytest.mark.parametrize("ends", [("lines", "spilt"), ("spilt", "count")])
def test_an_unknown_operator_in_a_stream_comes_with_a_suggestion(ends):
    said = refused(*LINE, stream(*ends, name="x"))
    assert "unknown operator 'spilt'" in said
    assert "did you mean 'split'?" in said


def test_a_name_is_given_once():
    said = refused(*LINE, operators=(SOURCE, SPLIT, COUNT, Operator(name="split")))
    assert "operators.split: the name 'split' twice" in said


@pytest.mark.parametrize("tasks", [0, -1, 1.0, True, "2", None])
def test_an_operator_has_a_whole_number_of_tasks_from_one_on(tasks):
    with pytest.raises(InvalidInput, match=r"tasks: .*; expected a whole number of at least 1"):
        Operator(name="a", tasks=tasks)


@pytest.mark.parametrize("name", ["", " a", "a ", "a\n", "\t", "a\0", "x" * 201, None, 3])
def test_a_name_is_printable_and_without_blanks_at_its_ends(name):
    with pytest.raises(InvalidInput, match="expected 1 to 200 printable characters"):
        Operator(name=name)


def test_an_operator_that_no_source_reaches_is_refused():
    assert "operators.count: 'count', which no source reaches" in refused(LINE[0])


def test_a_cycle_that_no_source_reaches_is_refused():
    said = refused(LINE[0], stream("count", "count"))
    assert "'count', which no source reaches" in said


def test_a_topology_has_a_source():
    assert "no source" in refused(operators=(SPLIT,))


def test_a_stream_into_a_source_is_refused():
    assert "a stream into the source 'lines'" in refused(*LINE, stream("count", "lines"))


def test_a_second_subscription_to_a_stream_is_refused():
    said = refused(*LINE, stream("lines", "split", grouping=All()))
    assert "a second subscription of 'split' to lines/default" in said


def test_a_window_on_a_source_is_refused():
    with pytest.raises(InvalidInput, match="a window on a source"):
        Operator(name="a", kind=OperatorKind.SOURCE, window=Window(length_tuples=1))


@pytest.mark.parametrize("name", ["__acker", "__mine"])
def test_names_with_two_underscores_are_the_engines(name):
    said = refused(
        *LINE, stream("lines", name), operators=(SOURCE, SPLIT, COUNT, Operator(name=name))
    )
    assert "names that begin with '__' for ackers only" in said


def test_stream_names_with_two_underscores_are_the_engines():
    assert "names that do not begin with '__'" in refused(*LINE, stream("lines", "count", "__x"))


def test_a_custom_matrix_has_a_row_a_sending_task_or_one():
    for rows in (1, 2):
        topology(LINE[1], stream("lines", "split", grouping=Custom(matrix=[[1, 0, 0]] * rows)))


@pytest.mark.parametrize("matrix", [[[1, 0]], [[1, 0, 0]] * 3, [[0.25] * 4]])
def test_a_custom_matrix_of_another_shape_is_refused(matrix):
    said = refused(LINE[1], stream("lines", "split", grouping=Custom(matrix=matrix)))
    assert f"a matrix of {len(matrix)} × {len(matrix[0])}; expected 2 rows" in said


def test_all_problems_are_told_at_once():
    said = refused(stream("lines", "x"), stream("y", "split"), stream("split", "lines"))
    assert len(said.splitlines()) == 3


def test_several_streams_may_join_a_pair():
    made = topology(*LINE, stream("split", "count", "other"))
    assert [one.key for one in made.streams_into("count")] == [
        StreamKey("split", "default"),
        StreamKey("split", "other"),
    ]


def test_a_stream_may_have_several_subscribers():
    made = topology(*LINE, stream("lines", "count"))
    assert {one.target for one in made.streams_from("lines")} == {"split", "count"}
    assert {one.key for one in made.streams_from("lines")} == {StreamKey("lines", "default")}


def test_streams_of_two_operators_may_have_one_name():
    assert len({one.key for one in topology(*LINE).streams}) == 2


def test_sinks_send_nothing_on():
    assert topology(*LINE).sinks == (COUNT,)


def test_a_lone_source_is_no_sink():
    assert topology(operators=(SOURCE,)).sinks == ()


def test_a_cycle_is_accepted_and_reported():
    made = topology(*LINE, stream("count", "split"))
    assert made.cycle() in [("split", "count", "split"), ("count", "split", "count")]


def test_a_cycle_is_told_in_the_direction_of_its_streams():
    more = Operator(name="rank")
    ends = [("count", "rank"), ("rank", "split")]
    made = topology(
        *LINE, *(stream(*pair) for pair in ends), operators=(SOURCE, SPLIT, COUNT, more)
    )
    cycle = made.cycle()
    assert cycle is not None
    assert set(itertools.pairwise(cycle)) == {("split", "count"), *ends}


def test_an_operator_may_send_to_itself():
    assert topology(*LINE, stream("split", "split")).cycle() == ("split", "split")


def test_an_order_of_a_cycle_is_refused_with_the_cycle():
    with pytest.raises(CyclicTopology, match=r"the cycle (split → count|count → split)"):
        topology(*LINE, stream("count", "split")).topological_order()


def test_an_unknown_operator_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'count'"):
        topology(*LINE).operator("cuont")


def test_a_kind_may_be_given_as_text():
    made = Topology(name="t", operators=(Operator(name="s", kind="source"),))
    assert [op.name for op in made.sources] == ["s"]


def graph_of(made: Topology) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(made.operator_names)
    graph.add_edges_from((one.source, one.target) for one in made.streams)
    return graph


@given(topologies())
@settings(max_examples=40)
def test_a_cycle_is_found_where_networkx_finds_one(made: Topology):
    assert (made.cycle() is None) == nx.is_directed_acyclic_graph(graph_of(made))


@given(topologies())
@settings(max_examples=40)
def test_a_reported_cycle_is_one(made: Topology):
    cycle = made.cycle()
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert all(graph_of(made).has_edge(*pair) for pair in itertools.pairwise(cycle))


@given(topologies(cyclic=False))
@settings(max_examples=40)
def test_in_topological_order_every_stream_points_onward(made: Topology):
    rank = {op.name: place for place, op in enumerate(made.topological_order())}
    assert sorted(rank) == sorted(made.operator_names)
    assert all(rank[one.source] < rank[one.target] for one in made.streams)
