"""How long everyone was known: without it, what was not written cannot be told from zero.

A worker's heartbeats say in which buckets it was known. Where a worker sends none, the buckets in
which anything was written of it count; where samples name no worker, those of their own task.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.columns import (
    PARTIAL_COLUMNS,
    SERIES,
    all_same,
    block_us,
    bucket_us,
    labelled,
)
from streamgauge.pipeline.calibrate.exact_sums import LEAST_BUCKET_US
from streamgauge.pipeline.calibrate.wanted import HEARTBEATS, WANTED

_TRANSFERS = frozenset({Metric.TRANSFERRED.label, Metric.RECEIVED.label})
_WHO = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
_WORKER = ("cluster", "topology", "worker", "date")


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
        f.broadcast(beating).alias("beating"), all_same(_WORKER, "row", "beating"), "left_anti"
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


def of_subjects(beats: DataFrame, plans: DataFrame) -> DataFrame:
    """How long each task and executor was known in each block: as long as its worker.

    Rows have the metric `worker_heartbeats`, the columns that name the subject, and no total.
    Queues are not among them: whoever writes of a queue writes its length in every bucket.

    Args:
        beats: Partial sums of heartbeats.
        plans: The table.
    """
    seats = _seats(plans)
    of_workers = beats.where(f.col("component").isNull())
    matches = all_same(("cluster", "topology", "plan_id", "worker"), "seat", "beat")
    made = {name: f.col(f"seat.{name}") for name in ("component", "task", "executor")}
    made |= {name: f.lit(0).cast("decimal(38,0)") for name in ("total", "squares")}
    made["observations"] = f.lit(0).cast("long")
    return (
        of_workers.alias("beat")
        .join(seats.alias("seat"), matches, "inner")
        .select(
            *(made.get(name, f.col(f"beat.{name}")).alias(name) for name in PARTIAL_COLUMNS),
        )
    )


def _seats(plans: DataFrame) -> DataFrame:
    """Who is in which worker: a row for every task, and for every executor."""
    placed = (
        plans.select("cluster", "topology", "plan_id", f.explode("executors").alias("one"))
        .select("cluster", "topology", "plan_id", "one.*")
        # A plan that comes back has another record.
        .drop("machine", "node")
        .distinct()
    )
    label = f.expr(
        "CONCAT(component, '[', first_task,"
        " IF(last_task > first_task, CONCAT('-', last_task), ''), ']')"
    )
    nobody = f.array(f.lit(None).cast("int"))
    task = f.explode(f.concat(f.sequence("first_task", "last_task"), nobody))
    return placed.select(
        "cluster",
        "topology",
        "plan_id",
        "component",
        "worker",
        label.alias("label"),
        task.alias("task"),
    ).withColumn("executor", f.when(f.col("task").isNull(), f.col("label")))
