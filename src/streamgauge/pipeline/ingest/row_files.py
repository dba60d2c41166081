"""Files of rows that Spark's workers write and read by themselves, without Spark's rows between.

Rows on their way into the lake are sorted and written under their table at once. Beside each file
lie the hashes of its keys: where a hash stands once among all that is new and near, so does its
key, and the file can be committed as it is. Equal hashes are candidates only; who has a hash twice
is compared by the keys themselves. Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import blake2b
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamgauge.lake.schemas import FILES, PARTITION, QUARANTINE, SAMPLES, TABLES, TIMESTAMP, Table
from streamgauge.lake.tables import Lake, LakeTable
from streamgauge.lake.uris import joined, open_store
from streamgauge.pipeline.ingest.reading import typed_rows

# What a worker holds before it writes; a file of so many rows has about ten megabytes.
ROWS_PER_FILE = 1_000_000
# Small enough that readers skip what they do not need, since rows are sorted.
ROWS_PER_GROUP = 200_000
# Where a row was found: new, in its table, or in quarantine as superseded.
NEW, KEPT, SUPERSEDED = "new", "kept", "superseded"
ORIGIN = "origin"
_WORD_BITS = 63

# What a worker says it wrote: a file of rows, or how many lines a part of the input had.
WRITTEN = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("hashes", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("repeats", pa.bool_()),
        pa.field("day", pa.date32()),
        pa.field("first", TIMESTAMP),
        pa.field("last", TIMESTAMP),
        pa.field("least_topology", pa.string()),
        pa.field("greatest_topology", pa.string()),
        pa.field("file", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("modified_at", TIMESTAMP),
        pa.field("received_at", TIMESTAMP),
        pa.field("lines", pa.int64()),
        pa.field("detail", pa.string()),
    ]
)

# The hashes of a file's rows, ascending, each with the place of its row.
HASHES = pa.schema(
    [
        pa.field("hash", pa.int64(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The times of a day that rows have, both ends included.

    Attributes:
        day: The day, in UTC.
        first: Earliest time.
        last: Latest time.
        topologies: Least and greatest name of a topology; nothing where any may come.
    """

    day: date
    first: datetime
    last: datetime
    topologies: tuple[str, str] | None = None


@dataclass(slots=True)
class RowWriter:
    """Takes staged rows and writes files of them, those of tables under their tables.

    Attributes:
        lake: Where to.
        run: A name of its own for the ingest; folders that belong to it have it.
        staging: Folder for what is in no table yet.
    """

    lake: Lake
    run: str
    staging: str
    _waiting: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)

    def write(self, staged: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all rows, batches of `STAGED`; gives rows of `WRITTEN`."""
        for batch in staged:
            name = batch.column("table")[0].as_py()
            if name == FILES.name:
                yield from listed([_tally(row) for row in batch.to_pylist()])
                continue
            self._waiting.setdefault(name, []).append(_narrowed(name, batch))
            self._rows[name] = self._rows.get(name, 0) + len(batch)
            if self._rows[name] >= ROWS_PER_FILE:
                yield from self._flush(name)
        for name in list(self._waiting):
            yield from self._flush(name)

    def _flush(self, name: str) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(self._waiting.pop(name))
        self._rows[name] = 0
        if name == QUARANTINE.name:
            path = joined(self.staging, "refused", f"{uuid4().hex}.parquet")
            write_parquet(path, rows)
            yield from listed([{"table": name, "path": path, "rows": len(rows)}])
            return
        table = TABLES[name]
        whole = rows.unify_dictionaries().combine_chunks()
        days = pc.floor_temporal(whole[table.day_of], unit="day").cast(pa.date32())
        present = pc.unique(days).to_pylist()
        for day in present:
            of_day = whole if len(present) == 1 else whole.filter(pc.equal(days, day))
            yield from listed([self._write_day(table, day, of_day)])

    def _write_day(self, table: Table, day: date, rows: pa.Table) -> dict[str, Any]:
        ordered = sorted_rows(rows, table)
        path = new_path(self.run, day)
        write_parquet(joined(self.lake.table(table.name).uri, path), ordered)
        hashes, repeats = write_hashes(self.staging, key_hashes(ordered, table))
        times = pc.min_max(ordered[table.day_of]).as_py()
        names = {"min": None, "max": None}
        if "topology" in ordered.column_names:
            names = pc.min_max(_texts(ordered["topology"])).as_py()
        return {
            "table": table.name,
            "path": path,
            "hashes": hashes,
            "rows": len(ordered),
            "repeats": repeats,
            "day": day,
            "first": times["min"],
            "last": times["max"],
            "least_topology": names["min"],
            "greatest_topology": names["max"],
        }


def new_path(run: str, day: date) -> str:
    """A new file's path within its table."""
    return f"part-{run}/{PARTITION}={day.isoformat()}/{uuid4().hex}.zstd.parquet"


def write_parquet(uri: str, rows: pa.Table) -> None:
    """Write a file in the form of the lake's; folders are made."""
    store, path = open_store(uri)
    store.create_dir(path.rpartition("/")[0], recursive=True)
    pq.write_table(
        rows,
        path,
        filesystem=store,
        compression="zstd",
        row_group_size=ROWS_PER_GROUP,
        # Names are kept as dictionaries here, and are texts to everybody else.
        store_schema=False,
    )


def write_hashes(staging: str, hashes: NDArray[np.int64]) -> tuple[str, bool]:
    """Write the hashes of rows, in the order of the rows; gives where, and if one stands twice."""
    uri = joined(staging, "hashes", f"{uuid4().hex}.parquet")
    places = np.argsort(hashes, kind="stable").astype(np.int32)
    ordered = hashes[places]
    columns = [pa.array(ordered), pa.array(places)]
    write_parquet(uri, pa.Table.from_arrays(columns, schema=HASHES))
    return uri, bool((ordered[1:] == ordered[:-1]).any())


def read_hashes(uri: str, least: int, greatest: int) -> pa.Table:
    """Rows of `HASHES` from one hash to another, both included."""
    store, path = open_store(uri)
    within = (ds.field("hash") >= least) & (ds.field("hash") <= greatest)
    fragment = ds.ParquetFileFormat().make_fragment(path, store)
    return fragment.to_table(filter=within, use_threads=False)


def _narrowed(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Staged rows in the columns of their files; names of samples as dictionaries."""
    if name == QUARANTINE.name:
        return batch.select(["line", "reason", "detail", "received_at", "file"])
    if name != SAMPLES.name:
        (typed,) = typed_rows(name, [batch.select(["line", "received_at", "file"])])
        return typed
    wanted = batch.select([one for one in SAMPLES.schema.names if one != PARTITION])
    columns = [
        one.dictionary_encode() if pa.types.is_string(one.type) else one for one in wanted.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=wanted.schema.names)


def _tally(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("table", "file", "bytes", "modified_at", "received_at", "lines", "detail")
    return {name: row[name] for name in names}


def listed(rows: Iterable[Mapping[str, Any]]) -> list[pa.RecordBatch]:
    """What was written, as Spark takes it."""
    batches: list[pa.RecordBatch] = pa.Table.from_pylist(list(rows), schema=WRITTEN).to_batches()
    return batches


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def sorted_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Rows in the order of the table and of the rest of its key, what is missing first."""
    columns = [*table.order, *(name for name in table.key if name not in table.order)]
    words: list[NDArray[np.int64]] = []
    left = 0
    for ranks in (_ranks(rows[name]) for name in columns):
        bits = int(ranks.max(initial=0)).bit_length()
        if not bits:
            continue
        if bits > left:
            words.append(ranks)
            left = _WORD_BITS - bits
        else:
            words[-1] = (words[-1] << bits) | ranks
            left -= bits
    if not words:
        return rows
    order = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words[::-1])
    return rows.take(pa.array(order))


def _ranks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Numbers from zero that are in the order of the values, nulls first."""
    whole = column.combine_chunks()
    if not pa.types.is_string(whole.type) and not pa.types.is_dictionary(whole.type):
        numbers = whole.cast(pa.int64())
        least = pc.min(numbers).as_py()
        if least is None:
            return np.zeros(len(whole), dtype=np.int64)
        shifted = pc.add(pc.subtract(numbers, least), 1)
        return np.asarray(pc.fill_null(shifted, 0))
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    rank = np.zeros(len(names) + 1, dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(1, len(names) + 1)
    places = np.asarray(pc.fill_null(encoded.indices, len(names)))
    return np.asarray(rank[places])


_MISSING = np.uint64(0x9E3779B97F4A7C15)


def key_hashes(rows: pa.Table, table: Table) -> NDArray[np.int64]:
    """A hash of the natural key of every row; equal keys have equal ones, in every process."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for name in table.key:
        hashes = _mixed(hashes * np.uint64(31) + _column_hashes(rows[name]))
    return hashes.view(np.int64)


def _column_hashes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    whole = column.combine_chunks()
    if not pa.types.is_string(whole.type) and not pa.types.is_dictionary(whole.type):
        numbers = pc.fill_null(whole.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        return np.where(
            whole.is_valid().to_numpy(zero_copy_only=False),
            _mixed(numbers.view(np.uint64)),
            _MISSING,
        )
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    digests = b"".join(
        blake2b(name.encode(), digest_size=8).digest() for name in encoded.dictionary.to_pylist()
    )
    values = np.append(np.frombuffer(digests, dtype="<u8"), _MISSING)
    places = np.asarray(pc.fill_null(encoded.indices, len(values) - 1))
    return np.asarray(values[places])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit depends on every bit (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def read_near(
    target: LakeTable,
    path: str,
    spans: Mapping[date, Span],
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Rows of a file of a table that new ones may meet; always in the same order."""
    span = spans[day_of_path(path)]
    time, name = ds.field(target.table.day_of), ds.field("topology")
    where = (time >= pa.scalar(span.first, TIMESTAMP)) & (time <= pa.scalar(span.last, TIMESTAMP))
    if span.topologies is not None:
        least, greatest = span.topologies
        where &= name.is_null() | ((name >= least) & (name <= greatest))
    return _read(target, path, columns, where)


def _read(
    target: LakeTable,
    path: str,
    columns: Sequence[str] | None = None,
    where: ds.Expression | None = None,
) -> pa.Table:
    store, place = open_store(joined(target.uri, path))
    fragment = ds.ParquetFileFormat().make_fragment(place, store)
    schema = target.file_schema
    names = list(columns or schema.names)
    return fragment.to_table(schema=schema, columns=names, filter=where, use_threads=False)


def hash_near(
    target: LakeTable, staging: str, spans: Mapping[date, Span], path: str
) -> Iterator[dict[str, Any]]:
    """Write the hashes of rows of the table's file that new ones may meet; as in `WRITTEN`."""
    rows = read_near(target, path, spans, target.table.key)
    if len(rows):
        place, _ = write_hashes(staging, key_hashes(rows, target.table))
        yield {"table": target.table.name, "path": path, "hashes": place, "rows": len(rows)}


def day_of_path(path: str) -> date:
    """The day that a file of a table belongs to."""
    inside = next(part for part in path.split("/") if part.startswith(f"{PARTITION}="))
    return date.fromisoformat(inside.partition("=")[2])


def split_file(
    target: LakeTable,
    staging: str,
    run: str,
    spans: Mapping[date, Span],
    path: str,
    places: NDArray[np.int32],
) -> Iterator[dict[str, Any]]:
    """Write rows that are to be compared to the staging, and a new file again without them.

    Args:
        target: The table.
        staging: Where rows go that are to be compared, with their `origin`.
        run: Of the ingest; files under its name are new.
        spans: By day, what was read of the table's own files.
        path: Of the file.
        places: Of the rows to compare, ascending.

    Returns:
        As in `WRITTEN`: `file` is where rows came from, and `detail` is their origin, or nothing
        for a file with the others.
    """
    is_new = path.startswith(f"part-{run}/")
    rows = _read(target, path) if is_new else read_near(target, path, spans)
    doubtful = rows.take(pa.array(places))
    origin = NEW if is_new else KEPT
    place = joined(staging, "doubtful", f"{uuid4().hex}.parquet")
    labels = pa.repeat(pa.scalar(origin), len(doubtful))
    write_parquet(place, doubtful.append_column(ORIGIN, labels))
    same = {"table": target.table.name, "file": path}
    yield {**same, "path": place, "rows": len(doubtful), "detail": origin}
    if is_new and len(doubtful) < len(rows):
        others = np.ones(len(rows), dtype=bool)
        others[places] = False
        rest = rows.filter(pa.array(others))
        again = new_path(run, day_of_path(path))
        write_parquet(joined(target.uri, again), rest)
        yield {**same, "path": again, "rows": len(rest), "detail": None}
