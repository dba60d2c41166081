"""How many instances: eq. 4.1 with Z5, the options of a spectrum, and uneven keys."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.packing.parallelism import (
    choose_options,
    correct_skew,
    find_parallelism,
    most_sources,
)
from streamgauge.planning.scaling.graph import (
    Component,
    Edge,
    LinearLaw,
    ScalingGraph,
    TableLaw,
)


def graph(per_unit: float = 10_000.0, share: float = 1.0) -> ScalingGraph:
    return ScalingGraph(
        name="job",
        components=(
            Component(name="in", units=1, law=LinearLaw(per_unit=22_774.85), source=True),
            Component(name="work", units=1, law=LinearLaw(per_unit=per_unit), out_per_in=0.5),
            Component(name="left", units=1, law=LinearLaw(per_unit=10_000.0)),
            Component(name="right", units=1, law=LinearLaw(per_unit=10_000.0)),
        ),
        edges=(
            Edge(source="in", target="work", share=1.0),
            Edge(source="work", target="left", share=share),
            Edge(source="work", target="right", share=1.0 - share),
        ),
    )


def test_z5_m_03_three_sources_need_seven_instances():
    assert find_parallelism(graph(), {"in": 3}, busy=1.0).instances["work"] == 7


def test_m_03_an_edge_counts_with_its_own_rate_not_with_all_that_the_parent_emits():
    # 3 · 22,774.85 · 0.5 = 34,162: a fifth of it is 6,832, and 27,330 the rest.
    found = find_parallelism(graph(share=0.2), {"in": 3}, busy=1.0).instances
    assert (found["left"], found["right"]) == (1, 3)


def test_m_03_an_operator_without_input_has_one_instance():
    assert find_parallelism(graph(share=1.0), {"in": 3}).instances["right"] == 1


def test_m_03_a_threshold_leaves_room():
    assert find_parallelism(graph(), {"in": 3}, busy=0.9).instances["work"] == 8


def test_m_03_whole_ratios_are_not_raised_by_rounding():
    exact = graph(per_unit=22_774.85 / 3.0)
    assert find_parallelism(exact, {"in": 7}, busy=1.0).instances["work"] == 21


def test_m_03_instances_that_bring_less_and_less_are_counted_by_their_table():
    falling = Component(name="work", units=1, law=TableLaw(rates=(10.0, 15.0, 18.0)))
    source = Component(name="in", units=1, law=LinearLaw(per_unit=21.0), source=True)
    edges = (Edge(source="in", target="work", share=1.0),)
    small = ScalingGraph(name="j", components=(source, falling), edges=edges)
    assert find_parallelism(small, {}, busy=1.0).instances["work"] == 4


def test_m_05_sources_take_all_that_is_offered_and_no_more():
    assert most_sources(100_000.0, 22_774.85) == 5
    assert most_sources(22_774.85 * 4, 22_774.85) == 4
    assert most_sources(1.0, 22_774.85) == 1


def test_m_04_the_spectrum_is_every_number_or_so_many_with_both_ends():
    assert choose_options(4) == (1, 2, 3, 4)
    assert choose_options(10, 4) == (1, 4, 7, 10)
    assert choose_options(10, 3, least=4) == (4, 7, 10)
    assert choose_options(10, 1) == (10,)


def test_m_17_the_most_overloaded_operator_gets_instances_in_proportion():
    incoming = {"work": [100.0, 300.0], "left": [100.0, 120.0], "right": [10.0]}
    capacity = {"work": 100.0, "left": 100.0, "right": 100.0}
    corrected = correct_skew({"work": 2, "left": 2, "right": 1}, incoming, capacity, busy=1.0)
    assert corrected == {"work": 6, "left": 2, "right": 1}


def test_m_17_nothing_changes_where_no_instance_gets_too_much():
    assert correct_skew({"work": 2}, {"work": [80.0, 90.0]}, {"work": 100.0}) == {"work": 2}


def test_what_is_no_source_or_no_number_is_refused():
    with pytest.raises(InvalidInput, match="work: no source; expected one of in"):
        find_parallelism(graph(), {"work": 2})
    with pytest.raises(InvalidInput):
        choose_options(0)
