"""Damaged lakes: the damage is named and mended, and nothing healthy is lost or doubled."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.repair import repair
from streamgauge.lake.tables import Lake
from tests.engines.disks import small_disk
from tests.lake.small_lakes import put, refused, rows_of, sample, write

MODIFIED = datetime(2026, 2, 1, tzinfo=UTC)


def delivery(source, rows=1):
    return {
        "file": str(source),
        "bytes": 10,
        "modified_at": MODIFIED,
        "rows": rows,
        "fault": None,
        "received_at": MODIFIED,
    }


@pytest.fixture
def lake(tmp_path):
    """Three deliveries, each with a sample of its own; the first and the last files still exist."""
    lake = Lake(tmp_path / "lake")
    names = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for number, name in enumerate(names):
        put(lake.table("samples"), [sample("executed", 10 * number, 5, file=str(name))])
        put(lake.table("files"), [delivery(name)])
    for name in (names[0], names[2]):
        name.touch()
    return lake


def data_files(lake, table):
    return [Path(lake.table(table).uri, file.path) for file in lake.table(table).snapshot().files]


def file_of(lake, source):
    """The data file with the rows of one source."""
    table = lake.table("samples")
    for file in table.snapshot().files:
        if file.sources == (str(source), str(source)):
            return Path(table.uri, file.path)
    raise AssertionError(source)


def sources(lake):
    return {Path(row["file"]).stem for row in rows_of(lake.table("files"))}


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def test_a_healthy_lake_is_left_as_it_is(lake):
    before = [table.snapshot() for table in lake.tables()]
    done = repair(lake)
    assert (done.damage, done.sources, done.gone) == ((), (), ())
    assert [table.snapshot() for table in lake.tables()] == before


@pytest.mark.parametrize("harm", [truncate, Path.unlink], ids=["truncated", "gone"])
def test_a_damaged_file_leaves_its_table_and_its_source_is_forgotten(lake, tmp_path, harm):
    harm(file_of(lake, tmp_path / "b.jsonl"))
    looked = repair(lake, dry_run=True)
    assert sources(lake) == {"a", "b", "c"}
    done = repair(lake)
    assert done == looked
    (damage,) = done.damage
    assert (damage.table, damage.rows) == ("samples", 1)
    assert done.sources == done.gone == (str(tmp_path / "b.jsonl"),)
    assert sources(lake) == {"a", "c"}
    assert {Path(row["file"]).stem for row in rows_of(lake.table("samples"))} == {"a", "c"}
    assert not repair(lake).damage


def test_a_file_that_is_damaged_in_its_middle_is_found(lake, tmp_path):
    path = file_of(lake, tmp_path / "a.jsonl")
    content = bytearray(path.read_bytes())
    content[8:80] = b"\xff" * 72
    path.write_bytes(content)
    (damage,) = repair(lake).damage
    assert str(path).endswith(damage.path)


def test_a_file_of_many_sources_makes_all_between_its_ends_suspects(lake, tmp_path):
    table = lake.table("samples")
    rows = [
        sample("executed", 50 + i, 5, file=str(tmp_path / f"{n}.jsonl")) for i, n in enumerate("ab")
    ]
    put(table, rows)
    (path,) = [Path(table.uri, file.path) for file in table.snapshot().files if file.rows == 2]
    truncate(path)
    assert [Path(one).stem for one in repair(lake).sources] == ["a", "b"]
    assert sources(lake) == {"c"}
    # The rows that are left are those that an ingest will find to be there already.
    assert len(rows_of(table)) == 3


def test_a_damaged_list_of_deliveries_forgets_those_and_no_others(lake):
    truncate(data_files(lake, "files")[0])
    assert len(repair(lake).damage) == 1
    assert len(sources(lake)) == 2
    assert len(rows_of(lake.table("samples"))) == 3


def test_lines_in_quarantine_come_back_with_their_source(lake, tmp_path):
    put(lake.table("quarantine"), [refused(b"x", file=str(tmp_path / "c.jsonl"))])
    truncate(data_files(lake, "quarantine")[0])
    assert [Path(one).stem for one in repair(lake).sources] == ["c"]


@pytest.mark.parametrize("content", [b"", b'{"add": {"pa', b"\x00" * 100])
def test_a_broken_log_goes_back_to_the_version_before(lake, content):
    log = Path(lake.table("samples").uri, "_delta_log")
    entries = sorted(log.glob("*.json"))
    entries[-2].write_bytes(content)
    # The library takes an empty entry for one that changed nothing.
    if content:
        with pytest.raises(InvalidInput, match=r"see `streamgauge lake repair --dry-run --lake"):
            lake.table("samples").snapshot()
    done = repair(lake)
    assert [one.path for one in done.damage] == [f"_delta_log/{one.name}" for one in entries[-2:]]
    # What was in the lost versions is not known, so everything is read again.
    assert sources(lake) == set()
    assert {Path(row["file"]).stem for row in rows_of(lake.table("samples"))} == {"a"}
    put(lake.table("samples"), [sample("executed", 90, 5)])
    assert len(rows_of(lake.table("samples"))) == 2
    assert not repair(lake).damage


def test_a_log_that_is_broken_from_its_start_leaves_no_table(lake):
    log = Path(lake.table("samples").uri, "_delta_log")
    sorted(log.glob("*.json"))[0].write_bytes(b"")
    repair(lake)
    assert lake.table("samples").snapshot().files == ()
    put(lake.table("samples"), [sample("executed", 90, 5)])
    assert len(rows_of(lake.table("samples"))) == 1


def test_a_damaged_checkpoint_costs_nothing(lake):
    table = lake.table("samples")
    table.open_delta().create_checkpoint()
    (checkpoint,) = Path(table.uri, "_delta_log").glob("*.parquet")
    checkpoint.write_bytes(b"PAR1")
    done = repair(lake)
    assert f"_delta_log/{checkpoint.name}" in [one.path for one in done.damage]
    assert done.sources == ()
    assert len(rows_of(table)) == 3


def test_a_table_that_cannot_be_written_is_named_with_the_cause(lake):
    table = lake.table("samples")
    snapshot, folder = table.snapshot(), write(table, [sample("executed", 90, 5)])
    with small_disk(), pytest.raises(UnreadableFile) as caught:
        table.commit(after=snapshot, added=[folder])
    assert str(caught.value).startswith(f"{table.uri}: File too large")
    assert "\x1b" not in str(caught.value)
    assert table.snapshot() == snapshot
