"""What flows through a graph with drops and joins, who is congested, how many units end it."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.rates import (
    BY_CAPACITY,
    CongestionRule,
    FlowModel,
    find_congested,
    propagate,
)
from tests.planning.scaling.published import LINEAR, TOPOLOGY_17


def linear(spout: float = 600.0) -> ScalingGraph:
    """Puttaswamy 2018, Table 6.1: a chain of four."""
    most = {"2": 400.0, "3": 250.0, "4": 900.0}
    return ScalingGraph(
        name="linear",
        components=(
            Component(name="1", units=1, law=LinearLaw(per_unit=spout), source=True),
            *(Component(name=n, units=1, law=LinearLaw(per_unit=r)) for n, r in most.items()),
        ),
        edges=tuple(Edge(source=a, target=b, share=1.0) for a, b in ("12", "23", "34")),
    )


def test_what_is_more_than_the_capacity_is_dropped():
    second = propagate(linear(spout=500.0))["2"]
    assert (second.input, second.processed, second.dropped) == (500.0, 400.0, 100.0)
    assert (second.capacity, second.output) == (400.0, 400.0)


@pytest.mark.parametrize(
    ("allocation", "throughput"),
    [({}, 250), ({"3": 1}, 400), ({"2": 1, "3": 1}, 500), ({"2": 1, "3": 2}, 600)],
)
def test_the_chain_emits_what_its_narrowest_component_lets_through(allocation, throughput):
    assert propagate(linear(), allocation).throughput == throughput


def test_a_source_emits_in_proportion_to_its_units():
    assert propagate(linear(), {"1": 1})["1"].output == 1200.0


def test_capacity_grows_with_units():
    assert [propagate(linear(), {"3": more})["3"].capacity for more in (0, 1, 2)] == [250, 500, 750]


def test_a_share_of_the_parents_output_arrives():
    graph = ScalingGraph(
        name="split",
        components=(
            Component(name="s", units=2, law=LinearLaw(per_unit=1000.0), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=400.0), out_per_in=2.0),
            Component(name="b", units=1, law=LinearLaw(per_unit=2000.0)),
        ),
        edges=(Edge(source="s", target="a", share=0.25), Edge(source="s", target="b", share=0.75)),
    )
    rates = propagate(graph)
    assert (rates["a"].input, rates["a"].dropped, rates["a"].output) == (500.0, 100.0, 800.0)
    assert rates.throughput == 800.0 + 1500.0
    assert propagate(graph, weights={"a": 0.5, "b": 0.0}).throughput == 400.0


def test_a_join_waits_for_all_of_its_parents_however_they_are_declared():
    """The short path s → j is declared before the long one s → a → b → j."""
    law = LinearLaw(per_unit=1000.0)
    graph = ScalingGraph(
        name="join",
        components=(
            Component(name="j", units=1, law=law),
            Component(name="s", units=1, law=LinearLaw(per_unit=100.0), source=True),
            Component(name="a", units=1, law=law),
            Component(name="b", units=1, law=law, out_per_in=3.0),
        ),
        edges=tuple(Edge(source=a, target=b, share=0.5) for a, b in ("sj", "sa", "ab", "bj")),
    )
    assert propagate(graph)["j"].input == 50.0 + 0.5 * 3.0 * 0.5 * 0.5 * 100.0


def test_a_table_law_is_followed_step_by_step():
    law = TableLaw(rates=(100.0, 150.0, 170.0))
    assert [law.rate(units) for units in (1, 2, 3, 5)] == [100.0, 150.0, 170.0, 210.0]


def test_asking_what_if_changes_nothing():
    graph = linear()
    before = propagate(graph)
    assert propagate(graph, {"3": 1}) != before
    assert propagate(graph) == before


def test_a_flow_brought_up_to_date_is_the_flow_computed_anew():
    model = FlowModel(linear())
    before = model.flow()
    kept = before.copy()
    assert model.with_more(before, model.index["2"]) == model.flow({"2": 1})
    assert before == kept


def test_rates_are_a_plain_record():
    document = propagate(linear()).to_dict()
    assert document["throughput"] == 250.0
    assert document["components"]["3"] == {
        "units": 1,
        "input": 400.0,
        "capacity": 250.0,
        "processed": 250.0,
        "dropped": 150.0,
        "output": 250.0,
    }


def test_unknown_components_are_refused_with_a_guess():
    with pytest.raises(InvalidInput, match="component '33'"):
        propagate(linear(), {"33": 1})
    with pytest.raises(InvalidInput, match="'2', which is not a sink"):
        propagate(linear(), weights={"2": 1.0})


def test_rates_that_no_number_holds_are_refused():
    with pytest.raises(InvalidInput, match="too large for floating point"):
        propagate(linear(spout=1.7e308), {"1": 1})


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
