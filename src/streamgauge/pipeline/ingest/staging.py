"""Staging: lines are read once, counted, and put where each belongs; nothing is compared yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from uuid import uuid4

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from streamgauge.lake.columns import columns_of
from streamgauge.lake.schemas import EVENTS, FILES, LINKS, PLANS, QUARANTINE, SAMPLES, TRACES
from streamgauge.lake.schemas import TABLES as ALL_TABLES
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.listing import EPOCH, InputFile
from streamgauge.pipeline.ingest.mapped_inputs import answered_rows, file_reader
from streamgauge.pipeline.ingest.reading import PARTS, STAGED, typed_rows
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import spark_uri, with_day

FOLDER = "_staging"
# Records go into the lake in this order: plans before what refers to them.
RECORD_TABLES = (PLANS, EVENTS, LINKS, TRACES, SAMPLES)
_PLACES = (*RECORD_TABLES, QUARANTINE, FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The times of a day that rows have, both ends included."""

    day: date
    first: datetime
    last: datetime


class Staged:
    """Rows that were read and are not in the lake yet.

    Args:
        spark: The session.
        folder: Where they lie.
        counts: Rows for each table, and `lines` read.
    """

    def __init__(self, spark: SparkSession, folder: str, counts: Mapping[str, int]) -> None:
        self._spark = spark
        self.folder = folder
        self.counts = dict(counts)

    @property
    def lines(self) -> int:
        """Lines that were read."""
        return self.counts["lines"]

    @property
    def records_count(self) -> int:
        """Rows of all tables of records."""
        return sum(self.counts[table.name] for table in RECORD_TABLES)

    def rows(self, name: str) -> DataFrame:
        """The rows for one table as they were staged."""
        schema = spark_schema(STAGED)
        place = f"{self.folder}/table={name}"
        return self._spark.read.schema(schema).parquet(spark_uri(place)).drop("table")

    def records(self, name: str) -> DataFrame:
        """The rows for a table of records in its columns, with receipt, file and day."""
        table = ALL_TABLES[name]
        own = ["received_at", "file"]
        if table is SAMPLES:
            typed = self.rows(name).select(*columns_of(table).names, *own)
        else:
            schema = t.StructType(
                [
                    *spark_schema(columns_of(table)).fields,
                    t.StructField("received_at", t.TimestampType()),
                    t.StructField("file", t.StringType()),
                ]
            )
            lines = self.rows(name).select("line", *own)
            typed = lines.mapInArrow(partial(typed_rows, name), schema)
        return with_day(typed, table)

    @cached_property
    def spans(self) -> dict[str, list[Span]]:
        """By table, the times that its rows have on each day; as many rows as tables and days."""
        schema = spark_schema(STAGED)
        rows = self._spark.read.schema(schema).parquet(spark_uri(self.folder))
        days = (
            rows.where(f.col("time").isNotNull())
            .groupBy("table", f.to_date("time").alias("day"))
            .agg(f.min("time").alias("first"), f.max("time").alias("last"))
            # As text and numbers, so that no time zone of this process can change them.
            .select(
                "table",
                f.col("day").cast("string"),
                f.unix_micros("first").alias("first"),
                f.unix_micros("last").alias("last"),
            )
        )
        spans: dict[str, list[Span]] = {}
        for name, day, first, last in sorted(days.collect()):
            span = Span(day=date.fromisoformat(day), first=_moment(first), last=_moment(last))
            spans.setdefault(name, []).append(span)
        return spans


def _moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def parts_of(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """The parts of files, one a task."""
    parts = [part for file in files for part in file.parts()]
    rows = spark.sparkContext.parallelize(parts, max(1, min(len(parts), 10_000)))
    return spark.createDataFrame(rows, spark_schema(PARTS))


def stage_files(
    spark: SparkSession, lake: Lake, parts: DataFrame, mapping: str | None = None
) -> Staged:
    """Read parts of files into the staging folder, under a mapping where there is one."""
    return stage(spark, lake, parts.mapInArrow(file_reader(mapping), spark_schema(STAGED)))


def stage_answers(spark: SparkSession, lake: Lake, answers: DataFrame) -> Staged:
    """Read what databases answered into the staging folder."""
    return stage(spark, lake, answers.mapInArrow(answered_rows, spark_schema(STAGED)))


def stage(spark: SparkSession, lake: Lake, rows: DataFrame) -> Staged:
    """Write rows of `STAGED` into the staging folder, and count them on the way."""
    folder = lake.folder(FOLDER, uuid4().hex)
    observation = Observation()
    table = f.col("table")
    counted = rows.observe(
        observation,
        f.coalesce(f.sum("lines"), f.lit(0)).alias("lines"),
        *(f.count(f.when(table == one.name, 1)).alias(one.name) for one in _PLACES),
    )
    counted.write.partitionBy("table").parquet(spark_uri(folder))
    return Staged(spark, folder, observation.get)
