"""Damaged files of a lake: which they are, and taking them out so that their sources count anew.

A data file that cannot be read to its end leaves its table in one commit. A broken entry of a
table's log takes the table back to the version before that entry. The deliveries that lost rows
may have come by are forgotten first, so that the next ingest reads them again; rows that are still
there are duplicates then. So nothing healthy is lost or brought twice, and after a kill at any
moment the same damage is found again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.schemas import FILES, PARTITION
from streamgauge.lake.tables import LOG, NO_TABLE, DataFile, Lake, LakeTable, Snapshot
from streamgauge.lake.uris import is_local, open_store

_ABOUT = {"command": "repair"}
_LAST_CHECKPOINT = "_last_checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file of a table that cannot be read, or holds other rows than the table's log says.

    Attributes:
        path: Of the file, within the table.
        file: What the log says of it; nothing for a file of the log itself.
        loses_rows: Whether rows are lost with it; not with a checkpoint, which sums up the log.
    """

    table: str
    path: str
    fault: str
    file: DataFile | None = None
    loses_rows: bool = True

    @property
    def rows(self) -> int | None:
        """Rows that it should hold, where that is known."""
        return None if self.file is None else self.file.rows

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        return {name: getattr(self, name) for name in ("table", "path", "fault", "rows")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a repair found; it was mended unless the repair only looked.

    Attributes:
        damage: Files that leave their tables.
        sources: Deliveries that are forgotten, so that the next ingest reads them again.
        gone: Those of the sources that are local files and no longer there.
    """

    damage: tuple[Damage, ...]
    sources: tuple[str, ...]
    gone: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """A record for programs."""
        return {
            "damage": [damage.to_dict() for damage in self.damage],
            "sources": list(self.sources),
            "gone": list(self.gone),
        }


def repair(lake: Lake, *, dry_run: bool = False) -> Repair:
    """Find damaged files, forget the deliveries they came by, and take them out of their tables.

    A dry run only looks.

    Raises:
        UnreadableFile: There is no lake.
        ChangedMeanwhile: Another writer committed meanwhile; run it again when that is done.
    """
    try:
        lake.check_exists()
    except UnreadableFile:
        raise
    except InvalidInput:
        # A table with a broken log: there is a lake.
        pass
    examined = [_examine(table, dry_run=dry_run) for table in lake.tables()]
    damage = tuple(damaged for table in examined for damaged in table.damage)
    deliveries = next(table for table in examined if table.table.table is FILES)
    is_suspect = _suspicion(damage)
    known = {name for file in deliveries.intact for name in _sources_in(deliveries.table, file)}
    sources = sorted(filter(is_suspect, known))
    if not dry_run:
        # The deliveries first: after a kill, the rest of the damage is found again.
        for table in sorted(examined, key=lambda table: table is not deliveries):
            table.mend(is_suspect)
    gone = (source for source in sources if is_local(source) and not Path(source).exists())
    return Repair(damage=damage, sources=tuple(sources), gone=tuple(gone))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examined:
    """A table with the damage that was found in it.

    Attributes:
        snapshot: The newest version that can be read without them.
        files: Damaged data files of that version.
    """

    table: LakeTable
    log: Sequence[Damage]
    snapshot: Snapshot
    files: Sequence[Damage]

    @property
    def damage(self) -> Iterator[Damage]:
        yield from self.log
        yield from self.files

    @property
    def intact(self) -> list[DataFile]:
        """Data files that are as they should be."""
        damaged = {damage.path for damage in self.files}
        return [file for file in self.snapshot.files if file.path not in damaged]

    def mend(self, is_forgotten: Callable[[str], bool]) -> None:
        """Put the damaged part of the log aside, and take damaged files out of the table.

        Args:
            is_forgotten: Which sources leave the table of deliveries.
        """
        _put_aside(self.table, self.log)
        removed = [damage.file for damage in self.files if damage.file is not None]
        added = []
        for file in self.intact if self.table.table is FILES else ():
            if any(map(is_forgotten, _sources_in(self.table, file))):
                removed.append(file)
                added += _rewrite_without(self.table, file, is_forgotten)
        if removed:
            self.table.commit(after=self.snapshot, added=added, removed=removed, about=_ABOUT)


def _examine(table: LakeTable, *, dry_run: bool) -> _Examined:
    log, lost_from = _damaged_log(table)
    checkpoints = [damage for damage in log if not damage.loses_rows]
    if not dry_run:
        # Nothing can be read beside a damaged one, and nothing is lost without it.
        _put_aside(table, checkpoints)
    if lost_from == 0 or (checkpoints and dry_run):
        snapshot = Snapshot(version=NO_TABLE)
    else:
        snapshot = table.snapshot(None if lost_from is None else lost_from - 1)
    files = [
        Damage(table=table.table.name, path=file.path, fault=fault, file=file)
        for file in snapshot.files
        if (fault := _fault_of(table, file))
    ]
    return _Examined(table=table, log=log, snapshot=snapshot, files=files)


def _fault_of(table: LakeTable, file: DataFile) -> str:
    """What is wrong with a data file, which is read to its end; nothing where it is fine."""

    def count_rows(stream: pa.NativeFile) -> None:
        rows = sum(len(batch) for batch in pq.ParquetFile(stream).iter_batches())
        if rows != file.rows:
            raise ValueError(f"{rows:,} rows in place of {file.rows:,}")

    return _fault(table, file.path, count_rows)


def _damaged_log(table: LakeTable) -> tuple[list[Damage], int | None]:
    """Files of the log that go, and the version they begin with where versions are lost.

    All entries from the first damaged one on go. Entries that a checkpoint sums up are not needed.
    """
    name = table.table.name
    entries, checkpoints = _log_files(table)
    damage = [
        Damage(table=name, path=path, fault=fault, loses_rows=False)
        for path in checkpoints.values()
        if (fault := _fault(table, path, pq.read_metadata))
    ]
    broken = {part.path for part in damage}
    if broken:
        path = f"{LOG}/{_LAST_CHECKPOINT}"
        fault = "names a damaged file"
        damage.append(Damage(table=name, path=path, fault=fault, loses_rows=False))
    whole = [version for version, path in checkpoints.items() if path not in broken]
    for version in range(max(whole, default=-1) + 1, max(entries, default=-1) + 1):
        path = entries.get(version, f"{LOG}/{version:020}.json")
        fault = _fault(table, path, _parse)
        if fault:
            damage.append(Damage(table=name, path=path, fault=fault))
            damage += [
                Damage(table=name, path=later, fault="follows a damaged entry")
                for number, later in sorted(entries.items())
                if number > version
            ]
            return damage, version
    return damage, None


def _log_files(table: LakeTable) -> tuple[dict[int, str], dict[int, str]]:
    """Entries and checkpoints of a table's log by version, as paths within the table."""
    entries: dict[int, str] = {}
    checkpoints: dict[int, str] = {}
    store, root = open_store(f"{table.uri}/{LOG}")
    for info in store.get_file_info(fs.FileSelector(root, allow_not_found=True)):
        version, _, kind = info.base_name.partition(".")
        if version.isdecimal() and kind == "json":
            entries[int(version)] = f"{LOG}/{info.base_name}"
        elif version.isdecimal() and kind.endswith("parquet"):
            checkpoints[int(version)] = f"{LOG}/{info.base_name}"
    return entries, checkpoints


def _fault(table: LakeTable, path: str, read: Callable[[pa.NativeFile], object]) -> str:
    """What is wrong with a file of a table; nothing where it can be read."""
    store, root = open_store(table.uri)
    try:
        with store.open_input_file(f"{root}/{path}") as stream:
            read(stream)
    except FileNotFoundError:
        return "no such file"
    except (OSError, ValueError, pa.ArrowException) as error:
        return str(error).splitlines()[0]
    return ""


def _parse(stream: pa.NativeFile) -> None:
    lines = stream.read().decode().splitlines()
    if not lines:
        raise ValueError("an empty file")
    for line in lines:
        json.loads(line)


def _put_aside(table: LakeTable, log: Iterable[Damage]) -> None:
    """Move damaged files of the log to where `lake vacuum` removes them in the end.

    The last entry goes first: what is left is a log at any moment.
    """
    store, root = open_store(table.uri)
    folder = f"{root}/damaged-{uuid4().hex}"
    for damage in sorted(log, key=lambda damage: damage.path, reverse=True):
        if store.get_file_info(f"{root}/{damage.path}").is_file:
            store.create_dir(folder, recursive=True)
            store.move(f"{root}/{damage.path}", f"{folder}/{damage.path.rpartition('/')[2]}")


def _suspicion(damage: Iterable[Damage]) -> Callable[[str], bool]:
    """Tells for a source whether rows that came by it may be lost."""
    lost = [part for part in damage if part.loses_rows and part.table != FILES.name]
    ranges = [None if part.file is None else part.file.sources for part in lost]

    def is_suspect(source: str) -> bool:
        return any(ends is None or ends[0] <= source <= ends[1] for ends in ranges)

    return is_suspect


def _sources_in(deliveries: LakeTable, file: DataFile) -> list[str]:
    store, root = open_store(deliveries.uri)
    rows = pq.read_table(f"{root}/{file.path}", columns=["file"], filesystem=store)
    return [str(source) for source in rows["file"].to_pylist()]


def _rewrite_without(
    table: LakeTable, file: DataFile, is_forgotten: Callable[[str], bool]
) -> list[str]:
    """Write the rows of a file but those of forgotten sources; gives the folder of those left."""
    store, root = open_store(table.uri)
    rows = pq.read_table(f"{root}/{file.path}", schema=table.file_schema, filesystem=store)
    kept = rows.filter(pa.array([not is_forgotten(name) for name in rows["file"].to_pylist()]))
    if not len(kept):
        return []
    folder = f"part-{uuid4().hex}"
    place = f"{root}/{folder}/{PARTITION}={file.date.isoformat()}"
    store.create_dir(place, recursive=True)
    target = f"{place}/{uuid4().hex}.zstd.parquet"
    pq.write_table(kept, target, filesystem=store, compression="zstd")
    return [folder]
