"""The last of some siblings: distributions of the later of times that have something in common.

The distribution of the later of two independent times is the product of theirs; of two that are
one and the same, that of either. In between, it is taken as in between by the part of their
variance that is common to them (`Spread`), as what both wait for where they meet again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.queueing import divide_or
from streamgauge.models.transforms import Vector
from streamgauge.topology.topology import Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock

Matrix = NDArray[np.float64]


class Spread(NamedTuple):
    """How much the time varies that a tuple takes to the end of its way, by executor.

    Attributes:
        variance: Of all of it.
        shared: Of that, what siblings have in common, by the operator where they meet again.
    """

    variance: Vector
    shared: Mapping[str, Vector]

    def alike(self, other: Spread) -> Vector:
        """Part of the times of two tuples that is common to them."""
        both = np.zeros_like(self.variance)
        for name in self.shared.keys() & other.shared.keys():
            both += np.sqrt(self.shared[name] * other.shared[name])
        whole = np.sqrt(self.variance * other.variance)
        return np.minimum(divide_or(both, whole, otherwise=0.0), 1.0)

    def join(self, other: Spread) -> Spread:
        """Of the later of two."""
        names = self.shared.keys() | other.shared.keys()
        none = np.zeros_like(self.variance)
        shared = {
            name: np.maximum(self.shared.get(name, none), other.shared.get(name, none))
            for name in names
        }
        return Spread(np.maximum(self.variance, other.variance), shared)


def spread_of(block: ConnectionBlock, found: Mapping[Subscription, Spread]) -> Spread:
    """The mean over the executors that a block's tuples come to."""
    behind, parts = found[block.stream.subscription], parts_of(block)
    return Spread(
        parts @ behind.variance, {name: parts @ value for name, value in behind.shared.items()}
    )


def parts_of(block: ConnectionBlock) -> Matrix:
    """Of what each sending executor emits, the part that goes to each receiver."""
    total = block.shares.sum(axis=1, keepdims=True)
    parts = np.divide(block.shares, total, out=np.zeros(block.shares.shape), where=total > 0.0)
    return np.asarray(parts)


def later_of(one: Matrix, other: Matrix, alike: Vector) -> Matrix:
    """P(both ≤ t) for two times of which a part is common to them.

    The product where they are independent, the smaller where they are one and the same.
    """
    if not alike.any():
        return one * other
    return np.asarray((one * other) ** (1.0 - alike) * np.minimum(one, other) ** alike)


def all_of(
    distribution: Matrix, copies: Vector, parts: Matrix, alike: Vector | float = 0.0
) -> Matrix:
    """P(all of some siblings ≤ t), times × sending executors.

    `copies` is how many there are on the mean: whole, with a chance of one more. Of so many that
    are `alike` by a part, only the others differ.
    """
    whole = np.floor(copies)
    more = copies - whole
    few, many = (
        np.where(count > 1.0, count - alike * (count - 1.0), count)
        for count in (distinct(whole, parts), distinct(whole + 1.0, parts))
    )
    another = distribution ** (many - few)
    return np.asarray(distribution**few * (1.0 - more + more * another))


def distinct(copies: Vector, parts: Matrix) -> Vector:
    """How many different executors some siblings come to.

    Args:
        copies: How many siblings, by sending executor.
        parts: The chance of each receiving executor, for each sending one; or one column with the
            number of those that take turns.
    """
    if parts.shape[1] == 1 and np.any(parts > 1.0):
        return np.minimum(copies, parts[:, 0])
    return np.asarray((1.0 - (1.0 - parts) ** copies[:, np.newaxis]).sum(axis=1))
