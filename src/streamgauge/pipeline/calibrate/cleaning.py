"""Samples as calibration reads them: what can be summed, and nothing that says the same twice."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.block_lengths import LEAST_BUCKET_US, MOST_FACTOR
from streamgauge.pipeline.calibrate.columns import (
    SERIES,
    block_us,
    bucket_us,
    by_metric,
    labelled,
    same,
)
from streamgauge.pipeline.calibrate.wanted import (
    FACTORS,
    GAUGES,
    MEANS,
    SQUARED,
    STAND_INS,
    largest,
)

_EXACT = sorted({metric.label for exact in STAND_INS.values() for metric in exact})
EXACT_BITS = {label: 1 << place for place, label in enumerate(_EXACT)}
# What a stand-in stands in for, as bits.
_NEEDS = {
    metric.label: sum(EXACT_BITS[one.label] for one in exact) for metric, exact in STAND_INS.items()
}
_PLACE = ("cluster", "component", "date")


# So few labels are worth a filter that the files' readers know; more are left to a join.
_FEW = 10


def _rules(session: SparkSession, labels: frozenset[str]) -> DataFrame:
    """How each metric is summed: one look at a small table, not many at long lists."""
    known = sorted(labels)
    weights = [1 if label in GAUGES else 2 if label in MEANS else 0 for label in known]
    table = {
        "metric": pa.array(known, pa.string()),
        "weight": pa.array(weights, pa.int32()),
        "squared": pa.array([label in SQUARED for label in known], pa.bool_()),
        "divisor": pa.array([FACTORS.get(label) for label in known], pa.float64()),
        "largest": pa.array([largest(label) for label in known], pa.float64()),
        "needs": pa.array([_NEEDS.get(label) for label in known], pa.int64()),
    }
    return session.createDataFrame(pa.table(table))


def _readings(samples: DataFrame, labels: frozenset[str]) -> DataFrame:
    """What `readings` gives, and `largest`: what the value must be below."""
    few = samples.where(labelled(labels)) if len(labels) <= _FEW else samples
    rules = f.broadcast(_rules(samples.sparkSession, labels))
    ruled = few.alias("sample").join(
        rules.alias("rule"), f.col("sample.metric") == f.col("rule.metric"), "inner"
    )
    # Of counts and sums the value; of gauges that times microseconds; of means that times
    # observations, in millionths.
    amount = f.expr(
        "CASE weight WHEN 1 THEN RINT(value * bucket_us)"
        " WHEN 2 THEN RINT(value * `count` * 1000000.0D) ELSE value END"
    )
    return ruled.select(
        *(f"sample.{name}" for name in (*SERIES, "date", "value", "count")),
        f.unix_micros("sample.bucket_start").alias("start_us"),
        bucket_us().alias("bucket_us"),
        "rule.weight",
        "rule.squared",
        "rule.divisor",
        "rule.largest",
        "rule.needs",
    ).select("*", block_us().alias("block_us"), amount.alias("amount"))


def readings(samples: DataFrame, labels: frozenset[str]) -> DataFrame:
    """The samples of some metrics that can be summed.

    Returns:
        The columns of a series, `date`, `start_us`, `bucket_us`, `block_us`, `value`, `count`;
        `amount`, a whole double, which is what is summed; `squared`: whether values are squared
        too; `divisor`: by what they are divided to be multiplied with others, null where they are
        not; and `needs`: which exact metrics make it superfluous, as bits.
    """
    summable = (
        (f.col("bucket_us") >= f.lit(LEAST_BUCKET_US))
        & (f.abs("value") < f.col("largest"))
        & (f.col("count") < f.lit(int(MOST_FACTOR)))
    )
    return _readings(samples, labels).where(summable).drop("weight", "largest")


def needed_bits() -> Column:
    """What makes a row superfluous, as bits; nothing where nothing does."""
    return by_metric(_NEEDS)


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
        rows: Readings.
        exact: What `exact_metrics` says of whole days.
    """
    needs = f.col("row.needs")
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
