"""What experts know: the values so far without gaps and outliers, and where the clock repeats."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, TypeVar, cast

import numpy as np

from streamgauge.traffic.series import EPOCH, Counts, Vector

DAY_SECONDS = 86_400.0
DAYS_PER_WEEK = 7

Shared = TypeVar("Shared")


class Clock:
    """Which step of an earlier day has the same time on the clock.

    Without a zone a day is always 24 hours of UTC. With one it is a day on the wall: across a
    change to or from daylight-saving time the same hour of yesterday is 23 or 25 hours ago.

    Attributes:
        day: Steps of a day; 0 where the step does not divide a day, or is as long.
    """

    def __init__(self, start_us: int, step_us: int, zone: tzinfo | None = None) -> None:
        self._start_us, self._step_us, self._zone = start_us, step_us, zone
        day_us = round(DAY_SECONDS * 1e6)
        self.day = day_us // step_us if day_us % step_us == 0 and day_us > step_us else 0
        self._first_slot = start_us % day_us // step_us if self.day else 0
        self._offsets = np.zeros(0, dtype=np.int64)

    def skip_step(self) -> None:
        """Begin a step later: nothing was known in the first one."""
        self._start_us += self._step_us
        self._first_slot = (self._first_slot + 1) % max(self.day, 1)

    def slot(self, index: Counts) -> Counts:
        """The step of the day of each index, 0 at midnight."""
        if self._zone is not None:
            index = index + self._shift(index)
        return (index + self._first_slot) % self.day

    def earlier(self, index: Counts, days: int) -> Counts:
        """The index that had the same time so many days before."""
        before = index - days * self.day
        if self._zone is None:
            return before
        return before + self._shift(index) - self._shift(before)

    def _shift(self, index: Counts) -> Counts:
        """Steps by which the zone's clock is ahead of UTC."""
        if len(index) and int(index.max()) >= len(self._offsets):
            self._extend(2 * int(index.max()) + 1)
        return self._offsets[np.maximum(index, 0)]

    def _extend(self, size: int) -> None:
        known = len(self._offsets)
        more = [self._offset(index) for index in range(known, size)]
        self._offsets = np.concatenate([self._offsets, np.asarray(more, dtype=np.int64)])

    def time(self, index: int) -> datetime:
        """When a step begins, on the clock whose days repeat."""
        moment = EPOCH + timedelta(microseconds=self._start_us + index * self._step_us)
        return moment.astimezone(self._zone or UTC)

    def _offset(self, index: int) -> int:
        offset = self.time(index).utcoffset() or timedelta(0)
        return round(offset / timedelta(microseconds=self._step_us))


class History:
    """All values so far: observed ones as they were, others as they were expected.

    Attributes:
        count: How many there are.
        last: The newest.
        is_observed: Whether the newest was observed; nothing is learnt from one that was not.
        slot: The step of the day of the newest, 0 at midnight; 0 where there are no days.
        low: The smallest that was observed.
        high: The largest.
        rungs: For how many steps ahead forecasts are made after every value.
    """

    def __init__(self, clock: Clock, rungs: Counts) -> None:
        self.clock, self.rungs = clock, rungs
        self._values = np.zeros(1024)
        self.count = 0
        self.last = np.nan
        self.is_observed = False
        self.slot = 0
        self.low, self.high = np.inf, -np.inf
        self._with_now = np.concatenate([np.zeros(1, dtype=np.int64), rungs])
        self._rung_slots = rungs
        self._shared: dict[Callable[[History], Any], Any] = {}

    def share(self, kind: Callable[[History], Shared]) -> Shared:
        """What several experts compute together: made once, by the first of them."""
        if kind not in self._shared:
            self._shared[kind] = kind(self)
        return cast(Shared, self._shared[kind])

    @property
    def values(self) -> Vector:
        """All of them, oldest first; a view."""
        return self._values[: self.count]

    def append(self, value: float, *, is_observed: bool) -> None:
        """Add the newest."""
        if self.count == len(self._values):
            self._values = np.concatenate([self._values, np.zeros(self.count)])
        self._values[self.count] = value
        self.count += 1
        self.last, self.is_observed = value, is_observed
        if is_observed:
            self.low, self.high = min(self.low, value), max(self.high, value)
        if self.clock.day:
            slots = self.clock.slot(self.count - 1 + self._with_now)
            self.slot, self._rung_slots = int(slots[0]), slots[1:]

    def slots(self, steps: Counts) -> Counts:
        """The step of the day, so many steps after the newest value."""
        if steps is self.rungs:
            return self._rung_slots
        return self.clock.slot(self.count - 1 + steps)

    def earlier(self, steps: Counts, days: int) -> Counts:
        """Which value had the same time so many days before, so many steps after the newest."""
        return self.clock.earlier(self.count - 1 + steps, days)


def make_rungs(steps: int) -> Counts:
    """Steps ahead that are learnt one by one: 1, 2, 3, 4, 6, 8, 12, 16 … and the last.

    Neighbours are apart by at most a half. Between them weights and errors are interpolated.
    """
    found, power = {1, 2, 3, steps}, 4
    while power < steps:
        found |= {power, power * 3 // 2}
        power *= 2
    return np.asarray(sorted(rung for rung in found if rung <= steps), dtype=np.int64)
