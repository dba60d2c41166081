"""How long blocks are."""

import numpy as np
import pytest

from streamgauge.pipeline.estimation.blocks import (
    block_length_us,
    rounded_lengths_us,
    usual_length_us,
)
from tests.pipeline.estimation.rows import BEGIN, IN, figure, row

SECOND = 1_000_000
MINUTE = 60 * SECOND


def length(bucket, seconds, begin=0):
    return block_length_us(bucket * SECOND, begin * SECOND, (begin + seconds) * SECOND) // SECOND


@pytest.mark.parametrize(("bucket", "block"), [(1, 5), (5, 25), (10, 50), (60, 300)])
def test_a_block_is_five_buckets(bucket, block):
    assert length(bucket, 60 * bucket) == block
    assert length(bucket, 24 * block) == block


def test_blocks_are_merged_two_by_two_until_at_most_24_are_left():
    assert length(1, 121) == 10
    assert length(1, 240) == 10
    assert length(1, 241) == 20
    # A week of buckets of a minute: 2,016 blocks, halved seven times.
    assert length(60, 7 * 86_400) == 128 * 300


def test_blocks_at_both_ends_count_though_the_period_has_them_in_part():
    assert length(1, 120, begin=0) == 5
    assert length(1, 120, begin=3) == 10


@pytest.mark.parametrize(
    ("seconds", "block"), [(600, 50), (599, 40), (240, 20), (239, 10), (30, 10)]
)
def test_where_buckets_are_few_blocks_have_fewer_so_that_there_are_twelve(seconds, block):
    assert length(10, seconds) == block


@pytest.mark.parametrize("bucket", [1, 5, 10])
@pytest.mark.parametrize("begin", [0, 7, 1234])
def test_three_minutes_have_12_to_40_blocks(bucket, begin):
    # A fifth of three minutes is warm-up.
    block = length(bucket, 144, begin)
    assert 12 <= -(-(begin + 144) // block) - begin // block <= 40


def test_lengths_of_buckets_are_rounded_to_two_digits():
    seconds = [0.0104, 0.994, 1.0, 9.98, 10.004, 10.6, 60.4, 3600.0]
    rounded = rounded_lengths_us(np.asarray([round(one * SECOND) for one in seconds]))
    assert (rounded / SECOND).tolist() == [0.01, 0.99, 1.0, 10.0, 10.0, 11.0, 60.0, 3600.0]


def test_the_usual_length_leaves_out_a_twentieth_at_most():
    assert usual_length_us({10: 950, 60: 50}) == 10
    assert usual_length_us({10: 949, 60: 51}) == 60
    assert usual_length_us({10: 970, 13: 20, 60: 10}) == 10
    assert usual_length_us({10: 1}) == 10


def test_errors_come_from_blocks():
    rows = [row("executed", n, total, **IN) for n, total in enumerate([40, 60])]
    found = figure(rows, "arrival_rate")
    assert BEGIN.timestamp() % 60 == 0
    assert (found["blocks"], found["block_seconds"]) == (2, 30.0)
    assert found["value"] == pytest.approx(100 / 60)
    # Two blocks of 40 and 60 tuples: z = ∓10/60; ρ is −1/2 + 1/2.
    assert found["standard_error"] == pytest.approx((2 * 2 * (10 / 60) ** 2) ** 0.5)


def test_rows_of_one_series_from_several_files_are_one_block():
    rows = [row("executed", 0, 40, **IN) | {"span_us": 12_000_000, "buckets": 2}]
    rows += [row("executed", 0, 60, **IN) | {"span_us": 18_000_000, "buckets": 3}]
    found = figure(rows, "arrival_rate")
    assert (found["value"], found["blocks"], found["buckets"]) == (pytest.approx(100 / 30), 1, 5)
