"""Rows are sorted and hashed by their keys, and files are split, without Spark."""

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.lake.bulk_decoding import table_of
from streamgauge.lake.schemas import EVENTS, SAMPLES
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest import row_files
from streamgauge.pipeline.ingest.listing import InputFile, tasks_of
from streamgauge.pipeline.ingest.reading import rows_of
from streamgauge.pipeline.ingest.row_files import (
    RowWriter,
    Span,
    key_hashes,
    read_near,
    sorted_rows,
    split_file,
    write_without,
)
from tests.lake.random_records import samples
from tests.pipeline.ingest.deliveries import RECEIVED, line


def encoded(rows):
    """The same with names as dictionaries."""
    columns = [
        one.dictionary_encode() if pa.types.is_string(one.type) else one for one in rows.columns
    ]
    return pa.table(columns, names=rows.column_names)


@given(st.lists(samples(), max_size=6))
def test_equal_keys_have_equal_hashes_whatever_lies_beside_them(some):
    rows = table_of(SAMPLES, [*some, *some[:2]])
    hashes = key_hashes(rows, SAMPLES)
    assert (hashes == key_hashes(encoded(rows), SAMPLES)).all()
    for place in range(len(rows)):
        assert key_hashes(rows.slice(place, 1), SAMPLES)[0] == hashes[place]
    keys = rows.select(list(SAMPLES.key)).to_pylist()
    assert len(set(hashes.tolist())) == len({tuple(key.values()) for key in keys})


def test_a_hash_is_the_same_in_every_process():
    event = {"topology": "t", "happened_at": datetime(2026, 1, 1, tzinfo=UTC), "kind": "start"}
    rows = pa.Table.from_pylist([event], schema=EVENTS.schema)
    assert key_hashes(rows, EVENTS).tolist() == [-7702816208191657630]


def test_rows_are_sorted_as_their_table_is_missing_first():
    tasks = [3, None, 1, 2, None]
    rows = [
        {"topology": name, "happened_at": datetime(2026, 1, day, tzinfo=UTC), "kind": "start"}
        for name, day in [("b", 1), ("a", 2), (None, 3), ("a", 1), ("a", 1)]
    ]
    table = pa.Table.from_pylist(
        [row | {"task": task} for row, task in zip(rows, tasks, strict=True)], EVENTS.schema
    )
    for given_rows in (table, encoded(table)):
        ordered = sorted_rows(given_rows, EVENTS)
        # By topology, then by time, then by task.
        assert ordered["task"].to_pylist() == [1, None, 2, None, 3]


@pytest.fixture
def written(tmp_path):
    """Ten samples of one day and one of the next, in files of their days."""
    lake = Lake(tmp_path / "lake")
    lines = [line(task, 1) for task in reversed(range(10))] + [line(1, 1, bucket=8640)]
    writer = RowWriter(lake, "run", lake.folder("_staging", "run"))
    batches = writer.write(rows_of(lines, RECEIVED, "f"))
    return lake, [row for batch in batches for row in batch.to_pylist()]


def read(table, path):
    return ds.dataset(f"{table.uri}/{path}", schema=table.file_schema).to_table()


def test_each_day_has_a_file_whose_rows_are_sorted(written):
    lake, (first, second) = written
    assert (first["day"], first["rows"]) == (date(2026, 1, 1), 10)
    assert (second["day"], second["rows"]) == (date(2026, 1, 2), 1)
    assert (first["least_topology"], first["greatest_topology"]) == ("t", "t")
    rows = read(lake.table("samples"), first["path"])
    assert rows.schema == lake.table("samples").file_schema
    assert rows["task"].to_pylist() == list(range(10))


def test_a_new_file_is_split_and_another_only_read(written):
    lake, (first, _) = written
    target = lake.table("samples")
    folder = lake.folder("_staging", "run")
    places = np.array([2, 5])
    doubtful, rest = split_file(target, folder, "run", first["path"], places)
    assert (doubtful["rows"], doubtful["detail"], rest["rows"]) == (2, "new", 8)
    tasks = read(target, rest["path"])["task"].to_pylist()
    assert tasks == [0, 1, 3, 4, 6, 7, 8, 9]
    (kept,) = split_file(target, folder, "another", first["path"], places)
    assert (kept["rows"], kept["detail"]) == (2, "kept")


def test_of_a_file_of_the_table_only_what_may_meet_new_rows_is_read(written):
    lake, (first, _) = written
    day, moment = first["day"], first["first"]
    span = Span(day=day, first=moment, last=moment, topologies=("u", "z"))
    assert not len(read_near(lake.table("samples"), first["path"], {day: span}))


def test_places_count_from_the_begin_of_the_file_whatever_was_skipped(written, monkeypatch):
    lake, (first, _) = written
    target, day, moment = lake.table("samples"), first["day"], first["first"]
    rows = read(target, first["path"])
    path = f"part-x/date={day}/x.parquet"
    names = pa.array(["a"] * 4 + ["b"] * 6)
    monkeypatch.setattr(row_files, "ROWS_PER_GROUP", 3)
    row_files.write_parquet(f"{target.uri}/{path}", rows.set_column(1, "topology", names))
    span = Span(day=day, first=moment, last=moment, topologies=("b", "c"))
    near = read_near(target, path, {day: span})
    assert near["place"].to_pylist() == [4, 5, 6, 7, 8, 9]
    assert near["task"].to_pylist() == [4, 5, 6, 7, 8, 9]


def test_a_file_is_written_again_without_some_rows_in_files_that_are_not_too_large(
    written, monkeypatch
):
    lake, (first, _) = written
    target = lake.table("samples")
    monkeypatch.setattr(row_files, "ROWS_PER_GROUP", 2)
    monkeypatch.setattr(row_files, "ROWS_PER_FILE", 4)
    (whole,) = write_without(target, "run", first["path"], np.array([9], dtype=np.int32))
    # Groups of two rows, one of them empty now and one with a single row.
    places = np.array([2, 3, 6], dtype=np.int32)
    pieces = list(write_without(target, "run", whole["path"], places))
    tasks = [read(target, piece["path"])["task"].to_pylist() for piece in pieces]
    assert tasks == [[0, 1, 4, 5], [7, 8]]
    assert [piece["rows"] for piece in pieces] == [4, 2]
    assert {piece["file"] for piece in pieces} == {whole["path"]}
    everything = np.arange(9, dtype=np.int32)
    assert list(write_without(target, "run", whole["path"], everything)) == []


def test_tasks_read_about_equal_parts_and_small_files_go_together():
    small = [
        InputFile(uri=f"{n}.jsonl", bytes=2**20, modified_at=RECEIVED, received_at=RECEIVED)
        for n in range(100)
    ]
    large = InputFile(uri="x.jsonl", bytes=2**31, modified_at=RECEIVED, received_at=RECEIVED)
    assert len(tasks_of(small[:20], cores=2)) == 1
    assert [len(task) for task in tasks_of(small, cores=2)] == [32, 32, 32, 4]
    tasks = tasks_of([*small, large], cores=2)
    assert len(tasks) == 9
    assert [part for task in tasks for part in task] == [
        part for file in [*small, large] for part in file.parts()
    ]
    assert tasks_of([], cores=2) == []
