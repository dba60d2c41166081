"""From samples to partial sums: for stretches, for whole days, and for stretches from whole days.

A stretch's sums are the same whether they come from samples or from cached days: a block has the
same rows either way, and what a stretch cuts off is summed from samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, timedelta

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.block_lengths import MICROSECONDS
from streamgauge.pipeline.calibrate.blocks import sums_by_block
from streamgauge.pipeline.calibrate.cleaning import (
    exact_metrics,
    readings,
    without_superfluous,
)
from streamgauge.pipeline.calibrate.columns import (
    PARTIAL_COLUMNS,
    labelled,
    same,
    selected,
)
from streamgauge.pipeline.calibrate.counters import deltas
from streamgauge.pipeline.calibrate.coverage import heard, seated, with_seats
from streamgauge.pipeline.calibrate.scoping import (
    assigned,
    holds_block,
    near,
    needed_spans,
    whole_days,
    within,
)
from streamgauge.pipeline.calibrate.stretches import Stretch
from streamgauge.pipeline.calibrate.wanted import (
    COUNTERS,
    HEARTBEATS,
    OF_EXECUTORS_TOO,
    STAND_INS,
    WANTED,
)
from streamgauge.pipeline.estimation.blocks import common_block_seconds

_STAND_INS = frozenset(metric.label for metric in STAND_INS)

Transform = Callable[[DataFrame], DataFrame]


def partials(
    samples: DataFrame,
    stretches: Sequence[Stretch],
    *,
    cached: Collection[date] = (),
    labels: Collection[str] = WANTED,
    all_beat: bool = False,
) -> DataFrame:
    """Partial sums of stretches, in the columns of the table but those of its writer.

    Besides what was measured, everyone in a worker has the worker's heartbeats, of no total: who is
    silent was there nevertheless.

    Args:
        samples: The table: all days that the stretches touch, and the time before them that the
            engine's counters are compared with.
        stretches: One a topology.
        cached: Days whose whole blocks are left to `combined`.
        labels: Metrics that the lake holds; what is not there is not looked for.
        all_beat: Whether all workers are known to send heartbeats, so that nobody need be heard.
    """
    spans = needed_spans(stretches, cached=cached)
    earlier = needed_spans(stretches, cached=cached, look_back_us=look_back_us(stretches))
    hosts = needed_spans(stretches) if cached else None

    def scope(rows: DataFrame) -> DataFrame:
        return within(rows, stretches, cached=cached)

    def seats(rows: DataFrame) -> DataFrame:
        return with_seats(rows, stretches)

    return _sums(
        near(samples, spans, stretches, hosts=hosts),
        near(samples, earlier, stretches),
        near(samples, whole_days(earlier), stretches),
        scope=scope,
        seats=seats,
        labels=WANTED & frozenset(labels),
        all_beat=all_beat,
    )


def look_back_us(stretches: Iterable[Stretch]) -> int:
    """How long before a sample the one may be that counters are compared with."""
    return max((one.block_seconds for one in stretches), default=0) * MICROSECONDS


def day_partials(
    samples: DataFrame,
    days: Collection[date],
    *,
    labels: Collection[str] = WANTED,
    all_beat: bool = False,
) -> DataFrame:
    """Partial sums of whole days, whatever topologies ran then, to be kept.

    Plans are as the samples name them, nothing where they name none; so nobody has the heartbeats
    of its worker.

    Args:
        samples: The table: those days, and the day before each.
        days: UTC days.
        labels: Metrics that the lake holds, or those that are wanted.
        all_beat: Whether all workers are known to send heartbeats.
    """
    wanted = sorted(set(days))
    earlier = sorted({*wanted, *(day - timedelta(days=1) for day in wanted)})

    def of(some: Sequence[date]) -> Transform:
        return lambda rows: rows.where(f.col("date").isin(*some))

    whole = samples.transform(of(earlier))
    return _sums(
        samples.transform(of(wanted)).where(f.col("topology").isNotNull()),
        whole,
        whole,
        scope=of(wanted),
        labels=WANTED & frozenset(labels),
        all_beat=all_beat,
    )


def combined(kept: DataFrame, fresh: DataFrame | None, stretches: Sequence[Stretch]) -> DataFrame:
    """Partial sums of stretches from cached days, and from samples where days were cut.

    Args:
        kept: What `day_partials` gave for the cached days, and for no other.
        fresh: What `partials` gives for the stretches, those days being cached; nothing where days
            were not cut.
        stretches: The same for both.
    """
    rows = kept.where(f.col("topology").isNotNull()).select(
        *PARTIAL_COLUMNS,
        f.unix_micros("block_start").alias("start_us"),
        f.rint(f.col("block_seconds") * f.lit(float(MICROSECONDS))).cast("long").alias("block_us"),
    )
    inside = holds_block(f.col("start_us"), f.col("block_us"))
    chosen = assigned(rows, stretches, inside).select(*PARTIAL_COLUMNS)
    none = f.lit(0.0)
    zero = {"total": none, "squares": none, "observations": f.lit(0).cast("long")}
    seats = seated(chosen, stretches).select(*selected(PARTIAL_COLUMNS, zero))
    sums = chosen.unionByName(seats)
    return sums if fresh is None else sums.unionByName(fresh.select(*PARTIAL_COLUMNS))


def subject_partials(sums: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """Partial sums as estimation reads them: with the block length of all figures.

    What a task executed comes for its executor too, as of no task: it is multiplied with CPU time.

    Args:
        sums: Of the stretches.
        stretches: One a topology.
    """
    commons = pa.table(
        {
            "cluster": pa.array([one.cluster for one in stretches], pa.string()),
            "topology": pa.array([one.topology for one in stretches], pa.string()),
            "seconds": pa.array([_common_block(one) for one in stretches], pa.float64()),
        }
    )
    common = sums.sparkSession.createDataFrame(commons)
    matches = same("cluster", "sum", "common") & same("topology", "sum", "common")
    known = (
        sums.alias("sum")
        .join(f.broadcast(common).alias("common"), matches, "left")
        .select(
            *(f"sum.{name}" for name in PARTIAL_COLUMNS),
            f.col("common.seconds").alias("common_block_seconds"),
        )
    )
    of_executor = labelled(OF_EXECUTORS_TOO) & f.col("executor").isNotNull()
    nobody = f.lit(None).cast("int")
    tasks = f.when(of_executor, f.array("task", nobody)).otherwise(f.array("task"))
    return known.withColumn("task", f.explode(tasks))


def _common_block(stretch: Stretch) -> float:
    return common_block_seconds(float(stretch.block_seconds), stretch.from_us, stretch.to_us - 1)


def _sums(
    wanted: DataFrame,
    earlier: DataFrame,
    days: DataFrame,
    *,
    scope: Transform,
    labels: frozenset[str],
    all_beat: bool,
    seats: Transform | None = None,
) -> DataFrame:
    """All partial sums of some samples.

    Args:
        wanted: The samples.
        earlier: Those and the ones before, which counters are compared with.
        days: All samples of the days of both.
        scope: Leaves the readings that are wanted.
        labels: Which metrics.
        all_beat: Whether nobody need be heard.
        seats: Gives heartbeats of workers to whoever is in them.
    """
    exact = exact_metrics(days)

    def of(source: DataFrame, some: frozenset[str]) -> DataFrame:
        rows = readings(source, some)
        return without_superfluous(rows, exact) if some & _STAND_INS else rows

    rows = of(wanted, labels - COUNTERS)
    beats = readings(wanted, labels & {HEARTBEATS})
    if labels & COUNTERS:
        rows = rows.unionByName(deltas(of(earlier, labels & COUNTERS)))
    if not all_beat:
        rows, beats = rows.unionByName(heard(days)), beats.unionByName(heard(days))
    found = scope(rows)
    if seats is not None:
        found = found.unionByName(seats(scope(beats)))
    return sums_by_block(found)
