"""CSV files as raw lines: read as they come, never more of them in memory than one row."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamgauge.errors import Findings, InvalidInput
from streamgauge.lake.field_rules import Reason, Rejected
from streamgauge.lake.mapping import CsvMapping
from streamgauge.lake.raw import MOST_LINE_LENGTH
from streamgauge.lake.row_mapping import RejectedRow, RowMapper, check_columns, raise_for

_BOM = b"\xef\xbb\xbf"


def csv_lines(
    stream: Iterable[bytes],
    mapping: CsvMapping,
    *,
    name: str = "",
    most_length: int = MOST_LINE_LENGTH,
) -> Iterator[bytes | RejectedRow]:
    """The raw lines of a CSV file, and every row that does not give all of its lines.

    Args:
        stream: The file's bytes, in pieces of any size.
        mapping: What its columns mean.
        name: What problems call the file.
        most_length: How many bytes a row may have.

    Raises:
        InvalidInput: The file does not have the columns of the mapping, or others beside.
    """
    mapper = RowMapper(mapping.rows)
    records = _records(_physical_lines(stream, most_length), mapping.delimiter, most_length)
    header = _header(records, mapping, name)
    for record in records:
        if record.fault is not None:
            yield _rejected(record, record.fault)
        elif len(record.fields) != len(header):
            seen = f"{len(record.fields)} fields; expected {len(header)}, as many as columns"
            yield _rejected(record, Rejected(Reason.INCONSISTENT, seen))
        else:
            mapped = mapper.map(dict(zip(header, record.fields, strict=True)))
            yield from mapped.lines
            if mapped.fault is not None:
                yield _rejected(record, mapped.fault)


@dataclass(frozen=True, slots=True)
class _Record:
    """A row: its bytes as they came, and its fields or what is wrong with them."""

    raw: bytes
    fields: list[str]
    fault: Rejected | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A physical line with its end; one that is too long is cut, and has its whole length here."""

    raw: bytes
    length: int


class _Overlong(Exception):
    """A row that goes on and on."""


def _rejected(record: _Record, fault: Rejected) -> RejectedRow:
    return RejectedRow(raw=record.raw, reason=fault.reason, detail=fault.detail)


def _header(records: Iterator[_Record], mapping: CsvMapping, name: str) -> tuple[str, ...]:
    """The names of the columns, all of them mapped."""
    header = mapping.header
    if header is None:
        first = next(records, None)
        if first is None or first.fault is not None:
            seen = "an empty file" if first is None or first.fault is None else str(first.fault)
            raise InvalidInput.single(
                (), seen=seen, expected="a header line with the names of columns", file=name
            )
        header = tuple(first.fields)
    findings = Findings()
    check_columns(mapping.rows, header, findings)
    raise_for(findings, name)
    return header


def _records(lines: Iterator[_Line], delimiter: str, most_length: int) -> Iterator[_Record]:
    """Row after row; blank lines are none.

    A quote that is never closed would swallow the file. Where a row gets too long, or the file
    ends inside quotes, only the first line of it is given up, and reading goes on behind that.
    """
    ahead: deque[_Line] = deque()
    pulled: list[_Line] = []
    length = 0

    def feed() -> Iterator[str]:
        nonlocal length
        while (line := ahead.popleft() if ahead else next(lines, None)) is not None:
            pulled.append(line)
            length += line.length
            if length > most_length:
                raise _Overlong
            yield line.raw.decode("utf-8", "surrogateescape")

    def reader() -> Iterator[list[str]]:
        return csv.reader(feed(), delimiter=delimiter, strict=True)

    rows = reader()
    while True:
        pulled.clear()
        length = 0
        try:
            fields = next(rows, None)
        except (csv.Error, _Overlong) as error:
            first, *others = pulled
            ahead.extendleft(reversed(others))
            rows = reader()
            yield _Record(_without_end(first.raw), [], _fault(error, first, most_length))
            continue
        if fields is None:
            return
        raw = _without_end(b"".join(line.raw for line in pulled))
        if fields:
            yield _Record(raw, fields, _not_utf8(raw))


def _fault(error: Exception, first: _Line, most_length: int) -> Rejected:
    if first.length > most_length:
        seen = f"a row of {first.length} bytes; expected at most {most_length}"
        return Rejected(Reason.TOO_LONG, seen)
    if isinstance(error, _Overlong) or "field larger" in str(error):
        seen = "a quote that is not closed, or a field too long; expected shorter fields"
        return Rejected(Reason.TOO_LONG, seen)
    return Rejected(Reason.INCONSISTENT, f"not CSV: {error}")


def _not_utf8(raw: bytes) -> Rejected | None:
    if raw.isascii():
        return None
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return Rejected(Reason.NOT_UTF8, f"byte {error.start}: {error.reason}")
    return None


def _without_end(raw: bytes) -> bytes:
    return raw.removesuffix(b"\n").removesuffix(b"\r")


def _physical_lines(stream: Iterable[bytes], most_length: int) -> Iterator[_Line]:
    """Lines with their ends, without the mark that some programs put before UTF-8."""
    lines = _split(stream, most_length)
    first = next(lines, None)
    if first is None:
        return
    if first.raw.startswith(_BOM):
        first = _Line(first.raw.removeprefix(_BOM), first.length - len(_BOM))
    if first.raw:
        yield first
    yield from lines


def _split(stream: Iterable[bytes], most_length: int) -> Iterator[_Line]:
    kept = bytearray()
    length = 0
    for piece in stream:
        *whole, rest = piece.split(b"\n")
        for part in whole:
            length += len(part) + 1
            kept += part[: max(0, most_length - len(kept))]
            # What was cut has lost its end, too.
            yield _Line(bytes(kept) + (b"\n" if length <= most_length else b""), length)
            kept.clear()
            length = 0
        length += len(rest)
        kept += rest[: max(0, most_length - len(kept))]
    if length:
        yield _Line(bytes(kept), length)
