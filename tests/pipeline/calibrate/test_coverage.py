"""Who was known for how long."""

from streamgauge.lake.records import PlacedExecutor
from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.coverage import heard, with_seats
from streamgauge.pipeline.calibrate.stretches import Stretch
from tests.pipeline.calibrate.frames import DAY_US, SECOND, frame_of, sample

A, B = "n1:6700", "n2:6700"
OUT = {"component": "a", "stream": "default"}


def test_who_sends_no_heartbeats_is_heard_by_what_it_writes(spark):
    records = [
        # This worker says itself when it is there.
        sample("worker_heartbeats", 0, 1, worker=A),
        sample("emitted", 0, 5, task=1, worker=A, **OUT),
        sample("emitted", 10, 5, task=1, worker=A, **OUT),
        # This one does not; two of its samples make one bucket, and longer buckets do not count.
        sample("emitted", 0, 5, task=2, worker=B, **OUT),
        sample("worker_cpu", 0, 7, 1, worker=B),
        sample("worker_cpu", 30, 7, 1, worker=B),
        sample("heap_used", 0, 7, 1, worker=B, seconds=60.0),
        # Nobody's worker: the task itself was heard; a transfer tells of another one.
        sample("emitted", 20, 5, task=3, **OUT),
        sample("transferred", 40, 5, task=3, **OUT, source_component="s", source_task=9),
        # What nobody wants tells nothing.
        sample("worker_uptime", 50, 7, 1, worker=B),
    ]
    found = {
        (row.worker, row.component, row.task, (row.start_us - DAY_US) // SECOND): row
        for row in heard(frame_of(spark, records)).collect()
    }
    assert set(found) == {(B, None, None, 0), (B, None, None, 30), (None, "a", 3, 20)}
    assert {(row.metric, row.bucket_us, row.value, row["count"]) for row in found.values()} == {
        ("worker_heartbeats", 10 * SECOND, 0.0, 0)
    }


def test_a_worker_that_is_known_makes_known_who_is_in_it(spark):
    stretch = Stretch(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=0,
        to_us=2 * DAY_US,
        block_seconds=60,
        executors=(
            PlacedExecutor(component="a", first_task=3, last_task=4, worker=A, node="n1"),
            PlacedExecutor(component="b", first_task=5, last_task=5, worker=B, node="n2"),
        ),
    )
    records = [
        sample("worker_heartbeats", 0, 3, worker=A, node="n1", plan_id="p"),
        sample("worker_heartbeats", 0, 3, worker=A, node="n1", plan_id="another"),
        sample("worker_cpu", 0, 3, 1, worker=B, node="n2", plan_id="p"),
    ]
    rows = readings(frame_of(spark, records), frozenset({"worker_heartbeats", "worker_cpu"}))
    found = with_seats(rows, [stretch]).collect()
    assert {(row.component, row.task, row.executor, row.worker, row.node) for row in found} == {
        ("a", None, "a[3-4]", A, "n1"),
        ("a", 3, None, A, "n1"),
        ("a", 4, None, A, "n1"),
    }
    assert {(row.value, row["count"], row.amount, row.bucket_us) for row in found} == {
        (0.0, 0, 0.0, 10 * SECOND)
    }
