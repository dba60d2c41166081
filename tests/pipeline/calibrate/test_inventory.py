"""What the lake holds, and what is odd about it."""

from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.inventory import inventory, recorded
from streamgauge.pipeline.calibrate.wanted import WANTED
from tests.pipeline.calibrate.frames import DAY_US, SECOND, frame_of, sample

TASK = {"component": "a", "task": 1}
INPUT = {**TASK, "stream": "default", "source_component": "s"}


def test_an_inventory_knows_times_rows_and_what_is_needed(spark):
    records = [
        sample("executed", 0, 5, **INPUT),
        sample("executed", 10, 5, seconds=7.0, **INPUT),
        sample("acked", 0, 5, **INPUT),
        # Superfluous on a day with exact counts of the same operator; not on others.
        sample("executed_total", 0, 5, **INPUT),
        sample("executed_total", 0, 5, **{**INPUT, "component": "b"}),
        sample("executed_total", 86_400, 5, **INPUT, plan_id="p"),
        sample("process_latency_sum", 0, 5, **INPUT),
        sample("node_cpu", 0, 5, 1, topology=None, node="n"),
    ]
    found = recorded(inventory(frame_of(spark, records)).collect())
    assert [(one.plan_id, one.metric, one.rows, one.needed) for one in found] == [
        (None, "acked", 1, 1),
        (None, "executed", 2, 2),
        (None, "executed_total", 2, 1),
        (None, "process_latency_sum", 1, 0),
        ("p", "executed_total", 1, 1),
    ]
    executed = found[1]
    assert (executed.first_us, executed.last_us) == (DAY_US, DAY_US + 17 * SECOND)
    assert executed.longest_us == 10 * SECOND


def test_an_inventory_knows_what_cannot_be_summed(spark):
    records = [
        sample("executed", 0, 2.0**47, 1, **INPUT),
        sample("executed", 10, 5, **INPUT),
        sample("execute_latency_sum", 0, 7, 2**47, **INPUT),
        sample("execute_latency_squares", 0, 2.0**109, 1, **INPUT),
        sample("emitted", 0, 5, seconds=0.0009, **TASK, stream="default"),
        sample("acked", 0, 5, **INPUT),
    ]
    frame = frame_of(spark, records)
    found = recorded(inventory(frame).collect())
    assert [one.metric for one in found if not one.is_summable] == [
        "emitted",
        "execute_latency_sum",
        "executed",
    ]
    # And that is what is left out.
    assert readings(frame, WANTED).count() == 3
