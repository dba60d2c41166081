"""What a topology did in all its time, under all its plans: saturation, source rates, pressure.

Steps of time are a minute, or a minute doubled until there are few enough. They are summed from
partial sums, of which cached days are a part; a block counts in the step that it begins in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.block_lengths import MICROSECONDS
from streamgauge.pipeline.calibrate.cleaning import readings
from streamgauge.pipeline.calibrate.columns import all_same, labelled
from streamgauge.pipeline.calibrate.scoping import near, needed_spans, within
from streamgauge.pipeline.calibrate.stretches import Recorded, Stretch
from streamgauge.pipeline.calibrate.wanted import HEARTBEATS

MINUTE_US = 60 * MICROSECONDS
# Observations of an operator, and values of a source's rate, that are worth keeping.
MOST_OBSERVATIONS = 500
MOST_RATES = 2000

_EXECUTED = frozenset({Metric.EXECUTED.label, Metric.EXECUTED_TOTAL.label})
_EMITTED = frozenset({Metric.EMITTED.label, Metric.EMITTED_TOTAL.label})
PRESSED = Metric.BACKPRESSURE_CAUSED.label
# What partial sums of the past must hold.
HISTORY_LABELS = frozenset({*_EXECUTED, *_EMITTED, PRESSED, HEARTBEATS})

_JOB = ("cluster", "topology")
# Who is known by heartbeats: a worker, else the task or executor of an operator.
_WHO = ("worker", "task", "executor")
_SUMMED = ("total", "span_us", "pressed_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Into which steps the time of a topology is cut."""

    cluster: str | None
    topology: str
    step_us: int


def steps(recorded: Iterable[Recorded], most: int) -> list[Step]:
    """Steps such that there are at most so many from the first to the last bucket."""
    extents: dict[tuple[str | None, str], tuple[int, int]] = {}
    for one in recorded:
        job = (one.cluster, one.topology)
        first, last = extents.get(job, (one.first_us, one.last_us))
        extents[job] = (min(first, one.first_us), max(last, one.last_us))
    return [
        Step(cluster=cluster, topology=topology, step_us=_step_us(first, last, most))
        for (cluster, topology), (first, last) in sorted(
            extents.items(), key=lambda item: (item[0][0] or "", item[0][1])
        )
    ]


def _step_us(first_us: int, last_us: int, most: int) -> int:
    step = MINUTE_US
    while -(-last_us // step) - first_us // step > most:
        step *= 2
    return step


def stepped(sums: DataFrame, cut: Sequence[Step]) -> DataFrame:
    """What history needs of partial sums, added up by step: few rows, to be read several times.

    Args:
        sums: Partial sums of `HISTORY_LABELS`, of whole days.
        cut: Steps.

    Returns:
        `cluster`, `topology`, `plan_id`, `component`, `stream`, `metric`, `step_us`,
        `step_start_us`, `total`, and `span_us`; of heartbeats also the `worker`, `task` or
        `executor` that is known by them; and `pressed_ns`: in each block the time of the task that
        held its senders back for longest.
    """
    rows = sums.where(labelled(HISTORY_LABELS))
    start = f.unix_micros("row.block_start")
    beats = f.col("row.metric") == f.lit(HEARTBEATS)
    who = [f.when(beats, f.col(f"row.{name}")).alias(name) for name in _WHO]
    # Counts and nanoseconds: whole numbers, whose sums do not depend on their order.
    total = f.col("row.total").cast("long")
    # Nobody holds others back for longer than time goes on.
    pressed = f.least(total, f.col("row.span_us") * f.lit(1000))
    timed = (
        rows.alias("row")
        .join(_step_frame(sums, cut).alias("step"), all_same(_JOB, "row", "step"), "inner")
        .select(
            *(f"row.{name}" for name in (*_JOB, "plan_id", "component", "stream", "metric")),
            *who,
            "step.step_us",
            _floor(start, f.col("step.step_us")).alias("step_start_us"),
            "row.block_start",
            total.alias("total"),
            "row.span_us",
            f.when(f.col("row.metric") == f.lit(PRESSED), pressed).alias("pressed_ns"),
        )
    )
    step = [name for name in timed.columns if name not in ("block_start", *_SUMMED)]
    return (
        timed.groupBy(*step, "block_start")
        .agg(
            *_added("total"),
            f.sum("span_us").alias("span_us"),
            f.max("pressed_ns").alias("pressed_ns"),
        )
        .groupBy(*step)
        .agg(*_added("total", "pressed_ns"), f.sum("span_us").alias("span_us"))
    )


def _step_frame(like: DataFrame, cut: Sequence[Step]) -> DataFrame:
    table = pa.table(
        {
            "cluster": pa.array([one.cluster for one in cut], pa.string()),
            "topology": pa.array([one.topology for one in cut], pa.string()),
            "step_us": pa.array([one.step_us for one in cut], pa.int64()),
        }
    )
    return f.broadcast(like.sparkSession.createDataFrame(table))


def _floor(time: Column, step: Column) -> Column:
    return time - f.pmod(time, step)


def saturation(past: DataFrame, cut: Sequence[Step], plans: DataFrame) -> DataFrame:
    """What came to each operator and left it, step by step and plan by plan.

    The engine's own streams, whose names begin with two underscores, are left out.

    Args:
        past: As `stepped` gives it, by the same steps or shorter ones.
        cut: Steps.
        plans: The table.

    Returns:
        `cluster`, `topology`, `plan_id`, `component`, `step_start`, `step_seconds`, `executors`
        (null where the plan is not known), `alive_us` and `least_alive_us` (of the workers, the one
        known for the longest and shortest time), `executed`, `emitted`, and `pressed_ns`.
    """
    finer = [name for name in past.columns if name not in ("step_us", "step_start_us")]
    rows = (
        past.alias("row")
        .join(_step_frame(past, cut).alias("step"), all_same(_JOB, "row", "step"), "inner")
        .select(
            *(f"row.{name}" for name in finer),
            "step.step_us",
            _floor(f.col("row.step_start_us"), f.col("step.step_us")).alias("step_start_us"),
        )
    )
    operator = (*_JOB, "plan_id", "component")
    own = f.col("stream").isNull() | ~f.col("stream").startswith("__")
    points = (
        rows.where(f.col("component").isNotNull() & own & ~labelled([HEARTBEATS]))
        .select(
            *operator,
            "step_us",
            "step_start_us",
            f.when(labelled(_EXECUTED), f.col("total")).alias("executed"),
            f.when(labelled(_EMITTED), f.col("total")).alias("emitted"),
            "pressed_ns",
        )
        .groupBy(*operator, "step_us", "step_start_us")
        .agg(*_added("executed", "emitted", "pressed_ns"))
    )
    # Heartbeats may come from writers that do not know the plan.
    alive = _alive(rows)
    unnamed = alive.where(f.col("plan_id").isNull())
    known = (
        points.alias("point")
        .join(
            alive.alias("alive"),
            all_same((*_JOB, "plan_id", "step_start_us"), "point", "alive"),
            "left",
        )
        .join(
            unnamed.alias("unnamed"),
            all_same((*_JOB, "step_start_us"), "point", "unnamed")
            & f.col("point.plan_id").isNotNull(),
            "left",
        )
        .join(
            _executors(plans).alias("plan"),
            all_same((*_JOB, "plan_id", "component"), "point", "plan"),
            "left",
        )
    )
    zero = f.lit(0).cast("long")
    return known.select(
        *(f"point.{name}" for name in operator),
        *_step_columns("point"),
        "plan.executors",
        *(
            (f.coalesce(f"alive.{name}", f.lit(0)) + f.coalesce(f"unnamed.{name}", f.lit(0))).alias(
                name
            )
            for name in ("alive_us", "least_alive_us")
        ),
        *(
            f.coalesce(f"point.{name}", zero).alias(name)
            for name in ("executed", "emitted", "pressed_ns")
        ),
    ).where(f.col("alive_us") > 0)


def source_rates(past: DataFrame) -> DataFrame:
    """What each source stream emitted, step by step, steps without a tuple included.

    A source is who emits and executes nothing but the engine's own streams.

    Args:
        past: As `stepped` gives it.

    Returns:
        `cluster`, `topology`, `component`, `stream`, `step_start`, `step_seconds`, `emitted`, and
        `alive_us`: for how long of the step the topology was known.
    """
    own = ~f.col("stream").startswith("__")
    component = (*_JOB, "component")
    executing = past.where(labelled(_EXECUTED) & own).select(*component).distinct()
    emitted = (
        past.where(labelled(_EMITTED) & own)
        .alias("row")
        .join(executing.alias("executing"), all_same(component, "row", "executing"), "left_anti")
        .groupBy(*component, "stream", "step_start_us")
        .agg(*_added(emitted="total"))
    )
    alive = (
        _alive(past)
        .groupBy(*_JOB, "step_us", "step_start_us")
        .agg(f.sum("alive_us").alias("alive_us"))
    )
    streams = emitted.select(*component, "stream").distinct()
    every = streams.alias("stream").join(
        alive.alias("alive"), all_same(_JOB, "stream", "alive"), "inner"
    )
    grid = every.select(
        *(f"stream.{name}" for name in (*component, "stream")),
        *(f"alive.{name}" for name in ("step_us", "step_start_us", "alive_us")),
    )
    return (
        grid.alias("grid")
        .join(
            emitted.alias("found"),
            all_same((*component, "stream", "step_start_us"), "grid", "found"),
            "left",
        )
        .select(
            *(f"grid.{name}" for name in (*component, "stream")),
            *_step_columns("grid"),
            f.coalesce("found.emitted", f.lit(0)).alias("emitted"),
            "grid.alive_us",
        )
    )


def backpressure_time(samples: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """For how long of each stretch any task held its senders back, in whole minutes.

    A bucket longer than a minute counts as a whole.

    Returns:
        `cluster`, `topology`, `plan_id`, and `pressed_us`.
    """
    rows = readings(near(samples, needed_spans(stretches), stretches), frozenset({PRESSED}))
    job = (*_JOB, "plan_id")
    minute = f.expr(f"start_us - PMOD(start_us, {MINUTE_US}L)")
    return (
        within(rows.where(f.col("value") > 0), stretches)
        .select(*job, minute.alias("minute_us"), "bucket_us")
        .groupBy(*job, "minute_us")
        .agg(f.max("bucket_us").alias("bucket_us"))
        .groupBy(*job)
        .agg(f.sum(f.greatest("bucket_us", f.lit(MINUTE_US))).alias("pressed_us"))
    )


def _alive(rows: DataFrame) -> DataFrame:
    """For how long workers were known, by plan and step."""
    step = (*_JOB, "plan_id", "step_us", "step_start_us")
    return (
        rows.where(labelled([HEARTBEATS]))
        .groupBy(*step, "component", *_WHO)
        .agg(f.sum("span_us").alias("alive_us"))
        .groupBy(*step)
        .agg(
            f.max("alive_us").alias("alive_us"),
            f.min("alive_us").alias("least_alive_us"),
        )
    )


def _executors(plans: DataFrame) -> DataFrame:
    """Executors of each operator under each plan; a plan that comes back counts once."""
    key = (*_JOB, "plan_id", "component")
    return (
        plans.select(*_JOB, "plan_id", f.explode("executors").alias("one"))
        .select(*_JOB, "plan_id", "one.component", "one.first_task")
        .distinct()
        .groupBy(*key)
        .agg(f.count(f.lit(1)).cast("int").alias("executors"))
    )


def _added(*names: str, **renamed: str) -> list[Column]:
    whole = {**{name: name for name in names}, **renamed}
    return [f.sum(name).alias(alias) for alias, name in whole.items()]


def _step_columns(frame: str) -> tuple[Column, Column]:
    return (
        f.timestamp_micros(f"{frame}.step_start_us").alias("step_start"),
        (f.col(f"{frame}.step_us") / f.lit(float(MICROSECONDS))).alias("step_seconds"),
    )
