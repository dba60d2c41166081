"""Quantiles and moments of many log-binned histograms at once (see `lake.histogram`)."""

from __future__ import annotations

import numpy as np

from streamgauge.lake.histogram import EDGES, LAST_BIN
from streamgauge.pipeline.estimation.arrays import Floats, Whole

PROBABILITIES = (0.5, 0.9, 0.95, 0.99)

_LOW = np.asarray([0.0, *EDGES])
_HIGH = np.asarray([*EDGES, EDGES[-1]])
_BINS = np.arange(LAST_BIN + 1)
_WIDE = (_BINS > 0) & (_BINS < LAST_BIN)


def _moments() -> tuple[Floats, Floats]:
    """Mean and mean square within each bin, observations spread evenly over the logarithm."""
    first, second = _LOW.copy(), _LOW**2
    log_width = np.log(_HIGH[_WIDE] / _LOW[_WIDE])
    first[_WIDE] = (_HIGH[_WIDE] - _LOW[_WIDE]) / log_width
    second[_WIDE] = (_HIGH[_WIDE] ** 2 - _LOW[_WIDE] ** 2) / (2.0 * log_width)
    first[0], second[0] = 0.5, 1.0 / 3.0
    return first, second


# By bin.
MEANS, MEAN_SQUARES = _moments()


def quantiles(
    bins: Whole, counts: Floats, offsets: Whole, probabilities: tuple[float, ...] = PROBABILITIES
) -> Floats:
    """Quantiles of each histogram: a row a histogram, a column a probability.

    The same as `lake.histogram.quantile` gives, for many.

    Args:
        bins: Ascending within a histogram, each at most once.
        counts: Observations in each, above zero.
        offsets: Where each histogram begins, and the end of the last.
        probabilities: Which quantiles.
    """
    first, last = offsets[:-1], offsets[1:] - 1
    # Counts are whole, hence their sums exact, and so is what is before each histogram.
    running = np.cumsum(counts)
    before = np.concatenate([[0.0], running])[first]
    totals = running[last] - before
    found = np.empty((len(first), len(probabilities)))
    for column, probability in enumerate(probabilities):
        ranks = probability * totals
        place = np.clip(np.searchsorted(running, before + ranks), first, last)
        # What is before was added and may have been rounded: look again on both sides.
        place -= (place > first) & (running[place - 1] - before >= ranks)
        place += (place < last) & (running[place] - before < ranks)
        share = (ranks - (running[place] - counts[place] - before)) / counts[place]
        found[:, column] = _inside(bins[place], np.clip(share, 0.0, 1.0))
    return found


def _inside(number: Whole, share: Floats) -> Floats:
    low, high = _LOW[number], _HIGH[number]
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.minimum(high, low * (high / low) ** share)
    return np.where(number == 0, share, np.where(number == LAST_BIN, low, wide))
