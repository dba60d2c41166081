"""Rows of CSV and Parquet files as raw lines."""

import csv
import io
import json
import math
import random
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.csv_rows import csv_lines
from streamgauge.lake.field_rules import Reason, Rejected
from streamgauge.lake.files.mapping_file import load_mapping, parse_mapping
from streamgauge.lake.parquet_rows import parquet_lines
from streamgauge.lake.raw import MOST_LINE_LENGTH, decode, encode
from streamgauge.lake.row_mapping import RejectedRow, rfc3339_microseconds
from streamgauge.lake.schemas import TABLES
from tests.lake.random_records import records

WIDE = """\
mapping: 1
source: csv
set: {topology: wc, stream: default}
columns: {component: comp, task: task, source_component: from}
time: {column: ts, unit: s}
bucket_seconds: 10
metrics:
  n: {metric: executed, count: value}
  ms: {metric: execute_latency_sum, scale: 1000000, count: {column: n}}
"""
HEADER = "ts,comp,task,from,n,ms\n"
LONG = """\
mapping: 1
source: csv
set: {topology: wc}
columns: {component: comp, task: task, stream: stream}
time: {column: ts, unit: s}
bucket_seconds: 10
name: {column: name, ignore: [noise]}
value: value
metrics:
  out: {metric: emitted, count: {share: 0.05}}
"""


def lines(text, mapping=WIDE, **options):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(csv_lines([raw], parse_mapping(mapping), **options))


def sample(line):
    record = decode(line)
    assert not isinstance(record, Rejected), record
    assert encode(record).encode() == line
    return record


def row(cells, mapping=WIDE, header=HEADER):
    return lines(f"{header}{cells}\n", mapping)


def rejection(cells, mapping=WIDE, header=HEADER):
    (found,) = row(cells, mapping, header)
    assert isinstance(found, RejectedRow)
    assert found.raw == cells.encode()
    return found.reason, found.detail


def test_a_wide_row_gives_a_line_for_each_of_its_metrics():
    executed, busy = map(sample, row("100,splitter,3,spout,40,12.5"))
    assert (executed.metric, executed.value, executed.count) == ("executed", 40, 40)
    assert (busy.metric, busy.value, busy.count) == ("execute_latency_sum", 12_500_000, 40)
    assert (busy.component, busy.task, busy.source_component) == ("splitter", 3, "spout")
    assert (busy.topology, busy.stream) == ("wc", "default")
    assert (busy.bucket_start_us, busy.bucket_seconds) == (100_000_000, 10)


def test_an_empty_cell_is_no_value():
    assert [sample(line).metric for line in row("100,splitter,3,spout,40,")] == ["executed"]


def test_a_row_without_any_value_is_rejected_unless_it_may_be_skipped():
    assert rejection("100,splitter,3,spout,,") == (Reason.MISSING_KEY, "no value in n, ms")
    assert row("100,splitter,3,spout,,", WIDE + "skip_empty: true\n") == []


def test_a_bad_cell_rejects_the_row_once_and_keeps_the_lines_of_the_good_ones():
    good, bad = row("100,splitter,3,spout,40,much")
    assert sample(good).metric == "executed"
    assert (bad.reason, bad.raw) == (Reason.WRONG_TYPE, b"100,splitter,3,spout,40,much")
    assert bad.detail == "ms: 'much'; expected a number"


@pytest.mark.parametrize(
    ("cells", "reason", "detail"),
    [
        ("soon,splitter,3,spout,40,", Reason.BAD_TIME, "ts: 'soon'; expected a number of s"),
        (",splitter,3,spout,40,", Reason.MISSING_KEY, "no ts"),
        ("-1,splitter,3,spout,40,", Reason.BAD_TIME, "bucket_start_us: -1000000"),
        ("1e30,splitter,3,spout,40,", Reason.BAD_TIME, "bucket_start_us: 1000"),
        ("1e99,splitter,3,spout,40,", Reason.BAD_TIME, "ts: '1e99'"),
        ("100,splitter,x,spout,40,", Reason.WRONG_TYPE, "task: 'x'; expected a number"),
        ("100,splitter,1.5,spout,40,", Reason.WRONG_TYPE, "task: '1.5'; expected a whole"),
        ("100,splitter,1e9999,spout,40,", Reason.WRONG_TYPE, "task: '1e9999'"),
        ("100,splitter,,spout,40,", Reason.MISSING_KEY, "no task"),
        ("100,splitter,3,spout,NaN,", Reason.NOT_FINITE, "n: 'NaN'; expected a finite"),
        ("100,splitter,3,spout,-Inf,", Reason.NOT_FINITE, "n: '-Inf'"),
        ("100,splitter,3,spout,1e400,", Reason.OUT_OF_RANGE, "value: '1E+400'"),
        ("100,splitter,3,spout,-4,", Reason.NEGATIVE, "value: -4.0; expected at least 0"),
        ("100,splitter,3,spout,4.5,", Reason.INCONSISTENT, "value: 4.5; expected a whole"),
        ("100,splitter,3,spout,1_000,", Reason.WRONG_TYPE, "n: '1_000'"),
        ("100,splitter,3,spout,٣,", Reason.WRONG_TYPE, "n: '٣'"),
        ("100, splitter,3,spout,40,", Reason.BAD_NAME, "component: ' splitter'"),
        ("100,splitter,3,spout,40", Reason.INCONSISTENT, "5 fields; expected 6"),
        ("100,splitter,3,spout,40,,", Reason.INCONSISTENT, "7 fields; expected 6"),
        ('100,splitter,3,"spout"x,40,', Reason.INCONSISTENT, "not CSV: "),
    ],
)
def test_a_row_that_does_not_map_is_kept_as_it_came(cells, reason, detail):
    found = rejection(cells)
    assert found[0] is reason
    assert found[1].startswith(detail)


def test_values_that_are_no_numbers_are_skipped_only_when_told_so():
    assert row("100,splitter,3,spout,NaN,", WIDE + "skip_nan: true\n") == []


def test_scaling_is_exact_and_rounding_is_asked_for():
    # In doubles 1.001 ms would be 1000999.9999999999 ns.
    assert 1.001 * 1e6 != 1_001_000
    assert sample(row("100,a,3,b,1,1.001")[1]).value == 1_001_000
    third = WIDE.replace("scale: 1000000", "scale: 0.3333, round: true")
    assert sample(row("100,a,3,b,1,10", third)[1]).value == 3


def test_whole_numbers_may_be_written_with_a_point():
    assert sample(row("100,a,3.0,b,40.0,")[0]).task == 3


def test_a_long_row_is_told_by_its_name():
    header = "ts,comp,task,stream,name,value\n"
    (line,) = row("100,spout,1,default,out,60", LONG, header)
    # Three of sixty were looked at: one in twenty.
    assert (sample(line).metric, sample(line).value, sample(line).count) == ("emitted", 60, 3)
    assert row("100,spout,1,default,noise,60", LONG, header) == []
    assert rejection("100,spout,1,default,in,60", LONG, header) == (
        Reason.UNKNOWN_METRIC,
        "name: 'in'; expected a name under metrics",
    )


def test_a_count_that_is_a_share_is_at_least_one_where_anything_was_counted():
    header = "ts,comp,task,stream,name,value\n"
    counts = [
        sample(row(f"100,spout,1,default,out,{value}", LONG, header)[0]).count
        for value in (0, 1, 20, 1000)
    ]
    assert counts == [0, 1, 1, 50]


def test_templates_patterns_and_words_shape_what_a_column_says():
    mapping = """\
mapping: 1
source: csv
set: {topology: wc}
columns:
  component: comp
  executor: {template: "{comp}[{task}]"}
  worker: {template: "{host}:{port}"}
  queue: {column: q, match: "__(.+)", words: {sendqueue: send, transfer: transfer}}
time: {column: ts, unit: us}
bucket_seconds: {column: s}
metrics: {population: {metric: queue_population}}
"""
    header = "ts,s,comp,task,host,port,q,population\n"
    found = sample(row("7,0.5,spout,1,n1,6700,__sendqueue,2.5", mapping, header)[0])
    assert (found.executor, found.worker, found.queue) == ("spout[1]", "n1:6700", "send")
    assert (found.bucket_start_us, found.bucket_seconds) == (7, 0.5)
    # The queue of a worker has no executor, whatever the columns say.
    found = sample(row("7,0.5,spout,1,n1,6700,__transfer,2.5", mapping, header)[0])
    assert (found.executor, found.component, found.worker) == (None, None, "n1:6700")
    assert rejection("7,0.5,spout,1,n1,6700,queue,2.5", mapping, header)[0] is Reason.BAD_NAME
    assert rejection("7,0.5,spout,1,n1,6700,__x,2.5", mapping, header)[0] is Reason.UNKNOWN_WORD
    # Half of a name is none.
    assert rejection("7,0.5,,1,n1,6700,__sendqueue,2.5", mapping, header) == (
        Reason.MISSING_KEY,
        "no component, executor, which queue_population needs",
    )


@pytest.mark.parametrize(
    ("unit", "text", "start_us"),
    [
        ("ns", "1999", 1),
        ("us", "2", 2),
        ("ms", "1.5", 1_500),
        ("s", "1767225600.1234567", 1_767_225_600_123_456),
        ("rfc3339", "2026-01-01T00:00:00.1234567Z", 1_767_225_600_123_456),
        ("rfc3339", "2026-01-01 02:00:00+02:00", 1_767_225_600_000_000),
        ("rfc3339", "2025-12-31t19:30:00-04:30", 1_767_225_600_000_000),
    ],
)
def test_times_of_all_units_become_microseconds(unit, text, start_us):
    mapping = WIDE.replace("unit: s", f"unit: {unit}")
    assert sample(row(f"{text},a,3,b,1,", mapping)[0]).bucket_start_us == start_us


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "2026-01-01", "20260101T000000Z", "now", ""],
)
def test_a_time_without_its_zone_or_day_is_none(text):
    assert rfc3339_microseconds(text) is None


def test_rfc3339_agrees_with_the_standard_library():
    drawn = random.Random(1)
    for _ in range(200):
        moment = datetime.fromtimestamp(drawn.randrange(4_000_000_000), UTC)
        moment = moment.replace(microsecond=drawn.randrange(1_000_000))
        expected = round(moment.timestamp() * 1_000_000)
        assert rfc3339_microseconds(moment.isoformat()) == expected


def test_a_time_that_marks_the_end_lies_a_bucket_later():
    mapping = WIDE.replace("unit: s", "unit: s, marks: end")
    assert sample(row("100,a,3,b,1,", mapping)[0]).bucket_start_us == 90_000_000


def test_quotes_line_ends_and_the_mark_before_utf8_are_understood():
    text = b'\xef\xbb\xbfts,comp,task,from,n,ms\r\n\r\n100,"say ""hi"", you",3,"spout",40,\r\n\n'
    (line,) = lines(text)
    assert sample(line).component == 'say "hi", you'


def test_a_line_end_in_quotes_is_part_of_the_field():
    (found,) = lines(HEADER + '100,"two\nlines",3,spout,40,\n')
    assert (found.reason, found.raw) == (Reason.BAD_NAME, b'100,"two\nlines",3,spout,40,')


def test_bytes_that_are_not_utf8_reject_their_row_only():
    bad, good = lines(HEADER.encode() + b"100,caf\xe9,3,spout,40,\n100,caf\xc3\xa9,3,spout,40,\n")
    assert (bad.reason, bad.raw) == (Reason.NOT_UTF8, b"100,caf\xe9,3,spout,40,")
    assert sample(good).component == "café"


@pytest.mark.parametrize("after", [1, 5_000])
def test_a_quote_that_is_never_closed_costs_its_own_line_only(after):
    rows = "".join(f"{index},a,3,b,1,\n" for index in range(after))
    bad, *good = lines(f'{HEADER}100,"splitter,3,spout,40,\n{rows}')
    assert bad.raw == b'100,"splitter,3,spout,40,'
    assert [sample(line).bucket_start_us for line in good] == [n * 10**6 for n in range(after)]


def test_a_line_beyond_the_bound_is_cut_and_rejected():
    long, good = lines(f"{HEADER}100,{'x' * 99},3,b,1,\n100,a,3,b,1,\n", most_length=50)
    assert (long.reason, len(long.raw)) == (Reason.TOO_LONG, 50)
    assert long.detail == "a row of 111 bytes; expected at most 50"
    assert sample(good).component == "a"
    assert MOST_LINE_LENGTH == 16 * 2**20


def test_a_field_beyond_the_bound_is_rejected():
    (found,) = row(f"100,{'x' * 200_000},3,b,1,")
    assert found.reason is Reason.TOO_LONG


def test_columns_may_be_named_by_the_mapping():
    mapping = WIDE + "header: [ts, comp, task, from, n, ms]\ndelimiter: ';'\n"
    (line,) = lines("100;a;3;b;1;\n", mapping)
    assert sample(line).component == "a"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("ts,comp,task,from,n", "rows.csv: no column 'ms'; expected every column"),
        ("ts,comp,task,from,n,ms,host", "rows.csv: host: a column without a rule; expected a rule"),
        ("ts,ts,comp,task,from,n,ms", "rows.csv: ts: a column twice; expected each column once"),
        ("", "rows.csv: an empty file; expected a header line with the names of columns"),
        ('"ts', "rows.csv: inconsistent: not CSV: unexpected end of data"),
    ],
)
def test_a_file_with_other_columns_is_refused(header, said):
    with pytest.raises(InvalidInput) as caught:
        lines(header, name="rows.csv")
    assert str(caught.value).startswith(said)


cells = st.text(st.sampled_from('a1,"\n\r ;é'), max_size=6)


@given(rows=st.lists(st.lists(cells, min_size=2, max_size=2)), cut=st.integers(1, 9))
def test_what_csv_programs_write_is_read_back_however_it_is_cut(rows, cut):
    # Python's own writer is the truth; both cells of a row must come out, whatever is in them.
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["ts", "n"], *rows])
    raw = written.getvalue().encode()
    mapping = parse_mapping(
        "{mapping: 1, source: csv, set: {topology: t, worker: w}, time: {column: ts, unit: s},"
        " bucket_seconds: 1, metrics: {n: {metric: heap_used}}}"
    )
    pieces = [raw[start : start + cut] for start in range(0, len(raw), cut)]
    found = [one.raw if isinstance(one, RejectedRow) else one for one in csv_lines(pieces, mapping)]
    kept = []
    for one in rows:
        text = io.StringIO()
        csv.writer(text, lineterminator="", quoting=csv.QUOTE_ALL).writerow(one)
        kept.append(text.getvalue().encode())
    fine = [n for n, one in enumerate(rows) if all(re.fullmatch("1+", c.strip()) for c in one)]
    assert [one for index, one in enumerate(found) if index not in fine] == [
        one for index, one in enumerate(kept) if index not in fine
    ]


@given(raw=st.binary(max_size=200))
def test_no_bytes_break_the_reader(raw):
    for one in csv_lines([HEADER.encode(), raw], parse_mapping(WIDE)):
        assert isinstance(one, RejectedRow) or sample(one)


def test_the_examples_of_csv_mappings_read_the_rows_in_their_comments(project):
    for name, metrics in (
        ("csv-wide.yaml", ["executed", "execute_latency_sum", "queue_population"]),
        ("csv-long.yaml", ["executed"]),
    ):
        path = project / "examples/mappings" / name
        comments = [line[4:] for line in path.read_text().splitlines() if line[:4] == "#   "]
        found = list(csv_lines([("\n".join(comments) + "\n").encode()], load_mapping(path)))
        assert [sample(line).metric for line in found] == metrics


def table_of(kind):
    return {"sample": "samples", "plan": "plans", "trace": "traces", "link": "links"}.get(
        kind, "events"
    )


def parquet(found, table, *, unit="us"):
    """Records in a Parquet file, by way of their lines: not by the code that reads them."""
    schema = TABLES[table].schema
    dropped = {"received_at", "file", "date"}
    fields = [
        pa.field(field.name, pa.timestamp(unit, "UTC"))
        if pa.types.is_timestamp(field.type)
        else field
        for field in schema
        if field.name not in dropped
    ]
    rows = []
    for record in found:
        plain = json.loads(encode(record))
        rows.append({f.name: plain.get(f.name, plain.get(f"{f.name}_us")) for f in fields})
    stretch = 1_000 if unit == "ns" else 1
    for one in rows:
        for f in fields:
            if pa.types.is_timestamp(f.type) and one[f.name] is not None:
                one[f.name] *= stretch
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), sink)
    return sink


@given(found=st.lists(records, min_size=1, max_size=4))
def test_a_parquet_file_of_a_table_gives_the_lines_of_its_records(found):
    for table in {table_of(record.type) for record in found}:
        mine = [record for record in found if table_of(record.type) == table]
        expected = [encode(record).encode() for record in mine]
        assert list(parquet_lines(parquet(mine, table), batch_rows=2)) == expected


BASE = {
    "topology": ["wc"],
    "component": ["a"],
    "task": [3],
    "metric": ["roots_pending"],
    "bucket_start": [datetime(2026, 1, 1, tzinfo=UTC)],
    "bucket_seconds": [10.0],
    "value": [2.5],
    "count": [1],
}


def written(columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_all_units_are_taken(unit):
    moment = pa.array(BASE["bucket_start"], pa.timestamp(unit, "Europe/Berlin"))
    (line,) = parquet_lines(written(BASE | {"bucket_start": moment}))
    assert sample(line).bucket_start_us == 1_767_225_600_000_000


def test_what_the_lake_adds_is_left_aside_and_what_may_be_missing_may_be():
    (line,) = parquet_lines(written(BASE | {"file": ["x"], "executor": pa.nulls(1)}))
    assert sample(line).value == 2.5
    assert sample(line).cluster is None


def test_a_parquet_row_that_no_receiver_takes_is_rejected_as_a_line():
    columns = BASE | {"value": [math.nan]}
    (found,) = parquet_lines(written(columns))
    assert found.reason is Reason.NOT_FINITE
    assert decode(found.raw) == Rejected(found.reason, found.detail)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (BASE | {"host": ["n"]}, "f: host: an unknown column; expected columns of the table"),
        ({k: v for k, v in BASE.items() if k != "count"}, "f: no column count; expected all"),
        (BASE | {"task": ["3"]}, "f: task: type string; expected whole numbers"),
        (BASE | {"task": [3.0]}, "f: task: type double; expected whole numbers"),
        (BASE | {"value": ["x"]}, "f: value: type string; expected numbers"),
        (BASE | {"metric": [1]}, "f: metric: type int64; expected texts"),
        (BASE | {"bucket_start": [datetime(2026, 1, 1)]}, "f: bucket_start: type timestamp[us]"),
        ({"a": [1]}, "f: columns a; expected those of one table of the lake"),
        ({"hops": [[1]]}, "f: no column topology"),
    ],
)
def test_a_parquet_file_with_other_columns_is_refused(columns, said):
    with pytest.raises(InvalidInput) as caught:
        list(parquet_lines(written(columns), name="f"))
    assert str(caught.value).startswith(said)


def test_a_file_that_is_no_parquet_file_is_unreadable(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no, it is not")
    with pytest.raises(UnreadableFile, match="expected a Parquet file"):
        list(parquet_lines(str(tmp_path / "x.parquet")))


def test_a_parquet_file_with_a_mapping_is_read_as_rows():
    mapping = parse_mapping(
        "{mapping: 1, source: parquet, set: {topology: wc}, columns: {worker: w},"
        " time: {column: at, unit: rfc3339, marks: end}, bucket_seconds: 10,"
        " metrics: {heap: {metric: heap_used}, busy: {metric: worker_cores}}}"
    )
    columns = {
        "w": ["n:1", "n:2", None],
        "at": pa.array([10, 20, 30], pa.timestamp("s", "UTC")),
        "heap": [7, None, 9],
        "busy": [0.5, math.nan, None],
    }
    first, second, third, fourth = parquet_lines(written(columns), mapping)
    assert (sample(first).value, sample(first).bucket_start_us) == (7, 0)
    assert sample(second).value == 0.5
    assert (third.reason, json.loads(third.raw)["w"]) == (Reason.NOT_FINITE, "n:2")
    assert fourth.reason is Reason.MISSING_KEY
    with pytest.raises(InvalidInput, match="no column 'heap'"):
        list(parquet_lines(written({"w": ["n"]}), mapping))
