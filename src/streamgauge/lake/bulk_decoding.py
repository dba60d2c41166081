"""Raw lines as columns: whole blocks of samples at once, other lines one by one.

A block of lines is read by Arrow's JSON reader under a fixed schema and checked column by column.
The checks are those of `record_types`, asked of the distinct values, of the least and the largest,
and of one row for each combination of keys. A block that passes holds only samples that `decode`
takes, with the same values; one that does not is halved, and a few lines at a time are left to
`decode`, which alone says what is wrong with a line.
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

from streamgauge.lake.field_rules import MOST_WHOLE, Rejected
from streamgauge.lake.line_blocks import LineBlock
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.raw import build, decode, version_of
from streamgauge.lake.record_types import LISTS, SHAPES
from streamgauge.lake.records import Record, Sample, SampleGroup
from streamgauge.lake.schemas import EVENTS, LINKS, PLANS, SAMPLES, TABLES, TRACES, Table

# Below this a block is not halved again.
FEW_LINES = 32

_TABLE_OF = {"sample": SAMPLES, "plan": PLANS, "trace": TRACES, "link": LINKS, "event": EVENTS}
_OWN = ("received_at", "file", "date")
_SHAPE = SHAPES[Sample.type]
_KEYS = tuple(_SHAPE.checks)
_WHOLE = frozenset({"task", "source_task", "bin", "bucket_start_us", "count"})
_NUMBERS = frozenset({"bucket_seconds", "value"})


def _type_of(key: str) -> pa.DataType:
    return pa.int64() if key in _WHOLE else pa.float64() if key in _NUMBERS else pa.string()


_READ = pa.schema(
    [
        ("type", pa.string()),
        ("v", pa.int64()),
        *((key, _type_of(key)) for key in _KEYS),
        *((name, pa.list_(_type_of(key))) for name, key in LISTS.items()),
    ]
)
_STRICT = pj.ParseOptions(explicit_schema=_READ, unexpected_field_behavior="error")
# Types of lines that hold samples, and the lists that lines of each have.
_LISTS_OF = {
    kind: [name for name in LISTS if name in SHAPES[kind].checks]
    for kind in (Sample.type, "samples", "histogram")
}
_LIST_OF = {key: name for name, key in LISTS.items()}
_MARKS = tuple(f'"{kind}"'.encode() for kind in _LISTS_OF)
# How lines of our own writers begin.
_HEAD = b'{"type":"'
_FIRST_LETTERS = [ord(kind[0]) for kind in _LISTS_OF]


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
    if isinstance(lines, LineBlock) and _may_be_samples(lines) and _at_once(lines, parsed):
        return parsed
    samples = []
    for line in lines:
        if any(mark in line for mark in _MARKS):
            samples.append(line)
        else:
            _one(line, parsed)
    _block(samples, parsed)
    return parsed


def _may_be_samples(lines: LineBlock) -> bool:
    """Whether no line plainly has another type, so that trying to read them at once is worth it."""
    if not lines.text.startswith(_HEAD):
        return True
    return bool(np.isin(lines.letters(len(_HEAD)), _FIRST_LETTERS).all())


def _at_once(lines: LineBlock, parsed: Parsed) -> bool:
    """Take all lines, or none where one of them is not plainly good samples."""
    read = _fast(lines)
    if read is None:
        return False
    table, places = read
    parsed.samples.append((table, lines if places is None else LinesOfRows(lines, places)))
    return True


@dataclass(frozen=True, slots=True)
class LinesOfRows(Sequence[bytes]):
    """For each row the line that it stands on, where lines hold several."""

    lines: Sequence[bytes]
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: Any) -> Any:
        return self.lines[self.places[row]]


def _block(lines: Sequence[bytes], parsed: Parsed) -> None:
    if not lines or _at_once(LineBlock(b"\n".join(lines)), parsed):
        return
    if len(lines) > FEW_LINES:
        middle = len(lines) // 2
        _block(lines[:middle], parsed)
        _block(lines[middle:], parsed)
        return
    slow = [(sample, line) for line in lines for sample in _one(line, parsed)]
    if slow:
        table = table_of(SAMPLES, [sample for sample, _ in slow])
        parsed.samples.append((table, [line for _, line in slow]))


def _one(line: bytes, parsed: Parsed) -> Sequence[Sample]:
    """The samples of a line; one of another type, or of none, has its place."""
    found = decode(line)
    if isinstance(found, Sample):
        return (found,)
    if isinstance(found, SampleGroup):
        return found.samples
    if isinstance(found, Rejected):
        parsed.rejected.append((found, line))
    else:
        parsed.records.append((found, line))
    return ()


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


def _fast(lines: LineBlock) -> tuple[pa.Table, NDArray[np.int64] | None] | None:
    """The samples of lines, or nothing where one is not plainly good samples.

    Where lines hold several samples, the line of each comes with them.
    """
    text, begins = lines.text, lines.letters(0)
    if len(begins) < len(lines) or (begins != ord("{")).any():
        return None
    try:
        if not text.isascii():
            text.decode()
        read = pj.read_json(
            io.BytesIO(text), parse_options=_STRICT, read_options=_whole_block(text)
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    kinds = pc.unique(read["type"]).to_pylist()
    if len(read) != len(lines) or not _LISTS_OF.keys() >= set(kinds):
        return None
    parts = []
    for kind in kinds:
        mine = np.flatnonzero(pc.equal(read["type"], kind).to_numpy())
        part = _one_by_one(read if len(kinds) == 1 else read.take(pa.array(mine)), kind)
        if part is None:
            return None
        parts.append((part[0], mine[part[1]]))
    together = pa.concat_tables(table for table, _ in parts)
    if not _are_samples(together):
        return None
    places = None if kinds == [Sample.type] else np.concatenate([places for _, places in parts])
    return _in_columns(together), places


def _one_by_one(read: pa.Table, kind: str) -> tuple[pa.Table, NDArray[np.int64]] | None:
    """Lines of one type as one row for each sample, and the line of each row."""
    lists = _LISTS_OF[kind]
    single = [LISTS[name] for name in lists]
    spare = [*(name for name in LISTS if name not in lists), *single]
    other_version = pc.unique(read["v"]).to_pylist() != [version_of(kind)]
    if other_version or any(read[name].null_count < len(read) for name in spare):
        return None
    lines = np.arange(len(read))
    if not lists:
        return read.select(_KEYS), lines
    sizes = pc.list_value_length(read["values"]).combine_chunks()
    if sizes.null_count or not pc.all(pc.greater(sizes, 0)).as_py():
        return None
    lines = np.repeat(lines, sizes.to_numpy())
    flat = {name: _flat(read[name], sizes) for name in lists if name != "counts"}
    if flat["values"] is not None:
        flat["counts"] = _counts(read["counts"], sizes, flat["values"], lines)
    if any(flat.get(name) is None for name in lists) or not _are_apart(flat, lines):
        return None
    same = read.select([key for key in _KEYS if key not in single]).take(pa.array(lines))
    columns = [flat[_LIST_OF[key]] if key in single else same[key] for key in _KEYS]
    return pa.table(columns, names=list(_KEYS)), lines


def _flat(column: pa.ChunkedArray, sizes: pa.Array) -> pa.Array | None:
    """The values of lists of these sizes, where all are there."""
    whole = column.combine_chunks()
    if whole.null_count or not pc.list_value_length(whole).equals(sizes):
        return None
    values = whole.flatten()
    return None if values.null_count else values


def _counts(
    column: pa.ChunkedArray, sizes: pa.Array, values: pa.Array, lines: NDArray[np.int64]
) -> pa.Array | None:
    """Counts as they are given, and values where none are."""
    given = column.is_valid().to_numpy()
    if given.all():
        return _flat(column, sizes)
    known = values.to_numpy()
    exact = ~given[lines]
    counted = known[exact]
    if not ((counted >= 0) & (counted <= MOST_WHOLE) & (counted % 1 == 0)).all():
        return None
    counts = np.zeros(len(known), dtype=np.int64)
    counts[exact] = counted
    if given.any():
        mask = pa.array(given)
        found = _flat(column.filter(mask), sizes.filter(mask))
        if found is None:
            return None
        counts[~exact] = found.to_numpy()
    return pa.array(counts)


def _are_apart(flat: Mapping[str, pa.Array], lines: NDArray[np.int64]) -> bool:
    """Whether a line names no metric twice, and bins in their order."""
    if "bins" in flat:
        grows = np.diff(flat["bins"].to_numpy()) > 0
        return bool((grows | (np.diff(lines) > 0)).all())
    codes = flat["metrics"].dictionary_encode().indices.to_numpy()
    pairs = lines * (codes.max() + 1) + codes
    return len(pc.unique(pa.array(pairs))) == len(pairs)


def _whole_block(block: bytes) -> pj.ReadOptions:
    # One block, so that no line is cut; the calling process has its own cores.
    return pj.ReadOptions(use_threads=False, block_size=max(len(block) + 1, 1 << 16))


def _are_samples(read: pa.Table) -> bool:
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
    if read["metric"].null_count:
        return False
    metric = pc.dictionary_encode(read["metric"]).combine_chunks()
    codes = metric.indices.to_numpy(zero_copy_only=False)
    names = metric.dictionary.to_pylist()
    queues = pc.fill_null(read["queue"], "")
    queue = pc.dictionary_encode(queues).combine_chunks().indices.to_numpy(zero_copy_only=False)
    combined = (codes.astype(np.int64) << 8) | queue
    for key in _KEYS:
        combined = (combined << 1) | read[key].is_valid().to_numpy()
    firsts = [int(np.argmax(combined == one)) for one in pc.unique(pa.array(combined)).to_pylist()]
    for row in read.take(pa.array(firsts)).select(list(_KEYS)).to_pylist():
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
