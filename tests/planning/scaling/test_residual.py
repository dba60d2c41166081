"""Every unit that packages leave."""

from dataclasses import replace

import pytest

from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.residual import ResidualScaler
from tests.planning.scaling.published import LINEAR, TOPOLOGY_17, graph


def test_the_unit_that_is_left_goes_to_the_head_of_the_smallest_package():
    scaling = ResidualScaler().scale(LINEAR, 2)
    optimal = scaling.considered[0]
    assert (optimal.allocation, optimal.increase) == ({"3": 1}, pytest.approx(150))
    assert (scaling.allocation, scaling.increase) == ({"2": 1, "3": 1}, pytest.approx(250))
    assert scaling.reasons[-1] == "1 remaining unit to 2: its package needs the fewest units, 2"


def test_a_head_gets_its_unit_where_no_package_fits_at_all():
    """Only 2 is congested, and its package needs units for 3 too."""
    narrow = graph("narrow", "1 1 600 1 2:1\n2 1 400 1 3:1\n3 1 400 1")
    scaling = ResidualScaler().scale(narrow, 1)
    assert scaling.considered[0].units == 0
    assert scaling.allocation == {"2": 1}


def test_the_next_unit_goes_below_the_head_of_the_last():
    """The package of 2 needs three units; when 2 has got one of two, 3 has a package of one."""
    narrow = graph("narrow", "1 1 600 1 2:1\n2 1 400 1 3:1\n3 1 400 1 4:1\n4 1 400 1")
    assert ResidualScaler().scale(narrow, 2).allocation == {"2": 1, "3": 1}


def test_sources_get_what_nobody_else_needs():
    scaling = ResidualScaler().scale(LINEAR, 4)
    assert scaling.allocation == {"1": 1, "2": 1, "3": 2}


def test_it_ends_where_no_number_of_units_decongests():
    flat = ScalingGraph(
        name="flat",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=100.0), source=True),
            Component(name="a", units=1, law=TableLaw(rates=(50.0, 60.0, 60.0))),
        ),
        edges=(Edge(source="s", target="a", share=1.0),),
    )
    scaling = ResidualScaler().scale(flat, 7)
    assert (scaling.units, scaling.expected) == (7, 60.0)


@pytest.mark.parametrize("units", [1, 7, 40])
def test_all_units_are_used(units):
    assert ResidualScaler().scale(TOPOLOGY_17, units).units == units


def test_of_packages_of_the_same_size_the_one_that_gains_more_comes_first():
    """Both need a unit for the head and one below it; through 4 more can pass."""
    pair = graph(
        "pair",
        "1 1 400 1 2:0.5 4:0.5\n2 1 150 1 3:1\n3 1 150 1\n4 1 120 1 5:1\n5 1 120 1",
    )
    assert ResidualScaler().scale(pair, 1).allocation == {"4": 1}


def test_what_can_be_decongested_comes_before_what_cannot():
    """Below 2, 3 never does more than 150; 4's package needs 2 units, of which there is one."""
    pair = graph(
        "pair",
        "1 1 400 1 2:0.5 4:0.5\n2 1 150 1 3:1\n3 1 150 1\n4 1 180 1 5:1\n5 1 180 1",
    )
    flat = replace(pair.by_name["3"], law=TableLaw(rates=(150.0, 150.0)))
    parts = tuple(flat if one.name == "3" else one for one in pair.components)
    assert ResidualScaler().scale(replace(pair, components=parts), 1).allocation == {"4": 1}
