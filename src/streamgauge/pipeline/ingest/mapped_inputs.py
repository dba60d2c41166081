"""Inputs other than raw lines, which become raw lines first: CSV, Parquet, answers of databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import pyarrow as pa

from streamgauge.errors import InvalidInput
from streamgauge.lake.csv_rows import csv_lines
from streamgauge.lake.field_rules import Reason, Rejected
from streamgauge.lake.files.mapping_file import parse_mapping
from streamgauge.lake.mapping import CsvMapping, ParquetMapping, SourceMapping
from streamgauge.lake.parquet_rows import parquet_lines, row_lines
from streamgauge.lake.row_mapping import RejectedRow
from streamgauge.lake.uris import open_store
from streamgauge.pipeline.ingest.reading import (
    read_part,
    refused_batches,
    rows_of,
    tally_row,
)

PARQUET_FILES = (".parquet",)
CSV_FILES = (".csv", ".csv.gz")
BLOCK_LINES = 10_000
_CHUNK_BYTES = 2**20


def file_reader(mapping: str | None) -> Any:
    """What reads parts of files on a worker, under the text of a mapping where there is one."""
    return partial(_read_parts, mapping)


def _read_parts(mapping: str | None, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parsed = None if mapping is None else parse_mapping(mapping)
    for batch in parts:
        for part in batch.to_pylist():
            uri = part["file"]
            if isinstance(parsed, CsvMapping):
                yield from _read_file(part, _csv(uri, parsed))
            elif isinstance(parsed, ParquetMapping) or uri.endswith(PARQUET_FILES):
                yield from _read_file(part, _parquet(uri, parsed))
            else:
                yield from read_part(part)


def check_retries(mapping: str) -> None:
    """A mapping must fit single rows, which is all that quarantine has of a file.

    Raises:
        InvalidInput: It is of a database, or rows would need the header of their file.
    """
    parsed = parse_mapping(mapping)
    if isinstance(parsed, CsvMapping) and parsed.header is None:
        raise InvalidInput.single(
            ("header",),
            seen="none",
            expected="the names of the columns, since rows in quarantine lie there without them",
        )
    if not isinstance(parsed, CsvMapping | ParquetMapping):
        raise InvalidInput.single(
            ("source",),
            seen="a database",
            expected="csv or parquet",
            remedy="a database can be asked again: `streamgauge ingest URL --from --to`",
        )


def mapped_again(raw: bytes, mapping: SourceMapping | None, name: str) -> list[bytes]:
    """The lines of a row of CSV or Parquet, once it gives all of them; none before."""
    found: list[bytes | RejectedRow] = []
    try:
        if isinstance(mapping, CsvMapping):
            found = list(csv_lines([raw + b"\n"], mapping, name=name))
        elif isinstance(mapping, ParquetMapping):
            found = list(row_lines(raw, mapping))
    except InvalidInput:
        return []
    lines = [one for one in found if isinstance(one, bytes)]
    return lines if len(lines) == len(found) else []


def _csv(uri: str, mapping: CsvMapping) -> Iterator[bytes | RejectedRow]:
    store, path = open_store(uri)
    with store.open_input_stream(path, compression="detect") as stream:
        chunks = iter(lambda: stream.read(_CHUNK_BYTES), b"")
        yield from csv_lines(chunks, mapping, name=uri)


def _parquet(uri: str, mapping: SourceMapping | None) -> Iterator[bytes | RejectedRow]:
    store, path = open_store(uri)
    with store.open_input_file(path) as file:
        chosen = mapping if isinstance(mapping, ParquetMapping) else None
        yield from parquet_lines(file, chosen, name=uri)


def _read_file(
    part: dict[str, Any], found: Iterator[bytes | RejectedRow]
) -> Iterator[pa.RecordBatch]:
    """The rows of a whole file; one that is no such file has a fault, and stops no other."""
    lines, fault = 0, None
    try:
        while block := list(islice(found, BLOCK_LINES)):
            lines += len(block)
            yield from _block_rows(block, part)
    except (InvalidInput, OSError, EOFError, pa.ArrowException) as error:
        fault = str(error)
    yield from tally_row(part, lines, fault)


def _block_rows(block: list[bytes | RejectedRow], part: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    receipt, file = part["received_at"], part["file"]
    yield from rows_of([one for one in block if isinstance(one, bytes)], receipt, file)
    refused = [
        (Rejected(one.reason, one.detail), one.raw) for one in block if not isinstance(one, bytes)
    ]
    yield from refused_batches(refused, receipt, file)


def answered_rows(answers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of what databases answered; each query and slice of time counts as a file."""
    for batch in answers:
        rows = batch.to_pylist()
        for file, group in groupby(rows, itemgetter("file")):
            block = list(group)
            part = {**block[0], "bytes": 0, "modified_at": block[0]["received_at"], "file": file}
            found = [
                row["line"]
                if row["line"] is not None
                else RejectedRow(raw=row["raw"], reason=Reason(row["reason"]), detail=row["detail"])
                for row in block
            ]
            yield from _block_rows(found, part)
            yield from tally_row(part, len(block), None)
