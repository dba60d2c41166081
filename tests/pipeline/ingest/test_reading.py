"""What a worker makes of its part of the input, without Spark."""

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.lake.bulk_decoding import records_of
from streamgauge.lake.field_rules import Rejected
from streamgauge.lake.raw import decode, encode
from streamgauge.pipeline.ingest.listing import InputFile
from streamgauge.pipeline.ingest.reading import PARTS, STAGED, read_part, rows_of, typed_rows
from tests.lake.random_records import records
from tests.pipeline.ingest.deliveries import RECEIVED, line

LATER = datetime(2255, 6, 1, tzinfo=UTC)


def table_of(batches):
    return pa.Table.from_batches(list(batches), schema=STAGED)


def counts(table):
    return Counter(table["table"].to_pylist())


@given(st.lists(records.map(lambda one: encode(one).encode()) | st.binary(max_size=20), max_size=6))
def test_every_line_is_a_row_somewhere(lines):
    staged = table_of(rows_of(lines, LATER, "f"))
    assert len(staged) == len(lines)
    bad = sum(isinstance(decode(raw), Rejected) for raw in lines)
    assert counts(staged)["quarantine"] >= bad
    # What is not taken is kept byte by byte.
    kept = staged.filter(pa.compute.equal(staged["table"], "quarantine"))["line"].to_pylist()
    assert not Counter(kept) - Counter(lines)


def test_a_time_after_the_receipt_is_refused_as_it_came():
    odd = line(1, 5).replace(b":1,", b": 1,")
    staged = table_of(rows_of([odd, line(2, 5)], datetime(2025, 1, 1, tzinfo=UTC), "f"))
    assert staged["reason"].to_pylist() == ["after-receipt"] * 2
    assert sorted(staged["line"].to_pylist()) == sorted([odd, line(2, 5)])


def test_records_other_than_samples_come_back_from_their_lines():
    raw = b'{"type":"event","v":1,"topology":"t","happened_at_us":1767225600000000,"kind":"start"}'
    staged = table_of(rows_of([raw], RECEIVED, "f"))
    assert staged["table"].to_pylist() == ["events"]
    (batch,) = typed_rows("events", staged.select(["line", "received_at", "file"]).to_batches())
    (event,) = records_of("events", pa.Table.from_batches([batch]))
    assert encode(event).encode() == raw


def test_a_large_file_is_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("streamgauge.pipeline.ingest.listing.PART_BYTES", 1000)
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"".join(line(task, 1) + b"\n" for task in range(50)))
    size = path.stat().st_size
    file = InputFile(uri=str(path), bytes=size, modified_at=RECEIVED, received_at=RECEIVED)
    parts = [dict(zip(PARTS.names, part, strict=True)) for part in file.parts()]
    assert len(parts) > 5
    staged = table_of(batch for part in parts for batch in read_part(part))
    assert counts(staged) == {"samples": 50, "files": len(parts)}
    assert pa.compute.sum(staged["lines"]).as_py() == 50
