"""Counters that engines keep from the start of a process, as what was added in each bucket."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.columns import SERIES, selected

# A counter is its process's, whatever plan that runs; an executor that moves begins a new one.
_COUNTER = tuple(name for name in SERIES if name != "plan_id")


def deltas(rows: DataFrame) -> DataFrame:
    """The rows of counters with what was added since the sample before, in `value` and `count`.

    A counter that falls was started anew, and all it shows was added since. A sample with no other
    in the length of a block before it says nothing: the first one, and the one after a long gap.

    Args:
        rows: Readings of counters, those of the block before the wanted time included.
    """
    # Frames are spelled out: the row before, and no other.
    before = Window.partitionBy(*_COUNTER).orderBy("start_us").rowsBetween(-1, -1)
    last = {name: f.lag(name).over(before) for name in ("value", "count", "start_us")}
    followed = rows.select(
        "*", *(column.alias(f"last_{name}") for name, column in last.items())
    ).where(f.col("last_start_us") >= f.col("start_us") - f.col("block_us"))
    restarted = (f.col("value") < f.col("last_value")) | (f.col("count") < f.col("last_count"))
    added = {
        name: f.when(restarted, f.col(name)).otherwise(f.col(name) - f.col(f"last_{name}"))
        for name in ("value", "count")
    }
    added["amount"] = added["value"]
    return followed.select(*selected(rows.columns, added))
