"""Latencies in bins: 64 to a doubling, from a nanosecond on, so that each is 1.1 % wide.

Eight neighbouring bins are one bin of the lake's histograms, so the two merge without loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.compiling import primitive

PER_DOUBLING = 64
# Up to 2^42 ns, more than an hour.
BINS = 42 * PER_DOUBLING + 1
NANOSECONDS = 1e9
# Bins of the lake: eight to a doubling, and one for everything beyond 2^63.875 ns.
COARSE_BINS = 513

_EDGES = 2.0 ** (np.arange(PER_DOUBLING + 1) / PER_DOUBLING)
# The bin of the smallest number in each of 64 equal parts of [1, 2).
_PARTS = 1.0 + np.arange(PER_DOUBLING) / PER_DOUBLING
_FIRST = np.searchsorted(_EDGES, _PARTS, side="right") - 1


def bin_edges() -> NDArray[np.float64]:
    """Lower edges of all bins in seconds; the first is zero."""
    exponents = np.arange(BINS - 1) / PER_DOUBLING
    return np.concatenate([[0.0], 2.0**exponents]) / NANOSECONDS


@primitive
def bin_of(seconds: float) -> Any:
    """The bin of a time."""
    value = seconds * NANOSECONDS
    if value < 1.0:
        return 0
    bits = np.float64(value).view(np.int64)
    exponent = (bits >> 52) - 1023
    # The number without its exponent, in [1, 2).
    mantissa = np.int64((bits & 0xFFFFFFFFFFFFF) | (1023 << 52)).view(np.float64)
    place = _FIRST[(bits >> 46) & 63]
    while mantissa >= _EDGES[place + 1]:
        place += 1
    return min(1 + PER_DOUBLING * exponent + place, BINS - 1)


@primitive
def coarse_bin_of(seconds: float) -> Any:
    """The bin of a time in the lake's histograms."""
    return (bin_of(seconds) + 7) >> 3
