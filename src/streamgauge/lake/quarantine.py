"""Lines in quarantine: why they were not taken, and where they stand in their files.

Line numbers are not kept: a file is read in parts by many, and none knows how many lines the parts
before it have. Who wants to see a line in its place has the file read once more.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from streamgauge.errors import InvalidInput, did_you_mean
from streamgauge.lake.field_rules import Reason, Rejected
from streamgauge.lake.line_blocks import KEPT_BYTES, LineBlocks
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import ungroup
from streamgauge.lake.schemas import QUARANTINE
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import normal

# A line that stands in its file more often than this is said to stand there so often.
MOST_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A line that was not taken.

    Attributes:
        file: By which it came.
        detail: What was seen and what was expected.
        received_at: When the file was received.
    """

    file: str
    reason: str
    detail: str
    received_at: datetime
    raw: bytes

    def to_dict(self) -> dict[str, Any]:
        """A flat record; what is no text is given in full beside what can be shown of it."""
        shown = self.raw.decode(errors="backslashreplace")
        record: dict[str, Any] = {
            "file": self.file,
            "reason": self.reason,
            "detail": self.detail,
            "received_at": self.received_at.isoformat(),
            "raw": shown,
        }
        if shown.encode() != self.raw:
            record["raw_base64"] = base64.b64encode(self.raw).decode()
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A line in quarantine and where it stands.

    Attributes:
        numbers: Of the first places in its file, counted from one.
        fault: Why the file could not be read to its end, where it could not.
    """

    line: Quarantined
    numbers: tuple[int, ...]
    times: int
    fault: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """A flat record."""
        places = {"numbers": list(self.numbers), "times": self.times, "fault": self.fault}
        return self.line.to_dict() | places


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineReview:
    """What lies in quarantine.

    Attributes:
        lines: The lines themselves, where they were asked for.
        located: The same with their places, where these were asked for.
    """

    reasons: Mapping[str, int]
    files: Sequence[tuple[tuple[str, ...], int]]
    lines: Sequence[Quarantined] | None = None
    located: Sequence[Located] | None = None

    def to_dict(self) -> dict[str, Any]:
        """A record for programs."""
        document: dict[str, Any] = {
            "reasons": dict(self.reasons),
            "files": [
                {"file": file, "reason": reason, "lines": number}
                for (file, reason), number in self.files
            ],
        }
        lines = self.lines if self.located is None else self.located
        return document if lines is None else document | {"lines": [one.to_dict() for one in lines]}


def review_quarantine(
    lake: Lake,
    *,
    reason: str | None = None,
    file: str | None = None,
    limit: int | None = None,
    with_lines: bool = False,
    with_places: bool = False,
) -> QuarantineReview:
    """Lines in quarantine by reason and by file, and the lines themselves where asked for.

    Args:
        lake: The lake.
        reason: Only lines that were not taken for this.
        file: Only lines of this file, by its URI or the end of it.
        limit: At most so many lines.
        with_lines: Whether the lines themselves are wanted.
        with_places: Whether their places are, too, which takes reading their files again.

    Raises:
        InvalidInput: There is no such reason.
    """
    known = [str(one) for one in Reason]
    if reason is not None and reason not in known:
        raise InvalidInput.single(
            ("reason",),
            seen=f"unknown reason {reason!r}",
            expected="one of docs/raw-format.md",
            remedy=did_you_mean(reason, known),
        )
    lines = None
    if with_lines or with_places:
        lines = list(_read_lines(lake, reason=reason, file=file, limit=limit))
    by_reason = count_lines(lake, reason=reason, file=file, by=("reason",))
    return QuarantineReview(
        reasons={key[0]: number for key, number in by_reason},
        files=count_lines(lake, reason=reason, file=file, by=("file", "reason")),
        lines=lines,
        located=list(locate(lines)) if with_places and lines is not None else None,
    )


def count_lines(
    lake: Lake, *, reason: str | None = None, file: str | None = None, by: Sequence[str]
) -> list[tuple[tuple[str, ...], int]]:
    """Lines in quarantine, counted by `reason`, `file` or both, most first."""
    table = lake.table(QUARANTINE.name)
    counts: dict[tuple[str, ...], int] = {}
    for batch in table.read(["reason", "file"], _where(reason, file)):
        groups = pa.Table.from_batches([batch]).group_by(list(by)).aggregate([([], "count_all")])
        for row in groups.to_pylist():
            key = tuple(str(row[name]) for name in by)
            counts[key] = counts.get(key, 0) + row["count_all"]
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _read_lines(
    lake: Lake, *, reason: str | None = None, file: str | None = None, limit: int | None = None
) -> Iterator[Quarantined]:
    """Lines in quarantine, those of one file together, at most `limit`."""
    table = lake.table(QUARANTINE.name)
    columns = ["file", "reason", "detail", "received_at", "raw"]
    left = limit
    for batch in table.read(columns, _where(reason, file)):
        rows: Iterable[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            if left is not None and left <= 0:
                return
            yield Quarantined(**row)
            left = None if left is None else left - 1


def _where(reason: str | None, file: str | None) -> ds.Expression | None:
    """Lines of a reason, and of a file by its URI, or by the last parts of it."""
    where = None
    if reason is not None:
        where = ds.field("reason") == reason
    if file is not None:
        named = ds.field("file").isin([file, normal(file)])
        if not file.startswith("/") and "://" not in file:
            named |= pc.ends_with(ds.field("file"), pattern=f"/{file}")
        where = named if where is None else where & named
    return where


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
            forms = {_beginning(raw)}
            if is_rewritten and not forms & places.keys():
                forms = _rewritten(raw)
            for found in forms & places.keys():
                times[found] += 1
                if len(places[found]) < MOST_PLACES:
                    places[found].append(number)
    for line in lines:
        key = _beginning(line.raw)
        yield Located(line=line, numbers=tuple(places[key]), times=times[key], fault=blocks.fault)


def _beginning(raw: bytes) -> bytes:
    """What tells a line from others; where a line is too long, no more of it may be kept."""
    return raw[:KEPT_BYTES]


def _rewritten(raw: bytes) -> set[bytes]:
    """The line in the form of `encode`, sample by sample, where it is one."""
    record = decode(raw)
    if isinstance(record, Rejected):
        return set()
    return {encode(one).encode() for one in ungroup([record])}
