"""Figures of tasks, executors and queues add up to rates of components."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.planning.scaling.files.scale_out_file import (
    ScaleOut,
    parse_scale_out,
    scale_out_to_data,
)
from streamgauge.planning.scaling.from_profile import graph_of_profile
from streamgauge.planning.scaling.measured import MeasuredRates, measured_rates
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
