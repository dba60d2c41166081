"""What a topology did in all its time."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamgauge.pipeline.calibrate.history import KINDS, MINUTE_US, past_of, step_us
from streamgauge.pipeline.calibrate.task_steps import Layout
from streamgauge.topology.topology import StreamKey
from tests.pipeline.calibrate.frames import DAY_US, SECOND, arrays_of, rows_of, sample
from tests.pipeline.calibrate.test_block_sums import SCOPE

# So long that steps of rates are a minute and those of saturation two.
LONG = replace(SCOPE, first_us=DAY_US, last_us=DAY_US + 1000 * MINUTE_US)
LAYOUT = Layout(
    executors={("p", "a"): 2, ("p", "s"): 2}, first_tasks={("p", "a"): 3, ("p", "s"): 1}
)


@pytest.mark.parametrize(("minutes", "step"), [(1, 1), (500, 1), (501, 2), (1001, 4), (9999, 32)])
def test_steps_double_until_there_are_few_enough(minutes, step):
    scope = replace(SCOPE, first_us=0, last_us=minutes * MINUTE_US)
    assert step_us(scope, 500) == step * MINUTE_US


@pytest.mark.parametrize(("seconds", "step"), [(12, 1), (13, 2), (60, 8), (300, 32)])
def test_steps_hold_five_buckets(seconds, step):
    period = replace(SCOPE.period, bucket_us=seconds * SECOND)
    assert step_us(replace(SCOPE, period=period), 500) == step * MINUTE_US


def records():
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
            sample("executor_cpu", second, 5 * 10**9, 1, executor="a[3-3]", **operator),
        ]
    for second in range(0, 180, 10):
        records.append(sample("worker_heartbeats", second, 1, worker="n:1", plan_id="p"))
    for second in range(0, 160, 10):
        records.append(sample("worker_heartbeats", second, 1, worker="n:2", plan_id="p"))
    return records


@pytest.fixture(scope="module", params=[1, 3])
def past(request):
    """Its history, from one file or from several; the bucket from 120 to 130 s is cut off."""
    count, every = request.param, records()
    period = replace(SCOPE.period, from_us=DAY_US, to_us=DAY_US + 125 * SECOND)
    scope = replace(LONG, period=period)
    parts = [arrays_of(every[place::count]) for place in range(count)]
    rows = rows_of(parts, [scope])
    told = pc.is_in(rows["kind"], pa.array(KINDS, pa.string()))
    return past_of(rows.filter(told), LAYOUT, scope)


def test_saturation_is_seen_step_by_step(past):
    assert {name: len(points) for name, points in past.saturation.items()} == {"a": 2, "s": 2}
    first, second = past.saturation["a"]
    assert (first.plan_id, first.executors, first.minutes) == ("p", 2, 2.0)
    assert first.input_per_second == 560 / 120
    assert first.output_per_second == 280 / 120
    # The two tasks held senders back at the same time.
    assert first.backpressure == 4 / 120
    # Of the workers the one that was known for longest.
    assert second.minutes == 1.0
    assert past.saturation["s"][0].input_per_second == 0.0
    assert past.saturation["s"][0].executors == 2


def test_tasks_are_observed_step_by_step_with_the_cpu_of_their_executors(past):
    (plan,) = past.observed
    assert (plan.plan_id, plan.executors, plan.minutes) == ("p", {"a": 2, "s": 2}, (2.0, 1.0))
    first = plan.tasks["a"]["0"]
    assert first.inputs[StreamKey("s", "default")] == pytest.approx((560 / 120, 280 / 60), rel=1e-5)
    assert first.outputs["out"] == pytest.approx((280 / 120, 140 / 60), rel=1e-5)
    assert first.backpressure == pytest.approx((4 / 120, 2 / 60), rel=1e-5)
    assert plan.tasks["s"]["1"].outputs["default"] == pytest.approx((400 / 120, 200 / 60), rel=1e-5)
    assert plan.cores["a"] == pytest.approx((10 / 120, 5 / 60), rel=1e-5)


def test_source_rates_include_silence(past):
    assert set(past.sources) == {StreamKey("s", "default")}
    rates = past.sources[StreamKey("s", "default")]
    assert (rates.start, rates.step_seconds) == ("2026-01-01T00:00:00Z", 60.0)
    assert rates.per_second == (10.0, 0.0, 5.0)


def test_minutes_under_back_pressure_are_counted_once(past):
    assert past.pressed_us == MINUTE_US
