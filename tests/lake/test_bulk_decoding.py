"""Blocks of lines give what decoding line by line gives, whatever they hold."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.lake import bulk_decoding
from streamgauge.lake.bulk_decoding import parse, records_of, table_of
from streamgauge.lake.field_rules import Rejected
from streamgauge.lake.line_blocks import LineBlock
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import Sample, ungroup
from streamgauge.lake.schemas import SAMPLES
from tests.lake.random_records import groups, records, samples

GOOD = {
    "type": "sample",
    "v": 1,
    "topology": "t",
    "component": "a",
    "task": 3,
    "metric": "executed",
    "stream": "default",
    "source_component": "s",
    "bucket_start_us": 1_767_225_600_000_000,
    "bucket_seconds": 10,
    "value": 5,
    "count": 5,
}


def line(**changes):
    return json.dumps(GOOD | changes).encode()


def outcome(lines):
    """Samples, other records and rejections of a block, as sets with how often each came."""
    parsed = parse(lines)
    found = [encode(one) for table, _ in parsed.samples for one in records_of("samples", table)]
    found += [encode(record) for record, _ in parsed.records]
    return sorted(found), sorted((str(one), raw) for one, raw in parsed.rejected)


def one_by_one(lines):
    decoded = [(decode(raw), raw) for raw in lines]
    taken = [one for one, _ in decoded if not isinstance(one, Rejected)]
    good = [encode(one) for one in ungroup(taken)]
    return sorted(good), sorted((str(one), r) for one, r in decoded if isinstance(one, Rejected))


@given(st.lists(samples().map(lambda one: encode(one).encode()), max_size=8))
def test_good_samples_are_read_as_they_were_written(lines):
    assert outcome(lines) == (sorted(one.decode() for one in lines), [])


@given(samples())
def test_the_fast_way_takes_every_sample_that_receivers_take(sample):
    assert bulk_decoding._fast(LineBlock(encode(sample).encode())) is not None


@given(groups())
def test_the_fast_way_takes_every_group_that_receivers_take(group):
    table, _ = bulk_decoding._fast(LineBlock(encode(group).encode()))
    assert tuple(records_of("samples", table)) == group.samples


@settings(max_examples=300)
@given(st.data())
def test_damaged_lines_come_to_the_same_as_one_by_one(data):
    """The fuzz test of the reader: bytes are changed, taken out and put in at random."""
    lines = []
    for record in data.draw(st.lists(records | groups(), min_size=1, max_size=5)):
        raw = bytearray(encode(record).encode())
        for _ in range(data.draw(st.integers(0, 3))):
            place = data.draw(st.integers(0, len(raw)))
            raw[place : place + data.draw(st.integers(0, 3))] = data.draw(
                st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"}", b",", b"1e9", b"null"])
            )
        lines.append(bytes(raw).replace(b"\n", b" "))
    assert outcome(lines) == one_by_one(lines)


@pytest.mark.parametrize(
    "lines",
    [
        [line(), line(metric="no-such")],
        [line(), b"", line()],
        [line(), b"   "],
        [line() + b" " + line()],
        [line() + line(), b""],
        [b"\xef\xbb\xbf" + line()],
        [line()[:-1] + b',"v":1}'],
        [line(extra=1)],
        [line(count=5.0)],
        [line(count=True)],
        [line(value="5")],
        [line(value=-1)],
        [line(value=5.5)],
        [line(value=4)],
        [line(value=5, count=0)],
        [line(topology="")],
        [line(topology="\ud800")],
        [line(topology="\u0000")],
        [line(topology=None)],
        [line(node="n", machine="m")],
        [line(queue="receive")],
        [line(task=2**31)],
        [line(bucket_seconds=0)],
        [line(bucket_seconds=1e9)],
        [line(bucket_start_us=-1)],
        [line(v=2), line()],
        [line(type="plan")],
        [line().replace(b'"value": 5', b'"value": NaN')],
        [line().replace(b'"value": 5', b'"value": 1e400')],
        [line().replace(b'"value": 5', b'"value": -0.0').replace(b'"count": 5', b'"count": 0')],
        [line().replace(b'"a"', b'"\xff"')],
        [line() + b"\r", b"\r"],
        [b'"sample"', b"sample", b"[]", b"{}", b'{"type":"sample"}'],
    ],
)
def test_odd_lines_come_to_the_same_as_one_by_one(lines):
    assert outcome(lines) == one_by_one(lines)
    around = [line(task=n) for n in range(5)]
    assert outcome([*around, *lines, *around]) == one_by_one([*around, *lines, *around])


SUBJECT = {key: GOOD[key] for key in ("topology", "component", "task", "bucket_start_us")}
SUBJECT |= {"v": 2, "bucket_seconds": 10, "stream": "s", "source_component": "a"}


def samples_line(**changes):
    found = {"type": "samples", **SUBJECT, "metrics": ["executed", "acked"], "values": [5, 4]}
    return json.dumps(found | changes).encode()


def histogram_line(**changes):
    found = {"type": "histogram", **SUBJECT, "metric": "execute_cpu_bin", "bins": [3, 9]}
    return json.dumps(found | {"values": [5, 4]} | changes).encode()


@pytest.mark.parametrize(
    "raw",
    [
        samples_line(),
        samples_line(counts=[5, 2]),
        samples_line(values=[0, -0.0]),
        histogram_line(),
        histogram_line(counts=None),
        histogram_line(counts=[1, 1]),
    ],
)
def test_a_line_of_several_samples_gives_each_of_them(raw):
    found, refused = outcome([raw, line(), raw])
    assert (len(found), refused) == (5, [])
    assert (found, refused) == one_by_one([raw, line(), raw])


@pytest.mark.parametrize(
    "raw",
    [
        samples_line(v=1),
        samples_line(metrics=["executed", "executed"]),
        samples_line(metrics=["executed"]),
        samples_line(metrics=[]),
        samples_line(metrics="executed"),
        samples_line(metrics=["executed", None]),
        samples_line(metrics=["executed", "execute_cpu_bin"]),
        samples_line(metrics=None),
        samples_line(metric="executed"),
        samples_line(bins=[1, 2]),
        samples_line(values=[5, 4.5]),
        samples_line(values=[5, -4]),
        samples_line(values=[5, "4"]),
        samples_line(values=[]),
        samples_line(counts=[5]),
        samples_line(counts=[6, 4]),
        samples_line(counts=[5, None]),
        samples_line(counts=[5.0, 4]),
        samples_line(value=5),
        samples_line(queue="receive"),
        histogram_line(bins=[9, 3]),
        histogram_line(bins=[3, 3]),
        histogram_line(bins=[3, 513]),
        histogram_line(bins=None),
        histogram_line(bin=3),
        histogram_line(metric="executed"),
        histogram_line(metrics=["execute_cpu_bin", "execute_cpu_bin"]),
        histogram_line(values=[[5], [4]]),
    ],
)
def test_a_broken_line_of_several_samples_is_refused_as_a_whole(raw):
    found, refused = outcome([samples_line(), raw, histogram_line()])
    assert len(found) == 4
    assert [one for _, one in refused] == [raw]
    assert (found, refused) == one_by_one([samples_line(), raw, histogram_line()])


def test_one_bad_line_does_not_make_others_slow(monkeypatch):
    lines = [line(task=n) for n in range(4096)]
    lines[1000] = line(metric="no-such")
    slow = []
    real = bulk_decoding.decode
    monkeypatch.setattr(bulk_decoding, "decode", lambda raw: slow.append(raw) or real(raw))
    parsed = parse(lines)
    assert len(slow) <= bulk_decoding.FEW_LINES
    assert sum(len(table) for table, _ in parsed.samples) == 4095
    assert [raw for _, raw in parsed.rejected] == [lines[1000]]


def test_lines_stay_beside_their_samples():
    lines = [line(task=n) for n in range(3)]
    ((table, its_lines),) = parse(lines).samples
    tasks = [json.loads(raw)["task"] for raw in its_lines]
    assert table["task"].to_pylist() == tasks


@given(st.lists(samples(), min_size=1, max_size=5))
def test_tables_give_back_their_records(some):
    assert list(records_of("samples", table_of(SAMPLES, some))) == some


def test_a_sample_is_in_the_lake_s_columns():
    ((table, _),) = parse([line()]).samples
    assert table.schema == bulk_decoding.columns_of(SAMPLES)
    assert isinstance(next(records_of("samples", table)), Sample)
