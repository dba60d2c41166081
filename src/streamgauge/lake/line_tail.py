"""Lines of raw metrics as they are written: what files of a folder have gained since last time.

Plain files are read while they grow, also under the names that begin with a dot which agents give
to files in writing; when such a file gets its final name, reading goes on where it was. Compressed
files are read once they have their final names. A line counts once it has its end.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamgauge.lake.raw import MOST_LINE_LENGTH

PLAIN, COMPRESSED = ".jsonl", ".jsonl.gz"
CHUNK_BYTES = 4 * 2**20
# Of files that were there before, those count that changed in so many seconds before the last.
RECENT_SECONDS = 900.0


@dataclass(slots=True)
class _Known:
    """How far a file is read."""

    name: str
    offset: int = 0


class LineTail:
    """What comes new in a folder and the folders below it.

    Args:
        folder: It need not exist yet.
        recent_seconds: Files that are there at the first time are left out where they were last
            changed so long before the newest of them.
    """

    def __init__(self, folder: Path, recent_seconds: float = RECENT_SECONDS) -> None:
        self.folder = folder
        self._recent = recent_seconds
        # By device and inode: a name changes when a file is finished, they do not.
        self._known: dict[tuple[int, int], _Known] = {}
        self._is_first = True
        self.faults: dict[str, str] = {}

    def read(self) -> Iterator[bytes]:
        """All whole lines that are new, file by file, without their ends."""
        files = self._list()
        if self._is_first and files:
            newest = max(status.st_mtime for _, status in files)
            for path, status in files:
                if status.st_mtime < newest - self._recent:
                    self._known[status.st_dev, status.st_ino] = _Known(path.name, status.st_size)
            self._is_first = False
        present = {(status.st_dev, status.st_ino) for _, status in files}
        self._known = {key: one for key, one in self._known.items() if key in present}
        for path, status in files:
            known = self._recognise(path.name, status)
            if status.st_size > known.offset:
                yield from self._read_file(path, known)

    def _list(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for place, _, names in os.walk(self.folder):
            for name in sorted(names):
                hidden = name.startswith((".", "_"))
                if name.endswith(PLAIN) or (name.endswith(COMPRESSED) and not hidden):
                    path = Path(place, name)
                    try:
                        found.append((path, path.stat()))
                    except OSError:
                        # It has just got its final name, or is gone.
                        continue
        return found

    def _recognise(self, name: str, status: os.stat_result) -> _Known:
        """How far a file is read; one that took the place of another begins anew."""
        key = (status.st_dev, status.st_ino)
        known = self._known.get(key)
        is_same = known is not None and known.name in (name, f".{name}")
        if known is None or not is_same or status.st_size < known.offset:
            known = self._known[key] = _Known(name)
        known.name = name
        return known

    def _read_file(self, path: Path, known: _Known) -> Iterator[bytes]:
        try:
            if path.name.endswith(COMPRESSED):
                # Whole, as it never changes any more.
                known.offset = path.stat().st_size
                with gzip.open(path, "rb") as stream:
                    yield from (line.rstrip(b"\n") for line in stream)
            else:
                yield from self._read_plain(path, known)
        except (OSError, EOFError, zlib.error) as error:
            self.faults[str(path)] = str(error)

    def _read_plain(self, path: Path, known: _Known) -> Iterator[bytes]:
        rest = b""
        with path.open("rb") as stream:
            stream.seek(known.offset)
            while chunk := stream.read(CHUNK_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                known.offset += sum(len(line) + 1 for line in lines)
                yield from lines
                if len(rest) > MOST_LINE_LENGTH:
                    # No record is so long: what follows up to the next end is refused as a line.
                    known.offset += len(rest)
                    yield rest
                    rest = b""
