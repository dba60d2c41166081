"""Latency between nodes from probes, and how far their clocks are apart.

A record of probes has the least, mean and greatest of so many times. They count as one probe of the
least, one of the greatest, and the others all alike, such that the mean is right: (n·mean − least −
greatest)/(n − 2). One probe has the mean, two are the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.lake.records import LinkKind
from streamgauge.pipeline.calibrate.bins import bin_number
from streamgauge.pipeline.calibrate.columns import same
from streamgauge.pipeline.calibrate.scoping import during
from streamgauge.pipeline.calibrate.stretches import Stretch

_JOB = ("cluster", "topology", "plan_id")
_LINK = (*_JOB, "source_node", "target_node", "kind")
_TIMES = ("least_ns", "mean_ns", "most_ns")
_SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("topology", pa.string()),
        ("plan_id", pa.string()),
        ("node", pa.string()),
        ("nodes", pa.list_(pa.string())),
        ("from_us", pa.int64()),
        ("to_us", pa.int64()),
    ]
)


def links_within(links: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """The answered probes in a stretch between nodes of its plan, once for each topology."""
    rows = [
        {
            "cluster": one.cluster,
            "topology": one.topology,
            "plan_id": one.plan_id,
            "node": node,
            "nodes": list(one.nodes),
            "from_us": one.from_us,
            "to_us": one.to_us,
        }
        for one in stretches
        for node in one.nodes
    ]
    frame = links.sparkSession.createDataFrame(pa.Table.from_pylist(rows, schema=_SCHEMA))
    measured = f.unix_micros("link.measured_at")
    matches = (
        same("cluster", "link", "stretch")
        & (f.col("link.source_node") == f.col("stretch.node"))
        & f.array_contains("stretch.nodes", f.col("link.target_node"))
        & (measured >= f.col("stretch.from_us"))
        & (measured < f.col("stretch.to_us"))
    )
    return (
        links.where(during("measured_at", stretches) & (f.col("received") > 0))
        .alias("link")
        .join(f.broadcast(frame).alias("stretch"), matches, "inner")
        .select(
            *(f"stretch.{name}" for name in _JOB),
            *(f"link.{name}" for name in ("source_node", "target_node", "kind", "received")),
            *(f"link.{name}" for name in _TIMES),
        )
    )


def clock_skews(links: DataFrame) -> DataFrame:
    """How far the clocks of two nodes are apart, where one-way probes went both ways.

    The least time each way is what the way takes, which is the same there and back; so half their
    difference is the clocks'.

    Args:
        links: As `links_within` gives them.

    Returns:
        `cluster`, `topology`, `plan_id`, `node`, `other_node` (the later name), and `skew_ns`: how
        far the other's clock is ahead, cut to whole nanoseconds.
    """
    forward = f.col("source_node") < f.col("target_node")
    least = f.col("least_ns")
    both = (
        links.where(f.col("kind") == f.lit(LinkKind.ONE_WAY.value))
        .select(
            *_JOB,
            f.least("source_node", "target_node").alias("node"),
            f.greatest("source_node", "target_node").alias("other_node"),
            f.when(forward, least).alias("there_ns"),
            f.when(~forward, least).alias("back_ns"),
        )
        .groupBy(*_JOB, "node", "other_node")
        .agg(f.min("there_ns").alias("there_ns"), f.min("back_ns").alias("back_ns"))
    )
    return both.where(f.col("there_ns").isNotNull() & f.col("back_ns").isNotNull()).select(
        *_JOB, "node", "other_node", f.expr("(there_ns - back_ns) DIV 2").alias("skew_ns")
    )


def corrected(links: DataFrame, skews: DataFrame) -> DataFrame:
    """The links with one-way times as one clock would have shown them, and none below zero."""
    joined = links.alias("link").join(
        f.broadcast(skews).alias("skew"),
        same("cluster", "link", "skew")
        & same("topology", "link", "skew")
        & same("plan_id", "link", "skew")
        & (f.least("link.source_node", "link.target_node") == f.col("skew.node"))
        & (f.greatest("link.source_node", "link.target_node") == f.col("skew.other_node")),
        "left",
    )
    forward = f.col("link.source_node") < f.col("link.target_node")
    one_way = f.col("link.kind") == f.lit(LinkKind.ONE_WAY.value)
    ahead = f.coalesce("skew.skew_ns", f.lit(0))
    error = f.when(one_way, f.when(forward, ahead).otherwise(-ahead)).otherwise(0)
    return joined.select(
        *(f"link.{name}" for name in (*_LINK, "received")),
        *(
            f.greatest(f.col(f"link.{name}") - error, f.lit(0).cast("long")).alias(name)
            for name in _TIMES
        ),
    )


def link_histograms(links: DataFrame) -> DataFrame:
    """Probes by bin of nanoseconds; round trips there and back, as `kind` says.

    Args:
        links: Corrected.

    Returns:
        `cluster`, `topology`, `plan_id`, `source_node`, `target_node`, `kind`, `bin`, `probes`,
        their `total_ns` exactly, and `measurements`: records, each in the bin of its least time.
    """
    part = f.explode(_parts())
    return (
        links.select(*_LINK, part.alias("part"))
        .select(*_LINK, "part.*")
        .where(f.col("probes") > 0)
        .select("*", bin_number("time_ns").alias("bin"))
        .groupBy(*_LINK, "bin")
        .agg(
            f.sum("probes").alias("probes"),
            f.sum(f.col("time_ns").cast("decimal(19,0)") * f.col("probes").cast("decimal(10,0)"))
            .cast("decimal(38,0)")
            .alias("total_ns"),
            f.sum("records").alias("measurements"),
        )
    )


def _parts() -> Column:
    """A record as its least probe, its greatest, and those between."""
    least, mean, most = (f.col(name) for name in _TIMES)
    count = f.col("received").cast("long")
    rest = f.expr(
        "mean_ns + (2 * mean_ns - least_ns - most_ns) DIV GREATEST(CAST(received AS BIGINT) - 2, 1)"
    )
    between = f.greatest(least, f.least(most, rest))
    one, none = f.lit(1).cast("long"), f.lit(0).cast("long")

    def part(time: Column, probes: Column, records: Column) -> Column:
        return f.struct(time.alias("time_ns"), probes.alias("probes"), records.alias("records"))

    return f.when(count == one, f.array(part(mean, one, one))).otherwise(
        f.array(part(least, one, one), part(most, one, none), part(between, count - f.lit(2), none))
    )


def skew_notes(skews: Iterable[tuple[str, str, int]], bucket_seconds: float) -> list[str]:
    """What to say of clocks that are further apart than half a bucket.

    Args:
        skews: Two nodes, and how far the second's clock is ahead, in nanoseconds.
        bucket_seconds: How long a bucket is.
    """
    return [
        f"the clock of {other} is {skew_ns / 1e9:+.3g} s off that of {node}, more than half a"
        f" bucket of {bucket_seconds:g} s: buckets of the two do not match"
        for node, other, skew_ns in sorted(skews)
        if 2 * abs(skew_ns) > bucket_seconds * 1e9
    ]
