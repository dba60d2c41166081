"""Which files an ingest reads, and in which parts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow.dataset as ds

from streamgauge.lake.line_blocks import COMPRESSED
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import list_files, normal, uri_in

PART_BYTES = 32 * 2**20
# What one task reads at most: its rows fill about one file of a table.
TASK_BYTES = 256 * 2**20
# Text packs about this well.
_PACKED = 10
LINE_FILES = (".jsonl", ".jsonl.gz")
_HIDDEN = (".", "_")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Part = tuple[str, int, int | None, int, datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to be read.

    Attributes:
        uri: Where it is.
        bytes: Its size.
        modified_at: When it was last written.
        received_at: When it counts as received.
    """

    uri: str
    bytes: int
    modified_at: datetime
    received_at: datetime

    def parts(self) -> list[Part]:
        """Its parts as rows of `PARTS`; a compressed file has one."""
        same = (self.bytes, self.modified_at, self.received_at)
        if self.uri.endswith(COMPRESSED) or self.bytes <= PART_BYTES:
            return [(self.uri, 0, None, *same)]
        starts = range(0, self.bytes, PART_BYTES)
        return [(self.uri, start, PART_BYTES, *same) for start in starts]


def tasks_of(files: Iterable[InputFile], cores: int) -> list[list[Part]]:
    """The parts of files in groups of about equal size, one a task; small files go together."""
    weights = {part: _weight(part) for file in files for part in file.parts()}
    share = sum(weights.values()) // (2 * cores)
    most = min(max(share, PART_BYTES), TASK_BYTES)
    tasks: list[list[Part]] = []
    filled = most
    for part, weight in weights.items():
        if filled + weight // 2 >= most:
            tasks.append([])
            filled = 0
        tasks[-1].append(part)
        filled += weight
    return tasks


def _weight(part: Part) -> int:
    """Bytes of text that a part has, about."""
    uri, _, length, size, *_ = part
    return length or size * (_PACKED if uri.endswith(COMPRESSED) else 1)


def find_files(
    sources: Sequence[str],
    endings: Sequence[str] = LINE_FILES,
    received_at: datetime | None = None,
) -> list[InputFile]:
    """The files that sources name: themselves, or all in a folder whose names end so.

    Files that are named are taken whatever their endings; in folders, names that begin with a dot
    or an underscore are still being written. A file named twice is one.

    Raises:
        UnreadableFile: A source does not exist.
    """
    found: dict[str, InputFile] = {}
    for source in sources:
        uri = normal(source)
        for info in list_files(uri):
            place = uri_in(uri, info.path)
            named = place == uri
            inside = info.path[len(uri) :] if not named else info.base_name
            hidden = any(part.startswith(_HIDDEN) for part in inside.split("/") if part)
            if not named and (hidden or not info.base_name.endswith(tuple(endings))):
                continue
            modified = EPOCH + timedelta(microseconds=info.mtime_ns // 1000)
            found[place] = InputFile(
                uri=place,
                bytes=info.size,
                modified_at=modified,
                received_at=received_at or modified,
            )
    return [found[uri] for uri in sorted(found)]


def known_files(lake: Lake, files: Iterable[InputFile]) -> dict[str, int]:
    """Of files that are in the lake already, just as they are now: how many lines they have."""
    wanted = {file.uri: file for file in files}
    names = sorted(wanted)
    table = lake.table("files")
    # Every ingest leaves a file of this table: only those are opened that may tell of a wanted one.
    near = [
        one
        for one in table.snapshot().files
        if one.sources is None
        or bisect_left(names, one.sources[0]) < bisect_right(names, one.sources[1])
    ]
    columns = ["file", "bytes", "modified_at", "received_at", "rows", "fault"]
    found = table.dataset(files=near).to_table(columns, filter=ds.field("file").isin(names))
    known = {}
    for row in found.to_pylist():
        file = wanted[row["file"]]
        same = (file.bytes, file.modified_at, file.received_at) == (
            row["bytes"],
            row["modified_at"],
            row["received_at"],
        )
        if same and row["fault"] is None:
            known[file.uri] = row["rows"]
    return known
