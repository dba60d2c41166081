"""What the lake holds of each topology, plan and metric: one cheap pass over five columns."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.columns import bucket_us
from streamgauge.pipeline.calibrate.stretches import Recorded


def inventory(samples: DataFrame) -> DataFrame:
    """First and last bucket, rows and longest bucket by cluster, topology, plan and metric.

    Its size depends on how many topologies and plans there are, never on how many samples.
    """
    start = f.unix_micros("bucket_start")
    return (
        samples.where(f.col("topology").isNotNull())
        .select(
            "cluster",
            "topology",
            "plan_id",
            "metric",
            start.alias("start_us"),
            bucket_us().alias("bucket_us"),
        )
        .groupBy("cluster", "topology", "plan_id", "metric")
        .agg(
            f.min("start_us").alias("first_us"),
            f.max(f.col("start_us") + f.col("bucket_us")).alias("last_us"),
            f.count(f.lit(1)).alias("rows"),
            f.max("bucket_us").alias("longest_us"),
        )
    )


def recorded(rows: Iterable[Row]) -> list[Recorded]:
    """The rows of an inventory, in an order of their own."""
    found = [Recorded(**row.asDict()) for row in rows]
    return sorted(
        found,
        key=lambda one: (one.cluster or "", one.topology, one.plan_id or "", one.metric),
    )
