import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.lake.field_rules import MOST_WHOLE
from streamgauge.lake.metrics import Metric
from streamgauge.lake.raw import Event, Link, Plan, Reason, Rejected, Sample, Trace, decode, encode
from streamgauge.lake.record_types import HOP, PLACED_EXECUTOR, SHAPES
from tests.lake.random_records import records, samples

SAMPLE = {
    "type": "sample",
    "v": 1,
    "topology": "word-count",
    "component": "splitter",
    "task": 3,
    "metric": "executed",
    "stream": "default",
    "source_component": "sentences",
    "bucket_start_us": 1_767_225_600_000_000,
    "bucket_seconds": 10,
    "value": 40,
    "count": 2,
}
LINK = {
    "type": "link",
    "v": 1,
    "source_node": "a",
    "target_node": "b",
    "kind": "round-trip",
    "measured_at_us": 5,
    "sent": 2,
    "received": 1,
    "least_ns": 1,
    "mean_ns": 2,
    "most_ns": 3,
}
HOPS = [
    {"component": "s", "task": 1, "arrived_ns": 0, "started_ns": 0, "finished_ns": 0},
    {
        "component": "b",
        "task": 2,
        "stream": "x",
        "arrived_ns": 5,
        "started_ns": 6,
        "finished_ns": 7,
    },
]
TRACE = {
    "type": "trace",
    "v": 1,
    "topology": "t",
    "root": "r",
    "path": 0,
    "started_at_us": 1,
    "hops": HOPS,
    "latency_ns": 7,
    "outcome": "arrived",
}
EXECUTOR = {"component": "s", "first_task": 1, "last_task": 2, "worker": "n:1", "node": "n"}
PLAN = {
    "type": "plan",
    "v": 1,
    "topology": "t",
    "plan_id": "p",
    "engine": "storm-2",
    "valid_from_us": 1,
    "document": "{}",
    "executors": [EXECUTOR],
}
EVENT = {"type": "event", "v": 1, "topology": "t", "happened_at_us": 1, "kind": "start"}
ALL = (SAMPLE, LINK, TRACE, PLAN, EVENT)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def reason(line):
    found = decode(line if isinstance(line, str | bytes) else json.dumps(line))
    return found.reason if isinstance(found, Rejected) else None


@given(records)
def test_decode_gives_back_what_encode_was_given(record):
    line = encode(record)
    assert decode(line) == decode(line.encode()) == record


@given(records)
def test_a_line_is_ascii_without_blanks_and_always_the_same(record):
    line = encode(record)
    assert line.isascii()
    assert line.splitlines() == [line]
    assert encode(decode(line)) == line
    keys = list(json.loads(line))
    assert keys[:2] == ["type", "v"]
    assert keys[2:] == [key for key in SHAPES[record.type].checks if key in keys]


@given(records, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(record, random):
    pairs = list(json.loads(encode(record)).items())
    random.shuffle(pairs)
    assert decode(json.dumps(dict(pairs), indent=1)) == record


@given(samples())
def test_null_is_the_same_as_leaving_out(sample):
    assert decode(json.dumps({"type": "sample", "v": 1, **dataclasses.asdict(sample)})) == sample


@given(st.text() | st.binary())
def test_no_text_and_no_bytes_make_decode_raise(line):
    assert isinstance(decode(line), Rejected)


@given(st.sampled_from(ALL), st.data())
def test_no_value_in_any_place_makes_decode_raise(good, data):
    key = data.draw(st.sampled_from([*good, "surplus"]))
    found = decode(json.dumps({**good, key: data.draw(json_values)}))
    if not isinstance(found, Rejected):
        assert decode(encode(found)) == found


@given(records, st.data())
def test_a_damaged_line_is_a_record_or_rejected(record, data):
    line = encode(record).encode()
    cut = data.draw(st.integers(0, len(line)))
    middle = data.draw(st.binary(max_size=3))
    found = decode(line[:cut] + middle + line[cut + data.draw(st.integers(0, 3)) :])
    assert isinstance(found, Rejected | Sample | Plan | Trace | Link | Event)


@given(st.data())
def test_what_encode_writes_is_taken(data):
    sample = data.draw(samples())
    field = data.draw(st.sampled_from(dataclasses.fields(Sample))).name
    changed = dataclasses.replace(sample, **{field: data.draw(json_values)})
    try:
        line = encode(changed)
    except InvalidInput:
        return
    assert encode(decode(line)) == line


@pytest.mark.parametrize("good", ALL, ids=[one["type"] for one in ALL])
def test_the_examples_of_this_file_are_fine(good):
    assert reason(good) is None


@pytest.mark.parametrize("good", ALL, ids=[one["type"] for one in ALL])
def test_every_required_key_is_missed(good):
    shape = SHAPES[good["type"]]
    for key in {*shape.required, "v"}:
        assert reason({k: v for k, v in good.items() if k != key}) is Reason.MISSING_KEY
    assert reason({**good, "surplus": 1}) is Reason.UNKNOWN_KEY


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"v": 2}, Reason.UNKNOWN_VERSION),
        ({"v": True}, Reason.UNKNOWN_VERSION),
        ({"v": "1"}, Reason.UNKNOWN_VERSION),
        ({"v": 0, "type": "no"}, Reason.UNKNOWN_VERSION),
        ({"type": "no"}, Reason.UNKNOWN_TYPE),
        ({"type": ["sample"]}, Reason.UNKNOWN_TYPE),
        ({"metric": "exekuted"}, Reason.UNKNOWN_METRIC),
        ({"metric": 3}, Reason.WRONG_TYPE),
        ({"value": -1}, Reason.NEGATIVE),
        ({"count": -1}, Reason.NEGATIVE),
        ({"value": "40"}, Reason.WRONG_TYPE),
        ({"value": True}, Reason.WRONG_TYPE),
        ({"value": 40.5}, Reason.INCONSISTENT),
        ({"value": 10**400}, Reason.NOT_FINITE),
        ({"value": 1, "count": 2}, Reason.INCONSISTENT),
        ({"value": 1, "count": 0}, Reason.INCONSISTENT),
        ({"count": 2.0}, Reason.WRONG_TYPE),
        ({"count": MOST_WHOLE + 1}, Reason.OUT_OF_RANGE),
        ({"bucket_start_us": -1}, Reason.BAD_TIME),
        ({"bucket_start_us": 1.5}, Reason.BAD_TIME),
        ({"bucket_start_us": "2026-01-01T00:00:00"}, Reason.BAD_TIME),
        ({"bucket_start_us": 1_767_225_600_000_000_000}, Reason.BAD_TIME),
        ({"bucket_seconds": 0}, Reason.OUT_OF_RANGE),
        ({"bucket_seconds": -10}, Reason.NEGATIVE),
        ({"bucket_seconds": 86_401}, Reason.OUT_OF_RANGE),
        ({"topology": ""}, Reason.BAD_NAME),
        ({"topology": " x"}, Reason.BAD_NAME),
        ({"topology": "\ud800"}, Reason.BAD_NAME),
        ({"topology": 7}, Reason.WRONG_TYPE),
        ({"task": 2**31}, Reason.OUT_OF_RANGE),
        ({"task": -1}, Reason.NEGATIVE),
        ({"bin": 1}, Reason.MISPLACED_KEY),
        ({"queue": "receive"}, Reason.MISPLACED_KEY),
        ({"queue": "other"}, Reason.UNKNOWN_WORD),
        ({"stream": None}, Reason.MISSING_KEY),
        ({"metric": "execute_latency_bin"}, Reason.MISSING_KEY),
        ({"metric": "execute_latency_bin", "bin": 513}, Reason.OUT_OF_RANGE),
        ({"metric": "machine_cpu"}, Reason.MISSING_KEY),
    ],
)
def test_a_sample_is_rejected_for(change, expected):
    assert reason({**SAMPLE, **change}) is expected


@pytest.mark.parametrize(
    ("good", "change", "expected"),
    [
        (LINK, {"received": 3}, Reason.INCONSISTENT),
        (LINK, {"received": 0}, Reason.INCONSISTENT),
        (LINK, {"sent": 0, "received": 0}, Reason.OUT_OF_RANGE),
        (LINK, {"mean_ns": None}, Reason.INCONSISTENT),
        (LINK, {"mean_ns": 9}, Reason.INCONSISTENT),
        (LINK, {"least_ns": -1}, Reason.NEGATIVE),
        (LINK, {"least_ns": -1, "kind": "one-way"}, None),
        (LINK, {"kind": "ping"}, Reason.UNKNOWN_WORD),
        (TRACE, {"hops": []}, Reason.WRONG_TYPE),
        (TRACE, {"hops": [3]}, Reason.WRONG_TYPE),
        (TRACE, {"hops": HOPS[:1]}, None),
        (TRACE, {"hops": HOPS[1:]}, Reason.MISPLACED_KEY),
        (TRACE, {"hops": [HOPS[0], HOPS[0]]}, Reason.MISSING_KEY),
        (TRACE, {"hops": [{**HOPS[0], "arrived_ns": 1}]}, Reason.INCONSISTENT),
        (TRACE, {"hops": [{**HOPS[0], "extra": 1}]}, Reason.UNKNOWN_KEY),
        (TRACE, {"hops": [{**HOPS[0], "key": "\ud800"}]}, Reason.NOT_UTF8),
        (TRACE, {"latency_ns": -7}, None),
        (TRACE, {"complete_latency_ns": -7}, Reason.NEGATIVE),
        (TRACE, {"outcome": "lost"}, Reason.UNKNOWN_WORD),
        (PLAN, {"valid_to_us": 1}, Reason.INCONSISTENT),
        (PLAN, {"valid_to_us": 2}, None),
        (PLAN, {"document": " "}, Reason.INCONSISTENT),
        (PLAN, {"executors": [{**EXECUTOR, "last_task": 0}]}, Reason.INCONSISTENT),
        (PLAN, {"executors": [{**EXECUTOR, "node": None}]}, Reason.MISSING_KEY),
        (EVENT, {"topology": None}, Reason.MISSING_KEY),
        (EVENT, {"topology": None, "node": "n"}, None),
        (EVENT, {"kind": "step-begin"}, Reason.MISSING_KEY),
        (EVENT, {"kind": "step-begin", "name": "one"}, None),
        (EVENT, {"kind": "explosion"}, Reason.UNKNOWN_WORD),
    ],
)
def test_other_records_are_rejected_for(good, change, expected):
    assert reason({**good, **change}) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", Reason.NOT_JSON),
        ("{", Reason.NOT_JSON),
        ("\ufeff{}", Reason.NOT_JSON),
        ("[" * 100_000, Reason.NOT_JSON),
        ('{"v":' + "9" * 5000 + "}", Reason.NOT_JSON),
        (b"\xff{}", Reason.NOT_UTF8),
        ("[1]", Reason.NOT_AN_OBJECT),
        ("null", Reason.NOT_AN_OBJECT),
        ("{}", Reason.MISSING_KEY),
        ('{"v":1,"v":1}', Reason.DUPLICATE_KEY),
        ('{"v":1,"v":null}', Reason.DUPLICATE_KEY),
        ('{"v":1,"value":NaN}', Reason.NOT_FINITE),
        ('{"v":1,"value":-Infinity}', Reason.NOT_FINITE),
        (json.dumps(SAMPLE).replace("40", "1e999"), Reason.NOT_FINITE),
        (" " * (16 * 2**20 + 1), Reason.TOO_LONG),
    ],
)
def test_a_line_is_rejected_for(line, expected):
    assert reason(line) is expected


def test_a_rejection_says_what_was_seen_and_expected():
    found = decode(json.dumps({**SAMPLE, "count": -1}))
    assert str(found) == f"negative: count: -1; expected a whole number from 0 to {MOST_WHOLE}"


def test_encode_refuses_what_receivers_reject():
    good = decode(json.dumps(SAMPLE))
    with pytest.raises(InvalidInput, match="not-finite"):
        encode(dataclasses.replace(good, value=float("nan")))


def test_floats_keep_their_last_digit():
    sample = Sample(
        topology="t",
        component="c",
        task=1,
        metric=Metric.ROOTS_PENDING.label,
        bucket_start_us=0,
        bucket_seconds=0.1 + 0.2,
        value=0.1 + 0.2,
        count=1,
    )
    assert '"value":0.30000000000000004,' in encode(sample)
    assert decode(encode(sample)) == sample


def test_minus_zero_is_zero():
    text = json.dumps({**SAMPLE, "value": -0.0, "count": 0})
    assert str(decode(text).value) == "0.0"


def test_queues_of_executors_and_of_workers_are_named_by_their_owner():
    queue = {
        key: SAMPLE[key] for key in ("type", "v", "topology", "bucket_start_us", "bucket_seconds")
    } | {"metric": "queue_population", "value": 2.5, "count": 4}
    of_executor = {"component": "splitter", "executor": "splitter[3]"}
    assert reason({**queue, "queue": "receive", **of_executor}) is None
    assert reason({**queue, "queue": "receive", "worker": "n:1"}) is Reason.MISSING_KEY
    assert reason({**queue, "queue": "transfer", "worker": "n:1"}) is None
    surplus = {**queue, "queue": "transfer", "worker": "n:1", **of_executor}
    assert reason(surplus) is Reason.MISPLACED_KEY


def test_parts_are_checked_by_shapes_of_their_own():
    assert "stream" not in HOP.required
    assert PLACED_EXECUTOR.required == set(EXECUTOR)
