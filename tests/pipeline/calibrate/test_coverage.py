"""Who was known for how long."""

from dataclasses import replace

from streamgauge.lake.records import PlacedExecutor
from streamgauge.pipeline.calibrate.block_sums import heartbeats_of, series_rows
from tests.pipeline.calibrate.frames import DAY_US, SECOND, arrays_of, sample
from tests.pipeline.calibrate.test_block_sums import SCOPE

A, B = "n1:6700", "n2:6700"
OUT = {"component": "a", "stream": "default"}


def test_who_sends_no_heartbeats_is_heard_by_what_it_writes():
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
    scope = replace(SCOPE, beating=frozenset({(A, DAY_US // (86_400 * SECOND))}))
    tables = series_rows(arrays_of(records), [scope])
    (heard,) = (one for one in tables if one["kind"][0].as_py() == "heard")
    found = {
        (
            row["worker"],
            row["component"],
            row["task"],
            round(row["bucket_start"].timestamp()) - DAY_US // SECOND,
        ): (row["metric"], row["bucket_seconds"], row["value"], row["count"])
        for row in heartbeats_of(heard).to_pylist()
    }
    assert set(found) == {(B, None, None, 0), (B, None, None, 30), (None, "a", 3, 20)}
    assert set(found.values()) == {("worker_heartbeats", 10.0, 0.0, 0)}


def test_a_worker_that_is_known_makes_known_who_is_in_it():
    executors = (
        PlacedExecutor(component="a", first_task=3, last_task=4, worker=A, node="n1"),
        PlacedExecutor(component="b", first_task=5, last_task=5, worker=B, node="n2"),
    )
    scope = replace(SCOPE, period=replace(SCOPE.period, executors=executors))
    records = [
        sample("worker_heartbeats", 0, 3, worker=A, node="n1", plan_id="p"),
        sample("worker_heartbeats", 0, 3, worker=A, node="n1", plan_id="another"),
        sample("worker_cpu", 0, 3, 1, worker=B, node="n2", plan_id="p"),
    ]
    tables = series_rows(arrays_of(records), [scope])
    rows = [row for one in tables for row in one.to_pylist() if row["kind"] == "sums"]
    seated = [row for row in rows if row["component"] is not None]
    names = ("component", "task", "executor", "worker", "node")
    assert {tuple(row[name] for name in names) for row in seated} == {
        ("a", None, "a[3-4]", A, "n1"),
        ("a", 3, None, A, "n1"),
        ("a", 4, None, A, "n1"),
    }
    sums = ("buckets", "span_us", "observations", "total_low")
    for row in seated:
        assert [row[name] for name in sums] == [[1], [10 * SECOND], [0], [0]]
