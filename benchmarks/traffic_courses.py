"""Made-up traffic of many kinds, for looking at forecasts where no recorded trace is at hand.

Each kind is a formula with a seed. Kinds were chosen for what they do to a forecaster, before it
was run on them; nothing in it is fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from streamgauge.traffic.series import TrafficSeries, Vector

MONDAY_US = 1_551_657_600_000_000  # 2019-03-04
DAY_HOURS = 24.0
WEEK_DAYS = 7
WEEKS = 3


def make_courses(seed: int = 1) -> list[TrafficSeries]:
    """A series of each kind, the same for the same seed."""
    return [
        TrafficSeries(
            name=kind,
            start_us=MONDAY_US,
            step_seconds=60.0 * minutes,
            values=np.maximum(make(_hours(minutes), np.random.default_rng([seed, place])), 0.0),
        )
        for place, (kind, (minutes, make)) in enumerate(KINDS.items())
    ]


def _hours(minutes: int) -> Vector:
    """Hours since the first midnight; three weeks, or ten days of single minutes."""
    days = 10 if minutes == 1 else WEEKS * WEEK_DAYS
    return np.arange(days * 24 * 60 // minutes) * minutes / 60.0


def _day(hours: Vector) -> Vector:
    """Two peaks and a quiet night, of mean one."""
    of_day = hours % DAY_HOURS
    wave = 1.0 + 0.9 * np.exp(-(((of_day - 11.0) / 3.0) ** 2))
    wave += 1.4 * np.exp(-(((of_day - 19.5) / 2.5) ** 2)) - 0.6 * np.exp(-(((of_day - 4) / 2) ** 2))
    return np.asarray(wave / 1.36)


def _weekend(hours: Vector) -> NDArray[np.bool_]:
    return np.asarray(hours // DAY_HOURS % WEEK_DAYS >= 5.0)


def _autoregressive(random: Generator, size: int, keep: float, spread: float) -> Vector:
    """Noise of a given spread in which a value keeps so much of the one before."""
    found = np.zeros(size)
    for at, shock in enumerate(random.normal(0.0, spread * np.sqrt(1.0 - keep**2), size)):
        found[at] = keep * found[at - 1] + shock
    return found


def _web(hours: Vector, random: Generator) -> Vector:
    share = np.where(_weekend(hours), 0.7, 1.0)
    return 5e4 * _day(hours) * share * np.exp(_autoregressive(random, len(hours), 0.9, 0.05))


def _counts(hours: Vector, random: Generator) -> Vector:
    return random.poisson(3.0 * _day(hours)).astype(float)


def _office(hours: Vector, random: Generator) -> Vector:
    """Nothing at night and at weekends."""
    of_day = hours % DAY_HOURS
    open_now = (of_day >= 7.0) & (of_day < 19.0) & ~_weekend(hours)
    bell = np.sin(np.pi * np.clip((of_day - 7.0) / 12.0, 0.0, 1.0))
    return np.where(open_now, 800.0 * bell * random.gamma(25.0, 1 / 25.0, len(hours)), 0.0)


def _bursts(hours: Vector, random: Generator) -> Vector:
    """Heavy-tailed bursts, a few a day, that fade within an hour."""
    shocks = (random.random(len(hours)) < 0.015) * random.pareto(1.8, len(hours))
    fading = np.convolve(shocks, 0.75 ** np.arange(24))[: len(hours)]
    return 1e3 * _day(hours) * (1.0 + 0.03 * random.normal(size=len(hours)) + np.minimum(fading, 9))


def _shifts(hours: Vector, random: Generator) -> Vector:
    """A new level every three days or so."""
    level = np.cumsum((random.random(len(hours)) < 1 / 860) * random.normal(0, 0.6, len(hours)))
    return 2e3 * np.exp(level + 0.03 * random.normal(size=len(hours))) * _day(hours)


def _walk(hours: Vector, random: Generator) -> Vector:
    """No season; logarithms walk."""
    return np.asarray(1e4 * np.exp(np.cumsum(random.normal(0.0, 0.01, len(hours)))))


def _growth(hours: Vector, random: Generator) -> Vector:
    """Four per cent more every day."""
    noise = _autoregressive(random, len(hours), 0.6, 0.04)
    return 300.0 * 1.04 ** (hours / DAY_HOURS) * _day(hours) * np.exp(noise)


def _missing(hours: Vector, random: Generator) -> Vector:
    """Two days and single values are missing, also among the last."""
    values = _web(hours, random)
    values[random.random(len(hours)) < 0.02] = np.nan
    for first in (5.3, 18.1):
        values[(hours >= first * DAY_HOURS) & (hours < (first + 1.0) * DAY_HOURS)] = np.nan
    values[0] = 5e4
    return values


def _minutes(hours: Vector, random: Generator) -> Vector:
    """Single minutes: much noise, a peak at each full hour."""
    peak = 1.0 + 0.5 * ((hours * 60.0).round() % 60.0 < 3.0)
    return random.poisson(40.0 * peak * _day(hours)).astype(float)


def _batches(hours: Vector, random: Generator) -> Vector:
    """A quiet stream, and a batch every half an hour."""
    starts = (hours * 60.0).round() % 30.0 < 5.0
    return 100.0 + 4.0 * random.normal(size=len(hours)) + starts * random.normal(500.0, 60.0)


def _moods(hours: Vector, random: Generator) -> Vector:
    """Noise that is calm for hours and wild for hours."""
    mood = np.exp(_autoregressive(random, len(hours), 0.995, 1.0))
    noise = 1.0 + 0.03 * mood * random.normal(size=len(hours))
    return np.asarray(1e3 * _day(hours) * np.maximum(noise, 0.05))


def _steps(hours: Vector, random: Generator) -> Vector:
    """Clients that come and go: constant for an hour or so."""
    changes = random.random(len(hours)) < 0.08
    return np.asarray(50.0 * (20.0 + np.cumsum(changes * random.integers(-2, 3, len(hours)))))


def _holiday(hours: Vector, random: Generator) -> Vector:
    """The third Thursday is a Sunday, and then clocks change."""
    day = hours // DAY_HOURS
    later = hours - np.where(day >= 19.0, 1.0, 0.0)
    share = np.where(_weekend(hours) | (day == 17.0), 0.45, 1.0)
    return 2e4 * _day(later) * share * np.exp(_autoregressive(random, len(hours), 0.8, 0.03))


# By kind: minutes of a step, and the formula.
KINDS: dict[str, tuple[int, Callable[[Vector, Generator], Vector]]] = {
    "web": (5, _web),
    "counts": (5, _counts),
    "office": (15, _office),
    "bursts": (5, _bursts),
    "shifts": (5, _shifts),
    "walk": (5, _walk),
    "growth": (15, _growth),
    "missing": (5, _missing),
    "minutes": (1, _minutes),
    "batches": (5, _batches),
    "moods": (5, _moods),
    "steps": (5, _steps),
    "holiday": (15, _holiday),
}
