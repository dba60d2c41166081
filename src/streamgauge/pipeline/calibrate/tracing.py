"""What traces add: how often each key came, and how long each execution took."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.bins import bin_number
from streamgauge.pipeline.calibrate.scoping import assigned, during
from streamgauge.pipeline.calibrate.stretches import Stretch

# Keys of a stream that are told apart; the rest is one number.
MOST_KEYS = 10_000

_JOB = ("cluster", "topology", "plan_id")
_TIMES = ("arrived_ns", "started_ns", "finished_ns")


def traced_hops(traces: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """The hops of all roots that were emitted in a stretch, each once.

    Paths of one root share their first hops. A hop is the same when root, place on the path, task
    and times are.

    Returns:
        `cluster`, `topology`, `plan_id`, `component`, `task`, `stream`, `source_component` (of the
        hop before; nothing at the source), `key`, and the hop's times.
    """
    start = f.unix_micros("started_at")
    inside = (f.col("start_us") >= f.col("from_us")) & (f.col("start_us") < f.col("to_us"))
    nowhere = f.lit(None).cast("string")
    near = traces.where(during("started_at", stretches)).select(
        *_JOB,
        nowhere.alias("node"),
        nowhere.alias("machine"),
        "root",
        start.alias("start_us"),
        "hops",
    )
    hops = assigned(near, stretches, inside).select(
        *_JOB, "root", "start_us", f.posexplode(_with_sources()).alias("place", "hop")
    )
    once = hops.select(*_JOB, "root", "start_us", "place", "hop.*").distinct()
    return once.select(*_JOB, "component", "task", "stream", "source_component", "key", *_TIMES)


def _with_sources() -> Column:
    """The hops, each with the component of the one before."""
    hops = f.col("hops")
    return f.transform(
        hops,
        lambda hop, place: f.struct(
            *(hop[name].alias(name) for name in ("component", "task", "stream", "key", *_TIMES)),
            f.get(hops, place - 1)["component"].alias("source_component"),
        ),
    )


def key_counts(hops: DataFrame, *, most: int = MOST_KEYS) -> DataFrame:
    """How often each key came, by stream and who received it.

    Args:
        hops: As `traced_hops` gives them.
        most: Keys of a stream and receiver that are told apart: the most frequent ones, of equally
            frequent ones the first as texts.

    Returns:
        `cluster`, `topology`, `plan_id`, `source_component`, `stream`, `component`, `key`, `tuples`
        and `keys`, which is one; the row of all others has no key and says how many they are.
    """
    stream = (*_JOB, "source_component", "stream", "component")
    counted = (
        hops.where(f.col("key").isNotNull() & f.col("stream").isNotNull())
        .groupBy(*stream, "key")
        .agg(f.count(f.lit(1)).alias("tuples"))
    )
    order = Window.partitionBy(*stream).orderBy(f.desc("tuples"), "key")
    frame = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = f.row_number().over(frame) <= f.lit(most)
    return (
        counted.select("*", told.alias("told"))
        .select(*stream, f.when(f.col("told"), f.col("key")).alias("key"), "tuples")
        .groupBy(*stream, "key")
        .agg(f.sum("tuples").alias("tuples"), f.count(f.lit(1)).alias("keys"))
    )


def service_times(hops: DataFrame) -> DataFrame:
    """Histograms of execution times by the clock, for where agents recorded none.

    Returns:
        `cluster`, `topology`, `plan_id`, `component`, `task`, `stream`, `source_component`, `bin`,
        `observations`, and their `total_ns` and `squares_ns` exactly. The first hop, which has
        neither stream nor source, is the time that a source took for its tuple.
    """
    series = (*_JOB, "component", "task", "stream", "source_component", "bin")
    spent = hops.select("*", (f.col("finished_ns") - f.col("started_ns")).alias("spent_ns"))
    exact = f.col("spent_ns").cast("decimal(19,0)")
    return (
        spent.select("*", bin_number("spent_ns").alias("bin"))
        .groupBy(*series)
        .agg(
            f.count(f.lit(1)).alias("observations"),
            f.sum(exact).cast("decimal(38,0)").alias("total_ns"),
            f.sum(exact * exact).cast("decimal(38,0)").alias("squares_ns"),
        )
    )
