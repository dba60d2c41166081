"""Sums of products by bucket: what regressions need, and sums alone cannot give.

Of a task: tuples executed by input stream and windows fired, each with each, and with what it
emitted by output stream. Of an executor: the same summed over its tasks, and its idle time, each
with each and with its CPU time. Times are whole microseconds here.

A block is cut into fifteen slots. No bucket is shorter than its slot, unless it is shorter than two
seconds; those that share a slot are added before they are multiplied. So a series is fifteen
numbers a block, which add up where they are read, and products are made once a block, not once a
bucket.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.block_lengths import MOST_FACTOR
from streamgauge.pipeline.calibrate.blocks import in_table_columns
from streamgauge.pipeline.calibrate.columns import OTHER, block_start_us

_EXECUTED, _TRIGGERS = Metric.EXECUTED.label, Metric.WINDOW_TRIGGERS.label
_EMITTED = Metric.EMITTED.label
_CPU, _IDLE = Metric.EXECUTOR_CPU.label, Metric.EXECUTOR_IDLE.label
FACTORS = frozenset({_EXECUTED, _TRIGGERS, _EMITTED, _CPU, _IDLE})
SLOTS = 15

_TIMES = (_CPU, _IDLE)
_EXPLAINED = (_EMITTED, _CPU)
_SUBJECT = ("cluster", "topology", "component", "task", "executor", "worker", "node")
_BLOCK = ("block_start_us", "block_us")
_SERIES = ("metric", "stream", "source_component")
# All rows of an operator's block come to one place; what follows needs no other shuffle.
_TOGETHER = ("cluster", "topology", "component", "block_start_us")
_NUMBERS = tuple(f"slot_{place}" for place in range(SLOTS))


def products_by_block(rows: DataFrame) -> DataFrame:
    """Sums of products, in the columns of the table of partial sums.

    A pair stands once. What explains comes before what is explained; of two that explain, the one
    whose metric, stream and source come first as texts, nothing being before anything. `buckets`
    and `observations` are slots in which both are there; `span_us` is left to plain sums.

    Args:
        rows: Readings of `FACTORS`; `named` may be among their columns.
    """
    plan = ["plan_id", *(["named"] if "named" in rows.columns else [])]
    factors = _of_executors_too(_vectors(rows, plan), plan).select(
        # Whoever sorts these compares numbers first.
        "block_start_us",
        "task",
        "block_us",
        *(name for name in _SUBJECT if name != "task"),
        f.struct(
            f.col("metric").isin(*_EXPLAINED).alias("explained"),
            *_SERIES,
            f.array(*_NUMBERS).alias("numbers"),
            f.greatest(*_NUMBERS).alias("most"),
            *plan,
        ).alias("factor"),
    )
    subject = [name for name in factors.columns if name != "factor"]
    gathered = factors.groupBy(*subject).agg(
        f.sort_array(f.collect_list("factor")).alias("factors")
    )
    # Where some name the plan and some do not, it is named.
    named = [f.array_max(f"factors.{name}").alias(name) for name in plan]
    pairs = gathered.select(*subject, *named, f.explode(_pairs()).alias("pair"))
    absent = {"queue": "string", "machine": "string", "source_task": "int", "bin": "smallint"}
    complete = pairs.where(f.col("pair.buckets") > 0).select(
        *subject,
        *plan,
        "pair.*",
        f.col("pair.buckets").cast("long").alias("observations"),
        f.lit(0).cast("long").alias("span_us"),
        *(f.lit(None).cast(kind).alias(name) for name, kind in absent.items()),
    )
    return in_table_columns(complete, total=f.col("total"))


def _vectors(rows: DataFrame, plan: list[str]) -> DataFrame:
    """Every series of a block as one number a slot; null where there is none."""
    number = f.when(
        f.col("metric").isin(*_TIMES), f.rint(f.col("value") / f.lit(1000.0))
    ).otherwise(f.col("value"))
    slotted = rows.select(
        *_SUBJECT,
        *plan,
        *_SERIES,
        block_start_us().alias("block_start_us"),
        "block_us",
        f.expr(f"PMOD(start_us, block_us) DIV (block_us DIV {SLOTS})").alias("slot"),
        number.alias("number"),
    ).where(f.col("number") < f.lit(MOST_FACTOR))
    whole = slotted.withColumn("number", f.col("number").cast("long"))
    return whole.groupBy(*_SUBJECT, *plan, *_SERIES, *_BLOCK).agg(
        *(
            f.expr(f"SUM(CASE WHEN slot = {place} THEN number END)").alias(name)
            for place, name in enumerate(_NUMBERS)
        )
    )


def _of_executors_too(vectors: DataFrame, plan: list[str]) -> DataFrame:
    """The vectors of tasks, and as of no task those of executors: sums over their tasks."""
    nobody = f.lit(None).cast("int")
    tasks = (
        f.when(f.col("metric").isin(*_TIMES), f.array(nobody))
        .when(f.col("metric") == f.lit(_EMITTED), f.array("task"))
        .otherwise(f.array("task", nobody))
    )
    rest = [name for name in vectors.columns if name != "task"]
    return (
        vectors.repartition(*_TOGETHER)
        .select(*rest, f.explode(tasks).alias("task"))
        .where(f.col("task").isNotNull() | f.col("executor").isNotNull())
        .groupBy(*_SUBJECT, *plan, *_SERIES, *_BLOCK)
        .agg(*(f.sum(name).alias(name) for name in _NUMBERS))
        .where(f.greatest(*_NUMBERS) < f.lit(int(MOST_FACTOR)))
    )


def _pairs() -> Column:
    """All pairs of factors that are in order, multiplied; what is explained comes last."""
    factors = f.col("factors")

    def with_later(one: Column, place: Column) -> Column:
        later = f.filter(
            factors,
            lambda other, at: (at == place) | ((at > place) & ~one["explained"]),
        )
        return f.transform(later, lambda other: _product(one, other))

    return f.flatten(f.transform(factors, with_later))


def _product(one: Column, other: Column) -> Column:
    """Two factors, the sum of their products, and the slots that both have."""
    exact = "decimal(38,0)"
    zero = f.lit(0).cast("long")
    # Fifteen products below 2^58 fit a long.
    small = one["most"].cast("double") * other["most"].cast("double") < f.lit(2.0**58)
    fast = f.zip_with(one["numbers"], other["numbers"], lambda a, b: a * b)
    slow = f.zip_with(
        one["numbers"],
        other["numbers"],
        lambda a, b: a.cast("decimal(19,0)") * b.cast("decimal(19,0)"),
    )
    total = f.when(
        small, f.aggregate(fast, zero, lambda sum_, p: sum_ + f.coalesce(p, zero)).cast(exact)
    ).otherwise(
        f.aggregate(
            slow,
            f.lit(0).cast(exact),
            lambda sum_, p: (sum_ + f.coalesce(p, f.lit(0).cast(exact))).cast(exact),
        )
    )
    both = f.zip_with(
        one["numbers"], other["numbers"], lambda a, b: (a.isNotNull() & b.isNotNull()).cast("int")
    )
    return f.struct(
        *(one[name].alias(name) for name in _SERIES),
        *(other[name].alias(label) for name, label in zip(_SERIES, OTHER, strict=True)),
        total.alias("total"),
        f.aggregate(both, f.lit(0), lambda sum_, there: sum_ + there).alias("buckets"),
    )
