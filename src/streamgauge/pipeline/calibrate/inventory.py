"""What the lake holds of each topology, plan and metric: one cheap pass over ten columns."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.cleaning import EXACT_BITS, needed_bits
from streamgauge.pipeline.calibrate.columns import bucket_us, by_metric, labelled
from streamgauge.pipeline.calibrate.stretches import Recorded
from streamgauge.pipeline.calibrate.wanted import WANTED


def inventory(samples: DataFrame) -> DataFrame:
    """Times, rows and extremes by cluster, topology, plan and metric.

    `needed` says how many of the rows are summed up: none of metrics that nobody wants, and of
    stand-ins those whose exact counterparts were not written. The size of the answer depends on
    how many topologies and plans there are, never on how many samples.
    """
    by_day = (
        samples.where(f.col("topology").isNotNull())
        .select(
            "cluster",
            "topology",
            "plan_id",
            "component",
            "date",
            "metric",
            f.unix_micros("bucket_start").alias("start_us"),
            bucket_us().alias("bucket_us"),
            f.abs("value").alias("value"),
            "count",
        )
        .groupBy("cluster", "topology", "plan_id", "component", "date", "metric")
        .agg(
            f.min("start_us").alias("first_us"),
            f.max(f.col("start_us") + f.col("bucket_us")).alias("last_us"),
            f.count(f.lit(1)).alias("rows"),
            f.max("bucket_us").alias("longest_us"),
            f.min("bucket_us").alias("shortest_us"),
            f.max("value").alias("largest_value"),
            f.max("count").alias("largest_count"),
        )
    )
    place = Window.partitionBy("cluster", "topology", "component", "date").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    exact = f.bit_or(f.coalesce(by_metric(EXACT_BITS), f.lit(0).cast("long"))).over(place)
    needs = needed_bits()
    stands_in = f.coalesce(f.col("exact").bitwiseAND(needs) == needs, f.lit(False))
    return (
        by_day.select("*", exact.alias("exact"))
        .select("*", (labelled(WANTED) & ~stands_in).alias("is_needed"))
        .groupBy("cluster", "topology", "plan_id", "metric")
        .agg(
            f.min("first_us").alias("first_us"),
            f.max("last_us").alias("last_us"),
            f.sum("rows").alias("rows"),
            f.sum(f.when(f.col("is_needed"), f.col("rows")).otherwise(0)).alias("needed"),
            f.max("longest_us").alias("longest_us"),
            f.min("shortest_us").alias("shortest_us"),
            f.max("largest_value").alias("largest_value"),
            f.max("largest_count").alias("largest_count"),
        )
    )


def recorded(rows: Iterable[Row]) -> list[Recorded]:
    """The rows of an inventory, in an order of their own."""
    found = [Recorded(**row.asDict()) for row in rows]
    return sorted(
        found,
        key=lambda one: (one.cluster or "", one.topology, one.plan_id or "", one.metric),
    )
