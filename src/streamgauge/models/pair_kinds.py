"""Kinds of pairs of tuples of one root: between which executors, and how far apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.meeting_again import Apart
from streamgauge.models.transforms import Vector

Matrix = NDArray[np.float64]

# Pairs that are so many times as far apart as others are another kind.
KINDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of a kind.

    Attributes:
        per_second: By the executors that the first and the second come to.
        apart: How much later the second comes than the first.
        batched: Whether those that come to one executor come in one batch.
        in_line: Whether one executor sends them, one after the other, on one stream.
    """

    per_second: Matrix
    apart: Apart
    batched: bool = False
    in_line: bool = False

    def swapped(self) -> Pairs:
        """The same with the second as the first."""
        return replace(
            self,
            per_second=self.per_second.T,
            apart=Apart(-self.apart.mean, self.apart.variance),
        )


def with_diagonal(rates: Matrix, diagonal: Vector) -> Matrix:
    """The same with other rates of pairs that come to one executor."""
    changed = rates.copy()
    np.fill_diagonal(changed, diagonal)
    return changed


def are_alike(one: Pairs, other: Pairs) -> bool:
    """Whether two kinds may be taken for one."""
    if one.batched or other.batched or one.in_line != other.in_line:
        return False
    squares = [part.apart.mean**2 + part.apart.variance for part in (one, other)]
    if min(squares) <= 0.0:
        return max(squares) <= 0.0
    if max(squares) > KINDS**2 * min(squares):
        return False
    signed = one.apart.mean * other.apart.mean
    return signed >= 0.0 or signed**2 < 0.01 * squares[0] * squares[1]


def mix(one: Pairs, other: Pairs) -> Pairs:
    """Two kinds taken for one, as far apart as both are on the mean."""
    weights = float(one.per_second.sum()), float(other.per_second.sum())
    part = weights[0] / sum(weights)
    mean = part * one.apart.mean + (1.0 - part) * other.apart.mean
    square = part * (one.apart.mean**2 + one.apart.variance) + (1.0 - part) * (
        other.apart.mean**2 + other.apart.variance
    )
    return Pairs(
        per_second=one.per_second + other.per_second,
        apart=Apart(mean, max(square - mean**2, 0.0)),
        in_line=one.in_line,
    )
