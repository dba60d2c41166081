"""Capacity from observations: a plateau where back-pressure is known, else a line with a knee.

Below saturation what an instance processes is what it is offered; beyond, its input stays at the
saturation point (Caladrius: Kalim et al. 2019, section IV.B). So where it is known who held senders
back, the saturation point is the mean input of the observations in which it did. Where that is not
known, but what was offered is, processed = min(a·offered, c) is fitted with an unknown knee c/a.
Both are robust by Huber's weights (Huber 1964): single outliers hardly count.

Back-pressure is binary: at a high load a queue that was emptied is full again at once, so that a
task presses for nearly all of the time or for none. What lies between is no observation of either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.models.intervals import LEVEL
from streamgauge.models.queueing import as_vector

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Parts of the time under back-pressure: up to 5 s of a minute is none, from 30 s on it is all.
FREE_BELOW, PRESSED_FROM = 5.0 / 60.0, 0.5
# Residuals beyond this many standard deviations count by their size, not its square.
HUBER = 1.345
ROUNDS = 50
# Of normal numbers, the standard deviation over the median distance from the median.
MAD_SCALE = 1.4826
# What scatters less than this part of its size is constant: the rest is rounding.
ROUNDING = 1e-9
# Places at which a knee is looked for.
KNEES = 100
# Least observations on either side of a knee.
LEAST_BESIDE = 2
# By this much must a knee lower twice the loss: χ² of one degree of freedom at 99.9 %.
KNEE_GAIN = 10.83


def is_pressed(parts: ArrayLike) -> Flags:
    """Whether so much of the time under back-pressure means that an executor was full."""
    return np.asarray(parts) >= PRESSED_FROM


def is_free(parts: ArrayLike) -> Flags:
    """Whether it means that there was room; what is neither says nothing."""
    return np.asarray(parts) <= FREE_BELOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A fitted number with its 90 % interval.

    Attributes:
        value: The estimate.
        half_width: Of the interval; NaN where one observation does not tell.
        observations: That it rests on.
    """

    value: float
    half_width: float
    observations: int

    @property
    def low(self) -> float:
        """The lower end."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + self.half_width

    def times(self, factor: float) -> Fitted:
        """The same in another unit."""
        return Fitted(
            value=factor * self.value,
            half_width=factor * self.half_width,
            observations=self.observations,
        )


def relative_error(predicted: float, observed: float) -> float:
    """|predicted − observed|/observed, by which Caladrius is judged."""
    return abs(predicted - observed) / observed


def student(freedom: int, level: float = LEVEL) -> float:
    """Student's quantile for an interval of both sides; NaN without a degree of freedom."""
    from scipy import special

    return float(special.stdtrit(freedom, 0.5 + level / 2.0)) if freedom >= 1 else math.nan


def mean_of(values: ArrayLike) -> Fitted:
    """The mean of repeated observations, and its interval; robust against single outliers."""
    numbers = as_vector(values).ravel()
    centre, error = _huber_slope(np.ones_like(numbers), numbers)
    return Fitted(
        value=centre,
        half_width=error * student(len(numbers) - 1),
        observations=len(numbers),
    )


def slope_of(inputs: ArrayLike, outputs: ArrayLike) -> Fitted:
    """The line through the origin: tuples out per tuple in. It holds in both regimes."""
    x, y = as_vector(inputs).ravel(), as_vector(outputs).ravel()
    known = x > 0.0
    if not known.any():
        return Fitted(value=math.nan, half_width=math.nan, observations=0)
    slope, error = _huber_slope(x[known], y[known])
    count = int(np.count_nonzero(known))
    return Fitted(value=slope, half_width=error * student(count - 1), observations=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """min(slope·offered, plateau), as fitted.

    Attributes:
        slope: Processed per offered, below the knee.
        plateau: Processed beyond it; None where no knee is to be seen.
        at_least: The most that was processed.
        why: Why there is no plateau; empty where there is one.
    """

    slope: Fitted
    plateau: Fitted | None
    at_least: float
    why: str = ""

    @property
    def point(self) -> float:
        """The offered rate from which nothing more is gained; infinite without a knee."""
        return math.inf if self.plateau is None else self.plateau.value / self.slope.value


def fit_knee(offered: ArrayLike, processed: ArrayLike) -> Knee:
    """A line that bends once, at an unknown place, from the origin to a plateau.

    For every possible knee the best line is a robust regression on min(offered, knee); the knee
    with the least loss wins, if it is much less than that of a line that does not bend. The
    interval of the plateau is that of the points beyond the knee about it.
    """
    x, y = (as_vector(one).ravel() for one in np.broadcast_arrays(offered, processed))
    known = (x > 0.0) & np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    line = slope_of(x, y)
    most = float(y.max(initial=0.0))
    if len(x) < 2 * LEAST_BESIDE:
        why = f"{len(x)} observations, at least {2 * LEAST_BESIDE} are needed"
        return Knee(slope=line, plateau=None, at_least=most, why=why)
    ordered = np.unique(x)
    candidates = np.linspace(ordered[0], ordered[-1], KNEES)
    slopes = [_huber_slope(np.minimum(x, one), y)[0] for one in candidates.tolist()]
    residuals = np.asarray(
        [y - slope * np.minimum(x, knee) for slope, knee in zip(slopes, candidates, strict=True)]
    )
    scale = _scale(residuals[np.argmin(np.abs(residuals).sum(axis=1))], most)
    losses = _loss(residuals / scale)
    best = int(np.argmin(losses))
    knee, straight = float(candidates[best]), float(_loss((y - line.value * x) / scale))
    beyond = x > knee
    if 2.0 * (straight - float(losses[best])) < KNEE_GAIN or beyond.sum() < LEAST_BESIDE:
        return Knee(slope=line, plateau=None, at_least=most, why="processed rates grow to the end")
    below = x < knee
    plateau = mean_of(y[beyond])
    if below.sum() < LEAST_BESIDE:
        why = "too few observations below the knee: only the plateau is known"
        return Knee(slope=_unknown(), plateau=plateau, at_least=most, why=why)
    return Knee(slope=slope_of(x[below], y[below]), plateau=plateau, at_least=most)


def _unknown() -> Fitted:
    return Fitted(value=math.nan, half_width=math.nan, observations=0)


def _scale(residuals: Vector, size: float) -> float:
    """Standard deviation of residuals, by their median."""
    return max(
        MAD_SCALE * float(np.median(np.abs(residuals))), ROUNDING * size, np.finfo(float).tiny
    )


def _loss(residuals: Vector) -> Vector:
    """Huber's loss of standardised residuals, of each row."""
    size = np.abs(residuals)
    each = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
    return np.asarray(each.sum(axis=-1))


def _huber_slope(x: Vector, y: Vector) -> tuple[float, float]:
    """Slope of y = a·x, by iteratively reweighted least squares, and its standard error.

    Huber 1981, section 7.6: Σw²r²/(n − 1) over the square of the mean derivative of the weights.
    """
    slope = float(np.median(y / x)) if np.all(x > 0.0) else float(x @ y / (x @ x))
    weights = np.ones_like(x)
    scale = 0.0
    for _ in range(ROUNDS):
        residuals = y - slope * x
        scale = _scale(residuals, float(np.abs(y).max(initial=0.0)))
        size = np.abs(residuals) / scale
        weights = np.where(size <= HUBER, 1.0, HUBER / np.maximum(size, HUBER))
        new = float((weights * x) @ y / ((weights * x) @ x))
        if abs(new - slope) <= ROUNDING * abs(new):
            slope = new
            break
        slope = new
    residuals, count = y - slope * x, len(x)
    if count < 2:
        return slope, math.nan
    inside = max(float(np.mean(np.abs(residuals) <= HUBER * scale)), 0.5)
    variance = float(((weights * residuals) @ (weights * residuals)) / (count - 1)) / inside**2
    return slope, math.sqrt(variance / float(x @ x))
