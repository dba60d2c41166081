"""Counters that engines keep, and what was added in each bucket."""

from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.counters import deltas
from tests.pipeline.calibrate.frames import DAY_US, SECOND, frame_of, sample

LABEL = "executed_total"


def counter(second, value, task=1, worker="n1:6700", **keys):
    """A counter that the engine samples one in twenty."""
    return sample(
        LABEL,
        second,
        20 * value,
        value,
        component="a",
        task=task,
        worker=worker,
        stream="default",
        source_component="s",
        **keys,
    )


def test_what_was_added_is_the_difference_to_the_bucket_before(spark):
    records = [
        # Over midnight, from one plan's name to another's.
        counter(-10, 5, plan_id="p"),
        counter(0, 7, plan_id="q"),
        counter(10, 7),
        # The process starts anew and has counted three since.
        counter(20, 3),
        # A gap of a block's length is bridged, a longer one is not.
        counter(80, 10),
        counter(150, 100),
        counter(160, 101),
        # The executor has moved: another process, another counter.
        counter(170, 50, worker="n2:6700"),
        counter(180, 52, worker="n2:6700"),
        # Another task's numbers have nothing to do with it.
        counter(0, 1000, task=2),
    ]
    found = deltas(readings(frame_of(spark, records), frozenset({LABEL}))).collect()
    added = {
        (row.worker, (row.start_us - DAY_US) // SECOND): (row.value, row["count"], row.amount)
        for row in found
    }
    assert added == {
        ("n1:6700", 0): (40.0, 2, 40.0),
        ("n1:6700", 10): (0.0, 0, 0.0),
        ("n1:6700", 20): (60.0, 3, 60.0),
        ("n1:6700", 80): (140.0, 7, 140.0),
        ("n1:6700", 160): (20.0, 1, 20.0),
        ("n2:6700", 180): (40.0, 2, 40.0),
    }
