"""Staging: lines are read once, counted, and written where each belongs; nothing is compared yet.

Rows of tables lie under their tables, in files that nobody sees before a commit names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamgauge.lake.leftovers import STAGING
from streamgauge.lake.schemas import EVENTS, FILES, LINKS, PLANS, QUARANTINE, SAMPLES, TRACES
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import open_store
from streamgauge.pipeline.ingest.listing import InputFile, tasks_of
from streamgauge.pipeline.ingest.mapped_inputs import answered_rows, file_reader
from streamgauge.pipeline.ingest.reading import PARTS
from streamgauge.pipeline.ingest.row_files import WRITTEN, RowWriter, Span
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import spark_uri

__all__ = ["RECORD_TABLES", "Span", "Staged", "stage", "stage_answers", "stage_files"]

# Records go into the lake in this order: plans before what refers to them.
RECORD_TABLES = (PLANS, EVENTS, LINKS, TRACES, SAMPLES)

Written = Mapping[str, Any]
# What a worker makes of its input: batches of `STAGED`.
Read = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Staged:
    """What was read and is not in the lake yet.

    Args:
        run: The ingest's own name, which folders of its files have.
        folder: Where lies what is in no table.
        written: What workers wrote, rows of `WRITTEN`.
    """

    def __init__(self, run: str, folder: str, written: Sequence[Written]) -> None:
        self.run = run
        self.folder = folder
        self._written = written

    def of(self, name: str) -> list[Written]:
        """What was written for one table."""
        return [one for one in self._written if one["table"] == name]

    def count(self, name: str) -> int:
        """Rows for one table."""
        return sum(one["rows"] for one in self.of(name))

    @property
    def lines(self) -> int:
        """Lines that were read."""
        return sum(one["lines"] for one in self.of(FILES.name))

    @property
    def records_count(self) -> int:
        """Rows of all tables of records."""
        return sum(self.count(table.name) for table in RECORD_TABLES)

    def refused(self, spark: SparkSession) -> DataFrame:
        """The lines that were not taken, and why."""
        paths = [spark_uri(one["path"]) for one in self.of(QUARANTINE.name)]
        schema = "line BINARY, reason STRING, detail STRING, received_at TIMESTAMP, file STRING"
        return spark.read.schema(schema).parquet(*paths)

    def spans(self, name: str) -> dict[date, Span]:
        """The times, and the topologies, that the rows for a table have on each day."""
        spans: dict[date, Span] = {}
        for one in self.of(name):
            near = [spans[one["day"]]] if one["day"] in spans else []
            names = (one["least_topology"], one["greatest_topology"])
            ends = [names, *(span.topologies for span in near)]
            known = [end for end in ends if end is not None and None not in end]
            spans[one["day"]] = Span(
                day=one["day"],
                first=min([one["first"], *(span.first for span in near)]),
                last=max([one["last"], *(span.last for span in near)]),
                topologies=(min(end[0] for end in known), max(end[1] for end in known))
                if len(known) == len(ends)
                else None,
            )
        return spans

    def remove(self) -> None:
        """Remove what lies in no table."""
        store, path = open_store(self.folder)
        store.create_dir(path, recursive=True)
        store.delete_dir(path)


def stage_files(
    spark: SparkSession, lake: Lake, files: Sequence[InputFile], mapping: str | None = None
) -> Staged:
    """Read files, under a mapping where there is one."""
    tasks = tasks_of(files, spark.sparkContext.defaultParallelism)
    numbers = spark.range(0, len(tasks), 1, max(len(tasks), 1))
    return stage(numbers, lake, partial(_read_tasks, tasks, file_reader(mapping)))


def _read_tasks(
    tasks: Sequence[Sequence[tuple[Any, ...]]], read: Read, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number in (one for batch in numbers for one in batch.column(0).to_pylist()):
        rows = [dict(zip(PARTS.names, part, strict=True)) for part in tasks[number]]
        yield from read(pa.Table.from_pylist(rows, schema=PARTS).to_batches())


def stage_answers(spark: SparkSession, lake: Lake, answers: DataFrame) -> Staged:
    """Read what databases answered."""
    return stage(answers.coalesce(spark.sparkContext.defaultParallelism), lake, answered_rows)


def stage(inputs: DataFrame, lake: Lake, read: Read) -> Staged:
    """Read inputs and write their rows, once: only what a task says it wrote counts."""
    run = uuid4().hex
    folder = lake.folder(STAGING, run)
    worker = partial(_write_rows, lake, run, folder, read)
    return Staged(run, folder, written_by(inputs, worker))


def written_by(inputs: DataFrame, worker: Read) -> list[Written]:
    """Run a worker that writes files, and gives rows of `WRITTEN`, on all inputs, once."""
    written: list[Written] = inputs.mapInArrow(worker, spark_schema(WRITTEN)).toArrow().to_pylist()
    return written


def _write_rows(
    lake: Lake, run: str, folder: str, read: Read, inputs: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from RowWriter(lake, run, folder).write(read(inputs))
