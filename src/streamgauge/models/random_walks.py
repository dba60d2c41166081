"""Random walks: how high one with a drift downwards rises, as the work that a queue holds does.

The maximum of a walk has the cumulants Σ E[(S_n⁺)^j]/n, and is nought with the probability
exp(−Σ P(S_n > 0)/n), S_n being where it is after n steps (Spitzer 1956). The position is taken as a
gamma variable moved by a constant, with its first three cumulants, mirrored where it leans to the
left; n may then be any number, and beyond the first terms the sum becomes an integral, over
z = (n·drift)/(√n·deviation) as in heavy traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from streamgauge.models.transforms import Vector

# Terms of Spitzer's sum that are added one by one, and nodes for the integral over the rest.
SINGLE_TERMS = 24
TAIL_NODES = 24
# Where that integral ends, in standard deviations of the walk's position: P = 1e-12.
FARTHEST = 7.0
# A variable that leans less than this is as good as a normal one; the gamma loses its digits.
LEAST_SKEW = 1e-3
# In seconds squared: what varies less is constant, and its skewness nobody can tell.
LEAST_VARIANCE = 1e-60


class Cumulants(NamedTuple):
    """Mean, variance and third central moment."""

    mean: Vector
    variance: Vector
    third: Vector

    def less_time(self, mean: Vector, variance: Vector) -> Cumulants:
        """Of the same less a time that is gamma distributed, so that it is never below nought."""
        third = np.divide(
            2.0 * variance**2, mean, out=np.zeros(np.shape(mean + variance)), where=mean > 0.0
        )
        return Cumulants(self.mean - mean, self.variance + variance, self.third - third)

    def times(self, count: Vector | float) -> Cumulants:
        """Of the sum of so many, which are independent."""
        return Cumulants(count * self.mean, count * self.variance, count * self.third)


class Excess(NamedTuple):
    """Of the part of a variable above a level: P(X⁺ > 0), E[X⁺] and E[(X⁺)²]."""

    chance: Vector
    mean: Vector
    square: Vector


class Maximum(NamedTuple):
    """How high a walk rises: P(it rises at all), mean and variance."""

    chance: Vector
    mean: Vector
    variance: Vector


# The cumulants of a walk's position after so many steps, a row each.
Position = Callable[[Vector], Cumulants]


def find_maximum(position: Position, *, drift: Vector, spread: Vector) -> Maximum:
    """How high a walk rises.

    Args:
        position: After n steps, for an array of n that has a row more than the walks.
        drift: What the walk loses a step on the mean; above nought.
        spread: Variance of a step; above nought.
    """
    single = np.arange(1.0, SINGLE_TERMS + 1.0).reshape(-1, *[1] * drift.ndim)
    start = drift * np.sqrt((SINGLE_TERMS + 0.5) / spread)
    nodes, weights = np.polynomial.legendre.leggauss(TAIL_NODES)
    half = np.maximum(FARTHEST - start, 0.0) / 2.0
    z = start + half * (nodes.reshape(single[:TAIL_NODES].shape) + 1.0)
    many = z**2 * spread / drift**2
    # Σ g(n)/n from n = N + 1 on is ∫ g(n)/n dn from N + ½, and dn/n = 2dz/z.
    counts = np.concatenate([np.broadcast_to(single, (SINGLE_TERMS, *drift.shape)), many])
    tail = 2.0 * half * weights.reshape(-1, *[1] * drift.ndim) / z
    shares = np.concatenate([np.broadcast_to(1.0 / single, (SINGLE_TERMS, *drift.shape)), tail])
    excess = find_excess(position(counts))
    return Maximum(
        chance=-np.expm1(-np.sum(shares * excess.chance, axis=0)),
        mean=np.sum(shares * excess.mean, axis=0),
        variance=np.sum(shares * excess.square, axis=0),
    )


def find_excess(variable: Cumulants) -> Excess:
    """The part above nought of a variable that is known by its first three cumulants."""
    deviation = np.sqrt(np.maximum(variable.variance, LEAST_VARIANCE))
    skew = variable.third / deviation**3
    leans_left = skew < 0.0
    lean = np.maximum(np.abs(skew), LEAST_SKEW)
    shape, scale = 4.0 / lean**2, deviation * lean / 2.0
    mirrored = np.where(leans_left, -variable.mean, variable.mean)
    above = _above(shape, scale, shape * scale - mirrored)
    # X⁺ = X + (−X)⁺, and likewise for squares.
    whole = variable.mean**2 + variable.variance
    return Excess(
        chance=np.where(leans_left, 1.0 - above.chance, above.chance),
        mean=np.maximum(np.where(leans_left, variable.mean + above.mean, above.mean), 0.0),
        square=np.maximum(np.where(leans_left, whole - above.square, above.square), 0.0),
    )


def _above(shape: Vector, scale: Vector, level: Vector) -> Excess:
    """(G − c)⁺ for a gamma variable G.

    By the incomplete gamma function Q(k, x) and Q(k + 1, x) = Q(k, x) + x^k·e^(−x)/Γ(k + 1).
    """
    from scipy import special

    x = level / scale
    inside = np.maximum(x, 0.0)
    beyond = special.gammaincc(shape, inside)
    step = np.exp(special.xlogy(shape, inside) - inside - special.gammaln(shape + 1.0))
    gap = shape - x
    first = gap * beyond + shape * step
    second = (gap**2 + shape) * beyond + shape * step * (gap + 1.0)
    return Excess(
        chance=np.asarray(beyond),
        mean=scale * np.maximum(first, 0.0),
        square=scale**2 * np.maximum(second, 0.0),
    )
