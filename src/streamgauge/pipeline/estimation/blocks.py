"""Blocks of time: what lies in one is taken as a whole, and errors come from how blocks differ.

A block is five buckets, however short they are, and blocks are merged two by two until there are at
most 24. More would not make intervals better, but neighbours more alike (Schmeiser 1982, Operations
Research 30, p. 556, finds 10 to 30 batches enough). A period that has fewer than 60 buckets has
blocks of fewer, so that there are twelve. All figures of a topology share its blocks, which begin
at whole multiples of their length since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamgauge.pipeline.estimation.schemas import Whole

MICROSECONDS = 1_000_000
BUCKETS_PER_BLOCK = 5
LEAST_BLOCKS, MOST_BLOCKS = 12, 24
# The part of a topology's samples whose buckets may be longer than the usual one.
MOST_LONGER = 0.05

# Lengths of two digits, from a millisecond on.
_LENGTHS_US = np.asarray([two * 10**power for power in range(2, 10) for two in range(10, 100)])
_BETWEEN_US = (_LENGTHS_US[:-1] + _LENGTHS_US[1:]) / 2.0


def rounded_lengths_us(bucket_us: Whole) -> Whole:
    """Lengths of buckets to two digits: clocks and pauses make them differ by a little."""
    return np.asarray(_LENGTHS_US[np.searchsorted(_BETWEEN_US, bucket_us)])


def usual_length_us(samples: Mapping[int, int]) -> int:
    """The length that the buckets of nearly all samples keep within.

    A bucket that took longer as its process paused, or a metric that is written rarely, says
    nothing of how often the others come.

    Args:
        samples: How many there are by the length of their buckets in microseconds.
    """
    longer = 0
    for length, count in sorted(samples.items(), reverse=True):
        longer += count
        if longer > MOST_LONGER * sum(samples.values()):
            return length
    raise ValueError("no samples")


def block_length_us(bucket_us: int, from_us: int, to_us: int) -> int:
    """How long the blocks of a period are, in microseconds.

    Args:
        bucket_us: The usual length of a bucket.
        from_us: When the period begins, since 1970.
        to_us: When it ends.
    """
    length = BUCKETS_PER_BLOCK * bucket_us
    while length > bucket_us and (to_us - from_us) // length < LEAST_BLOCKS:
        length -= bucket_us
    while -(-to_us // length) - from_us // length > MOST_BLOCKS:
        length *= 2
    return length
