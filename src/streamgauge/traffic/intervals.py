"""Adaptive conformal quantiles: which quantile of past errors to add to a forecast.

For a wished probability p, the quantile of past errors at level a is added to the forecast.
Adaptive conformal inference (Gibbs and Candès 2021) moves a by γ·(p − hit) after each value,
so the share of values below comes to p whatever the errors do. How fast it should move is not
known: as in their DtACI (Gibbs and Candès 2024) several γ run at once, and levels are
averaged by exponential weights with a fixed share, under the pinball loss of the rank that the
error turned out to have. All constants are the paper's. Each level alone has the right share of
hits in the long run, their mean need not: it is shifted by the same rule once more, which then has.

Errors are divided by their mean size at that hour of the day, which makes them comparable. Values
far ahead are known late; levels that were used then are judged when they are.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right

import numpy as np

from streamgauge.traffic.series import Counts, Vector

# Probabilities whose levels are learnt; others are interpolated.
PROBABILITIES = np.array([0.025, 0.05, 0.1, 0.25, 0.75, 0.9, 0.95, 0.975])
# Gibbs and Candès 2024: the rates, and the length of time over which regret is small.
RATES = np.array([0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])
INTERVAL = 500
SHARE = 1.0 / (2 * INTERVAL)
ETA = math.sqrt(3.0 / INTERVAL * (math.log(INTERVAL * len(RATES)) + 2.0))
# Of the shift of the mean: over T values the share of hits is right within 1/(T · rate).
SHIFT_RATE = 0.016
# Past errors that quantiles are taken of.
WINDOW = 1000
HOURS = 24
# Weight of a new error in the mean of its hour, once so many are in it.
SCALE_ALPHA = 0.03
# An error counts in that mean as at most so many times the mean.
LARGEST_ERROR = 5.0
# An hour without errors so far, such as one without traffic, is taken for no calmer than this part
# of the mean over all hours: its first error must not count as endless.
LEAST_SHARE = 0.01
TINY = 1e-12
# A band reaches at most so many times as far as the largest error.
MOST_LARGEST = 2.0


class AdaptiveQuantiles:
    """Quantiles of errors, one row for each number of steps ahead.

    Attributes:
        levels: By row, probability and rate: at which level past errors are taken.
        seen: By row, how many errors.
        largest: By row, the largest error so far.
    """

    def __init__(self, rows: int) -> None:
        shape = (rows, len(PROBABILITIES), len(RATES))
        self.levels = np.empty(shape)
        self.levels[:] = PROBABILITIES[None, :, None]
        self._weights = np.full(shape, 1.0 / len(RATES))
        wished = PROBABILITIES[None, :, None]
        self._wished = wished
        self._eta = ETA / (wished * (1.0 - wished))
        self._shift = np.zeros((rows, len(PROBABILITIES)))
        self._newest = [array("d", [0.0] * WINDOW) for _ in range(rows)]
        self._sorted = [array("d") for _ in range(rows)]
        self.seen = np.zeros(rows, dtype=np.int64)
        self.largest = np.zeros(rows)
        self._scale = np.zeros((rows, HOURS))
        self._scale_seen = np.zeros((rows, HOURS), dtype=np.int64)
        self._overall = np.zeros(rows)

    def scales(self, rows: Counts, hours: Counts) -> Vector:
        """The usual size of errors of some rows at some hours; TINY where there was none."""
        own = self._scale[rows, hours]
        overall = self._overall[rows]
        own = np.where(self._scale_seen[rows, hours] > 0, own, overall)
        return np.maximum(np.maximum(own, LEAST_SHARE * overall), TINY)

    def mean_levels(self) -> Vector:
        """The levels at which quantiles are taken, by row and probability."""
        return np.asarray((self.levels * self._weights).sum(axis=2) + self._shift)

    def learn(
        self,
        rows: Counts,
        errors: Vector,
        scales: Vector,
        then: Vector,
        mean_then: Vector,
        hour: int,
    ) -> None:
        """Take the errors of forecasts of the same value, observed minus forecast.

        Args:
            rows: Whose forecasts these are, ascending.
            errors: One for each of the rows, as the next three.
            scales: The usual sizes at the time of the forecasts.
            then: The levels at the time of the forecasts, as `levels` had them. Levels of now know
                errors that were not known then; judged by those, a fast rate would seem to foresee.
            mean_then: Likewise, as `mean_levels` had them.
            hour: Of the day, of the value.
        """
        # Nearly always these are the first rows, which are a view and no copy.
        part = slice(len(rows)) if int(rows[-1]) == len(rows) - 1 else rows
        self.largest[part] = np.maximum(self.largest[part], np.abs(errors))
        self._learn_scales(part, errors, hour)
        # Where no error had been seen when it was forecast, the first ones say what is usual.
        unknown = np.flatnonzero(scales <= TINY)
        if len(unknown):
            scales = scales.copy()
            scales[unknown] = self.scales(rows[unknown], np.full(len(unknown), hour))
        scores = (errors / scales).tolist()
        ranks = np.array([self._insert(*pair) for pair in zip(rows.tolist(), scores, strict=True)])
        rank = ranks[:, None, None]
        step = self._wished - (rank <= then)
        weights = self._weights[part]
        weights *= np.exp(-self._eta * (rank - then) * step)
        weights *= (1.0 - SHARE) / weights.sum(axis=2, keepdims=True)
        weights += SHARE / len(RATES)
        self._weights[part] = weights
        self.levels[part] += RATES * step
        self._shift[part] += SHIFT_RATE * (PROBABILITIES - (ranks[:, None] <= mean_then))

    def offsets(self, probabilities: Vector) -> Vector:
        """Quantiles of scaled errors: a row for each number of steps, a column a probability."""
        shifts = np.clip(self.mean_levels(), 0.0, 1.0) - PROBABILITIES
        found = np.zeros((len(shifts), len(probabilities)))
        for row, shift in enumerate(shifts):
            ordered = np.array(self._sorted[row])
            size = len(ordered)
            if size == 0:
                continue
            wished = probabilities + np.interp(probabilities, PROBABILITIES, shift)
            # The smallest errors that leave enough below: place p·(n + 1) among n in order.
            place = np.clip(wished * (size + 1) - 1.0, 0.0, size - 1.0)
            found[row] = np.interp(place, np.arange(size), ordered)
        return found

    def spread(self, offsets: Vector, rows: Counts, hours: Counts) -> Vector:
        """Scaled errors of some rows as errors at some hours.

        An hour with small errors so far makes the first large one there count as a huge score. None
        is taken for more than so many times the largest error that was really seen.
        """
        most = MOST_LARGEST * self.largest[rows][:, None]
        found = offsets[rows] * self.scales(rows, hours)[:, None]
        return np.asarray(np.clip(found, -most, most))

    def _insert(self, row: int, score: float) -> float:
        """Put a score among the others, for the oldest; its rank among them, from 0 to 1."""
        seen, ordered, newest = int(self.seen[row]), self._sorted[row], self._newest[row]
        size = len(ordered)
        low = bisect_left(ordered, score)
        high = bisect_right(ordered, score, low)
        place = seen % WINDOW
        if seen >= WINDOW:
            del ordered[bisect_left(ordered, newest[place])]
        ordered.insert(bisect_left(ordered, score), score)
        newest[place] = score
        self.seen[row] = seen + 1
        return (low + high) / 2.0 / size if size else 0.5

    def _learn_scales(self, part: slice | Counts, errors: Vector, hour: int) -> None:
        size = np.abs(errors)
        self._scale_seen[part, hour] += 1
        own, overall = self._scale[part, hour], self._overall[part]
        usual = np.where(overall > 0.0, LARGEST_ERROR * np.maximum(own, overall), size)
        size = np.minimum(size, usual)
        alpha = np.maximum(SCALE_ALPHA, 1.0 / self._scale_seen[part, hour])
        self._scale[part, hour] += alpha * (size - own)
        alpha = np.maximum(SCALE_ALPHA / 10.0, 1.0 / (self.seen[part] + 1))
        self._overall[part] += alpha * (size - overall)
