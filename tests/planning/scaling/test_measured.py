"""Rates of components from figures of a profile, and against what was estimated."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.planning.scaling.files.scale_out_file import (
    ScaleOut,
    parse_scale_out,
    scale_out_to_data,
)
from streamgauge.planning.scaling.from_profile import graph_of_profile
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.measured import (
    Compared,
    MeasuredRates,
    accuracy_of,
    measured_rates,
)
from streamgauge.profile.figures import ExecutorFigures, Figure, QueueFigures
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import dump_json
from tests.described_profiles import described_profile


@pytest.fixture
def profile(project: Path) -> Profile:
    """A line at 1,000 events/s, of which a filter passes half."""
    return described_profile(load_job(project / "examples" / "henge-linear.yaml"))


def dropping(profile: Profile, per_second: dict[str, float]) -> Profile:
    queues = {
        label: ExecutorFigures(receive=QueueFigures(drops_per_second=Figure(value=rate)))
        for label, rate in per_second.items()
    }
    return replace(profile, executors=queues)


def test_tasks_add_up_to_their_operator(profile):
    found = measured_rates(profile)
    assert {name: one.processed for name, one in found.items()} == pytest.approx(
        {"events": 1000, "transform": 1000, "filter": 1000, "aggregate": 500}
    )
    assert found["filter"].output == pytest.approx(500)


def test_what_a_leaf_processes_is_its_output(profile):
    assert measured_rates(profile)["aggregate"].output == pytest.approx(500)


def test_what_arrives_is_what_was_processed_and_what_was_thrown_away(profile):
    found = measured_rates(dropping(profile, {"filter[7-8]": 30, "filter[9-10]": 20}))
    assert found["filter"].dropped == 50
    assert found["filter"].input == pytest.approx(1050)
    assert found["aggregate"].dropped == 0


def test_operators_that_nobody_counted_are_left_out(profile):
    tasks = {one: task for one, task in profile.tasks.items() if one.operator != "filter"}
    assert "filter" not in measured_rates(replace(profile, tasks=tasks))


def test_measured_rates_that_fit_the_graph_are_written_without_a_word(profile):
    written = ScaleOut(graph=graph_of_profile(profile).graph)
    data = scale_out_to_data(written, measured_rates(profile))
    assert parse_scale_out(dump_json(data)).warnings == ()


def test_tuples_that_were_emitted_and_never_arrived_are_named(profile):
    seen = measured_rates(profile)
    lossy = {**seen, "aggregate": MeasuredRates(processed=450, output=450)}
    written = ScaleOut(graph=graph_of_profile(profile).graph)
    (warning,) = parse_scale_out(dump_json(scale_out_to_data(written, lossy))).warnings
    assert "component aggregate: 450; expected 500, what its parents send" in str(warning)


GRAPH = ScalingGraph(
    name="line",
    components=(
        Component(name="s", units=1, law=LinearLaw(per_unit=100), source=True),
        Component(name="a", units=1, law=LinearLaw(per_unit=60), out_per_in=2),
        Component(name="b", units=1, law=LinearLaw(per_unit=500), out_per_in=0.5),
    ),
    edges=(Edge(source="s", target="a", share=1), Edge(source="a", target="b", share=1)),
)


def test_an_error_is_a_part_of_what_was_measured():
    assert Compared(measured=80, estimated=100).relative_error == pytest.approx(0.25)
    assert Compared(measured=100, estimated=80).relative_error == pytest.approx(-0.2)
    assert Compared(measured=0, estimated=0).relative_error == 0
    assert Compared(measured=0, estimated=1).relative_error == math.inf


def test_estimates_beyond_the_band_are_named_the_worst_first():
    # The graph says 100, 60 and 120.
    found = accuracy_of(GRAPH, {"s": 100, "a": 50, "b": 100})
    assert found.components["b"] == Compared(measured=100, estimated=120)
    assert found.share_within == pytest.approx(1 / 3)
    assert accuracy_of(GRAPH, {"a": 50, "b": 60}).outside == ("b", "a")
    assert accuracy_of(GRAPH, {"s": 100, "a": 55, "b": 110}).outside == ()


def test_the_band_can_be_chosen():
    measured = {"s": 100, "a": 50, "b": 100}
    assert accuracy_of(GRAPH, measured, band=0.2).outside == ()
    assert accuracy_of(GRAPH, {"a": 30, "b": 100}, band=0.05).outside == ("a", "b")


def test_throughput_is_what_the_leaves_emit_of_what_they_were_seen_to_process():
    found = accuracy_of(GRAPH, {"b": 110})
    assert found.throughput == Compared(measured=55, estimated=60)
    assert found.missing == ("s", "a")
    assert accuracy_of(GRAPH, {"a": 60}).throughput is None


def test_the_run_had_the_units_of_the_allocation():
    assert accuracy_of(GRAPH, {"a": 100}, {"a": 1}).components["a"].estimated == 100


def test_a_record_has_no_infinite_number():
    row = accuracy_of(GRAPH, {"a": 0}).to_dict()["components"]["a"]
    assert row == {
        "measured_per_second": 0,
        "estimated_per_second": 60,
        "relative_error": None,
        "within": False,
    }


def test_rates_of_what_is_not_there_are_refused():
    with pytest.raises(InvalidInput, match="a rate of 'c'"):
        accuracy_of(GRAPH, {"c": 1})
    with pytest.raises(NotEnoughData, match="no rate of 'line' was measured"):
        accuracy_of(GRAPH, {})
