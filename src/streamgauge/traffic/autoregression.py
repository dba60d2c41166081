"""Auto-regression, learnt by recursive least squares: one regression for each rung of steps ahead.

What is regressed is the change from the newest value to the one h steps ahead. The regressors are
differences, too: ridge regression, which shrinks coefficients towards zero, then shrinks towards
the last value, the best forecast of a series of which nothing is known. Values are measured in mean
changes of a step, so a ridge of one is a normal prior of coefficients with the variance of a
change. A regressor that needs a day or a week of history is zero before there is one.

A direct regression for each horizon does not add up the errors of a one-step model that is wrong
(Marcellino, Stock and Watson 2006). Large errors have Huber's (1964) weights: one outlier moves the
coefficients no more than a large error, and teaches as much less.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.traffic.history import DAYS_PER_WEEK, History
from streamgauge.traffic.series import Counts, Vector

RECENT = 12
# Values that tell how large changes are, before anything is learnt.
WARM_UP = 2 * RECENT
# Steps around the same time of yesterday, and of a week ago.
AROUND_DAY = np.arange(-2, 3)
AROUND_WEEK = np.arange(-1, 2)
HARMONICS = np.arange(1, 5)
# Means of the last values, which stand for the many small coefficients of a moving average.
MEAN_ALPHAS = np.array([0.3, 0.1, 0.03])
# Weight of a new day in the mean course of a day: the seasonal moving average of Box and Jenkins'
# airline model is such a mean.
PROFILE_ALPHA = 0.3
RIDGE = 1.0
# 95 % as efficient as least squares where errors are normal (Huber 1964); 1.25 mean absolute
# errors are a standard deviation there.
CLIP = 1.345 * 1.2533
SCALE_MEMORY = 200
# An error counts in the mean size of errors as at most so many times the limit.
LARGEST_ERROR = 3.0
# Forgetting lets go of what is no longer seen; the prior is never forgotten, which is looked after
# once in so many steps.
BOUND_EVERY = 32
# Logarithms are taken of values and a hundredth of their mean: zeros stay finite.
FLOOR_SHARE = 0.01
TINY = 1e-12

Tensor = NDArray[np.float64]


class Regression:
    """Recursive least squares with forgetting, several regressions of the same shape at once."""

    def __init__(self, rows: int, size: int, memory: float) -> None:
        self.theta = np.zeros((rows, size))
        self._covariance = np.repeat(np.eye(size)[None] / RIDGE, rows, axis=0)
        self._keep = 1.0 - 1.0 / memory
        self._scale = np.zeros(rows)
        self._seen = np.zeros(rows, dtype=np.int64)
        self._sure = 2 * size

    def learn(self, x: Tensor, y: Vector) -> None:
        """Take one observation for the first regressions, as many as there are rows."""
        n = len(x)
        covariance, scale, seen = self._covariance[:n], self._scale[:n], self._seen[:n]
        errors = y - (self.theta[:n] * x).sum(axis=1)
        sizes = np.abs(errors)
        # Huber's weights; none before as many were seen as it takes to know what is usual.
        limits = np.where(seen >= self._sure, CLIP * scale, np.inf)
        weights = np.where(np.isfinite(limits), limits / np.maximum(sizes, TINY), 1.0)
        weights = np.minimum(weights, 1.0)
        spread = np.matmul(covariance, x[:, :, None])[:, :, 0]
        room = self._keep + weights * (x * spread).sum(axis=1)
        gain = spread * (weights / room)[:, None]
        self.theta[:n] += gain * errors[:, None]
        covariance -= gain[:, :, None] * spread[:, None, :]
        seen += 1
        scale += np.maximum(1.0 / SCALE_MEMORY, 1.0 / seen) * (
            np.minimum(sizes, LARGEST_ERROR * limits) - scale
        )
        if self._keep < 1.0:
            covariance /= self._keep
            if int(seen[0]) % BOUND_EVERY == 0:
                self._bound()

    def reopen(self) -> None:
        """Be as uncertain as in the beginning, around what was learnt (covariance resetting)."""
        self._covariance[:] = np.eye(self.theta.shape[1]) / RIDGE

    def _bound(self) -> None:
        """No coefficient is less certain than before anything was seen."""
        variance = np.einsum("nii->ni", self._covariance)
        shrink = np.sqrt(np.minimum(1.0, 1.0 / (RIDGE * np.maximum(variance, TINY))))
        self._covariance *= shrink[:, :, None] * shrink[:, None, :]


class Autoregression:
    """Ridge auto-regression on recent values, those around a day and a week ago, and the hour."""

    name: ClassVar[str] = "autoregression"
    is_standard: ClassVar[bool] = True
    takes_logarithms: ClassVar[bool] = False
    # Weeks after which what was seen weighs a third; a week holds each weekday once.
    memory_weeks: ClassVar[float] = np.inf

    def __init__(self, history: History) -> None:
        self._history, self._clock = history, history.clock
        self._rungs = history.rungs
        day = history.clock.day
        self._day, self._week = day, DAYS_PER_WEEK * day
        size = 2 + RECENT + len(MEAN_ALPHAS)
        if day:
            size += 3 + len(AROUND_DAY) + len(AROUND_WEEK) + 2 * len(HARMONICS)
        memory = self.memory_weeks * (self._week or DAYS_PER_WEEK * 288)
        self._regression = Regression(len(self._rungs), size, memory)
        self._past = np.zeros((int(self._rungs[-1]) + 1, len(self._rungs), size))
        self._row = np.arange(len(self._rungs))
        self._z = np.zeros(1024)
        self._centre = self._scale = self._floor = 0.0
        self._begun = -1
        self._means = np.zeros(len(MEAN_ALPHAS))
        self._profile, self._profile_seen = np.zeros(day), np.zeros(day, dtype=np.int64)
        slots = np.arange(max(day, 1))
        angle = 2.0 * np.pi * np.outer(slots, HARMONICS) / max(day, 1)
        self._waves = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
        self._now = np.full(len(self._rungs), np.nan)

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        of = "logarithms" if cls.takes_logarithms else "values"
        memory = ", forgetting in about a week" if np.isfinite(cls.memory_weeks) else ""
        return f"ridge auto-regression on recent, day and week lags and the hour, of {of}{memory}"

    def update(self) -> None:
        """Learn from the newest value, then forecast from it."""
        history = self._history
        if self._begun < 0:
            if history.count < WARM_UP:
                return
            self._begin()
        at = history.count - 1
        if at >= len(self._z):
            self._z = np.concatenate([self._z, np.zeros(len(self._z))])
        self._z[at] = newest = self._transform(history.last)
        if history.is_observed:
            self._learn(at)
        if self._day and at in (self._day, self._week):
            # From here on regressors tell more: what was learnt without them is but a first guess.
            self._regression.reopen()
        self._means += MEAN_ALPHAS * (newest - self._means)
        if self._day:
            self._remember_day(at, newest)
        features = self._features(self._rungs)
        self._past[at % len(self._past)] = features
        change = (self._regression.theta * features).sum(axis=1)
        self._now = self._restore(newest + change)

    def predict(self, steps: Counts) -> Vector:
        """The newest value and the expected change; between rungs coefficients are interpolated."""
        if steps is self._rungs or self._begun < 0:
            return self._now if steps is self._rungs else np.full(len(steps), np.nan)
        rungs, theta = self._rungs, self._regression.theta
        right = np.clip(np.searchsorted(rungs, steps), 1, max(len(rungs) - 1, 1))
        if len(rungs) == 1:
            mixed = np.repeat(theta, len(steps), axis=0)
        else:
            left = right - 1
            part = np.clip((steps - rungs[left]) / (rungs[right] - rungs[left]), 0.0, 1.0)
            mixed = theta[left] + part[:, None] * (theta[right] - theta[left])
        change = (mixed * self._features(steps)).sum(axis=1)
        return self._restore(self._z[self._history.count - 1] + change)

    def _begin(self) -> None:
        """Choose units by the first values, and turn those into them."""
        history = self._history
        first = history.values
        self._floor = FLOOR_SHARE * float(first.mean()) or 1.0
        plain = np.log(first + self._floor) if self.takes_logarithms else first
        self._centre = float(plain.mean())
        change = float(np.abs(np.diff(plain)).mean())
        self._scale = max(change, 1e-6 * float(np.abs(plain).mean()), TINY)
        self._z = np.zeros(max(1024, 2 * history.count))
        self._z[: history.count] = (plain - self._centre) / self._scale
        self._means[:] = self._z[history.count - 1]
        self._begun = history.count - 1

    def _transform(self, value: float) -> float:
        plain = np.log(value + self._floor) if self.takes_logarithms else value
        return float((plain - self._centre) / self._scale)

    def _restore(self, z: Vector) -> Vector:
        """Values again, within what is plausible: a range beyond what was seen."""
        low, high = self._history.low, self._history.high
        plain = self._centre + self._scale * z
        if self.takes_logarithms:
            most = np.log(2.0 * high - low + self._floor)
            plain = np.exp(np.minimum(plain, most)) - self._floor
        return np.clip(plain, max(0.0, 2.0 * low - high), 2.0 * high - low)

    def _learn(self, at: int) -> None:
        """Compare what was known some steps ago with what is known now."""
        n = int(np.searchsorted(self._rungs, at - self._begun, side="right"))
        if n == 0:
            return
        before = at - self._rungs[:n]
        features = self._past[before % len(self._past), self._row[:n]]
        self._regression.learn(features, self._z[at] - self._z[before])

    def _remember_day(self, at: int, newest: float) -> None:
        slot = int(self._clock.slot(np.array([at]))[0])
        self._profile_seen[slot] += 1
        alpha = max(PROFILE_ALPHA, 1.0 / self._profile_seen[slot])
        self._profile[slot] += alpha * (newest - self._profile[slot])

    def _features(self, steps: Counts) -> Tensor:
        """Regressors for forecasts so many steps ahead of the newest value, a row for each."""
        z, at = self._z, self._history.count - 1
        newest = z[at]
        found = np.zeros((len(steps), self._regression.theta.shape[1]))
        found[:, 0], found[:, 1] = 1.0, newest
        used = 2 + RECENT
        found[:, 2:used] = newest - z[at - RECENT : at][::-1]
        found[:, used : used + len(MEAN_ALPHAS)] = newest - self._means
        used += len(MEAN_ALPHAS)
        if not self._day:
            return found
        target = at + steps
        if at >= self._day:
            self._add_season(found, used, target, 1, AROUND_DAY)
        used += 1 + len(AROUND_DAY)
        if at >= self._week:
            self._add_season(found, used, target, DAYS_PER_WEEK, AROUND_WEEK)
        used += 1 + len(AROUND_WEEK)
        slots = self._clock.slot(target)
        now = int(self._clock.slot(np.array([at]))[0])
        seen = self._profile_seen[slots] > 0
        found[:, used] = np.where(seen, self._profile[slots] - self._profile[now], 0.0)
        found[:, used + 1 :] = self._waves[slots]
        return found

    def _add_season(
        self, found: Tensor, used: int, target: Counts, days: int, around: Counts
    ) -> None:
        """How far the newest value is from that of the same time, and what happened then."""
        z, at, clock = self._z, self._history.count - 1, self._clock
        period = days * self._day
        then = max(int(clock.earlier(np.array([at]), days)[0]), 0)
        found[:, used] = z[at] - z[then]
        source = clock.earlier(target, days)[:, None] + around
        if int(source[-1, -1]) > at:
            source = source - np.maximum(0, -(-(source - at) // period)) * period
        found[:, used + 1 : used + 1 + len(around)] = z[np.maximum(source, 0)] - z[then]


class LogAutoregression(Autoregression):
    """The same on logarithms: changes grow with the level."""

    name: ClassVar[str] = "autoregression-log"
    takes_logarithms: ClassVar[bool] = True


class ForgettingAutoregression(Autoregression):
    """The same, with the memory of a week: patterns may change."""

    name: ClassVar[str] = "autoregression-week"
    memory_weeks: ClassVar[float] = 1.0


class ForgettingLogAutoregression(Autoregression):
    """Logarithms and the memory of a week."""

    name: ClassVar[str] = "autoregression-log-week"
    takes_logarithms: ClassVar[bool] = True
    memory_weeks: ClassVar[float] = 1.0
