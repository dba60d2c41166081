"""Random numbers inside compiled loops: independent xoshiro256++ streams (Blackman, Vigna 2021).

A stream is four 64-bit words that follow each other, named by its number. Every source and operator
draws from one of its own, so that changing one part of a job does not reshuffle the others. Numba's
own generators are shared by a whole thread, and numpy's are called through a pointer for each draw,
at several times the cost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from streamgauge.simulation.compiling import primitive

# A double has 53 significant bits.
_UNIT = 2.0**-53


def make_streams(seed: int, count: int) -> NDArray[np.uint64]:
    """`count` independent streams; the same seed gives the same ones."""
    words = np.random.SeedSequence(seed).generate_state(4 * count, np.uint64)
    return np.asarray(words, dtype=np.uint64)


@primitive
def _rotated(x: Any, bits: Any) -> Any:
    return (x << uint64(bits)) | (x >> uint64(64 - bits))


@primitive
def next_word(streams: NDArray[Any], row: int) -> Any:
    """The next 64 random bits of a stream."""
    first = 4 * row
    s0, s1, s2, s3 = streams[first], streams[first + 1], streams[first + 2], streams[first + 3]
    result = _rotated(s0 + s3, 23) + s0
    s2 ^= s0
    s3 ^= s1
    streams[first] = s0 ^ s3
    streams[first + 2] = s2 ^ (s1 << uint64(17))
    streams[first + 1] = s1 ^ s2
    streams[first + 3] = _rotated(s3, 45)
    return result


@primitive
def uniform(streams: NDArray[Any], row: int) -> Any:
    """A number in [0, 1)."""
    return (next_word(streams, row) >> uint64(11)) * _UNIT


@primitive
def exponential(streams: NDArray[Any], row: int) -> Any:
    """An exponential number with mean one; the difference is exact, and never zero."""
    return -math.log(1.0 - uniform(streams, row))
