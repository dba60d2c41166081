"""Sweeps: every number of units from the same state, with what limits next."""

from dataclasses import dataclass

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.contract import Scaling
from streamgauge.planning.scaling.files.scale_out_file import load_scale_out
from streamgauge.planning.scaling.graph import Component, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.rates import propagate
from streamgauge.planning.scaling.sweep import Bottleneck, next_bottleneck, sweep


@dataclass
class AllToOne:
    """A scaler that knows one component only, and keeps a unit back where it is told to."""

    to: str
    kept: int = 0

    @property
    def name(self) -> str:
        return f"all to {self.to}"

    def describe(self) -> str:
        return "gives all to one"

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        given = {self.to: units - self.kept}
        return Scaling(
            scaler=self.name,
            allocation=given,
            throughput=propagate(graph).throughput,
            expected=propagate(graph, given).throughput,
        )


@pytest.fixture
def linear(project) -> ScalingGraph:
    return load_scale_out(project / "examples" / "scale-out" / "linear.json").graph


def test_every_number_of_units_starts_from_the_same_state(linear):
    rows = sweep(linear, [AllToOne("3"), AllToOne("2")], 3)
    assert [(row.units, row.scaler) for row in rows] == [
        (units, scaler) for units in (1, 2, 3) for scaler in ("all to 3", "all to 2")
    ]
    # Puttaswamy 2018, Table 6.2: 250 before, 400 with a unit for 3; then 2 is in the way.
    assert [row.increase for row in rows if row.scaler == "all to 3"] == [150, 150, 150]
    assert [row.throughput for row in rows if row.scaler == "all to 2"] == [250, 250, 250]


def test_units_that_are_kept_back_show(linear):
    (row,) = sweep(linear, [AllToOne("3", kept=1)], 1)
    assert (row.units, row.used, row.allocation) == (1, 0, {})


def test_what_limits_next_is_the_component_with_the_most_to_do_for_its_capacity(linear):
    # 400 arrive at 3, which can do 250; 600 at 2, which can do 400.
    before = next_bottleneck(linear, propagate(linear))
    assert before == Bottleneck(component="3", utilisation=400 / 250, congested=True)
    after = next_bottleneck(linear, propagate(linear, {"3": 1}))
    assert after == Bottleneck(component="2", utilisation=600 / 400, congested=True)


def test_where_nothing_is_congested_the_fullest_is_next(linear):
    # 600 arrive at all: 2 could do 800, 3 could do 750, 4 could do 900.
    found = next_bottleneck(linear, propagate(linear, {"2": 1, "3": 2}))
    assert found == Bottleneck(component="3", utilisation=600 / 750, congested=False)


def test_sources_alone_have_no_bottleneck():
    source = Component(name="s", units=1, law=LinearLaw(per_unit=1), source=True)
    graph = ScalingGraph(name="alone", components=(source,))
    assert next_bottleneck(graph, propagate(graph)) is None
    assert sweep(graph, [AllToOne("s")], 1)[0].bottleneck is None


def test_a_row_is_a_flat_record(linear):
    (row,) = sweep(linear, [AllToOne("3")], 1)
    assert row.to_dict() == {
        "scaler": "all to 3",
        "units": 1,
        "used": 1,
        "allocation": {"3": 1},
        "throughput": 400,
        "increase": 150,
        "bound": None,
        "next_bottleneck": {"component": "2", "utilisation": 1.5, "congested": True},
    }


def test_no_units_are_no_sweep(linear):
    with pytest.raises(InvalidInput, match="units to hand out"):
        sweep(linear, [AllToOne("3")], 0)
