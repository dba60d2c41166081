"""Experts without a season: the last value, means, simple smoothing, damped trend.

Smoothing runs under several constants at once and answers with the one whose forecasts of the next
step have been best so far, the past counting less by a day's memory: nothing has to be fitted
again.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

import numpy as np

from streamgauge.traffic.history import History
from streamgauge.traffic.series import Counts, Vector

# Weights of the newest value, about evenly spaced in the logarithm of the memory 1/α.
ALPHAS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
# Of the trend, relative to the level's; Gardner and McKenzie (1985) damp by 0.8 to 0.98.
BETAS = np.array([0.1, 0.3])
DAMPING = 0.9
# Memory of the errors that decide between constants, in values.
ERROR_MEMORY = 288
# Means are over a day, or over so many values where a step does not divide a day.
MEAN_WINDOW = 288


class BestSoFar:
    """Which of several variants has had the smallest mean absolute error lately."""

    def __init__(self, size: int) -> None:
        self._errors = np.zeros(size)
        self.best = 0

    def observe(self, errors: Vector) -> None:
        """Take the errors of the variants' forecasts of the same value."""
        self._errors += (np.abs(errors) - self._errors) / ERROR_MEMORY
        self.best = int(self._errors.argmin())


class LastValue:
    """The last value stays."""

    name: ClassVar[str] = "last-value"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        self._history = history

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the last value stays"

    def update(self) -> None:
        """The history has it."""

    def predict(self, steps: Counts) -> Vector:
        """The same for every step."""
        return np.full(len(steps), self._history.last)


class _Window:
    """The newest values of a day."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._size = history.clock.day or MEAN_WINDOW

    def update(self) -> None:
        """The history has it."""

    def _newest(self) -> Vector:
        return self._history.values[-self._size :]


class MeanOfDay(_Window):
    """The mean of the last day; the summary that Caladrius offers for traffic without a pattern."""

    name: ClassVar[str] = "mean"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._window: deque[float] = deque()
        self._sum = 0.0

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the mean of the last day stays"

    def update(self) -> None:
        """Add the newest value, and leave out the one that is a day old."""
        self._window.append(self._history.last)
        self._sum += self._history.last
        if len(self._window) > self._size:
            self._sum -= self._window.popleft()

    def predict(self, steps: Counts) -> Vector:
        """The same for every step."""
        return np.full(len(steps), self._sum / len(self._window))


class MedianOfDay(_Window):
    """The median of the last day."""

    name: ClassVar[str] = "median"
    is_standard: ClassVar[bool] = False

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the median of the last day stays"

    def predict(self, steps: Counts) -> Vector:
        """The same for every step."""
        return np.full(len(steps), np.median(self._newest()))


class SimpleSmoothing:
    """Exponential smoothing (Brown 1956): the level is a mean that forgets."""

    name: ClassVar[str] = "smoothing"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        self._history = history
        self._levels = np.full(len(ALPHAS), np.nan)
        self._chosen = BestSoFar(len(ALPHAS))

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "simple exponential smoothing with the constant that was best so far"

    def update(self) -> None:
        """Move the levels towards the newest value."""
        if self._history.count == 1:
            self._levels[:] = self._history.last
            return
        errors = self._history.last - self._levels
        self._levels += ALPHAS * errors
        if self._history.is_observed:
            self._chosen.observe(errors)

    def predict(self, steps: Counts) -> Vector:
        """The level, for every step."""
        return np.full(len(steps), self._levels[self._chosen.best])


class DampedTrend:
    """Smoothing with a damped trend (Gardner and McKenzie 1985)."""

    name: ClassVar[str] = "damped-trend"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        self._history = history
        self._alpha = np.repeat(ALPHAS, len(BETAS))
        self._gain = self._alpha * np.tile(BETAS, len(ALPHAS))
        self._levels = np.full(len(self._alpha), np.nan)
        self._trends = np.zeros(len(self._alpha))
        self._chosen = BestSoFar(len(self._alpha))

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "smoothing with a damped trend and the constants that were best so far"

    def update(self) -> None:
        """Move levels and trends by the error of the last forecast."""
        if self._history.count == 1:
            self._levels[:] = self._history.last
            return
        self._trends *= DAMPING
        self._levels += self._trends
        errors = self._history.last - self._levels
        self._levels += self._alpha * errors
        self._trends += self._gain * errors
        if self._history.is_observed:
            self._chosen.observe(errors)

    def predict(self, steps: Counts) -> Vector:
        """The level, and the trend that fades: φ + φ² + … + φʰ times it."""
        faded = DAMPING * (1.0 - DAMPING**steps) / (1.0 - DAMPING)
        best = self._chosen.best
        return np.asarray(self._levels[best] + faded * self._trends[best])
