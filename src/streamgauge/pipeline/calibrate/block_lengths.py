"""Blocks of buckets: how long they are, and which one a bucket belongs to.

The length of a block follows from the length of a bucket alone, and blocks begin at UTC midnight.
So the sums of a block do not depend on what else is read, and no block crosses midnight.
"""

from __future__ import annotations

MICROSECONDS = 1_000_000
# All divide a day. A block holds at least five buckets, unless they are longer than 4.8 hours.
BLOCK_SECONDS = (30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
BUCKETS_PER_BLOCK = 5

# So a block holds at most 30,000 buckets, which is less than 2^15.
LEAST_BUCKET_US = 1000
# 30,000 values below 2^110 have a sum of 38 digits; 2^110 is the square of a year in nanoseconds.
MOST = 2.0**110
# Counts, and numbers that are multiplied, are below this; their halves have 24 bits.
MOST_FACTOR = 2.0**47


def block_seconds(bucket_us: int) -> int:
    """The length of the blocks that buckets of so many microseconds are summed up in."""
    for seconds in BLOCK_SECONDS:
        if seconds * MICROSECONDS >= BUCKETS_PER_BLOCK * bucket_us:
            return seconds
    return BLOCK_SECONDS[-1]
