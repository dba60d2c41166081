"""Where lines in quarantine stand in their files.

Line numbers are not kept: a file is read in parts by many, and none knows how many lines the parts
before it have. Who wants to see a line in its place has the file read once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from streamgauge.lake.contents import Quarantined
from streamgauge.lake.line_blocks import KEPT_BYTES, LineBlocks
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.rules import Reason, Rejected

# A line that stands in its file more often than this is said to stand there so often.
MOST_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A line in quarantine and where it stands.

    Attributes:
        line: The line.
        numbers: Of the first places in its file, counted from one.
        times: How often it stands there.
        fault: Why the file could not be read to its end, where it could not.
    """

    line: Quarantined
    numbers: tuple[int, ...]
    times: int
    fault: str | None = None


def locate(lines: Iterable[Quarantined]) -> Iterator[Located]:
    """Find lines in the files by which they came, each file being read once."""
    by_file: dict[str, list[Quarantined]] = {}
    for line in lines:
        by_file.setdefault(line.file, []).append(line)
    for file in sorted(by_file):
        yield from _locate_in(file, by_file[file])


def _locate_in(file: str, lines: Sequence[Quarantined]) -> Iterator[Located]:
    blocks = LineBlocks(file)
    places: dict[bytes, list[int]] = {_beginning(line.raw): [] for line in lines}
    times = dict.fromkeys(places, 0)
    # A line that gave way is kept as `encode` writes it, not as it came.
    is_rewritten = any(line.reason == Reason.SUPERSEDED for line in lines)
    for block in blocks.blocks():
        first = blocks.lines - len(block) + 1
        for number, raw in enumerate(block, start=first):
            found: bytes | None = _beginning(raw)
            if found not in places and is_rewritten:
                found = _rewritten(raw)
            if found in places:
                times[found] += 1
                if len(places[found]) < MOST_PLACES:
                    places[found].append(number)
    for line in lines:
        key = _beginning(line.raw)
        yield Located(line=line, numbers=tuple(places[key]), times=times[key], fault=blocks.fault)


def _beginning(raw: bytes) -> bytes:
    """What tells a line from others; where a line is too long, no more of it may be kept."""
    return raw[:KEPT_BYTES]


def _rewritten(raw: bytes) -> bytes | None:
    """The line in the form of `encode`, where it is one."""
    record = decode(raw)
    return None if isinstance(record, Rejected) else encode(record).encode()
