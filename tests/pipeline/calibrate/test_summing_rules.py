"""Blocks of buckets, and metrics, without Spark."""

import numpy as np
import pytest

from streamgauge.lake.metrics import METRICS
from streamgauge.pipeline.calibrate.summing_rules import (
    BLOCK_SECONDS,
    COUNTERS,
    GAUGES,
    HEARTBEATS,
    MEANS,
    SQUARED,
    STAND_INS,
    WANTED,
    block_lengths_us,
    block_seconds,
)


@pytest.mark.parametrize(
    ("bucket_us", "seconds"),
    [
        (1000, 30),
        (6_000_000, 30),
        (6_000_001, 60),
        (10_000_000, 60),
        (60_000_000, 300),
        (5_760_000_000, 28800),
        (5_760_000_001, 86400),
        (86_400_000_000, 86400),
    ],
)
def test_a_block_is_the_shortest_with_five_buckets(bucket_us, seconds):
    assert block_seconds(bucket_us) == seconds
    assert block_lengths_us(np.asarray([bucket_us])).tolist() == [seconds * 1_000_000]


def test_blocks_divide_a_day():
    assert all(86400 % seconds == 0 for seconds in BLOCK_SECONDS)


def test_what_is_wanted_is_summed_in_one_way():
    assert HEARTBEATS in WANTED
    assert METRICS.keys() >= WANTED
    assert not GAUGES & MEANS
    assert not SQUARED & (GAUGES | MEANS)
    # Bins are counts too, but nobody asks how they vary.
    assert "execute_latency_bin" in WANTED - SQUARED
    assert "executed_total" in COUNTERS & SQUARED


def test_stand_ins_and_what_they_stand_in_for_are_wanted_and_differ():
    for metric, exact in STAND_INS.items():
        assert metric.label in WANTED
        assert all(one.label in WANTED and one not in STAND_INS for one in exact)
        assert metric.level is exact[0].level
