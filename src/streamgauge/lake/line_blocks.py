"""Blocks of whole lines out of a file or a part of it, plain or compressed with gzip.

A part of a plain file has the lines that begin in it; the last one may end beyond. A line longer
than any record may be is cut, so that no file can fill the memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from streamgauge.lake.raw import MOST_LINE_LENGTH
from streamgauge.lake.uris import open_store

CHUNK_BYTES = 4 * 2**20
# What is kept of a line that is too long; the rest stays in its file.
KEPT_BYTES = 2**20
COMPRESSED = ".gz"


class _Seekable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, /) -> int: ...


@dataclass(slots=True)
class LineBlocks:
    """The lines of a file from `offset` on, as long as they begin before `offset + length`.

    Attributes:
        uri: Of the file.
        offset: Where the part begins; zero for a compressed file.
        length: How long it is; nothing for all of it.
        lines: Lines given so far.
        fault: Why reading ended early, where it did.
        cut: Lines that were too long, by their place among all, with their true length.
    """

    uri: str
    offset: int = 0
    length: int | None = None
    lines: int = 0
    fault: str | None = None
    cut: dict[int, int] = field(default_factory=dict)

    def blocks(self) -> Iterator[list[bytes]]:
        """Lists of lines without their ends; a fault ends them, and is kept."""
        try:
            store, path = open_store(self.uri)
            with store.open_input_file(path) as file:
                if self.uri.endswith(COMPRESSED):
                    with gzip.GzipFile(fileobj=file) as unpacked:
                        # What there is, so that a damaged end does not take what is before it.
                        yield from self._all(unpacked.read1)
                else:
                    self._go_to_first_line(file)
                    yield from self._all(file.read)
        except (OSError, EOFError, zlib.error) as error:
            # Truncated or damaged, gone, or not readable. What was read before is good.
            self.fault = f"{type(error).__name__}: {error}"

    def _go_to_first_line(self, file: _Seekable) -> None:
        """Skip the line that the part before this one reads to its end."""
        if not self.offset:
            return
        file.seek(self.offset - 1)
        skipped = 0
        while True:
            chunk = file.read(2**16)
            end = chunk.find(b"\n")
            if end >= 0 or not chunk:
                break
            skipped += len(chunk)
        begin = self.offset + skipped + max(end, 0)
        if not chunk:
            begin = self.offset + skipped
        if self.length is not None:
            self.length -= begin - self.offset
        file.seek(begin)

    def _all(self, read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
        left = self.length
        rest = b""
        dropped = 0
        while left is None or left > 0:
            chunk = read(CHUNK_BYTES)
            if not chunk:
                if rest or dropped:
                    yield self._given([rest], dropped)
                return
            pieces = chunk.split(b"\n")
            pieces[0] = rest + pieces[0]
            rest = pieces.pop()
            if pieces:
                ready, left = _beginning_within(pieces, left, dropped)
                if ready:
                    yield self._given(ready, dropped)
                dropped = 0
            if len(rest) > MOST_LINE_LENGTH or dropped:
                dropped += max(len(rest) - KEPT_BYTES, 0)
                rest = rest[:KEPT_BYTES]

    def _given(self, lines: list[bytes], dropped: int) -> list[bytes]:
        """Note lines as given; `dropped` bytes of the first were left out."""
        if dropped:
            self.cut[self.lines] = len(lines[0]) + dropped
            lines[0] = lines[0][:KEPT_BYTES]
        self.lines += len(lines)
        return lines


def _beginning_within(
    lines: list[bytes], left: int | None, dropped: int
) -> tuple[list[bytes], int | None]:
    """The lines that begin before the part ends, and what is left of the part after them."""
    if left is None:
        return lines, None
    for number, line in enumerate(lines):
        if left <= 0:
            return lines[:number], 0
        left -= len(line) + 1 + (dropped if number == 0 else 0)
    return lines, left
