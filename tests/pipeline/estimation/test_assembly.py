"""Level two: from figures to the profile of a job on a plan."""

import numpy as np
import pytest

from streamgauge.lake.records import LinkKind, PlacedExecutor, Plan
from streamgauge.pipeline.estimation.assembly import Extras, LinkCounts, profile_of
from streamgauge.pipeline.estimation.measured import path_of
from streamgauge.pipeline.estimation.schemas import REPLICAS
from streamgauge.pipeline.estimation.standard_errors import stated_error
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.profile.figures import Period, RateSeries, Saturation, TaskId
from streamgauge.topology.topology import StreamKey
from tests.pipeline.estimation.rows import counted, row, slotted, table

JOB = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source, tasks: 2}, a: {tasks: 3}, b: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: b, grouping: shuffle}
configuration: {executors: {s: 2, a: 2}, workers: 1}
"""
# The engine numbers tasks as it likes: operators by name, from 4 on.
PLAN = Plan(
    topology="t",
    plan_id="p",
    engine="storm-2",
    valid_from_us=0,
    document=JOB,
    executors=tuple(
        PlacedExecutor(component=name, first_task=first, last_task=last, worker="n:1", node="n")
        for name, first, last in (
            ("b", 7, 7),
            ("a", 6, 6),
            ("a", 4, 5),
            ("s", 9, 9),
            ("s", 8, 8),
        )
    ),
)
BLOCKS = 10
RATES = {4: 60, 5: 30, 6: 10}


def task(component, number):
    return {"component": component, "task": number, "worker": "n:1", "node": "n"}


def rows(blocks=BLOCKS):
    """Both tasks of `s` send 60, 30 and 10 tuples a block to those of `a`; it doubles them."""
    found = []
    for sender in (8, 9):
        found += counted("emitted", [100] * blocks, subject=task("s", sender), stream="default")
        for target, count in RATES.items():
            found += counted(
                "transferred",
                [count] * blocks,
                subject=task("a", target),
                stream="default",
                source_component="s",
                source_task=sender,
            )
    for number, count in RATES.items():
        subject = task("a", number)
        executed = np.full((blocks, 5), 2 * count // 5)
        found += slotted(
            {("executed", "default", "s"): executed, ("emitted", "default", None): 2 * executed},
            subject=subject,
        )
        found += counted("sent", [4 * count] * blocks, subject=subject, stream="default")
        # Five milliseconds each.
        found += [
            row(
                "execute_latency_sum",
                block,
                10_000_000 * count,
                2 * count,
                subject=subject,
                stream="default",
                source_component="s",
            )
            for block in range(blocks)
        ]
    # A tenth of what `a` sends is not executed.
    found += counted(
        "executed",
        [360] * blocks,
        subject=task("b", 7),
        stream="default",
        source_component="a",
    )
    return found


def profiled(found, extra=None):
    figures = figures_of(table(found))
    return profile_of(figures, PLAN, extra or Extras())


@pytest.fixture(scope="module")
def profile():
    return profiled(rows())[0]


def test_tasks_are_known_by_their_place_within_the_operator(profile):
    rates = [profile.tasks["a", place].inputs["s", "default"].per_second for place in range(3)]
    assert [rate.value for rate in rates] == pytest.approx([4.0, 2.0, 2 / 3])


def test_shares_of_tasks_among_their_operator(profile):
    inputs = [profile.tasks["a", place].inputs["s", "default"] for place in range(3)]
    outputs = [profile.tasks["a", place].outputs["default"] for place in range(3)]
    assert [one.share.value for one in inputs] == pytest.approx([0.6, 0.3, 0.1])
    assert [one.share.value for one in outputs] == pytest.approx([0.6, 0.3, 0.1])
    assert inputs[0].share.samples == 1200


def test_routing_shares_by_subscriber(profile):
    shares = profile.tasks["s", 0].outputs["default"].shares
    assert shares["a"].parts == pytest.approx((0.6, 0.3, 0.1))
    assert shares["a"].samples == 1000


def test_outputs_per_input(profile):
    coefficients = profile.tasks["a", 0].outputs["default"].coefficients
    assert coefficients[StreamKey("s", "default")].value == pytest.approx(2.0)


def test_capacity_adds_up_the_tasks_of_an_executor(profile):
    # Tasks 4 and 5: six tuples a second of five milliseconds.
    assert profile.executors["a[4-5]"].capacity.value == pytest.approx(0.03)
    assert profile.placement["a[4-5]"] == "n:1"


def test_juice_is_what_the_sink_executed(profile):
    # Of `a` no transfers are known; what it sent is.
    assert profile.juice.topology.value == pytest.approx(0.9)
    assert profile.juice.operators == pytest.approx({"s": 1.0, "a": 1.0, "b": 0.9})


def test_arrivals_that_nobody_executed_are_those_that_were_sent():
    sent = [one for one in rows() if one["metric"] in ("transferred", "emitted")]
    found = profiled(sent)[0].tasks["a", 1].inputs["s", "default"].per_second
    assert found.value == pytest.approx(2.0)
    assert found.samples == 2 * 300


def test_without_executions_there_is_no_juice():
    some = [one for one in rows() if (one["metric"], one["component"]) != ("executed", "b")]
    assert profiled(some)[0].juice is None


def test_cpu_time_by_regression_is_given_to_the_executors_tasks():
    executed = np.random.default_rng(1).poisson(50, (BLOCKS, 5))
    idle = np.random.default_rng(2).poisson(4_000_000, (BLOCKS, 5))
    regression = slotted(
        {
            ("executed", "default", "s"): executed,
            ("executor_idle", None, None): idle,
            ("executor_cpu", None, None): 3_000 * executed + idle // 10,
        },
        subject={"component": "a", "executor": "a[4-5]", "worker": "n:1"},
    )
    tasks = profiled(rows() + regression)[0].tasks
    for place in (0, 1):
        cpu = tasks["a", place].inputs["s", "default"].cpu
        assert cpu.mean_ms.value == pytest.approx(3.0, rel=1e-3)
        assert cpu.scv is None
        assert cpu.mean_ms.samples == tasks["a", place].inputs["s", "default"].per_second.samples
    assert tasks["a", 2].inputs["s", "default"].cpu is None


def test_a_figure_carries_samples_buckets_and_students_error():
    uneven = [
        row("executed", n, 50 + n, subject=task("b", 7), stream="default", source_component="a")
        for n in range(9)
    ]
    figures = figures_of(table(uneven))
    plain = next(one for one in figures.to_pylist() if one["figure"] == "arrival_rate")
    found = profile_of(figures, PLAN)[0].tasks["b", 0].inputs["a", "default"].per_second
    assert found.standard_error == pytest.approx(stated_error(plain["standard_error"], 9))
    assert (found.samples, found.buckets) == (sum(range(50, 59)), 45)


def test_replicas_stand_by_the_path_of_their_figure():
    profile, replicas = profiled(rows())
    assert replicas.schema.equals(REPLICAS)
    by_path = dict(zip(replicas["path"].to_pylist(), replicas["values"].to_pylist(), strict=True))
    assert by_path["tasks/a/0/inputs/s/default/per_second"] == pytest.approx([4.0] * 100)
    assert by_path["tasks/a/0/inputs/s/default/wall/mean_ms"] == pytest.approx([5.0] * 100)
    assert by_path["tasks/a/0/inputs/s/default/share"] == pytest.approx([0.6] * 100)
    assert by_path["tasks/s/1/outputs/default/shares/a/2"] == pytest.approx([0.1] * 100)
    assert by_path["tasks/a/2/outputs/default/coefficients/s/default"] == pytest.approx([2.0] * 100)
    assert by_path["executors/a[4-5]/capacity"] == pytest.approx([0.03] * 100)
    assert by_path["juice/topology"] == pytest.approx([0.9] * 100)
    assert (profile.replicas.count, profile.replicas.blocks) == (100, BLOCKS)
    assert list(by_path) == sorted(by_path)


def test_slashes_in_names_are_escaped():
    assert path_of("tasks", "a/b", 3, "50%") == "tasks/a%2Fb/3/50%25"


def test_the_order_of_figures_makes_no_difference():
    figures = figures_of(table(rows()))
    expected = profile_of(figures, PLAN)
    shuffled = figures.take(np.random.default_rng(1).permutation(len(figures)))
    found = profile_of(shuffled, PLAN)
    assert found[0] == expected[0]
    assert found[1].equals(expected[1])


def notes(found):
    return " | ".join(profiled(found)[0].notes)


def test_too_few_blocks_are_noted():
    assert "no replicas" in notes(rows(blocks=7))
    assert "7 blocks of 30 s, 8 are needed" in notes(rows(blocks=7))
    assert profiled(rows(blocks=7))[0].replicas.count == 0


def test_tasks_that_are_not_in_the_plan_are_left_out_and_noted():
    stranger = counted("emitted", [1] * BLOCKS, subject=task("a", 99), stream="default")
    assert "not in the plan and left out: a 99" in notes(rows() + stranger)


def test_tasks_of_which_nothing_was_seen_are_noted():
    silent = [one for one in rows() if one.get("source_task") != 9 and one.get("task") != 9]
    assert "no metrics arrived from 1 of 2 tasks of s: 1" in notes(silent)


def test_tasks_that_were_idle_beside_others_of_their_executor_are_noted():
    """Tasks 4 and 5 are of one executor."""
    silent = [one for one in rows() if one.get("source_task") != 5 and one.get("task") != 5]
    expected = "1 of 3 tasks of a did nothing while others of their executors worked: 1"
    assert expected in notes(silent)
    assert "no metrics arrived" not in notes(silent)


def test_streams_that_the_topology_does_not_have_are_noted():
    other = counted("emitted", [1] * BLOCKS, subject=task("a", 4), stream="side")
    assert "left out: a/side" in notes(rows() + other)


def test_figures_of_another_plan_are_left_out_and_noted():
    other = [one | {"plan_id": "q"} for one in counted("executor_cpu", [1], subject=task("a", 4))]
    assert "of other plans were left out" in notes(rows() + other)


def test_latency_below_zero_is_left_out_and_noted():
    early = [
        row("end_to_end_latency_sum", n, -1000, 10, subject=task("b", 7), source_component="s")
        for n in range(BLOCKS)
    ]
    profile = profiled(rows() + early)[0]
    assert profile.tasks["b", 0].end_to_end == {}
    assert "clocks differ: s to b" in " | ".join(profile.notes)


def test_an_output_that_is_not_linear_is_flagged_and_noted():
    executed = np.random.default_rng(3).integers(100, 1000, 20)
    found = counted(
        "executed", executed, subject=task("a", 4), stream="default", source_component="s"
    )
    found += counted("emitted", np.minimum(executed, 400), subject=task("a", 4), stream="default")
    profile = profiled(found)[0]
    assert profile.tasks["a", 0].outputs["default"].linear is False
    assert "a/default is not linear in its inputs, seen in 1 of 3 tasks" in profile.notes


def test_everything_else_is_taken_as_it_comes():
    key = StreamKey("s", "default")
    extra = Extras(
        links=(
            LinkCounts(
                source="n",
                target="m",
                kind=LinkKind.ROUND_TRIP,
                total_ns=4_000_000,
                probes=2,
                measurements=1,
            ),
        ),
        keys={key: {"rare": 1, "often": 9, "never": 0}},
        sources={key: RateSeries(start="2026-01-01T00:00:00Z", step_seconds=60, per_second=(1.0,))},
        saturation={"a": (Saturation("p", 2, 1.0, 10.0, 20.0, 0.0),)},
        backpressure_minutes=1.5,
        period=Period(start="2026-01-01T00:00:00Z", end="2026-01-01T00:05:00Z"),
        seed=7,
        replicas_file="t.parquet",
        notes=("first",),
    )
    profile, _ = profiled(rows(), extra)
    assert profile.links[0].latency.mean_ms.value == pytest.approx(1.0)
    assert profile.keys[key].names() == ("often", "rare")
    assert profile.sources[key].per_second == (1.0,)
    assert profile.saturation["a"][0].output_per_second == 20.0
    assert profile.backpressure_minutes == 1.5
    assert (profile.replicas.seed, profile.replicas.file) == (7, "t.parquet")
    assert profile.notes[0] == "first"
    assert TaskId("a", 0) in profile.tasks
