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
from streamgauge.pipeline.ingest.row_keys import key_hashes, sorted_rows

# What a worker holds before it writes; a file of so many rows has about ten megabytes.
ROWS_PER_FILE = 1_000_000
# Small enough that readers skip what they do not need, since rows are sorted.
ROWS_PER_GROUP = 200_000
# Where a row was found: new, in its table, or in quarantine as superseded.
NEW, KEPT, SUPERSEDED = "new", "kept", "superseded"
ORIGIN = "origin"
# The file that it was found in, and its place there.
HOLDER, PLACE = "holder", "place"
# What rows that are compared have more than those of their table.
DOUBTFUL = (
    pa.field(PLACE, pa.int32()),
    pa.field(ORIGIN, pa.string()),
    pa.field(HOLDER, pa.string()),
)

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


def write_hashes(
    staging: str, hashes: NDArray[np.int64], places: NDArray[np.int32] | None = None
) -> tuple[str, bool]:
    """Write the hashes of rows; gives where, and if one stands twice.

    Args:
        staging: Below which folder.
        hashes: In the order of the rows.
        places: Of the rows in their file, where these are not all of it.
    """
    uri = joined(staging, "hashes", f"{uuid4().hex}.parquet")
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    ordered = hashes[order]
    columns = [pa.array(ordered), pa.array(order if places is None else places[order])]
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


def read_near(target: LakeTable, path: str, spans: Mapping[date, Span]) -> pa.Table:
    """Keys of rows of a file that new ones may meet, each with its `place` in the file."""
    span = spans[day_of_path(path)]
    time, name = ds.field(target.table.day_of), ds.field("topology")
    where = (time >= pa.scalar(span.first, TIMESTAMP)) & (time <= pa.scalar(span.last, TIMESTAMP))
    if span.topologies is not None:
        least, greatest = span.topologies
        where &= name.is_null() | ((name >= least) & (name <= greatest))
    store, place = open_store(joined(target.uri, path))
    fragment = ds.ParquetFileFormat().make_fragment(place, store)
    near = fragment.subset(where, schema=target.file_schema).row_groups
    with _open(target, path) as file:
        return _read_groups(file, [group.id for group in near], target.table.key).filter(where)


def _open(target: LakeTable, path: str) -> pq.ParquetFile:
    """A file of a table, names as the dictionaries that they are in it: those are read sooner."""
    store, place = open_store(joined(target.uri, path))
    names = [one.name for one in target.file_schema if pa.types.is_string(one.type)]
    return pq.ParquetFile(place, filesystem=store, read_dictionary=names)


def _read_groups(
    file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str] | None = None
) -> pa.Table:
    """Row groups of a file, each row with its `place` in the file."""
    begins = _begins(file.metadata)
    names = None if columns is None else list(columns)
    rows = file.read_row_groups(list(groups), columns=names, use_threads=False)
    places = [np.arange(begins[one], begins[one + 1], dtype=np.int32) for one in groups]
    return rows.append_column(PLACE, pa.chunked_array(places, pa.int32()))


def _begins(footer: pq.FileMetaData) -> NDArray[np.int32]:
    """The places of the first rows of row groups, and of the end."""
    sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    return np.cumsum([0, *sizes], dtype=np.int32)


def hash_near(
    target: LakeTable, staging: str, spans: Mapping[date, Span], path: str
) -> Iterator[dict[str, Any]]:
    """Write the hashes of rows of the table's file that new ones may meet; as in `WRITTEN`."""
    rows = read_near(target, path, spans)
    if len(rows):
        place, _ = write_hashes(staging, key_hashes(rows, target.table), rows[PLACE].to_numpy())
        yield {"table": target.table.name, "path": path, "hashes": place, "rows": len(rows)}


def day_of_path(path: str) -> date:
    """The day that a file of a table belongs to."""
    inside = next(part for part in path.split("/") if part.startswith(f"{PARTITION}="))
    return date.fromisoformat(inside.partition("=")[2])


def split_file(
    target: LakeTable, staging: str, run: str, path: str, places: NDArray[np.int32]
) -> Iterator[dict[str, Any]]:
    """Write rows that are to be compared to the staging, and a new file again without them.

    Args:
        target: The table.
        staging: Where rows go that are to be compared, with their `origin` and whence they are.
        run: Of the ingest; files under its name are new.
        path: Of the file.
        places: Of the rows to compare, ascending.

    Returns:
        As in `WRITTEN`: `file` is where rows came from, and `detail` is their origin, or nothing
        for a file with the others.
    """
    is_new = path.startswith(f"part-{run}/")
    with _open(target, path) as file:
        groups = np.unique(np.searchsorted(_begins(file.metadata), places, side="right") - 1)
        rows = _read_groups(file, groups.tolist())
    doubtful = rows.take(pa.array(np.searchsorted(rows[PLACE].to_numpy(), places)))
    origin = NEW if is_new else KEPT
    for name, text in ((ORIGIN, origin), (HOLDER, path)):
        doubtful = doubtful.append_column(name, pa.repeat(pa.scalar(text), len(doubtful)))
    place = joined(staging, "doubtful", f"{uuid4().hex}.parquet")
    write_parquet(place, doubtful)
    yield {
        "table": target.table.name,
        "file": path,
        "path": place,
        "rows": len(doubtful),
        "detail": origin,
    }
    if is_new:
        yield from write_without(target, run, path, places)


def write_without(
    target: LakeTable, run: str, path: str, places: NDArray[np.int32]
) -> Iterator[dict[str, Any]]:
    """Write a file of a table again without some rows; a large one becomes several.

    Args:
        target: The table.
        run: Of the ingest; the new files have its name.
        path: Of the file.
        places: Of the rows that go, ascending.

    Returns:
        As in `WRITTEN`, `file` being the one that is written again.
    """
    same = {"table": target.table.name, "file": path}
    waiting: list[pa.Table] = []
    with _open(target, path) as file:
        begins = _begins(file.metadata)
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, use_threads=False)
            first, end = np.searchsorted(places, begins[group : group + 2])
            if first < end:
                stays = np.ones(len(rows), dtype=bool)
                stays[places[first:end] - begins[group]] = False
                rows = rows.filter(pa.array(stays))
            waiting.append(rows)
            count = sum(map(len, waiting))
            if count >= ROWS_PER_FILE or (count and group == file.num_row_groups - 1):
                again = new_path(run, day_of_path(path))
                rest = pa.concat_tables(waiting).unify_dictionaries()
                write_parquet(joined(target.uri, again), rest)
                waiting = []
                yield {**same, "path": again, "rows": len(rest), "detail": None}
