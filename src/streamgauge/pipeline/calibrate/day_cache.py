"""Sums of whole days, kept in the lake: samples are summed up once for every day that has passed.

What is kept of a day was made from certain files of samples, of that day and of the one before,
which counters are compared with. Where these are not the files of now, it is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from streamgauge.errors import ChangedMeanwhile
from streamgauge.lake.schemas import PARTIALS, PARTITION, SAMPLES
from streamgauge.lake.tables import DataFile
from streamgauge.pipeline.calibrate.sources import Pinned
from streamgauge.pipeline.table_files import read_files, with_day, write_files

_DIGEST = 16


def day_version(samples: Sequence[DataFile], day: date) -> str:
    """What names the samples that the sums of a day rest on."""
    before = day - timedelta(days=1)
    paths = sorted(file.path for file in samples if file.date in (day, before))
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()[:_DIGEST]


def kept_days(pinned: Pinned, days: Collection[date]) -> dict[date, list[DataFile]]:
    """Of these days, the ones whose sums are kept and still true, with their files."""
    samples = pinned.snapshots[SAMPLES.name].files
    kept: dict[date, list[DataFile]] = {}
    for file in pinned.snapshots[PARTIALS.name].files:
        if file.date in days:
            kept.setdefault(file.date, []).append(file)
    return {
        day: files
        for day, files in kept.items()
        if {file.version for file in files} == {day_version(samples, day)}
    }


def keep_days(pinned: Pinned, sums: DataFrame, days: Sequence[date]) -> None:
    """Keep the sums of whole days, in place of what was kept of them before.

    Another writer that keeps the same days at the same time does no harm: one of them is kept.

    Args:
        pinned: The lake.
        sums: Of those days, in the columns of the table but those of its writer.
        days: Which days.
    """
    table = pinned.lake.table(PARTIALS.name)
    rows = (
        with_day(sums, PARTIALS)
        .join(f.broadcast(_versions(pinned, days)), PARTITION, "inner")
        .select(
            "*",
            f.lit(datetime.now(UTC)).alias("received_at"),
            f.lit(pinned.lake.folder(SAMPLES.name)).alias("file"),
        )
    )
    folder = write_files(rows.sortWithinPartitions(_neighbours()), table)
    snapshot = pinned.snapshots[PARTIALS.name]
    stale = [file for file in snapshot.files if file.date in set(days)]
    try:
        table.commit(after=snapshot, added=[folder], removed=stale, about={"command": "calibrate"})
    except ChangedMeanwhile:
        # Whoever was first keeps theirs; these sums are made again when they are missed.
        return


def _neighbours() -> Column:
    """One number to sort by, which is quick: topologies lie together, and series within them."""
    topology, series = "XXHASH64(topology, cluster)", "HASH(component, task, executor, metric)"
    return f.expr(f"{topology} & -4294967296L | {series} & 4294967295L")


def _versions(pinned: Pinned, days: Sequence[date]) -> DataFrame:
    samples = pinned.snapshots[SAMPLES.name].files
    table = pa.table(
        {
            PARTITION: pa.array(days, pa.date32()),
            "version": pa.array([day_version(samples, day) for day in days], pa.string()),
        }
    )
    return pinned.spark.createDataFrame(table)


def kept_sums(pinned: Pinned, days: dict[date, list[DataFile]]) -> DataFrame:
    """The sums of kept days."""
    files = [file for one in days.values() for file in one]
    return read_files(pinned.spark, pinned.lake.table(PARTIALS.name), files)
