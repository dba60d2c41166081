"""Counts of classes, optima, searches and bounds, against every placement there is."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.local_search import (
    Placement,
    balance_placement,
    grow_placement,
    improve,
    search,
    spread_evenly,
)
from streamgauge.planning.scheduling.placement_model import least_loaded, solve
from streamgauge.planning.scheduling.placement_problem import (
    Limit,
    PlacementProblem,
    classes_of,
)
from streamgauge.planning.scheduling.remote_bound import least_remote
from streamgauge.planning.scheduling.traffic import even_traffic
from streamgauge.topology import Configuration, LogicalPlan, StreamKey
from tests.planning.scheduling.graphs import topology
from tests.planning.scheduling.tiny import every_placement, tiny_problems, traffic_matrix


def complete(*, nodes: int, most: float) -> PlacementProblem:
    """Four sources that shuffle 16 tuples a second to four targets: one a pair."""
    logical = LogicalPlan.of(topology("s-b", s=4, b=4), Configuration(executors={"s": 4, "b": 4}))
    expected = Expected(rates={StreamKey("s", "default"): 16.0})
    members, pairs = classes_of(even_traffic(logical, expected))
    limit = Limit(load=np.ones(2), group=np.arange(nodes), most=np.full(nodes, most))
    return PlacementProblem(
        members=members, pairs=pairs, nodes=nodes, most_nodes=nodes, limits=(limit,)
    )


def test_executors_that_send_and_get_alike_are_of_one_class():
    problem = complete(nodes=2, most=4.0)
    assert problem.members == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert problem.pairs.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert problem.remote(np.asarray([[2, 2], [2, 2]])) == pytest.approx(8.0)


def test_of_four_and_four_on_two_nodes_half_the_tuples_stay_at_most():
    # Two and two on each node keep 2·2·2 of 16; so say the eigenvalues, and they are met.
    problem = complete(nodes=2, most=4.0)
    assert least_remote(problem) == pytest.approx(8.0, rel=1e-4)
    found = search(problem, [np.asarray([[4, 0], [0, 4]])], steps=100, rounds=5, seed=0)
    assert problem.remote(found) == pytest.approx(8.0)


def test_the_solver_takes_equal_nodes_for_equal():
    problem = complete(nodes=2, most=4.0)
    start = np.asarray([[4, 0], [0, 4]])
    counts, bound = solve(problem, start=start, least_remote=0.0, effort=5.0)
    assert counts.tolist() == [[2, 2], [2, 2]]
    assert bound == pytest.approx(8.0)


def test_with_room_for_all_nothing_has_to_leave_a_node():
    problem = complete(nodes=2, most=8.0)
    assert least_remote(problem) == 0.0
    assert problem.remote(grow_placement(problem)) == 0.0


@given(tiny_problems())
@settings(max_examples=60)
def test_counts_of_classes_say_what_a_placement_costs(made):
    problem, traffic = made
    between = traffic_matrix(traffic)
    nodes = [index % problem.nodes for index in range(len(between))]
    apart = np.not_equal.outer(nodes, nodes)
    counts = problem.count_nodes(nodes)
    assert problem.remote(counts) == pytest.approx(float((between * apart).sum()), abs=1e-6)


@given(tiny_problems())
@settings(max_examples=40)
def test_no_placement_goes_below_the_bound(made):
    problem, traffic = made
    remotes = every_placement(problem, traffic)
    assume(remotes)
    assert least_remote(problem) <= min(remotes) + 1e-9 * problem.total


@given(tiny_problems())
@settings(max_examples=30)
def test_the_solver_finds_the_best_of_all_placements_and_proves_it(made):
    problem, traffic = made
    remotes = every_placement(problem, traffic)
    start = next(
        (one for one in (grow_placement(problem), balance_placement(problem)) if one is not None),
        None,
    )
    assume(remotes and start is not None)
    counts, bound = solve(problem, start=start, least_remote=least_remote(problem), effort=20.0)
    assert problem.remote(counts) == pytest.approx(min(remotes), abs=1e-6)
    assert bound == pytest.approx(min(remotes), abs=1e-6)


@given(tiny_problems(), st.integers(0, 3))
@settings(max_examples=40)
def test_a_search_keeps_limits_and_never_ends_worse_than_it_began(made, seed):
    problem, traffic = made
    makers = (grow_placement, spread_evenly, balance_placement)
    starts = [one for one in (make(problem) for make in makers) if one is not None]
    assume(starts)
    assert all(problem.allows(one) for one in starts)
    found = search(problem, starts, steps=200, rounds=5, seed=seed)
    assert problem.allows(found)
    assert problem.remote(found) <= min(map(problem.remote, starts)) + 1e-9
    assert problem.remote(found) >= min(every_placement(problem, traffic)) - 1e-6
    assert np.array_equal(found, search(problem, starts, steps=200, rounds=5, seed=seed))


@given(tiny_problems(), st.integers(1, 4))
@settings(max_examples=80)
def test_every_step_keeps_more_tuples_in_nodes_and_every_limit(made, steps):
    problem, _ = made
    for start in (balance_placement(problem), spread_evenly(problem)):
        if start is not None:
            placement = Placement(problem, start)
            before = placement.together
            taken = steps - improve(placement, steps)
            assert problem.allows(placement.counts)
            assert placement.together >= before - 1e-9 * problem.total
            if not np.array_equal(placement.counts, start):
                assert taken and placement.together > before


def test_two_executors_change_places_where_neither_has_room_to_move():
    # s1 → a1 and s2 → a2 carry all, and each pair is torn apart.
    pairs = np.zeros((4, 4))
    pairs[0, 1] = pairs[1, 0] = 5.0
    pairs[2, 3] = pairs[3, 2] = 5.0
    limit = Limit(load=np.ones(4), group=np.arange(2), most=np.full(2, 2.0))
    members = ((0,), (1,), (2,), (3,))
    problem = PlacementProblem(members=members, pairs=pairs, nodes=2, most_nodes=2, limits=(limit,))
    placement = Placement(problem, np.asarray([[1, 0], [0, 1], [1, 0], [0, 1]]))
    improve(placement, 10)
    assert problem.remote(placement.counts) == 0.0


def test_loads_that_fit_nowhere_are_spread_as_evenly_as_can_be():
    # 3 + 3 | 2 + 2 + 2 is the only way to have 6 on both; the longest first comes to 7.
    members = ((0, 1), (2, 3, 4))
    limit = Limit(load=np.asarray([3.0, 2.0]), group=np.arange(2), most=np.full(2, 5.0))
    problem = PlacementProblem(
        members=members, pairs=np.zeros((2, 2)), nodes=2, most_nodes=2, limits=()
    )
    found = least_loaded(problem, limit, effort=5.0)
    assert limit.loads(found).tolist() == [6.0, 6.0]


def test_a_bound_holds_for_a_placement_that_is_allowed_by_a_rounding():
    limit = Limit(load=np.asarray([0.5, 0.5 + 5e-7]), group=np.arange(2), most=np.ones(2))
    pairs = np.asarray([[0.0, 10.0], [10.0, 0.0]])
    problem = PlacementProblem(
        members=((0,), (1,)), pairs=pairs, nodes=2, most_nodes=2, limits=(limit,)
    )
    together = np.asarray([[1, 0], [1, 0]])
    assert problem.allows(together)
    _, bound = solve(problem, start=together, least_remote=0.0, effort=5.0)
    assert bound == pytest.approx(problem.remote(together))


def test_loads_beyond_whole_numbers_are_spread_too():
    members = ((0, 1), (2, 3, 4))
    limit = Limit(load=np.asarray([3e40, 2e40]), group=np.arange(2), most=np.full(2, 5.0))
    problem = PlacementProblem(
        members=members, pairs=np.zeros((2, 2)), nodes=2, most_nodes=2, limits=()
    )
    found = least_loaded(problem, limit, effort=5.0)
    assert limit.loads(found).tolist() == pytest.approx([6e40, 6e40])


def test_machines_are_shared_by_their_nodes():
    limit = Limit(load=np.ones(2), group=np.asarray([0, 0, 1]), most=np.asarray([2.0, 6.0]))
    assert limit.is_kept(np.asarray([[1, 1, 2], [0, 0, 4]]))
    assert not limit.is_kept(np.asarray([[1, 2, 1], [0, 0, 4]]))
