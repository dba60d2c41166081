"""Records as Spark's frames with the columns of the lake's tables."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from streamgauge.lake.records import Sample
from streamgauge.lake.schemas import LINKS, PLANS, SAMPLES, TRACES
from streamgauge.pipeline.calibrate.block_sums import (
    READ,
    counters_summed,
    heard_summed,
    series_rows,
)
from streamgauge.pipeline.calibrate.inventory import Found, listed
from streamgauge.pipeline.calibrate.job import scope_of
from streamgauge.pipeline.calibrate.lake_parts import Arrays
from streamgauge.pipeline.estimation.exact_sums import Limbs
from streamgauge.pipeline.estimation.exact_sums import rounded as rounded_limbs
from tests.pipeline.calibrate.brute_force import DIVISORS, SERIES, plus, rounded

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
# A Thursday, at midnight.
DAY_US = 1_767_225_600 * SECOND
# Tuples come for executors, too.
FOR_EXECUTORS = ("executed", "window_triggers")


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


def arrays_of(records):
    """Samples as they are read from files."""
    rows = [row_of(record, SAMPLES) for record in records]
    table = pa.Table.from_pylist(rows, schema=SAMPLES.schema).select(READ)
    return Arrays.of(table)


def held_by(parts, cuts=()):
    """What parts of the samples say of every topology, by cluster and name."""
    found = {}
    for part in parts:
        for job, some in listed(part).items():
            found.setdefault(job, Found()).add(some)
    return {job: some.held(job, cuts) for job, some in found.items()}


def rows_of(parts, scopes):
    """All rows that calibration makes of parts of the samples, which come together at the end."""
    tables = [table for part in parts for table in series_rows(part, scopes)]
    for kind, work in (("heard", heard_summed), ("counter", counters_summed)):
        rows = [table for table in tables if table["kind"][0].as_py() == kind]
        if rows:
            tables += work(pa.concat_tables(rows), scopes)
    return pa.concat_tables(tables)


def summed(parts, periods):
    """The sums of periods from parts of the samples."""
    held = held_by(parts)
    scopes = [scope_of(one, held[one.cluster, one.topology]) for one in periods]
    return sums_of(rows_of(parts, scopes))


def sums_of(table):
    """Rows of sums as `brute_force` has them; those with equal keys are added."""
    found = {}
    for row in table.to_pylist():
        if row["kind"] != "sums" or (row["task"] is None and row["metric"] in FOR_EXECUTORS):
            continue
        series = [row[name] for name in SERIES]
        per_block = row["block_us"] // row["bucket_us"]
        for place, start in enumerate(row["start"]):
            inside = {
                slot: number
                for slot, number in zip(row["slot"], row["slot_sum"], strict=True)
                if slot // per_block == start // row["block_us"]
            }
            counts = [row[name][place] for name in ("buckets", "span_us", "observations")]
            total, squares = number(row, "total", place), number(row, "square", place)
            key = (*series, start, row["block_us"])
            slots = inside if row["metric"] in DIVISORS else None
            found[key] = plus(found.get(key), (*counts, total, squares, slots))
    return {key: rounded(row) for key, row in found.items()}


def number(row, name, place):
    """A number of a row's block; nothing where it has none."""
    limbs = [row[f"{name}_{part}"] for part in ("low", "middle", "top")]
    if not limbs[0]:
        return None
    return float(
        rounded_limbs(Limbs(*(np.asarray([one[place] if one else 0]) for one in limbs)))[0]
    )
