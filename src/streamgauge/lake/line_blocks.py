"""Blocks of whole lines out of a file or a part of it, plain or compressed with gzip.

A part of a plain file has the lines that begin in it; the last one may end beyond. A line longer
than any record may be is cut, so that no file can fill the memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from streamgauge.lake.raw import MOST_LINE_LENGTH
from streamgauge.lake.uris import open_store

CHUNK_BYTES = 4 * 2**20
# What is kept of a line that is too long; the rest stays in its file.
KEPT_BYTES = 2**20
COMPRESSED = ".gz"


class LineBlock(Sequence[bytes]):
    """Lines as they lie in one piece of text, which is split when somebody wants to see them.

    Args:
        text: The lines, without the end of the last one.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.text.split(b"\n")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where lines begin in the text."""
        letters = np.frombuffer(self.text, dtype=np.uint8)
        return np.append(0, np.flatnonzero(letters == ord("\n")) + 1)

    def letters(self, place: int) -> NDArray[np.uint8]:
        """The bytes at this place of lines, of all that are so long and of some that are not."""
        places = self.starts + place
        return np.frombuffer(self.text, dtype=np.uint8)[places[places < len(self.text)]]

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        return self._lines[place]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines)


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

    def blocks(self) -> Iterator[Sequence[bytes]]:
        """Lines without their ends, many at a time; a fault ends them, and is kept."""
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

    def _all(self, read: Callable[[int], bytes]) -> Iterator[Sequence[bytes]]:
        left = self.length
        rest = b""
        dropped = 0
        while left is None or left > 0:
            chunk = read(CHUNK_BYTES)
            if not chunk:
                if rest or dropped:
                    yield self._given(rest, dropped)
                return
            end = chunk.rfind(b"\n")
            if end < 0:
                rest += chunk
            else:
                text, left = _beginning_within(rest + chunk[:end], left, dropped)
                yield self._given(text, dropped)
                rest, dropped = chunk[end + 1 :], 0
            if len(rest) > MOST_LINE_LENGTH or dropped:
                dropped += max(len(rest) - KEPT_BYTES, 0)
                rest = rest[:KEPT_BYTES]

    def _given(self, text: bytes, dropped: int) -> Sequence[bytes]:
        """Note lines as given; `dropped` bytes of the first were left out."""
        lines: Sequence[bytes] = LineBlock(text)
        if dropped:
            first, *others = lines
            self.cut[self.lines] = len(first) + dropped
            lines = [first[:KEPT_BYTES], *others]
        self.lines += len(lines)
        return lines


def _beginning_within(text: bytes, left: int | None, dropped: int) -> tuple[bytes, int | None]:
    """The lines that begin before the part ends, and what is left of the part after them."""
    if left is None:
        return text, None
    # Of the first line `dropped` bytes are not there.
    end = text.find(b"\n", max(left - dropped - 1, 0))
    if end < 0:
        return text, left - dropped - len(text) - 1
    return text[:end], 0
