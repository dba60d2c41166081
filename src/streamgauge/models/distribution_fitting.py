"""Distributions with given moments or quantiles, as the simulator needs them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import SMALLEST_SCV, TimeMoments
from streamgauge.profile.behaviour import NOTHING
from streamgauge.profile.distribution import (
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    compute_scv,
)

GRID = 400


def fit_distribution(time: TimeMoments) -> Distribution:
    """A distribution with the moments of a time, and with its shape where that is known."""
    mean = float(time.mean_ms)
    if time.shape is not None and time.shape.mean > 0.0:
        return time.shape.scale(mean / time.shape.mean)
    return from_moments(mean, float(time.variance))


def from_moments(mean: float, variance: float) -> Distribution:
    """The simplest distribution with that mean and variance."""
    if mean <= 0.0:
        return NOTHING
    scv = compute_scv(mean, variance)
    if scv < SMALLEST_SCV:
        return Constant(value=mean)
    if math.isclose(scv, 1.0, rel_tol=1e-9):
        return Exponential(mean=mean)
    return Gamma(mean=mean, scv=scv)


def from_quantiles(
    mean: float, quantiles: Mapping[float, float], scv: float | None
) -> Distribution | None:
    """The quantiles joined up, with that mean and, where known, variability; None: all are zero.

    Straight lines join the quantiles, from zero on; beyond the last the tail is exponential, at
    the rate at which the last two fall. A power of the values then meets the variability.
    """
    probabilities = np.asarray([0.0, *quantiles])
    values = np.asarray([0.0, *quantiles.values()])
    grid = (np.arange(GRID) + 0.5) / GRID
    shape = np.interp(grid, probabilities, values)
    rest = 1.0 - probabilities[-2:]
    if 0.0 < rest[1] < rest[0]:
        fall = (values[-1] - values[-2]) / math.log(rest[0] / rest[1])
        tail = grid > probabilities[-1]
        shape[tail] = values[-1] + fall * np.log(rest[1] / (1.0 - grid[tail]))
    if scv is not None:
        shape = _with_variation(shape, scv)
    shape_mean = float(shape.mean())
    if shape_mean <= 0.0:
        return None
    return Empirical(values=tuple((shape * mean / shape_mean).tolist()))


def _with_variation(shape: NDArray[np.float64], scv: float) -> NDArray[np.float64]:
    """The power of the values that has that squared coefficient of variation, as near as can be."""
    largest = float(shape.max())
    if largest <= 0.0:
        return shape
    scaled = shape / largest

    def excess(power: float) -> float:
        values = scaled**power
        return compute_scv(float(values.mean()), float(values.var())) - scv

    low, high = 0.01, 20.0
    if excess(low) >= 0.0 or excess(high) <= 0.0:
        return shape
    from scipy import optimize

    return np.asarray(scaled ** optimize.brentq(excess, low, high))
