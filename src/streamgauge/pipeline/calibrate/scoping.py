"""Which samples belong to which stretch: literal filters for the scan, and one broadcast join.

Samples of nodes and machines belong to no topology. They are counted once for every topology whose
plan uses them, under its name and plan; being few, they are always read, whatever days are cached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.pipeline.calibrate.block_lengths import (
    BLOCK_SECONDS,
    BUCKETS_PER_BLOCK,
    MICROSECONDS,
)
from streamgauge.pipeline.calibrate.columns import block_start_us, same, selected
from streamgauge.pipeline.calibrate.stretches import Stretch

# More of either would make filters that cost more than they save.
MOST_SPANS = 16
MOST_TOPOLOGIES = 8

_SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("level", pa.string()),
        ("name", pa.string()),
        ("topology", pa.string()),
        ("plan_id", pa.string()),
        ("from_us", pa.int64()),
        ("to_us", pa.int64()),
        # Blocks that end by then are held as a whole.
        ("blocks_to_us", pa.int64()),
    ]
)
_NEVER = 2**62

Span = tuple[int, int]
DAY_US = 86_400 * MICROSECONDS
_LONGEST_US = BLOCK_SECONDS[-1] * MICROSECONDS
EPOCH_DAY = date(1970, 1, 1)


def stretch_frame(session: SparkSession, stretches: Iterable[Stretch]) -> DataFrame:
    """The stretches by whatever names a sample of them: topology, node or machine."""
    rows = [
        (
            one.cluster,
            level,
            name,
            one.topology,
            one.plan_id,
            one.from_us,
            one.to_us,
            _NEVER if one.is_last and level == "topology" else one.to_us,
        )
        for one in stretches
        for level, names in (
            ("topology", (one.topology,)),
            ("node", one.nodes),
            ("machine", one.machines),
        )
        for name in names
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in _SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=_SCHEMA))


def assigned(rows: DataFrame, stretches: Iterable[Stretch], inside: Column) -> DataFrame:
    """The rows that lie inside a stretch, once for each, under its topology and plan.

    Args:
        rows: With `cluster`, `topology`, `plan_id`, `node` and `machine`.
        stretches: One topology has one stretch.
        inside: What must hold of the row and the stretch's `from_us`, `to_us` and `blocks_to_us`.

    Returns:
        The rows with `named` besides: whether they named their plan themselves.
    """
    frame = stretch_frame(rows.sparkSession, stretches)
    level = (
        f.when(f.col("row.topology").isNotNull(), "topology")
        .when(f.col("row.node").isNotNull(), "node")
        .otherwise("machine")
    )
    name = f.coalesce("row.topology", "row.node", "row.machine")
    unnamed = f.col("row.plan_id").isNull()
    matches = (
        same("cluster", "row", "stretch")
        & (level == f.col("stretch.level"))
        & (name == f.col("stretch.name"))
        & (unnamed | (f.col("row.plan_id") == f.col("stretch.plan_id")))
    )
    taken = {name: f.col(f"stretch.{name}") for name in ("topology", "plan_id")}
    return (
        rows.alias("row")
        .join(f.broadcast(frame).alias("stretch"), matches & inside, "inner")
        .select(
            *selected(rows.columns, taken, "row"),
            (~unnamed).alias("named"),
        )
    )


def within(
    rows: DataFrame, stretches: Iterable[Stretch], *, cached: Collection[date] = ()
) -> DataFrame:
    """The buckets that lie in a stretch as a whole, and that no cached block holds.

    Args:
        rows: With `start_us`, `bucket_us` and `block_us`, and what `assigned` needs.
        stretches: Which ones.
        cached: Days whose blocks are known already.
    """
    start = f.col("start_us")
    inside = (start >= f.col("from_us")) & (start + f.col("bucket_us") <= f.col("to_us"))
    if cached:
        held = holds_block(block_start_us(), f.col("block_us")) & _on(start, cached)
        inside &= ~(held & f.col("row.topology").isNotNull())
    return assigned(rows, stretches, inside)


def holds_block(block_start: Column, block: Column) -> Column:
    """Whether a stretch holds a block and all buckets that begin in it.

    A bucket is at most a fifth as long as its block, unless that lasts a day. The last of what was
    recorded ends when the stretch does.
    """
    overhang = f.when(block == f.lit(_LONGEST_US), block).otherwise(
        f.expr(f"block_us DIV {BUCKETS_PER_BLOCK}")
    )
    end = block_start + block + overhang
    return (block_start >= f.col("from_us")) & (end <= f.col("blocks_to_us"))


def _overhang_us(block_us: int) -> int:
    """By how much the last bucket of a block may end after it."""
    return block_us if block_us == _LONGEST_US else block_us // BUCKETS_PER_BLOCK


def _on(start: Column, days: Collection[date]) -> Column:
    midnights = [(day - EPOCH_DAY).days * DAY_US for day in sorted(days)]
    return (start - f.pmod(start, f.lit(DAY_US))).isin(*midnights)


def needed_spans(
    stretches: Iterable[Stretch], *, cached: Collection[date] = (), look_back_us: int = 0
) -> list[Span]:
    """The times that samples are needed of, in microseconds; at most `MOST_SPANS`.

    Args:
        stretches: Which are wanted.
        cached: Days whose whole blocks are known: only edges are needed of those.
        look_back_us: How much is needed before each.
    """
    wanted: list[Span] = []
    for one in stretches:
        edges = _edges(one)
        for day, start, end in _by_day(one.from_us, one.to_us):
            if day not in cached:
                wanted.append((start, end))
                continue
            cut = ((max(start, first), min(end, last)) for first, last in edges)
            wanted += [(first, last) for first, last in cut if first < last]
    return _merged([(start - look_back_us, end) for start, end in wanted])


def _edges(stretch: Stretch) -> list[Span]:
    """The times of a stretch that lie in blocks which it does not hold as a whole."""
    start, end = stretch.from_us, stretch.to_us
    lengths = [
        seconds * MICROSECONDS for seconds in BLOCK_SECONDS if seconds <= stretch.block_seconds
    ]
    edges = [(start, start - start % length + length) for length in lengths if start % length]
    if not stretch.is_last:
        ends = (end - length - _overhang_us(length) for length in lengths)
        firsts = (last - last % length for last, length in zip(ends, lengths, strict=True))
        edges += [(first, end) for first in firsts]
    return edges


def near(
    samples: DataFrame,
    spans: Sequence[Span],
    stretches: Sequence[Stretch],
    *,
    hosts: Sequence[Span] | None = None,
) -> DataFrame:
    """The samples around some stretches, by filters that reach the scan.

    Args:
        samples: With the columns of the table.
        spans: Times.
        stretches: Of these topologies, and their nodes and machines.
        hosts: Times of nodes and machines, where others than those of topologies.
    """
    inside = _during("bucket_start", spans)
    days = days_of(spans)
    if hosts is not None:
        inside |= f.col("topology").isNull() & _during("bucket_start", hosts)
        days = days_of([*spans, *hosts])
    found = samples.where(inside).where(f.col("date").isin(*days))
    names = sorted({one.topology for one in stretches})
    if len(names) <= MOST_TOPOLOGIES:
        found = found.where(f.col("topology").isNull() | f.col("topology").isin(*names))
    return found


def during(column: str, stretches: Iterable[Stretch]) -> Column:
    """Whether a time lies near any of the stretches."""
    return _during(column, needed_spans(stretches))


def days_of(spans: Iterable[Span]) -> list[date]:
    """The UTC days that the spans touch."""
    return sorted({day for start, end in spans for day, _, _ in _by_day(start, end)})


def whole_days(spans: Iterable[Span]) -> list[Span]:
    """The days that the spans touch, as spans."""
    starts = [(day - EPOCH_DAY).days * DAY_US for day in days_of(spans)]
    return _merged([(start, start + DAY_US) for start in starts])


def moment_of(microseconds: int) -> datetime:
    """A time with its zone."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def _during(column: str, spans: Iterable[Span]) -> Column:
    return _any(_bounded(column, start, end) for start, end in spans)


def _bounded(column: str, start: int, end: int) -> Column:
    time = f.col(column)
    return (time >= f.lit(moment_of(start))) & (time < f.lit(moment_of(end)))


def _any(conditions: Iterable[Column]) -> Column:
    found: Column | None = None
    for condition in conditions:
        found = condition if found is None else found | condition
    return f.lit(False) if found is None else found


def _by_day(start: int, end: int) -> Iterable[tuple[date, int, int]]:
    for number in range(start // DAY_US, -(-end // DAY_US)):
        day = EPOCH_DAY + timedelta(days=number)
        yield day, max(start, number * DAY_US), min(end, (number + 1) * DAY_US)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping ones as one; then those with the smallest gaps, until they are few."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    while len(found) > MOST_SPANS:
        gap = min(range(1, len(found)), key=lambda place: found[place][0] - found[place - 1][1])
        found[gap - 1 : gap + 1] = [(found[gap - 1][0], found[gap][1])]
    return found
