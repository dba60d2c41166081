"""Which times are read for which stretches, without Spark."""

from datetime import date

from streamgauge.pipeline.calibrate.scoping import (
    DAY_US,
    MOST_SPANS,
    days_of,
    needed_spans,
    whole_days,
)
from streamgauge.pipeline.calibrate.stretches import Stretch

HOUR = 3_600_000_000
MINUTE = 60_000_000


def stretch(start, end, block_seconds=60):
    return Stretch(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=start,
        to_us=end,
        block_seconds=block_seconds,
    )


def test_without_cached_days_a_stretch_is_read_as_a_whole():
    assert needed_spans([stretch(HOUR, 60 * HOUR)]) == [(HOUR, 60 * HOUR)]


def test_stretches_that_overlap_are_read_once():
    spans = needed_spans([stretch(5 * HOUR, 9 * HOUR), stretch(HOUR, 6 * HOUR)])
    assert spans == [(HOUR, 9 * HOUR)]


def test_of_cached_days_only_the_edges_of_a_stretch_are_read():
    cached = [date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)]
    spans = needed_spans([stretch(HOUR, 50 * HOUR)], cached=cached)
    # Three blocks of a minute hold the one that is cut and its neighbours.
    edge = 3 * MINUTE
    assert spans == [(HOUR, HOUR + edge), (50 * HOUR - edge, 50 * HOUR)]


def test_a_day_that_is_not_cached_is_read_as_a_whole():
    spans = needed_spans([stretch(HOUR, 50 * HOUR)], cached=[date(1970, 1, 1), date(1970, 1, 3)])
    assert (DAY_US, 2 * DAY_US) in spans


def test_a_stretch_of_a_few_blocks_is_read_as_a_whole():
    short = stretch(HOUR, HOUR + 5 * MINUTE)
    assert needed_spans([short], cached=[date(1970, 1, 1)]) == [(HOUR, HOUR + 5 * MINUTE)]


def test_counters_look_back():
    assert needed_spans([stretch(HOUR, 2 * HOUR)], look_back_us=MINUTE) == [
        (HOUR - MINUTE, 2 * HOUR)
    ]


def test_many_spans_are_joined_over_their_smallest_gaps():
    many = [stretch(hour * HOUR, hour * HOUR + MINUTE * (1 + hour)) for hour in range(20)]
    spans = needed_spans(many)
    assert len(spans) == MOST_SPANS
    # Later ones are longer, so that the gaps after them are the smallest.
    assert spans[-1] == (15 * HOUR, 19 * HOUR + 20 * MINUTE)


def test_spans_touch_the_days_of_their_moments_but_not_of_their_ends():
    spans = [(HOUR, DAY_US), (DAY_US + HOUR, 2 * DAY_US + 1)]
    assert days_of(spans) == [date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)]
    assert whole_days(spans[:1]) == [(0, DAY_US)]
