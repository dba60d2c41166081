"""Sums lose nothing before they are rounded."""

from streamgauge.pipeline.calibrate.blocks import sums_by_block
from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.wanted import WANTED
from tests.pipeline.calibrate.frames import frame_of, sample

TASK = {"component": "a", "task": 1}
INPUT = {**TASK, "stream": "default", "source_component": "s"}
# Values that meet the borders of limbs, and one of the largest that can be summed.
LARGE = [0.0, 1.0, 2.0**40 - 1, 2.0**40, 2.0**53 - 1, 2.0**63, 2.0**80 + 2.0**40, 2.0**109]
COUNTS = [0, 1, 2**24 - 1, 2**24, 2**31 + 7, 2**47 - 1]


def test_sums_are_rounded_once(spark):
    records = [
        sample("execute_latency_squares", 2 * place, value, 1, seconds=2.0, **INPUT)
        for place, value in enumerate(LARGE)
    ]
    records += [
        sample("executed", 2 * place, value, seconds=2.0, **INPUT)
        for place, value in enumerate(COUNTS)
    ]
    records += [
        sample("end_to_end_latency_sum", place, value, 1, seconds=1.0, **TASK, source_component="s")
        for place, value in enumerate([-(2.0**70) - 2.0**20, 5.0, -7.0])
    ]
    # A gauge weighs by time, a mean by observations.
    records += [
        sample("roots_pending", 0, 1, **TASK),
        sample("queue_population", 0, 2.5, 4, seconds=6.0, **TASK, queue="receive"),
        sample("queue_population", 6, 0.1, 1, seconds=1 / 3, **TASK, queue="receive"),
        sample("execute_latency_mean", 0, 1.5, 40, **INPUT),
        sample("execute_latency_mean", 10, 1 / 3, 3, **INPUT),
    ]
    rows = sums_by_block(readings(frame_of(spark, records), WANTED)).collect()
    found = {(row.metric, row.block_seconds): row for row in rows}
    assert len(rows) == len(found)
    assert found["execute_latency_squares", 30.0].total == float(sum(int(one) for one in LARGE))
    assert found["execute_latency_squares", 30.0].squares is None
    assert int(found["executed", 30.0].total) == sum(COUNTS)
    assert found["executed", 30.0].squares == float(sum(one**2 for one in COUNTS))
    assert found["executed", 30.0].observations == sum(COUNTS)
    assert found["end_to_end_latency_sum", 30.0].total == float(-(2**70) - 2**20 - 2)
    assert int(found["queue_population", 30.0].total) == 15_000_000 + 33_333
    assert found["queue_population", 30.0].span_us == 6_333_333
    assert int(found["execute_latency_mean", 60.0].total) == 60_000_000 + 1_000_000
    # Nobody wants to know what is pending.
    assert "roots_pending" not in {row.metric for row in rows}
