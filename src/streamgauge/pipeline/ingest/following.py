"""Following a landing folder: the same ingest, batch after batch, as Structured Streaming.

Spark keeps which files it has given to which batch; each batch is committed once for each table.
Late rows are taken like all others, since nothing here waits for a time to pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.lake.line_blocks import COMPRESSED
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import list_files, normal
from streamgauge.pipeline.ingest.job import take_staged
from streamgauge.pipeline.ingest.listing import PART_BYTES
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
    tally = Tally()
    parts = parts_of_files(files)
    tally.files = parts.select("file").distinct().count()
    staged = stage_files(spark, lake, parts)
    take_staged(spark, lake, staged, tally, query=(name, number))
    tally.check()
    told(number, tally)


def parts_of_files(files: DataFrame) -> DataFrame:
    """The parts of files that Spark listed, as rows of `PARTS`."""
    whole = f.col("path").endswith(COMPRESSED) | (f.col("length") <= PART_BYTES)
    starts = f.when(whole, f.array(f.lit(0).cast("long"))).otherwise(
        f.sequence(f.lit(0).cast("long"), f.col("length") - 1, f.lit(PART_BYTES).cast("long"))
    )
    return (
        files.where(~_is_hidden(f.col("path")))
        .select("*", f.explode(starts).alias("offset"), whole.alias("whole"))
        .select(
            _plain_path(f.col("path")).alias("file"),
            "offset",
            f.when(~f.col("whole"), f.lit(PART_BYTES).cast("long")).alias("length"),
            f.col("length").alias("bytes"),
            f.col("modificationTime").alias("modified_at"),
            f.col("modificationTime").alias("received_at"),
        )
    )


def _is_hidden(path: Column) -> Column:
    """Files that are still being written begin with a dot or an underscore."""
    return f.element_at(f.split(path, "/"), -1).rlike("^[._]")


def _plain_path(path: Column) -> Column:
    """The one spelling of a URI: local files by their paths, s3 by its own name."""
    local = f.url_decode(f.regexp_replace(f.regexp_replace(path, "^file:/*", "/"), r"\+", "%2B"))
    return f.when(path.startswith("file:"), local).otherwise(
        f.regexp_replace(path, "^s3a://", "s3://")
    )
