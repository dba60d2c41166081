"""Lines in quarantine are found in their files."""

import gzip

import pytest

from streamgauge.lake.line_blocks import KEPT_BYTES
from streamgauge.lake.quarantine import MOST_PLACES, Quarantined, locate
from streamgauge.lake.raw import MOST_LINE_LENGTH, encode
from streamgauge.lake.records import Event
from tests.lake.small_lakes import NOON


def line(file, raw: bytes, reason: str = "not-json") -> Quarantined:
    return Quarantined(file=str(file), reason=reason, detail="d", received_at=NOON, raw=raw)


def found(*lines):
    return [(one.numbers, one.times) for one in locate(lines)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_are_counted_from_one(tmp_path, name):
    file = tmp_path / name
    content = b"first\n\nbad\n\xff\nlast"
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    lines = [line(file, raw) for raw in (b"bad", b"\xff", b"", b"last")]
    assert found(*lines) == [((3,), 1), ((4,), 1), ((2,), 1), ((5,), 1)]


def test_a_line_that_stands_there_often_has_its_first_places(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"bad\n" * 50)
    assert found(line(file, b"bad")) == [(tuple(range(1, MOST_PLACES + 1)), 50)]


def test_a_line_is_looked_for_in_its_own_file_only(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(f"{name}\nbad\n".encode())
    assert found(line(tmp_path / "b.jsonl", b"a.jsonl")) == [((), 0)]


def test_a_line_that_gave_way_is_found_however_it_was_written(tmp_path):
    event = Event(topology="words", happened_at_us=1_767_225_600_000_000, kind="start")
    kept = encode(event).encode()
    came = b'{"v": 1, "kind": "start", "happened_at_us": 1767225600000000,'
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"bad\n" + came + b' "topology": "words", "type": "event"}\n')
    assert found(line(file, kept, reason="superseded")) == [((2,), 1)]
    assert found(line(file, kept)) == [((), 0)]


@pytest.mark.parametrize("spare", [1, 5 * 2**20])
def test_a_line_that_was_cut_is_found_by_its_beginning(tmp_path, spare):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"short\n" + b"x" * (MOST_LINE_LENGTH + spare) + b"\nshort\n")
    assert found(line(file, b"x" * KEPT_BYTES, reason="too-long")) == [((2,), 1)]


def test_a_file_that_is_gone_or_damaged_is_said_to_be(tmp_path):
    damaged = tmp_path / "b.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"bad\nlast\n")[:-12])
    gone, cut = locate([line(tmp_path / "a.jsonl", b"bad"), line(damaged, b"nowhere")])
    assert (gone.times, cut.times) == (0, 0)
    assert "No such file" in gone.fault
    assert "EOFError" in cut.fault
