"""Whole packages by what a unit gains."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.planning.scaling.contract import Selection
from streamgauge.planning.scaling.predictive import PredictiveScaler
from streamgauge.planning.scaling.rates import FlowModel, find_congested
from tests.planning.scaling.graphs import levelling_off
from tests.planning.scaling.published import DIAMOND_B, LINEAR, TOPOLOGY_17, TREE, graph

RECHECKED = PredictiveScaler(recheck=True)
BEST_SET = PredictiveScaler(selection=Selection.KNAPSACK)


def chosen(graph, units: int) -> list[tuple[str, int]]:
    """Head and its units of every package taken."""
    model = FlowModel(graph)
    choice = PredictiveScaler().choose(model, model.flow(), units)
    return [(one.head, one.head_units) for one in choice.chosen]


def test_more_units_for_the_same_head_take_the_place_of_fewer():
    assert chosen(TOPOLOGY_17, 2) == [("16", 2)]


def test_a_package_takes_the_place_of_what_lies_below_its_head():
    """{16:2} goes when head 9, above 16, comes; its two units count towards the four of 9."""
    assert chosen(TOPOLOGY_17, 5) == [("11", 1), ("9", 1)]
    scaling = PredictiveScaler().scale(TOPOLOGY_17, 5)
    assert scaling.allocation == {"9": 1, "11": 1, "16": 2, "17": 1}
    assert scaling.increase == pytest.approx(1400)


def test_units_that_complete_no_package_stay_unused():
    scaling = PredictiveScaler().scale(LINEAR, 2)
    assert (scaling.allocation, scaling.units) == ({"3": 1}, 1)
    assert scaling.reasons == (
        "1 unit to 3: throughput +150 tuples/s, 150 per unit",
        "1 unit is left: the smallest package not taken needs 3, for 2 and "
        "everything downstream of it",
    )


def test_two_packages_that_are_safe_alone_may_congest_what_both_feed():
    scaling = PredictiveScaler().scale(DIAMOND_B, 2)
    assert scaling.allocation == {"2": 1, "3": 1}
    assert "4" in find_congested(DIAMOND_B, scaling.allocation)
    assert "4" not in find_congested(DIAMOND_B)


def test_a_second_look_passes_over_what_would_congest_others():
    """{2:1} beside {3:1} would; with both units 3 passes on all of its 450, and 4 takes them."""
    scaling = RECHECKED.scale(DIAMOND_B, 2)
    assert (scaling.allocation, scaling.increase) == ({"3": 2}, pytest.approx(250))
    assert "4" not in find_congested(DIAMOND_B, scaling.allocation)


def test_a_second_look_gives_units_to_what_would_be_congested():
    """Without it the third unit goes to 3 and 4 stays congested."""
    assert PredictiveScaler().scale(DIAMOND_B, 3).increase == pytest.approx(250)
    scaling = RECHECKED.scale(DIAMOND_B, 3)
    assert scaling.allocation == {"2": 1, "3": 1, "4": 1}
    assert scaling.increase == pytest.approx(350)
    assert scaling.reasons[-1] == "1 to 4: the chosen packages together would congest it"


def test_the_best_set_beats_the_best_ratio():
    """{16:2} gains 350 a unit; {16:1} and {11:1} gain more together."""
    assert PredictiveScaler().scale(TOPOLOGY_17, 2).increase == pytest.approx(700)
    best = BEST_SET.scale(TOPOLOGY_17, 2)
    assert (best.allocation, best.increase) == ({"11": 1, "16": 1}, pytest.approx(800))


def test_the_best_set_gains_no_less_than_the_greedy_one():
    for units in range(1, 11):
        scaling = BEST_SET.scale(TOPOLOGY_17, units)
        assert scaling.units <= units
        assert scaling.increase >= PredictiveScaler().scale(TOPOLOGY_17, units).increase - 1e-6


def test_the_best_set_holds_no_package_within_another():
    """{2, 3} relieves 3 as well: 350 and the 150 of {3} would count the same tuples twice."""
    model = FlowModel(LINEAR)
    choice = BEST_SET.choose(model, model.flow(), 4)
    assert [dict(one.allocation) for one in choice.chosen] == [{"2": 1, "3": 2}]


def sets_without_nesting(graph, packages, units):
    """All sets of packages that can be had together, none of whose heads is below another."""
    by_head = {one.head: [None] for one in packages}
    for one in packages:
        by_head[one.head].append(one)
    for choice in product(*by_head.values()):
        some = {one for one in choice if one is not None}
        heads = {one.head for one in some}
        nested = any(heads & graph.descendants[head] for head in heads)
        if not nested and sum(one.units for one in some) <= units:
            yield some


@given(capacities=st.lists(st.integers(100, 500), min_size=2, max_size=4), units=st.integers(3, 9))
@settings(max_examples=50)
def test_the_best_set_is_the_best_of_all_sets_without_nesting(capacities, units):
    """In a chain every package lies within those of the heads above it."""
    rows = ["0 1 1000 1 1:1"]
    rows += [f"{place} 1 {most} 1 {place + 1}:1" for place, most in enumerate(capacities, start=1)]
    chain = graph("chain", "\n".join([*rows, f"{len(rows)} 1 1000 1"]))
    model = FlowModel(chain)
    choice = BEST_SET.choose(model, model.flow(), units)
    sets = [*sets_without_nesting(chain, choice.packages, units)]
    best = max(sum(one.increase for one in some) for some in sets)
    assert sum(one.increase for one in choice.chosen) == pytest.approx(best)
    assert set(choice.chosen) in sets


def test_the_best_set_can_be_looked_at_twice_as_well():
    twice = PredictiveScaler(selection=Selection.KNAPSACK, recheck=True)
    assert "4" not in find_congested(DIAMOND_B, twice.scale(DIAMOND_B, 2).allocation)


def test_leaves_may_count_differently():
    scaler = PredictiveScaler(weights={"4": 0.0, "5": 0.0})
    assert scaler.scale(TREE, 2).allocation == {"3": 2}


def test_what_gains_nothing_is_not_taken():
    """2 emits nothing, however much it processes."""
    silent = graph("silent", "1 1 100 1 2:0.5 3:0.5\n2 1 20 0\n3 1 90 1")
    scaling = PredictiveScaler().scale(silent, 3)
    assert (scaling.units, scaling.reasons) == (
        0,
        ("3 units are left: no further package would gain anything",),
    )


def test_what_cannot_be_decongested_below_its_head_is_not_taken():
    """b never does more than 90; c would gain, but b would drop more."""
    assert PredictiveScaler().scale(levelling_off(), 5).units == 0
