"""The quarantine: what was not taken, once each, and how it gets out again."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from streamgauge.lake.bulk_decoding import columns_of
from streamgauge.lake.field_rules import Reason
from streamgauge.lake.schemas import TABLES, TIMESTAMP, Table
from streamgauge.lake.tables import DataFile, Lake
from streamgauge.pipeline.ingest.committing import commit_files
from streamgauge.pipeline.ingest.deduplication import row_key
from streamgauge.pipeline.ingest.reading import typed_rows, written_rows
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import read_files, with_day, write_files

NAME = "quarantine"
_OWN = ("received_at", "file")


def refused_rows(staged: DataFrame) -> DataFrame:
    """Lines that were not taken, as rows of the quarantine."""
    return staged.select(
        f.col("line").alias("raw"),
        "reason",
        "detail",
        f.lit(None).cast("string").alias("table"),
        f.lit(None).cast("string").alias("row_key"),
        *_OWN,
    )


def superseded_rows(rows: DataFrame, table: Table) -> DataFrame:
    """Rows of a table that gave way, as rows of the quarantine, in the form of `encode`."""
    schema = t.StructType(
        [
            t.StructField("received_at", t.TimestampType()),
            t.StructField("file", t.StringType()),
            t.StructField("row_key", t.StringType()),
            t.StructField("raw", t.BinaryType()),
        ]
    )
    columns = columns_of(table).names
    written = rows.select(*columns, *_OWN, row_key(table).alias("row_key")).mapInArrow(
        partial(written_rows, table.name), schema
    )
    return written.select(
        "raw",
        f.lit(str(Reason.SUPERSEDED)).alias("reason"),
        f.lit("another row of the same key was received later, or at the same time").alias(
            "detail"
        ),
        f.lit(table.name).alias("table"),
        "row_key",
        *_OWN,
    )


def superseded_records(
    spark: SparkSession, lake: Lake, table: Table, first: datetime, last: datetime
) -> DataFrame | None:
    """Superseded rows of a table in its own columns; nothing where there are none.

    A row is refused unless it is of before its receipt: what was received before `first` is of
    before `first`, too. So old corrections cost what comes today nothing.

    Args:
        spark: The session.
        lake: The lake.
        table: Whose rows.
        first: Earliest time that is asked for, of the table's `day_of`.
        last: Latest time.
    """
    quarantine = lake.table(NAME)
    files = quarantine.snapshot().within(first, None)
    reason, received_at = str(Reason.SUPERSEDED), pa.scalar(first, TIMESTAMP)
    where = (ds.field("reason") == reason) & (ds.field("table") == table.name)
    found = quarantine.dataset(files=files).filter(where & (ds.field("received_at") >= received_at))
    if not found.head(1, columns=["reason"]).num_rows:
        return None
    schema = t.StructType(
        [
            *spark_schema(columns_of(table)).fields,
            t.StructField("received_at", t.TimestampType()),
            t.StructField("file", t.StringType()),
        ]
    )
    lines = (
        read_files(spark, quarantine, files)
        .where((f.col("reason") == reason) & (f.col("table") == table.name))
        .where(f.col("received_at") >= f.lit(first))
        .select(f.col("raw").alias("line"), *_OWN)
    )
    rows = with_day(lines.mapInArrow(partial(typed_rows, table.name), schema), table)
    return rows.where(f.col(table.day_of).between(f.lit(first), f.lit(last)))


def put(spark: SparkSession, lake: Lake, rows: DataFrame) -> int:
    """Put rows into quarantine that are not there yet, each once.

    Returns:
        Rows that are there now and were not before.
    """
    table = lake.table(NAME)
    added = 0

    def write(files: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
        nonlocal added
        distinct = (
            rows.groupBy("raw")
            .agg(f.min(f.struct("received_at", "file", "reason", "detail", "table", "row_key")))
            .toDF("raw", "first")
            .select("raw", "first.*")
        )
        if files:
            there = read_files(spark, table, files).select("raw")
            distinct = distinct.join(there, "raw", "left_anti")
        new = with_day(distinct, TABLES[NAME]).repartition(1)
        folder = write_files(new.sortWithinPartitions("date", "file", "reason"), table)
        added = table.rows_in(folder)
        return [folder], []

    commit_files(table, write, about={"command": "quarantine"})
    return added


def release(spark: SparkSession, lake: Lake, raws: DataFrame) -> int:
    """Take lines out of quarantine that are elsewhere in the lake now.

    Returns:
        Rows that quarantine has less.
    """
    return _exchange(spark, lake, raws, None)


def restamp(spark: SparkSession, lake: Lake, rows: DataFrame) -> None:
    """Give rows in quarantine an earlier receipt, in one step."""
    _exchange(spark, lake, rows, rows)


def _exchange(spark: SparkSession, lake: Lake, leaving: DataFrame, coming: DataFrame | None) -> int:
    """Rewrite the files that hold lines which leave; others come in their place."""
    table = lake.table(NAME)
    wanted = f.broadcast(leaving.select("raw").distinct())
    gone = 0

    def write(files: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
        nonlocal gone
        there = read_files(spark, table, files).withColumn("path", f.col("_metadata.file_path"))
        hit = there.join(wanted, "raw", "left_semi")
        found = {row[0]: row[1] for row in hit.groupBy("path").count().collect()}
        gone = sum(found.values())
        touched = [file for file in files if any(path.endswith(file.path) for path in found)]
        if not touched:
            return [], []
        rest = read_files(spark, table, touched).join(wanted, "raw", "left_anti")
        if coming is not None:
            rest = rest.unionByName(with_day(coming, TABLES[NAME]))
        return [write_files(rest.repartition(1), table)], touched

    commit_files(table, write, about={"command": "exchange"})
    return gone
