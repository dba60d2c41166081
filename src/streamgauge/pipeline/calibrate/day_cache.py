"""Sums of whole days, kept in the lake: samples are summed up once for every day that has passed.

What is kept of a day was made from certain files of samples, of that day and of the one before,
which counters are compared with. Where these are not the files of now, it is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from streamgauge.errors import ChangedMeanwhile
from streamgauge.lake.schemas import PARTIALS, SAMPLES
from streamgauge.lake.tables import DataFile
from streamgauge.pipeline.calibrate.sources import Pinned
from streamgauge.pipeline.table_files import read_files, tasks_for, with_day, write_files

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
        if all(file.path.startswith(_mark(day_version(samples, day))) for file in files)
    }


def _mark(version: str) -> str:
    return f"of-{version}"


def keep_days(
    pinned: Pinned, days: Sequence[date], summed: Callable[[Sequence[date]], DataFrame]
) -> None:
    """Sum up days and keep the sums, in place of what was kept of them before.

    Another writer that keeps the same days at the same time does no harm: one of them is kept.

    Args:
        pinned: The lake.
        days: Which days.
        summed: Gives the sums of some days, in the columns of the table but those of its writer.
    """
    table = pinned.lake.table(PARTIALS.name)
    samples = pinned.snapshots[SAMPLES.name].files
    now = datetime.now(UTC)
    folders = []
    for day in days:
        version = day_version(samples, day)
        rows = with_day(summed([day]), PARTIALS).select(
            "*",
            f.lit(version).alias("version"),
            f.lit(now).alias("received_at"),
            f.lit(pinned.lake.folder(SAMPLES.name)).alias("file"),
        )
        tasks = tasks_for(pinned.spark, sum(file.rows for file in samples if file.date == day) // 5)
        ordered = rows.repartitionByRange(tasks, "topology", "cluster", "component", "task")
        sorted_rows = ordered.sortWithinPartitions(*PARTIALS.order)
        folders.append(write_files(sorted_rows, table, _mark(version)))
    snapshot = pinned.snapshots[PARTIALS.name]
    stale = [file for file in snapshot.files if file.date in set(days)]
    try:
        table.commit(after=snapshot, added=folders, removed=stale, about={"command": "calibrate"})
    except ChangedMeanwhile:
        # Whoever was first keeps theirs; these sums are made again when they are missed.
        return


def kept_sums(pinned: Pinned, days: dict[date, list[DataFile]]) -> DataFrame:
    """The sums of kept days."""
    files = [file for one in days.values() for file in one]
    return read_files(pinned.spark, pinned.lake.table(PARTIALS.name), files)
