"""Recursive least squares with forgetting, many regressions of the same shape at once.

What is kept is a root S of the covariance S·Sᵀ, which is updated in Potter's way (Bierman 1977,
chapter II). A covariance that is updated itself loses its positive variances to rounding where
regressors are nearly the same, as in a series that hardly changes, and coefficients then explode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamgauge.traffic.series import Vector

RIDGE = 1.0
# 95 % as efficient as least squares where errors are normal (Huber 1964); 1.25 mean absolute
# errors are a standard deviation there.
CLIP = 1.345 * 1.2533
SCALE_MEMORY = 200
# An error counts in the mean size of errors as at most so many times the limit.
LARGEST_ERROR = 3.0
# Forgetting lets go of what is no longer seen; the prior is never forgotten, which is looked after
# once in so many steps.
BOUND_EVERY = 32
TINY = 1e-12

Tensor = NDArray[np.float64]


class Regression:
    """One regression a row.

    Args:
        rows: How many.
        size: Regressors of each.
        memory: Observations after which what was learnt weighs a third; of all rows, or by row.
    """

    def __init__(self, rows: int, size: int, memory: float | Vector) -> None:
        self.theta = np.zeros((rows, size))
        self._keep = np.broadcast_to(1.0 - 1.0 / np.asarray(memory), rows).copy()
        self._forgets = bool((self._keep < 1.0).any())
        # The covariance is S·Sᵀ times a factor, which forgetting lets grow: dividing the root
        # itself by what is kept would be another pass over it after every observation.
        self._root = np.repeat(np.eye(size)[None] / np.sqrt(RIDGE), rows, axis=0)
        self._factor = np.ones(rows)
        self._outer = np.empty_like(self._root)
        self._scale = np.zeros(rows)
        self._seen = np.zeros(rows, dtype=np.int64)
        self._sure = 2 * size

    @property
    def covariance(self) -> Tensor:
        """How uncertain coefficients are, by row, in units of the noise's variance."""
        return np.asarray(self._root @ self._root.swapaxes(1, 2) * self._factor[:, None, None])

    def learn(self, x: Tensor, y: Vector) -> None:
        """Take one observation for the first regressions, as many as there are rows."""
        n = len(x)
        root, factor, keep = self._root[:n], self._factor[:n], self._keep[:n]
        scale, seen = self._scale[:n], self._seen[:n]
        errors = y - (self.theta[:n] * x).sum(axis=1)
        sizes = np.abs(errors)
        # Huber's weights; none before as many were seen as it takes to know what is usual.
        limits = np.where(seen >= self._sure, CLIP * scale, np.inf)
        weights = np.minimum(limits / np.maximum(sizes, TINY), 1.0)
        seen_in_root = np.matmul(x[:, None, :], root)[:, 0]
        spread = np.matmul(root, seen_in_root[:, :, None])[:, :, 0]
        room = keep + factor * weights * (seen_in_root * seen_in_root).sum(axis=1)
        share = factor * weights / room
        self.theta[:n] += spread * (share * errors)[:, None]
        spread *= (share / (1.0 + np.sqrt(keep / room)))[:, None]
        root -= np.multiply(spread[:, :, None], seen_in_root[:, None, :], out=self._outer[:n])
        seen += 1
        scale += np.maximum(1.0 / SCALE_MEMORY, 1.0 / seen) * (
            np.minimum(sizes, LARGEST_ERROR * limits) - scale
        )
        if self._forgets:
            factor /= keep
            if int(seen[0]) % BOUND_EVERY == 0:
                self._bound()

    def reopen(self) -> None:
        """Be as uncertain as in the beginning, around what was learnt (covariance resetting)."""
        self._root[:] = np.eye(self.theta.shape[1]) / np.sqrt(RIDGE)
        self._factor[:] = 1.0

    def _bound(self) -> None:
        """No coefficient is less certain than before anything was seen."""
        deviation = np.sqrt(np.einsum("nij,nij,n->ni", self._root, self._root, self._factor))
        shrink = np.minimum(1.0, 1.0 / (np.sqrt(RIDGE) * np.maximum(deviation, TINY)))
        self._root *= np.sqrt(self._factor)[:, None, None] * shrink[:, :, None]
        self._factor[:] = 1.0
