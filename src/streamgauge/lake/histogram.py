"""Log-binned histograms: bins of constant relative width that merge by addition.

Bin 0 is [0, 1). Bin b ≥ 1 is [2^((b−1)/8), 2^(b/8)): eight bins double the value, so that each is
9.05 % wide. The last bin has no upper end. Values are in the metric's own unit, mostly whole
nanoseconds, where nothing between zero and one needs telling apart.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from streamgauge.errors import InvalidInput
from streamgauge.topology.field_checks import format_value

BINS_PER_DOUBLING = 8
LAST_BIN = 512
WIDTH = 2.0 ** (1 / BINS_PER_DOUBLING)

# Powers of two are exact, so every edge is one of eight numbers times a power of two. Agents in
# other languages that scale the same eight get the same bins.
_ROOTS = tuple(2.0 ** (step / BINS_PER_DOUBLING) for step in range(BINS_PER_DOUBLING))

# EDGES[b] is the upper end of bin b and the lower end of bin b + 1.
EDGES = tuple(
    math.ldexp(_ROOTS[step % BINS_PER_DOUBLING], step // BINS_PER_DOUBLING)
    for step in range(LAST_BIN)
)


def bin_of(value: float) -> int:
    """The bin that holds `value`.

    Raises:
        InvalidInput: The value is negative or not finite.
    """
    if not 0.0 <= value < math.inf:
        raise InvalidInput.single(
            ("value",), seen=format_value(value), expected="a finite number of at least 0"
        )
    return bisect_right(EDGES, value)


def bounds_of(bin_number: int) -> tuple[float, float]:
    """The ends of a bin, the lower one in it and the upper one not.

    Raises:
        InvalidInput: There is no such bin.
    """
    if not 0 <= bin_number <= LAST_BIN:
        raise InvalidInput.single(
            ("bin",), seen=format_value(bin_number), expected=f"a bin from 0 to {LAST_BIN}"
        )
    low = EDGES[bin_number - 1] if bin_number else 0.0
    high = EDGES[bin_number] if bin_number < LAST_BIN else math.inf
    return low, high


def histogram_of(values: Iterable[float]) -> dict[int, int]:
    """Observations by bin, bins ascending, none empty."""
    counts: dict[int, int] = {}
    for value in values:
        number = bin_of(value)
        counts[number] = counts.get(number, 0) + 1
    return dict(sorted(counts.items()))


def merge(*histograms: Mapping[int, float]) -> dict[int, float]:
    """Observations of all histograms together, bins ascending."""
    merged: dict[int, float] = {}
    for histogram in histograms:
        for number, weight in histogram.items():
            merged[number] = merged.get(number, 0) + weight
    return dict(sorted(merged.items()))


def quantile(histogram: Mapping[int, float], probability: float) -> float:
    """The value that a share `probability` of the observations does not exceed.

    Lies in the same bin as the observation of rank ⌈probability × n⌉, hence within a factor of
    2^(1/8) of it for observations of at least one, and within one of it below. Inside a bin
    observations are taken as spread evenly over the logarithm. In the last bin, which has no upper
    end, the answer is its lower end.

    Raises:
        InvalidInput: No observations, a negative weight, or a probability outside [0, 1].
    """
    if not 0.0 <= probability <= 1.0:
        raise InvalidInput.single(
            ("probability",), seen=format_value(probability), expected="a number from 0 to 1"
        )
    if any(not 0.0 <= weight < math.inf for weight in histogram.values()):
        raise InvalidInput.single(
            ("histogram",), seen="a negative or infinite weight", expected="numbers of at least 0"
        )
    filled = sorted((number, weight) for number, weight in histogram.items() if weight)
    if not filled:
        raise InvalidInput.single(("histogram",), seen="no observations", expected="at least one")
    rank = probability * sum(weight for _, weight in filled)
    before = 0.0
    for number, weight in filled:
        if before + weight >= rank:
            return _inside(number, (rank - before) / weight)
        before += weight
    # Rounding may leave the rank a hair above the sum.
    return _inside(filled[-1][0], 1.0)


def _inside(number: int, share: float) -> float:
    low, high = bounds_of(number)
    if number == 0:
        return share
    if number == LAST_BIN:
        return low
    return min(high, low * float((high / low) ** share))
