"""Whole packages by what a unit gains."""

import pytest

from streamgauge.planning.scaling.congestion import congested
from streamgauge.planning.scaling.predictive import PredictiveScaler, Selection
from streamgauge.planning.scaling.rates import FlowModel
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
        "1 to 3: throughput +150, 150 a unit",
        "1 unit is left: the smallest package not taken needs 3, for 2 and what is below it",
    )


def test_two_packages_that_are_safe_alone_may_congest_what_both_feed():
    scaling = PredictiveScaler().scale(DIAMOND_B, 2)
    assert scaling.allocation == {"2": 1, "3": 1}
    assert "4" in congested(DIAMOND_B, scaling.allocation)
    assert "4" not in congested(DIAMOND_B)


def test_a_second_look_passes_over_what_would_congest_others():
    """{2:1} beside {3:1} would; with both units 3 passes on all of its 450, and 4 takes them."""
    scaling = RECHECKED.scale(DIAMOND_B, 2)
    assert (scaling.allocation, scaling.increase) == ({"3": 2}, pytest.approx(250))
    assert "4" not in congested(DIAMOND_B, scaling.allocation)


def test_a_second_look_gives_units_to_what_would_be_congested():
    """Without it the third unit goes to 3 and 4 stays congested."""
    assert PredictiveScaler().scale(DIAMOND_B, 3).increase == pytest.approx(250)
    scaling = RECHECKED.scale(DIAMOND_B, 3)
    assert scaling.allocation == {"2": 1, "3": 1, "4": 1}
    assert scaling.increase == pytest.approx(350)
    assert scaling.reasons[-1] == "1 to 4: packages together would congest it"


def test_the_best_set_beats_the_best_ratio():
    """{16:2} gains 350 a unit; {16:1} and {11:1} gain more together."""
    assert PredictiveScaler().scale(TOPOLOGY_17, 2).increase == pytest.approx(700)
    best = BEST_SET.scale(TOPOLOGY_17, 2)
    assert (best.allocation, best.increase) == ({"11": 1, "16": 1}, pytest.approx(800))


def test_the_best_set_holds_no_package_within_another():
    for units in range(1, 11):
        scaling = BEST_SET.scale(TOPOLOGY_17, units)
        assert scaling.units <= units
        assert scaling.increase >= PredictiveScaler().scale(TOPOLOGY_17, units).increase - 1e-6


def test_the_best_set_can_be_looked_at_twice_as_well():
    twice = PredictiveScaler(selection=Selection.KNAPSACK, recheck=True)
    assert "4" not in congested(DIAMOND_B, twice.scale(DIAMOND_B, 2).allocation)


def test_leaves_may_count_differently():
    scaler = PredictiveScaler(weights={"4": 0.0, "5": 0.0})
    assert scaler.scale(TREE, 2).allocation == {"3": 2}


def test_what_gains_nothing_is_not_taken():
    """2 emits nothing, however much it processes."""
    silent = graph("silent", "1 1 100 1 2:0.5 3:0.5\n2 1 20 0\n3 1 90 1")
    scaling = PredictiveScaler().scale(silent, 3)
    assert (scaling.units, scaling.reasons) == (
        0,
        ("3 units are left: nothing more would gain anything",),
    )


def test_what_cannot_be_decongested_below_its_head_is_not_taken():
    """b never does more than 90; c would gain, but b would drop more."""
    assert PredictiveScaler().scale(levelling_off(), 5).units == 0
