"""What profiles hold beside figures, as rows that travel with the figures to their topology.

Each row names its topology and its kind, and has the rest as JSON: links, keys, rates of sources,
saturation and back-pressure are few and of different shapes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from streamgauge.lake.records import LinkKind
from streamgauge.lake.schemas import LINKS, PLANS, SAMPLES, TRACES
from streamgauge.pipeline.calibrate.columns import PARTIAL_COLUMNS
from streamgauge.pipeline.calibrate.day_cache import kept_days, kept_sums
from streamgauge.pipeline.calibrate.history import (
    HISTORY_LABELS,
    MOST_OBSERVATIONS,
    MOST_RATES,
    PRESSED,
    backpressure_time,
    saturation,
    source_rates,
    stepped,
    steps,
)
from streamgauge.pipeline.calibrate.partial_sums import day_partials
from streamgauge.pipeline.calibrate.probes import (
    clock_skews,
    corrected,
    link_histograms,
    links_within,
    skew_notes,
)
from streamgauge.pipeline.calibrate.sources import Pinned
from streamgauge.pipeline.calibrate.stretches import (
    Recorded,
    Stretch,
    beats_everywhere,
    moment,
    needed_labels,
)
from streamgauge.pipeline.calibrate.tracing import key_counts, traced_hops
from streamgauge.pipeline.estimation.assembly import Extras
from streamgauge.pipeline.estimation.links import LinkCounts
from streamgauge.profile.figures import Period, RateSeries, Saturation
from streamgauge.topology.topology import StreamKey

KIND, PAYLOAD = "extra", "payload"
_JOB = ("cluster", "topology")
_MINUTE = 60.0
_NANOSECONDS_PER_MICROSECOND = 1000
Row = Mapping[str, Any]


def extra_rows(
    pinned: Pinned,
    samples: DataFrame,
    stretches: Sequence[Stretch],
    held: Sequence[Recorded],
) -> DataFrame:
    """Everything beside figures: cluster, topology, kind and JSON."""
    past = stepped(_history(pinned, samples, held), steps(held, MOST_RATES)).persist()
    frames = {
        "rate": source_rates(past),
        "saturation": saturation(past, steps(held, MOST_OBSERVATIONS), pinned.frame(PLANS.name)),
    }
    if PRESSED in {one.metric for one in held}:
        frames["pressure"] = backpressure_time(samples, stretches)
    if pinned.rows(LINKS.name):
        links = links_within(pinned.frame(LINKS.name), stretches)
        skews = clock_skews(links)
        frames |= {"skew": skews, "link": link_histograms(corrected(links, skews))}
    if pinned.rows(TRACES.name):
        frames["key"] = key_counts(traced_hops(pinned.frame(TRACES.name), stretches))
    return reduce(DataFrame.unionByName, (_told(kind, one) for kind, one in frames.items()))


def _told(kind: str, rows: DataFrame) -> DataFrame:
    plain = [
        f.unix_micros(name).alias(name)
        if dict(rows.dtypes)[name] == "timestamp"
        else f.col(name).cast("string").alias(name)
        if dict(rows.dtypes)[name].startswith("decimal")
        else f.col(name)
        for name in rows.columns
        if name not in _JOB
    ]
    return rows.select(*_JOB, f.lit(kind).alias(KIND), f.to_json(f.struct(*plain)).alias(PAYLOAD))


def _history(pinned: Pinned, samples: DataFrame, held: Sequence[Recorded]) -> DataFrame:
    """Sums of whole days, of all that was ever recorded: kept ones, and others made for it."""
    days = sorted({file.date for file in pinned.snapshots[SAMPLES.name].files})
    kept = kept_days(pinned, days)
    missing: list[date] = [day for day in days if day not in kept]
    labels = HISTORY_LABELS & needed_labels(held)
    parts = []
    if kept:
        names = {one.topology for one in held}
        old = kept_sums(pinned, kept).select(*PARTIAL_COLUMNS)
        parts.append(old.where(f.col("topology").isin(*names)) if len(names) == 1 else old)
    if missing or not kept:
        everywhere = beats_everywhere(held)
        parts.append(day_partials(samples, missing, labels=labels, all_beat=everywhere))
    return reduce(DataFrame.unionByName, parts)


def extras_of(
    rows: Iterable[tuple[str, str]], stretch: Stretch, bucket_seconds: float, seed: int
) -> Extras:
    """The extras of one topology from the kinds and payloads of its rows."""
    found: dict[str, list[Row]] = {}
    for kind, payload in rows:
        found.setdefault(kind, []).append(json.loads(payload))
    skews = ((one["node"], one["other_node"], one["skew_ns"]) for one in found.get("skew", ()))
    keys, more = _keys(found.get("key", ()))
    return Extras(
        links=tuple(_links(found.get("link", ()))),
        keys=keys,
        sources=_series(found.get("rate", ())),
        saturation=_saturation(found.get("saturation", ())),
        backpressure_minutes=_pressed(found.get("pressure", ()), stretch),
        period=Period(start=moment(stretch.from_us), end=moment(stretch.to_us)),
        seed=seed,
        notes=(*stretch.notes, *skew_notes(skews, bucket_seconds), *more),
    )


def _links(rows: Iterable[Row]) -> Iterator[LinkCounts]:
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


def _keys(rows: Iterable[Row]) -> tuple[dict[StreamKey, dict[str, int]], list[str]]:
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


def _series(rows: Iterable[Row]) -> dict[StreamKey, RateSeries]:
    """Rates step by step; a step in which nothing was known has none."""
    streams: dict[StreamKey, list[Row]] = {}
    for row in rows:
        streams.setdefault(StreamKey(row["component"], row["stream"]), []).append(row)
    series = {}
    for key, points in sorted(streams.items()):
        seconds = float(points[0]["step_seconds"])
        known = {row["step_start"]: row for row in points if row["alive_us"] > 0}
        if not known:
            continue
        step = round(seconds * 1e6)
        first, last = min(known), max(known)
        series[key] = RateSeries(
            start=moment(first),
            step_seconds=seconds,
            per_second=tuple(
                int(known[at]["emitted"]) * 1e6 / known[at]["alive_us"] if at in known else None
                for at in range(first, last + 1, step)
            ),
        )
    return series


def _saturation(rows: Iterable[Row]) -> dict[str, tuple[Saturation, ...]]:
    operators: dict[str, list[tuple[int, Saturation]]] = {}
    for row in rows:
        alive_us = row["alive_us"]
        if alive_us <= 0:
            continue
        point = Saturation(
            plan_id=row.get("plan_id") or "",
            executors=row.get("executors") or 0,
            minutes=alive_us / 1e6 / _MINUTE,
            input_per_second=int(row["executed"]) * 1e6 / alive_us,
            output_per_second=int(row["emitted"]) * 1e6 / alive_us,
            backpressure=min(1.0, int(row["pressed_ns"]) / _NANOSECONDS_PER_MICROSECOND / alive_us),
        )
        operators.setdefault(row["component"], []).append((row["step_start"], point))
    return {
        name: tuple(point for _, point in sorted(points))
        for name, points in sorted(operators.items())
    }


def _pressed(rows: Iterable[Row], stretch: Stretch) -> float:
    found = sum(int(row["pressed_us"]) for row in rows if row["plan_id"] == stretch.plan_id)
    return min(found, stretch.length_us) / 1e6 / _MINUTE


def split(table: pa.Table) -> tuple[pa.Table, list[tuple[str, str]]]:
    """The figures among rows of a topology, and the extras."""
    is_extra = table[KIND].is_valid()
    extras = table.filter(is_extra).select([KIND, PAYLOAD]).to_pylist()
    figures = table.filter(pc.invert(is_extra)).drop_columns([KIND, PAYLOAD])
    return figures, [(row[KIND], row[PAYLOAD]) for row in extras]
