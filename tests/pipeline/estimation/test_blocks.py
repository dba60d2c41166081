"""Blocks of one length for a whole topology."""

import numpy as np
import pytest

from streamgauge.pipeline.estimation.blocks import common_block_seconds, starts_of
from tests.pipeline.estimation.rows import BEGIN, IN, figure, row

MINUTE = 60_000_000


def test_the_longest_block_is_doubled_until_at_most_256_are_left():
    assert common_block_seconds(30.0, 0, 255 * MINUTE // 2) == 30.0
    assert common_block_seconds(30.0, 0, 256 * MINUTE // 2) == 60.0
    # A week of blocks of five minutes: 2016, halved three times.
    assert common_block_seconds(300.0, 0, 7 * 1440 * MINUTE - 1) == 2400.0


def test_a_block_belongs_to_the_common_block_it_starts_in():
    starts = np.asarray([0, 30, 60, 90, 300]) * 1_000_000
    common = np.full(5, MINUTE)
    assert (starts_of(starts, common) // 1_000_000).tolist() == [0, 0, 60, 60, 300]


def test_blocks_are_merged_before_anything_is_estimated():
    executed = [10, 30, 20, 40]
    rows = [row("executed", n, total, **IN) for n, total in enumerate(executed)]
    merged = [one | {"common_block_seconds": 60.0} for one in rows]
    found = figure(merged, "arrival_rate")
    assert BEGIN.timestamp() % 60 == 0
    assert (found["blocks"], found["block_seconds"]) == (2, 60.0)
    assert found["value"] == pytest.approx(100 / 120)
    # Two blocks of 40 and 60 tuples: z = ∓10/120; ρ is −1/2 + 1/2.
    assert found["standard_error"] == pytest.approx((2 * 2 * (10 / 120) ** 2) ** 0.5)


def test_without_a_common_length_the_subjects_longest_is_taken():
    rows = [row("executed", n, 10, **IN) | {"common_block_seconds": None} for n in range(4)]
    rows[0]["block_seconds"] = 120.0
    assert figure(rows, "arrival_rate")["blocks"] == 1
