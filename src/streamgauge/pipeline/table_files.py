"""Between Spark and the tables of the lake: reading a snapshot's files, writing new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.schemas import PARTITION, Table
from streamgauge.lake.tables import DataFile, LakeTable
from streamgauge.lake.uris import joined
from streamgauge.pipeline.schemas import spark_schema

# A file of this many rows is some tens of megabytes.
ROWS_PER_FILE = 4_000_000
# Fewer rows than this are not worth a second task.
ROWS_PER_TASK = 250_000


def spark_uri(uri: str) -> str:
    """The URI as Spark spells it."""
    return f"s3a://{uri[5:]}" if uri.startswith("s3://") else uri


def with_day(rows: DataFrame, table: Table) -> DataFrame:
    """Rows with their partition: the UTC day of the table's time."""
    return rows.withColumn(PARTITION, f.to_date(table.day_of))


def read_files(spark: SparkSession, table: LakeTable, files: Iterable[DataFile]) -> DataFrame:
    """The rows of files of a table, with their partition."""
    schema = spark_schema(table.file_schema)
    paths = [spark_uri(joined(table.uri, file.path)) for file in files]
    rows = spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)
    return with_day(rows, table.table)


def tasks_for(spark: SparkSession, rows: int, rows_per_file: int = ROWS_PER_FILE) -> int:
    """How many tasks should handle so many rows."""
    cores = spark.sparkContext.defaultParallelism
    return max(1, min(cores, rows // ROWS_PER_TASK), -(-rows // rows_per_file))


def deal_rows(rows: DataFrame, tasks: int, columns: Sequence[str]) -> DataFrame:
    """Rows in so many ranges of the columns, equal ones together."""
    return rows.repartition(1) if tasks == 1 else rows.repartitionByRange(tasks, *columns)


def write_files(rows: DataFrame, table: LakeTable) -> str:
    """Write rows as new files of a table, which nobody sees before the commit.

    Returns:
        The folder within the table that they lie in.
    """
    folder = f"part-{uuid4().hex}"
    columns = [*table.file_schema.names, PARTITION]
    writer = rows.select(*columns).write.partitionBy(PARTITION)
    writer.parquet(spark_uri(joined(table.uri, folder)))
    return folder
