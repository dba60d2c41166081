"""Random numbers inside compiled loops: independent xoshiro256++ streams (Blackman, Vigna 2021).

A stream is a row of four 64-bit words. Every source and operator draws from a row of its own, so
that changing one part of a job does not reshuffle the others. Numba's own generators are shared by
a whole thread, and numpy's are called through a pointer for each draw, at several times the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

# A double has 53 significant bits.
_UNIT = 2.0**-53


def make_streams(seed: int, count: int) -> NDArray[np.uint64]:
    """`count` independent streams; the same seed gives the same ones."""
    words = np.random.SeedSequence(seed).generate_state(4 * count, np.uint64)
    return np.asarray(words, dtype=np.uint64).reshape(count, 4)


@njit(cache=True, inline="always")
def _rotated(x: Any, bits: Any) -> Any:
    return (x << uint64(bits)) | (x >> uint64(64 - bits))


@njit(cache=True, inline="always")
def next_word(state: NDArray[Any]) -> Any:
    """The next 64 random bits of a stream."""
    result = _rotated(state[0] + state[3], 23) + state[0]
    shifted = state[1] << uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotated(state[3], 45)
    return result


@njit(cache=True, inline="always")
def uniform(state: NDArray[Any]) -> Any:
    """A number in [0, 1)."""
    return (next_word(state) >> uint64(11)) * _UNIT


@njit(cache=True, inline="always")
def exponential(state: NDArray[Any]) -> Any:
    """An exponential number with mean one."""
    return -np.log1p(-uniform(state))
