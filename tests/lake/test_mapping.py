"""Mapping files: what they say, and that every mistake is named with file, line and path."""

import pickle
from decimal import Decimal

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.lake.files.mapping_file import load_mapping, parse_mapping
from streamgauge.lake.mapping import (
    BucketEdge,
    Count,
    CsvMapping,
    InfluxMapping,
    PrometheusMapping,
    TimeUnit,
)

CSV = """\
mapping: 1
source: csv
set: {topology: wc, stream: default}
columns: {component: comp, task: taskId, source_component: from}
time: {column: ts, unit: ms}
bucket_seconds: 10
metrics:
  execCount: {metric: executed, count: value}
"""
PROMETHEUS = """\
mapping: 1
source: prometheus
set: {topology: wc}
columns: {worker: worker}
bucket_seconds: 0.5
queries:
  - {query: heap, metric: heap_used, kind: gauge}
"""
INFLUX = """\
mapping: 1
source: influxdb
influxdb: {version: 1, database: tracer}
set: {topology: wc}
columns: {worker: worker}
time: {marks: end}
bucket_seconds: {column: seconds}
queries:
  - {measurement: heap, metrics: {used: {metric: heap_used}}}
"""


def problems(text):
    with pytest.raises(InvalidInput) as caught:
        parse_mapping(text, "m.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_a_csv_mapping_says_where_everything_stands():
    found = parse_mapping(CSV)
    assert isinstance(found, CsvMapping)
    rows = found.rows
    assert (rows.time.column, rows.time.unit, rows.time.marks) == (
        "ts",
        TimeUnit.MILLISECONDS,
        BucketEdge.START,
    )
    assert rows.bucket_seconds == 10
    assert rows.columns == {"ts", "comp", "taskId", "from", "execCount"}
    assert rows.metrics["execCount"].count == Count(share=Decimal(1))
    assert rows.unmapped(["ts", "comp", "note"]) == ("note",)


def test_ignored_columns_are_listed_or_all():
    assert parse_mapping(CSV + "ignore: [note]\n").rows.unmapped(["note", "other"]) == ("other",)
    assert parse_mapping(CSV + "ignore: true\n").rows.unmapped(["note", "other"]) == ()


def test_a_scale_is_exactly_what_was_written():
    text = CSV.replace("count: value", "count: value, scale: 0.1")
    assert parse_mapping(text).rows.metrics["execCount"].scale == Decimal("0.1")


def test_prometheus_marks_the_ends_of_buckets_and_ignores_the_name():
    found = parse_mapping(PROMETHEUS)
    assert isinstance(found, PrometheusMapping)
    assert found.bucket_seconds == Decimal("0.5")
    assert found.queries[0].rows.time.marks is BucketEdge.END
    assert found.queries[0].rows.unmapped(["__name__", "worker", "pod"]) == ("pod",)
    shorter = found.with_bucket(Decimal("0.25"))
    assert shorter.queries[0].rows.bucket_seconds == Decimal("0.25")


def test_an_influx_query_asks_for_all_fields_it_needs():
    found = parse_mapping(INFLUX)
    assert isinstance(found, InfluxMapping)
    assert found.queries[0].fields == ("used", "seconds")


def test_what_stands_further_in_wins():
    text = CSV.replace("count: value}", "count: value, set: {stream: words}}")
    assert parse_mapping(text).rows.metrics["execCount"].keys["stream"] == "words"


@pytest.mark.parametrize("text", [CSV, PROMETHEUS, INFLUX])
def test_a_mapping_travels_to_other_processes(text):
    found = parse_mapping(text)
    assert pickle.loads(pickle.dumps(found)) == found


def test_every_problem_has_file_line_and_path():
    text = CSV.replace("metric: executed", "metric: exected").replace("unit: ms", "unit: minutes")
    assert problems(text.replace("columns: {component", "columns: {compnent")) == [
        "m.yaml:4: columns.compnent: unknown key 'compnent'; expected a key that a sample may have"
        " (did you mean 'component'?)",
        "m.yaml:8: metrics.execCount.metric: unknown metric 'exected'; expected the name of a"
        " metric (did you mean 'executed'?)",
        "m.yaml:5: time.unit: 'minutes'; expected one of ns, us, ms, s, rfc3339",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mapping: 1", "mapping: 2", "m.yaml:1: mapping: 2; expected 1"),
        ("source: csv", "source: tsv", "source: 'tsv'; expected one of csv, parquet, prometheus"),
        ("task: taskId, ", "", "metrics.execCount: no task; expected all keys that executed needs"),
        ("count: value", "count: many", "count: 'many'; expected value, a number"),
        ("count: value", "count: 1", "count: 1 for executed, which counts; expected value"),
        (", count: value", "", "metrics.execCount.count: nothing; expected value, a number"),
        ("count: value", "count: {share: 1.5}", "share: 1.5; expected a number above 0 and at"),
        ("bucket_seconds: 10", "bucket_seconds: 0", "bucket_seconds: 0; expected a number above"),
        ("bucket_seconds: 10", "", "bucket_seconds: nothing; expected the length"),
        ("column: ts, ", "", "time.column: nothing; expected the column that holds the time"),
        ("{topology: wc", "{topology: ''", "set.topology: ''; expected 1 to 200"),
        ("stream: default", "task: 3", "columns.task: task under set, too"),
        ("task: taskId", "task: {column: t, match: '('}", "columns.task.match: '(': missing )"),
        ("task: taskId", "task: {column: t, match: 'x'}", "columns.task.match: 0 groups"),
        ("task: taskId", "task: {template: 'x'}", "template: 'x'; expected at least one {column}"),
        ("task: taskId", "task: {template: '{a:b}'}", "template: '{a:b}'; expected names of col"),
        ("task: taskId", "task: {template: '{a'}", "template: '{a': expected '}' before end"),
        ("metrics:", "value: v\nmetrics:", "value: 'v'; expected no value column"),
        ("metrics:", "name: {column: n}\nmetrics:", "value: nothing; expected the column that"),
        ("metrics:", "ingore: true\nmetrics:", "ingore: unknown key 'ingore'"),
        ("metrics:", "delimiter: ';;'\nmetrics:", "delimiter: ';;'; expected one character"),
        ("metrics:", "header: [a, a]\nmetrics:", "header: 'a' twice; expected each once"),
        ("metrics:", "skip_nan: 1\nmetrics:", "skip_nan: 1; expected true or false"),
    ],
)
def test_a_mistake_in_a_csv_mapping_is_named(old, new, said):
    assert old in CSV
    assert any(said in problem for problem in problems(CSV.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bucket_seconds: 0.5", "bucket_seconds: 0.0005", "expected whole milliseconds"),
        ("kind: gauge", "kind: counter", "a counter for heap_used, which is a gauge"),
        (", kind: gauge", "", "queries[0].kind: nothing; expected one of counter, gauge"),
        ("query: heap, ", "", "m.yaml:7: queries[0].query: nothing; expected a PromQL expression"),
        ("queries:", "time: {unit: s}\nqueries:", "time.unit: unknown key 'unit'"),
    ],
)
def test_a_mistake_in_a_prometheus_mapping_is_named(old, new, said):
    assert any(said in problem for problem in problems(PROMETHEUS.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1", "version: 3", "influxdb.version: 3; expected 1 or 2"),
        ("version: 1, database: tracer", "version: 2", "influxdb.org: nothing; expected the name"),
        ("time: {marks: end}\n", "", "time: nothing; expected marks: start or end"),
        ("measurement: heap, ", "", "queries[0].measurement: nothing; expected the name"),
        ("measurement: heap", "measurement_pattern: '['", "measurement_pattern: '['"),
    ],
)
def test_a_mistake_in_an_influx_mapping_is_named(old, new, said):
    assert any(said in problem for problem in problems(INFLUX.replace(old, new)))


def test_a_count_that_is_a_share_needs_a_metric_that_counts():
    text = PROMETHEUS.replace("kind: gauge", "kind: gauge, count: value")
    said = "queries[0].count: a share of heap_used, which is in bytes"
    assert any(said in problem for problem in problems(text))


def test_all_examples_load(project):
    found = {path.name: load_mapping(path) for path in (project / "examples/mappings").iterdir()}
    assert len(found) == 5
    assert {type(one).__name__ for one in found.values()} == {
        "CsvMapping",
        "PrometheusMapping",
        "InfluxMapping",
    }
