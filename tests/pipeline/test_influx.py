"""Range queries to an InfluxDB server that really evaluates them, in InfluxQL and in Flux."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.field_rules import Reason
from streamgauge.lake.http import Credentials, Patience
from streamgauge.lake.raw import Rejected, decode
from streamgauge.lake.row_mapping import RejectedRow
from streamgauge.pipeline.influx import check, flux, influxql, read_slice
from streamgauge.pipeline.probing import check_source
from streamgauge.pipeline.range_queries import RangeRequest, TimeRange
from tests.pipeline.http_servers import Fault, InfluxPoint, InfluxServer, serving

START = 1_767_225_600  # 2026-01-01T00:00:00Z
SERVERS = {
    1: "{version: 1, database: tracer}",
    2: "{version: 2, org: lab, bucket: metrics}",
}
MAPPING = """\
mapping: 1
source: influxdb
influxdb: {server}
set: {{topology: wc}}
columns: {{worker: worker}}
time: {{marks: start}}
bucket_seconds: 10
queries:
  - measurement: memory
    metrics:
      heap: {{metric: heap_used}}
      cpu: {{metric: worker_cpu, scale: 1000000, count: {{column: ticks}}}}
"""


def mapping(version=1):
    return MAPPING.format(server=SERVERS[version])


def point(seconds, measurement="memory", tags=None, **fields):
    return InfluxPoint(
        measurement=measurement,
        tags={"worker": "n1:6700"} if tags is None else tags,
        time_ns=START * 10**9 + int(Decimal(str(seconds)) * 10**9),
        fields=fields,
    )


@pytest.fixture
def server():
    with serving(InfluxServer()) as found:
        yield found


@pytest.fixture(params=[1, 2])
def version(request):
    return request.param


def request_to(server, text, *, seconds=60, start=START, **options):
    period = TimeRange(start_us=int(start * 10**6), end_us=int((start + seconds) * 10**6))
    return RangeRequest(
        url=server.url,
        period=period,
        received_at_us=period.end_us,
        mapping=text,
        patience=options.pop("patience", Patience(timeout_seconds=10, attempts=3)),
        **options,
    )


def answers(asked, sleep=None):
    found = asked.influx_mapping()
    slept = [].append if sleep is None else sleep
    return [
        answer.outcome
        for part in asked.slices()
        for answer in read_slice(asked, found, part, slept)
    ]


def samples(asked):
    records = [decode(line) for line in answers(asked)]
    assert not any(isinstance(record, Rejected) for record in records)
    return records


def test_every_field_of_a_point_is_a_sample(server, version):
    server.points = [point(0, heap=7.5, cpu=3, ticks=2), point(10, heap=8)]
    found = samples(request_to(server, mapping(version)))
    assert [(one.metric, one.value, one.count, one.bucket_start_us) for one in found] == [
        ("heap_used", 7.5, 1, START * 10**6),
        ("worker_cpu", 3_000_000, 2, START * 10**6),
        ("heap_used", 8, 1, (START + 10) * 10**6),
    ]
    assert found[0].worker == "n1:6700"


def test_series_are_kept_apart_by_their_tags(server, version):
    server.points = [point(0, tags={"worker": name}, heap=1) for name in ("a", 'b, "c"')]
    found = samples(request_to(server, mapping(version)))
    assert {one.worker for one in found} == {"a", 'b, "c"'}


def test_the_end_of_a_range_belongs_to_the_next_one(server, version):
    server.points = [point(seconds, heap=seconds) for seconds in (0, 59.999999999, 60)]
    first = samples(request_to(server, mapping(version)))
    second = samples(request_to(server, mapping(version), start=START + 60))
    assert len(first) == 2
    assert [one.value for one in second] == [60]
    # What is finer than a microsecond is cut off.
    assert first[1].bucket_start_us == START * 10**6 + 59_999_999


def test_a_tag_without_a_rule_rejects_its_points(server, version):
    server.points = [point(0, tags={"worker": "a", "pod": "p"}, heap=1)]
    (found,) = answers(request_to(server, mapping(version)))
    assert (found.reason, found.detail) == (Reason.UNKNOWN_KEY, "tag pod without a rule")
    assert json.loads(found.raw)["pod"] == "p"
    assert len(samples(request_to(server, mapping(version) + "ignore: [pod]\n"))) == 1


def test_a_tag_that_a_series_lacks_needs_no_rule(server, version):
    server.points = [point(0, heap=1), point(0, tags={"worker": "b", "pod": "p"}, heap=2)]
    found = answers(request_to(server, mapping(version)))
    assert sorted(isinstance(one, RejectedRow) for one in found) == [False, True]


def test_only_points_with_the_tags_asked_for_come(server, version):
    text = mapping(version) + '    where: {topology: "o\'hara \\\\ \\"co\\""}\n'
    tags = {"worker": "a", "topology": 'o\'hara \\ "co"'}
    server.points = [point(0, tags=tags, heap=1), point(0, heap=2)]
    # The tag asked for needs no rule of its own.
    assert [one.value for one in samples(request_to(server, text))] == [1]


def test_a_value_that_is_no_number_is_rejected(server):
    server.points = [point(0, heap=True)]
    (found,) = answers(request_to(server, mapping()))
    assert (found.reason, found.detail) == (Reason.WRONG_TYPE, "heap: 'true'; expected a number")


@pytest.fixture(scope="module")
def shared_server():
    with serving(InfluxServer()) as found:
        yield found


@given(
    version=st.sampled_from([1, 2]),
    times=st.lists(st.integers(0, 100_000_000_000), unique=True, max_size=8),
    start=st.integers(0, 50_000),
    length=st.integers(1, 60_000),
    slice_seconds=st.integers(1, 30),
)
def test_any_slices_give_the_same_lines(
    shared_server, version, times, start, length, slice_seconds
):
    # Times in nanoseconds, the range in milliseconds.
    shared_server.points = [
        InfluxPoint(
            measurement="memory",
            tags={"worker": f"w{number}"},
            time_ns=START * 10**9 + one,
            fields={"heap": number},
        )
        for number, one in enumerate(times)
    ]
    options = {"start": START + start / 1000, "seconds": length / 1000}
    text = mapping(version)
    whole = answers(request_to(shared_server, text, slice_seconds=10_000, **options))
    sliced = answers(request_to(shared_server, text, slice_seconds=slice_seconds, **options))
    asked = request_to(shared_server, text, **options).period
    inside = [one for one in times if START * 10**6 + one // 1000 in asked]
    assert sorted(sliced) == sorted(whole)
    assert len(set(whole)) == len(whole) == len(inside)


def test_long_answers_come_in_chunks(server):
    server.points = [point(index / 1000, heap=index) for index in range(6_000)]
    found = samples(request_to(server, mapping()))
    assert [one.value for one in found] == list(range(6_000))
    assert server.asked[0]["chunked"] == "true"


def test_an_answer_that_is_too_large_is_asked_for_in_halves(server, version):
    server.points = [point(index, heap=index) for index in range(60)]
    small = request_to(server, mapping(version), patience=Patience(most_bytes=1_500))
    assert sorted(one.value for one in samples(small)) == list(range(60))
    assert len(server.asked) > 2


def test_an_answer_too_large_for_a_single_time_is_an_error(server, version):
    server.points = [point(0, heap=1)]
    with pytest.raises(SourceUnreachable, match="more than 20 bytes at a single time; select"):
        answers(request_to(server, mapping(version), patience=Patience(most_bytes=20)))


def test_an_answer_that_stops_half_way_is_an_error(server):
    server.row_limit = 1
    server.points = [point(0, heap=1), point(1, heap=2)]
    with pytest.raises(SourceUnreachable, match="an answer that stops half-way"):
        answers(request_to(server, mapping()))


@pytest.mark.parametrize(
    ("version", "body", "said"),
    [
        (1, b'{"error":"unable to parse authentication credentials"}', "unable to parse auth"),
        (1, b'{"results":[{"statement_id":0,"error":"database not found: x"}]}', "database not f"),
        (1, b"<html>", "no JSON object"),
        (1, b'{"results":[{"series":[{"columns":["time"],"values":[[1]]}]}]}', "no list of series"),
        (1, b'{"results":[{"series":[{"name":"m","columns":[],"values":[[1]]}]}]}', "no list of"),
        (1, b'{"results":5}', "no list of series"),
        (2, b"error,reference\r\nFailed to parse query,897\r\n", "Failed to parse query"),
        (2, b",result,table,heap\r\n,,0\r\n", "no CSV"),
        (2, b",result,\xff\r\n", "no CSV"),
        (2, b',result,"\r\n', "no CSV"),
    ],
)
def test_an_error_in_an_answer_that_seems_fine_is_found(server, version, body, said):
    server.faults.append(Fault(body=body))
    with pytest.raises(SourceUnreachable) as caught:
        answers(request_to(server, mapping(version)))
    assert str(caught.value).startswith(server.url)
    assert said in str(caught.value)


def test_an_error_behind_the_first_table_is_found(server):
    table = b"#default,_result,,,\r\n,result,table,_time,heap\r\n,,0,2026-01-01T00:00:00Z,1\r\n"
    error = b"\r\n#datatype,string,string\r\n#default,,\r\n,error,reference\r\n,memory,7\r\n"
    server.faults.append(Fault(body=table + error))
    with pytest.raises(SourceUnreachable, match="memory; correct the query"):
        answers(request_to(server, mapping(2)))


def test_a_statement_the_server_does_not_understand_is_named_with_its_line(server, version):
    body = b'{"error":"error parsing query"}'
    if version == 2:
        body = b'{"code":"invalid","message":"error parsing query"}'
    server.faults.append(Fault(status=400, body=body))
    with pytest.raises(InvalidInput) as caught:
        check(request_to(server, mapping(version)), "m.yaml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.path) == ("m.yaml", 9, "queries[0]")
    assert "HTTP 400 Bad Request: error parsing query" in problem.seen


def test_a_failure_that_passes_is_waited_for(server, version):
    server.points = [point(0, heap=1)]
    server.faults += [Fault(status=500), Fault(cut=True)]
    slept = []
    assert len(answers(request_to(server, mapping(version)), slept.append)) == 1
    assert slept == [0.5, 1.0]


def test_a_check_counts_series_and_finds_tags_without_a_rule(server, version):
    server.points = [point(1, heap=1), point(2, heap=2), point(3, tags={"worker": "b"}, heap=3)]
    assert check_source(request_to(server, mapping(version))).series == 2
    server.points.append(point(4, tags={"worker": "b", "pod": "p"}, heap=3))
    with pytest.raises(InvalidInput, match=r"m.yaml:9: queries\[0\]: points with pod, which has"):
        check(request_to(server, mapping(version)), "m.yaml")


def test_a_token_or_a_user_is_shown_to_the_server(server, version, monkeypatch):
    monkeypatch.setenv("INFLUX_TOKEN", "s3cret")
    check(request_to(server, mapping(version), credentials=Credentials(token="INFLUX_TOKEN")))
    assert server.headers[-1]["authorization"] == "Token s3cret"
    asked = request_to(server, mapping(version), credentials=Credentials(user="INFLUX_TOKEN"))
    check(asked)
    # s3cret:
    assert server.headers[-1]["authorization"] == "Basic czNjcmV0Og=="


def test_the_file_of_an_answer_names_the_query_and_its_range(server, version):
    server.points = [point(0, heap=1)]
    asked = request_to(server, mapping(version))
    (answer,) = read_slice(asked, asked.influx_mapping(), asked.period)
    if version == 1:
        assert answer.file.startswith(f"{server.url}/query?db=tracer&q=SELECT+%22heap%22")
    else:
        assert answer.file.startswith(f"{server.url}/api/v2/query?org=lab&query=from%28bucket")


def test_the_statement_asks_for_fields_tags_and_a_half_open_range():
    asked = RangeRequest(
        url="http://host",
        period=TimeRange(start_us=1, end_us=2),
        received_at_us=2,
        mapping=mapping() + '    where: {a: "it\'s"}\n',
    )
    (query,) = asked.influx_mapping().queries
    assert influxql(query, asked.period) == (
        'SELECT "heap", "cpu", "ticks" FROM "memory" WHERE "a" = \'it\\\'s\''
        " AND time >= 1000 AND time < 2000 GROUP BY *"
    )


def test_the_script_asks_for_fields_tags_and_a_half_open_range():
    asked = RangeRequest(
        url="http://host",
        period=TimeRange(start_us=START * 10**6, end_us=START * 10**6 + 1),
        received_at_us=START * 10**6 + 1,
        mapping=mapping(2).replace("measurement: memory", "measurement_pattern: ^a/b")
        + "    where: {a: '${x}'}\n",
    )
    found = asked.influx_mapping()
    assert flux(found, found.queries[0], asked.period).splitlines() == [
        'from(bucket: "metrics")',
        "  |> range(start: 2026-01-01T00:00:00Z, stop: 2026-01-01T00:00:00.000001Z)",
        '  |> filter(fn: (r) => r["_measurement"] =~ /^a\\/b/)',
        '  |> filter(fn: (r) => r["_field"] == "heap" or r["_field"] == "cpu"'
        ' or r["_field"] == "ticks")',
        '  |> filter(fn: (r) => r["a"] == "\\${x}")',
        '  |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")',
    ]


def storm_point(measurement, value, **more):
    tags = {
        "host": "n1",
        "workerProcess": "6700",
        "taskID": "3",
        "component": "splitter",
        "topology": "word-count-1-1767225000",
        **more,
    }
    return point(10, measurement, tags, value=value)


def test_the_schema_of_storm_tracer_is_read_by_the_example(server, project):
    server.points = [
        storm_point("execute-count", 41_780, stream="sentences:default"),
        storm_point("execute-latency", 0.25, stream="sentences:default"),
        storm_point("emit-count", 320_000, stream="words"),
        storm_point("receive.population", 2.75),
        storm_point("Transfer-Count-sentences-default-splitter", 20_891, **{"source-task": "1"}),
        storm_point("Transfer-Latency-sentences-default-splitter", 3, **{"source-task": "1"}),
    ]
    text = (project / "examples/mappings/influxdb-1.yaml").read_text()
    assert check_source(request_to(server, text)).series == 5
    found = {one.metric: one for one in samples(request_to(server, text))}
    assert set(found) == {
        "executed",
        "execute_latency_mean",
        "emitted",
        "queue_population",
        "received",
    }
    executed, received = found["executed"], found["received"]
    assert (executed.topology, executed.component, executed.task) == ("word-count", "splitter", 3)
    assert (executed.source_component, executed.stream) == ("sentences", "default")
    assert (executed.value, executed.count, executed.worker) == (41_780, 2_089, "n1:6700")
    # The point came when its ten seconds were over.
    assert executed.bucket_start_us == START * 10**6
    assert (received.source_component, received.stream, received.source_task) == (
        "sentences",
        "default",
        1,
    )
    assert found["queue_population"].executor == "splitter[3]"


def test_the_example_for_version_2_reads_its_measurement(server, project):
    tags = {"topology": "word-count", "component": "splitter", "task": "3", "source": "sentences"}
    server.points = [point(0, "tasks", {**tags, "host": "n1"}, executed=40, busy_ns=4_000)]
    text = (project / "examples/mappings/influxdb-2.yaml").read_text()
    first, second = samples(request_to(server, text))
    assert (first.metric, first.value, first.node) == ("executed", 40, None)
    assert (second.metric, second.value, second.count) == ("execute_latency_sum", 4_000, 40)


def test_spark_reads_a_server_slice_by_slice(spark, server):
    from streamgauge.pipeline.query_sources import read_source

    server.points = [point(seconds, heap=seconds) for seconds in range(0, 120, 10)]
    asked = request_to(server, mapping(), seconds=120, slice_seconds=60)
    rows = read_source(spark, asked).collect()
    assert sorted(bytes(row.line) for row in rows) == sorted(answers(asked))
    assert len({row.file for row in rows}) == 2
