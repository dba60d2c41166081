"""Units for a congested component, and all that its larger output asks for below it."""

import pytest
from hypothesis import given

from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.packages import Package, candidates, package_of, union
from streamgauge.planning.scaling.rates import BY_CAPACITY, FlowModel, find_congested
from tests.planning.scaling.graphs import graphs, levelling_off
from tests.planning.scaling.published import LINEAR, TOPOLOGY_17, graph


def packages(of: ScalingGraph, limit: int, given: dict[str, int] | None = None) -> list[Package]:
    """All candidates."""
    model = FlowModel(of)
    return candidates(model, model.flow(given or {}), limit, BY_CAPACITY)


def test_the_packages_of_topology_17_for_three_units():
    found = {(one.head, one.head_units): one for one in packages(TOPOLOGY_17, 3)}
    fitting = {key: (one.increase, one.units) for key, one in found.items() if one.units <= 3}
    assert fitting == {
        ("6", 1): (pytest.approx(40), 1),
        ("8", 1): (pytest.approx(60), 1),
        ("10", 1): (pytest.approx(200), 1),
        ("11", 1): (pytest.approx(300), 1),
        ("16", 1): (pytest.approx(500), 1),
        ("16", 2): (pytest.approx(700), 2),
    }
    assert found["16", 2].ratio == pytest.approx(350)


def test_packages_that_need_more_than_there_is_are_kept():
    too_large = {
        one.head: (dict(one.allocation), one.increase)
        for one in packages(TOPOLOGY_17, 3)
        if one.units > 3
    }
    assert too_large == {
        "9": ({"9": 1, "16": 2, "17": 1}, pytest.approx(1100)),
        "5": ({"5": 1, "10": 1, "11": 2}, pytest.approx(620)),
        "4": ({"4": 1, "9": 1, "16": 3, "17": 1}, pytest.approx(1700)),
    }


def test_a_head_may_stay_congested_in_part():
    """600 arrive at 3 once 2 lets them through; 3 has 250 a unit."""
    states = [
        (one.head_units, one.relieved) for one in packages(LINEAR, 5, {"2": 1}) if one.head == "3"
    ]
    assert states == [(1, False), (2, True)]


def test_components_with_units_to_spare_give_none_back():
    """4 needs one of its three units."""
    over = graph("over", "1 1 600 1 2:1\n2 1 400 1 4:1\n4 3 2700 1")
    assert [dict(one.allocation) for one in packages(over, 3)] == [{"2": 1}]


def test_a_join_gets_what_all_of_its_parents_send():
    """Through a 300, past it 500: 800 arrive at the join, of which a unit does 250."""
    join = graph("join", "1 1 1000 1 2:0.5 3:0.5\n2 1 300 1 3:1\n3 1 250 1")
    first = packages(join, 9)[0]
    assert (first.head, dict(first.allocation)) == ("2", {"2": 1, "3": 3})
    assert first.increase == 1000 - 250


def test_a_package_below_which_a_law_levels_off_is_incomplete():
    model = FlowModel(levelling_off())
    package = package_of(model, model.flow(), model.index["a"], 1, BY_CAPACITY)
    assert not package.complete


@given(graph=graphs())
def test_nothing_below_a_head_is_congested_and_with_a_unit_less_it_would_be(graph: ScalingGraph):
    for package in packages(graph, 4):
        below = graph.descendants[package.head]
        assert package.allocation.keys() <= {package.head, *below}
        if package.complete:
            assert below.isdisjoint(find_congested(graph, package.allocation))
        for name in below.intersection(package.allocation):
            less = {**package.allocation, name: package.allocation[name] - 1}
            assert name in find_congested(graph, less)


@given(graph=graphs())
def test_a_package_holds_those_of_congested_components_below_its_head(graph: ScalingGraph):
    """Once the head lets more through, whoever was congested below it needs no less."""
    found = [one for one in packages(graph, 6) if one.complete]
    for large in found:
        inside = [
            one for one in found if one.relieved and one.head in graph.descendants[large.head]
        ]
        for small in inside:
            assert all(
                large.allocation.get(name, 0) >= units for name, units in small.allocation.items()
            )


def test_two_congested_branches_and_one_below():
    """Puttaswamy 2018, Figure 1.2: B, C and D are congested; F will be, when C sends more."""
    job = graph(
        "figure 1.2",
        """
        A 1 300 1 B:0.5 C:0.5
        B 1 100 1 D:1
        D 1 90 1
        C 1 100 1 F:1
        F 1 110 1
        """,
    )
    found = [dict(one.allocation) for one in packages(job, 2)]
    assert found == [{"B": 1, "D": 1}, {"D": 1}, {"C": 1, "F": 1}]


def test_a_package_reads_as_a_sentence():
    package = next(one for one in packages(TOPOLOGY_17, 9) if one.head == "9")
    assert str(package) == (
        "1 unit to 9, and downstream 2 to 16, 1 to 17: throughput +1,100 tuples/s, 275 per unit"
    )


def test_a_union_adds_up_component_by_component():
    some = [one for one in packages(TOPOLOGY_17, 3) if one.head in ("9", "16")]
    assert union(some) == {"9": 1, "16": 2 + 1 + 2, "17": 1}


def test_of_the_packages_that_do_not_fit_a_head_has_one():
    """600 arrive at 2, of which a unit does 10: from 6 units for it on no package fits."""
    narrow = graph("narrow", "1 1 600 1 2:1\n2 1 10 1")
    assert [one.units for one in packages(narrow, 5)] == [1, 2, 3, 4, 5]
    longer = graph("longer", "1 1 600 1 2:1\n2 1 10 1 3:1\n3 1 10 1")
    assert [one.units for one in packages(longer, 5)] == [2, 4, 6]


def test_heads_may_be_looked_for_in_a_part_of_the_graph():
    model = FlowModel(TOPOLOGY_17)
    scope = {model.index[name] for name in ("5", "10", "11")}
    found = candidates(model, model.flow(), 1, BY_CAPACITY, scope)
    assert {one.head for one in found} == {"5", "10", "11"}
