"""Plain partial sums: every series summed up by block, all of them in one shuffle."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.block_lengths import MICROSECONDS
from streamgauge.pipeline.calibrate.columns import (
    OTHER,
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

_LIMBS = ("top", "middle", "bottom")
_SQUARES = ("high", "mixed", "low")


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
    )
    squares = product_limbs(f.col("factor"), f.col("factor"))
    added = parts.groupBy(*keys).agg(
        f.count(f.lit(1)).alias("buckets"),
        f.sum("bucket_us").alias("span_us"),
        f.sum("count").alias("observations"),
        *(f.sum(name).alias(name) for name in _LIMBS),
        *(f.sum(squares[name]).alias(name) for name in _SQUARES),
    )
    return in_table_columns(
        added,
        total=whole(*(f.col(name) for name in _LIMBS)),
        squares=whole_product(*(f.col(name) for name in _SQUARES)),
    )


def in_table_columns(sums: DataFrame, *, total: Column, squares: Column | None = None) -> DataFrame:
    """Partial sums in the columns of the table and in their order.

    Args:
        sums: With `block_start_us` and `block_us`.
        total: The exact sum.
        squares: The exact sum of squares, where there is one.
    """
    exact = "decimal(38,0)"
    made = {
        "block_start": f.timestamp_micros("block_start_us"),
        "block_seconds": f.col("block_us") / f.lit(float(MICROSECONDS)),
        "buckets": f.col("buckets").cast("int"),
        "total": total.cast(exact),
        "squares": (f.lit(None) if squares is None else squares).cast(exact),
    }
    for name in OTHER:
        if name not in sums.columns:
            made[name] = f.lit(None).cast("string")
    return sums.select(*selected(PARTIAL_COLUMNS, made))
