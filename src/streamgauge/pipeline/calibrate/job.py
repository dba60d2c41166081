"""Calibration: the samples of topologies become their profiles, in a few Spark jobs for a fleet.

Samples are summed, subjects estimated, topologies assembled. Each of the three is a pure function
of rows that came together. Series are dealt by a hash of their owner, so that a topology with most
of the samples is spread over all tasks. Only its figures, which are few, come together again.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from streamgauge.errors import NotEnoughData, StreamgaugeError, did_you_mean
from streamgauge.lake.profile_names import replicas_name
from streamgauge.lake.records import Plan
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.block_sums import (
    WHO,
    counters_summed,
    heard_summed,
    look_back_us,
    summed_parts,
)
from streamgauge.pipeline.calibrate.history import KINDS, past_of
from streamgauge.pipeline.calibrate.inventory import Held, take_inventory
from streamgauge.pipeline.calibrate.lake_parts import Job, Part, Pinned
from streamgauge.pipeline.calibrate.links_and_keys import (
    counted_keys,
    extra_rows,
    link_counts,
    parsed,
    skew_notes,
)
from streamgauge.pipeline.calibrate.periods import (
    ANYTHING,
    StablePeriod,
    Wish,
    choose_all,
    cuts_of,
    moment,
    plan_under,
)
from streamgauge.pipeline.calibrate.readings import Scope
from streamgauge.pipeline.calibrate.task_steps import Layout
from streamgauge.pipeline.estimation.assembly import Extras, profile_of
from streamgauge.pipeline.estimation.schemas import (
    ARRAYS,
    FIGURES,
    SERIES_SUMS,
    Kind,
    flattened,
    owner_key,
)
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import tasks_for
from streamgauge.profile.figures import Period as ProfilePeriod
from streamgauge.profile.files.jobs import profile_to_json

# Arrays pass through Spark as bytes: it would take each of their numbers in its hand.
_PACKED = pa.schema(
    [field.with_type(pa.binary()) if field.name in ARRAYS else field for field in SERIES_SUMS]
)
# What is known of a topology, as Arrow's or JSON's bytes.
_PIECES = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("topology", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("payload", pa.binary()),
    ]
)
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
_FIGURES, _PAST = "figures", "past"
_NUMBER_BYTES = 8

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What calibration gives for one topology.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: Its name.
        profile: The profile's file, as JSON text; nothing where there is none.
        replicas: Name and content of the Parquet file of its replicas; nothing where there were
            too few blocks.
        fault: Why there is no profile.
    """

    cluster: str | None
    topology: str
    profile: str | None = None
    replicas: tuple[str, bytes] | None = None
    fault: str | None = None


def calibrate(
    spark: SparkSession,
    lake: Lake,
    topology: str | None = None,
    wish: Wish = ANYTHING,
    *,
    seed: int = 0,
    say: Say = lambda _: None,
) -> Generator[Calibrated]:
    """The profiles of one topology, or of all in a lake, by cluster and name.

    The session must be open until the generator is closed.

    Args:
        spark: The session.
        lake: Where the samples are.
        topology: Its name; all where none is given.
        wish: Which time or plan is wanted.
        seed: Of the replicas' weights.
        say: Told what is being done.

    Raises:
        NotEnoughData: The lake has nothing of that topology, or no topology at all.
        InvalidInput: The wish cannot be.
    """
    pinned = Pinned.now(spark, lake)
    say("listing what the lake holds")
    parts = pinned.parts(topology)
    plans, events = pinned.plans(None if topology is None else [topology]), pinned.events()
    held = take_inventory(spark, parts, topology, cuts_of(plans, events, wish.period))
    if not held and not plans:
        raise _nothing(pinned, topology)
    chosen = choose_all(plans, events, held, wish)
    periods = [one for one in chosen.values() if isinstance(one, StablePeriod)]
    for (cluster, name), refusal in chosen.items():
        if isinstance(refusal, NotEnoughData):
            if topology is not None and not periods:
                raise refusal
            yield Calibrated(cluster=cluster, topology=name, fault=str(refusal))
    if not periods:
        return
    rows = sum(recorded.rows for one in held for recorded in one.recorded)
    say(f"summing up {rows:,} samples")
    by_job = {(one.cluster, one.topology): one for one in held}
    scopes = [scope_of(period, by_job[period.job]) for period in periods]
    sources = {one.period.job: _source(one, plans) for one in scopes}
    # Series with their sums are far fewer than samples, but each is handled in many steps.
    tasks = tasks_for(spark, rows // 5, rows_per_file=300_000)
    pieces = estimate(sum_series(spark, parts, scopes, topology), scopes, tasks=tasks, seed=seed)
    extras = extra_rows(pinned, periods)
    if extras is not None:
        pieces = pieces.unionByName(extras)
    made = assemble(pieces, sources, tasks=min(tasks, len(sources)), seed=seed)
    for row in _made(made):
        content = row["replicas"]
        yield Calibrated(
            cluster=row["cluster"],
            topology=row["topology"],
            profile=row["profile"],
            replicas=None if content is None else (row["replicas_file"], bytes(content)),
            fault=row["fault"],
        )


def _made(profiles: DataFrame) -> Iterator[Row]:
    """Rows one after the other, of which all are made at once."""
    kept = profiles.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()
        yield from kept.toLocalIterator()
    finally:
        kept.unpersist()


def scope_of(period: StablePeriod, held: Held) -> Scope:
    """What is summed of a topology."""
    buckets_us = np.asarray([one.bucket_us for one in held.recorded])
    return Scope(
        period=period,
        first_us=min(one.first_us for one in held.recorded),
        last_us=max(one.last_us for one in held.recorded),
        look_back_us=int(look_back_us(buckets_us).max()),
        superfluous=held.superfluous,
        beating=held.beating,
    )


def _nothing(pinned: Pinned, topology: str | None) -> NotEnoughData:
    if topology is None:
        return NotEnoughData(
            f"{pinned.lake.uri}: no topology; expected samples and plans of at least one:"
            " `streamgauge ingest` takes them"
        )
    known = sorted({plan.topology for plan in pinned.plans(None)})
    guess = did_you_mean(topology, known)
    listed = ", ".join(known[:5]) or "none"
    return NotEnoughData(
        f"{pinned.lake.uri}: nothing of topology {topology!r}; expected one of {listed}"
        + (f" ({guess})" if guess else "")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a topology's profile is made from beside its samples, probes and traces.

    Attributes:
        plan: What it ran on.
        scope: When, and since when.
        layout: Which executors and tasks each operator has under each of its plans.
    """

    plan: Plan
    scope: Scope
    layout: Layout


def _source(scope: Scope, plans: Iterable[Plan]) -> Source:
    mine = [plan for plan in plans if (plan.cluster, plan.topology) == scope.period.job]
    # A plan that comes back counts once.
    placed = {
        (plan.plan_id, one.component, one.first_task) for plan in mine for one in plan.executors
    }
    first: dict[tuple[str, str], int] = {}
    for plan_id, component, task in placed:
        first[plan_id, component] = min(task, first.get((plan_id, component), task))
    layout = Layout(
        executors=Counter((plan_id, component) for plan_id, component, _ in placed),
        first_tasks=first,
    )
    return Source(plan=plan_under(scope.period, mine), scope=scope, layout=layout)


def sum_series(
    spark: SparkSession,
    parts: Sequence[tuple[Part, ...]],
    scopes: Sequence[Scope],
    topology: str | None,
) -> DataFrame:
    """The rows of `SERIES_SUMS` of all scopes, arrays as bytes."""
    schema = spark_schema(_PACKED)
    rows = spark.range(0, len(parts), 1, len(parts)).mapInArrow(
        partial(_sum, parts, scopes, topology), schema
    )
    if all(one.beating is None for one in scopes):
        return rows
    # Those who send no heartbeats are heard by what they write, wherever it was read.
    return rows.repartition(*WHO).mapInArrow(partial(_listen, scopes), schema)


def _sum(
    parts: Sequence[tuple[Part, ...]],
    scopes: Sequence[Scope],
    topology: str | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place in batch["id"].to_pylist():
            for table in summed_parts(parts[place], scopes, topology):
                yield from packed(table).to_batches()


def _listen(scopes: Sequence[Scope], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    heard = []
    for batch in batches:
        is_heard = pc.equal(batch["kind"], Kind.HEARD.value)
        heard.append(batch.filter(is_heard))
        yield batch.filter(pc.invert(is_heard))
    rows = pa.Table.from_batches(heard, schema=_PACKED)
    if len(rows):
        for table in heard_summed(unpacked(rows), scopes):
            yield from packed(table).to_batches()


def packed(rows: pa.Table) -> pa.Table:
    """Rows with their arrays as bytes."""
    columns = []
    for field in _PACKED:
        column = rows[field.name].combine_chunks()
        if field.name in ARRAYS:
            lengths, numbers = flattened(column)
            ends = np.concatenate([[0], np.cumsum(lengths)]) * _NUMBER_BYTES
            buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(numbers)]
            column = pa.Array.from_buffers(pa.binary(), len(column), buffers)
        columns.append(column)
    return pa.table(columns, schema=_PACKED)


def unpacked(rows: pa.Table) -> pa.Table:
    """The rows that were packed."""
    columns = []
    for field in SERIES_SUMS:
        column = rows[field.name].combine_chunks()
        if field.name in ARRAYS:
            _, offsets, numbers = column.buffers()
            ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
            count = int(ends[-1]) // _NUMBER_BYTES
            whole = pa.Array.from_buffers(pa.int64(), count, [None, numbers])
            column = pa.ListArray.from_arrays(pa.array(ends // _NUMBER_BYTES), whole)
        columns.append(column)
    return pa.table(columns, schema=SERIES_SUMS)


def estimate(rows: DataFrame, scopes: Sequence[Scope], *, tasks: int, seed: int) -> DataFrame:
    """The figures of all subjects, and what goes into history, in the columns of `_PIECES`."""
    owner = [f.expr(expression) for expression in owner_key().values()]
    dealt = rows.repartition(tasks, *owner)
    return dealt.mapInArrow(partial(_estimate, scopes, seed), spark_schema(_PIECES))


def _estimate(
    scopes: Sequence[Scope], seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    found = [batch for batch in batches if len(batch)]
    if not found:
        return
    rows = unpacked(pa.Table.from_batches(found))
    counters = rows.filter(pc.equal(rows["kind"], Kind.COUNTER.value))
    if len(counters):
        rows = pa.concat_tables([rows, *counters_summed(counters, scopes)])
    sums = rows.filter(pc.equal(rows["kind"], Kind.SUMS.value))
    yield from _pieces(_FIGURES, figures_of(sums, seed=seed))
    yield from _pieces(_PAST, rows.filter(pc.is_in(rows["kind"], pa.array(KINDS, pa.string()))))


def _pieces(kind: str, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows of many topologies as one piece for each."""
    for (cluster, topology), table in _by_topology(rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        piece = {"cluster": cluster, "topology": topology, "kind": kind}
        piece["payload"] = sink.getvalue().to_pybytes()
        yield pa.RecordBatch.from_pylist([piece], schema=_PIECES)


def _by_topology(rows: pa.Table) -> Iterator[tuple[Job, pa.Table]]:
    places: dict[Job, list[int]] = {}
    jobs = zip(rows["cluster"].to_pylist(), rows["topology"].to_pylist(), strict=True)
    for place, job in enumerate(jobs):
        places.setdefault(job, []).append(place)
    for job, mine in places.items():
        yield job, rows.take(pa.array(mine)).combine_chunks()


def assemble(
    pieces: DataFrame, sources: Mapping[Job, Source], *, tasks: int, seed: int
) -> DataFrame:
    """The profiles of all topologies from their pieces, in the columns of `PROFILES`."""
    by_topology = pieces.repartition(tasks, "cluster", "topology").sortWithinPartitions(
        "cluster", "topology"
    )
    return by_topology.mapInArrow(partial(_assemble, dict(sources), seed), spark_schema(PROFILES))


def _assemble(
    sources: Mapping[Job, Source], seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for (cluster, topology), pieces in _following(batches):
        row: dict[str, Any] = {"cluster": cluster, "topology": topology}
        try:
            row |= _profile(sources[cluster, topology], pieces, seed)
        except StreamgaugeError as error:
            # One topology that cannot be understood stops no other.
            row["fault"] = str(error)
        yield from pa.Table.from_pylist([row], schema=PROFILES).to_batches()


def _following(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[Job, dict[str, list[bytes]]]]:
    """The pieces of each topology by kind; those of one follow each other."""
    job: Job | None = None
    pieces: dict[str, list[bytes]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            mine = (row["cluster"], row["topology"])
            if job is not None and mine != job:
                yield job, pieces
                pieces = {}
            job = mine
            pieces.setdefault(row["kind"], []).append(row["payload"])
    if job is not None:
        yield job, pieces


def _table(payloads: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    tables = [pa.ipc.open_stream(payload).read_all() for payload in payloads]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _profile(source: Source, pieces: Mapping[str, list[bytes]], seed: int) -> dict[str, Any]:
    extra = _extras(source, pieces, seed)
    figures = _table(pieces.get(_FIGURES, []), FIGURES)
    profile, replicas = profile_of(figures, source.plan, extra)
    if not len(replicas) or profile.replicas is None:
        return {"profile": profile_to_json(profile)}
    buffer = io.BytesIO()
    # Numbers hardly ever come twice: a dictionary of them would make the file longer.
    pq.write_table(replicas, buffer, compression="zstd", use_dictionary=False)
    content = buffer.getvalue()
    name = replicas_name(source.scope.period.topology, content)
    named = replace(profile, replicas=replace(profile.replicas, file=name))
    return {"profile": profile_to_json(named), "replicas_file": name, "replicas": content}


def _extras(source: Source, pieces: Mapping[str, list[bytes]], seed: int) -> Extras:
    """What a profile holds beside figures."""
    period = source.scope.period
    past = past_of(_table(pieces.get(_PAST, []), SERIES_SUMS), source.layout, source.scope)
    skews = (
        (one["node"], one["other_node"], one["skew_ns"]) for one in parsed(pieces.get("skew", []))
    )
    keys, notes = counted_keys(parsed(pieces.get("key", [])))
    pressed_us = min(past.pressed_us, period.length_us)
    return Extras(
        links=tuple(link_counts(parsed(pieces.get("link", [])))),
        keys=keys,
        sources=past.sources,
        saturation=past.saturation,
        observed=past.observed,
        backpressure_minutes=pressed_us / 1e6 / 60.0,
        period=ProfilePeriod(
            start=moment(period.from_us), end=moment(period.to_us), state=period.state
        ),
        seed=seed,
        notes=(*period.notes, *skew_notes(skews, period.bucket_us / 1e6), *notes),
    )
