"""What a lake holds: tables, topologies and sources, in figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from streamgauge.lake.schemas import FILES, PLANS, SAMPLES
from streamgauge.lake.tables import NO_TABLE, Lake, LakeTable, open_database
from streamgauge.lake.upkeep import groups_of

# So many files that could be merged are worth a word.
MANY_SMALL_FILES = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _record(one: Any) -> dict[str, object]:
    fields = {name: getattr(one, name) for name in one.__slots__}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContents:
    """One table in figures.

    Attributes:
        version: The newest; nothing before the first commit.
        days: Partitions.
        spare_files: Files fewer that it would have after compaction.
    """

    name: str
    version: int | None
    rows: int
    files: int
    bytes: int
    days: int
    first: datetime | None
    last: datetime | None
    spare_files: int

    @property
    def is_scattered(self) -> bool:
        """Whether compaction would help."""
        return self.spare_files >= MANY_SMALL_FILES

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        return _record(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyContents:
    """One topology of one cluster in figures.

    Attributes:
        cluster: Its cluster, where several share the lake.
        first: Beginning of the earliest bucket; nothing where only plans are known.
    """

    cluster: str | None
    topology: str
    samples: int
    plans: int
    first: datetime | None
    last: datetime | None

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        return _record(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContents:
    """The files that the lake was filled from.

    Attributes:
        faults: Files that could not be read to their ends.
    """

    files: int
    lines: int
    bytes: int
    faults: int

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        return _record(self)


def tables_of(lake: Lake) -> list[TableContents]:
    """All tables, from their logs alone."""
    return [_table_contents(table) for table in lake.tables()]


def _table_contents(table: LakeTable) -> TableContents:
    snapshot = table.snapshot()
    groups = groups_of(snapshot.files)
    return TableContents(
        name=table.table.name,
        version=None if snapshot.version == NO_TABLE else snapshot.version,
        rows=snapshot.rows,
        files=len(snapshot.files),
        bytes=sum(file.bytes for file in snapshot.files),
        days=len({file.date for file in snapshot.files}),
        first=min((file.first for file in snapshot.files if file.first), default=None),
        last=max((file.last for file in snapshot.files if file.last), default=None),
        spare_files=sum(len(group) - 1 for group in groups),
    )


def topologies_of(lake: Lake, limit: int | None = None) -> tuple[int, list[TopologyContents]]:
    """How many topologies there are, and those with the most samples, as many as asked for.

    Three columns of all samples are read.
    """
    query = """
        WITH sampled AS (
            SELECT cluster, topology, count(*) AS samples,
                min(start_us) AS first_us, max(start_us) AS last_us
            FROM samples WHERE topology IS NOT NULL GROUP BY ALL
        ), planned AS (
            SELECT cluster, topology, count(DISTINCT plan_id) AS plans FROM plans GROUP BY ALL
        )
        SELECT coalesce(s.cluster, p.cluster), coalesce(s.topology, p.topology),
            coalesce(samples, 0), coalesce(plans, 0), first_us, last_us, count(*) OVER ()
        FROM sampled s FULL JOIN planned p
        ON s.topology = p.topology AND s.cluster IS NOT DISTINCT FROM p.cluster
        ORDER BY 3 DESC, 2, 1 NULLS FIRST
    """
    start = ds.field(SAMPLES.day_of).cast(pa.int64())
    columns = {"cluster": ds.field("cluster"), "topology": ds.field("topology"), "start_us": start}
    with open_database() as connection:
        samples = lake.table(SAMPLES.name).dataset().scanner(columns=columns)
        connection.register("samples", samples.to_reader())
        connection.register(
            "plans", lake.table(PLANS.name).read(["cluster", "topology", "plan_id"])
        )
        rows = connection.sql(query + (f" LIMIT {limit:d}" if limit else "")).fetchall()
    found = [
        TopologyContents(
            cluster=cluster,
            topology=topology,
            samples=samples,
            plans=plans,
            first=_moment(first),
            last=_moment(last),
        )
        for cluster, topology, samples, plans, first, last, _ in rows
    ]
    return (rows[0][-1] if rows else 0), found


def sources_of(lake: Lake) -> SourceContents:
    """The files that the lake was filled from, in figures."""
    table = lake.table(FILES.name)
    reader = table.read(["file", "rows", "bytes", "fault", "received_at", "modified_at"])
    with open_database() as connection:
        connection.register("source", reader)
        # A file that was changed or received again has a row for each time; its last one counts.
        query = """
            WITH newest AS (
                SELECT arg_max(struct_pack(rows, bytes, fault), (received_at, modified_at)) AS n
                FROM source GROUP BY file
            )
            SELECT count(*), sum(n.rows), sum(n.bytes), count(n.fault) FROM newest
        """
        files, lines, size, faults = connection.sql(query).fetchall()[0]
    return SourceContents(files=files, lines=int(lines or 0), bytes=int(size or 0), faults=faults)


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
