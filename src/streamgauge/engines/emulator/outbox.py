"""The folder that an emulation writes to: every file whole, or not there at all.

Files are written under names that begin with a dot, which receivers ignore, and get their final
names together at the very end. A marker says that a folder is an emulation's own: such a folder may
be written again, any other that holds something is left alone.
"""

from __future__ import annotations

import errno
import gzip
import math
import re
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from streamgauge.engines.writing import lock_file, report_write_errors
from streamgauge.errors import InvalidInput
from streamgauge.lake.raw import encode
from streamgauge.lake.records import Event, Link, Plan, Record, Sample, SampleGroup, Trace
from streamgauge.topology.field_checks import format_value

MARKER = ".emulated"
# The raw format asks writers to begin a new file at this size before compression.
MOST_BYTES = 64 * 2**20
MOST_BUCKETS = 60
# By the type of their records; a number takes the place of the braces where files follow each
# other. The order is that of the final renaming: where the events are, everything is.
NAMES = {
    Sample.type: "samples-{:04d}.jsonl.gz",
    Trace.type: "traces.jsonl.gz",
    Link.type: "links.jsonl",
    Plan.type: "plans.jsonl",
    Event.type: "events.jsonl",
}
_OWN = re.compile(r"\.?(samples-\d{4,}\.jsonl\.gz|traces\.jsonl\.gz|(links|plans|events)\.jsonl)")


class Outbox:
    """Takes records and puts each into the file of its type; used as a context.

    Leaving the context without `commit` removes everything that was written.

    Args:
        folder: Made where it does not exist.
        most_bytes: Size before compression at which samples go on in the next file.
        most_buckets: Buckets after which they do.
    """

    def __init__(
        self, folder: Path, *, most_bytes: int = MOST_BYTES, most_buckets: int = MOST_BUCKETS
    ) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._most_buckets = most_buckets
        self._buckets = 0
        self._open: dict[str, _File] = {}
        self._written: dict[str, list[Path]] = {kind: [] for kind in NAMES}
        self._lock: IO[bytes] | None = None
        self._made_folder = False
        self._made_marker = False

    def __enter__(self) -> Outbox:
        with report_write_errors(self.folder):
            self._made_folder = _make(self.folder)
            try:
                self._claim()
            except BaseException:
                self._release()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            with suppress(OSError):
                file.close()
        for path in (path for paths in self._written.values() for path in paths):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        self._release()

    def write(self, record: Record, room: float = math.inf) -> int:
        """Add a record to the file of its type, where its line is no longer than `room`.

        Returns:
            Bytes that were written before compression.

        Raises:
            InvalidInput: A receiver would reject it.
            UnreadableFile: The disk is full, or the folder cannot be written any more.
        """
        kind = Sample.type if isinstance(record, SampleGroup) else record.type
        line = encode(record).encode("ascii") + b"\n"
        if len(line) > room:
            return 0
        with report_write_errors(self.folder):
            file = self._open.get(kind) or self._begin(kind)
            file.write(line)
            if kind == Sample.type and file.size >= self._most_bytes:
                self._end(kind)
        return len(line)

    def end_bucket(self) -> None:
        """All samples of a bucket are written: perhaps the next go into another file."""
        self._buckets += 1
        if self._buckets >= self._most_buckets:
            self._buckets = 0
            if Sample.type in self._open:
                with report_write_errors(self.folder):
                    self._end(Sample.type)

    def commit(self) -> None:
        """Give all files their final names, in place of those of an earlier emulation."""
        with report_write_errors(self.folder):
            for kind in list(self._open):
                self._end(kind)
            for path in self._present():
                if not path.name.startswith("."):
                    path.unlink()
            self._made_folder = self._made_marker = False
            for paths in self._written.values():
                while paths:
                    paths[0].replace(paths[0].with_name(paths[0].name[1:]))
                    del paths[0]

    def _claim(self) -> None:
        """Mark the folder as ours, and keep other emulations out while this one lasts."""
        self._check_own()
        marker = self.folder / MARKER
        self._made_marker = not marker.exists()
        busy = InvalidInput.single(
            (),
            file=str(self.folder),
            seen="another emulation that is writing there",
            expected="a folder for each",
            remedy="name another folder, or wait",
        )
        self._lock = lock_file(marker, busy)
        for path in self._present():
            if path.name.startswith("."):
                # Of an emulation that was killed.
                path.unlink()

    def _check_own(self) -> None:
        names = sorted(path.name for path in self.folder.iterdir())
        foreign = [name for name in names if name != MARKER and not _OWN.fullmatch(name)]
        if names and MARKER not in names:
            foreign = names
        if foreign:
            raise InvalidInput.single(
                (),
                file=str(self.folder),
                seen=f"a folder that holds {format_value(foreign[0])}",
                expected="an empty folder, a new one, or one that only an emulation wrote to",
                remedy="name another folder",
            )

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
        with suppress(OSError):
            if self._made_marker:
                (self.folder / MARKER).unlink(missing_ok=True)
            if self._made_folder:
                self.folder.rmdir()

    def _present(self) -> list[Path]:
        return [path for path in sorted(self.folder.iterdir()) if _OWN.fullmatch(path.name)]

    def _begin(self, kind: str) -> _File:
        number = len(self._written[kind]) + 1
        path = self.folder / f".{NAMES[kind].format(number)}"
        self._written[kind].append(path)
        self._open[kind] = _File(path)
        return self._open[kind]

    def _end(self, kind: str) -> None:
        self._open.pop(kind).close()


class _File:
    """A new file, compressed where its name ends so; the same lines give the same bytes."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        with ExitStack() as stack:
            plain = stack.enter_context(path.open("xb"))
            self._stream: IO[bytes] | gzip.GzipFile = plain
            if path.suffix == ".gz":
                # No name and no time in the head: both differ from run to run.
                self._stream = stack.enter_context(
                    gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)
                )
            self._closing = stack.pop_all()

    def write(self, line: bytes) -> None:
        self._stream.write(line)
        self.size += len(line)

    def close(self) -> None:
        self._closing.close()


def _make(folder: Path) -> bool:
    """Make a folder; whether it was not there."""
    if folder.is_dir():
        return False
    if folder.exists():
        raise NotADirectoryError(errno.ENOTDIR, "a file")
    folder.mkdir(parents=True)
    return True
