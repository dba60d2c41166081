"""What calibration reads of a lake: small tables as records, samples in parts, as arrays.

Every table is read at one version, so that what is committed meanwhile changes nothing. Samples are
read where they are worked on, column by column and with their texts as numbers, a part of a file or
some small files to a task. Which metrics are summed, and how, is said here too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from streamgauge.lake.bulk_decoding import records_of
from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.records import Event, Plan, Record
from streamgauge.lake.schemas import EVENTS, PLANS, SAMPLES
from streamgauge.lake.tables import Lake, Snapshot
from streamgauge.lake.uris import joined, open_store
from streamgauge.pipeline.estimation.blocks import MICROSECONDS
from streamgauge.pipeline.estimation.catalogue import SHAPES, SOURCES
from streamgauge.pipeline.estimation.schemas import Whole
from streamgauge.pipeline.table_files import read_files

# A topology: its cluster, where that has a name, and its own name.
Job = tuple[str | None, str]
# What makes a series: the columns of a sample before its bucket.
SERIES = tuple(SAMPLES.schema.names[: SAMPLES.schema.names.index("bucket_start")])
DAY_US = 86_400 * MICROSECONDS
# Samples that a task reads at once; it takes some hundred bytes for each.
ROWS_PER_PART = 1_000_000
# Fewer are not worth a task of their own.
LEAST_ROWS = 100_000
# Of columns of numbers, where they are null.
NO_NUMBER = np.iinfo(np.int32).min
NO_WORD = -1
_TEXTS = tuple(field.name for field in SAMPLES.schema if pa.types.is_string(field.type))

# Buckets that are shorter are left out.
LEAST_BUCKET_US = 1000
# What is summed is below this: the square of a year in nanoseconds.
MOST = 2.0**110
# Numbers that are squared or multiplied are below this; their halves have 24 bits.
MOST_FACTOR = 2.0**47
# Observations of a bucket are below this, so that a block's fit a long.
MOST_COUNT = 2.0**40

HEARTBEATS = Metric.WORKER_HEARTBEATS.label


def _wanted() -> frozenset[str]:
    """Whatever a figure can come from, and what says how long a worker was known."""
    metrics: set[Metric | None] = {Metric.WORKER_HEARTBEATS}
    for source in SOURCES:
        metrics |= {source.metric, source.per, source.evidence}
    for shape in SHAPES.values():
        metrics |= {shape.total, shape.squares, shape.bins}
    return frozenset(metric.label for metric in metrics if metric is not None)


WANTED = _wanted()
COUNTERS = frozenset(label for label in WANTED if METRICS[label].kind is Kind.CUMULATIVE)
GAUGES = frozenset(label for label in WANTED if METRICS[label].kind is Kind.GAUGE)
MEANS = frozenset(label for label in WANTED if METRICS[label].kind is Kind.MEAN)
# Their values by bucket are squared too, for the variability of arrivals.
SQUARED = frozenset(
    label
    for label in WANTED
    if METRICS[label].counts_observations and METRICS[label].kind in (Kind.DELTA, Kind.CUMULATIVE)
)

# What regressions multiply, bucket by bucket, and by what it is divided first: nanoseconds become
# whole microseconds.
FACTORS: Mapping[str, float] = {
    Metric.EXECUTED.label: 1.0,
    Metric.WINDOW_TRIGGERS.label: 1.0,
    Metric.EMITTED.label: 1.0,
    Metric.EXECUTOR_CPU.label: 1000.0,
    Metric.EXECUTOR_IDLE.label: 1000.0,
}
# Of these, what an executor's CPU time is explained by.
OF_EXECUTORS_TOO = frozenset({Metric.EXECUTED.label, Metric.WINDOW_TRIGGERS.label})

# What history is made of: what operators executed and emitted, and how long they held senders back.
EXECUTED = frozenset({Metric.EXECUTED.label, Metric.EXECUTED_TOTAL.label})
EMITTED = frozenset({Metric.EMITTED.label, Metric.EMITTED_TOTAL.label})
PRESSED = Metric.BACKPRESSURE_CAUSED.label
EXECUTOR_CPU = Metric.EXECUTOR_CPU.label
HISTORY_LABELS = EXECUTED | EMITTED | {PRESSED, HEARTBEATS, EXECUTOR_CPU}

# What the engine estimates, or the far end of a connection counts, and the exact metrics that make
# it superfluous when all of them were written of the same operator (or worker) on the same day.
# Failures are rare, so that their absence shows only by what an agent writes beside them.
STAND_INS: Mapping[Metric, tuple[Metric, ...]] = {
    Metric.EMITTED_TOTAL: (Metric.EMITTED,),
    Metric.SENT_TOTAL: (Metric.SENT,),
    Metric.EXECUTED_TOTAL: (Metric.EXECUTED, Metric.ACKED),
    Metric.ACKED_TOTAL: (Metric.ACKED,),
    Metric.FAILED_TOTAL: (Metric.ACKED,),
    Metric.ROOTS_ACKED_TOTAL: (Metric.ROOTS_ACKED,),
    Metric.RECEIVED: (Metric.TRANSFERRED,),
    Metric.EXECUTE_LATENCY_MEAN: (Metric.EXECUTE_LATENCY_SUM,),
    Metric.COMPLETE_LATENCY_MEAN: (Metric.COMPLETE_LATENCY_SUM,),
    Metric.WINDOW_LATENCY_MEAN: (Metric.WINDOW_LATENCY_SUM,),
    Metric.QUEUE_ARRIVAL_RATE: (Metric.QUEUE_ARRIVALS,),
    Metric.TUPLES_PER_LIST_MEAN: (Metric.QUEUE_ARRIVALS, Metric.QUEUE_LISTS),
    Metric.QUEUE_SOJOURN_MEAN: (Metric.QUEUE_SOJOURN_SUM,),
    Metric.QUEUE_DROPS_TOTAL: (Metric.QUEUE_DROPS,),
    Metric.WORKER_CORES: (Metric.WORKER_CPU,),
}


def largest(label: str) -> float:
    """What a value must be below, so that sums of a block are exact (see `exact_sums`).

    A gauge is multiplied by at most 2^37 microseconds, a mean by 2^40 observations and a million.
    """
    if label in SQUARED:
        return MOST_FACTOR
    if label in GAUGES:
        return MOST / 2.0**37
    return MOST / 2.0**60 if label in MEANS else MOST


@dataclass(frozen=True, slots=True)
class Pinned:
    """A lake as it was when calibration began.

    Args:
        spark: The session.
        lake: The lake.
        snapshots: Of its tables, by name.
    """

    spark: SparkSession
    lake: Lake
    snapshots: dict[str, Snapshot]

    @classmethod
    def now(cls, spark: SparkSession, lake: Lake) -> Pinned:
        """The lake now."""
        return cls(spark, lake, {one.table.name: one.snapshot() for one in lake.tables()})

    def frame(self, name: str) -> DataFrame:
        """A table as a frame of Spark."""
        return read_files(self.spark, self.lake.table(name), self.snapshots[name].files)

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self.snapshots[name].rows

    def plans(self, topologies: Collection[str] | None) -> list[Plan]:
        """The plans of topologies, or of all; the last word on each."""
        found = self._records(PLANS.name, topologies)
        return [one for one in found if isinstance(one, Plan)]

    def events(self) -> list[Event]:
        """All events."""
        return [one for one in self._records(EVENTS.name, None) if isinstance(one, Event)]

    def parts(self, topology: str | None) -> list[tuple[Part, ...]]:
        """The samples that may be of a topology, or all: what each task reads."""
        files = self.snapshots[SAMPLES.name].within(None, None, topology)
        cores = self.spark.sparkContext.defaultParallelism
        rows = sum(file.rows for file in files)
        most = min(ROWS_PER_PART, max(LEAST_ROWS, -(-rows // cores)))
        table = self.lake.table(SAMPLES.name).uri
        parts: list[Part] = []
        # Files of the same topologies follow each other, so that a task meets few series.
        for file in sorted(files, key=lambda one: (one.topologies or ("", ""), one.path)):
            count = max(1, -(-file.rows // most))
            uri = joined(table, file.path)
            parts += [Part(uri, place, count, file.rows // count) for place in range(count)]
        return _dealt(parts, most)

    def _records(self, name: str, topologies: Collection[str] | None) -> Iterator[Record]:
        snapshot = self.snapshots[name]
        if not snapshot.files:
            return
        where = None if topologies is None else ds.field("topology").isin(sorted(topologies))
        reader = self.lake.table(name).read(where=where, version=snapshot.version)
        for batch in reader:
            yield from records_of(name, pa.Table.from_batches([batch]))


class Part(NamedTuple):
    """One of so many parts of a file of samples, and about how many rows it has."""

    uri: str
    place: int
    of: int
    rows: int


def _dealt(parts: Iterable[Part], most: int) -> list[tuple[Part, ...]]:
    """Parts that follow each other, together as long as they are few rows."""
    tasks: list[list[Part]] = []
    held = most
    for part in parts:
        if held + part.rows > most:
            tasks.append([])
            held = 0
        tasks[-1].append(part)
        held += part.rows
    return [tuple(task) for task in tasks]


def read_samples(
    parts: Iterable[Part], columns: Sequence[str], topology: str | None
) -> Iterator[pa.Table]:
    """Some columns of parts of files, so many rows at once; some may be of other topologies.

    Args:
        parts: Which.
        columns: Of the table; texts become dictionaries.
        topology: Row groups that have none of it are not read; all where none is given.
    """
    held: list[pa.Table] = []
    for part in parts:
        for batch in _batches(part, columns, topology):
            if held and sum(map(len, held)) + len(batch) > ROWS_PER_PART:
                yield _joined(held)
                held = []
            held.append(_completed(batch, columns))
    if held:
        yield _joined(held)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _batches(part: Part, columns: Sequence[str], topology: str | None) -> Iterator[pa.RecordBatch]:
    store, path = open_store(part.uri)
    texts = [name for name in columns if name in _TEXTS]
    fragment = ds.ParquetFileFormat().make_fragment(path, store)
    if topology is not None:
        named = ds.field("topology")
        fragment = fragment.subset((named == topology) | named.is_null(), schema=_plain_schema())
    groups = [group.id for group in fragment.row_groups]
    mine = groups[part.place * len(groups) // part.of : (part.place + 1) * len(groups) // part.of]
    with store.open_input_file(path) as source:
        file = pq.ParquetFile(source, read_dictionary=texts)
        there = [name for name in columns if name in file.schema_arrow.names]
        yield from file.iter_batches(ROWS_PER_PART, mine, there, use_threads=False)


def _plain_schema() -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in SAMPLES.schema])


def _completed(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
    """With the columns in order; those that an older file does not have are null."""
    table = pa.Table.from_batches([batch])
    arrays = []
    for name in columns:
        kind = SAMPLES.schema.field(name).type
        if name in _TEXTS:
            kind = pa.dictionary(pa.int32(), pa.string())
        arrays.append(
            table[name].cast(kind) if name in table.column_names else pa.nulls(len(table), kind)
        )
    return pa.table(arrays, names=list(columns))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrays:
    """The columns of a table of samples as arrays.

    Attributes:
        table: The table, in one chunk.
        codes: Of texts the place in `words`, of whole numbers themselves; null has a code too.
        words: The texts of each column.
        start_us: When each bucket begins.
        bucket_us: How long it is.
        value: The sample's.
        count: The sample's.
    """

    table: pa.Table
    codes: Mapping[str, npt.NDArray[np.int32]]
    words: Mapping[str, list[str]]
    start_us: Whole
    bucket_us: Whole
    value: npt.NDArray[np.float64]
    count: Whole

    @classmethod
    def of(cls, table: pa.Table) -> Arrays:
        """The arrays of a table."""
        codes, words = codes_of(table.select([one for one in table.column_names if one in SERIES]))
        seconds = np.asarray(table["bucket_seconds"].combine_chunks())
        starts = table["bucket_start"].combine_chunks().cast(pa.timestamp("us")).cast(pa.int64())
        return cls(
            table=table,
            codes=codes,
            words=words,
            start_us=np.asarray(starts),
            bucket_us=np.rint(seconds * MICROSECONDS).astype(np.int64),
            value=np.asarray(table["value"].combine_chunks()),
            count=np.asarray(pc.fill_null(table["count"].combine_chunks(), 0)),
        )

    def flags(self, column: str, words: Collection[str]) -> npt.NDArray[np.bool_]:
        """Which rows have one of these texts."""
        known = np.asarray([word in words for word in self.words[column]] + [False])
        return np.asarray(known[self.codes[column]], dtype=bool)

    def numbers(
        self, column: str, by_word: Mapping[str, float], nothing: float
    ) -> npt.NDArray[np.float64]:
        """A number for each row's text; `nothing` where it has none."""
        known = np.asarray([by_word.get(word, nothing) for word in self.words[column]] + [nothing])
        return np.asarray(known[self.codes[column]])


def codes_of(
    table: pa.Table,
) -> tuple[dict[str, npt.NDArray[np.int32]], dict[str, list[str]]]:
    """Columns as numbers: texts as places in their words, nothing as a number of its own."""
    codes, words = {}, {}
    for name in table.column_names:
        column, nothing = table[name].combine_chunks(), NO_NUMBER
        if not pa.types.is_integer(column.type):
            if not pa.types.is_dictionary(column.type):
                column = column.cast(pa.string()).dictionary_encode()
            words[name] = column.dictionary.to_pylist()
            column, nothing = column.indices, NO_WORD
        codes[name] = np.asarray(pc.fill_null(column.cast(pa.int32()), nothing))
    return codes, words


def run_starts(columns: Iterable[npt.NDArray[Any]], size: int) -> Whole:
    """Where any of the columns differs from the row before, the first row included."""
    new = np.zeros(size, dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def numbered(columns: Sequence[npt.NDArray[Any]], size: int) -> tuple[Whole, Whole]:
    """Number the distinct rows in the order in which they appear.

    Rows that follow each other are mostly alike, and only where they change are they compared.

    Returns:
        The number of each row, and the row where each number appears first.
    """
    first = run_starts(columns, size)
    heads = np.zeros(len(first), dtype=np.int64)
    width = 1
    for column in columns:
        part = column[first].astype(np.int64)
        part -= part.min(initial=0)
        step = int(part.max(initial=0)) + 1
        if width > np.iinfo(np.int64).max // step:
            distinct, heads = np.unique(heads, return_inverse=True)
            width = len(distinct)
        heads = heads * step + part
        width *= step
    _, place, number = np.unique(heads, return_index=True, return_inverse=True)
    order = np.argsort(place)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    lengths = np.diff(np.append(first, size))
    return np.repeat(rank[number], lengths), first[place[order]]
