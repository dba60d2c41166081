"""What calibration reads of a lake: small tables as records, samples in parts, as arrays.

Every table is read at one version, so that what is committed meanwhile changes nothing. Samples are
read where they are worked on, column by column and with their texts as numbers, a part of a file or
some small files to a task.
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

from streamgauge.lake.columns import records_of
from streamgauge.lake.records import Event, Plan, Record
from streamgauge.lake.schemas import EVENTS, PLANS, SAMPLES
from streamgauge.lake.tables import Lake, Snapshot
from streamgauge.lake.uris import joined, open_store
from streamgauge.pipeline.estimation.arrays import Whole
from streamgauge.pipeline.estimation.blocks import MICROSECONDS
from streamgauge.pipeline.table_files import read_files

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
