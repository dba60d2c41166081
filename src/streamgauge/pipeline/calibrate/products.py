"""Sums of products by bucket: what regressions need, and sums alone cannot give.

Of a task: tuples executed by input stream and windows fired, each with each, and with what it
emitted by output stream. Of an executor: the same summed over its tasks, and its idle time, each
with each and with its CPU time. Times are whole microseconds here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.blocks import in_table_columns
from streamgauge.pipeline.calibrate.columns import block_start_us
from streamgauge.pipeline.calibrate.exact_sums import MOST_FACTOR, product_limbs, whole_product

_EXECUTED, _TRIGGERS = Metric.EXECUTED.label, Metric.WINDOW_TRIGGERS.label
_EMITTED = Metric.EMITTED.label
_CPU, _IDLE = Metric.EXECUTOR_CPU.label, Metric.EXECUTOR_IDLE.label
FACTORS = frozenset({_EXECUTED, _TRIGGERS, _EMITTED, _CPU, _IDLE})

_TIMES = (_CPU, _IDLE)
_EXPLAINED = (_EMITTED, _CPU)
_SUBJECT = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
_BLOCK = ("block_start_us", "block_us")
# All rows of an operator's block come to one place; what follows needs no other shuffle.
_TOGETHER = ("cluster", "topology", "component", "block_start_us")
_LIMBS = ("high", "mixed", "low")


def products_by_block(rows: DataFrame) -> DataFrame:
    """Sums of products, in the columns of the table of partial sums.

    A pair stands once. What explains comes before what is explained; of two that explain, the one
    whose metric, stream and source come first as texts, nothing being before anything. `buckets`,
    `span_us` and `observations` are those in which both are there.

    Args:
        rows: Readings of `FACTORS`; `named` may be among their columns.
    """
    subject = [*_SUBJECT, *(["named"] if "named" in rows.columns else [])]
    gathered = (
        _factors(rows, subject)
        .groupBy(*subject, *_BLOCK, "start_us")
        .agg(f.sort_array(f.collect_list("factor")).alias("factors"))
    )
    pair = f.explode(_pairs(f.col("factors")))
    pairs = gathered.select(*subject, *_BLOCK, pair.alias("pair")).select(
        *subject,
        *_BLOCK,
        *(f.col(f"pair.one.{name}") for name in ("metric", "stream", "source_component")),
        f.col("pair.other.metric").alias("other_metric"),
        f.col("pair.other.stream").alias("other_stream"),
        f.col("pair.other.source_component").alias("other_component"),
        f.col("pair.one.bucket_us").alias("bucket_us"),
        f.col("pair.one.number").alias("number"),
        f.col("pair.other.number").alias("other_number"),
    )
    return _summed(pairs, subject)


def _factors(rows: DataFrame, subject: list[str]) -> DataFrame:
    """What is multiplied: one number a subject, series and bucket."""
    number = f.when(
        f.col("metric").isin(*_TIMES), f.rint(f.col("value") / f.lit(1000.0))
    ).otherwise(f.col("value"))
    together = rows.select(
        *subject,
        "metric",
        "stream",
        "source_component",
        "start_us",
        "bucket_us",
        "block_us",
        block_start_us().alias("block_start_us"),
        number.alias("number"),
    ).where(f.col("number") < f.lit(MOST_FACTOR))
    dealt = together.select(
        *(name for name in together.columns if name not in ("task", "number")),
        f.col("number").cast("long").alias("number"),
        _tasks().alias("tasks"),
    ).repartition(*_TOGETHER)
    # An executor's own numbers are the sums over its tasks.
    added = (
        dealt.select(
            *(name for name in dealt.columns if name != "tasks"),
            f.explode("tasks").alias("task"),
        )
        .where(f.col("task").isNotNull() | f.col("executor").isNotNull())
        .groupBy(*subject, *_BLOCK, "start_us", "metric", "stream", "source_component")
        .agg(f.sum("number").alias("number"), f.max("bucket_us").alias("bucket_us"))
        .where(f.col("number") < f.lit(int(MOST_FACTOR)))
    )
    explained = f.col("metric").isin(*_EXPLAINED)
    return added.select(
        *subject,
        *_BLOCK,
        "start_us",
        f.struct(
            explained.alias("explained"),
            "metric",
            "stream",
            "source_component",
            "number",
            "bucket_us",
        ).alias("factor"),
    )


def _tasks() -> Column:
    """For whom a number counts: its task, and as of no task its executor."""
    nobody = f.lit(None).cast("int")
    return (
        f.when(f.col("metric").isin(*_TIMES), f.array(nobody))
        .when(f.col("metric") == f.lit(_EMITTED), f.array("task"))
        .otherwise(f.array("task", nobody))
    )


def _pairs(factors: Column) -> Column:
    """All pairs to be multiplied of factors that are in order; what is explained comes last."""

    def with_later(one: Column, place: Column) -> Column:
        later = f.filter(
            factors,
            lambda other, at: (at == place) | ((at > place) & ~one["explained"]),
        )
        return f.transform(later, lambda other: f.struct(one.alias("one"), other.alias("other")))

    return f.flatten(f.transform(factors, with_later))


def _summed(pairs: DataFrame, subject: list[str]) -> DataFrame:
    keys = [
        *subject,
        *_BLOCK,
        "metric",
        "stream",
        "source_component",
        "other_metric",
        "other_stream",
        "other_component",
    ]
    parts = product_limbs(f.col("number"), f.col("other_number"))
    sums = pairs.groupBy(*keys).agg(
        f.count(f.lit(1)).alias("buckets"),
        f.sum("bucket_us").alias("span_us"),
        *(f.sum(parts[name]).alias(name) for name in _LIMBS),
    )
    absent = {
        "queue": "string",
        "machine": "string",
        "source_task": "int",
        "bin": "smallint",
    }
    complete = sums.select(
        "*",
        f.col("buckets").alias("observations"),
        *(f.lit(None).cast(kind).alias(name) for name, kind in absent.items()),
    )
    return in_table_columns(complete, total=whole_product(*(f.col(name) for name in _LIMBS)))
