"""Estimation on Spark: subjects dealt to tasks, then topologies, each to a pure function.

Subjects are dealt by a hash of their owner, so that a topology with most of the samples is spread
over all tasks. Only its figures, which are few, come together again.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from streamgauge.errors import StreamgaugeError
from streamgauge.lake.profiles import replicas_name
from streamgauge.lake.records import Plan
from streamgauge.pipeline.calibrate.extras import extras_of, split
from streamgauge.pipeline.calibrate.stretches import Stretch
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.measured import arrays_of
from streamgauge.pipeline.estimation.schemas import FIGURES, SUBJECT_PARTIALS, owner_key
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.profile.files.jobs import profile_to_json

# What comes back for each topology.
PROFILES = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("topology", pa.string(), nullable=False),
        pa.field("profile", pa.string()),
        pa.field("replicas_file", pa.string()),
        pa.field("replicas", pa.binary()),
        pa.field("fault", pa.string()),
    ]
)

# Replicas are handed to Spark as bytes: it would take each of a hundred numbers in its hand.
_AS_BYTES = frozenset({"replicas", "scv_replicas"})
_PACKED = pa.schema(
    [field.with_type(pa.binary()) if field.name in _AS_BYTES else field for field in FIGURES]
)

Job = tuple[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a topology's profile is made from beside its figures and extras.

    Attributes:
        plan: What it ran on.
        stretch: When.
        bucket_seconds: Of its longest buckets.
    """

    plan: Plan
    stretch: Stretch
    bucket_seconds: float


def figures(sums: DataFrame, *, tasks: int, seed: int) -> DataFrame:
    """The figures of all subjects from partial sums in the columns of `SUBJECT_PARTIALS`.

    They are in the columns of `FIGURES`, replicas as bytes.
    """
    owner = [f.expr(expression) for expression in owner_key().values()]
    dealt = sums.select(*SUBJECT_PARTIALS.names).repartition(tasks, *owner)
    return dealt.mapInArrow(partial(_figures, seed), spark_schema(_PACKED))


def _figures(seed: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = [batch for batch in batches if len(batch)]
    if rows:
        yield from packed(figures_of(pa.Table.from_batches(rows), seed=seed)).to_batches()


def packed(figures: pa.Table) -> pa.Table:
    """Figures with their replicas as bytes."""
    for name in _AS_BYTES:
        texts = [None if one is None else one.tobytes() for one in arrays_of(figures[name])]
        figures = _replaced(figures, name, pa.array(texts, pa.binary()))
    return figures


def unpacked(figures: pa.Table) -> pa.Table:
    """The figures that were packed."""
    for name in _AS_BYTES:
        texts = figures[name].to_pylist()
        arrays = [None if one is None else np.frombuffer(one, np.float64) for one in texts]
        figures = _replaced(figures, name, pa.array(arrays, FIGURES.field(name).type))
    return figures


def _replaced(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def profiles(
    figures: DataFrame,
    extras: DataFrame,
    sources: Mapping[Job, Source],
    *,
    tasks: int,
    seed: int,
) -> DataFrame:
    """The profiles of all topologies from figures and extras, in the columns of `PROFILES`."""
    rows = figures.unionByName(extras, allowMissingColumns=True)
    by_topology = rows.repartition(tasks, "cluster", "topology").sortWithinPartitions(
        "cluster", "topology"
    )
    return by_topology.mapInArrow(partial(_profiles, dict(sources), seed), spark_schema(PROFILES))


def _profiles(
    sources: Mapping[Job, Source], seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for (cluster, topology), table in _by_topology(batches):
        row: dict[str, Any] = {"cluster": cluster, "topology": topology}
        try:
            row |= _profile(sources[cluster, topology], table, seed)
        except StreamgaugeError as error:
            # One topology that cannot be understood stops no other.
            row["fault"] = str(error)
        yield from pa.Table.from_pylist([row], schema=PROFILES).to_batches()


def _profile(source: Source, table: pa.Table, seed: int) -> dict[str, Any]:
    seen, rows = split(table)
    stretch = source.stretch
    extra = extras_of(rows, stretch, source.bucket_seconds, seed)
    profile, replicas = profile_of(unpacked(seen.select(FIGURES.names)), source.plan, extra)
    if not len(replicas) or profile.replicas is None:
        return {"profile": profile_to_json(profile)}
    buffer = io.BytesIO()
    pq.write_table(replicas, buffer, compression="zstd")
    content = buffer.getvalue()
    name = replicas_name(stretch.topology, content)
    named = replace(profile, replicas=replace(profile.replicas, file=name))
    return {
        "profile": profile_to_json(named),
        "replicas_file": name,
        "replicas": content,
    }


def _by_topology(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Job, pa.Table]]:
    """Rows that follow each other and are of one topology."""
    held: list[pa.RecordBatch] = []
    job: Job | None = None
    for batch in batches:
        start = 0
        keys = list(zip(batch["cluster"].to_pylist(), batch["topology"].to_pylist(), strict=True))
        for place, key in enumerate(keys):
            if job is not None and key != job:
                held.append(batch.slice(start, place - start))
                yield job, pa.Table.from_batches(held)
                held, start = [], place
            job = key
        held.append(batch.slice(start))
    if job is not None:
        yield job, pa.Table.from_batches(held)
