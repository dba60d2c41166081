"""Samples as calibration reads them: what can be summed, and nothing that says the same twice."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.columns import (
    SERIES,
    block_us,
    bucket_us,
    by_metric,
    labelled,
    same,
)
from streamgauge.pipeline.calibrate.exact_sums import LEAST_BUCKET_US, MOST, MOST_FACTOR
from streamgauge.pipeline.calibrate.wanted import GAUGES, MEANS, SQUARED, STAND_INS, WANTED

_EXACT = sorted({metric.label for exact in STAND_INS.values() for metric in exact})
EXACT_BITS = {label: 1 << place for place, label in enumerate(_EXACT)}
# What a stand-in stands in for, as bits.
_NEEDS = {
    metric.label: sum(EXACT_BITS[one.label] for one in exact) for metric, exact in STAND_INS.items()
}
_PLACE = ("cluster", "component", "date")


def amount() -> Column:
    """What is summed of a sample, a whole double.

    Values of counts and sums; of gauges the value times microseconds; of means the value times
    observations, in millionths.
    """
    value = f.col("value")
    return (
        f.when(labelled(GAUGES), f.rint(value * f.col("bucket_us")))
        .when(labelled(MEANS), f.rint(value * f.col("count") * f.lit(1e6)))
        .otherwise(value)
    )


def _faults() -> dict[str, Column]:
    """Why a sample cannot be summed, whatever it means."""
    too_many = labelled(SQUARED) & (f.col("value") >= f.lit(MOST_FACTOR))
    return {
        "bucket-too-short": f.col("bucket_us") < f.lit(LEAST_BUCKET_US),
        "too-large": (f.abs("amount") >= f.lit(MOST))
        | (f.col("count") >= f.lit(int(MOST_FACTOR)))
        | too_many,
    }


def _readings(samples: DataFrame) -> DataFrame:
    return samples.select(
        *SERIES,
        "date",
        f.unix_micros("bucket_start").alias("start_us"),
        bucket_us().alias("bucket_us"),
        "value",
        "count",
    ).select("*", block_us().alias("block_us"), amount().alias("amount"))


def readings(samples: DataFrame, labels: frozenset[str]) -> DataFrame:
    """The samples of some metrics that can be summed.

    Returns:
        The columns of a series, `date`, `start_us`, `bucket_us`, `block_us`, `value`, `count` and
        `amount`.
    """
    found = _readings(samples.where(labelled(labels)))
    return found.where(~reduce(lambda one, other: one | other, _faults().values()))


def faults(samples: DataFrame) -> DataFrame:
    """How many samples cannot be summed, by cluster, topology, metric and reason."""
    found = _readings(samples.where(labelled(WANTED)))
    reason = f.coalesce(*(f.when(fault, f.lit(name)) for name, fault in _faults().items()))
    return (
        found.select("cluster", "topology", "metric", reason.alias("reason"))
        .where(f.col("reason").isNotNull())
        .groupBy("cluster", "topology", "metric", "reason")
        .agg(f.count(f.lit(1)).alias("rows"))
    )


def needed_bits(column: str = "metric") -> Column:
    """What makes a row superfluous, as bits; nothing where nothing does."""
    return by_metric(_NEEDS, column)


def exact_metrics(samples: DataFrame) -> DataFrame:
    """Which exact metrics were written of each operator (or of workers) on each day, as bits."""
    return (
        samples.where(labelled(_EXACT) & f.col("topology").isNotNull())
        .select(*_PLACE, "topology", by_metric(EXACT_BITS).alias("bit"))
        .groupBy(*_PLACE, "topology")
        .agg(f.bit_or("bit").alias("exact"))
    )


def without_superfluous(rows: DataFrame, exact: DataFrame) -> DataFrame:
    """The rows but those whose exact counterparts were written on the same day.

    Args:
        rows: Any.
        exact: What `exact_metrics` says of whole days.
    """
    needs = needed_bits("row.metric")
    # A key of null matches nothing, so that exact rows pass at once.
    topology = f.when(needs.isNotNull(), f.col("row.topology"))
    matches = topology == f.col("exact.topology")
    for name in _PLACE:
        matches &= same(name, "row", "exact")
    held = f.coalesce(f.col("exact.exact").bitwiseAND(needs) == needs, f.lit(False))
    return (
        rows.alias("row")
        .join(f.broadcast(exact).alias("exact"), matches, "left")
        .where(~held)
        .select("row.*")
    )
