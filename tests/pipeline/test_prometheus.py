"""Range queries to a Prometheus server that really evaluates them."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.field_rules import Reason
from streamgauge.lake.http import Credentials, Patience, server_url
from streamgauge.lake.raw import Rejected, decode
from streamgauge.lake.row_mapping import RejectedRow
from streamgauge.pipeline.probing import check_source
from streamgauge.pipeline.prometheus import check, read_slice
from streamgauge.pipeline.range_queries import RangeRequest, TimeRange, parse_time
from tests.pipeline.http_servers import Fault, PrometheusServer, PromSeries, serving

START = 1_767_225_600  # 2026-01-01T00:00:00Z
PATIENCE = Patience(timeout_seconds=10, attempts=3, first_wait_seconds=0.5)

MAPPING = """\
mapping: 1
source: prometheus
set: {{topology: wc}}
columns: {{worker: worker}}
bucket_seconds: 10
queries:
  - query: {query}
    metric: {metric}
    kind: {kind}
    count: {count}
"""


def mapping(query="heap", metric="heap_used", kind="gauge"):
    count = "value" if metric == "gc_runs" else 1
    return MAPPING.format(query=query, metric=metric, kind=kind, count=count)


def series(name, *points, **labels):
    return PromSeries(labels={"__name__": name, **labels}, points=points)


def heap(values, **labels):
    """A level that was read every ten seconds."""
    points = [(START + 10 * index, value) for index, value in enumerate(values)]
    return series("heap", *points, **{"worker": "n1:6700", **labels})


@pytest.fixture
def server():
    with serving(PrometheusServer()) as found:
        yield found


def request(server, text=None, *, seconds=60, start=START, **options):
    period = TimeRange(start_us=start * 10**6, end_us=(start + seconds) * 10**6)
    return RangeRequest(
        url=server.url,
        period=period,
        received_at_us=options.pop("received_at_us", period.end_us),
        mapping=text or mapping(),
        patience=options.pop("patience", PATIENCE),
        **options,
    )


def answers(asked, sleep=None):
    slept = [].append if sleep is None else sleep
    found = asked.prometheus_mapping()
    return [
        answer.outcome
        for part in asked.slices()
        for answer in read_slice(asked, found, part, slept)
    ]


def samples(asked, **options):
    records = [decode(line) for line in answers(asked, **options)]
    assert not any(isinstance(record, Rejected) for record in records)
    return records


def test_a_point_marks_the_end_of_its_bucket(server):
    server.series = [heap([100, 101, 102])]
    found = samples(request(server, seconds=30))
    assert [(one.bucket_start_us / 1e6 - START, one.value) for one in found] == [
        (-10, 100),
        (0, 101),
        (10, 102),
    ]
    assert (found[0].worker, found[0].bucket_seconds, found[0].count) == ("n1:6700", 10, 1)


def test_the_last_time_of_a_range_belongs_to_the_next_one(server):
    server.series = [heap(range(10))]
    first = samples(request(server, seconds=50))
    second = samples(request(server, start=START + 50, seconds=50))
    assert [one.value for one in first] == [0, 1, 2, 3, 4]
    assert [one.value for one in second] == [5, 6, 7, 8, 9]


def test_steps_lie_at_multiples_of_the_bucket_wherever_the_range_begins(server):
    server.series = [heap(range(10))]
    found = samples(request(server, start=START + 3, seconds=20))
    assert [one.bucket_start_us // 10**6 - START for one in found] == [0, 10]


def test_nothing_is_asked_for_beyond_the_receipt(server):
    # Prometheus would repeat the last value for five minutes.
    server.series = [heap(range(3))]
    found = samples(request(server, seconds=600, received_at_us=(START + 25) * 10**6))
    assert [one.value for one in found] == [0, 1, 2]


def test_a_counter_gives_what_it_gained_and_starts_from_zero_after_a_restart(server):
    server.series = [heap([5, 9, 9, 2, 4])]
    text = mapping(metric="gc_runs", kind="counter")
    found = samples(request(server, text, start=START + 10, seconds=40))
    assert [one.value for one in found] == [4, 0, 2, 2]


def test_a_counter_stays_as_it_is_for_a_cumulative_metric(server):
    server.series = [
        series("n", (START, 5), (START + 10, 9), worker="n1:6700", component="a", task="3")
    ]
    text = """\
mapping: 1
source: prometheus
set: {topology: wc, stream: default}
columns: {component: component, task: task}
ignore: [worker]
bucket_seconds: 10
queries: [{query: n, metric: emitted_total, kind: counter, count: value}]
"""
    found = samples(request(server, text, seconds=20))
    assert [(one.value, one.count) for one in found] == [(5, 5), (9, 9)]


def test_a_gap_gives_no_difference_on_either_side_of_it(server):
    server.series = [heap([1, 3, math.nan, 7, 8])]
    text = mapping(metric="gc_runs", kind="counter")
    found = samples(request(server, text, seconds=50))
    assert [(one.bucket_start_us // 10**6 - START, one.value) for one in found] == [(0, 2), (30, 1)]


def test_values_that_are_no_numbers_are_rejected_unless_they_are_to_be_skipped(server):
    server.stale_is_nan = True
    server.series = [heap([1, math.nan, math.inf, 4])]
    asked = request(server, seconds=40)
    one, nan, infinite, four = answers(asked)
    assert (nan.reason, infinite.reason) == (Reason.NOT_FINITE, Reason.NOT_FINITE)
    assert json.loads(nan.raw) == {
        "query": "heap",
        "metric": {"__name__": "heap", "worker": "n1:6700"},
        "value": [str(START + 10), "NaN"],
    }
    skipping = request(server, mapping() + "skip_nan: true\n", seconds=40)
    assert answers(skipping) == [one, four]


def test_a_query_that_puts_series_together_is_evaluated_there(server):
    server.series = [heap([1, 2], pod="a"), heap([10, 20], pod="b")]
    text = mapping(query="sum by (worker) (heap)")
    assert [one.value for one in samples(request(server, text, seconds=20))] == [11, 22]


def test_a_label_without_a_rule_rejects_its_points(server):
    server.series = [heap([1], pod="a")]
    found, *_ = answers(request(server, seconds=10))
    assert (found.reason, found.detail) == (Reason.UNKNOWN_KEY, "label pod without a rule")
    assert samples(request(server, mapping() + "ignore: [pod]\n", seconds=10))[0].value == 1


def test_a_native_histogram_is_rejected(server):
    point = [START, {"count": "3", "sum": "7"}]
    body = {"metric": {"worker": "w"}, "histograms": [point]}
    server.faults.append(Fault(body=matrix([body])))
    (found,) = answers(request(server, seconds=10))
    assert (found.reason, found.detail[:18]) == (Reason.WRONG_TYPE, "a native histogram")


def matrix(result, **more):
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data, **more}).encode()


def test_the_limit_of_points_is_never_hit(server):
    # A step a second for four hours: 14,400 points, which the server would refuse.
    server.series = [series("heap", (START, 1), worker="w")]
    text = mapping().replace("bucket_seconds: 10", "bucket_seconds: 1")
    whole = 4 * 3600
    found = samples(request(server, text, seconds=whole, slice_seconds=whole))
    # Looking back for five minutes, the one point is seen three hundred times.
    assert len(found) == 300
    spans = [(int(form["start"]) - START, int(form["end"]) - START) for form in server.asked]
    assert spans == [(0, 10_999), (11_000, 14_399)]


def test_an_answer_that_is_too_large_is_asked_for_in_halves(server):
    server.series = [heap(range(100))]
    whole = samples(request(server, seconds=1000))
    server.asked.clear()
    small = request(server, seconds=1000, patience=Patience(most_bytes=1_000))
    assert samples(small) == whole
    assert len(server.asked) > 3


def test_an_answer_too_large_for_a_single_step_is_an_error(server):
    server.series = [heap([1])]
    with pytest.raises(SourceUnreachable, match="more than 20 bytes for a single step; select"):
        answers(request(server, seconds=10, patience=Patience(most_bytes=20)))
    with pytest.raises(SourceUnreachable, match="more than 20 bytes"):
        check(request(server, seconds=10, patience=Patience(most_bytes=20)))


series_of_any = st.lists(
    st.lists(st.none() | st.integers(0, 50), max_size=12), min_size=1, max_size=3
)


@pytest.fixture(scope="module")
def shared_server():
    with serving(PrometheusServer()) as found:
        yield found


@given(
    values=series_of_any,
    kind=st.sampled_from(["gauge", "counter"]),
    start=st.integers(0, 40),
    seconds=st.integers(1, 100),
    slice_seconds=st.integers(7, 60),
)
def test_any_slices_give_the_same_lines(shared_server, values, kind, start, seconds, slice_seconds):
    # A value that is missing is a stale series until the next one.
    shared_server.series = [
        series(
            "n",
            *(
                (START + 10 * i, math.nan if one is None else float(one))
                for i, one in enumerate(row)
            ),
            worker=f"w{number}",
        )
        for number, row in enumerate(values)
    ]
    text = mapping("n", "gc_runs" if kind == "counter" else "heap_used", kind)
    options = {"start": START + start, "seconds": seconds}
    whole = answers(request(shared_server, text, slice_seconds=100_000, **options))
    sliced = answers(request(shared_server, text, slice_seconds=slice_seconds, **options))
    assert sorted(sliced) == sorted(whole)
    assert len(set(whole)) == len(whole)
    if kind == "gauge":
        # The truth, point by point: a value lasts for five minutes or until it is stale.
        times = [t for t in range(START, START + 200, 10) if start <= t - START < start + seconds]
        expected = sum(
            row[min((t - START) // 10, len(row) - 1)] is not None
            for row in values
            for t in times
            if row
        )
        assert len(whole) == expected


def test_failures_that_pass_are_waited_for(server):
    server.series = [heap([1])]
    server.faults += [Fault(status=500), Fault(status=503)]
    slept = []
    assert len(samples(request(server, seconds=10), sleep=slept.append)) == 1
    assert slept == [0.5, 1.0]


def test_a_server_says_how_long_to_wait_but_not_for_ever(server):
    server.series = [heap([1])]
    server.faults += [
        Fault(status=429, headers={"Retry-After": "7"}),
        Fault(status=429, headers={"Retry-After": "86400"}),
    ]
    slept = []
    assert len(samples(request(server, seconds=10), sleep=slept.append)) == 1
    assert slept == [7.0, 30.0]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_truncated_answer_is_asked_for_again(server, zipped):
    server.zipped = zipped
    server.series = [heap(range(50))]
    server.faults.append(Fault(cut=True))
    assert len(samples(request(server, seconds=500))) == 50
    assert len(server.asked) == 2


def test_a_server_that_does_not_answer_in_time_is_unreachable(server):
    server.faults += [Fault(hang=True)] * 2
    patience = Patience(timeout_seconds=0.2, attempts=2)
    with pytest.raises(SourceUnreachable) as caught:
        answers(request(server, patience=patience))
    assert str(caught.value) == (
        f"{server.url}/api/v1/query_range: no whole answer within 0.2 s after 2 tries;"
        " ask for smaller slices of time, or wait longer"
    )


def test_a_server_that_is_not_there_is_unreachable(server):
    asked = request(server)
    server.server_close()
    with pytest.raises(SourceUnreachable, match="Connection refused after 3 tries; check the"):
        answers(asked)


def test_failures_that_stay_are_reported_with_the_words_of_the_server(server):
    body = b'{"status":"error","errorType":"timeout","error":"query timed out"}'
    server.faults += [Fault(status=503, body=body)] * 3
    with pytest.raises(SourceUnreachable, match="HTTP 503 Service Unavailable: timeout: query tim"):
        answers(request(server))


def test_a_query_the_server_does_not_understand_is_named_with_its_line(server):
    with pytest.raises(InvalidInput) as caught:
        check(request(server, mapping(query="'heap ['")), "m.yaml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.path) == ("m.yaml", 7, "queries[0].query")
    assert "parse error" in problem.seen
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=401), "HTTP 401 Unauthorized; name environment variables"),
        (Fault(status=404, body=b"no"), "HTTP 404 Not Found: no; check the address"),
        (Fault(body=b"<html>"), "an answer that is no JSON object; check that this"),
        (Fault(body=b'{"status":"error","errorType":"x","error":"y"}'), "x: y; correct the query"),
        (Fault(body=matrix([], isPartial=True)), "a part of the answer only"),
        (Fault(body=b'{"status":"success","data":{"resultType":"vector"}}'), "no matrix of series"),
        (Fault(body=matrix([{"metric": {}, "values": [["x", "1"]]}])), "no matrix of series"),
        (Fault(body=matrix([{"metric": {}, "values": 5}])), "no matrix of series"),
        (Fault(body=matrix([{"metric": {}, "values": [[START, None]]}])), "no matrix of series"),
        (Fault(body=b"[" * 100_000), "an answer that is no JSON object"),
    ],
)
def test_what_is_no_answer_of_prometheus_is_an_error(server, fault, said):
    server.faults.append(fault)
    with pytest.raises(SourceUnreachable) as caught:
        answers(request(server))
    assert str(caught.value).startswith(server.url)
    assert said in str(caught.value)


def test_redirects_are_followed_on_the_same_host_only(server):
    server.series = [heap([1])]
    again = {"Location": f"{server.url}/api/v1/query_range"}
    server.faults.append(Fault(status=307, headers=again))
    assert len(samples(request(server, seconds=10))) == 1
    assert server.asked[0] == server.asked[1]
    server.faults.append(Fault(status=302, headers={"Location": "http://other/"}))
    with pytest.raises(SourceUnreachable, match="it redirects to http://other; give"):
        answers(request(server, seconds=10))


def test_secrets_are_named_never_told(server, monkeypatch):
    server.series = [heap([1])]
    monkeypatch.setenv("PROM_TOKEN", "s3cret")
    asked = request(server, seconds=10, credentials=Credentials(token="PROM_TOKEN"))
    (answer,) = read_slice(asked, asked.prometheus_mapping(), asked.period)
    assert server.headers[-1]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in f"{asked!r} {asked.options()} {answer.file}"
    user = Credentials(user="PROM_TOKEN", password="PROM_TOKEN")
    check(request(server, seconds=10, credentials=user))
    # s3cret:s3cret
    assert server.headers[-1]["authorization"] == "Basic czNjcmV0OnMzY3JldA=="
    with pytest.raises(InvalidInput, match="no environment variable NO_TOKEN"):
        check(request(server, seconds=10, credentials=Credentials(token="NO_TOKEN")))


def test_the_usual_variables_are_looked_at(monkeypatch):
    for name in ("TOKEN", "USER", "PASSWORD"):
        monkeypatch.delenv(f"STREAMGAUGE_{name}", raising=False)
    assert Credentials.usual() == Credentials()
    monkeypatch.setenv("STREAMGAUGE_TOKEN", "x")
    assert Credentials.usual() == Credentials(token="STREAMGAUGE_TOKEN")


def test_the_file_of_an_answer_names_query_and_range(server):
    server.series = [heap([1])]
    asked = request(server, seconds=20)
    (answer, _) = read_slice(asked, asked.prometheus_mapping(), asked.period)
    expected = f"query=heap&start={START}&end={START + 10}&step=10"
    assert answer.file == f"{server.url}/api/v1/query_range?{expected}"


def test_a_check_counts_series_and_passes_warnings_on(server):
    server.series = [heap([1, 2, 3])]
    server.warnings = ["half of the stores are down"]
    found = check_source(request(server, seconds=30))
    assert (found.series, found.warnings) == (1, (f"{server.url}: half of the stores are down",))
    # One point is enough to see what is wrong.
    assert server.asked[0]["start"] == server.asked[0]["end"] == str(START + 20)


def test_a_check_finds_labels_without_a_rule(server):
    server.series = [heap([1], pod="a")]
    with pytest.raises(InvalidInput, match=r"m.yaml:7: queries\[0\].query: series with label pod"):
        check(request(server, seconds=10), "m.yaml")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host", "no http or https address"),
        ("host:9090", "no http or https address"),
        ("http://", "no http or https address"),
        ("http://me:s3cret@host", "a name or password in it"),
        ("http://host/?token=s3cret", "a part behind"),
        ("http://host:port", "Port could not be cast"),
        ("http://ho st", "characters that an address cannot have"),
    ],
)
def test_an_address_is_http_and_holds_no_secret(url, said):
    with pytest.raises(InvalidInput) as caught:
        server_url(url)
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_address_keeps_its_path():
    assert server_url("https://host/prometheus/") == "https://host/prometheus"
    assert server_url("http://[::1]:9090/") == "http://[::1]:9090"


def test_options_say_what_the_request_says(server):
    asked = request(server, slice_seconds=60, credentials=Credentials(token="T"))
    again = RangeRequest.of_options(asked.options())
    assert (again.url, again.period, again.mapping) == (asked.url, asked.period, asked.mapping)
    assert (again.slices(), again.credentials) == (asked.slices(), asked.credentials)


def test_the_step_may_be_another_than_the_mappings(server):
    server.series = [heap(range(4))]
    options = request(server, seconds=40).options() | {"bucket_seconds": "20"}
    found = samples(RangeRequest.of_options(options))
    assert [(one.value, one.bucket_seconds) for one in found] == [(0, 20), (2, 20)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"from": "yesterday"}, "from: 'yesterday'; expected a time such as"),
        ({"from": "2027-01-01T00:00:00Z"}, "expected a time before `to`"),
        ({"received_at": ""}, "received_at: ''; expected a time"),
        ({"url": ""}, "url: nothing; expected the option url"),
        ({"slice_seconds": "none"}, "slice_seconds: 'none'; expected a number above 0"),
        ({"slice_seconds": "0.5"}, "slice_seconds: 0; expected at least 1"),
        ({"from": "1", "slice_seconds": "1"}, "expected at most 100,000 slices"),
        ({"mapping": "mapping: 1"}, "source: nothing"),
        ({"bucket_seconds": "0.00001"}, "expected whole milliseconds"),
    ],
)
def test_options_that_cannot_be_right_are_named(server, change, said):
    with pytest.raises(InvalidInput) as caught:
        RangeRequest.of_options(request(server).options() | change).prometheus_mapping()
    assert said in str(caught.value)


def test_times_are_rfc3339_or_microseconds():
    assert parse_time("2026-01-01T00:00:00Z") == parse_time(f"{START}000000") == START * 10**6
    assert parse_time("tomorrow") is None


def test_slices_are_cut_at_round_times_and_miss_nothing():
    period = TimeRange(start_us=25, end_us=61)
    found = [(one.start_us, one.end_us) for one in period.slices(20)]
    assert found == [(25, 40), (40, 60), (60, 61)]
    assert TimeRange(start_us=5, end_us=5).slices(20) == ()


def test_spark_reads_a_server_slice_by_slice(spark, server):
    from streamgauge.pipeline.query_sources import read_source, source_error

    server.series = [heap(range(12)), heap([1, 2], pod="a")]
    asked = request(server, seconds=120, slice_seconds=60)
    frame = read_source(spark, asked)
    rows = frame.collect()
    assert frame.schema.simpleString() == (
        "struct<line:binary,raw:binary,reason:string,detail:string,file:string,"
        "received_at:timestamp>"
    )
    expected = [
        (None, one.raw, str(one.reason)) if isinstance(one, RejectedRow) else (one, None, None)
        for one in answers(asked)
    ]
    found = [(row.line and bytes(row.line), row.raw and bytes(row.raw), row.reason) for row in rows]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len({row.file for row in rows}) == 2
    assert {row.received_at.timestamp() for row in rows} == {START + 120}
    server.faults += [Fault(status=401)] * 2
    with pytest.raises(Exception, match="HTTP 401") as caught:
        read_source(spark, asked).collect()
    error = source_error(caught.value)
    assert isinstance(error, SourceUnreachable)
    assert str(error).startswith(f"{server.url}/api/v1/query_range: HTTP 401 Unauthorized; name")
