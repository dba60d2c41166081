"""Upkeep of tables: small files become large ones, and what happened is told.

Many small commits leave many small files. Compaction sorts the rows of several into one and puts it
in their place in one commit. Readers see the same rows before and after. A writer that commits
meanwhile is not disturbed: what it adds has nothing to do with the files that are replaced, and
where it replaced one of them itself, the work on that one is thrown away and done again.

The library's own compaction is not used: it writes the ends of times to the millisecond only, by
which rows at the end of a file would be overlooked, and it leaves rows in the order of the commits.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from uuid import uuid4

import pyarrow.parquet as pq

from streamgauge.errors import ChangedMeanwhile, InternalError, InvalidInput
from streamgauge.lake.schemas import PARTITION, Table
from streamgauge.lake.tables import NO_TABLE, DataFile, LakeTable, Snapshot, open_database
from streamgauge.lake.uris import open_store

TARGET_BYTES = 128 * 2**20
# Rows that compress well would make files that take long to sort.
MOST_ROWS = 8_000_000
# A file of at least this part of the target is left alone: rewriting it again and again would cost
# more than it saves.
LARGE = 0.5
# Small enough that readers skip what they do not need, since rows are sorted.
ROW_GROUP_ROWS = 200_000
# What is merged before it is committed. Every commit makes those who ingest look again, so they are
# few; and an interrupt loses no more than this.
COMMIT_BYTES = 4 * 2**30
MOST_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What compaction made of a table.

    Attributes:
        rows: Rows that were written anew.
        version: Of the table afterwards; nothing where there is no table.
    """

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    rows: int
    version: int | None

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A version of a table and how it came about.

    Attributes:
        operation: In the words of Delta.
        note: What the writer said about it.
        rows_added: Rows of the files that came; nothing where the version before is not kept.
        rows_removed: Rows of the files that went.
        files_added: Files that came.
        files_removed: Files that went.
    """

    version: int
    time: datetime
    operation: str
    note: str
    rows_added: int | None
    rows_removed: int | None
    files_added: int | None
    files_removed: int | None

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"time": self.time.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rewritten:
    """Files of a snapshot, and the folder with the one file that is to replace them."""

    files: Sequence[DataFile]
    folder: str


def compact(
    table: LakeTable,
    *,
    days: int | None = None,
    target_bytes: int = TARGET_BYTES,
    say: Say = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
) -> Compaction:
    """Merge small files, day by day.

    Args:
        table: The table.
        days: Only the last so many of the days that it has.
        target_bytes: About how large a file may become.
        say: Told what is being done.
        pause: Waits between attempts.

    Raises:
        ChangedMeanwhile: Other writers were first every time.
    """
    snapshot = before = table.snapshot()
    rows = attempts = 0
    while groups := groups_of(snapshot.files, target_bytes, days):
        chosen = _first_of(groups)
        files = sum(len(group) for group in chosen)
        say(f"{table.table.name}: merging {files} files into {len(chosen)}")
        rewritten = [_rewrite(table, snapshot, group) for group in chosen]
        kept = _commit(table, snapshot, rewritten, say, pause)
        rows += sum(file.rows for one in kept for file in one.files)
        attempts += len(kept) < len(rewritten)
        if attempts == MOST_ATTEMPTS:
            raise ChangedMeanwhile(_too_busy(table))
        snapshot = table.snapshot()
    return Compaction(
        table=table.table.name,
        files_before=len(before.files),
        files_after=len(snapshot.files),
        bytes_before=sum(file.bytes for file in before.files),
        bytes_after=sum(file.bytes for file in snapshot.files),
        rows=rows,
        version=None if snapshot.version == NO_TABLE else snapshot.version,
    )


def groups_of(
    files: Iterable[DataFile], target_bytes: int = TARGET_BYTES, days: int | None = None
) -> list[list[DataFile]]:
    """Which small files of a day to merge with each other: neighbours, up to size or `MOST_ROWS`.

    Raises:
        InvalidInput: The target is not above zero, or the number of days is not.
    """
    for name, value in (("target_bytes", target_bytes), ("days", days)):
        if value is not None and value < 1:
            raise InvalidInput.single((name,), seen=str(value), expected="at least 1")
    by_day: dict[date, list[DataFile]] = {}
    for file in files:
        by_day.setdefault(file.date, []).append(file)
    groups = []
    for day in sorted(by_day)[-(days or 0) :]:
        small = [
            file
            for file in by_day[day]
            if file.bytes < LARGE * target_bytes and file.rows < LARGE * MOST_ROWS
        ]
        groups += _filled(sorted(small, key=_neighbourhood), target_bytes)
    return groups


def _first_of(groups: Sequence[list[DataFile]]) -> list[list[DataFile]]:
    """As many groups as one commit takes."""
    sizes = accumulate(sum(file.bytes for file in group) for group in groups)
    return [group for group, size in zip(groups, sizes, strict=True) if size <= COMMIT_BYTES] or [
        groups[0]
    ]


def _neighbourhood(file: DataFile) -> tuple[tuple[str, str], datetime, str]:
    return file.topologies or ("", ""), file.first or _EPOCH, file.path


def _filled(files: Sequence[DataFile], target_bytes: int) -> list[list[DataFile]]:
    groups: list[list[DataFile]] = []
    size = rows = 0
    for file in files:
        size, rows = size + file.bytes, rows + file.rows
        if not groups or size > target_bytes or rows > MOST_ROWS:
            groups.append([])
            size, rows = file.bytes, file.rows
        groups[-1].append(file)
    return [group for group in groups if len(group) > 1]


def _rewrite(table: LakeTable, snapshot: Snapshot, files: Sequence[DataFile]) -> _Rewritten:
    """Write the rows of files of one day into one, sorted; nobody sees it before the commit."""
    folder = f"part-{uuid4().hex}"
    try:
        rows = _write_sorted(table, snapshot, files, folder)
        expected = sum(file.rows for file in files)
        if rows != expected:
            raise InternalError(
                f"{table.uri}: {expected} rows were to be merged, but {rows} were written; nothing"
                " was changed"
            )
    except BaseException:
        _forget(table, folder)
        raise
    return _Rewritten(files=files, folder=folder)


def _write_sorted(
    table: LakeTable, snapshot: Snapshot, files: Sequence[DataFile], folder: str
) -> int:
    """Write the rows of files into one of a new folder, and count them."""
    store, root = open_store(table.uri)
    place = f"{root}/{folder}/{PARTITION}={files[0].date.isoformat()}"
    store.create_dir(place, recursive=True)
    schema = table.file_schema
    rows = 0
    with (
        open_database() as connection,
        store.open_output_stream(f"{place}/{uuid4().hex}.zstd.parquet") as sink,
        pq.ParquetWriter(sink, schema, compression="zstd") as writer,
    ):
        scanner = table.dataset(snapshot.version, files).scanner(columns=schema.names)
        connection.register("source", scanner.to_reader())
        query = f"SELECT * FROM source ORDER BY {_order(table.table)}"
        for batch in connection.sql(query).to_arrow_reader(ROW_GROUP_ROWS):
            writer.write_batch(batch.cast(schema))
            rows += len(batch)
    return rows


def _order(table: Table) -> str:
    """As writers sort: equal names together, what is missing first."""
    columns = [*table.order, *(name for name in table.key if name not in table.order)]
    return ", ".join(f'"{name}" NULLS FIRST' for name in columns)


def _commit(
    table: LakeTable,
    snapshot: Snapshot,
    rewritten: Sequence[_Rewritten],
    say: Say,
    pause: Callable[[float], None],
) -> list[_Rewritten]:
    """Put rewritten files in the place of theirs; those that others replaced are dropped."""
    for attempt in range(MOST_ATTEMPTS):
        there = {file.path for file in snapshot.files}
        kept = [one for one in rewritten if all(file.path in there for file in one.files)]
        for one in rewritten:
            if one not in kept:
                _forget(table, one.folder)
        if not kept:
            return []
        rewritten = kept
        try:
            table.commit(
                after=snapshot,
                added=[one.folder for one in kept],
                removed=[file for one in kept for file in one.files],
                about={"command": "compact"},
            )
        except ChangedMeanwhile:
            say(f"{table.table.name}: changed meanwhile; trying again")
            pause(_FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5))
            snapshot = table.snapshot()
        else:
            return kept
    for one in rewritten:
        _forget(table, one.folder)
    raise ChangedMeanwhile(_too_busy(table))


def _forget(table: LakeTable, folder: str) -> None:
    store, root = open_store(table.uri)
    store.delete_dir(f"{root}/{folder}")


def _too_busy(table: LakeTable) -> str:
    return (
        f"{table.uri}: other writers committed first {MOST_ATTEMPTS} times in a row; expected a"
        " moment without: nothing was lost, run it again when they are done"
    )


def history(table: LakeTable, limit: int | None = None) -> list[Change]:
    """The versions of a table that are kept, the newest first; none where there is no table."""
    newest = table.snapshot()
    if newest.version == NO_TABLE:
        return []
    changes = []
    known: dict[int, Snapshot | None] = {newest.version: newest}
    for entry in table.open_delta().history(limit):
        version = int(entry["version"])
        for number in (version, version - 1):
            if number not in known:
                known[number] = _kept(table, number)
        after, before = known.pop(version), known[version - 1]
        added = _difference(after, before)
        removed = _difference(before, after)
        changes.append(
            Change(
                version=version,
                time=_EPOCH + timedelta(milliseconds=int(entry["timestamp"])),
                operation=str(entry.get("operation", "")),
                note=str(entry.get("command", "")),
                rows_added=None if added is None else sum(file.rows for file in added),
                rows_removed=None if removed is None else sum(file.rows for file in removed),
                files_added=None if added is None else len(added),
                files_removed=None if removed is None else len(removed),
            )
        )
    return changes


def _kept(table: LakeTable, version: int) -> Snapshot | None:
    """A version, or nothing where its part of the log is gone."""
    if version < 0:
        return Snapshot(version=NO_TABLE)
    try:
        return table.snapshot(version)
    except InvalidInput:
        return None


def _difference(one: Snapshot | None, other: Snapshot | None) -> list[DataFile] | None:
    """Files of one that the other has not."""
    if one is None or other is None:
        return None
    there = {file.path for file in other.files}
    return [file for file in one.files if file.path not in there]
