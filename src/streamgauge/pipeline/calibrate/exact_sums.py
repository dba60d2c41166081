"""Sums that are exact, and so the same in whatever order Spark adds.

Doubles lose digits when they are added, and decimals are slow. So a whole number is cut into limbs
of so few bits that a block's worth of each fits a long, limbs are added as longs, and only the sums
are put together and rounded to a double.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

_LIMB = 40
_HALF = 24


def limbs(value: Column) -> dict[str, Column]:
    """A whole double below `block_lengths.MOST`, of either sign, as three longs.

    Divisions by powers of two are exact, casts cut towards zero, so remainders are exact too.
    """
    top = (value / f.lit(2.0 ** (2 * _LIMB))).cast("long")
    rest = value - top * f.lit(2.0 ** (2 * _LIMB))
    middle = (rest / f.lit(2.0**_LIMB)).cast("long")
    bottom = (rest - middle * f.lit(2.0**_LIMB)).cast("long")
    return {"top": top, "middle": middle, "bottom": bottom}


def whole(top: Column, middle: Column, bottom: Column) -> Column:
    """The sum of numbers whose limbs were added, rounded once where it fits 62 bits."""
    small = (top == 0) & (f.abs(middle) < f.lit(1 << 22))
    return f.when(small, (middle * f.lit(1 << _LIMB) + bottom).cast("double")).otherwise(
        top * f.lit(2.0 ** (2 * _LIMB)) + (middle * f.lit(2.0**_LIMB) + bottom)
    )


def product_limbs(one: Column, other: Column) -> dict[str, Column]:
    """The product of two longs from zero to below `block_lengths.MOST_FACTOR`, as three longs."""
    high, low = f.shiftright(one, _HALF), one.bitwiseAND(f.lit((1 << _HALF) - 1))
    other_high = f.shiftright(other, _HALF)
    other_low = other.bitwiseAND(f.lit((1 << _HALF) - 1))
    return {
        "high": high * other_high,
        "mixed": high * other_low + low * other_high,
        "low": low * other_low,
    }


def whole_product(high: Column, mixed: Column, low: Column) -> Column:
    """The sum of products whose limbs were added, rounded once where it fits 62 bits."""
    small = (high == 0) & (mixed < f.lit(1 << 36)) & (low < f.lit(1 << 61))
    return f.when(small, (mixed * f.lit(1 << _HALF) + low).cast("double")).otherwise(
        high * f.lit(2.0 ** (2 * _HALF)) + (mixed * f.lit(2.0**_HALF) + low)
    )
