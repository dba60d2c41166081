"""One unit after the other."""

import pytest

from streamgauge.planning.scaling.contract import TieRule
from streamgauge.planning.scaling.stela import StelaScaler
from tests.planning.scaling.published import (
    DIAMOND_AS_PRINTED,
    LINEAR,
    TOPOLOGY_17,
    TREE,
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
