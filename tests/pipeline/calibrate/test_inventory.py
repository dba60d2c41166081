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
        assert [
            (one.plan_id, one.metric, one.bucket_us // SECOND, one.rows, one.is_needed)
            for one in found
        ] == [
            (None, "acked", 10, 1, True),
            (None, "executed", 7, 1, True),
            (None, "executed", 10, 1, True),
            (None, "executed_total", 10, 2, True),
            (None, "process_latency_sum", 10, 1, False),
            ("p", "executed_total", 10, 1, True),
        ]
        assert (found[1].first_us, found[1].last_us) == (DAY_US + 10 * SECOND, DAY_US + 17 * SECOND)
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


def drained(seconds):
    """A queue that loses a tuple a second until it is empty, in buckets of 10 s."""
    queue = {"component": "a", "executor": "a[1]", "queue": "receive"}
    for second in range(0, seconds, 10):
        more = 10 if second < 600 else 0
        yield sample("emitted", second, 100, component="s", task=9, stream="default")
        yield sample("executed", second, 100 + more, **INPUT)
        yield sample("queue_population", second, max(595 - second, 0), 1, **queue)


def test_input_output_and_queues_are_known_by_block():
    records = list(drained(100))
    load = held_by([arrays_of(records[::2]), arrays_of(records[1::2])])[JOB].load
    assert [(one.start_us - DAY_US) // SECOND for one in load] == [0, 50]
    assert [(one.end_us - DAY_US) // SECOND for one in load] == [50, 100]
    # More is executed than emitted, and the queue shrinks: a backlog drains.
    assert [(one.emitted, one.executed, one.queued) for one in load] == [
        (500.0, 550.0, 575.0),
        (500.0, 550.0, 525.0),
    ]


def test_what_was_seen_of_a_block_in_part_is_not_taken_for_the_whole():
    (load,) = held_by([arrays_of(list(drained(20)))])[JOB].load
    assert (load.end_us - load.start_us, load.queued) == (20 * SECOND, 590.0)


def test_a_backlog_can_be_told_in_a_short_time_after_a_long_one():
    day = 86_400
    early = (sample("executed", second, 1, **INPUT) for second in range(-2 * day, 0, 600))
    records = [*early, *drained(1200)]
    load = held_by([arrays_of(records)], cuts=(DAY_US,))[JOB].load
    before = [one for one in load if one.start_us < DAY_US]
    after = [one for one in load if one.start_us >= DAY_US]
    assert 32 <= len(before) <= 64
    assert len(after) == 24
    # It is gone after ten minutes of twenty.
    assert [one.queued > 0.0 for one in after] == [True] * 12 + [False] * 12
