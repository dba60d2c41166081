"""Tables of the lake: Delta tables whose commits go through delta-rs.

A writer puts Parquet files under the table and commits them in one transaction, which counts only
if nothing was committed since the snapshot that its rows were compared with. So a reader sees all
of a batch or nothing, and of two writers at once one looks again. Reading needs no Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction
from pyarrow import fs

from streamgauge.errors import ChangedMeanwhile, InvalidInput, UnreadableFile, did_you_mean
from streamgauge.lake.schemas import PARTITION, TABLES, Table
from streamgauge.lake.uris import is_local, joined, list_files, normal, open_store
from streamgauge.topology.field_checks import MAX_NAME_LENGTH

NO_TABLE = -1
# Memory of DuckDB; what does not fit goes to a temporary folder.
MEMORY = "1GB"
# Where a table keeps what is part of it, version by version.
LOG = "_delta_log"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of a table.

    Attributes:
        path: Within the table.
        date: The partition it belongs to.
        first: Earliest time in it, of the table's `day_of`.
        last: Latest time in it.
        topologies: Least and greatest name of a topology in it, where all rows have one.
        sources: Least and greatest URI of a file that its rows came by, where that is known.
        version: Of `version`, where the table has it, what all rows hold.
    """

    path: str
    bytes: int
    rows: int
    date: date
    first: datetime | None
    last: datetime | None
    topologies: tuple[str, str] | None = None
    sources: tuple[str, str] | None = None
    version: str | None = None

    @property
    def ends_by(self) -> datetime | None:
        """A time that none in it is after: other programs cut the last to whole milliseconds."""
        if self.last is None or self.last.microsecond % 1000:
            return self.last
        return self.last + timedelta(microseconds=999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A table as it was at one version; `NO_TABLE` and no files before its first commit."""

    version: int
    files: tuple[DataFile, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    def within(
        self, first: datetime | None, last: datetime | None, topology: str | None = None
    ) -> tuple[DataFile, ...]:
        """Files that may hold rows from `first` to `last`, both included, of a topology."""
        return tuple(
            file
            for file in self.files
            if (last is None or file.first is None or file.first <= last)
            and (first is None or file.ends_by is None or file.ends_by >= first)
            and (
                topology is None
                or file.topologies is None
                or file.topologies[0] <= topology <= file.topologies[1]
            )
        )


class Lake:
    """A lake: a folder or prefix that holds the tables.

    Args:
        uri: Where it is; it need not exist before the first commit.
        options: What delta-rs needs to reach the store, such as keys and regions.
    """

    def __init__(self, uri: str | Path, options: Mapping[str, str] | None = None) -> None:
        self.uri = normal(uri)
        self.options = dict(options or {})

    def table(self, name: str) -> LakeTable:
        """The table of that name."""
        return LakeTable(self, TABLES[name])

    def tables(self, name: str | None = None) -> list[LakeTable]:
        """All tables, those not yet made included, or the one of that name.

        Raises:
            InvalidInput: There is no such table.
        """
        if name is None:
            return [self.table(one) for one in TABLES]
        if name not in TABLES:
            raise InvalidInput.single(
                ("table",),
                seen=f"unknown table {name!r}",
                expected="a table of the lake",
                remedy=did_you_mean(name, list(TABLES)),
            )
        return [self.table(name)]

    def folder(self, *parts: str) -> str:
        """A place in the lake that is no table."""
        return joined(self.uri, *parts)

    def check_exists(self) -> None:
        """Say so where nothing was ever written here.

        Raises:
            UnreadableFile: No table is there.
        """
        if all(table.snapshot().version == NO_TABLE for table in self.tables()):
            raise UnreadableFile.single(
                (),
                file=self.uri,
                seen="no tables",
                expected="a lake",
                remedy="`streamgauge ingest SOURCE --lake URI` makes one",
            )


class LakeTable:
    """One table of a lake."""

    def __init__(self, lake: Lake, table: Table) -> None:
        self.lake = lake
        self.table = table
        self.uri = lake.folder(table.name)

    @cached_property
    def file_schema(self) -> pa.Schema:
        """The columns of a file; the partition's is in its place, not in the file."""
        fields = [field.remove_metadata() for field in self.table.schema if field.name != PARTITION]
        return pa.schema(fields)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The table now, or as it was at `version`.

        Raises:
            InvalidInput: There is no such version.
        """
        found = self._open(version)
        if found is None:
            return Snapshot(version=NO_TABLE)
        actions = pa.table(found.get_add_actions(flatten=True)).to_pylist()
        files = [_data_file(one, self.table.day_of) for one in actions]
        return Snapshot(version=found.version(), files=tuple(sorted(files, key=lambda f: f.path)))

    def read(
        self,
        columns: Sequence[str] | None = None,
        where: ds.Expression | None = None,
        *,
        version: int | None = None,
    ) -> pa.RecordBatchReader:
        """Rows without Spark, a batch at a time.

        Args:
            columns: Which, in this order; all where none are named.
            where: Which rows, on any column; a condition on `date` skips whole files.
            version: Of the table; the newest where none is given.
        """
        names = list(columns) if columns is not None else self.table.schema.names
        return self.dataset(version).scanner(columns=names, filter=where).to_reader()

    def dataset(
        self, version: int | None = None, files: Iterable[DataFile] | None = None
    ) -> ds.Dataset:
        """The table, or those of its files, as a dataset of pyarrow, which DuckDB can query too."""
        store, root = open_store(self.uri)
        form = ds.ParquetFileFormat()
        fragments = [
            form.make_fragment(
                f"{root}/{file.path}", store, partition_expression=_known_of(file, self.table)
            )
            for file in (self.snapshot(version).files if files is None else files)
        ]
        schema = self.table.schema.remove_metadata()
        return ds.FileSystemDataset(fragments, schema, form, store)

    def batch_of(self, application: str) -> int | None:
        """The last batch that an application committed, where it did."""
        found = self._open(None)
        version = None if found is None else found.transaction_version(application)
        return None if version is None else int(version)

    def commit(
        self,
        *,
        after: Snapshot,
        added: Iterable[str] = (),
        removed: Iterable[DataFile] = (),
        batch: tuple[str, int] | None = None,
        about: Mapping[str, str] | None = None,
    ) -> int | None:
        """Make files part of the table, and others no longer, in one step.

        Args:
            after: The snapshot that the files were made for.
            added: Folders under the table whose files are added.
            removed: Files of the snapshot that go.
            batch: Application and number, so that a batch is committed once.
            about: What the history should say.

        Returns:
            The new version, or nothing where there was nothing to commit.

        Raises:
            ChangedMeanwhile: Another writer committed after the snapshot.
        """
        adds = [action for folder in added for action in self._added(folder)]
        removes = [_removal(file) for file in removed]
        if not adds and not removes and batch is None:
            return None
        if after.version == NO_TABLE:
            self._create()
        table = self._open(None)
        assert table is not None
        first = after.version == NO_TABLE and table.version() == 0
        if table.version() != after.version and not first:
            raise ChangedMeanwhile(self._changed())
        properties = CommitProperties(
            custom_metadata=dict(about or {}),
            max_commit_retries=0,
            app_transactions=None if batch is None else [Transaction(*batch)],
        )
        before = int(table.version())
        try:
            table.create_write_transaction(
                actions=[*adds, *removes],
                mode="append",
                schema=self.table.schema.remove_metadata(),
                partition_by=[PARTITION],
                commit_properties=properties,
            )
        except CommitFailedError:
            raise ChangedMeanwhile(self._changed()) from None
        except (DeltaError, OSError) as error:
            raise self._unwritable(error) from None
        # It counts only where it directly follows the snapshot.
        return before + 1

    def open_delta(self) -> DeltaTable:
        """The Delta table itself, for upkeep.

        Raises:
            UnreadableFile: Nothing was committed yet.
        """
        found = self._open(None)
        if found is None:
            raise UnreadableFile.single((), file=self.uri, seen="no table", expected="one")
        return found

    def _open(self, version: int | None) -> DeltaTable | None:
        try:
            return DeltaTable(self.uri, version=version, storage_options=self.lake.options or None)
        except TableNotFoundError:
            if version is None:
                return None
            raise InvalidInput.single(
                ("version",), seen=f"no table at {self.uri}", expected="a table"
            ) from None
        except (DeltaError, OSError) as error:
            expected = "a version that is still kept"
            remedy = ""
            if version is None:
                expected = "a Delta table"
                remedy = f"see `streamgauge lake repair --dry-run --lake {self.lake.uri}`"
            raise InvalidInput.single(
                ("version",) if version is not None else (),
                file=self.uri,
                seen=_cause(error),
                expected=expected,
                remedy=remedy,
            ) from None

    def _create(self) -> None:
        if is_local(self.uri):
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        try:
            DeltaTable.create(
                self.uri,
                schema=self.table.schema,
                mode="ignore",
                partition_by=[PARTITION],
                name=self.table.name,
                storage_options=self.lake.options or None,
            )
        except CommitFailedError:
            # Another writer made it at the same moment.
            raise ChangedMeanwhile(self._changed()) from None
        except (DeltaError, OSError) as error:
            raise self._unwritable(error) from None

    def rows_in(self, folder: str) -> int:
        """Rows of the files that a writer left in a folder of the table."""
        return sum(footer.num_rows for _, footer in self._footers(folder))

    def _footers(self, folder: str) -> Iterator[tuple[fs.FileInfo, pq.FileMetaData]]:
        store, _ = open_store(self.uri)
        for info in list_files(joined(self.uri, folder)):
            if not info.base_name.startswith((".", "_")):
                with store.open_input_file(info.path) as file:
                    yield info, pq.ParquetFile(file).metadata

    def _added(self, folder: str) -> list[AddAction]:
        """What to commit for the files that a writer left in a folder of the table."""
        _, root = open_store(self.uri)
        actions = []
        for info, footer in self._footers(folder):
            if not footer.num_rows:
                continue
            inside = info.path[len(root) :].lstrip("/")
            day = next(part for part in inside.split("/") if part.startswith(f"{PARTITION}="))
            actions.append(
                AddAction(
                    path=inside,
                    size=info.size,
                    partition_values={PARTITION: day.partition("=")[2]},
                    modification_time=int(info.mtime_ns // 10**6),
                    data_change=True,
                    stats=json.dumps(_statistics(footer)),
                )
            )
        return actions

    def _unwritable(self, error: Exception) -> InvalidInput:
        return UnreadableFile.single(
            (), file=self.uri, seen=_cause(error), expected="a table that can be written"
        )

    def _changed(self) -> str:
        return f"{self.uri}: another writer committed meanwhile"


@contextmanager
def open_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of bounded memory that leaves nothing behind.

    Raises:
        InvalidInput: The memory is not enough, the disk included.
    """
    with TemporaryDirectory(prefix="streamgauge-") as folder:
        connection = duckdb.connect(
            ":memory:", config={"memory_limit": MEMORY, "temp_directory": folder}
        )
        try:
            yield connection
        except duckdb.OutOfMemoryException:
            raise InvalidInput.single(
                (),
                seen=f"more than {MEMORY} of memory needed, and no room for the rest in {folder}",
                expected="less",
                remedy="take a shorter period or fewer names, or let TMPDIR name a larger disk",
            ) from None
        finally:
            connection.close()


@contextmanager
def readable(uri: str) -> Iterator[None]:
    """Say so where a file of the lake is gone or damaged.

    Raises:
        UnreadableFile: One is.
    """
    try:
        yield
    except (duckdb.InvalidInputException, pa.ArrowInvalid, FileNotFoundError) as error:
        raise UnreadableFile.single(
            (),
            file=uri,
            seen=str(error).splitlines()[0],
            expected="all files of the version",
            remedy="where a vacuum ran meanwhile, ask again; else see `streamgauge lake repair"
            f" --dry-run --lake {uri}`",
        ) from None


def _cause(error: Exception) -> str:
    """The innermost cause that an error of the library names, which it paints on several lines."""
    lines = re.sub(r"\x1b\[\d+m|↳", "", str(error)).splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), type(error).__name__)


def _known_of(file: DataFile, table: Table) -> ds.Expression:
    """What is true of every row of a file, so that files need not be opened in vain."""
    known = ds.field(PARTITION) == file.date
    if file.first is not None and file.ends_by is not None:
        time = ds.field(table.day_of)
        known &= (time >= file.first) & (time <= file.ends_by)
    return known


def _statistics(footer: pq.FileMetaData) -> dict[str, Any]:
    """Rows of a file, and the ends of its plain columns, as Delta writes them."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for place in range(footer.num_columns):
        groups = [footer.row_group(i).column(place) for i in range(footer.num_row_groups)]
        name = groups[0].path_in_schema
        known = [one.statistics for one in groups if one.statistics is not None]
        if "." in name or len(known) < len(groups):
            continue
        if all(one.has_null_count for one in known):
            nulls[name] = sum(one.null_count for one in known)
        ends = [one for one in known if one.has_min_max]
        values = [value for one in ends for value in (one.min, one.max)]
        if values and all(_is_short(value) for value in values):
            least[name], most[name] = _written(min(values)), _written(max(values))
    return {
        "numRecords": footer.num_rows,
        "minValues": least,
        "maxValues": most,
        "nullCount": nulls,
    }


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_NAME_LENGTH
    return isinstance(value, int | float | datetime)


def _written(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _data_file(action: Mapping[str, Any], day_of: str) -> DataFile:
    return DataFile(
        path=action["path"],
        bytes=action["size_bytes"],
        rows=action["num_records"],
        date=action[f"partition.{PARTITION}"],
        first=action.get(f"min.{day_of}"),
        last=action.get(f"max.{day_of}"),
        topologies=_ends(action, "topology"),
        sources=_ends(action, "file"),
        version=_version(action),
    )


def _ends(action: Mapping[str, Any], column: str) -> tuple[str, str] | None:
    """Least and greatest value of a column, where all rows have one."""
    if action.get(f"null_count.{column}") != 0 or action.get(f"min.{column}") is None:
        return None
    return action[f"min.{column}"], action[f"max.{column}"]


def _version(action: Mapping[str, Any]) -> str | None:
    least, most = action.get("min.version"), action.get("max.version")
    return least if isinstance(least, str) and least == most else None


def _removal(file: DataFile) -> RemoveAction:
    return RemoveAction(
        path=file.path,
        data_change=True,
        deletion_timestamp=int(datetime.now(UTC).timestamp() * 1000),
        size=file.bytes,
        partition_values={PARTITION: file.date.isoformat()},
    )
