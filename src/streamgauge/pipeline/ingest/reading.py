"""From files to rows: what Spark's workers run on their part of the input.

Every part of a file gives the rows of its lines, each in exactly one place: a sample in the columns
of its table, another record as its line, or a line that was not taken with the reason. One row more
says how many there were. Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.lake.bulk_decoding import columns_of, parse, records_of, table_name, table_of
from streamgauge.lake.field_rules import Reason, Rejected
from streamgauge.lake.line_blocks import LineBlocks
from streamgauge.lake.raw import MOST_LINE_LENGTH, decode, encode
from streamgauge.lake.records import Record
from streamgauge.lake.schemas import FILES, QUARANTINE, SAMPLES, TABLES, TIMESTAMP

# A part of the input: a file, or a stretch of one.
PARTS = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("length", pa.int64()),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("modified_at", TIMESTAMP, nullable=False),
        pa.field("received_at", TIMESTAMP, nullable=False),
    ]
)

_SAMPLE_COLUMNS = columns_of(SAMPLES)

# A row on its way into the lake: `table` says which of the other columns are filled.
STAGED = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        *(field.with_nullable(True) for field in _SAMPLE_COLUMNS),
        pa.field("time", TIMESTAMP),
        pa.field("line", pa.binary()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("lines", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("modified_at", TIMESTAMP),
        pa.field("received_at", TIMESTAMP, nullable=False),
        pa.field("file", pa.string(), nullable=False),
    ]
)

Refused = tuple[Rejected, bytes]


def read_part(part: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows of a part of a file of raw lines, a row of `PARTS`."""
    blocks = LineBlocks(part["file"], part["offset"], part["length"])
    rows = 0
    for lines in blocks.blocks():
        first = blocks.lines - len(lines)
        cut = {n - first: size for n, size in blocks.cut.items() if n >= first}
        for batch in rows_of(lines, part["received_at"], part["file"], cut):
            rows += len(batch)
            yield batch
    yield from tally_row(part, rows, blocks.fault)


def tally_row(part: Mapping[str, Any], lines: int, fault: str | None) -> Iterator[pa.RecordBatch]:
    """The row that says how many lines a part had, and why there were no more.

    A line that holds several samples counts as often as it has samples.
    """
    own = {key: part[key] for key in ("bytes", "modified_at", "received_at", "file")}
    tally = {"table": FILES.name, "lines": lines, "detail": fault, **own}
    yield from pa.Table.from_pylist([tally], schema=STAGED).to_batches()


def rows_of(
    lines: Sequence[bytes], received_at: datetime, file: str, cut: dict[int, int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a block of lines that came together; `cut` has true lengths of cut ones."""
    kept = [line for number, line in enumerate(lines) if number not in cut] if cut else lines
    parsed = parse(kept)
    refused = parsed.rejected
    for number, size in (cut or {}).items():
        detail = f"{size} long; expected at most {MOST_LINE_LENGTH}; only the beginning is kept"
        refused.append((Rejected(Reason.TOO_LONG, detail), lines[number]))
    for table, its_lines in parsed.samples:
        good = _not_after_receipt(table, its_lines, received_at, refused)
        timed = good.append_column("time", good[SAMPLES.day_of])
        yield from _staged(SAMPLES.name, timed, received_at, file)
    receipt = pa.scalar(received_at, TIMESTAMP).cast(pa.int64()).as_py()
    others: dict[str, list[tuple[int, bytes]]] = {}
    for record, line in parsed.records:
        time = _time_of(record)
        if time > receipt:
            refused.append((_late(received_at), line))
        else:
            others.setdefault(table_name(record), []).append((time, line))
    for name, timed_lines in others.items():
        table = pa.table(
            {
                "time": pa.array([time for time, _ in timed_lines], TIMESTAMP),
                "line": pa.array([line for _, line in timed_lines], pa.binary()),
            }
        )
        yield from _staged(name, table, received_at, file)
    yield from refused_batches(refused, received_at, file)


def refused_batches(
    refused: Sequence[Refused], received_at: datetime, file: str
) -> Iterator[pa.RecordBatch]:
    """The rows of lines that are not taken."""
    if refused:
        yield from _staged(QUARANTINE.name, _refusals(refused), received_at, file)


def _not_after_receipt(
    table: pa.Table, lines: Sequence[bytes], received_at: datetime, refused: list[Refused]
) -> pa.Table:
    """Samples of before the receipt; later ones are refused."""
    late = pc.greater(table["bucket_start"], pa.scalar(received_at, TIMESTAMP))
    if not pc.any(late).as_py():
        return table
    before = None
    for line in (lines[number] for number in pc.indices_nonzero(late).to_pylist()):
        # All samples of a line are of one time, and it is refused once.
        if line is not before:
            refused.append((_late(received_at), line))
        before = line
    return table.filter(pc.invert(late))


def _time_of(record: Record) -> int:
    """When a record is of, in microseconds."""
    time: int = getattr(record, f"{TABLES[table_name(record)].day_of}_us")
    return time


def _late(received_at: datetime) -> Rejected:
    return Rejected(
        Reason.AFTER_RECEIPT,
        f"a time after the receipt; expected at most {received_at.isoformat()}: set the right"
        " receipt, or correct the sender's clock",
    )


def _refusals(refused: Sequence[Refused]) -> pa.Table:
    return pa.table(
        {
            "line": pa.array([line for _, line in refused], pa.binary()),
            "reason": pa.array([str(one.reason) for one, _ in refused]),
            "detail": pa.array([one.detail for one, _ in refused]),
        }
    )


def _staged(
    name: str, table: pa.Table, received_at: datetime, file: str
) -> Iterator[pa.RecordBatch]:
    size = len(table)
    if not size:
        return
    same = {"table": name, "received_at": received_at, "file": file}
    columns = []
    for field in STAGED:
        if field.name in same:
            columns.append(pa.repeat(pa.scalar(same[field.name], field.type), size))
        elif field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        else:
            columns.append(pa.nulls(size, field.type))
    yield from pa.Table.from_arrays(columns, schema=STAGED).to_batches(max_chunksize=50_000)


def typed_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a table other than samples from their lines, which were checked before."""
    table = TABLES[name]
    schema = pa.schema(
        [*columns_of(table), pa.field("received_at", TIMESTAMP), pa.field("file", pa.string())]
    )
    for batch in batches:
        records = [decode(line.as_py()) for line in batch.column("line")]
        good = [one for one in records if not isinstance(one, Rejected)]
        columns = table_of(table, good)
        yield from pa.Table.from_arrays(
            [*columns.columns, batch.column("received_at"), batch.column("file")], schema=schema
        ).to_batches()


def written_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lines of rows of a table, as `encode` writes them."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        lines = [encode(record).encode() for record in records_of(name, rows)]
        kept = [c for c in rows.column_names if c not in columns_of(TABLES[name]).names]
        yield from (
            rows.select(kept)
            .append_column(pa.field("raw", pa.binary()), pa.array(lines, pa.binary()))
            .to_batches()
        )
