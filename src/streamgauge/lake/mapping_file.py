"""Reading mapping files; `docs/sources.md` describes them for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.lake.definition import Kind
from streamgauge.lake.mapping import (
    TIME_COLUMN,
    VALUE_COLUMN,
    Count,
    CsvMapping,
    InfluxMapping,
    InfluxQuery,
    Marks,
    MetricRule,
    ParquetMapping,
    PrometheusMapping,
    PrometheusQuery,
    RowRules,
    SourceMapping,
    TimeRule,
    TimeUnit,
)
from streamgauge.lake.mapping_keys import (
    Keys,
    check_pattern,
    fitting_keys,
    read_keys,
    texts_by_name,
)
from streamgauge.lake.mapping_sections import Section
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.shapes import MOST_BUCKET_SECONDS
from streamgauge.topology.files.document import parse_document, read_document
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.validation import shown

VERSION = 1

_MOST_BUCKET = Decimal(int(MOST_BUCKET_SECONDS))
# Prometheus keeps milliseconds.
_FINEST_STEP = Decimal("0.001")


def load_mapping(path: str | Path) -> SourceMapping:
    """The mapping in a file.

    Raises:
        InvalidInput: Every problem, with file, line and path.
    """
    document = read_document(path)
    try:
        return _mapping(document.data)
    except InvalidInput as error:
        raise document.blame(error) from None


def parse_mapping(text: str | bytes, name: str = "mapping") -> SourceMapping:
    """The mapping that a text holds, `name` being what problems call it."""
    document = parse_document(text, name)
    try:
        return _mapping(document.data)
    except InvalidInput as error:
        raise document.blame(error) from None


def _mapping(data: Mapping[str, object]) -> SourceMapping:
    findings = Findings()
    section = Section(data, findings)
    version = section.take("mapping", f"{VERSION}, the version of the format")
    if version is not None and (isinstance(version, bool) or version != VERSION):
        section.problem("mapping", seen=shown(version), expected=str(VERSION))
    source = section.word("source", tuple(_SOURCES))
    found = _SOURCES[source](section)
    section.finish()
    findings.raise_if_any()
    return found


def _csv(section: Section) -> CsvMapping:
    delimiter = section.text("delimiter") or ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        expected = "one character that is neither a quote nor a line end"
        section.problem("delimiter", seen=shown(delimiter), expected=expected)
        delimiter = ","
    header = section.texts("header")
    return CsvMapping(rows=_file_rows(section), delimiter=delimiter, header=header)


def _parquet(section: Section) -> ParquetMapping:
    return ParquetMapping(rows=_file_rows(section))


def _file_rows(section: Section) -> RowRules:
    """The rules for rows of files, wide or long."""
    name = ""
    ignored_names: tuple[frozenset[str], bool] = (frozenset(), False)
    if section.take("name") is not None:
        inner = section.section("name")
        name = inner.text("column", "the column that holds the names of metrics")
        ignored_names = _ignored(inner)
        inner.finish()
    value = section.text("value", "the column that holds the values" if name else "")
    if value and not name:
        expected = "no value column where every metric has its own"
        section.problem("value", seen=shown(value), expected=expected, remedy="give name, too")
    seconds, column = _bucket(section)
    ignore, ignore_all = _ignored(section)
    return RowRules(
        metrics=_metrics(section, read_keys(section)),
        time=_time(section),
        name=name or None,
        value=value or None,
        bucket_seconds=seconds,
        bucket_column=column,
        ignore=ignore,
        ignore_all=ignore_all,
        ignored_names=ignored_names[0],
        ignore_all_names=ignored_names[1],
        skip_nan=section.flag("skip_nan"),
        skip_empty=section.flag("skip_empty"),
    )


def _prometheus(section: Section) -> PrometheusMapping:
    seconds, column = _bucket(section)
    step = seconds or Decimal(1)
    if column or step % _FINEST_STEP:
        seen = shown(column) if column else str(step)
        section.problem(
            "bucket_seconds", seen=seen, expected="whole milliseconds, the same for all queries"
        )
    time = _point_time(section, TimeUnit.SECONDS, default=Marks.END)
    ignore, ignore_all = _ignored(section)
    skip_nan = section.flag("skip_nan")
    shared = read_keys(section)
    queries = []
    for inner in section.sections("queries", "a list of queries"):
        text = inner.text("query", "a PromQL expression")
        counter = inner.word("kind", ("counter", "gauge")) == "counter"
        rule = _rule(inner, inner.text("metric", "the name of a metric"), shared, "metric")
        inner.finish()
        if rule is None:
            continue
        if counter and rule.metric.kind not in {Kind.CUMULATIVE, Kind.DELTA}:
            seen = f"a counter for {rule.metric}, which is a {rule.metric.kind}"
            inner.problem("kind", seen=seen, expected="gauge")
        rows = RowRules(
            metrics=FrozenDict({VALUE_COLUMN: rule}),
            time=time,
            bucket_seconds=step,
            # The name of a metric tells series apart only before a query puts them together.
            ignore=ignore | {"__name__"},
            ignore_all=ignore_all,
            skip_nan=skip_nan,
        )
        queries.append(PrometheusQuery(text=text, counter=counter, rows=rows))
    return PrometheusMapping(queries=tuple(queries), bucket_seconds=step)


def _influx(section: Section) -> InfluxMapping:
    server = section.section("influxdb", "version, and where the points are kept")
    version = server.take("version", "1 or 2")
    if version not in {1, 2}:
        if version is not None:
            server.problem("version", seen=shown(version), expected="1 or 2")
        version = 1
    if version == 1:
        where = {"database": server.text("database", "the name of a database")}
        where["retention_policy"] = server.text("retention_policy")
        time = _point_time(section, TimeUnit.NANOSECONDS)
    else:
        where = {key: server.text(key, f"the name of the {key}") for key in ("org", "bucket")}
        time = _point_time(section, TimeUnit.RFC3339)
    server.finish()
    seconds, column = _bucket(section)
    ignore, ignore_all = _ignored(section)
    skip_nan = section.flag("skip_nan")
    shared = read_keys(section)
    queries = []
    for inner in section.sections("queries", "a list of queries"):
        rows = RowRules(
            metrics=_metrics(inner, shared | read_keys(inner)),
            time=time,
            bucket_seconds=seconds,
            bucket_column=column,
            ignore=ignore,
            ignore_all=ignore_all,
            skip_nan=skip_nan,
            # A field without a value is how InfluxDB says that there is no such point.
            skip_empty=True,
        )
        queries.append(_influx_query(inner, rows))
        inner.finish()
    return InfluxMapping(version=version, queries=tuple(queries), **where)


def _influx_query(section: Section, rows: RowRules) -> InfluxQuery:
    pattern = section.text("measurement_pattern")
    name = section.text("measurement", "" if pattern else "the name of a measurement")
    if pattern and name:
        section.problem(seen="measurement and measurement_pattern", expected="one of them")
    if pattern:
        check_pattern(section, "measurement_pattern", pattern, groups=None)
    where = texts_by_name(section.section("where"))
    counts = {rule.count.column for rule in rows.metrics.values()}
    fields = [*rows.metrics, *(section.texts("fields") or ())]
    fields += sorted(str(one) for one in {*counts, rows.bucket_column} if one)
    return InfluxQuery(
        measurement=pattern or name,
        pattern=bool(pattern),
        where=where,
        fields=tuple(dict.fromkeys(fields)),
        rows=rows,
    )


_SOURCES: Mapping[str, Callable[[Section], SourceMapping]] = {
    "csv": _csv,
    "parquet": _parquet,
    "prometheus": _prometheus,
    "influxdb": _influx,
}


def _time(section: Section) -> TimeRule:
    inner = section.section("time", "column and unit")
    column = inner.text("column", "the column that holds the time")
    unit = TimeUnit(inner.word("unit", tuple(TimeUnit)))
    marks = Marks(inner.word("marks", tuple(Marks), Marks.START))
    inner.finish()
    return TimeRule(column=column, unit=unit, marks=marks)


def _point_time(section: Section, unit: TimeUnit, default: str = "") -> TimeRule:
    """The time of a database's point: where it stands and how it is written is known."""
    inner = section.section("time", "" if default else "marks: start or end")
    marks = Marks(inner.word("marks", tuple(Marks), default))
    inner.finish()
    return TimeRule(column=TIME_COLUMN, unit=unit, marks=marks)


def _bucket(section: Section) -> tuple[Decimal | None, str | None]:
    value = section.take("bucket_seconds", "the length of the buckets")
    if isinstance(value, dict):
        inner = section.section("bucket_seconds")
        column = inner.text("column", "the column that holds the length")
        inner.finish()
        return None, column
    if value is None:
        return Decimal(1), None
    return section.positive(value, "bucket_seconds", most=_MOST_BUCKET) or Decimal(1), None


def _ignored(section: Section) -> tuple[frozenset[str], bool]:
    value = section.take("ignore")
    if isinstance(value, bool):
        return frozenset(), value
    return frozenset(section.texts("ignore") or ()), False


def _metrics(section: Section, keys: Keys) -> FrozenDict[str, MetricRule]:
    inner = section.section("metrics", "the metric of each column or name")
    if not inner.names() and "metrics" in section:
        inner.problem(seen="nothing", expected="at least one metric")
    rules: dict[str, MetricRule] = {}
    for name in inner.names():
        rule = inner.section(name)
        label = rule.text("metric") or name
        found = _rule(rule, label, keys, *(("metric",) if "metric" in rule else ()))
        rule.finish()
        if found is not None:
            rules[name] = found
    return FrozenDict(rules)


def _rule(section: Section, label: str, shared: Keys, *place: str) -> MetricRule | None:
    """The rule of one metric; nothing, and a problem, where there is no such metric."""
    keys = shared | read_keys(section)
    scale = section.number("scale", Decimal(1))
    rounded = section.flag("round")
    metric = METRICS.get(label)
    count = _count(section, metric)
    if metric is None:
        if label:
            section.problem(
                *place,
                seen=f"unknown metric {label!r}",
                expected="the name of a metric",
                remedy=did_you_mean(label, list(METRICS)),
            )
        return None
    return MetricRule(
        label=label,
        keys=fitting_keys(section, metric, keys),
        count=count,
        scale=scale,
        rounded=rounded,
    )


def _count(section: Section, metric: Metric | None) -> Count:
    value = section.take("count")
    if value is None:
        if metric is None or metric.kind is Kind.GAUGE:
            return Count(constant=1)
        expected = "value, a number, {column: …} or {share: …}"
        remedy = "it is how many observations were really taken"
        section.problem("count", seen="nothing", expected=expected, remedy=remedy)
        return Count(constant=1)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        if metric is not None and metric.counts_observations:
            # It could not be true of a bucket in which nothing was counted.
            seen = f"{value} for {metric}, which counts"
            section.problem("count", seen=seen, expected="value, {column: …} or {share: …}")
        return Count(constant=value)
    if isinstance(value, dict) and "column" in value:
        inner = section.section("count")
        column = inner.text("column", "the column that holds the count")
        inner.finish()
        return Count(column=column)
    if isinstance(value, dict):
        inner = section.section("count")
        share = inner.positive(inner.take("share"), "share", most=Decimal(1))
        inner.finish()
        found = Count(share=share)
    elif value == "value":
        found = Count(share=Decimal(1))
    else:
        expected = "value, a number, {column: …} or {share: …}"
        section.problem("count", seen=shown(value), expected=expected)
        return Count(constant=1)
    if metric is not None and not metric.counts_observations:
        seen = f"a share of {metric}, which is in {metric.unit}"
        section.problem("count", seen=seen, expected="a number or a column")
    return found
