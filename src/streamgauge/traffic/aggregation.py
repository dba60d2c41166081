"""Expert aggregation: weights that follow from how well each expert forecast so far.

Three rules run side by side, and their weights are averaged:

* ML-Poly (Gaillard, Stoltz and van Erven 2014) gives weights in proportion to positive
  regrets, each divided by one more than the sum of its squares. After T losses between 0 and 1, its
  regret against expert k, of K, is at most √((1 + V) · K · (1 + ln(1 + T))), where V is the sum of
  the squared differences of that expert's losses to ours.
* ML-Poly on the gradient of the loss at our forecast, which competes with the best fixed *mixture*.
* BOA (Wintenberger 2017), exponential weights of regrets less their squares.

Where one expert is best by far the first and third are; where errors cancel the second is. The loss
is convex, so the mean of the three is never worse than the mean of their losses, and needs no
fourth rule that would have to learn which one to trust. Nothing is to be tuned: in place of the one
in ML-Poly, and of the range in BOA, stands the largest that was seen (Gaillard and Goude 2016). The
loss is the absolute error. Regrets are discounted with the memory of a week (Cesa-Bianchi and
Lugosi 2006, section 2.11), since the best expert changes.

An expert that does not forecast sleeps: it has no weight, and its regret stays. Errors of forecasts
far ahead are known late; weights that were used then are judged when they are (Joulani, György and
Szepesvári 2013).
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamgauge.traffic.series import Vector

Matrix = NDArray[np.float64]
TINY = 1e-300


class Rule(Protocol):
    """Weights of experts, one row for each number of steps ahead."""

    def weigh(self, awake: NDArray[np.bool_]) -> Matrix:
        """Weights of those who forecast; not yet of sum one, and all zero where none is better."""

    def learn(self, regret: Matrix) -> None:
        """Take what we lost more than each expert, for the first rows."""


class MlPoly:
    """Weights in proportion to positive regrets.

    Args:
        rows: Numbers of steps ahead.
        experts: How many.
        memory: Values after which what was learnt weighs a third.
    """

    def __init__(self, rows: int, experts: int, memory: float = math.inf) -> None:
        self.regret = np.zeros((rows, experts))
        self._squares = np.zeros((rows, experts))
        self._largest = np.zeros((rows, 1))
        self._keep = 1.0 - 1.0 / memory

    def weigh(self, awake: NDArray[np.bool_]) -> Matrix:
        """Positive regrets by their learning rates."""
        weights = np.maximum(self.regret, 0.0)
        weights /= self._squares + self._largest + TINY
        return np.asarray(weights * awake)

    def learn(self, regret: Matrix) -> None:
        """Add to the regrets."""
        n = len(regret)
        square = regret * regret
        if self._keep < 1.0:
            self.regret[:n] *= self._keep
            self._squares[:n] *= self._keep
        self.regret[:n] += regret
        self._squares[:n] += square
        largest = self._largest[:n]
        np.maximum(largest, square.max(axis=1, keepdims=True), out=largest)


class Boa:
    """Exponential weights of regrets less their squares, each with its own learning rate."""

    def __init__(self, rows: int, experts: int, memory: float = math.inf) -> None:
        self._gain = np.zeros((rows, experts))
        self._squares = np.zeros((rows, experts))
        self._largest = np.zeros((rows, 1))
        self._rates = self._find_rates(rows, math.log(max(experts, 2)))
        self._keep, self._logarithm = 1.0 - 1.0 / memory, math.log(max(experts, 2))

    def weigh(self, awake: NDArray[np.bool_]) -> Matrix:
        """Exponential weights, the largest one."""
        score = np.where(awake, np.log(self._rates) + self._rates * self._gain, -np.inf)
        best = score.max(axis=1, keepdims=True)
        return np.asarray(np.exp(score - np.where(np.isfinite(best), best, 0.0)))

    def learn(self, regret: Matrix) -> None:
        """Add to the regrets, less a part of their squares."""
        n = len(regret)
        square = regret * regret
        if self._keep < 1.0:
            self._gain[:n] *= self._keep
            self._squares[:n] *= self._keep
        self._squares[:n] += square
        largest = self._largest[:n]
        np.maximum(largest, square.max(axis=1, keepdims=True), out=largest)
        self._rates[:n] = self._find_rates(n, self._logarithm)
        self._gain[:n] += regret - self._rates[:n] * square

    def _find_rates(self, n: int, logarithm: float) -> Matrix:
        """√(ln K / V), and at most half of one over the largest regret."""
        largest = self._largest[:n] + TINY
        rates = np.sqrt(logarithm / np.maximum(self._squares[:n], largest))
        return np.minimum(rates, 0.5 / np.sqrt(largest))


class ExpertAggregation:
    """The mean of three rules."""

    def __init__(self, rows: int, experts: int, memory: float = math.inf) -> None:
        self._by_loss = MlPoly(rows, experts, memory)
        self._by_gradient = MlPoly(rows, experts, memory)
        self._boa = Boa(rows, experts, memory)
        self.rules: tuple[Rule, ...] = (self._by_loss, self._by_gradient, self._boa)

    def weigh(self, forecasts: Matrix) -> Matrix:
        """Weights for forecasts by rule; NaN has none, and each row adds up to one."""
        awake = np.isfinite(forecasts)
        return normalise(np.stack([rule.weigh(awake) for rule in self.rules]), awake)

    def learn(self, forecasts: Matrix, mixed: Matrix, value: float) -> None:
        """Take what came.

        Args:
            forecasts: Those of the experts, for the first rows; NaN where one slept.
            mixed: What was forecast from them with the weights at that time, a column for each
            rule.
            value: What was observed.
        """
        losses = np.abs(forecasts - value)
        asleep = np.isnan(forecasts)
        some_sleep = bool(asleep.any())
        regrets = (
            np.abs(mixed[:, :1] - value) - losses,
            gradient_regret(forecasts, mixed[:, 1:2], value),
            np.abs(mixed[:, 2:] - value) - losses,
        )
        for rule, regret in zip(self.rules, regrets, strict=True):
            if some_sleep:
                regret[asleep] = 0.0
            rule.learn(regret)


def gradient_regret(forecasts: Matrix, mixed: Matrix, value: float) -> Matrix:
    """The regret of the loss's gradient at our forecast: at least that of the loss itself."""
    return np.asarray(np.sign(mixed - value) * (mixed - forecasts))


def normalise(weights: Matrix, awake: NDArray[np.bool_]) -> Matrix:
    """Rows that add up to one; where all are zero, those who forecast are alike."""
    total = weights.sum(axis=-1, keepdims=True)
    if not total.all():
        weights = np.where(total > 0.0, weights, awake)
        total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.maximum(total, TINY))


def mix(weights: Matrix, forecasts: Matrix) -> Vector:
    """The weighted means of forecasts; NaN where all sleep."""
    awake = np.isfinite(forecasts)
    if awake.all():
        return np.asarray((weights * forecasts).sum(axis=-1))
    mixed = (weights * np.where(awake, forecasts, 0.0)).sum(axis=-1)
    return np.where(awake.any(axis=-1), mixed, np.nan)
