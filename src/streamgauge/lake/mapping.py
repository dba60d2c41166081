"""How rows of other systems become samples: the rules that a mapping file holds.

A row is what a CSV or Parquet file has in a line, and what a time-series database has in a point:
texts by name of column, label, tag or field. `files.mapping_file` reads these rules, `row_mapping`
applies them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.topology.frozen import FrozenDict

# What a point of a database has beside its labels, tags and fields.
TIME_COLUMN = "_time"
VALUE_COLUMN = "_value"
MEASUREMENT_COLUMN = "_measurement"

# The keys of a sample that `set` and `columns` may give; the rest have rules of their own.
MAPPED_KEYS = (
    "cluster",
    "topology",
    "plan_id",
    "component",
    "task",
    "executor",
    "queue",
    "worker",
    "node",
    "machine",
    "stream",
    "source_component",
    "source_task",
    "bin",
)
WHOLE_KEYS = frozenset({"task", "source_task", "bin"})


class TimeUnit(StrEnum):
    """How a time is written: a number since 1970 in UTC, or a text with its zone."""

    NANOSECONDS = "ns"
    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"
    RFC3339 = "rfc3339"


class BucketEdge(StrEnum):
    """Which end of its bucket the time of a row marks."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the text of a key is read off a row.

    Attributes:
        parts: Texts and columns in turn: each a text as it stands, and the column behind it.
        match: A pattern that the whole text must match; its one group is what is taken.
        words: Words of the source and what they are called here; any word where it is empty.
    """

    parts: tuple[tuple[str, str | None], ...]
    match: str | None = None
    words: FrozenDict[str, str] = field(default_factory=FrozenDict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""
        return tuple(column for _, column in self.parts if column is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many observations a value rests on; exactly one of the three is given.

    Attributes:
        share: This share of the value: 1 for an exact count, 0.05 where the engine looks at one
            in twenty and multiplies.
    """

    constant: int | None = None
    column: str | None = None
    share: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRule:
    """How one number of a row becomes a sample.

    Attributes:
        label: Name of the metric; the metric itself does not pickle.
        keys: The sample's keys: what is the same for all rows, or how it is read off a row.
        scale: What one unit of the source is in the metric's unit.
        rounded: Whether the scaled value is rounded to a whole number.
    """

    label: str
    keys: FrozenDict[str, str | int | Reading]
    count: Count
    scale: Decimal = Decimal(1)
    rounded: bool = False

    @property
    def metric(self) -> Metric:
        """What it is here."""
        return METRICS[self.label]

    @property
    def columns(self) -> frozenset[str]:
        """The columns it needs beside that of its value."""
        read = [one for one in self.keys.values() if isinstance(one, Reading)]
        names = {column for one in read for column in one.columns}
        return frozenset(names | ({self.count.column} if self.count.column else set()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRule:
    """Where the time of a row stands, how it is written, and what it marks."""

    column: str
    unit: TimeUnit
    marks: BucketEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRules:
    """Everything that turns one row into samples.

    Attributes:
        metrics: The metric of each column (wide layout), or of each name (long layout).
        name: The column that holds the name; its presence makes the layout long.
        value: The column that holds the value, in the long layout.
        bucket_seconds: How long the buckets are, where all are alike.
        bucket_column: The column that tells, where they are not.
        ignore: Columns that are left aside.
        ignore_all: Whether all columns that have no rule are.
        ignored_names: Names whose rows are passed over, in the long layout.
        ignore_all_names: Whether rows of all names without a rule are.
        skip_nan: Whether values that are no finite number are passed over, not rejected.
        skip_empty: Whether rows without any value are passed over, not rejected.
    """

    metrics: FrozenDict[str, MetricRule]
    time: TimeRule
    name: str | None = None
    value: str | None = None
    bucket_seconds: Decimal | None = None
    bucket_column: str | None = None
    ignore: frozenset[str] = frozenset()
    ignore_all: bool = False
    ignored_names: frozenset[str] = frozenset()
    ignore_all_names: bool = False
    skip_nan: bool = False
    skip_empty: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """All columns that the rules need."""
        own = {self.time.column, self.name, self.value, self.bucket_column} - {None}
        values = set() if self.name else set(self.metrics)
        keys = {column for rule in self.metrics.values() for column in rule.columns}
        return frozenset(str(name) for name in own | values | keys)

    def unmapped(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of `columns` that no rule names and that are not to be ignored."""
        if self.ignore_all:
            return ()
        known = self.columns | self.ignore
        return tuple(column for column in columns if column not in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvMapping:
    """Rules for CSV files.

    Attributes:
        header: The names of the columns, for files that do not begin with them.
    """

    rows: RowRules
    delimiter: str = ","
    header: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetMapping:
    """Rules for Parquet files whose columns are not those of a lake's table."""

    rows: RowRules


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusQuery:
    """One PromQL expression and what its points become.

    Attributes:
        text: The expression; it is evaluated at multiples of the bucket's length.
        counter: Whether it only rises until its process starts anew.
    """

    text: str
    counter: bool
    rows: RowRules

    @property
    def rule(self) -> MetricRule:
        """The rule of its value."""
        return self.rows.metrics[VALUE_COLUMN]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusMapping:
    """Rules for a Prometheus server; the bucket's length is the step of all queries."""

    queries: tuple[PrometheusQuery, ...]
    bucket_seconds: Decimal

    def with_bucket(self, seconds: Decimal) -> PrometheusMapping:
        """The same with another length of buckets."""
        queries = (
            replace(query, rows=replace(query.rows, bucket_seconds=seconds))
            for query in self.queries
        )
        return PrometheusMapping(queries=tuple(queries), bucket_seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluxQuery:
    """The points of one measurement, or of all whose names match, and what they become.

    Attributes:
        pattern: Whether it is a pattern.
        where: Tags that points must have.
    """

    measurement: str
    pattern: bool
    where: FrozenDict[str, str]
    fields: tuple[str, ...]
    rows: RowRules


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluxMapping:
    """Rules for an InfluxDB server.

    Attributes:
        version: 1 asks in InfluxQL, 2 in Flux.
        retention_policy: Of version 1, where it is not the database's default.
    """

    version: int
    queries: tuple[InfluxQuery, ...]
    database: str = ""
    retention_policy: str = ""
    org: str = ""
    bucket: str = ""


SourceMapping = CsvMapping | ParquetMapping | PrometheusMapping | InfluxMapping
