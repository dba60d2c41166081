"""What calibration reads of a lake: small tables as records, large ones as frames of Spark.

Every table is read at one version, so that what is committed meanwhile changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

from streamgauge.lake.columns import records_of
from streamgauge.lake.records import Event, Plan, Record
from streamgauge.lake.schemas import EVENTS, PLANS, SAMPLES
from streamgauge.lake.tables import Lake, Snapshot
from streamgauge.pipeline.table_files import read_files


@dataclass(frozen=True, slots=True)
class Pinned:
    """A lake as it was when calibration began.

    Args:
        spark: The session.
        lake: The lake.
        snapshots: Of its tables, by name.
    """

    spark: SparkSession
    lake: Lake
    snapshots: dict[str, Snapshot]

    @classmethod
    def now(cls, spark: SparkSession, lake: Lake) -> Pinned:
        """The lake now."""
        return cls(spark, lake, {one.table.name: one.snapshot() for one in lake.tables()})

    def frame(self, name: str, topology: str | None = None) -> DataFrame:
        """A table, or the files of it that may hold rows of a topology."""
        files = self.snapshots[name].within(None, None, topology)
        return read_files(self.spark, self.lake.table(name), files)

    def during(
        self, name: str, spans: Iterable[tuple[datetime, datetime]], topology: str | None = None
    ) -> DataFrame:
        """The files of a table that may hold rows of a topology and of some times."""
        snapshot = self.snapshots[name]
        found = {file.path for span in spans for file in snapshot.within(*span, topology)}
        files = [file for file in snapshot.files if file.path in found]
        return read_files(self.spark, self.lake.table(name), files)

    @property
    def has_hosts(self) -> bool:
        """Whether there may be samples of nodes and machines, which name no topology."""
        return any(file.topologies is None for file in self.snapshots[SAMPLES.name].files)

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self.snapshots[name].rows

    def plans(self, topologies: Collection[str] | None) -> list[Plan]:
        """The plans of topologies, or of all; the last word on each."""
        found = self._records(PLANS.name, topologies)
        return [one for one in found if isinstance(one, Plan)]

    def events(self) -> list[Event]:
        """All events."""
        return [one for one in self._records(EVENTS.name, None) if isinstance(one, Event)]

    def _records(self, name: str, topologies: Collection[str] | None) -> Iterator[Record]:
        snapshot = self.snapshots[name]
        if not snapshot.files:
            return
        where = None if topologies is None else ds.field("topology").isin(sorted(topologies))
        reader = self.lake.table(name).read(where=where, version=snapshot.version)
        for batch in reader:
            yield from records_of(name, pa.Table.from_batches([batch]))
