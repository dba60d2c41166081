"""Sums that are exact, and so the same in whatever order and in however many parts they are added.

Doubles lose digits when they are added. So a whole number is cut into three limbs of 40 bits, limbs
are added as longs, and only the sums are put together and rounded to a double, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from streamgauge.pipeline.estimation.schemas import Floats, Whole

_BITS = 40
_MASK = (1 << _BITS) - 1
_HALF = 24
# Sums of 2^22 numbers little larger than this fit a long. No more come at once: a block of so many
# buckets would last seven weeks with buckets of a second.
_SMALL = 2.0**_BITS


class Limbs(NamedTuple):
    """Whole numbers low + middle·2^40 + top·2^80; upper limbs are missing where all are zero."""

    low: Whole
    middle: Whole | None = None
    top: Whole | None = None

    def mapped(self, function: Callable[[Whole], Whole]) -> Limbs:
        """A function of each limb that there is."""
        middle, top = (None if limb is None else function(limb) for limb in self[1:])
        return Limbs(function(self.low), middle, top)

    def filled(self) -> tuple[Whole, Whole, Whole]:
        """All three."""
        zero = np.zeros_like(self.low)
        return (
            self.low,
            zero if self.middle is None else self.middle,
            zero if self.top is None else self.top,
        )


def limb_sums(values: Floats, first: Whole) -> Limbs:
    """Sums of whole doubles below 2^110, from each of the places `first` to before the next.

    Divisions by powers of two are exact, and casts cut towards zero, so remainders are exact too.
    """
    if not len(values) or np.abs(values).max() < _SMALL:
        return Limbs(_added(values.astype(np.int64), first))
    top = np.trunc(values / 2.0 ** (2 * _BITS))
    rest = values - top * 2.0 ** (2 * _BITS)
    middle = np.trunc(rest / 2.0**_BITS)
    low = rest - middle * 2.0**_BITS
    return Limbs(*(_added(limb.astype(np.int64), first) for limb in (low, middle, top)))


def square_sums(values: Floats, first: Whole) -> Limbs:
    """Sums of the squares of whole doubles from zero to below 2^47."""
    whole = values.astype(np.int64)
    if not len(whole) or int(whole.max()) < 1 << (_BITS // 2):
        return Limbs(_added(whole * whole, first))
    high, low = whole >> _HALF, whole & ((1 << _HALF) - 1)
    squares, mixed, rest = high * high, 2 * high * low, low * low
    # squares·2^48 + mixed·2^24 + rest, dealt to limbs of 40 bits.
    limbs = (
        ((mixed & 0xFFFF) << _HALF) + (rest & _MASK),
        ((squares & 0xFFFF_FFFF) << 8) + (mixed >> 16) + (rest >> _BITS),
        squares >> 32,
    )
    return Limbs(*(_added(limb, first) for limb in limbs))


def carried(limbs: Limbs) -> Limbs:
    """The same numbers with lower limbs from zero to below 2^40, so that many can be added."""
    if limbs.middle is None and limbs.top is None and not np.any(np.abs(limbs.low) > _MASK):
        return limbs
    low, middle, top = limbs.filled()
    middle = middle + (low >> _BITS)
    return Limbs(low & _MASK, middle & _MASK, top + (middle >> _BITS))


def added(limbs: Limbs, first: Whole) -> Limbs:
    """Sums of carried limbs, likewise."""
    return limbs.mapped(lambda limb: _added(limb, first))


def rounded(limbs: Limbs) -> Floats:
    """The nearest doubles, exactly so below 2^80."""
    if limbs.middle is None and limbs.top is None:
        return limbs.low.astype(np.float64)
    low, middle, top = carried(limbs).filled()
    negative = top < 0
    # A negative number as its positive one: small ones would be lost beside -2^80.
    sign = np.where(negative, -1, 1)
    low, middle, top = carried(Limbs(sign * low, sign * middle, sign * top)).filled()
    size = top * 2.0 ** (2 * _BITS) + (middle * 2.0**_BITS + low)
    return np.where(negative, -size, size)


def _added(values: Whole, first: Whole) -> Whole:
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, np.int64)
