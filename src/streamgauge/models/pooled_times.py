"""Measured times of several tasks as one time: moments, their errors, and the shape where known.

Tasks are weighted by what they handled. Errors of tasks are taken to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from streamgauge.models.fitting import from_quantiles
from streamgauge.models.job_behaviour import Origin, ServiceTime, TimeMoments
from streamgauge.profile.figures import Figure, InputFigures, OutputFigures, TimeFigures
from streamgauge.profile.pooling import weigh_by_samples

# Fewer quantiles than this say less of a shape than mean and variability do.
ENOUGH_QUANTILES = 3


def pool_service(
    figures: Mapping[int, InputFigures] | Mapping[int, OutputFigures],
    speeds: Mapping[int, float],
) -> ServiceTime:
    """Pooled service: CPU as measured, waiting as the wall-clock time beyond it."""
    wall = pool_time({i: one.wall for i, one in figures.items() if one.wall is not None}, speeds)
    cpu = pool_time({i: one.cpu for i, one in figures.items() if one.cpu is not None}, speeds)
    if cpu is None:
        if wall is None:
            return ServiceTime()
        # That all of it is spent on a core is a guess.
        return ServiceTime(cpu=replace(wall, mean_ms=replace(wall.mean_ms, origin=Origin.ASSUMED)))
    if wall is None:
        return ServiceTime(cpu=cpu)
    wait = TimeMoments.of(
        float(wall.mean_ms) - float(cpu.mean_ms),
        max(0.0, float(wall.variance) - float(cpu.variance)),
        Origin.MEASURED,
        mean_error=math.hypot(wall.mean_ms.error, cpu.mean_ms.error),
        variance_error=math.hypot(wall.variance.error, cpu.variance.error),
    )
    return ServiceTime(cpu=cpu, wait=wait)


def pool_time(times: Mapping[int, TimeFigures], speeds: Mapping[int, float]) -> TimeMoments | None:
    """A time that, scaled by each task's speed, has the moments of all of them.

    Exponential where no variability was measured.
    """
    if not times:
        return None
    known = list(times.values())
    weights = weigh_by_samples([one.mean_ms for one in known])
    parts = list(zip(weights, (speeds.get(place, 1.0) for place in times), known, strict=True))
    mean = math.fsum(weight * one.mean_ms.value for weight, _, one in parts)
    variance = math.fsum(weight * variance_of(one) for weight, _, one in parts)
    slower = math.fsum(weight * speed for weight, speed, _ in parts)
    squares = math.fsum(weight * speed * speed for weight, speed, _ in parts)
    pooled = TimeMoments.of(
        mean / slower,
        variance / squares,
        Origin.MEASURED,
        mean_error=_combine_errors([(w, error_of(one.mean_ms)) for w, _, one in parts]) / slower,
        variance_error=_combine_errors([(w, variance_error_of(one)) for w, _, one in parts])
        / squares,
        variance_origin=Origin.ASSUMED if any(one.scv is None for one in known) else None,
    )
    return _with_shape(pooled, known)


def _with_shape(pooled: TimeMoments, known: Sequence[TimeFigures]) -> TimeMoments:
    """With the moments and the shape of measured quantiles, where there is one task with enough."""
    if len(known) > 1 or len(known[0].quantiles_ms) < ENOUGH_QUANTILES:
        return pooled
    (time,) = known
    scv = None if time.scv is None else time.scv.value
    shape = from_quantiles(time.mean_ms.value, time.quantiles_ms, scv)
    if shape is None:
        return pooled
    return TimeMoments(
        mean_ms=replace(pooled.mean_ms, value=np.asarray(shape.mean)),
        variance=replace(pooled.variance, value=np.asarray(shape.variance)),
        shape=shape,
    )


def error_of(figure: Figure) -> float:
    """The standard error of a figure; NaN where it is not known."""
    return math.nan if figure.standard_error is None else figure.standard_error


def _combine_errors(parts: Iterable[tuple[float, float]]) -> float:
    """The error of a weighted sum of independent figures; NaN where one that counts has none."""
    return math.hypot(*(weight * error for weight, error in parts if weight > 0.0))


def variance_of(times: TimeFigures) -> float:
    """Of a time; that of an exponential one where no variability was measured."""
    scv = 1.0 if times.scv is None else times.scv.value
    return scv * times.mean_ms.value * times.mean_ms.value


def variance_error_of(times: TimeFigures) -> float:
    """To the first order; NaN where mean or variability have none."""
    if times.scv is None:
        return math.nan
    mean, scv = times.mean_ms, times.scv
    return math.hypot(
        mean.value * mean.value * error_of(scv), 2.0 * scv.value * mean.value * error_of(mean)
    )
