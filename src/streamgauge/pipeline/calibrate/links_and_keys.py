"""What profiles hold beside figures: latency between nodes from probes, and keys from traces.

Rows of different shapes travel to their topology as JSON.

A record of probes has the least, mean and greatest of so many times. They count as one probe of the
least, one of the greatest, and the others all alike, such that the mean is right: (n·mean − least −
greatest)/(n − 2). One probe has the mean, two are the least and the greatest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from streamgauge.lake.histogram import BINS_PER_DOUBLING, EDGES, LAST_BIN
from streamgauge.lake.records import LinkKind
from streamgauge.lake.schemas import LINKS, TRACES
from streamgauge.pipeline.calibrate.lake_parts import Pinned
from streamgauge.pipeline.calibrate.periods import StablePeriod, instant
from streamgauge.pipeline.estimation.assembly import LinkCounts
from streamgauge.topology.topology import StreamKey

# Keys of a stream that are told apart; the rest is one number.
MOST_KEYS = 10_000

_JOB = ("cluster", "topology", "plan_id")
_LINK = (*_JOB, "source_node", "target_node", "kind")
_TIMES = ("least_ns", "mean_ns", "most_ns")
_HOP_TIMES = ("arrived_ns", "started_ns", "finished_ns")
_PERIODS = pa.schema(
    [
        ("cluster", pa.string()),
        ("topology", pa.string()),
        ("plan_id", pa.string()),
        ("nodes", pa.list_(pa.string())),
        ("from_us", pa.int64()),
        ("to_us", pa.int64()),
    ]
)
Row = Mapping[str, Any]


def extra_rows(pinned: Pinned, periods: Sequence[StablePeriod]) -> DataFrame | None:
    """Cluster, topology, kind and JSON of what was probed and traced; nothing where nothing was."""
    frames: dict[str, DataFrame] = {}
    if pinned.rows(LINKS.name):
        links = links_within(pinned.frame(LINKS.name), periods)
        skews = clock_skews(links)
        frames |= {"skew": skews, "link": link_histograms(corrected(links, skews))}
    if pinned.rows(TRACES.name):
        frames["key"] = key_counts(traced_hops(pinned.frame(TRACES.name), periods))
    told = [_told(kind, frame) for kind, frame in frames.items()]
    return reduce(DataFrame.unionByName, told) if told else None


def _told(kind: str, rows: DataFrame) -> DataFrame:
    plain = [
        f.unix_micros(name).alias(name)
        if dict(rows.dtypes)[name] == "timestamp"
        else f.col(name).cast("string").alias(name)
        if dict(rows.dtypes)[name].startswith("decimal")
        else f.col(name)
        for name in rows.columns
        if name not in _JOB[:2]
    ]
    return rows.select(
        *_JOB[:2],
        f.lit(kind).alias("kind"),
        f.to_json(f.struct(*plain)).cast("binary").alias("payload"),
    )


def _during(column: str, periods: Sequence[StablePeriod]) -> Column:
    """A filter that reaches the files: no earlier than the first period and no later than any."""
    first, last = min(one.from_us for one in periods), max(one.to_us for one in periods)
    time = f.col(column)
    return (time >= f.lit(instant(first))) & (time < f.lit(instant(last)))


def _period_frame(like: DataFrame, periods: Sequence[StablePeriod]) -> DataFrame:
    rows = [
        {
            "cluster": one.cluster,
            "topology": one.topology,
            "plan_id": one.plan_id,
            "nodes": list(one.nodes),
            "from_us": one.from_us,
            "to_us": one.to_us,
        }
        for one in periods
    ]
    return like.sparkSession.createDataFrame(pa.Table.from_pylist(rows, schema=_PERIODS))


def _same(name: str, left: str, right: str) -> Column:
    """Whether a column of two aliased frames is the same, nulls being equal to nulls."""
    return f.col(f"{left}.{name}").eqNullSafe(f.col(f"{right}.{name}"))


def links_within(links: DataFrame, periods: Sequence[StablePeriod]) -> DataFrame:
    """The answered probes in a period between nodes of its plan, once for each topology."""
    measured = f.unix_micros("link.measured_at")
    nodes = _period_frame(links, periods).select("*", f.explode("nodes").alias("node"))
    matches = (
        _same("cluster", "link", "period")
        & (f.col("link.source_node") == f.col("period.node"))
        & f.array_contains("period.nodes", f.col("link.target_node"))
        & (measured >= f.col("period.from_us"))
        & (measured < f.col("period.to_us"))
    )
    return (
        links.where(_during("measured_at", periods) & (f.col("received") > 0))
        .alias("link")
        .join(f.broadcast(nodes).alias("period"), matches, "inner")
        .select(
            *(f"period.{name}" for name in _JOB),
            *(f"link.{name}" for name in ("source_node", "target_node", "kind", "received")),
            *(f"link.{name}" for name in _TIMES),
        )
    )


def clock_skews(links: DataFrame) -> DataFrame:
    """How far the clocks of two nodes are apart, where one-way probes went both ways.

    The least time each way is what the way takes, which is the same there and back; so half their
    difference is the clocks'.

    Args:
        links: As `links_within` gives them.

    Returns:
        `cluster`, `topology`, `plan_id`, `node`, `other_node` (the later name), and `skew_ns`: how
        far the other's clock is ahead, cut to whole nanoseconds.
    """
    forward = f.col("source_node") < f.col("target_node")
    least = f.col("least_ns")
    both = (
        links.where(f.col("kind") == f.lit(LinkKind.ONE_WAY.value))
        .select(
            *_JOB,
            f.least("source_node", "target_node").alias("node"),
            f.greatest("source_node", "target_node").alias("other_node"),
            f.when(forward, least).alias("there_ns"),
            f.when(~forward, least).alias("back_ns"),
        )
        .groupBy(*_JOB, "node", "other_node")
        .agg(f.min("there_ns").alias("there_ns"), f.min("back_ns").alias("back_ns"))
    )
    return both.where(f.col("there_ns").isNotNull() & f.col("back_ns").isNotNull()).select(
        *_JOB, "node", "other_node", f.expr("(there_ns - back_ns) DIV 2").alias("skew_ns")
    )


def corrected(links: DataFrame, skews: DataFrame) -> DataFrame:
    """The links with one-way times as one clock would have shown them, and none below zero."""
    joined = links.alias("link").join(
        f.broadcast(skews).alias("skew"),
        _same("cluster", "link", "skew")
        & _same("topology", "link", "skew")
        & _same("plan_id", "link", "skew")
        & (f.least("link.source_node", "link.target_node") == f.col("skew.node"))
        & (f.greatest("link.source_node", "link.target_node") == f.col("skew.other_node")),
        "left",
    )
    forward = f.col("link.source_node") < f.col("link.target_node")
    one_way = f.col("link.kind") == f.lit(LinkKind.ONE_WAY.value)
    ahead = f.coalesce("skew.skew_ns", f.lit(0))
    error = f.when(one_way, f.when(forward, ahead).otherwise(-ahead)).otherwise(0)
    return joined.select(
        *(f"link.{name}" for name in (*_LINK, "received")),
        *(
            f.greatest(f.col(f"link.{name}") - error, f.lit(0).cast("long")).alias(name)
            for name in _TIMES
        ),
    )


def link_histograms(links: DataFrame) -> DataFrame:
    """Probes by bin of nanoseconds; round trips there and back, as `kind` says.

    Args:
        links: Corrected.

    Returns:
        `cluster`, `topology`, `plan_id`, `source_node`, `target_node`, `kind`, `bin`, `probes`,
        their `total_ns` exactly, and `measurements`: records, each in the bin of its least time.
    """
    part = f.explode(_parts())
    return (
        links.select(*_LINK, part.alias("part"))
        .select(*_LINK, "part.*")
        .where(f.col("probes") > 0)
        .select("*", bin_number("time_ns").alias("bin"))
        .groupBy(*_LINK, "bin")
        .agg(
            f.sum("probes").alias("probes"),
            f.sum(f.col("time_ns").cast("decimal(19,0)") * f.col("probes").cast("decimal(10,0)"))
            .cast("decimal(38,0)")
            .alias("total_ns"),
            f.sum("records").alias("measurements"),
        )
    )


def _parts() -> Column:
    """A record as its least probe, its greatest, and those between."""
    least, mean, most = (f.col(name) for name in _TIMES)
    count = f.col("received").cast("long")
    rest = f.expr(
        "mean_ns + (2 * mean_ns - least_ns - most_ns) DIV GREATEST(CAST(received AS BIGINT) - 2, 1)"
    )
    between = f.greatest(least, f.least(most, rest))
    one, none = f.lit(1).cast("long"), f.lit(0).cast("long")

    def part(time: Column, probes: Column, records: Column) -> Column:
        return f.struct(time.alias("time_ns"), probes.alias("probes"), records.alias("records"))

    return f.when(count == one, f.array(part(mean, one, one))).otherwise(
        f.array(part(least, one, one), part(most, one, none), part(between, count - f.lit(2), none))
    )


def skew_notes(skews: Iterable[tuple[str, str, int]], bucket_seconds: float) -> list[str]:
    """What to say of clocks that are further apart than half a bucket.

    Args:
        skews: Two nodes, and how far the second's clock is ahead, in nanoseconds.
        bucket_seconds: How long a bucket is.
    """
    return [
        f"the clock of {other} is {skew_ns / 1e9:+.3g} s off that of {node}, more than half a"
        f" bucket of {bucket_seconds:g} s: buckets of the two do not match"
        for node, other, skew_ns in sorted(skews)
        if 2 * abs(skew_ns) > bucket_seconds * 1e9
    ]


_EDGES = ", ".join(f"{edge!r}D" for edge in EDGES)


def bin_number(column: str) -> Column:
    """The bin of a column's numbers, which are not negative: exactly `histogram.bin_of`.

    A logarithm may be off by its last digit, so that the bin it gives is held against its edges.
    """
    guess = (
        f"LEAST(GREATEST(CAST(FLOOR(LOG2({column}) * {BINS_PER_DOUBLING}) AS INT) + 1, 1),"
        f" {LAST_BIN})"
    )
    edges = f"ARRAY({_EDGES}, DOUBLE('Infinity'))"
    below = f"IF({column} < {edges}[{guess} - 1], 1, 0)"
    above = f"IF({column} >= {edges}[{guess}], 1, 0)"
    return f.expr(f"CASE WHEN {column} < 1 THEN 0 ELSE {guess} + {above} - {below} END").cast(
        "smallint"
    )


def traced_hops(traces: DataFrame, periods: Sequence[StablePeriod]) -> DataFrame:
    """The hops of all roots that were emitted in a period, each once.

    Paths of one root share their first hops. A hop is the same when root, place on the path, task
    and times are.

    Returns:
        `cluster`, `topology`, `plan_id`, `component`, `task`, `stream`, `source_component` (of the
        hop before; nothing at the source), `key`, and the hop's times.
    """
    start = f.unix_micros("trace.started_at")
    plan = f.col("trace.plan_id")
    matches = (
        _same("cluster", "trace", "period")
        & (f.col("trace.topology") == f.col("period.topology"))
        & (plan.isNull() | (plan == f.col("period.plan_id")))
        & (start >= f.col("period.from_us"))
        & (start < f.col("period.to_us"))
    )
    hops = (
        traces.where(_during("started_at", periods))
        .alias("trace")
        .join(f.broadcast(_period_frame(traces, periods)).alias("period"), matches, "inner")
        .select(
            *(f"period.{name}" for name in _JOB),
            "trace.root",
            start.alias("start_us"),
            f.posexplode(_with_sources()).alias("place", "hop"),
        )
    )
    once = hops.select(*_JOB, "root", "start_us", "place", "hop.*").distinct()
    names = ("component", "task", "stream", "source_component", "key")
    return once.select(*_JOB, *names, *_HOP_TIMES)


def _with_sources() -> Column:
    """The hops, each with the component of the one before."""
    hops = f.col("trace.hops")
    return f.transform(
        hops,
        lambda hop, place: f.struct(
            *(
                hop[name].alias(name)
                for name in ("component", "task", "stream", "key", *_HOP_TIMES)
            ),
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


def link_counts(rows: Iterable[Row]) -> Iterator[LinkCounts]:
    """Probes by link and kind."""
    links: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        key = (row["source_node"], row["target_node"], row["kind"])
        links.setdefault(key, []).append(row)
    for (source, target, kind), bins in sorted(links.items()):
        yield LinkCounts(
            source=source,
            target=target,
            kind=LinkKind(kind),
            total_ns=sum(int(one["total_ns"]) for one in bins),
            probes=sum(one["probes"] for one in bins),
            measurements=sum(one["measurements"] for one in bins),
            bins={one["bin"]: one["probes"] for one in bins},
        )


def counted_keys(rows: Iterable[Row]) -> tuple[dict[StreamKey, dict[str, int]], list[str]]:
    """Counts by stream, of the subscriber that saw most; and what to say of keys left out."""
    streams: dict[StreamKey, dict[str, list[Row]]] = {}
    for row in rows:
        key = StreamKey(row["source_component"], row["stream"])
        streams.setdefault(key, {}).setdefault(row["component"], []).append(row)
    counts: dict[StreamKey, dict[str, int]] = {}
    notes: list[str] = []
    for key, receivers in sorted(streams.items()):
        best = max(sorted(receivers), key=lambda one: sum(r["tuples"] for r in receivers[one]))
        chosen = receivers[best]
        counts[key] = {row["key"]: row["tuples"] for row in chosen if row.get("key") is not None}
        notes += [
            f"{row['keys']} rarer keys of {key} are left out, {row['tuples']} traced tuples"
            for row in chosen
            if row.get("key") is None
        ]
    return counts, notes


def parsed(payloads: Iterable[bytes]) -> list[Row]:
    """The rows of JSON texts."""
    return [json.loads(payload) for payload in payloads]
