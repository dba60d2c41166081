"""Expert aggregation: weights that follow from how well each expert forecast so far.

ML-Poly (Gaillard, Stoltz and van Erven 2014, section 3.2) gives weights in proportion to positive
regrets, each divided by one more than the sum of its squares. It has nothing to tune. Against
expert k, of K, after T losses between 0 and 1, its regret is at most

    √( (1 + V) · K · (1 + ln(1 + T)) ),    V: sum of the squared differences of its losses to ours.

Losses need not lie between 0 and 1 here: in place of the one, the largest square so far is taken
(Gaillard and Goude 2016, the package opera). The loss is the absolute error, by its gradient at our
forecast: we then compete with the best fixed mixture of experts, too. An expert that does not
forecast sleeps: it has no weight and its regret stays. Errors of forecasts far ahead are known late;
weights that were used then are judged when they are (Joulani, György and Szepesvári 2013).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamgauge.traffic.series import Vector

Matrix = NDArray[np.float64]


class ExpertAggregation:
    """Weights of experts, one row for each number of steps ahead."""

    def __init__(self, rows: int, experts: int) -> None:
        self.regret = np.zeros((rows, experts))
        self._squares = np.zeros((rows, experts))
        self._largest = np.zeros((rows, 1))

    def weigh(self, forecasts: Matrix) -> Matrix:
        """Weights for forecasts, of which NaN has none; each row adds up to one."""
        awake = np.isfinite(forecasts)
        weights = np.maximum(self.regret, 0.0) / np.maximum(self._squares, 1e-300) * awake
        total = weights.sum(axis=1, keepdims=True)
        if not total.all():
            # Nobody has been better than we were: all alike.
            weights = np.where(total > 0.0, weights, awake)
            total = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.maximum(total, 1e-300))

    def learn(self, forecasts: Matrix, mixed: Vector, value: float) -> None:
        """Take what came.

        Args:
            forecasts: Those of the experts, for the first rows; NaN where one slept.
            mixed: What was forecast from them with the weights at that time.
            value: What was observed.
        """
        n = len(forecasts)
        gradient = np.sign(mixed - value)[:, None]
        regret = gradient * (mixed[:, None] - forecasts)
        np.nan_to_num(regret, copy=False)
        square = regret * regret
        largest = np.maximum(self._largest[:n], square.max(axis=1, keepdims=True))
        self.regret[:n] += regret
        self._squares[:n] += square + (largest - self._largest[:n])
        self._largest[:n] = largest


def mix(weights: Matrix, forecasts: Matrix) -> Vector:
    """The weighted means of forecasts; NaN where all sleep."""
    mixed = (weights * np.nan_to_num(forecasts)).sum(axis=1)
    asleep = ~np.isfinite(forecasts).any(axis=1)
    if asleep.any():
        mixed[asleep] = np.nan
    return np.asarray(mixed)
