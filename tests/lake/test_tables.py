"""The contract of a table: what a reader sees, and what two writers may do at once."""

import threading
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from streamgauge.errors import ChangedMeanwhile, InvalidInput, UnreadableFile
from streamgauge.lake.schemas import TABLES
from streamgauge.lake.tables import NO_TABLE, Lake
from tests.lake.small_lakes import NOON, after, put, rows_of, sample, write


@pytest.fixture
def samples(tmp_path):
    return Lake(tmp_path / "lake").table("samples")


def test_a_table_before_its_first_commit_is_empty(samples):
    assert samples.snapshot().version == NO_TABLE
    assert samples.snapshot().rows == 0
    assert rows_of(samples) == []


def test_what_was_appended_is_read(samples):
    put(samples, [sample("executed", 0, 1)])
    put(samples, [sample("executed", 10, 2)])
    assert sorted(row["value"] for row in rows_of(samples)) == [1.0, 2.0]
    assert samples.snapshot().rows == 2


def test_a_row_is_read_as_it_was_written(samples):
    row = sample("executed", 0.123457, 1)
    put(samples, [row])
    (found,) = rows_of(samples)
    missing = dict.fromkeys(samples.table.schema.names)
    assert found == missing | row | {"date": NOON.date()}


def test_nothing_is_visible_before_the_commit(samples):
    put(samples, [sample("executed", 0, 1)])
    seen = samples.snapshot()
    folder = write(samples, [sample("executed", 10, 2)])
    assert samples.snapshot() == seen
    assert len(rows_of(samples)) == 1
    samples.commit(after=seen, added=[folder])
    assert len(rows_of(samples)) == 2


def test_an_older_version_stays_as_it_was(samples):
    first = put(samples, [sample("executed", 0, 1)])
    before = rows_of(samples)
    put(samples, [sample("executed", 10, 2)])
    assert rows_of(samples, version=first) == before
    assert samples.snapshot(first).rows == 1


def test_a_version_that_never_was_is_refused(samples):
    put(samples, [sample("executed", 0, 1)])
    with pytest.raises(InvalidInput, match="version"):
        samples.snapshot(99)


def test_a_range_is_read_at_a_version(samples):
    put(samples, [sample("executed", 10 * n, n) for n in range(10)])
    version = put(samples, [sample("executed", 86_400, 100)])
    put(samples, [sample("executed", 25, 200)])
    where = (ds.field("bucket_start") >= after(20)) & (ds.field("bucket_start") < after(50))
    rows = pa.Table.from_batches(samples.read(["value"], where, version=version))
    assert sorted(rows["value"].to_pylist()) == [2.0, 3.0, 4.0]


def test_a_snapshot_names_the_files_of_a_period_and_topology(samples):
    for day in range(3):
        put(samples, [sample("executed", 86_400 * day, 1, topology="abc"[day])])
    snapshot = samples.snapshot()
    (middle,) = snapshot.within(after(86_400), after(86_400))
    assert (middle.date, middle.rows) == (after(86_400).date(), 1)
    assert (middle.first, middle.last) == (after(86_400), after(86_400))
    assert snapshot.within(None, None, "b") == (middle,)
    assert snapshot.within(after(1), after(2)) == ()


def test_the_files_of_a_day_are_replaced_in_one_step(samples):
    put(samples, [sample("executed", 0, 1), sample("executed", 86_400, 2)])
    put(samples, [sample("executed", 10, 3)])
    seen = samples.snapshot()
    old = [file for file in seen.files if file.date == NOON.date()]
    folder = write(samples, [sample("executed", 0, 40)])
    samples.commit(after=seen, added=[folder], removed=old)
    assert sorted(row["value"] for row in rows_of(samples)) == [2.0, 40.0]
    assert samples.snapshot().version == seen.version + 1


def test_of_two_writers_with_the_same_snapshot_one_looks_again(samples):
    put(samples, [sample("executed", 0, 1)])
    seen = samples.snapshot()
    put(samples, [sample("executed", 10, 2)], seen)
    with pytest.raises(ChangedMeanwhile, match="another writer"):
        put(samples, [sample("executed", 20, 3)], seen)
    assert len(rows_of(samples)) == 2


def test_of_writers_at_the_same_time_exactly_one_commits(samples):
    put(samples, [sample("executed", 0, 1)])
    seen = samples.snapshot()
    folders = [write(samples, [sample("executed", 10 * n, n)]) for n in range(4)]
    together = threading.Barrier(len(folders))
    outcomes = []

    def commit(folder):
        table = Lake(samples.lake.uri).table("samples")
        together.wait()
        try:
            outcomes.append(table.commit(after=seen, added=[folder]))
        except ChangedMeanwhile:
            outcomes.append("changed")

    writers = [threading.Thread(target=commit, args=(folder,)) for folder in folders]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert outcomes.count("changed") == 3
    assert samples.snapshot().rows == seen.rows + 1


def test_who_makes_the_table_second_looks_again(samples, monkeypatch):
    def too_late(*_, **__):
        raise CommitFailedError("protocol changed since last commit")

    monkeypatch.setattr(DeltaTable, "create", too_late)
    with pytest.raises(ChangedMeanwhile):
        put(samples, [sample("executed", 0, 1)])


def test_a_commit_gives_the_new_version(samples):
    put(samples, [sample("executed", 0, 1)])
    folder = write(samples, [sample("executed", 10, 1)])
    given = samples.commit(after=samples.snapshot(), added=[folder])
    assert given == samples.snapshot().version


def test_rows_are_found_after_another_program_compacted_the_table(samples):
    put(samples, [sample("executed", 0.000457, 1)])
    put(samples, [sample("executed", 10.000457, 1)])
    samples.open_delta().optimize.compact()
    last = samples.read(["value"], ds.field("bucket_start") > after(10.0004))
    assert sum(len(batch) for batch in last) == 1


def test_a_batch_of_a_query_is_known_afterwards(samples):
    assert samples.batch_of("follow/samples") is None
    folder = write(samples, [sample("executed", 0, 1)])
    samples.commit(after=samples.snapshot(), added=[folder], batch=("follow/samples", 7))
    assert samples.batch_of("follow/samples") == 7
    assert samples.batch_of("other/samples") is None


def test_a_batch_without_rows_is_known_too(samples):
    put(samples, [sample("executed", 0, 1)])
    samples.commit(after=samples.snapshot(), batch=("follow/samples", 3))
    assert samples.batch_of("follow/samples") == 3
    assert samples.snapshot().rows == 1


def test_nothing_to_commit_makes_no_version(samples):
    put(samples, [sample("executed", 0, 1)])
    seen = samples.snapshot()
    assert samples.commit(after=seen, added=[]) is None
    assert samples.snapshot() == seen


def test_hidden_and_empty_files_are_no_part_of_a_commit(samples):
    folder = write(samples, [sample("executed", 0, 1)])
    (file,) = Path(samples.uri, folder).rglob("*.parquet")
    file.with_name(".hidden.parquet").write_bytes(b"no parquet")
    file.with_name("_SUCCESS").write_bytes(b"")
    samples.commit(after=samples.snapshot(), added=[folder])
    assert len(samples.snapshot().files) == 1


def test_duckdb_reads_a_table(samples):
    put(samples, [sample("executed", 10 * n, n) for n in range(5)])
    source = samples.dataset()
    query = "SELECT sum(value), count(DISTINCT date) FROM source WHERE metric = 'executed'"
    with duckdb.connect() as connection:
        connection.register("source", source)
        assert connection.sql(query).fetchall() == [(10.0, 1)]


def test_pandas_reads_a_table_through_delta(samples):
    put(samples, [sample("executed", 10 * n, n) for n in range(5)])
    frame = DeltaTable(samples.uri).to_pandas()
    assert list(frame.columns) == samples.table.schema.names
    assert frame["value"].sum() == 10.0
    assert frame["bucket_start"].min() == NOON


@pytest.mark.parametrize("name", TABLES)
def test_every_table_takes_rows_of_its_schema(tmp_path, name):
    table = Lake(tmp_path).table(name)
    filled = {
        pa.string(): "x",
        pa.binary(): b"\x00\xff",
        pa.date32(): NOON.date(),
        pa.bool_(): True,
    }
    row = {}
    for field in table.table.schema:
        if field.nullable or field.name == "date":
            continue
        kind = field.type
        is_time, is_list = pa.types.is_timestamp(kind), pa.types.is_list(kind)
        row[field.name] = NOON if is_time else [] if is_list else filled.get(kind, 1)
    put(table, [row])
    assert table.snapshot().rows == 1
    (found,) = rows_of(table)
    assert {key: found[key] for key in row} == row


def test_a_folder_without_tables_is_no_lake(tmp_path):
    with pytest.raises(UnreadableFile, match="expected a lake"):
        Lake(tmp_path).check_exists()


def test_a_file_knows_its_ends_to_the_microsecond(samples):
    put(samples, [sample("executed", 0.000001, 1), sample("executed", 9.999999, 1)])
    (file,) = samples.snapshot().files
    assert file.last - file.first == timedelta(seconds=9.999998)
