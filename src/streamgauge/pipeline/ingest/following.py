"""Following a landing folder: the same ingest, batch after batch, as Structured Streaming.

Spark keeps which files it has given to which batch; each batch is committed once for each table.
Late rows are taken like all others, since nothing here waits for a time to pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import list_files, normal
from streamgauge.pipeline.ingest.job import take_staged
from streamgauge.pipeline.ingest.listing import EPOCH, InputFile
from streamgauge.pipeline.ingest.staging import stage_files
from streamgauge.pipeline.ingest.tally import Tally
from streamgauge.pipeline.table_files import spark_uri

FOLDER = "_following"
FILES_PER_BATCH = 1000
_LINE_FILES = "*.jsonl*"
# What Spark's list of files has; their content is not read by it.
_FILE = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"


def follow(
    spark: SparkSession,
    lake: Lake,
    folder: str,
    *,
    told: Callable[[int, Tally], None],
    once: bool = False,
    seconds: float = 10.0,
) -> StreamingQuery:
    """Start to take files into the lake as they appear in a folder.

    Args:
        spark: The session.
        lake: Where to; what was taken is remembered there too.
        folder: Where writers rename finished files to.
        told: Called after each batch with its number and what it came to.
        once: Whether to end when all that is there was taken.
        seconds: Between two looks at the folder.

    Raises:
        UnreadableFile: There is no such folder.
    """
    place = normal(folder)
    list_files(place, recursive=False)
    name = _name(place)
    files = (
        spark.readStream.format("binaryFile")
        .schema(_FILE)
        .option("pathGlobFilter", _LINE_FILES)
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", FILES_PER_BATCH)
        .load(spark_uri(place))
        .select("path", "modificationTime", "length")
    )
    writer = (
        files.writeStream.queryName(name)
        .option("checkpointLocation", spark_uri(lake.folder(FOLDER, name)))
        .foreachBatch(partial(_take_batch, spark, lake, name, told))
    )
    writer = (
        writer.trigger(availableNow=True)
        if once
        else writer.trigger(processingTime=f"{seconds} seconds")
    )
    return writer.start()


def _name(place: str) -> str:
    """The query of a folder: the same for the same folder, whatever its URI holds."""
    return f"follow-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def _take_batch(
    spark: SparkSession,
    lake: Lake,
    name: str,
    told: Callable[[int, Tally], None],
    files: DataFrame,
    number: int,
) -> None:
    listed = input_files(files)
    tally = Tally(files=len(listed))
    take_staged(spark, lake, stage_files(spark, lake, listed), tally, query=(name, number))
    tally.check()
    told(number, tally)


def input_files(files: DataFrame) -> list[InputFile]:
    """The files that Spark listed, without those that are still being written."""
    rows = (
        files.where(~_is_hidden(f.col("path")))
        # As a number, so that no time zone of this process can change it.
        .select(_plain_path(f.col("path")), "length", f.unix_micros("modificationTime"))
        .collect()
    )
    return [
        InputFile(uri=uri, bytes=size, modified_at=moment, received_at=moment)
        for uri, size, time_us in sorted(rows)
        for moment in (EPOCH + timedelta(microseconds=time_us),)
    ]


def _is_hidden(path: Column) -> Column:
    """Files that are still being written begin with a dot or an underscore."""
    return f.element_at(f.split(path, "/"), -1).rlike("^[._]")


def _plain_path(path: Column) -> Column:
    """The one spelling of a URI: local files by their paths, s3 by its own name."""
    local = f.url_decode(f.regexp_replace(f.regexp_replace(path, "^file:/*", "/"), r"\+", "%2B"))
    return f.when(path.startswith("file:"), local).otherwise(
        f.regexp_replace(path, "^s3a://", "s3://")
    )
