"""Paths of a tuple, listed and summed, against networkx and brute force."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import CyclicTopology, InvalidInput
from streamgauge.topology import (
    Cluster,
    Configuration,
    Custom,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Slot,
    Stream,
    Topology,
    TupleFlow,
)
from streamgauge.topology.paths import (
    count_paths,
    get_shares,
    iter_logical_paths,
    iter_paths,
    longest_paths,
    sum_along,
    sum_paths,
)
from streamgauge.topology.tuple_flow import ConnectionBlock
from streamgauge.transport.engine import load_engine
from tests.strategies import placed_topologies

ACYCLIC = placed_topologies(cyclic=False)
WITHOUT_COPIES = placed_topologies(cyclic=False, copies=False)
ACKED = placed_topologies(cyclic=False, acked=st.just(True)).filter(
    lambda plan: plan.logical.topology.has_ackers
)


def flow_of(plan: PhysicalPlan) -> TupleFlow:
    return TupleFlow.of(plan, load_engine("storm-1").hops)


def lengths(block: ConnectionBlock) -> np.ndarray:
    """Some length that differs from edge to edge."""
    row, column = np.indices(block.shares.shape)
    return 1.0 + 0.1 * len(block.stream.name) + 2.0 * block.types + 0.3 * row + 0.7 * column


def graph_of(flow: TupleFlow, *, to_acker: bool = False) -> nx.MultiDiGraph:
    """Executors as nodes; one edge a connection, keyed by stream, with weight and length."""
    topology = flow.plan.logical.topology
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(flow.plan.logical.executors)))
    sinks = {operator.name for operator in topology.sinks}
    for block in flow.blocks:
        stream = block.stream
        acknowledges = to_acker and stream.target == "__acker" and stream.source in sinks
        if stream.is_system and not acknowledges:
            continue
        for row, source in enumerate(block.sources):
            for column, target in enumerate(block.targets):
                share = float(block.shares[row, column])
                if share > 0.0:
                    length = float(lengths(block)[row, column])
                    graph.add_edge(source, target, stream.name, weight=share, length=length)
    return graph


def brute_paths(flow: TupleFlow, *, to_acker: bool = False) -> dict[int, list[list[tuple]]]:
    """For each source executor its paths as lists of (from, to, stream), by networkx."""
    logical = flow.plan.logical
    graph = graph_of(flow, to_acker=to_acker)
    ends = ["__acker"] if to_acker else [operator.name for operator in logical.topology.sinks]
    targets = {index for name in ends for index in logical.spans[name]}
    return {
        start: [
            path for end in sorted(targets) for path in nx.all_simple_edge_paths(graph, start, end)
        ]
        for operator in logical.topology.sources
        for start in logical.spans[operator.name]
    }


def brute_sums(flow: TupleFlow, start: int) -> tuple[float, float, float]:
    """Weight, weighted length and longest length of the paths from one executor."""
    graph, weight, weighted, longest = graph_of(flow), 0.0, 0.0, -math.inf
    for path in brute_paths(flow)[start]:
        edges = [graph.edges[edge] for edge in path]
        product = math.prod(edge["weight"] for edge in edges)
        length = sum(edge["length"] for edge in edges)
        weight, weighted = weight + product, weighted + product * length
        longest = max(longest, length)
    return weight, weighted, longest


@given(ACYCLIC)
@settings(max_examples=40)
def test_paths_are_those_of_the_explicit_graph(plan: PhysicalPlan):
    flow = flow_of(plan)
    listed = [
        tuple((c.source, c.target, c.stream.name) for c in path.connections)
        for path in iter_paths(flow)
    ]
    expected = [tuple(path) for paths in brute_paths(flow).values() for path in paths]
    assert sorted(listed) == sorted(expected)


@given(ACKED)
@settings(max_examples=20)
def test_paths_to_the_ackers_are_those_of_the_explicit_graph(plan: PhysicalPlan):
    flow = flow_of(plan)
    listed = [
        tuple((c.source, c.target, c.stream.name) for c in path.connections)
        for path in iter_paths(flow, to_acker=True)
    ]
    expected = brute_paths(flow, to_acker=True).values()
    assert sorted(listed) == sorted(tuple(path) for paths in expected for path in paths)


@given(ACYCLIC)
@settings(max_examples=40)
def test_a_path_s_executors_are_the_ends_of_its_connections(plan: PhysicalPlan):
    for path in iter_paths(flow_of(plan)):
        sources = tuple(connection.source for connection in path.connections)
        targets = tuple(connection.target for connection in path.connections)
        assert (path.executors[:-1], path.executors[1:]) == (sources, targets)


@given(ACYCLIC)
@settings(max_examples=40)
def test_as_many_paths_are_counted_as_there_are(plan: PhysicalPlan):
    flow = flow_of(plan)
    executors = plan.logical.executors
    expected = {executors[start]: len(paths) for start, paths in brute_paths(flow).items()}
    assert count_paths(flow) == expected


@given(ACKED)
@settings(max_examples=20)
def test_as_many_paths_to_ackers_are_counted_as_there_are(plan: PhysicalPlan):
    flow = flow_of(plan)
    executors = plan.logical.executors
    paths = brute_paths(flow, to_acker=True)
    assert count_paths(flow, to_acker=True) == {executors[i]: len(paths[i]) for i in paths}


@given(ACYCLIC)
@settings(max_examples=40)
def test_summed_weights_and_lengths_are_those_of_the_listed_paths(plan: PhysicalPlan):
    flow = flow_of(plan)
    sums = sum_paths(flow, lengths=lengths)
    for start in brute_paths(flow):
        weight, weighted, _ = brute_sums(flow, start)
        assert sums.weight[start] == pytest.approx(weight)
        assert sums.weighted_length[start] == pytest.approx(weighted)


@given(ACYCLIC)
@settings(max_examples=40)
def test_the_longest_path_is_the_longest_of_those_listed(plan: PhysicalPlan):
    flow = flow_of(plan)
    longest = longest_paths(flow, lengths=lengths)
    for start in brute_paths(flow):
        assert longest[start] == pytest.approx(brute_sums(flow, start)[2])


@given(WITHOUT_COPIES)
@settings(max_examples=40)
def test_without_copies_a_tuple_takes_exactly_one_way_along_each_logical_path(plan: PhysicalPlan):
    flow = flow_of(plan)
    for streams in iter_logical_paths(plan.logical.topology):
        assert sum_along(flow, streams).weight == pytest.approx(1.0)


@given(placed_topologies())
@settings(max_examples=40)
def test_with_cycles_sums_are_those_of_all_walks(plan: PhysicalPlan):
    """Σ Aᵏ·e, cut off where the rest is below 0.8¹⁵⁰, with A scaled to die out."""
    flow = flow_of(plan)
    size = len(plan.logical.executors)
    step, long_step = np.zeros((size, size)), np.zeros((size, size))
    for block in flow.data_blocks:
        cells = np.ix_(block.sources, block.targets)
        step[cells] += block.shares
        long_step[cells] += block.shares * lengths(block)
    scale = 0.8 / max(1.0, step.sum(axis=1).max())
    ends = np.zeros(size)
    for operator in plan.logical.topology.sinks:
        ends[list(plan.logical.spans[operator.name])] = 1.0
    weight, weighted = np.zeros(size), np.zeros(size)
    for _ in range(150):
        weighted = scale * (step @ weighted + long_step @ weight)
        weight = ends + scale * step @ weight
    sums = sum_paths(flow, weights=lambda block: scale * block.shares, lengths=lengths)
    assert sums.weight == pytest.approx(weight, abs=1e-9)
    assert sums.weighted_length == pytest.approx(weighted, abs=1e-9)


def operators(*names: str, tasks: int = 1) -> tuple[Operator, ...]:
    first = Operator(name=names[0], kind=OperatorKind.SOURCE)
    return (first, *(Operator(name=name, tasks=tasks) for name in names[1:]))


def on_one_worker(topology: Topology, **executors: int) -> TupleFlow:
    logical = LogicalPlan.of(topology, Configuration(executors=executors))
    placement = (0,) * len(logical.executors)
    workers = (Slot("n1", 6700),)
    return flow_of(
        PhysicalPlan(
            logical=logical,
            cluster=Cluster.uniform(nodes=1),
            workers=workers,
            placement=placement,
        )
    )


def looped(tasks: int = 1) -> TupleFlow:
    """S → A → B, A → A again; `tasks` executors of A."""
    topology = Topology(
        name="loop",
        operators=operators("S", "A", "B", tasks=tasks),
        streams=(
            Stream(source="S", target="A", grouping=Shuffle()),
            Stream(source="A", target="B", grouping=Shuffle()),
            Stream(source="A", target="A", name="again", grouping=Shuffle()),
        ),
    )
    return on_one_worker(topology, A=tasks, B=tasks)


def with_gain(gain: float):
    return lambda block: block.shares * (gain if block.stream.name == "again" else 1.0)


def test_a_loop_of_gain_one_half_is_gone_round_once_more_on_average():
    """Σ ½ᵏ = 2 copies of each tuple reach the sink."""
    assert sum_paths(looped(), weights=with_gain(0.5)).weight[0] == pytest.approx(2.0)


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("gain", [1.0, 1.5, 3.0])
def test_a_loop_on_which_tuples_do_not_die_out_is_refused(gain, tasks):
    with pytest.raises(CyclicTopology, match="the cycle A → A, on which tuples never die out"):
        sum_paths(looped(tasks), weights=with_gain(gain))


@pytest.mark.parametrize("tasks", [1, 3, 50])
def test_a_loop_on_which_tuples_hardly_die_out_is_summed(tasks):
    """Σ 0.999ᵏ = 1,000."""
    assert sum_paths(looped(tasks), weights=with_gain(0.999)).weight[0] == pytest.approx(1000.0)


@pytest.mark.parametrize(
    "question",
    [
        count_paths,
        lambda flow: longest_paths(flow, lengths=get_shares),
        lambda flow: list(iter_paths(flow)),
        lambda flow: list(iter_logical_paths(flow.plan.logical.topology)),
    ],
)
def test_what_has_no_answer_with_a_cycle_is_refused_with_the_cycle(question):
    with pytest.raises(CyclicTopology, match="the cycle A → A"):
        question(looped())


def diamond() -> TupleFlow:
    """S → A, B → C with two streams A → C; A twice, C three times."""
    topology = Topology(
        name="diamond",
        operators=operators("S", "A", "B", "C", tasks=3),
        streams=(
            Stream(source="S", target="A", grouping=Custom(matrix=[[0.5, 0.25, 0.25]])),
            Stream(source="S", target="B", grouping=Shuffle()),
            Stream(source="A", target="C", grouping=Shuffle()),
            Stream(source="A", target="C", name="twice", grouping=Custom(matrix=[[1, 0, 0]])),
            Stream(source="B", target="C", grouping=Shuffle()),
        ),
    )
    return on_one_worker(topology, A=2, C=3)


def test_paths_are_counted_by_hand():
    """A: 2 × (3 + 1 that exists); B: 1 × 3."""
    assert list(count_paths(diamond()).values()) == [11]


def test_paths_are_weighed_by_hand():
    """Three logical paths, each of weight one."""
    assert sum_paths(diamond()).weight[0] == pytest.approx(3.0)


def test_a_path_s_weight_is_a_product():
    """S → A[2-3] takes 0.75, A → C[5-…] a third each."""
    streams = next(iter_logical_paths(diamond().plan.logical.topology))
    block = next(b for b in diamond().blocks if b.stream == streams[0])
    assert block.shares.tolist() == [[0.75, 0.25]]
    assert sum_along(diamond(), streams).weight.tolist() == pytest.approx([1.0])


def test_paths_may_be_chosen_by_their_ends():
    flow = diamond()
    assert len(list(iter_paths(flow, source="S", sink="C"))) == 11


@pytest.mark.parametrize("ends", [{"source": "A"}, {"sink": "A"}, {"source": "x"}, {"sink": "x"}])
def test_an_end_that_is_none_is_refused(ends):
    with pytest.raises(InvalidInput, match=r"expected a (source|sink) of topology 'diamond'"):
        list(iter_paths(diamond(), **ends))


def test_paths_to_ackers_need_ackers():
    with pytest.raises(InvalidInput, match="no ackers in topology 'diamond'"):
        list(iter_paths(diamond(), to_acker=True))


def chain(length: int, *, loop: bool = False) -> Topology:
    names = [f"o{number}" for number in range(length)]
    ends = list(itertools.pairwise(names))
    if loop:
        ends.append((names[-1], names[1]))
    streams = [Stream(source=a, target=b, grouping=Shuffle()) for a, b in ends]
    return Topology(name="chain", operators=operators(*names), streams=streams)


def test_a_chain_of_thousands_is_not_too_deep():
    flow = on_one_worker(chain(3000))
    assert list(count_paths(flow).values()) == [1]
    assert sum_paths(flow).weight[0] == 1.0
    assert longest_paths(flow, lengths=get_shares)[0] == 2999.0
    assert [len(path.executors) for path in iter_paths(flow)] == [3000]


def test_a_cycle_of_thousands_is_not_too_deep():
    assert len(chain(3000, loop=True).cycle() or ()) == 3000


def test_more_paths_than_a_machine_word_holds_are_counted_exactly():
    names = [f"o{number}" for number in range(20)]
    streams = [Stream(source=a, target=b, grouping=Shuffle()) for a, b in itertools.pairwise(names)]
    topology = Topology(name="wide", operators=operators(*names, tasks=16), streams=streams)
    flow = on_one_worker(topology, **dict.fromkeys(names[1:], 16))
    assert list(count_paths(flow).values()) == [16**19]


def test_a_described_path_names_its_executors():
    (path,) = iter_paths(on_one_worker(chain(3)))
    flow = on_one_worker(chain(3))
    assert path.describe(flow) == "o0[1] → o1[2] → o2[3]"


def test_a_path_s_elements_are_those_of_its_connections():
    flow = on_one_worker(chain(3))
    (path,) = iter_paths(flow)
    met = [f"{hop.element}({hop.owner})" for hop in path.elements(flow)]
    assert met == ["send(o0[1])", "queue(o1[2])", "send(o1[2])", "queue(o2[3])"]


def test_sums_along_a_logical_path_are_those_of_its_listed_paths():
    """S → A[2-3] or A[4] → C: counts, weighted lengths and the longest, path by path."""
    flow = diamond()
    streams = next(iter_logical_paths(flow.plan.logical.topology))
    sums = sum_along(flow, streams, lengths=lambda block: block.shares)
    blocks = {block.stream.subscription: block for block in flow.blocks}
    listed = []
    for path in iter_paths(flow):
        if tuple(one.stream for one in path.connections) != streams:
            continue
        shares = [
            blocks[one.stream.subscription].shares[
                one.source - blocks[one.stream.subscription].sources.start,
                one.target - blocks[one.stream.subscription].targets.start,
            ]
            for one in path.connections
        ]
        listed.append((np.prod(shares), sum(shares)))
    assert sums.count.tolist() == [len(listed)]
    assert sums.weighted_length[0] == pytest.approx(sum(w * length for w, length in listed))
    assert sums.longest[0] == pytest.approx(max(length for _, length in listed))
