"""Experts that know the day and the week: seasonal naive, day profile × level, Holt-Winters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from streamgauge.traffic.history import DAYS_PER_WEEK, History
from streamgauge.traffic.series import Counts, Vector
from streamgauge.traffic.smoothing import BestSoFar

# Weight of a new day in the profile, once so many days are in it that their mean would weigh less.
PROFILE_ALPHA = 0.2
# How quickly today's level follows, by the weights of the newest value.
LEVEL_ALPHAS = np.array([0.02, 0.1, 0.3, 0.6, 1.0])
# Holt and Winters' constants of level and season, in all combinations.
_ALPHA, _GAMMA = np.meshgrid([0.05, 0.2, 0.5, 0.8], [0.1, 0.3])
HW_ALPHAS, HW_GAMMAS = _ALPHA.ravel(), _GAMMA.ravel()
TINY = 1e-300


class SeasonalNaive:
    """The value at the same time some days ago."""

    name: ClassVar[str] = "same-time-yesterday"
    is_standard: ClassVar[bool] = True
    days: ClassVar[int] = 1

    def __init__(self, history: History) -> None:
        self._history = history

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the value at the same time of the day before"

    def update(self) -> None:
        """The history has it."""

    def predict(self, steps: Counts) -> Vector:
        """What was then; for steps further ahead than a season, the newest that is known."""
        history, clock = self._history, self._history.clock
        if not clock.day:
            return np.full(len(steps), np.nan)
        found = history.earlier(steps, self.days)
        if found[0] >= 0 and found[-1] < history.count:
            return history.values[found]
        period = self.days * clock.day
        if int(steps[-1]) > period // 2:
            ahead = np.maximum(0, -(-(found - history.count + 1) // period))
            found = found - ahead * period
        values = history.values
        return np.where(found >= 0, values[np.clip(found, 0, len(values) - 1)], np.nan)


class SameTimeLastWeek(SeasonalNaive):
    """The value at the same time a week ago."""

    name: ClassVar[str] = "same-time-last-week"
    days: ClassVar[int] = DAYS_PER_WEEK

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the value at the same time of the same weekday before"


class DayProfile:
    """The mean course of a day, times today's level.

    The level is the smoothed ratio of values to the profile, with the constant that was best.
    """

    name: ClassVar[str] = "day-profile"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        self._history = history
        day = history.clock.day
        self._profile, self._seen = np.zeros(day), np.zeros(day, dtype=np.int64)
        self._levels = np.ones(len(LEVEL_ALPHAS))
        self._chosen = BestSoFar(len(LEVEL_ALPHAS))

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "the mean course of a day, times the level of the last steps"

    def update(self) -> None:
        """Move the level towards today's, then the profile at this time of the day."""
        history = self._history
        if not len(self._profile):
            return
        slot = history.slot
        expected = self._profile[slot]
        if self._seen[slot] and expected > TINY:
            if history.is_observed:
                self._chosen.observe(history.last - self._levels * expected)
            self._levels += LEVEL_ALPHAS * (history.last / expected - self._levels)
        self._seen[slot] += 1
        alpha = max(PROFILE_ALPHA, 1.0 / self._seen[slot])
        self._profile[slot] += alpha * (history.last - expected)

    def predict(self, steps: Counts) -> Vector:
        """Profile times level; NaN for times of the day that were not seen yet."""
        history = self._history
        if not len(self._profile):
            return np.full(len(steps), np.nan)
        slots = history.slots(steps)
        level = self._levels[self._chosen.best]
        return np.where(self._seen[slots] > 0, level * self._profile[slots], np.nan)


class HoltWinters:
    """Additive Holt-Winters smoothing (Winters 1960) of level and day, without a trend.

    A day's traffic has no lasting trend within hours: what looks like one is the season. It starts
    with the second day, from the first.
    """

    name: ClassVar[str] = "holt-winters"
    is_standard: ClassVar[bool] = True

    def __init__(self, history: History) -> None:
        self._history = history
        self._levels = np.zeros(len(HW_ALPHAS))
        self._season: Vector | None = None
        self._chosen = BestSoFar(len(HW_ALPHAS))

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "Holt-Winters smoothing of level and day, with the constants that were best so far"

    def update(self) -> None:
        """Move level and season by the error of the last forecast."""
        history, day = self._history, self._history.clock.day
        if not day or history.count < day:
            return
        if self._season is None:
            first = history.values[-day:]
            slots = history.clock.slot(np.arange(history.count - day, history.count))
            season = np.zeros(day)
            season[slots] = first - first.mean()
            self._season = np.repeat(season[:, None], len(HW_ALPHAS), axis=1)
            self._levels[:] = first.mean()
            return
        slot = history.slot
        errors = history.last - self._levels - self._season[slot]
        self._levels += HW_ALPHAS * errors
        self._season[slot] += HW_GAMMAS * (1.0 - HW_ALPHAS) * errors
        if history.is_observed:
            self._chosen.observe(errors)

    def predict(self, steps: Counts) -> Vector:
        """Level plus season."""
        if self._season is None:
            return np.full(len(steps), np.nan)
        best, history = self._chosen.best, self._history
        slots = history.slots(steps)
        return np.asarray(self._levels[best] + self._season[slots, best])
