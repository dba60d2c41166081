"""Auto-regression, learnt by recursive least squares: one regression for each rung of steps ahead.

What is regressed is the change from the newest value to the one h steps ahead. The regressors are
differences, too: ridge regression, which shrinks coefficients towards zero, then shrinks towards
the last value, the best forecast of a series of which nothing is known. Values are measured in mean
changes of a step, so a ridge of one is a normal prior of coefficients with the variance of a
change. A regressor that needs a day or a week of history is zero before there is one.

A direct regression for each horizon does not add up the errors of a one-step model that is wrong
(Marcellino, Stock and Watson 2006). Large errors have Huber's (1964) weights: one outlier moves the
coefficients no more than a large error, and teaches as much less.

All auto-regressions of a history are learnt together: those that differ in memory alone share their
regressors, and one pass over arrays serves all.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from streamgauge.traffic.history import DAYS_PER_WEEK, History
from streamgauge.traffic.regression import TINY, Regression, Tensor
from streamgauge.traffic.series import Counts, Vector

RECENT = 12
# Values, and changes among them, that tell how large changes are, before anything is learnt. Units
# chosen from a quiet night would be far too small for the day.
WARM_UP = 2 * RECENT
LEAST_CHANGES = RECENT
# Steps around the same time of yesterday, and of a week ago.
AROUND_DAY = np.arange(-2, 3)
AROUND_WEEK = np.arange(-1, 2)
HARMONICS = np.arange(1, 5)
# Means of the last values, which stand for the many small coefficients of a moving average.
MEAN_ALPHAS = np.array([0.3, 0.1, 0.03])
# Weight of a new day in the mean course of a day: the seasonal moving average of Box and Jenkins'
# airline model is such a mean.
PROFILE_ALPHA = 0.3
# Logarithms are taken of values and a hundredth of their mean: zeros stay finite.
FLOOR_SHARE = 0.01
NOW = np.zeros(1, dtype=np.int64)


class Kind(NamedTuple):
    """What one auto-regression differs in.

    Attributes:
        takes_logarithms: Whether it is of logarithms, where changes grow with the level.
        memory_weeks: Weeks after which what was seen weighs a third.
    """

    takes_logarithms: bool
    memory_weeks: float


class Autoregressions:
    """All auto-regressions of one history, which are given before its first value.

    Arrays have a row for each rung, then a column for each scale (values, logarithms) or for each
    regression.
    """

    def __init__(self, history: History) -> None:
        self._history, self._rungs = history, history.rungs
        self._day = history.clock.day
        self._week = DAYS_PER_WEEK * self._day
        self._size = 2 + RECENT + len(MEAN_ALPHAS)
        if self._day:
            self._size += 3 + len(AROUND_DAY) + len(AROUND_WEEK) + 2 * len(HARMONICS)
        self._kinds: list[Kind] = []
        self._row = np.arange(len(self._rungs))
        self._means = np.zeros((0, len(MEAN_ALPHAS)))
        self._z = np.zeros((0, 0))
        slots = np.arange(max(self._day, 1))
        angle = 2.0 * np.pi * np.outer(slots, HARMONICS) / max(self._day, 1)
        self._waves = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
        self._begun, self._seen, self._changes, self._previous = -1, 0, 0, np.nan
        self._asked: Counts | None = None

    def join(self, kind: Kind) -> int:
        """Take part; the column of the answers."""
        if kind not in self._kinds:
            self._kinds.append(kind)
        self._now = np.full((len(self._rungs), len(self._kinds)), np.nan)
        return self._kinds.index(kind)

    def update(self) -> None:
        """Learn from the newest value, then forecast from it; once, whoever asks first."""
        history = self._history
        if history.count == self._seen:
            return
        self._seen, self._asked = history.count, None
        if self._begun < 0:
            self._changes += int(history.last != self._previous)
            self._previous = history.last
            if history.count < WARM_UP:
                return
            self._now[:] = history.last
            if self._changes < LEAST_CHANGES:
                return
            self._begin()
        at = history.count - 1
        if at >= self._z.shape[1]:
            self._z = np.concatenate([self._z, np.zeros_like(self._z)], axis=1)
        self._z[:, at] = newest = self._transform(history.last)
        if history.is_observed:
            self._learn(at)
        if self._day and at in (self._day, self._week):
            # From here on regressors tell more: what was learnt without them is but a first guess.
            self._regression.reopen()
        self._means += MEAN_ALPHAS * (newest[:, None] - self._means)
        if self._day:
            self._remember_day(newest)
        features = self._features(self._rungs)
        self._past[at % len(self._past)] = features
        self._now = self._forecast(self._theta, features)

    def predict(self, steps: Counts) -> Tensor:
        """The newest value and the expected change; between rungs coefficients are interpolated."""
        rungs = self._rungs
        if steps is rungs:
            return self._now
        if self._begun < 0:
            # Nothing is learnt: all coefficients are zero, and the last value stays.
            return np.repeat(self._now[:1], len(steps), axis=0)
        if self._asked is None or not np.array_equal(steps, self._asked):
            theta = self._theta
            right = np.clip(np.searchsorted(rungs, steps), 1, max(len(rungs) - 1, 1))
            if len(rungs) == 1:
                mixed = np.repeat(theta, len(steps), axis=0)
            else:
                left = right - 1
                part = np.clip((steps - rungs[left]) / (rungs[right] - rungs[left]), 0.0, 1.0)
                mixed = theta[left] + part[:, None, None] * (theta[right] - theta[left])
            self._asked = steps.copy()
            self._answer = self._forecast(mixed, self._features(steps))
        return self._answer

    @property
    def _theta(self) -> Tensor:
        return self._regression.theta.reshape(len(self._rungs), len(self._kinds), self._size)

    def _begin(self) -> None:
        """Choose units by the first values, and turn those into them."""
        history = self._history
        scales = sorted({kind.takes_logarithms for kind in self._kinds})
        self._of = np.array([scales.index(kind.takes_logarithms) for kind in self._kinds])
        self._logs = np.array(scales)
        week = self._week or DAYS_PER_WEEK * 288
        memory = np.tile([kind.memory_weeks * week for kind in self._kinds], len(self._rungs))
        self._regression = Regression(len(memory), self._size, memory)
        ring = int(self._rungs[-1]) + 1
        self._past = np.zeros((ring, len(self._rungs), len(scales), self._size))
        first = history.values
        self._floor = FLOOR_SHARE * float(first.mean()) or 1.0
        plain = np.stack([np.log(first + self._floor) if log else first for log in scales])
        self._centre = plain.mean(axis=1)
        change = np.abs(np.diff(plain, axis=1)).mean(axis=1)
        self._scale = np.maximum(change, TINY)
        self._z = np.zeros((len(scales), max(1024, 2 * history.count)))
        self._z[:, : history.count] = (plain - self._centre[:, None]) / self._scale[:, None]
        self._means = np.repeat(self._z[:, history.count - 1, None], len(MEAN_ALPHAS), axis=1)
        self._profile = np.zeros((len(scales), self._day))
        self._profile_seen = np.zeros(self._day, dtype=np.int64)
        self._begun = history.count - 1

    def _transform(self, value: float) -> Vector:
        plain = np.where(self._logs, np.log(value + self._floor), value)
        return np.asarray((plain - self._centre) / self._scale)

    def _forecast(self, theta: Tensor, features: Tensor) -> Tensor:
        """Values again, within what is plausible: a range beyond what was seen."""
        of, low, high = self._of, self._history.low, self._history.high
        change = (theta * features[:, of]).sum(axis=2)
        z = self._z[of, self._history.count - 1] + change
        plain = self._centre[of] + self._scale[of] * z
        logs = self._logs[of]
        if logs.any():
            most = np.log(2.0 * high - low + self._floor)
            plain[:, logs] = np.exp(np.minimum(plain[:, logs], most)) - self._floor
        return np.asarray(np.clip(plain, max(0.0, 2.0 * low - high), 2.0 * high - low))

    def _learn(self, at: int) -> None:
        """Compare what was known some steps ago with what is known now."""
        n = int(np.searchsorted(self._rungs, at - self._begun, side="right"))
        if n == 0:
            return
        before = at - self._rungs[:n]
        features = self._past[before % len(self._past), self._row[:n]][:, self._of]
        change = (self._z[:, at, None] - self._z[:, before])[self._of].T
        self._regression.learn(features.reshape(-1, self._size), change.ravel())

    def _remember_day(self, newest: Vector) -> None:
        slot = self._history.slot
        self._profile_seen[slot] += 1
        alpha = max(PROFILE_ALPHA, 1.0 / self._profile_seen[slot])
        self._profile[:, slot] += alpha * (newest - self._profile[:, slot])

    def _features(self, steps: Counts) -> Tensor:
        """Regressors for forecasts so many steps ahead of the newest value, by scale."""
        z, at, history = self._z, self._history.count - 1, self._history
        newest = z[:, at, None]
        found = np.zeros((len(steps), len(z), self._size))
        found[:, :, 0], found[:, :, 1] = 1.0, z[:, at]
        used = 2 + RECENT
        found[:, :, 2:used] = newest - z[:, at - RECENT : at][:, ::-1]
        found[:, :, used : used + len(MEAN_ALPHAS)] = newest - self._means
        used += len(MEAN_ALPHAS)
        if not self._day:
            return found
        if at >= self._day:
            self._add_season(found, used, steps, 1, AROUND_DAY)
        used += 1 + len(AROUND_DAY)
        if at >= self._week:
            self._add_season(found, used, steps, DAYS_PER_WEEK, AROUND_WEEK)
        used += 1 + len(AROUND_WEEK)
        slots = history.slots(steps)
        seen = self._profile_seen[slots] > 0
        course = self._profile[:, slots] - self._profile[:, history.slot, None]
        found[:, :, used] = np.where(seen, course, 0.0).T
        found[:, :, used + 1 :] = self._waves[slots][:, None, :]
        return found

    def _add_season(
        self, found: Tensor, used: int, steps: Counts, days: int, around: Counts
    ) -> None:
        """How far the newest value is from that of the same time, and what happened then."""
        z, at, history = self._z, self._history.count - 1, self._history
        period = days * self._day
        then = max(int(history.earlier(NOW, days)[0]), 0)
        found[:, :, used] = z[:, at] - z[:, then]
        source = history.earlier(steps, days)[:, None] + around
        if int(source[-1, -1]) > at:
            source = source - np.maximum(0, -(-(source - at) // period)) * period
        change = z[:, np.maximum(source, 0)] - z[:, then, None, None]
        found[:, :, used + 1 : used + 1 + len(around)] = change.transpose(1, 0, 2)


class Autoregression:
    """Ridge auto-regression on recent values, those around a day and a week ago, and the hour."""

    name: ClassVar[str] = "autoregression"
    is_standard: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(takes_logarithms=False, memory_weeks=np.inf)

    def __init__(self, history: History) -> None:
        self._together = history.share(Autoregressions)
        self._column = self._together.join(self.kind)

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        of = "logarithms" if cls.kind.takes_logarithms else "values"
        memory = ", forgetting in about a week" if np.isfinite(cls.kind.memory_weeks) else ""
        return f"ridge auto-regression on recent, day and week lags and the hour, of {of}{memory}"

    def update(self) -> None:
        """Learn from the newest value, then forecast from it."""
        self._together.update()

    def predict(self, steps: Counts) -> Vector:
        """The newest value and the expected change."""
        return self._together.predict(steps)[:, self._column]


class LogAutoregression(Autoregression):
    """The same on logarithms: changes grow with the level."""

    name: ClassVar[str] = "autoregression-log"
    kind: ClassVar[Kind] = Kind(takes_logarithms=True, memory_weeks=np.inf)


class ForgettingAutoregression(Autoregression):
    """The same, with the memory of a week, which holds each weekday once: patterns may change."""

    name: ClassVar[str] = "autoregression-week"
    kind: ClassVar[Kind] = Kind(takes_logarithms=False, memory_weeks=1.0)


class ForgettingLogAutoregression(Autoregression):
    """Logarithms and the memory of a week."""

    name: ClassVar[str] = "autoregression-log-week"
    kind: ClassVar[Kind] = Kind(takes_logarithms=True, memory_weeks=1.0)
