"""Who is congested, and how many units end it."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.rates import (
    BY_CAPACITY,
    CongestionRule,
    FlowModel,
    find_congested,
)
from tests.planning.scaling.published import LINEAR, TOPOLOGY_17


def test_who_just_keeps_up_is_not_congested():
    assert not BY_CAPACITY.is_congested(400.0, 400.0)
    assert BY_CAPACITY.is_congested(400.001, 400.0)


def test_rounding_is_not_congestion():
    assert not BY_CAPACITY.is_congested(0.1 + 0.2, 0.3)


def test_drops_up_to_a_threshold_are_tolerated():
    rule = CongestionRule(drop_threshold=100.0)
    assert find_congested(TOPOLOGY_17, rule=rule) == ("9", "10", "11", "16")


def test_units_may_be_added_first():
    assert find_congested(LINEAR) == ("2", "3")
    assert find_congested(LINEAR, {"3": 1}) == ("2",)
    assert find_congested(LINEAR, {"2": 1}) == ("3",)


def test_sources_are_looked_at_only_when_nothing_else_is_congested():
    model = FlowModel(LINEAR)
    names = [model.names[head] for head in BY_CAPACITY.heads(model, model.flow())]
    assert names == ["2", "3"]
    relieved = model.flow({"2": 1, "3": 2})
    assert [model.names[head] for head in BY_CAPACITY.heads(model, relieved)] == ["1"]


@pytest.mark.parametrize(
    ("arriving", "units"), [(200.0, 1), (250.0, 1), (251.0, 2), (750.0, 3), (25_000.0, 100)]
)
def test_as_few_units_as_keep_up(arriving, units):
    model = FlowModel(LINEAR)
    assert BY_CAPACITY.units_for(model, model.index["3"], arriving, 1) == units


def test_no_number_of_units_is_enough_where_a_law_levels_off():
    graph = ScalingGraph(
        name="flat",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=100.0), source=True),
            Component(name="a", units=1, law=TableLaw(rates=(50.0, 60.0, 60.0))),
        ),
        edges=(Edge(source="s", target="a", share=1.0),),
    )
    assert BY_CAPACITY.units_for(FlowModel(graph), 1, 61.0, 1) is None


def test_a_rule_refuses_what_is_no_threshold():
    with pytest.raises(InvalidInput, match="drop_threshold: -1"):
        CongestionRule(drop_threshold=-1.0)
