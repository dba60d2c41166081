"""What the lake holds, and what is odd about it."""

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.lake.schemas import PLANS
from streamgauge.pipeline.calibrate.checks import bucket_order, silent_tasks, unplanned_tasks
from streamgauge.pipeline.calibrate.inventory import inventory, recorded
from tests.pipeline.calibrate.frames import DAY_US, SECOND, frame_of, sample

INPUT = {"component": "a", "task": 1, "stream": "default", "source_component": "s"}


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


def test_buckets_that_overlap_and_tasks_that_do_not_fit_are_told(spark):
    worker = {"worker": "n:1", "plan_id": "p"}
    records = [sample("worker_heartbeats", second, 1, **worker) for second in (0, 10, 15, 60)]
    (row,) = bucket_order(frame_of(spark, records)).collect()
    assert (row.buckets, row.overlaps, row.gap_us) == (4, 1, 35 * SECOND)
    plan = Plan(
        topology="job",
        plan_id="p",
        engine="storm-2",
        valid_from_us=0,
        document="{}",
        executors=(
            PlacedExecutor(component="a", first_task=1, last_task=2, worker="n:1", node="n"),
        ),
    )
    plans = frame_of(spark, [plan], PLANS)
    sums = frame_of(
        spark,
        [
            sample("executed", 0, 5, **INPUT, plan_id="p"),
            sample("executed", 0, 5, **{**INPUT, "task": 7}, plan_id="p"),
            sample("worker_heartbeats", 0, 0, component="a", task=2, plan_id="p"),
        ],
    )
    assert [row.task for row in unplanned_tasks(sums, plans).collect()] == [7]
    assert [row.task for row in silent_tasks(sums, plans).collect()] == [2]
