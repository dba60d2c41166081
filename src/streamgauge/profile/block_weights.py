"""How often each block of time is seen in each replica of a profile's figures.

Weights are a hash of seed, replica and the block's start, so that all figures of a topology see the
same blocks, wherever they are computed. They are Mammen's (1993, Annals of Statistics 21, p. 257),
shifted by one: 0.38 with probability 0.72, 2.62 otherwise. Mean, variance and third central moment
are one, as for a bootstrap that draws blocks. But no weight is zero, so every figure has every
replica; and they are two numbers picked by comparing whole numbers, so they are the same on every
machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

COUNT = 100

_GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
LOW, HIGH = 2.0 - _GOLDEN, 1.0 + _GOLDEN
# The share of low weights that makes the mean one, as a number of 64 bits.
_THRESHOLD = np.uint64(int((HIGH - 1.0) / (HIGH - LOW) * 2.0**53) << 11)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each number scattered over all of 64 bits (Steele, Lea, Flood 2014, SplitMix64)."""
    with np.errstate(over="ignore"):
        state = numbers + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def weights(starts_us: NDArray[np.int64], *, seed: int, count: int = COUNT) -> NDArray[np.float64]:
    """The weight of every block in every replica: a row a block, a column a replica.

    Args:
        starts_us: When each block starts, in microseconds since 1970.
        seed: Of the whole profile.
        count: How many replicas.
    """
    begun = mixed(np.full(count, seed & 0xFFFF_FFFF_FFFF_FFFF, dtype=np.uint64))
    with np.errstate(over="ignore"):
        by_replica = mixed(np.add(begun, np.arange(count, dtype=np.uint64), dtype=np.uint64))
    by_start = mixed(starts_us.astype(np.uint64))
    drawn = mixed(by_replica[None, :] ^ by_start[:, None])
    return np.where(drawn < _THRESHOLD, LOW, HIGH)
