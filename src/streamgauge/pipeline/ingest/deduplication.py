"""One row for each natural key, whatever came, how often, and in which order.

Rows of one key with equal values are one row, received when the first of them was. Of several
different ones the last received is right, and the others are superseded; where two were received at
the same time, nobody knows which is right, and all are. What is right depends on the set of rows
only, so it can be found again from what the lake holds and what is new.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.lake.bulk_decoding import columns_of
from streamgauge.lake.schemas import PARTITION, Table
from streamgauge.pipeline.ingest.row_files import HOLDER, KEPT, NEW, ORIGIN, PLACE, SUPERSEDED

_FIRST, _LAST = Window.unboundedPreceding, Window.unboundedFollowing


def key_columns(table: Table) -> list[str]:
    """The natural key, in the order in which the table is sorted, the day first."""
    ordered = [column for column in table.order if column in table.key]
    return [PARTITION, *ordered, *(column for column in table.key if column not in ordered)]


def value_columns(table: Table) -> list[str]:
    """What must be equal for two rows of one key to be one row."""
    return [name for name in columns_of(table).names if name not in table.key]


def range_columns(table: Table) -> list[str]:
    """By which rows are dealt to writers: those of one key together, neighbours together."""
    return [PARTITION, *(c for c in table.order if c in table.key and c != table.day_of)]


def distinct_rows(candidates: DataFrame, table: Table) -> DataFrame:
    """One row for each key and values among the keys that something new came for.

    Args:
        candidates: Rows with `origin`, dealt by `range_columns`.
        table: Their table.

    Returns:
        The row that was received first, with `kept` and `superseded` (whether it was found there),
        `kept_at` and `superseded_at` (when the one found there was received), `kept_in` (its file
        and its place there) and `contested` (whether others of its key have other values).
    """
    key, values = key_columns(table), value_columns(table)
    alike = Window.partitionBy(*key, *values).orderBy("received_at", "file")
    up_to_now = alike.rowsBetween(_FIRST, Window.currentRow)
    together = alike.rowsBetween(_FIRST, _LAST)
    of_key = Window.partitionBy(*key).rowsBetween(_FIRST, _LAST)
    is_new, is_kept = f.col(ORIGIN) == NEW, f.col(ORIGIN) == KEPT
    is_superseded = f.col(ORIGIN) == SUPERSEDED
    return (
        candidates.select(
            "*",
            f.row_number().over(up_to_now).alias("number"),
            f.max(is_kept).over(together).alias("kept"),
            f.max(is_superseded).over(together).alias("superseded"),
            f.min(f.when(is_kept, f.col("received_at"))).over(together).alias("kept_at"),
            f.min(f.when(is_superseded, f.col("received_at")))
            .over(together)
            .alias("superseded_at"),
            f.max(f.when(is_kept, f.struct(HOLDER, PLACE))).over(together).alias("kept_in"),
        )
        .select(
            "*",
            f.max(is_new).over(of_key).alias("touched"),
            (f.sum((f.col("number") == 1).cast("int")).over(of_key) > 1).alias("contested"),
        )
        .where((f.col("number") == 1) & f.col("touched"))
        .drop("number", "touched", ORIGIN, HOLDER, PLACE)
    )


def judged(distinct: DataFrame, table: Table) -> DataFrame:
    """Distinct rows that are not in the lake just so, and whether each is `right`.

    One is right if it alone, of all of its key, was received last.
    """
    of_key = Window.partitionBy(*key_columns(table)).rowsBetween(_FIRST, _LAST)
    latest = f.max("received_at").over(of_key)
    earlier = f.col("received_at") < f.col("kept_at")
    return (
        distinct.withColumn("latest", f.col("received_at") == latest)
        .withColumn("latest_ones", f.sum(f.col("latest").cast("int")).over(of_key))
        .withColumn("right", f.col("latest") & (f.col("latest_ones") == 1))
        .where(f.col("contested") | f.col("superseded") | ~f.col("kept") | earlier)
        .drop("latest", "latest_ones", "contested")
    )


def sorts_of_verdicts() -> dict[str, Column]:
    """What becomes of judged rows; one may be of several sorts.

    In quarantine they are `restamped`, are new there (`gone`) or leave it (`back`); in their table
    they are `leaving` or `coming`. `doubled` ones were in both places, after an ingest that was
    killed between two commits: each leaves one. `fresh` ones were in neither.
    """
    right, kept, superseded = f.col("right"), f.col("kept"), f.col("superseded")
    received_at = f.col("received_at")
    moved = kept & (~right | (received_at < f.col("kept_at")))
    return {
        "restamped": ~right & superseded & (received_at < f.col("superseded_at")),
        "gone": ~right & ~superseded,
        "back": right & superseded,
        "doubled": kept & superseded,
        "leaving": moved,
        "coming": right & (~kept | moved),
        "fresh": ~kept & ~superseded,
    }


def row_key(table: Table) -> Column:
    """A digest of the natural key, by which a superseded row is found again."""
    return f.sha2(f.to_json(f.struct(*table.key)), 256)
