"""Which times are read for which stretches, without Spark."""

from dataclasses import replace
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


CACHED = [date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)]


def test_of_cached_days_only_blocks_that_are_cut_are_read():
    spans = needed_spans([stretch(HOUR + 10, 50 * HOUR)], cached=CACHED)
    # The block of a minute that it begins in; and at the end, whose bucket might end later.
    assert spans == [(HOUR + 10, HOUR + MINUTE), (50 * HOUR - 2 * MINUTE, 50 * HOUR)]


def test_a_stretch_that_begins_with_a_block_and_ends_with_the_record_needs_no_samples():
    last = replace(stretch(HOUR, 50 * HOUR), recorded_until_us=50 * HOUR)
    assert needed_spans([last], cached=CACHED) == []
    assert needed_spans([replace(last, recorded_until_us=50 * HOUR + 1)], cached=CACHED)


def test_a_day_that_is_not_cached_is_read_as_a_whole():
    spans = needed_spans([stretch(HOUR, 50 * HOUR)], cached=[date(1970, 1, 1), date(1970, 1, 3)])
    assert (DAY_US, 2 * DAY_US) in spans


def test_a_stretch_of_a_few_blocks_is_read_as_a_whole():
    short = stretch(HOUR + 10, HOUR + 3 * MINUTE)
    assert needed_spans([short], cached=CACHED) == [(HOUR + 10, HOUR + 3 * MINUTE)]


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
