"""Reading mapping files; `docs/sources.md` describes them for people."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from streamgauge.errors import Findings, InvalidInput
from streamgauge.lake.definition import Kind
from streamgauge.lake.files.mapping_parts import (
    MAPPING,
    NEEDED,
    SCALAR,
    ColumnFile,
    Ignored,
    Keys,
    KeysFile,
    MetricName,
    Metrics,
    Part,
    RuleFile,
    Texts,
    TextsByName,
    build_metrics,
    pattern,
    positive,
    require,
    tell_apart,
    text,
    word,
)
from streamgauge.lake.mapping import (
    TIME_COLUMN,
    VALUE_COLUMN,
    BucketEdge,
    CsvMapping,
    InfluxMapping,
    InfluxQuery,
    ParquetMapping,
    PrometheusMapping,
    PrometheusQuery,
    RowRules,
    SourceMapping,
    TimeRule,
    TimeUnit,
)
from streamgauge.lake.record_types import MOST_BUCKET_SECONDS
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.document import Document, parse_document, read_document
from streamgauge.topology.files.file_model import TAG, list_keys, refusal, validate
from streamgauge.topology.frozen import FrozenDict

VERSION = 1

# Prometheus keeps milliseconds.
_FINEST_STEP = Decimal("0.001")
_BUCKET = "the length of the buckets"


def load_mapping(path: str | Path) -> SourceMapping:
    """The mapping in a file.

    Raises:
        InvalidInput: Every problem, with file, line and path.
    """
    return _mapping_in(read_document(path))


def parse_mapping(text: str | bytes, name: str = "mapping") -> SourceMapping:
    """The mapping that a text holds, `name` being what problems call it."""
    return _mapping_in(parse_document(text, name))


def _check_version(value: Any) -> Any:
    if value is None:
        raise refusal("nothing", f"{VERSION}, the version of the format")
    if isinstance(value, bool) or value != VERSION:
        raise refusal(format_value(value), str(VERSION))
    return value


def _check_queries(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise refusal("nothing" if value is None else format_value(value), "a list of queries")
    return value


def _check_delimiter(value: Any) -> Any:
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n':
        raise refusal(format_value(value), "one character that is neither a quote nor a line end")
    return value


class TimeFile(Part):
    """Where the time of a row stands, how it is written, and what it marks."""

    column: Annotated[str, text("the column that holds the time")] = NEEDED
    unit: Annotated[str, word(*TimeUnit)] = NEEDED
    marks: Annotated[str, word(*BucketEdge)] = BucketEdge.START

    def build(self) -> TimeRule:
        """The rule."""
        return TimeRule(column=self.column, unit=TimeUnit(self.unit), marks=BucketEdge(self.marks))


class PointTimeFile(Part):
    """What the time of a database's point marks."""

    marks: Annotated[str, word(*BucketEdge)] = NEEDED

    def build(self, unit: TimeUnit) -> TimeRule:
        """The rule: where the time stands and how it is written is known."""
        return TimeRule(column=TIME_COLUMN, unit=unit, marks=BucketEdge(self.marks))


class NameFile(Part):
    """The column that holds the names of metrics."""

    column: Annotated[str, text("the column that holds the names of metrics")] = NEEDED
    ignore: Ignored = False


# Validators run from the last to the first.
Seconds = Annotated[Decimal, positive(most=Decimal(int(MOST_BUCKET_SECONDS))), require(_BUCKET)]
Bucket = Annotated[
    Annotated[Seconds, Tag(SCALAR)] | Annotated[ColumnFile, Tag(MAPPING)], Discriminator(tell_apart)
]


class SourceFile(KeysFile):
    """What all mappings have."""

    mapping: Annotated[int, BeforeValidator(_check_version)] = NEEDED
    source: str
    bucket_seconds: Bucket = NEEDED
    ignore: Ignored = False
    skip_nan: bool = False

    @property
    def shared_rules(self) -> dict[str, Any]:
        """What all rows have in common."""
        bucket = self.bucket_seconds
        return {
            "bucket_seconds": bucket if isinstance(bucket, Decimal) else None,
            "bucket_column": bucket.column if isinstance(bucket, ColumnFile) else None,
            "ignore": frozenset() if isinstance(self.ignore, bool) else self.ignore,
            "ignore_all": self.ignore is True,
            "skip_nan": self.skip_nan,
        }


class RowsFile(SourceFile):
    """Rows of files: a column for each metric (wide), or one for all their names (long)."""

    metrics: Metrics = NEEDED
    time: Annotated[TimeFile, require("column and unit")] = NEEDED
    name: NameFile | None = None
    value: Annotated[str, text()] | None = None
    skip_empty: bool = False

    def build_rows(self, findings: Findings) -> RowRules:
        """The rules."""
        if self.value is not None and self.name is None:
            expected = "no value column where every metric has its own"
            findings.add(
                "value", seen=format_value(self.value), expected=expected, remedy="give name, too"
            )
        if self.value is None and self.name is not None:
            findings.add("value", seen="nothing", expected="the column that holds the values")
        names = False if self.name is None else self.name.ignore
        return RowRules(
            metrics=build_metrics(self.metrics, self.build_keys(findings), findings),
            time=self.time.build(),
            name=None if self.name is None else self.name.column,
            value=self.value,
            ignored_names=frozenset() if isinstance(names, bool) else names,
            ignore_all_names=names is True,
            skip_empty=self.skip_empty,
            **self.shared_rules,
        )


class CsvFile(RowsFile):
    """A mapping for CSV files."""

    delimiter: Annotated[str, BeforeValidator(_check_delimiter)] = ","
    header: Texts | None = None

    def build(self, findings: Findings) -> CsvMapping:
        """The mapping."""
        rows = self.build_rows(findings)
        return CsvMapping(rows=rows, delimiter=self.delimiter, header=self.header)


class ParquetFile(RowsFile):
    """A mapping for Parquet files."""

    def build(self, findings: Findings) -> ParquetMapping:
        """The mapping."""
        return ParquetMapping(rows=self.build_rows(findings))


class PrometheusQueryFile(RuleFile):
    """One PromQL expression and the metric that it gives."""

    query: Annotated[str, text("a PromQL expression")] = NEEDED
    kind: Annotated[str, word("counter", "gauge")] = NEEDED
    metric: MetricName = NEEDED

    def build(
        self, outer: Keys, rules: Mapping[str, Any], findings: Findings, index: int
    ) -> PrometheusQuery | None:
        """The query; nothing, and a problem, where there is no such metric."""
        place = ("queries", index)
        rule = self.build_rule(self.metric, outer, findings, *place)
        if rule is None:
            return None
        is_counter = self.kind == "counter"
        if is_counter and rule.metric.kind not in {Kind.CUMULATIVE, Kind.DELTA}:
            seen = f"a counter for {rule.metric}, which is a {rule.metric.kind}"
            findings.add(*place, "kind", seen=seen, expected="gauge")
        rows = RowRules(metrics=FrozenDict({VALUE_COLUMN: rule}), **rules)
        return PrometheusQuery(text=self.query, counter=is_counter, rows=rows)


class PrometheusFile(SourceFile):
    """A mapping for a Prometheus server."""

    time: PointTimeFile = PointTimeFile(marks=BucketEdge.END)
    queries: Annotated[list[PrometheusQueryFile], BeforeValidator(_check_queries)] = NEEDED

    def build(self, findings: Findings) -> PrometheusMapping:
        """The mapping; the bucket's length is the step of all queries."""
        rules = self.shared_rules
        step = rules["bucket_seconds"]
        if step is None or step % _FINEST_STEP:
            seen = format_value(rules["bucket_column"]) if step is None else str(step)
            expected = "whole milliseconds, the same for all queries"
            findings.add("bucket_seconds", seen=seen, expected=expected)
        rules["time"] = self.time.build(TimeUnit.SECONDS)
        # The name of a metric tells series apart only before a query puts them together.
        rules["ignore"] |= {"__name__"}
        outer = self.build_keys(findings)
        built = [
            query.build(outer, rules, findings, index) for index, query in enumerate(self.queries)
        ]
        queries = tuple(query for query in built if query is not None)
        return PrometheusMapping(queries=queries, bucket_seconds=step or Decimal(1))


def _check_influx_version(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value not in {1, 2}:
        raise refusal("nothing" if value is None else format_value(value), "1 or 2")
    return value


class InfluxServerFile(Part):
    """Where a server of version 1 keeps the points."""

    version: Annotated[int, BeforeValidator(_check_influx_version)] = NEEDED
    database: Annotated[str, text("the name of a database")] = NEEDED
    retention_policy: Annotated[str, text()] = ""


class FluxServerFile(Part):
    """Where a server of version 2 keeps the points."""

    version: int
    org: Annotated[str, text("the name of the org")] = NEEDED
    bucket: Annotated[str, text("the name of the bucket")] = NEEDED


def _tell_version(value: Any) -> str:
    return f"{TAG}{2 if isinstance(value, dict) and value.get('version') == 2 else 1}"


Server = Annotated[
    Annotated[InfluxServerFile, Tag(f"{TAG}1")] | Annotated[FluxServerFile, Tag(f"{TAG}2")],
    Discriminator(_tell_version),
]


class InfluxQueryFile(KeysFile):
    """The points of one measurement, or of all whose names match."""

    measurement: Annotated[str, text("the name of a measurement")] | None = None
    measurement_pattern: Annotated[str, pattern()] | None = None
    where: TextsByName = {}
    metrics: Metrics = NEEDED
    fields: Texts = ()

    def build(
        self, outer: Keys, rules: Mapping[str, Any], findings: Findings, index: int
    ) -> InfluxQuery:
        """The query."""
        place = ("queries", index)
        if self.measurement is None and self.measurement_pattern is None:
            expected = "the name of a measurement"
            findings.add(*place, "measurement", seen="nothing", expected=expected)
        if self.measurement is not None and self.measurement_pattern is not None:
            seen = "measurement and measurement_pattern"
            findings.add(*place, seen=seen, expected="one of them")
        keys = outer | self.build_keys(findings, *place)
        rows = RowRules(metrics=build_metrics(self.metrics, keys, findings, *place), **rules)
        others = {rule.count.column for rule in rows.metrics.values()} | {rows.bucket_column}
        fields = [*rows.metrics, *self.fields, *sorted(str(name) for name in others if name)]
        return InfluxQuery(
            measurement=self.measurement_pattern or self.measurement or "",
            pattern=self.measurement_pattern is not None,
            where=FrozenDict(self.where),
            fields=tuple(dict.fromkeys(fields)),
            rows=rows,
        )


class InfluxFile(SourceFile):
    """A mapping for an InfluxDB server."""

    influxdb: Annotated[Server, require("version, and where the points are kept")] = NEEDED
    time: Annotated[PointTimeFile, require("marks: start or end")] = NEEDED
    queries: Annotated[list[InfluxQueryFile], BeforeValidator(_check_queries)] = NEEDED

    def build(self, findings: Findings) -> InfluxMapping:
        """The mapping."""
        is_flux = isinstance(self.influxdb, FluxServerFile)
        rules = {
            "time": self.time.build(TimeUnit.RFC3339 if is_flux else TimeUnit.NANOSECONDS),
            # A field without a value is how InfluxDB says that there is no such point.
            "skip_empty": True,
            **self.shared_rules,
        }
        outer = self.build_keys(findings)
        queries = [
            query.build(outer, rules, findings, index) for index, query in enumerate(self.queries)
        ]
        return InfluxMapping(queries=tuple(queries), **self.influxdb.model_dump())


_SOURCES: Mapping[str, type[CsvFile | ParquetFile | PrometheusFile | InfluxFile]] = {
    "csv": CsvFile,
    "parquet": ParquetFile,
    "prometheus": PrometheusFile,
    "influxdb": InfluxFile,
}


class _HeadFile(Part):
    source: Annotated[str, word(*_SOURCES)] = NEEDED


@cache
def _known_keys(source: str) -> tuple[str, ...]:
    return tuple(list_keys(_SOURCES[source].model_json_schema(by_alias=True)))


def _mapping_in(document: Document) -> SourceMapping:
    data, findings = document.data, Findings()
    try:
        source = validate(_HeadFile, {"source": data.get("source")}).source
        file = validate(_SOURCES[source], data, partial(_known_keys, source))
        mapping: SourceMapping = file.build(findings)
        findings.raise_if_any()
    except InvalidInput as error:
        raise document.locate_error(error) from None
    return mapping
