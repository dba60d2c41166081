"""Columns that several transforms use: who a sample is about, its bucket, its block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as f

from streamgauge.lake.schemas import PARTIALS, PARTITION, SAMPLES
from streamgauge.pipeline.calibrate.block_lengths import (
    BLOCK_SECONDS,
    BUCKETS_PER_BLOCK,
    MICROSECONDS,
)

# What makes a series: the columns of a sample before its bucket.
SERIES = tuple(SAMPLES.schema.names[: SAMPLES.schema.names.index("bucket_start")])
# The columns of partial sums; receipt, version and day are the writer's to add.
PARTIAL_COLUMNS = tuple(
    name
    for name in PARTIALS.schema.names
    if name not in ("version", "received_at", "file", PARTITION)
)


def labelled(labels: Iterable[str]) -> Column:
    """Whether a row's metric is one of these."""
    # One text is read faster than eighty literals are made.
    listed = ", ".join(f"'{label}'" for label in sorted(labels))
    return f.expr(f"metric IN ({listed})") if listed else f.lit(False)


def by_metric(values: Mapping[str, int]) -> Column:
    """The number that a metric has here; nothing for others."""
    cases = " ".join(f"WHEN '{label}' THEN {values[label]}L" for label in sorted(values))
    return f.expr(f"CASE metric {cases} END")


def bucket_us() -> Column:
    """How long the bucket is, in whole microseconds."""
    return f.expr(f"CAST(RINT(bucket_seconds * {MICROSECONDS}.0D) AS BIGINT)")


def block_us() -> Column:
    """How long the block of a row's `bucket_us` is: `block_lengths.block_seconds` in SQL."""
    cases = " ".join(
        f"WHEN bucket_us * {BUCKETS_PER_BLOCK} <= {seconds * MICROSECONDS}L"
        f" THEN {seconds * MICROSECONDS}L"
        for seconds in BLOCK_SECONDS[:-1]
    )
    return f.expr(f"CASE {cases} ELSE {BLOCK_SECONDS[-1] * MICROSECONDS}L END")


def block_start_us() -> Column:
    """When the block began in which a row's bucket starts; both count from a UTC midnight."""
    return f.expr("start_us - PMOD(start_us, block_us)")


def same(name: str, left: str, right: str) -> Column:
    """Whether a column of two aliased frames is the same, nulls being equal to nulls."""
    return f.col(f"{left}.{name}").eqNullSafe(f.col(f"{right}.{name}"))


def all_same(names: Iterable[str], left: str, right: str) -> Column:
    """Whether all of these columns of two aliased frames are the same."""
    return reduce(lambda one, other: one & other, (same(name, left, right) for name in names))


def selected(
    names: Iterable[str], made: Mapping[str, Column], frame: str = ""
) -> list[Column | str]:
    """Columns by name, those of `made` in place of what the frame has."""
    prefix = f"{frame}." if frame else ""
    return [made[name].alias(name) if name in made else f"{prefix}{name}" for name in names]
