"""Experts of other packages, which are fitted anew once a day: AutoETS, AutoTheta, MSTL, Prophet.

A fit takes a bounded part of the history, since its time is bounded too. Between two fits
parameters and seasons stay, and the state of statsforecast's models is carried on through the
values that came since (their `forward`); Prophet has no such state, and its last curve stands. A
fit that fails leaves the one before in force. Until the first one they cannot tell.

Steps of a season longer than ETS can have (24) are taken out before and put back after: AutoETS
goes without, AutoTheta has its own classical decomposition, MSTL is made for that.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from streamgauge.extras import require_extra
from streamgauge.traffic.history import DAYS_PER_WEEK, History
from streamgauge.traffic.series import Counts, Vector

# A fit sees so many of the newest values: four weeks of 5 minutes, five days and a half of minutes.
MOST_VALUES = 8064
# AutoTheta costs a hundred times as much a value, so it sees fewer: a second or so a fit.
MOST_THETA_VALUES = 1024
# Between two fits where a step does not divide a day, and before the first.
STEPS_WITHOUT_DAY = 288
# Seasons are estimated from two periods at least.
LEAST_PERIODS = 2
# The longest season that ETS has states for.
LONGEST_ETS_SEASON = 24
# Loess is evaluated at every tenth of a day and interpolated (Cleveland et al. 1990, section 4.3).
JUMPS_PER_DAY = 10
# A season may multiply where it is nowhere nearer to zero; as in AutoTheta.
LEAST_FACTOR = 0.01


class _Refitted:
    """An expert that is fitted once a day."""

    is_standard: ClassVar[bool] = False

    def __init__(self, history: History) -> None:
        self._history = history
        self._every = history.clock.day or STEPS_WITHOUT_DAY
        self._first = self._end = 0
        self._is_fitted = False

    def update(self) -> None:
        """Fit, if that is due; else carry the state on."""
        count = self._history.count
        if count >= LEAST_PERIODS * self._every and count % self._every == 0:
            first = max(0, count - MOST_VALUES)
            values = self._history.values[first:].copy()
            with _quietly():
                try:
                    self._fit(values, first)
                # What other packages raise is theirs: the last fit goes on.
                except Exception:
                    logging.getLogger(__name__).debug("a fit failed", exc_info=True)
                else:
                    self._first, self._end, self._is_fitted = first, count, True

    def predict(self, steps: Counts) -> Vector:
        """The path of the last fit, within what is plausible: a range beyond what was seen."""
        if not self._is_fitted:
            return np.full(len(steps), np.nan)
        with _quietly():
            found = self._extrapolate(steps)
        low, high = self._history.low, self._history.high
        return np.asarray(np.clip(found, max(0.0, 2.0 * low - high), 2.0 * high - low))

    def _fit(self, values: Vector, first: int) -> None:
        raise NotImplementedError

    def _extrapolate(self, steps: Counts) -> Vector:
        raise NotImplementedError


class _Carried(_Refitted):
    """A model of statsforecast on values without their season, whose state is carried on."""

    most_fitted: ClassVar[int] = MOST_VALUES

    def __init__(self, history: History) -> None:
        super().__init__(history)
        with require_extra("statsforecast"):
            from statsforecast import models
        self._models = models
        self._model: Any = None
        # By days of its period: a season of the values that were fitted.
        self._seasons: dict[int, Vector] = {}
        self._multiplies = False

    def _make(self) -> Any:
        raise NotImplementedError

    def _find_seasons(self, values: Vector) -> tuple[dict[int, Vector], bool]:
        """The seasons of values, and whether they multiply."""
        del values
        return {}, False

    def _fit(self, values: Vector, first: int) -> None:
        seasons, multiplies = self._find_seasons(values)
        rest = values.copy()
        for season in seasons.values():
            rest = rest / season if multiplies else rest - season
        rest = rest[-self.most_fitted :]
        self._model = self._make().fit(rest)
        self._seasons, self._multiplies, self._rest = seasons, multiplies, rest

    def update(self) -> None:
        """Fit, if that is due; else take the season out of the newest value."""
        fitted_until = self._end
        super().update()
        if self._is_fitted and self._end == fitted_until:
            newest = np.array([self._history.last])
            season = self._season(np.zeros(1, dtype=np.int64))
            rest = newest / season if self._multiplies else newest - season
            self._rest = np.concatenate([self._rest, rest])

    def _extrapolate(self, steps: Counts) -> Vector:
        path = self._model.forward(self._rest, h=int(steps[-1]))["mean"][steps - 1]
        season = self._season(steps)
        return np.asarray(path * season if self._multiplies else path + season)

    def _season(self, steps: Counts) -> Vector:
        """What the seasons give so many steps after the newest value."""
        total = np.full(len(steps), 1.0 if self._multiplies else 0.0)
        for days, season in self._seasons.items():
            then = self._history.earlier(steps, days)
            while (then >= self._end).any():
                then = np.where(then < self._end, then, self._history.clock.earlier(then, days))
            part = season[np.maximum(then - self._first, 0)]
            total = total * part if self._multiplies else total + part
        return total


class AutoEts(_Carried):
    """Exponential smoothing in state space, its form and constants by likelihood (Hyndman 2002)."""

    name: ClassVar[str] = "auto-ets"

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "statsforecast's AutoETS, fitted once a day; a season of up to 24 steps"

    def _make(self) -> Any:
        day = self._history.clock.day
        return self._models.AutoETS(season_length=day if 1 < day <= LONGEST_ETS_SEASON else 1)


class AutoTheta(_Carried):
    """The theta method (Fiorucci et al. 2016) on values without the course of the day."""

    name: ClassVar[str] = "auto-theta"
    most_fitted: ClassVar[int] = MOST_THETA_VALUES

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "statsforecast's AutoTheta on values without the day's course, fitted once a day"

    def _make(self) -> Any:
        return self._models.AutoTheta(season_length=1)

    def _find_seasons(self, values: Vector) -> tuple[dict[int, Vector], bool]:
        day = self._history.clock.day
        if not day:
            return {}, False
        from statsmodels.tsa.seasonal import seasonal_decompose

        if values.min() > 0.0:
            season = seasonal_decompose(values, model="multiplicative", period=day).seasonal
            if season.min() >= LEAST_FACTOR:
                return {1: season}, True
        return {1: seasonal_decompose(values, model="additive", period=day).seasonal}, False


class Mstl(_Carried):
    """Seasons of a day and a week by loess, ETS for the rest (Bandara, Hyndman, Bergmeir 2021)."""

    name: ClassVar[str] = "mstl"

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "statsforecast's MSTL: seasons of a day and a week by loess, fitted once a day"

    def _make(self) -> Any:
        return self._models.AutoETS(season_length=1, model="ZZN")

    def _find_seasons(self, values: Vector) -> tuple[dict[int, Vector], bool]:
        day = self._history.clock.day
        if not day:
            return {}, False
        periods = {day * days: days for days in (1, DAYS_PER_WEEK)}
        periods = {size: days for size, days in periods.items() if len(values) >= 2 * size}
        jump = max(1, day // JUMPS_PER_DAY)
        model = self._models.MSTL(
            season_length=list(periods),
            trend_forecaster=self._models.Naive(),
            stl_kwargs={"trend_jump": jump, "low_pass_jump": jump},
        ).fit(values)
        table = model.model_
        if len(periods) == 1:
            return {1: table["seasonal"].to_numpy()}, False
        return {days: table[f"seasonal{size}"].to_numpy() for size, days in periods.items()}, False


class ProphetCurve(_Refitted):
    """Prophet (Taylor and Letham 2018), Caladrius' choice: trend and seasons as a curve of time."""

    name: ClassVar[str] = "prophet"

    def __init__(self, history: History) -> None:
        super().__init__(history)
        # They say on standard error that plotly is missing, which is not used here, and that a fit
        # begins and ends, unless somebody else takes care of what they log.
        for name in ("prophet.plot", "cmdstanpy"):
            logger = logging.getLogger(name)
            if not logger.hasHandlers():
                logger.addHandler(logging.NullHandler())
        with require_extra("prophet"):
            import prophet
        self._make: Callable[..., Any] = prophet.Prophet
        self._model: Any = None

    @classmethod
    def describe(cls) -> str:
        """What it does."""
        return "Prophet's curve of trend, day and week, fitted once a day"

    def _fit(self, values: Vector, first: int) -> None:
        model = self._make(
            uncertainty_samples=0,
            yearly_seasonality=False,
            daily_seasonality=self._history.clock.day > 0,
        )
        times = self._times(np.arange(first, first + len(values)))
        self._model = model.fit(_table(ds=times, y=values))
        self._path, self._path_begin = np.zeros(0), first + len(values)

    def _extrapolate(self, steps: Counts) -> Vector:
        place = self._history.count - 1 - self._path_begin + steps
        if int(place[-1]) >= len(self._path):
            # The curve until the next fit, and as far ahead as is asked for, in one call.
            begin = self._path_begin + len(self._path)
            more = self._curve(np.arange(begin, begin + self._every + int(steps[-1])))
            self._path = np.concatenate([self._path, more])
        return np.asarray(self._path[place])

    def _curve(self, index: Counts) -> Vector:
        found = self._model.predict(_table(ds=self._times(index)))["yhat"]
        return np.asarray(found.to_numpy(dtype=np.float64))

    def _times(self, index: Counts) -> list[Any]:
        """Times as the clock on the wall shows them, whose days repeat."""
        clock = self._history.clock
        return [clock.time(int(at)).replace(tzinfo=None) for at in index]


def _table(**columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


@contextmanager
def _quietly() -> Iterator[None]:
    """Warnings of a fit say nothing that errors of its forecasts will not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
