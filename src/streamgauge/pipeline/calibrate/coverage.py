"""How long everyone was known: without it, what was not written cannot be told from zero.

A worker's heartbeats say in which buckets it was known. Where a worker sends none, the buckets in
which anything was written of it count; where samples name no worker, those of their own task.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.columns import (
    PARTIAL_COLUMNS,
    SERIES,
    block_us,
    bucket_us,
    labelled,
    same,
)
from streamgauge.pipeline.calibrate.exact_sums import LEAST_BUCKET_US
from streamgauge.pipeline.calibrate.wanted import HEARTBEATS, WANTED

_TRANSFERS = frozenset({Metric.TRANSFERRED.label, Metric.RECEIVED.label})
_WHO = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
_WORKER = ("cluster", "topology", "worker", "date")
_SUBJECT = (
    "cluster",
    "topology",
    "plan_id",
    "component",
    "task",
    "executor",
    "queue",
    "worker",
)


def heard(samples: DataFrame) -> DataFrame:
    """Heartbeats of nobody: a reading of zero for every bucket of those who send none.

    Where buckets of several lengths came of someone on a day, the shortest count.

    Args:
        samples: Of whole days.
    """
    beating = samples.where(labelled([HEARTBEATS])).select(*_WORKER).distinct()
    of_worker = f.col("worker").isNotNull()
    # The columns that name who was heard: the worker, else the task, else the executor.
    who = {
        "component": f.when(~of_worker, f.col("component")),
        "task": f.when(~of_worker, f.col("task")),
        "executor": f.when(~of_worker & f.col("task").isNull(), f.col("executor")),
    }
    written = (
        samples.where(labelled(WANTED) & f.col("topology").isNotNull())
        # A transfer without a worker says nothing of the task that received.
        .where(of_worker | ~labelled(_TRANSFERS))
        .select(
            *(who.get(name, f.col(name)).alias(name) for name in _WHO),
            "date",
            f.unix_micros("bucket_start").alias("start_us"),
            bucket_us().alias("bucket_us"),
        )
        .where(f.col("bucket_us") >= f.lit(LEAST_BUCKET_US))
    )
    silent = written.alias("row").join(
        f.broadcast(beating).alias("beating"), _all_same(_WORKER, "row", "beating"), "left_anti"
    )
    buckets = silent.select("*", block_us().alias("block_us")).distinct()
    day = Window.partitionBy(*_WHO, "date").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    shortest = buckets.select("*", f.min("block_us").over(day).alias("shortest_us"))
    once = (
        shortest.where(f.col("block_us") == f.col("shortest_us"))
        .groupBy(*_WHO, "date", "start_us", "block_us")
        .agg(f.max("bucket_us").alias("bucket_us"))
    )
    return _as_readings(once)


def _as_readings(buckets: DataFrame) -> DataFrame:
    absent = {
        "queue": "string",
        "machine": "string",
        "stream": "string",
        "source_component": "string",
        "source_task": "int",
        "bin": "smallint",
    }
    made = {name: f.lit(None).cast(kind) for name, kind in absent.items()}
    made["metric"] = f.lit(HEARTBEATS)
    return buckets.select(
        *(made.get(name, f.col(name)).alias(name) for name in SERIES),
        "date",
        "start_us",
        "bucket_us",
        "block_us",
        f.lit(0.0).alias("value"),
        f.lit(0).cast("long").alias("count"),
        f.lit(0.0).alias("amount"),
    )


def with_coverage(partials: DataFrame) -> DataFrame:
    """Partial sums, and for everyone in a worker how long that was known in each block.

    The rows that are added have the metric `worker_heartbeats`, the columns that name the subject,
    and no total. A transfer is a matter of the task that sent it, in whose worker it was counted.

    Args:
        partials: Of stretches, so that everyone has one worker.
    """
    sent = f.col("metric") == f.lit(Metric.TRANSFERRED.label)
    of_task = f.coalesce(sent, f.lit(False)) | f.col("task").isNotNull()
    who = {
        "component": f.when(sent, f.col("source_component")).otherwise(f.col("component")),
        "task": f.when(sent, f.col("source_task")).otherwise(f.col("task")),
        "executor": f.when(~of_task, f.col("executor")),
    }
    counted = (
        f.col("worker").isNotNull()
        & f.col("component").isNotNull()
        & (f.col("metric") != f.lit(Metric.RECEIVED.label))
    )
    queues = f.col("worker").isNotNull() & f.col("queue").isNotNull()
    subjects = (
        partials.where(counted | queues)
        .select(*(who.get(name, f.col(name)).alias(name) for name in _SUBJECT))
        .distinct()
    )
    beats = partials.where(labelled([HEARTBEATS]) & f.col("component").isNull())
    by_worker = ("cluster", "topology", "plan_id", "worker")
    joined = subjects.alias("who").join(
        beats.alias("beat"), _all_same(by_worker, "who", "beat"), "inner"
    )
    taken = {name: f"who.{name}" for name in _SUBJECT}
    zero = {name: f.lit(0).cast("decimal(38,0)") for name in ("total", "squares")}
    zero["observations"] = f.lit(0).cast("long")
    added = joined.select(
        *(
            zero.get(name, f.col(taken.get(name, f"beat.{name}"))).alias(name)
            for name in PARTIAL_COLUMNS
        )
    )
    return partials.select(*PARTIAL_COLUMNS).unionByName(added)


def _all_same(names: tuple[str, ...], left: str, right: str) -> Column:
    return reduce(lambda one, other: one & other, (same(name, left, right) for name in names))
