"""What a reader of a profile should know of the samples behind it: few rows, for notes."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.columns import all_same
from streamgauge.pipeline.calibrate.wanted import HEARTBEATS

_JOB = ("cluster", "topology", "plan_id")
_TASK = (*_JOB, "component", "task")


def bucket_order(samples: DataFrame) -> DataFrame:
    """Whether the buckets of each worker follow each other, by its heartbeats.

    Everything that a worker writes has the same buckets, so that one series tells for all.

    Returns:
        `cluster`, `topology`, `plan_id`, `worker`, `buckets`, `overlaps` (buckets that began before
        the one before had ended: they overlap, or are longer than their spacing), and `gap_us`:
        time between buckets.
    """
    series = ("cluster", "topology", "worker")
    before = Window.partitionBy(*series).orderBy("start_us").rowsBetween(-1, -1)
    late = f.col("start_us") - f.col("ended_us")
    return (
        readings(samples, frozenset({HEARTBEATS}))
        .select(
            *_JOB,
            "worker",
            "start_us",
            f.lag(f.col("start_us") + f.col("bucket_us")).over(before).alias("ended_us"),
        )
        .groupBy(*_JOB, "worker")
        .agg(
            f.count(f.lit(1)).alias("buckets"),
            f.sum(f.when(late < 0, 1).otherwise(0)).alias("overlaps"),
            f.sum(f.when(late > 0, late).otherwise(0)).alias("gap_us"),
        )
    )


def unplanned_tasks(sums: DataFrame, plans: DataFrame) -> DataFrame:
    """Tasks that samples are of, but not their plan: `cluster` to `task`."""
    seen = _seen(sums).alias("seen")
    known = _planned(plans).alias("known")
    return seen.join(known, all_same(_TASK, "seen", "known"), "left_anti")


def silent_tasks(sums: DataFrame, plans: DataFrame) -> DataFrame:
    """Tasks of the plans that are summed up, of which there is no sample: `cluster` to `task`."""
    seen = _seen(sums)
    known = _planned(plans).alias("known")
    jobs = seen.select(*_JOB).distinct().alias("job")
    return known.join(jobs, all_same(_JOB, "known", "job"), "left_semi").join(
        seen.alias("seen"), all_same(_TASK, "known", "seen"), "left_anti"
    )


def _seen(sums: DataFrame) -> DataFrame:
    of_task = f.col("task").isNotNull() & (f.col("metric") != f.lit(HEARTBEATS))
    return sums.where(of_task).select(*_TASK).distinct()


def _planned(plans: DataFrame) -> DataFrame:
    return (
        plans.select(*_JOB, f.explode("executors").alias("one"))
        .select(
            *_JOB,
            "one.component",
            f.explode(f.sequence("one.first_task", "one.last_task")).alias("task"),
        )
        .distinct()
    )
