"""How long everyone was known: without it, what was not written cannot be told from zero.

A worker's heartbeats say in which buckets it was known. Where a worker sends none, the buckets in
which anything was written of it count; where samples name no worker, those of their own task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.block_lengths import LEAST_BUCKET_US
from streamgauge.pipeline.calibrate.columns import (
    SERIES,
    all_same,
    block_us,
    bucket_us,
    labelled,
    selected,
)
from streamgauge.pipeline.calibrate.stretches import Stretch
from streamgauge.pipeline.calibrate.wanted import HEARTBEATS, WANTED
from streamgauge.topology.logical_plan import Executor

_TRANSFERS = frozenset({Metric.TRANSFERRED.label, Metric.RECEIVED.label})
_WHO = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
_SEATS = pa.schema(
    [
        ("cluster", pa.string()),
        ("topology", pa.string()),
        ("plan_id", pa.string()),
        ("worker", pa.string()),
        (
            "who",
            pa.list_(
                pa.struct(
                    [("component", pa.string()), ("task", pa.int32()), ("executor", pa.string())]
                )
            ),
        ),
    ]
)
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
            *selected(_WHO, who),
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
    nobody = [name for name in _WHO if name != "plan_id"]
    day = Window.partitionBy(*nobody, "date")
    bucket = Window.partitionBy(*nobody, "date", "start_us")
    whole = (Window.unboundedPreceding, Window.unboundedFollowing)
    # Where some name the plan and some do not, it is named.
    once = (
        buckets.select(
            *nobody,
            f.max("plan_id").over(bucket.rowsBetween(*whole)).alias("plan_id"),
            "date",
            "start_us",
            "bucket_us",
            "block_us",
            f.min("block_us").over(day.rowsBetween(*whole)).alias("shortest_us"),
        )
        .where(f.col("block_us") == f.col("shortest_us"))
        .groupBy(*_WHO, "date", "start_us", "block_us")
        .agg(f.max("bucket_us").alias("bucket_us"))
    )
    return _as_readings(once)


def with_seats(rows: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """Readings of heartbeats as those of whoever is in the worker, and of nothing."""
    zero = {"value": f.lit(0.0), "amount": f.lit(0.0), "count": f.lit(0).cast("long")}
    return seated(rows, stretches).select(*selected(rows.columns, zero))


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
        *selected(SERIES, made),
        "date",
        "start_us",
        "bucket_us",
        "block_us",
        f.lit(0.0).alias("value"),
        f.lit(0).cast("long").alias("count"),
        f.lit(0.0).alias("amount"),
        f.lit(True).alias("squared"),
        f.lit(None).cast("double").alias("divisor"),
        f.lit(None).cast("long").alias("needs"),
    )


def seated(beats: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """Heartbeats of workers as those of the tasks and executors in them, each once.

    Whoever is silent is then known to have been there. Queues are not among them: who writes of a
    queue writes its length in every bucket.

    Args:
        beats: Rows that name cluster, topology, plan and worker; the same rows come back, with
            `component`, `task` and `executor` filled.
        stretches: With the executors of their plans.
    """
    frame = beats.sparkSession.createDataFrame(_seats(stretches))
    matches = all_same(("cluster", "topology", "plan_id", "worker"), "beat", "seat")
    joined = (
        beats.where(labelled([HEARTBEATS]) & f.col("component").isNull())
        .alias("beat")
        .join(f.broadcast(frame).alias("seat"), matches, "inner")
        .select("beat.*", f.explode("seat.who").alias("who"))
    )
    who = {name: f.col(f"who.{name}") for name in ("component", "task", "executor")}
    return joined.select(*selected(beats.columns, who))


def _seats(stretches: Iterable[Stretch]) -> pa.Table:
    """Who is in which worker: every task, and every executor."""
    seats: dict[tuple[str | None, str, str, str], list[dict[str, Any]]] = {}
    for one in stretches:
        for placed in one.executors:
            first, last = placed.first_task, placed.last_task
            label = Executor(first, last, placed.component).label
            who = seats.setdefault((one.cluster, one.topology, one.plan_id, placed.worker), [])
            who.append({"component": placed.component, "executor": label})
            who += [
                {"component": placed.component, "task": task} for task in range(first, last + 1)
            ]
    rows = [
        {"cluster": cluster, "topology": topology, "plan_id": plan_id, "worker": worker, "who": who}
        for (cluster, topology, plan_id, worker), who in seats.items()
    ]
    return pa.Table.from_pylist(rows, schema=_SEATS)
