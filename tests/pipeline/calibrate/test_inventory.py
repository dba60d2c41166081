"""What the lake holds, and what is odd about it."""

from streamgauge.pipeline.calibrate.readings import read_readings
from tests.pipeline.calibrate.frames import DAY_US, SECOND, arrays_of, held_by, sample
from tests.pipeline.calibrate.test_block_sums import SCOPE

TASK = {"component": "a", "task": 1}
INPUT = {**TASK, "stream": "default", "source_component": "s"}
JOB = (None, "job")


def test_an_inventory_knows_times_rows_and_what_is_needed():
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
    for parts in ([records], [records[::2], records[1::2]]):
        held = held_by([arrays_of(part) for part in parts])[JOB]
        found = held.recorded
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
        assert held.superfluous == {"executed_total": {("a", DAY_US // (86_400 * SECOND))}}


def test_an_inventory_knows_what_cannot_be_summed():
    records = [
        sample("executed", 0, 2.0**47, 1, **INPUT),
        sample("executed", 10, 5, **INPUT),
        sample("execute_latency_sum", 0, 7, 2**47, **INPUT),
        sample("execute_latency_squares", 0, 2.0**109, 1, **INPUT),
        sample("emitted", 0, 5, seconds=0.0009, **TASK, stream="default"),
        sample("acked", 0, 5, **INPUT),
    ]
    samples = arrays_of(records)
    found = held_by([samples])[JOB].recorded
    assert [one.metric for one in found if not one.is_summable] == [
        "emitted",
        "execute_latency_sum",
        "executed",
    ]
    # And that is what is left out.
    assert len(read_readings(samples, [SCOPE]).row) == 3


def test_heartbeats_are_listened_for_where_a_plan_has_none():
    beat = sample("worker_heartbeats", 0, 1, worker="n:1", plan_id="p")
    other = sample("executed", 0, 5, **INPUT, plan_id="q")
    assert held_by([arrays_of([beat])])[JOB].beating is None
    assert held_by([arrays_of([beat, other])])[JOB].beating == {
        ("n:1", DAY_US // (86_400 * SECOND))
    }


def test_input_output_and_queues_are_known_by_block():
    queue = {"component": "a", "executor": "a[1]", "queue": "receive"}
    records = []
    for block in range(3):
        second = 60 * block
        records += [
            sample("emitted", second, 100, component="s", task=9, stream="default"),
            sample("executed", second, 150, **INPUT),
            # Half of the block is seen: 400 waiting for half a minute are 200 for a minute.
            *(
                sample("queue_population", second + 10 * bucket, 400 - 100 * block, 1, **queue)
                for bucket in range(3)
            ),
        ]
    load = held_by([arrays_of(records[::2]), arrays_of(records[1::2])])[JOB].load
    assert [(one.start_us - DAY_US) // SECOND for one in load] == [0, 60, 120]
    assert {one.length_us for one in load} == {60 * SECOND}
    # More is executed than emitted, and the queue shrinks: a backlog drains.
    assert [(one.emitted, one.executed, one.queued) for one in load] == [
        (100.0, 150.0, 200.0),
        (100.0, 150.0, 150.0),
        (100.0, 150.0, 100.0),
    ]
