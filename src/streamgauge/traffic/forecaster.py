"""A forecaster of one series: experts, combined for each horizon, with adaptive quantiles.

`fit` to a history, `update` by one value, `predict` some steps ahead with quantiles. A single
expert is a combination of one. Nothing but the values so far enters a forecast.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import tzinfo

import numpy as np

from streamgauge.traffic.aggregation import ExpertAggregation, Matrix, mix, normalise
from streamgauge.traffic.expert import load_expert, standard_experts
from streamgauge.traffic.history import DAYS_PER_WEEK, Clock, History, make_rungs
from streamgauge.traffic.intervals import HOURS, AdaptiveQuantiles
from streamgauge.traffic.series import MICROSECONDS, Counts, Vector

# A value further from its forecast than so many mean errors is taken for an outlier, once: what
# the next one confirms is a new level.
OUTLIER_ERRORS = 12.0
OUTLIER_AFTER = 100
# What stands for a day where a step does not divide one.
STEPS_WITHOUT_DAY = 288
ERROR_ALPHA = 0.01


class Forecaster:
    """Forecasts one series on a regular grid.

    Args:
        start_us: Begin of the first step, in microseconds since 1970, UTC.
        step_seconds: Length of a step.
        horizon: The most steps ahead that will be asked for.
        experts: Names of registered experts; the standard ones where none are named.
        zone: Whose clock the days follow; UTC's where none is given.
    """

    def __init__(
        self,
        *,
        start_us: int,
        step_seconds: float,
        horizon: int,
        experts: Sequence[str] = (),
        zone: tzinfo | None = None,
    ) -> None:
        step_us = round(step_seconds * MICROSECONDS)
        self._rungs = make_rungs(horizon)
        self._clock = Clock(start_us, step_us, zone)
        self.history = History(self._clock, self._rungs)
        self.names = tuple(experts) or standard_experts()
        self._experts = [load_expert(name)(self.history) for name in self.names]
        rows, ring = len(self._rungs), int(self._rungs[-1]) + 1
        self._row = np.arange(rows)
        week = DAYS_PER_WEEK * (self._clock.day or STEPS_WITHOUT_DAY)
        self._aggregation = ExpertAggregation(rows, len(self.names), week)
        self._quantiles = AdaptiveQuantiles(rows)
        self._forecasts = np.full((ring, rows, len(self.names)), np.nan)
        self._mixed = np.full((ring, rows), np.nan)
        self._by_rule = np.full((ring, rows, len(self._aggregation.rules)), np.nan)
        self._scales = np.ones((ring, rows))
        self._mean_levels = np.zeros((ring, *self._quantiles.levels.shape[:2]))
        # Half as many bytes: of a long horizon these are the most.
        self._levels = np.zeros((ring, *self._quantiles.levels.shape), dtype=np.float32)
        self._step_hours = step_us / (3600 * MICROSECONDS)
        self._next_hour = 0
        self._error, self._errors_seen, self._suspected = 0.0, 0, 0.0

    def fit(self, values: Iterable[float]) -> None:
        """Take a history, one value after the other; NaN is a gap."""
        for value in values:
            self.update(float(value))

    def update(self, value: float) -> None:
        """Take the next value; NaN says that it is not known."""
        history = self.history
        is_observed = math.isfinite(value)
        if history.count == 0 and not is_observed:
            self._clock.skip_step()
            return
        at = history.count
        if is_observed:
            self._learn(at, value)
        history.append(self._clean(value, at), is_observed=is_observed)
        place = at % len(self._mixed)
        forecasts = self._forecasts[place]
        for column, expert in enumerate(self._experts):
            expert.update()
            forecasts[:, column] = expert.predict(self._rungs)
        by_rule = mix(self._aggregation.weigh(forecasts), forecasts)
        self._by_rule[place] = by_rule.T
        self._mixed[place] = by_rule.mean(axis=0)
        self._levels[place] = self._quantiles.levels
        self._mean_levels[place] = self._quantiles.mean_levels()
        hours = self._hour(self._rungs)
        self._next_hour = int(hours[0])
        self._scales[place] = self._quantiles.scales(self._row, hours)

    def predict(
        self, steps: Counts | None = None, probabilities: Sequence[float] = ()
    ) -> tuple[Vector, Vector]:
        """The values expected so many steps ahead, and quantiles of what may come.

        Args:
            steps: How many, ascending; every one up to the horizon where none are given.
            probabilities: Those of the quantiles, ascending.

        Returns:
            The medians, and a row of quantiles for each.
        """
        rungs = self._rungs
        steps = np.arange(1, int(rungs[-1]) + 1) if steps is None else steps
        forecasts = np.stack([expert.predict(steps) for expert in self._experts], axis=1)
        left, right, part = self._between(steps)
        at_rungs = self._weigh()
        weights = at_rungs[left] + part[:, None] * (at_rungs[right] - at_rungs[left])
        awake = np.isfinite(forecasts)
        weights = normalise(weights * awake, awake)
        middle = np.maximum(mix(weights, forecasts), 0.0)
        wished = np.asarray(probabilities, dtype=np.float64)
        offsets = self._quantiles.offsets(wished)
        hours = self._hour(steps)
        low = self._quantiles.spread(offsets, left, hours)
        high = self._quantiles.spread(offsets, right, hours)
        spread = middle[:, None] + low + part[:, None] * (high - low)
        # Neither may quantiles cross, nor rates be negative.
        spread = np.where(wished < 0.5, np.minimum(spread, middle[:, None]), spread)
        spread = np.where(wished >= 0.5, np.maximum(spread, middle[:, None]), spread)
        return middle, np.maximum.accumulate(np.maximum(spread, 0.0), axis=1)

    @property
    def weights(self) -> dict[str, Vector]:
        """The weight of each expert, by rung."""
        found = self._weigh()
        return {name: found[:, column] for column, name in enumerate(self.names)}

    @property
    def rungs(self) -> Counts:
        """Steps ahead that are learnt one by one."""
        return self._rungs

    @property
    def errors_seen(self) -> Counts:
        """Errors that quantiles rest on, by rung."""
        return self._quantiles.seen

    def newest_forecasts(self) -> tuple[Vector, Vector]:
        """What was forecast from the newest value, by rung: the combination's and the experts'."""
        place = (self.history.count - 1) % len(self._mixed)
        return self._mixed[place], self._forecasts[place]

    def _weigh(self) -> Matrix:
        """The weights of experts at each rung, the mean of the rules."""
        newest = self._forecasts[(self.history.count - 1) % len(self._mixed)]
        return np.asarray(self._aggregation.weigh(newest).mean(axis=0))

    def _learn(self, at: int, value: float) -> None:
        """Judge all forecasts of this value that were made before."""
        n = int(np.searchsorted(self._rungs, at, side="right"))
        if n == 0:
            return
        place = (at - self._rungs[:n]) % len(self._mixed)
        row = self._row[:n]
        mixed = self._mixed[place, row]
        self._aggregation.learn(self._forecasts[place, row], self._by_rule[place, row], value)
        known = np.isfinite(mixed)
        if not known.all():
            # Where none of the experts could tell yet there is no error.
            place, row, mixed = place[known], row[known], mixed[known]
            if not len(row):
                return
        self._quantiles.learn(
            row,
            value - mixed,
            self._scales[place, row],
            self._levels[place, row].astype(np.float64),
            self._mean_levels[place, row],
            self._next_hour,
        )

    def _clean(self, value: float, at: int) -> float:
        """The value without gap and outlier, for the experts."""
        if at == 0:
            return value
        expected = float(self._mixed[(at - 1) % len(self._mixed), 0])
        if not math.isfinite(expected):
            return value if math.isfinite(value) else self.history.last
        if not math.isfinite(value):
            return max(expected, 0.0)
        error = value - expected
        limit = OUTLIER_ERRORS * self._error
        is_far = self._errors_seen >= OUTLIER_AFTER and abs(error) > limit > 0.0
        is_new = is_far and error * self._suspected <= 0.0
        self._suspected = error if is_far else 0.0
        self._errors_seen += 1
        size = min(abs(error), limit) if is_far else abs(error)
        self._error += max(ERROR_ALPHA, 1.0 / self._errors_seen) * (size - self._error)
        return max(expected + math.copysign(limit, error), 0.0) if is_new else value

    def _between(self, steps: Counts) -> tuple[Counts, Counts, Vector]:
        """The rungs around each number of steps, and how far it is from the first to the second."""
        rungs = self._rungs
        right = np.clip(np.searchsorted(rungs, steps), 0, len(rungs) - 1)
        left = np.where(rungs[right] > steps, np.maximum(right - 1, 0), right)
        width = np.maximum(rungs[right] - rungs[left], 1)
        return left, right, np.clip((steps - rungs[left]) / width, 0.0, 1.0)

    def _hour(self, steps: Counts) -> Counts:
        """The hour of the day, so many steps after the newest value."""
        if not self._clock.day:
            return np.zeros(len(steps), dtype=np.int64)
        slots = self.history.slots(steps)
        return np.asarray((slots * self._step_hours).astype(np.int64) % HOURS)
