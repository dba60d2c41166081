"""Blocks of time: one length for all figures of a topology, and neighbours merged."""

from __future__ import annotations

import numpy as np

from streamgauge.pipeline.estimation.arrays import Whole

MOST_BLOCKS = 256
# What is multiplied is known by fifteenth of a block. A block holds five buckets to fifteen; only
# those shorter than two seconds share a slot.
SLOTS = 15
MICROSECONDS = 1_000_000


def common_block_seconds(longest_seconds: float, first_us: int, last_us: int) -> float:
    """The block length that all figures of a topology share.

    Blocks of a topology differ in length where its buckets do. All are relabelled to the longest
    of them, which is doubled until there are at most 256.

    Args:
        longest_seconds: The longest `block_seconds` of the topology's partial sums.
        first_us: Its first `block_start`, in microseconds since 1970.
        last_us: Its last.
    """
    seconds = longest_seconds
    while _blocks_between(first_us, last_us, seconds) > MOST_BLOCKS:
        seconds *= 2.0
    return seconds


def _blocks_between(first_us: int, last_us: int, seconds: float) -> int:
    length = microseconds(seconds)
    return last_us // length - first_us // length + 1


def microseconds(seconds: float) -> int:
    """Whole microseconds."""
    return round(seconds * MICROSECONDS)


def starts_of(block_start_us: Whole, common_us: Whole) -> Whole:
    """The start of the common block that each block starts in; counted from 1970."""
    return np.asarray(block_start_us // common_us * common_us)
