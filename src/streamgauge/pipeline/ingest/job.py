"""An ingest: lines are staged, compared with the lake, and committed table by table.

Only rows whose keys may stand twice are compared: those with a hash that another row has, among
what is new and what the lake holds of the same times. All others are committed in the files that
they were staged in.

The order makes a kill at any moment harmless. What is superseded is in quarantine before it leaves
its table, what is right is in its table before it leaves quarantine, and a file counts as known
when all of its rows are there. A re-run finds what is done, and does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.schemas import FILES, QUARANTINE, Table
from streamgauge.lake.tables import DataFile, Lake
from streamgauge.lake.uris import joined, open_store
from streamgauge.pipeline.ingest import deduplication, quarantine
from streamgauge.pipeline.ingest.committing import Batch, commit_files
from streamgauge.pipeline.ingest.key_hashes import split_repeated, write_chosen
from streamgauge.pipeline.ingest.listing import InputFile, known_files
from streamgauge.pipeline.ingest.row_files import (
    DOUBTFUL,
    HOLDER,
    NEW,
    ORIGIN,
    PLACE,
    SUPERSEDED,
    Span,
    new_path,
    write_parquet,
    write_without,
)
from streamgauge.pipeline.ingest.staging import RECORD_TABLES, Staged, stage_answers, stage_files
from streamgauge.pipeline.ingest.tally import Tally
from streamgauge.pipeline.query_sources import read_source, source_error
from streamgauge.pipeline.range_queries import RangeRequest
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import (
    deal_rows,
    spark_uri,
    tasks_for,
    with_day,
    write_files,
)

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
        staged = stage_files(spark, lake, unread, mapping)
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
    lines = staged.count(QUARANTINE.name)
    if lines:
        say(f"writing {lines} rejected lines to quarantine")
        refused = quarantine.refused_rows(staged.refused(spark))
        for row in refused.groupBy("reason").count().collect():
            tally.reasons[row[0]] = tally.reasons.get(row[0], 0) + row[1]
        added = quarantine.put(spark, lake, refused)
        tally.quarantined += added
        tally.duplicates += lines - added
    take_records(spark, lake, staged, tally, say, query)
    _register_files(lake, staged, tally)
    staged.remove()


def take_records(
    spark: SparkSession,
    lake: Lake,
    staged: Staged,
    tally: Tally,
    say: Say = lambda _: None,
    query: tuple[str, int] | None = None,
) -> None:
    """Take staged rows of all tables of records into the lake."""
    merges = [Merge(spark, lake, table, staged) for table in RECORD_TABLES]
    present = [merge for merge in merges if merge.new]
    if present:
        say(f"comparing {staged.records_count} rows with the lake")
        # Small tables take a few steps each and little work: they need not wait for each other.
        with ThreadPoolExecutor(max_workers=len(present)) as pool:
            for counts in pool.map(lambda merge: merge.run(query), present):
                tally.add(counts)


def _register_files(lake: Lake, staged: Staged, tally: Tally) -> None:
    """Note the files as known, the last thing that is done."""
    files: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in staged.of(FILES.name):
        own = {name: part[name] for name in ("file", "bytes", "modified_at", "received_at")}
        file = files.setdefault(tuple(own.values()), {**own, "rows": 0, "fault": None})
        file["rows"] += part["lines"]
        file["fault"] = max(filter(None, (file["fault"], part["detail"])), default=None)
    tally.faults |= {one["file"]: one["fault"] for one in files.values() if one["fault"]}
    target = lake.table(FILES.name)
    by_day: dict[date, list[dict[str, Any]]] = {}
    for file in files.values():
        by_day.setdefault(file["received_at"].date(), []).append(file)

    def write(there: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
        del there
        paths = []
        for day, rows in by_day.items():
            paths.append(new_path(staged.run, day))
            in_columns = pa.Table.from_pylist(rows, schema=target.file_schema)
            write_parquet(joined(target.uri, paths[-1]), in_columns)
        return paths, []

    commit_files(target, write, about={"command": "ingest"})


class Merge:
    """Rows of one table on their way from the staging into the lake."""

    def __init__(self, spark: SparkSession, lake: Lake, table: Table, staged: Staged) -> None:
        self.spark = spark
        self.lake = lake
        self.table = table
        self.staged = staged
        self.target = lake.table(table.name)
        self.new = {one["path"]: one for one in staged.of(table.name)}
        self.spans = staged.spans(table.name)

    def run(self, query: tuple[str, int] | None) -> Tally:
        """Compare and commit, again where another writer was first."""
        batch = None if query is None else Batch(f"{query[0]}/{self.table.name}", query[1])
        found = _Found()
        unused: set[str] = set()

        def write(files: tuple[DataFile, ...]) -> tuple[list[str], list[DataFile]]:
            nonlocal found
            found = _Found()
            added, removed = self._write(files, found)
            unused.update(self.new.keys() | found.files)
            unused.difference_update(added)
            return added, removed

        if not commit_files(self.target, write, batch=batch, about={"command": "ingest"}):
            self._remove(self.new)
            return Tally(duplicates=self.staged.count(self.table.name))
        self._remove(unused)
        released = 0
        if found.released is not None:
            released = quarantine.release(self.spark, self.lake, found.released)
        return Tally(
            taken={self.table.name: found.taken},
            quarantined=found.quarantined - released + found.doubled,
            duplicates=found.duplicates,
            superseded=found.quarantined,
        )

    def _remove(self, paths: Iterable[str]) -> None:
        """Remove files under the table that no commit names."""
        store, root = open_store(self.target.uri)
        for path in paths:
            store.delete_file(f"{root}/{path}")

    def _write(
        self, files: tuple[DataFile, ...], found: _Found
    ) -> tuple[list[str], list[DataFile]]:
        near = _near(files, self.spans.values())
        first = min(span.first for span in self.spans.values())
        last = max(span.last for span in self.spans.values())
        superseded = quarantine.superseded_records(self.spark, self.lake, self.table, first, last)
        split = split_repeated(self.spark, self.target, self.staged, near, superseded)
        touched = {one["file"] for one in split}
        direct = [one for path, one in self.new.items() if path not in touched]
        direct += [one for one in split if one["detail"] is None]
        added = [one["path"] for one in direct]
        found.files = set(added)
        found.taken = sum(one["rows"] for one in direct)
        doubtful = [one for one in split if one["detail"] is not None]
        if not doubtful:
            return added, []
        hit = [file for file in near if file.path in touched]
        compared = sum(one["rows"] for one in doubtful if one["detail"] == NEW)
        verdicts = self._judge(doubtful, superseded).localCheckpoint()
        more, removed = self._settle(verdicts, compared, hit, found)
        return [*added, *more], removed

    def _judge(
        self, doubtful: Sequence[Mapping[str, Any]], superseded: DataFrame | None
    ) -> DataFrame:
        """Compare rows by their keys and values; gives those that are not in the lake just so."""
        schema = spark_schema(pa.schema([*self.target.file_schema, *DOUBTFUL]))
        paths = [spark_uri(one["path"]) for one in doubtful]
        candidates = with_day(self.spark.read.schema(schema).parquet(*paths), self.table)
        if superseded is not None:
            labelled = superseded.withColumn(ORIGIN, f.lit(SUPERSEDED))
            candidates = candidates.unionByName(labelled, allowMissingColumns=True)
        tasks = tasks_for(self.spark, sum(one["rows"] for one in doubtful))
        dealt = deal_rows(candidates, tasks, deduplication.range_columns(self.table))
        return deduplication.judged(deduplication.distinct_rows(dealt, self.table), self.table)

    def _settle(
        self, verdicts: DataFrame, compared: int, hit: Sequence[DataFile], found: _Found
    ) -> tuple[list[str], list[DataFile]]:
        """Bring rows where they belong.

        Args:
            verdicts: Judged rows.
            compared: How many new ones were compared.
            hit: Files of the table that hold some of them.
            found: Told what it came to.

        Returns:
            Folders and files that come, and files that go.
        """
        table, target, sorts = self.table, self.target, deduplication.sorts_of_verdicts()
        counts = verdicts.agg(*(f.count_if(one).alias(name) for name, one in sorts.items())).head()
        assert counts is not None

        def gave_way(sort: str) -> DataFrame:
            return quarantine.superseded_rows(verdicts.where(sorts[sort]), table)

        if counts["restamped"]:
            quarantine.restamp(self.spark, self.lake, gave_way("restamped"))
        if counts["gone"]:
            found.quarantined = quarantine.put(self.spark, self.lake, gave_way("gone"))
        if counts["back"]:
            found.released = gave_way("back").select("raw")
        found.doubled = counts["doubled"]
        found.duplicates = compared - counts["fresh"]
        found.taken += counts["coming"] - counts["leaving"]
        coming = verdicts.where(sorts["coming"])
        folders = [write_files(coming, target)] if counts["coming"] else []
        if not counts["leaving"]:
            return folders, []
        held = verdicts.where(sorts["leaving"]).select("kept_in.*")
        places = held.groupBy(HOLDER).agg(f.collect_list(PLACE).alias("places"))
        stale = {row[0] for row in places.select(HOLDER).collect()}
        tasks = min(len(stale), self.spark.sparkContext.defaultParallelism)
        write = partial(write_without, target, self.staged.run)
        again = [one["path"] for one in write_chosen(places.repartition(tasks), write)]
        found.files.update(again)
        return [*folders, *again], [file for file in hit if file.path in stale]


@dataclass
class _Found:
    """What one comparison came to.

    Attributes:
        files: Files that were written by themselves, not in a folder.
        taken: Rows that the table has more.
        quarantined: Rows that quarantine has more.
        duplicates: New rows that are there already.
        doubled: Rows that were in their table and in quarantine.
        released: Lines that leave quarantine.
    """

    files: set[str] = field(default_factory=set)
    taken: int = 0
    quarantined: int = 0
    duplicates: int = 0
    doubled: int = 0
    released: DataFrame | None = None


def _near(files: Sequence[DataFile], spans: Iterable[Span]) -> list[DataFile]:
    """Files that may hold rows of the same times and topologies."""
    by_day = {span.day: span for span in spans}
    return [
        file
        for file in files
        if (span := by_day.get(file.date)) is not None
        and (file.first is None or file.first <= span.last)
        and (file.ends_by is None or file.ends_by >= span.first)
        and _may_share(file.topologies, span.topologies)
    ]


def _may_share(one: tuple[str, str] | None, other: tuple[str, str] | None) -> bool:
    return one is None or other is None or (one[0] <= other[1] and other[0] <= one[1])
