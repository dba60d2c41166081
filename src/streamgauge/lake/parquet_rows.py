"""Parquet files as raw lines: in the columns of a lake's table, or by a mapping."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.errors import Findings, InvalidInput, UnreadableFile, did_you_mean
from streamgauge.lake.field_rules import Rejected
from streamgauge.lake.mapping import ParquetMapping
from streamgauge.lake.raw import VERSION, decode, encode
from streamgauge.lake.row_mapping import RejectedRow, RowMapper, check_columns, raise_for
from streamgauge.lake.schemas import EVENTS, LINKS, PLANS, SAMPLES, TRACES, Table

BATCH_ROWS = 8_192

# By which column a table is known; no other table has it.
_TABLES = {
    "bucket_start": ("sample", SAMPLES),
    "executors": ("plan", PLANS),
    "hops": ("trace", TRACES),
    "source_node": ("link", LINKS),
    "happened_at": ("event", EVENTS),
}
# What the lake itself adds: told anew when the rows are received again.
_RECEIPT = frozenset({"received_at", "file", "date"})
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parquet_lines(
    file: Any,
    mapping: ParquetMapping | None = None,
    *,
    name: str = "",
    batch_rows: int = BATCH_ROWS,
) -> Iterator[bytes | RejectedRow]:
    """The raw lines of a Parquet file, batch by batch, and every row that receivers would reject.

    Args:
        file: A path, or an open file that can be sought in.
        mapping: What its columns mean; without it they are those of a table of the lake.
        name: What problems call the file.
        batch_rows: How many rows are in memory at a time.

    Raises:
        InvalidInput: Its columns are not those of a table or of the mapping.
        UnreadableFile: It is no Parquet file, or a broken one.
    """
    label = name or (file if isinstance(file, str) else "")
    try:
        parquet = pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(label, error) from None
    with parquet:
        lines_of = _lines_of(parquet.schema_arrow, mapping, label)
        try:
            for batch in parquet.iter_batches(batch_size=batch_rows):
                yield from lines_of(batch)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(label, error) from None


def _lines_of(
    schema: pa.Schema, mapping: ParquetMapping | None, name: str
) -> Callable[[pa.RecordBatch], Iterator[bytes | RejectedRow]]:
    """What turns batches of a schema into lines, once the schema is fine."""
    if mapping is not None:
        _check_mapped(schema, mapping, name)
        return partial(_mapped_lines, mapper=RowMapper(mapping.rows))
    kind, table = _chosen(schema, name)
    return partial(_table_lines, kind=kind, table=table)


def _chosen(schema: pa.Schema, name: str) -> tuple[str, Table]:
    """The table whose columns a file has, once all of them are fine."""
    found = [_TABLES[column] for column in _TABLES if column in schema.names]
    if len(found) != 1:
        tables = ", ".join(table.name for _, table in _TABLES.values())
        raise InvalidInput.single(
            (),
            seen=f"columns {', '.join(schema.names) or 'none'}",
            expected=f"those of one table of the lake ({tables})",
            remedy="give a mapping for other columns",
            file=name,
        )
    kind, table = found[0]
    findings = Findings()
    _check_fields(findings, list(schema), list(table.schema), ())
    raise_for(findings, name)
    return kind, table


def _check_fields(
    findings: Findings, given: list[pa.Field], wanted: list[pa.Field], place: tuple[str, ...]
) -> None:
    known = {field.name: field for field in wanted}
    names = [field.name for field in given]
    for field in wanted:
        if not field.nullable and field.name not in names and field.name not in _RECEIPT:
            findings.add(*place, seen=f"no column {field.name}", expected="all required columns")
    for field in given:
        if names.count(field.name) > 1:
            findings.add(*place, field.name, seen="a column twice", expected="each column once")
        elif field.name not in known:
            findings.add(
                *place,
                field.name,
                seen="an unknown column",
                expected="columns of the table only",
                remedy=did_you_mean(field.name, list(known)),
            )
        elif not (place == () and field.name in _RECEIPT):
            _check_type(findings, field.type, known[field.name].type, (*place, field.name))


def _check_type(
    findings: Findings, given: pa.DataType, wanted: pa.DataType, place: tuple[str, ...]
) -> None:
    """Whether values of one type can be read as those of another without guessing."""
    if pa.types.is_list(wanted):
        if _is_list(given) and pa.types.is_struct(given.value_type):
            inner = (given.value_type, wanted.value_type)
            given_parts, wanted_parts = ([*map(one.field, range(one.num_fields))] for one in inner)
            _check_fields(findings, given_parts, wanted_parts, place)
            return
        fine, expected = False, "a list of structures"
    elif pa.types.is_timestamp(wanted):
        fine = pa.types.is_timestamp(given) and given.tz is not None
        expected = "a timestamp with its zone"
    elif pa.types.is_integer(wanted):
        fine, expected = pa.types.is_integer(given), "whole numbers"
    elif pa.types.is_floating(wanted):
        fine = pa.types.is_floating(given) or pa.types.is_integer(given)
        expected = "numbers"
    else:
        fine, expected = _is_text(given), "texts"
    # A column of nulls only has no type of its own.
    if not fine and not pa.types.is_null(given):
        findings.add(*place, seen=f"type {given}", expected=expected)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _table_lines(batch: pa.RecordBatch, kind: str, table: Table) -> Iterator[bytes | RejectedRow]:
    wanted = [field for field in table.schema if field.name not in _RECEIPT]
    names, columns = [], []
    for field in wanted:
        if field.name in batch.schema.names:
            timed = pa.types.is_timestamp(field.type)
            names.append(f"{field.name}_us" if timed else field.name)
            column = batch.column(field.name)
            columns.append(_microseconds(column) if timed else column.to_pylist())
    head = {"type": kind, "v": VERSION}
    for values in zip(*columns, strict=True):
        plain = {key: _plain(value) for key, value in zip(names, values, strict=True)}
        line = json.dumps(head | _known(plain), separators=(",", ":"))
        # Reading the line back is what every receiver does, so nothing is judged twice over.
        record = decode(line)
        if isinstance(record, Rejected):
            yield RejectedRow(raw=line.encode(), reason=record.reason, detail=record.detail)
        else:
            yield encode(record).encode()


def _microseconds(column: pa.Array) -> list[int | None]:
    """Times in whole microseconds; what is finer is cut off, and none is too large for Python."""
    if pa.types.is_null(column.type):
        return [None] * len(column)
    per_second = _PER_SECOND[column.type.unit]
    values = column.cast(pa.int64()).to_pylist()
    return [None if one is None else one * 1_000_000 // per_second for one in values]


def _plain(value: Any) -> Any:
    """A value as JSON has it, without nulls."""
    if isinstance(value, dict):
        return _known({key: _plain(one) for key, one in value.items()})
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _check_mapped(schema: pa.Schema, mapping: ParquetMapping, name: str) -> None:
    findings = Findings()
    check_columns(mapping.rows, schema.names, findings)
    for field in schema:
        if field.name in mapping.rows.columns:
            if pa.types.is_timestamp(field.type) and field.type.tz is None:
                expected = "a timestamp with its zone"
                findings.add(field.name, seen=f"type {field.type}", expected=expected)
            elif pa.types.is_nested(field.type):
                findings.add(field.name, seen=f"type {field.type}", expected="plain values")
    raise_for(findings, name)


def _mapped_lines(batch: pa.RecordBatch, mapper: RowMapper) -> Iterator[bytes | RejectedRow]:
    names = batch.schema.names
    columns = [_texts(column) for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield from _row(dict(zip(names, values, strict=True)), mapper)


def _row(row: dict[str, str | None], mapper: RowMapper) -> Iterator[bytes | RejectedRow]:
    mapped = mapper.map(row)
    yield from mapped.lines
    if mapped.fault is not None:
        raw = json.dumps(_known(row), separators=(",", ":")).encode()
        yield RejectedRow(raw=raw, reason=mapped.fault.reason, detail=mapped.fault.detail)


def row_lines(raw: bytes, mapping: ParquetMapping) -> Iterator[bytes | RejectedRow]:
    """The lines of a row that gave none, or not all, under a mapping that may be another now."""
    try:
        row = json.loads(raw)
    except ValueError:
        return
    if isinstance(row, dict) and all(isinstance(one, str) for one in row.values()):
        whole = dict.fromkeys(mapping.rows.columns) | row
        yield from _row(whole, RowMapper(mapping.rows))


def _texts(column: pa.Array) -> list[str | None]:
    """Every value as a mapping sees it; a timestamp as RFC 3339 writes it."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return [one if one is None else _moment(one) for one in _microseconds(column)]
    texts: list[str | None] = []
    for value in column.to_pylist():
        if value is None or isinstance(value, str):
            texts.append(value)
        elif isinstance(value, bool):
            texts.append("true" if value else "false")
        else:
            texts.append(repr(value) if isinstance(value, float) else str(value))
    return texts


def _moment(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds} microseconds since 1970"


def _unreadable(name: str, error: Exception) -> UnreadableFile:
    seen = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UnreadableFile(
        InvalidInput.single((), seen=seen, expected="a Parquet file", file=name).problems
    )
