"""An ingest: lines are staged, compared with the lake, and committed table by table.

The order makes a kill at any moment harmless. What is superseded is in quarantine before it leaves
its table, what is right is in its table before it leaves quarantine, and a file counts as known
when all of its rows are there. A re-run finds what is done, and does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.schemas import FILES, QUARANTINE, Table
from streamgauge.lake.tables import DataFile, Lake, LakeTable
from streamgauge.lake.uris import open_store
from streamgauge.pipeline.ingest import merging, quarantine
from streamgauge.pipeline.ingest.committing import Batch, commit_files
from streamgauge.pipeline.ingest.listing import InputFile, known_files
from streamgauge.pipeline.ingest.staging import (
    RECORD_TABLES,
    Span,
    Staged,
    parts_of,
    stage_answers,
    stage_files,
)
from streamgauge.pipeline.ingest.tally import Tally
from streamgauge.pipeline.query_sources import read_source, source_error
from streamgauge.pipeline.range_queries import RangeRequest
from streamgauge.pipeline.table_files import deal_rows, read_files, tasks_for, with_day, write_files

Say = Callable[[str], None]


def ingest_files(
    spark: SparkSession,
    lake: Lake,
    files: Sequence[InputFile],
    *,
    mapping: str | None = None,
    say: Say = lambda _: None,
) -> Tally:
    """Take files into the lake.

    Args:
        spark: The session.
        lake: Where to.
        files: What to read; files that the lake knows just as they are are left out.
        mapping: Text of the mapping, for files of other columns than ours.
        say: Told what is being done.
    """
    known = known_files(lake, files)
    unread = [file for file in files if file.uri not in known]
    tally = Tally(files=len(unread), known_files=len(known))
    tally.lines = tally.duplicates = sum(known.values())
    if unread:
        say(f"reading {len(unread)} files")
        staged = stage_files(spark, lake, parts_of(spark, unread), mapping)
        take_staged(spark, lake, staged, tally, say)
    tally.check()
    return tally


def ingest_source(
    spark: SparkSession, lake: Lake, request: RangeRequest, *, say: Say = lambda _: None
) -> Tally:
    """Take what a database answers for a range of time into the lake.

    Raises:
        SourceUnreachable: The database does not answer, or not as such a server would.
    """
    tally = Tally()
    say(f"asking {request.url}")
    try:
        staged = stage_answers(spark, lake, read_source(spark, request))
    except (PySparkException, Py4JError) as error:
        ours = source_error(error)
        if ours is None:
            raise
        raise ours from None
    take_staged(spark, lake, staged, tally, say)
    tally.check()
    return tally


def take_staged(
    spark: SparkSession,
    lake: Lake,
    staged: Staged,
    tally: Tally,
    say: Say = lambda _: None,
    query: tuple[str, int] | None = None,
) -> None:
    """Take what was staged into the lake, and remove the staging.

    Args:
        spark: The session.
        lake: Where to.
        staged: What was read.
        tally: Where it is counted.
        say: Told what is being done.
        query: Name of a continuous query and number of its batch.
    """
    tally.lines += staged.lines
    if staged.counts[QUARANTINE.name]:
        say(f"writing {staged.counts[QUARANTINE.name]} rejected lines to quarantine")
        refused = quarantine.refused_rows(staged.rows(QUARANTINE.name))
        for row in refused.groupBy("reason").count().collect():
            tally.reasons[row[0]] = tally.reasons.get(row[0], 0) + row[1]
        added = quarantine.put(spark, lake, refused)
        tally.quarantined += added
        tally.duplicates += staged.counts[QUARANTINE.name] - added
    take_records(spark, lake, staged, tally, say, query)
    _register_files(spark, lake, staged, tally)
    remove_staging(staged.folder)


def take_records(
    spark: SparkSession,
    lake: Lake,
    staged: Staged,
    tally: Tally,
    say: Say = lambda _: None,
    query: tuple[str, int] | None = None,
) -> None:
    """Take staged rows of all tables of records into the lake."""
    present = [table for table in RECORD_TABLES if staged.counts[table.name]]
    if present:
        say(f"comparing {sum(staged.counts[table.name] for table in present)} rows with the lake")
        # Small tables take a few steps each and little work: they need not wait for each other.
        with ThreadPoolExecutor(max_workers=len(present)) as pool:
            merges = [Merge(spark, lake, table, staged) for table in present]
            for counts in pool.map(lambda merge: merge.run(query), merges):
                tally.add(counts)


def remove_staging(folder: str) -> None:
    """Remove what was staged."""
    store, path = open_store(folder)
    store.delete_dir(path)


def _register_files(spark: SparkSession, lake: Lake, staged: Staged, tally: Tally) -> None:
    """Note the files as known, the last thing that is done."""
    files = (
        staged.rows(FILES.name)
        .groupBy("file", "bytes", "modified_at", "received_at")
        .agg(f.sum("lines").alias("rows"), f.max("detail").alias("fault"))
    )
    for row in files.where(f.col("fault").isNotNull()).select("file", "fault").collect():
        tally.faults[row[0]] = row[1]

    def write(there: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
        del there
        return [write_files(with_day(files, FILES).repartition(1), lake.table(FILES.name))], []

    commit_files(lake.table(FILES.name), write, about={"command": "ingest"})


@dataclass
class Merge:
    """Rows of one table on their way from the staging into the lake."""

    spark: SparkSession
    lake: Lake
    table: Table
    staged: Staged

    def run(self, query: tuple[str, int] | None) -> Tally:
        """Compare and commit, again where another writer was first."""
        target = self.lake.table(self.table.name)
        spans = self.staged.spans[self.table.name]
        batch = None if query is None else Batch(f"{query[0]}/{self.table.name}", query[1])
        found = _Found()

        def write(files: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
            nonlocal found
            found = _Found()
            return self._write(target, files, spans, found)

        done = commit_files(target, write, batch=batch, about={"command": "ingest"})
        if not done:
            return Tally(duplicates=self.staged.counts[self.table.name])
        released = 0
        if found.released is not None:
            released = quarantine.release(self.spark, self.lake, found.released)
        return Tally(
            taken={self.table.name: found.taken},
            quarantined=found.quarantined - released + found.doubled,
            duplicates=found.duplicates,
            superseded=found.quarantined,
        )

    def _write(
        self,
        target: LakeTable,
        files: tuple[DataFile, ...],
        spans: Sequence[Span],
        found: _Found,
    ) -> tuple[list[str], list[DataFile]]:
        near = _near(files, spans)
        distinct = self._distinct(target, near, spans)
        seen, plain = Observation(), merging.is_plainly_new()
        counted = distinct.observe(
            seen,
            f.coalesce(f.sum(plain.cast("long")), f.lit(0)).alias("taken"),
            f.coalesce(f.sum(merging.is_doubtful().cast("long")), f.lit(0)).alias("doubtful"),
            f.coalesce(f.sum(merging.duplicates()), f.lit(0)).alias("duplicates"),
        )
        folder = write_files(counted.where(plain), target)
        counts = seen.get
        found.taken, found.duplicates = counts["taken"], counts["duplicates"]
        folders = [folder] if found.taken else []
        if not counts["doubtful"]:
            return folders, []
        more, removed = self._settle(target, near, distinct, found)
        return [*folders, *more], removed

    def _distinct(
        self, target: LakeTable, near: Sequence[DataFile], spans: Sequence[Span]
    ) -> DataFrame:
        table = self.table
        new = self.staged.records(table.name).withColumn(merging.ORIGIN, f.lit(merging.NEW))
        candidates = new
        if near:
            kept = read_files(self.spark, target, near).where(_within(table, spans))
            candidates = candidates.unionByName(
                kept.withColumn(merging.ORIGIN, f.lit(merging.KEPT))
            )
        superseded = quarantine.superseded_records(self.spark, self.lake, table)
        if superseded is not None:
            candidates = candidates.unionByName(
                superseded.where(_within(table, spans)).withColumn(
                    merging.ORIGIN, f.lit(merging.SUPERSEDED)
                )
            )
        rows = self.staged.counts[table.name]
        tasks = tasks_for(self.spark, rows)
        return merging.distinct_rows(
            deal_rows(candidates, tasks, merging.range_columns(table)), table
        )

    def _settle(
        self,
        target: LakeTable,
        near: Sequence[DataFile],
        distinct: DataFrame,
        found: _Found,
    ) -> tuple[list[str], list[DataFile]]:
        """Decide about doubtful rows; rewrite the files that hold what is no longer right."""
        table = self.table
        verdicts = merging.judged(distinct.where(merging.is_doubtful()), table).localCheckpoint()
        right = f.col("right")
        earlier = f.col("superseded") & (f.col("received_at") < f.col("superseded_at"))
        stamped = verdicts.where(~right & earlier)
        if stamped.limit(1).count():
            rows = quarantine.superseded_rows(stamped, table)
            quarantine.restamp(self.spark, self.lake, rows)
        gone = verdicts.where(~right & ~f.col("superseded"))
        if gone.limit(1).count():
            rows = quarantine.superseded_rows(gone, table)
            found.quarantined = quarantine.put(self.spark, self.lake, rows)
        back = verdicts.where(right & f.col("superseded"))
        if back.limit(1).count():
            found.released = quarantine.superseded_rows(back, table).select("raw")
        # Of an ingest that was killed between two commits: each of them leaves one of two places.
        found.doubled = verdicts.where(f.col("kept") & f.col("superseded")).count()
        moved = f.col("kept") & (~right | (f.col("received_at") < f.col("kept_at")))
        leaving = verdicts.where(moved)
        coming = verdicts.where(right & (~f.col("kept") | moved))
        added, removed = coming.count(), leaving.count()
        found.taken += added - removed
        folders = [write_files(coming.repartition(1), target)] if added else []
        if not removed:
            return folders, []
        stale = _files_of(self.spark, target, near, leaving, table)
        rest = _without(read_files(self.spark, target, stale), leaving, table)
        tasks = tasks_for(self.spark, sum(file.rows for file in stale))
        columns = merging.range_columns(table)
        ordered = deal_rows(rest, tasks, columns).sortWithinPartitions(*merging.key_columns(table))
        return [*folders, write_files(ordered, target)], stale


@dataclass
class _Found:
    """What one comparison came to; `doubled` rows were in their table and in quarantine."""

    taken: int = 0
    quarantined: int = 0
    duplicates: int = 0
    doubled: int = 0
    released: DataFrame | None = None


def _near(files: Sequence[DataFile], spans: Sequence[Span]) -> list[DataFile]:
    """Files that may hold rows of the same times."""
    by_day = {span.day: span for span in spans}
    return [
        file
        for file in files
        if (span := by_day.get(file.date)) is not None
        and (file.first is None or file.first <= span.last)
        and (file.ends_by is None or file.ends_by >= span.first)
    ]


def _within(table: Table, spans: Sequence[Span]) -> Column:
    """Rows from the first to the last time that is new."""
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    return f.col(table.day_of).between(f.lit(first), f.lit(last))


def _same_key(table: Table, left: DataFrame, right: DataFrame) -> Column:
    """Equal keys, where nothing equals nothing."""
    condition = f.lit(True)
    for column in table.key:
        condition = condition & left[column].eqNullSafe(right[column])
    return condition


def _without(rows: DataFrame, leaving: DataFrame, table: Table) -> DataFrame:
    keys = f.broadcast(leaving.select(*table.key))
    return rows.join(keys, _same_key(table, rows, keys), "left_anti")


def _files_of(
    spark: SparkSession,
    target: LakeTable,
    files: Sequence[DataFile],
    leaving: DataFrame,
    table: Table,
) -> list[DataFile]:
    """The files that hold rows which leave."""
    rows = read_files(spark, target, files).withColumn("path", f.col("_metadata.file_path"))
    keys = f.broadcast(leaving.select(*table.key))
    hit = rows.join(keys, _same_key(table, rows, keys), "left_semi")
    paths = [row[0] for row in hit.select("path").distinct().collect()]
    return [file for file in files if any(path.endswith(file.path) for path in paths)]
