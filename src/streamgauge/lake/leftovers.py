"""What a lake no longer needs, and taking it away.

A file of a table is needed by its newest version, and by every version that was the newest one at
some time within the retention. All others were removed from the table, or never came into it: a
writer was killed before its commit. A writer that still runs has files that are in no version
either; they are told apart by age, taking a writer's folder as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

from pyarrow import fs

from streamgauge.errors import InvalidInput
from streamgauge.lake.tables import LOG, Lake, LakeTable
from streamgauge.lake.uris import is_local, joined, open_store

LEAST_HOURS = 1.0
# Where an ingest keeps what it has read and not yet compared.
STAGING = "_staging"
_CHECKSUM = ".crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A file that nobody needs any more.

    Attributes:
        place: The table it lies under, or the staging folder.
        path: Within the lake.
    """

    place: str
    path: str
    bytes: int
    modified_at: datetime

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"modified_at": self.modified_at.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A file or folder below a place, by its path within the place."""

    path: str
    bytes: int
    modified_at: datetime
    is_file: bool

    @property
    def subject(self) -> str:
        """What it belongs to: a checksum to its file, all else to itself."""
        folder, slash, name = self.path.rpartition("/")
        if name.startswith(".") and name.endswith(_CHECKSUM):
            return f"{folder}{slash}{name[1 : -len(_CHECKSUM)]}"
        return self.path

    @property
    def writer(self) -> str:
        """The folder that one writer makes in one go, or the file itself."""
        first = self.path.partition("/")[0]
        return self.path if "=" in first else first


def check_retention(hours: float, *, force: bool = False) -> None:
    """Refuse a retention that running ingests and readers may not survive.

    Raises:
        InvalidInput: It is too short.
    """
    if hours < 0 or (hours < LEAST_HOURS and not force):
        raise InvalidInput.single(
            ("older_than",),
            seen=f"{hours:g} hours",
            expected=f"at least {LEAST_HOURS:g}, and more than any ingest or reader takes",
            remedy="use --force if no other process uses the lake" if hours >= 0 else "",
        )


def find_leftovers(lake: Lake, cutoff: datetime) -> list[Leftover]:
    """Files that no version since `cutoff` needs, and that were not written since."""
    found: list[Leftover] = []
    for table in lake.tables():
        found += _table_leftovers(lake, table, cutoff)
    found += _staging_leftovers(lake, cutoff)
    return found


def remove_leftovers(lake: Lake, leftovers: Sequence[Leftover], cutoff: datetime) -> int:
    """Delete files, and folders that are empty then or were before `cutoff`.

    Returns:
        Folders that went.
    """
    store, root = open_store(lake.uri)
    for one in leftovers:
        # Another one may be at it, too.
        with suppress(FileNotFoundError):
            store.delete_file(f"{root}/{one.path}")
    if not is_local(lake.uri):
        return 0
    emptied = {parent for one in leftovers for parent in _parents(one)}
    places = [*(table.table.name for table in lake.tables()), STAGING]
    return sum(_remove_empty(lake, place, emptied, cutoff) for place in places)


def _table_leftovers(lake: Lake, table: LakeTable, cutoff: datetime) -> Iterator[Leftover]:
    # The listing comes first: what is committed after it is in the snapshot.
    entries = [one for one in _entries(table.uri) if not one.path.startswith(f"{LOG}/")]
    needed = {file.path for file in table.snapshot().files} | _removed_since(table, cutoff)
    last = _last_written(entries)
    for one in entries:
        is_old = max(one.modified_at, last[one.writer]) <= cutoff
        if one.is_file and is_old and one.subject not in needed:
            yield _leftover(lake, table.table.name, one)


def _staging_leftovers(lake: Lake, cutoff: datetime) -> Iterator[Leftover]:
    entries = list(_entries(lake.folder(STAGING)))
    last = _last_written(entries)
    for one in entries:
        if one.is_file and last[one.writer] <= cutoff:
            yield _leftover(lake, STAGING, one)


def _leftover(lake: Lake, place: str, entry: _Entry) -> Leftover:
    return Leftover(
        place=place,
        path=joined(place, entry.path),
        bytes=entry.bytes,
        modified_at=entry.modified_at,
    )


def _removed_since(table: LakeTable, cutoff: datetime) -> set[str]:
    """Files that commits after `cutoff` removed: the version before each still needs them.

    The log is read, as Delta's protocol defines it: its checkpoints forget what was removed more
    than a week ago, whatever the retention asked for.
    """
    uri = joined(table.uri, LOG)
    store, root = open_store(uri)
    removed = set()
    for one in _entries(uri):
        if one.is_file and one.path.endswith(".json") and one.modified_at > cutoff:
            text = store.open_input_stream(f"{root}/{one.path}").read().decode()
            actions = (json.loads(line) for line in text.splitlines() if line)
            removed |= {unquote(a["remove"]["path"]) for a in actions if "remove" in a}
    return removed


def _last_written(entries: Iterable[_Entry]) -> Mapping[str, datetime]:
    """When each writer last wrote something."""
    last: dict[str, datetime] = {}
    for one in entries:
        last[one.writer] = max(one.modified_at, last.get(one.writer, one.modified_at))
    return last


def _entries(uri: str) -> Iterator[_Entry]:
    """All that is below a place; nothing where there is no such place."""
    store, root = open_store(uri)
    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    for info in store.get_file_info(selector):
        # Stores of objects have no folders, or folders without a time.
        modified = info.mtime or datetime.now(UTC)
        yield _Entry(
            path=info.path[len(root) :].lstrip("/"),
            bytes=info.size or 0,
            modified_at=modified.astimezone(UTC),
            is_file=info.is_file,
        )


def _parents(leftover: Leftover) -> Iterator[str]:
    path = leftover.path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _remove_empty(lake: Lake, place: str, emptied: set[str], cutoff: datetime) -> int:
    """Remove folders below a place, the deepest first; one that is not empty resists."""
    gone = 0
    folders = [one for one in _entries(lake.folder(place)) if not one.is_file]
    for one in sorted(folders, key=lambda one: one.path.count("/"), reverse=True):
        is_log = one.path.partition("/")[0] == LOG
        if is_log or (joined(place, one.path) not in emptied and one.modified_at > cutoff):
            continue
        with suppress(OSError):
            Path(lake.folder(place, one.path)).rmdir()
            gone += 1
    return gone


def cutoff_of(now: datetime, hours: float) -> datetime:
    """The moment that lies so many hours back."""
    return now - timedelta(hours=hours)
