"""What a topology did in all its time."""

from datetime import date, timedelta
from types import SimpleNamespace

import pytest

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.lake.schemas import PLANS
from streamgauge.pipeline.calibrate.history import (
    HISTORY_LABELS,
    MINUTE_US,
    Step,
    backpressure_time,
    saturation,
    source_rates,
    stepped,
    steps,
)
from streamgauge.pipeline.calibrate.partial_sums import day_partials
from streamgauge.pipeline.calibrate.stretches import Recorded, Stretch
from tests.pipeline.calibrate.frames import DAY_US, EPOCH, SECOND, frame_of, sample, stored


def held(topology, first_us, last_us):
    return Recorded(
        cluster=None,
        topology=topology,
        plan_id="p",
        metric="executed",
        first_us=first_us,
        last_us=last_us,
        rows=1,
        needed=1,
        longest_us=1,
    )


@pytest.mark.parametrize(("minutes", "step"), [(1, 1), (500, 1), (501, 2), (1001, 4), (9999, 32)])
def test_steps_double_until_there_are_few_enough(minutes, step):
    (found,) = steps([held("job", 0, minutes * MINUTE_US)], 500)
    assert found == Step(cluster=None, topology="job", step_us=step * MINUTE_US)


def test_steps_are_those_of_all_plans_and_metrics_together():
    found = steps(
        [held("b", 0, 5), held("b", 600 * MINUTE_US, 700 * MINUTE_US), held("a", 0, 9)], 500
    )
    assert [(one.topology, one.step_us // MINUTE_US) for one in found] == [("a", 1), ("b", 2)]


def collected(frame):
    """Rows whose times have their zone."""
    return [SimpleNamespace(**row) for row in frame.toArrow().to_pylist()]


def since(moment):
    return round((moment - EPOCH) / timedelta(seconds=1)) - DAY_US // SECOND


@pytest.fixture(scope="module")
def past(spark, tmp_path_factory):
    """A source of two tasks and an operator, for three minutes; in the second nothing is sent."""
    source = {"component": "s", "stream": "default", "worker": "n:1", "plan_id": "p"}
    operator = {"component": "a", "worker": "n:2", "plan_id": "p"}
    inputs = {**operator, "stream": "default", "source_component": "s", "task": 3}
    records = []
    for second in (0, 10, 120):
        records += [
            sample("emitted", second, 100, task=1, **source),
            sample("emitted", second, 200, task=2, **source),
            sample("emitted", second, 300, task=1, **{**source, "stream": "__ack_init"}),
            sample("executed", second, 280, **inputs),
            sample("executed", second, 9, **{**inputs, "stream": "__system"}),
            sample("emitted", second, 140, task=3, stream="out", **operator),
            sample("backpressure_caused", second, 2 * 10**9, 1, task=3, **operator),
            sample("backpressure_caused", second, 10**9, 1, task=4, **operator),
        ]
    for second in range(0, 180, 10):
        records.append(sample("worker_heartbeats", second, 1, worker="n:1", plan_id="p"))
    for second in range(0, 160, 10):
        records.append(sample("worker_heartbeats", second, 1, worker="n:2", plan_id="p"))
    samples = frame_of(spark, records)
    days = day_partials(samples, [date(2026, 1, 1)], labels=HISTORY_LABELS, all_beat=True)
    return samples, stored(spark, days, tmp_path_factory.mktemp("past") / "sums")


def test_saturation_is_seen_step_by_step_and_source_rates_include_silence(spark, past):
    _, sums = past
    plan = Plan(
        topology="job",
        plan_id="p",
        engine="storm-2",
        valid_from_us=0,
        document="{}",
        executors=(
            PlacedExecutor(component="a", first_task=3, last_task=3, worker="n:2", node="n"),
            PlacedExecutor(component="a", first_task=4, last_task=4, worker="n:2", node="n"),
        ),
    )
    minutes = stepped(sums, [Step(cluster=None, topology="job", step_us=MINUTE_US)])
    cut = [Step(cluster=None, topology="job", step_us=2 * MINUTE_US)]
    # The same plan, recorded when it began and when it came back.
    plans = frame_of(spark, [plan, plan], PLANS)
    rows = {
        (row.component, since(row.step_start)): row
        for row in collected(saturation(minutes, cut, plans))
    }
    assert set(rows) == {("s", 0), ("s", 120), ("a", 0), ("a", 120)}
    first = rows["a", 0]
    assert (first.plan_id, first.executors, first.step_seconds) == ("p", 2, 120.0)
    assert (first.executed, first.emitted) == (560, 280)
    # The two tasks held senders back at the same time.
    assert first.pressed_ns == 4 * 10**9
    assert (first.alive_us, first.least_alive_us) == (120 * SECOND, 120 * SECOND)
    assert (rows["a", 120].alive_us, rows["a", 120].least_alive_us) == (60 * SECOND, 40 * SECOND)
    assert (rows["s", 0].executed, rows["s", 0].executors) == (0, None)

    rates = collected(source_rates(minutes))
    assert {(row.component, row.stream) for row in rates} == {("s", "default")}
    assert {since(row.step_start): (row.emitted, row.alive_us) for row in rates} == {
        0: (600, 60 * SECOND),
        60: (0, 60 * SECOND),
        120: (300, 60 * SECOND),
    }


def test_minutes_under_back_pressure_are_counted_once(past):
    samples, _ = past
    stretch = Stretch(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US,
        to_us=DAY_US + 125 * SECOND,
        block_seconds=60,
    )
    # The bucket from 120 to 130 s is cut off.
    (row,) = backpressure_time(samples, [stretch]).collect()
    assert row.pressed_us == MINUTE_US
