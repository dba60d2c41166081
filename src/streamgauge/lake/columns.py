"""Raw lines as columns: whole blocks of samples at once, other lines one by one.

A block of lines is read by Arrow's JSON reader under a fixed schema and checked column by column.
The checks are those of `shapes`, asked of the distinct values, of the least and the largest, and of
one row for each combination of keys. A block that passes holds only samples that `decode` takes,
with the same values; one that does not is halved, and a few lines at a time are left to `decode`,
which alone says what is wrong with a line.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from streamgauge.lake.metrics import METRICS
from streamgauge.lake.raw import VERSION, build, decode
from streamgauge.lake.record_rules import Rejected
from streamgauge.lake.records import Record, Sample
from streamgauge.lake.schemas import EVENTS, LINKS, PLANS, SAMPLES, TABLES, TRACES, Table
from streamgauge.lake.shapes import SHAPES

# Below this a block is not halved again.
FEW_LINES = 32

_TABLE_OF = {"sample": SAMPLES, "plan": PLANS, "trace": TRACES, "link": LINKS, "event": EVENTS}
_OWN = ("received_at", "file", "date")
_SHAPE = SHAPES[Sample.type]
_KEYS = tuple(_SHAPE.checks)
_WHOLE = frozenset({"task", "source_task", "bin", "bucket_start_us", "count"})
_NUMBERS = frozenset({"bucket_seconds", "value"})
_READ = pa.schema(
    [
        ("type", pa.string()),
        ("v", pa.int64()),
        *(
            (
                key,
                pa.int64() if key in _WHOLE else pa.float64() if key in _NUMBERS else pa.string(),
            )
            for key in _KEYS
        ),
    ]
)
_STRICT = pj.ParseOptions(explicit_schema=_READ, unexpected_field_behavior="error")


def columns_of(table: Table) -> pa.Schema:
    """The columns of a table that come from a line; the others say when and by which file."""
    return pa.schema([one.remove_metadata() for one in table.schema if one.name not in _OWN])


_SAMPLE_COLUMNS = columns_of(SAMPLES)


@dataclass(slots=True)
class Parsed:
    """What a block of lines came to.

    Attributes:
        samples: Tables of samples in the lake's columns, each with its lines in the same order.
        records: Records of other types, with their lines.
        rejected: Lines that were not taken, and why.
    """

    samples: list[tuple[pa.Table, Sequence[bytes]]] = field(default_factory=list)
    records: list[tuple[Record, bytes]] = field(default_factory=list)
    rejected: list[tuple[Rejected, bytes]] = field(default_factory=list)


def parse(lines: Sequence[bytes]) -> Parsed:
    """Every line of a block in exactly one place."""
    parsed = Parsed()
    samples = [line for line in lines if b'"sample"' in line]
    if len(samples) < len(lines):
        for line in lines:
            if b'"sample"' not in line:
                _one(line, parsed)
    _block(samples, parsed)
    return parsed


def _block(lines: Sequence[bytes], parsed: Parsed) -> None:
    if not lines:
        return
    table = _fast(lines)
    if table is not None:
        parsed.samples.append((table, lines))
        return
    if len(lines) > FEW_LINES:
        middle = len(lines) // 2
        _block(lines[:middle], parsed)
        _block(lines[middle:], parsed)
        return
    slow = [(record, line) for line in lines if (record := _one(line, parsed)) is not None]
    if slow:
        table = table_of(SAMPLES, [record for record, _ in slow])
        parsed.samples.append((table, [line for _, line in slow]))


def _one(line: bytes, parsed: Parsed) -> Sample | None:
    found = decode(line)
    if isinstance(found, Sample):
        return found
    if isinstance(found, Rejected):
        parsed.rejected.append((found, line))
    else:
        parsed.records.append((found, line))
    return None


def table_of(table: Table, records: Sequence[Record]) -> pa.Table:
    """Records of one type in the columns of their table."""
    rows = [{_column(key): value for key, value in asdict(one).items()} for one in records]
    return pa.Table.from_pylist(rows, schema=columns_of(table))


def table_name(record: Record) -> str:
    """The table a record belongs in."""
    return _TABLE_OF[record.type].name


def records_of(name: str, rows: pa.Table) -> Iterator[Record]:
    """The records of rows of a table; the inverse of `table_of`."""
    kind = next(kind for kind, table in _TABLE_OF.items() if table.name == name)
    shape = SHAPES[kind]
    columns = columns_of(TABLES[name])
    plain = pa.table([_plain(rows[one.name]) for one in columns], names=columns.names)
    for row in plain.to_pylist():
        known = {key: row[_column(key)] for key in shape.checks if row[_column(key)] is not None}
        yield build(kind, known)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as whole microseconds."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _column(key: str) -> str:
    return key.removesuffix("_us")


def _fast(lines: Sequence[bytes]) -> pa.Table | None:
    """The samples of a block, or nothing where a line is not plainly a good sample."""
    if not all(line.startswith(b"{") for line in lines):
        return None
    block = b"\n".join(lines)
    try:
        block.decode()
        read = pj.read_json(
            io.BytesIO(block), parse_options=_STRICT, read_options=_whole_block(block)
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if len(read) != len(lines) or not _are_samples(read):
        return None
    return _in_columns(read)


def _whole_block(block: bytes) -> pj.ReadOptions:
    # One block, so that no line is cut; the calling process has its own cores.
    return pj.ReadOptions(use_threads=False, block_size=max(len(block) + 1, 1 << 16))


def _are_samples(read: pa.Table) -> bool:
    if read["type"].null_count or pc.unique(read["type"]).to_pylist() != [Sample.type]:
        return False
    if read["v"].null_count or pc.unique(read["v"]).to_pylist() != [VERSION]:
        return False
    return all(_values_fit(key, read[key]) for key in _KEYS) and _rows_fit(read)


def _values_fit(key: str, column: pa.ChunkedArray) -> bool:
    """Whether every value of a column is one that its check takes."""
    check = _SHAPE.checks[key]
    if column.null_count == len(column):
        return True
    if pa.types.is_string(column.type):
        values = pc.unique(column).to_pylist()
    else:
        # A range of numbers is fine where its ends are.
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
            return False
        ends = pc.min_max(column).as_py()
        values = [ends["min"], ends["max"]]
    return all(value is None or check(key, value) is None for value in values)


def _rows_fit(read: pa.Table) -> bool:
    """Whether keys and figures of every row agree."""
    metric = pc.dictionary_encode(read["metric"]).combine_chunks()
    codes = metric.indices.to_numpy(zero_copy_only=False)
    names = metric.dictionary.to_pylist()
    present = np.zeros(len(read), dtype=np.int64)
    for bit, key in enumerate(_KEYS):
        present |= read[key].is_valid().to_numpy().astype(np.int64) << bit
    queues = pc.fill_null(read["queue"], "")
    queue = pc.dictionary_encode(queues).combine_chunks().indices.to_numpy(zero_copy_only=False)
    combined = np.stack([codes, queue, present])
    _, first = np.unique(combined, axis=1, return_index=True)
    for row in read.take(pa.array(np.sort(first))).select(list(_KEYS)).to_pylist():
        known = {key: value for key, value in row.items() if value is not None}
        if _SHAPE.fault(known) is not None:
            return False
    return _figures_fit([METRICS[name] for name in names], codes, read)


def _figures_fit(metrics: list[Any], codes: NDArray[Any], read: pa.Table) -> bool:
    """The rules between value and count, of all rows at once."""
    value = read["value"].to_numpy()
    count = read["count"].to_numpy()
    negative = np.array([one.may_be_negative for one in metrics])[codes]
    whole = np.array([one.whole for one in metrics])[codes]
    counts = np.array([one.counts_observations for one in metrics])[codes]
    wrong = (
        ((value < 0) & ~negative)
        | (whole & (value % 1 != 0))
        | ((count == 0) & (value != 0))
        | (counts & (value < count))
    )
    return not wrong.any()


def _in_columns(read: pa.Table) -> pa.Table:
    """The lake's columns: smaller numbers, times with their zone, and no minus zero."""
    values: Mapping[str, pa.ChunkedArray] = {
        "value": pc.add(read["value"], 0.0),
        "bucket_start": read["bucket_start_us"].cast(pa.timestamp("us", tz="UTC")),
    }
    columns = [
        (values[one.name] if one.name in values else read[one.name]).cast(one.type)
        for one in _SAMPLE_COLUMNS
    ]
    return pa.Table.from_arrays(columns, schema=_SAMPLE_COLUMNS)
