"""Records as Spark's frames with the columns of the lake's tables."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from streamgauge.lake.records import Sample
from streamgauge.lake.schemas import LINKS, PLANS, SAMPLES, TRACES
from streamgauge.pipeline.schemas import spark_schema
from tests.pipeline.calibrate.brute_force import plus, rounded

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
# A Thursday, at midnight.
DAY_US = 1_767_225_600 * SECOND


def time_of(microseconds):
    return EPOCH + timedelta(microseconds=microseconds)


def row_of(record, table):
    """A record as a row of its table."""
    row = {}
    for field in fields(record):
        value = getattr(record, field.name)
        name = field.name
        if name.endswith("_us"):
            name, value = name.removesuffix("_us"), None if value is None else time_of(value)
        elif isinstance(value, tuple):
            value = [{one.name: getattr(part, one.name) for one in fields(part)} for part in value]
        row[name] = value
    row |= {"received_at": EPOCH, "file": "f", "date": row[table.day_of].date()}
    return row


def frame_of(spark, records, table=SAMPLES):
    """A frame of records of one table."""
    rows = [row_of(record, table) for record in records]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=table.schema))


def stored(spark, frame, path, table=None):
    """The frame written to files of Parquet and read again, with the table's schema if given."""
    frame.write.parquet(str(path))
    schema = frame.schema if table is None else spark_schema(table.schema)
    return spark.read.schema(schema).parquet(str(path))


def links_frame(spark, records):
    return frame_of(spark, records, LINKS)


def plans_frame(spark, records):
    return frame_of(spark, records, PLANS)


def traces_frame(spark, records):
    return frame_of(spark, records, TRACES)


def sample(metric, second, value, count=None, *, day_us=DAY_US, seconds=10.0, **keys):
    """A sample of topology `job` whose bucket begins so many seconds after midnight."""
    whole = {"topology": "job", **keys}
    return Sample(
        **whole,
        metric=metric,
        bucket_start_us=day_us + round(second * SECOND),
        bucket_seconds=seconds,
        value=float(value),
        count=int(value) if count is None else count,
    )


def sums_of(frame):
    """The rows of partial sums as `brute_force` has them; those with equal keys are added."""
    found = {}
    for row in frame.toArrow().to_pylist():
        start = round((row["block_start"] - EPOCH) / timedelta(microseconds=1))
        series = list(row.values())[:15]
        key = (*series, start, round(row["block_seconds"] * SECOND))
        slots = row["slots"] and {
            slot: number for slot, number in enumerate(row["slots"]) if number is not None
        }
        counts = [row[name] for name in ("buckets", "span_us", "observations")]
        found[key] = plus(found.get(key), (*counts, row["total"], row["squares"], slots))
    return {key: rounded(row) for key, row in found.items()}
