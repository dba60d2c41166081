"""Partial sums: every series summed up by block, all of them in one shuffle.

What regressions multiply is summed by fifteenth of the block besides: products are made of these
sums where a subject's rows have come together, and so once a block instead of once a bucket.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.block_lengths import MICROSECONDS, MOST_FACTOR
from streamgauge.pipeline.calibrate.columns import (
    PARTIAL_COLUMNS,
    SERIES,
    block_start_us,
    selected,
)
from streamgauge.pipeline.calibrate.exact_sums import (
    limbs,
    product_limbs,
    whole,
    whole_product,
)
from streamgauge.pipeline.estimation.blocks import SLOTS

_LIMBS = ("top", "middle", "bottom")
_SQUARES = ("high", "mixed", "low")
_SLOTS = tuple(f"slot_{place}" for place in range(SLOTS))


def sums_by_block(rows: DataFrame) -> DataFrame:
    """Partial sums of readings, in the columns of the table.

    Rows that named their plan and rows that did not are summed apart, as they are when they are
    cached: a block in which writers learned of the plan has both, to be added.

    Args:
        rows: Readings; `named` may be among their columns.
    """
    keys = [*SERIES, "block_start_us", "block_us", *(["named"] if "named" in rows.columns else [])]
    square = f.when(f.col("squared"), f.col("value").cast("long"))
    parts = rows.select(
        *(name for name in keys if name != "block_start_us"),
        block_start_us().alias("block_start_us"),
        "bucket_us",
        "count",
        *(limb.alias(name) for name, limb in limbs(f.col("amount")).items()),
        square.alias("factor"),
        f.expr(f"PMOD(start_us, block_us) DIV (block_us DIV {SLOTS})").alias("slot"),
        _multiplied().alias("number"),
    )
    squares = product_limbs(f.col("factor"), f.col("factor"))
    added = parts.groupBy(*keys).agg(
        f.count(f.lit(1)).alias("buckets"),
        f.sum("bucket_us").alias("span_us"),
        f.sum("count").alias("observations"),
        *(f.sum(name).alias(name) for name in _LIMBS),
        *(f.sum(squares[name]).alias(name) for name in _SQUARES),
        *(
            f.expr(f"SUM(CASE WHEN slot = {place} THEN number END)").alias(name)
            for place, name in enumerate(_SLOTS)
        ),
    )
    return _in_table_columns(added)


def _multiplied() -> Column:
    """What is multiplied, as a whole number; nothing where nothing is, or it is too large."""
    number = f.rint(f.col("value") / f.col("divisor"))
    return f.when(number < f.lit(MOST_FACTOR), number.cast("long"))


def _in_table_columns(sums: DataFrame) -> DataFrame:
    known = f.coalesce(*_SLOTS).isNotNull()
    made = {
        "block_start": f.timestamp_micros("block_start_us"),
        "block_seconds": f.col("block_us") / f.lit(float(MICROSECONDS)),
        "buckets": f.col("buckets").cast("int"),
        "total": whole(*(f.col(name) for name in _LIMBS)),
        "squares": whole_product(*(f.col(name) for name in _SQUARES)),
        "slots": f.when(known, f.array(*_SLOTS)),
    }
    return sums.select(*selected(PARTIAL_COLUMNS, made))
