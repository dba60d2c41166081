"""Stages from lines whose answers can be written down on paper."""

import pytest

from streamgauge.experiments.figures import FigureKind
from streamgauge.experiments.readings import Readings
from streamgauge.experiments.stages import compute_stages
from streamgauge.topology import Operator, OperatorKind, Shuffle, Stream, Topology
from tests.experiments.lines import PLACEMENT, SPAN, of_executor, of_task, sample, write_lines

# `in` sends to `near`, which sends to `far`.
TOPOLOGY = Topology(
    name="t",
    operators=(
        Operator(name="in", kind=OperatorKind.SOURCE),
        Operator(name="near"),
        Operator(name="far"),
    ),
    streams=(
        Stream(source="in", name="s", target="near", grouping=Shuffle()),
        Stream(source="near", name="o", target="far", grouping=Shuffle()),
    ),
)
SECONDS = 4.0


def stages(folder, lines, windows=(0, 1), due=25.0):
    write_lines(folder, lines)
    readings = Readings(PLACEMENT, SPAN, stages=True)
    readings.read(folder)
    sums = readings.stages.pool(windows)
    found = compute_stages(sums, TOPOLOGY, PLACEMENT, seconds=SECONDS, due_per_second=due)
    return {tuple(key): value.value for key, value in found.items()}


def counted(metric, value, component, at=0.0, **keys):
    return sample(metric, value, at, count=value, **of_task(component), **keys)


def sent(value, source, stream, target, tasks, at=0.0):
    return counted(
        "transferred",
        value,
        target,
        at,
        stream=stream,
        source_component=source,
        source_task=tasks[source],
    )


TASKS = {"in": 1, "near": 2, "far": 3}


def test_rates_are_those_of_all_windows_together(tmp_path):
    lines = [
        counted("executed", 30, "near", stream="s", source_component="in"),
        counted("executed", 50, "near", 3.0, stream="s", source_component="in"),
        counted("emitted", 160, "near", 1.0, stream="o"),
    ]
    found = stages(tmp_path, lines)
    assert found["arrival", "near", "per_second"] == 20.0
    assert found["arrival", "near[2]", "per_second"] == 20.0
    assert found["arrival", "near[2] ← in/s", "per_second"] == 20.0
    assert found["output", "near[2] → o", "per_second"] == 40.0


def test_marked_windows_are_left_out(tmp_path):
    lines = [
        counted("executed", 30, "near", stream="s", source_component="in"),
        counted("executed", 50, "near", 3.0, stream="s", source_component="in"),
    ]
    assert stages(tmp_path, lines, windows=[1])["arrival", "near", "per_second"] == 12.5


def test_a_share_is_a_part_of_what_its_sender_sends_on_the_stream(tmp_path):
    found = stages(tmp_path, [sent(40, "in", "s", "near", TASKS)])
    assert found["routing", "in/s → near: in[1] → near[2]", "share"] == 1.0


def test_service_times_are_by_wall_clock_and_on_a_core(tmp_path):
    keys = {"stream": "s", "source_component": "in"}
    lines = [
        sample("execute_latency_sum", 9_000_000, count=3, **of_task("near"), **keys),
        sample("execute_cpu_sum", 2_000_000, count=1, **of_task("near"), **keys),
        sample("emit_latency_sum", 600_000, count=3, **of_task("in"), stream="s"),
    ]
    found = stages(tmp_path, lines)
    assert found["service", "near[2]", "wall"] == pytest.approx(3e-3)
    assert found["service", "near[2]", "cpu"] == pytest.approx(2e-3)
    assert found["service", "near[2]", "slowdown"] == pytest.approx(1.5)
    assert found["service", "in[1]", "wall"] == pytest.approx(2e-4)
    assert ("service", "in[1]", "slowdown") not in found


def test_a_list_has_as_many_tuples_as_came_for_each_list(tmp_path):
    who = {**of_executor("near"), "queue": "receive"}
    lines = [
        sample("queue_arrivals", 90, count=90, **who),
        sample("queue_lists", 36, count=36, **who),
    ]
    assert stages(tmp_path, lines)["list-size", "near[2]", "tuples_per_list"] == 2.5


def test_who_keeps_up_carries_all_that_is_emitted(tmp_path):
    lines = [
        counted("emitted", 100, "in", stream="s"),
        sent(100, "in", "s", "near", TASKS),
        counted("executed", 99, "near", stream="s", source_component="in"),
    ]
    found = stages(tmp_path, lines)
    assert found["load", "all", "emitted_share"] == 1.0
    assert found["load", "near[2]", "served_share"] == 0.99
    assert found["load", "all", "carried_per_second"] == 25.0


def test_what_is_carried_is_what_the_first_full_executor_would_carry(tmp_path):
    # Of 100 tuples `near` serves 80 and sends 160 on, of which `far` serves 80. Were `near` faster,
    # two of each would come to `far`, which serves 20 a second: 10 of the source.
    lines = [
        counted("emitted", 100, "in", stream="s"),
        sent(100, "in", "s", "near", TASKS),
        counted("executed", 80, "near", stream="s", source_component="in"),
        sent(160, "near", "o", "far", TASKS),
        counted("executed", 80, "far", stream="o", source_component="near"),
    ]
    found = stages(tmp_path, lines)
    assert found["load", "near[2]", "served_share"] == 0.8
    assert found["load", "far[3]", "served_share"] == 0.5
    assert found["load", "all", "carried_per_second"] == pytest.approx(10.0)


def test_sources_that_are_held_back_carry_what_they_emit(tmp_path):
    lines = [counted("emitted", 60, "in", stream="s"), sent(60, "in", "s", "near", TASKS)]
    lines.append(counted("executed", 60, "near", stream="s", source_component="in"))
    found = stages(tmp_path, lines)
    assert found["load", "all", "emitted_share"] == 0.6
    assert found["load", "all", "carried_per_second"] == 15.0


def test_messages_of_the_engine_are_no_stage(tmp_path):
    lines = [
        counted("transferred", 7, "in", stream="__ack_ack", source_component="near", source_task=2),
        counted("executed", 7, "in", stream="__ack_ack", source_component="near"),
        counted("emitted", 7, "near", stream="__ack_ack"),
        sample(
            "transferred",
            7,
            count=7,
            topology="t",
            component="__acker",
            task=9,
            stream="__ack_init",
            source_component="in",
            source_task=1,
        ),
    ]
    found = stages(tmp_path, lines)
    assert not [key for key in found if key[0] != FigureKind.LOAD]
