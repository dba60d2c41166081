"""Taking lines back from quarantine once the reason is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.field_rules import Reason
from streamgauge.lake.files.mapping_file import parse_mapping
from streamgauge.lake.schemas import QUARANTINE
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest import quarantine
from streamgauge.pipeline.ingest.job import Say, take_records
from streamgauge.pipeline.ingest.mapped_inputs import check_retries, mapped_again
from streamgauge.pipeline.ingest.reading import STAGED, rows_of
from streamgauge.pipeline.ingest.staging import Read, stage
from streamgauge.pipeline.ingest.tally import Tally
from streamgauge.pipeline.table_files import read_files


def retry(
    spark: SparkSession,
    lake: Lake,
    *,
    received_at: datetime | None = None,
    mapping: str | None = None,
    say: Say = lambda _: None,
) -> Tally:
    """Read every line in quarantine again, and take what is good now.

    Lines that gave way to others are left: what is right did not change. Lines that are still not
    good stay as they are.

    Args:
        spark: The session.
        lake: The lake.
        received_at: When the lines count as received, where the recorded receipt is wrong.
        mapping: The text of a mapping, for rows of CSV and Parquet that gave no lines.
        say: Told what is being done.

    Returns:
        The lines that are good now, taken or found to be duplicates.

    Raises:
        InvalidInput: Single rows cannot be read by the mapping.
    """
    if mapping is not None:
        check_retries(mapping)
    table = lake.table(QUARANTINE.name)
    files = table.snapshot().files
    if not files:
        return Tally()
    lines = (
        read_files(spark, table, files)
        .where(f.col("reason") != str(Reason.SUPERSEDED))
        .select("raw", "received_at", "file")
        .coalesce(spark.sparkContext.defaultParallelism)
    )
    read = partial(_read_again, received_at, mapping)
    staged = stage(lines, lake, read)
    tally = Tally(lines=staged.records_count)
    if tally.lines:
        say(f"{tally.lines} lines are valid now")
        take_records(spark, lake, staged, tally, say)
        # Only now, so that a line is never in neither place.
        good = lines.mapInArrow(partial(_good_lines, read), "raw BINARY")
        tally.released = quarantine.release(spark, lake, good)
    staged.remove()
    tally.check()
    return tally


def _good_lines(read: Read, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lines that give rows now."""
    for batch in read(batches):
        yield batch.select(["line"]).rename_columns(["raw"])


def _read_again(
    received_at: datetime | None, mapping: str | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of lines that are good now, each with its line."""
    parsed = None if mapping is None else parse_mapping(mapping)
    for batch in batches:
        for row in batch.to_pylist():
            raw, file = row["raw"], row["file"]
            receipt = received_at or row["received_at"]
            yield from _good([raw], raw, receipt, file) or _good(
                mapped_again(raw, parsed, file), raw, receipt, file
            )


def _good(lines: list[bytes], raw: bytes, received_at: datetime, file: str) -> list[pa.RecordBatch]:
    """The rows of lines, under the raw line that they came from; none unless all are good."""
    place = STAGED.names.index("line")
    found = []
    for one in rows_of(lines, received_at, file):
        if QUARANTINE.name in one.column("table").to_pylist():
            return []
        columns = one.columns
        columns[place] = pa.array([raw] * len(one), pa.binary())
        found.append(pa.RecordBatch.from_arrays(columns, schema=STAGED))
    return found
