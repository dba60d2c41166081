"""Upkeep: compaction changes files and no rows; vacuum takes what nobody needs, and no more."""

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge.errors import ChangedMeanwhile, InvalidInput, UnreadableFile
from streamgauge.lake import contents, upkeep
from streamgauge.lake.contents import tables_of
from streamgauge.lake.leftovers import (
    check_retention,
    cutoff_of,
    find_leftovers,
    remove_leftovers,
)
from streamgauge.lake.tables import DataFile, Lake, LakeTable, readable
from streamgauge.lake.upkeep import compact, groups_of, history
from tests.lake.small_lakes import NOON, after, put, refused, rows_of, sample, write

DAY = 86_400


@pytest.fixture
def samples(tmp_path):
    return Lake(tmp_path / "lake").table("samples")


def scattered(table: LakeTable, commits: int = 4, days: int = 1) -> LakeTable:
    """A table of small files: as many for each day as commits."""
    for n in range(commits):
        put(
            table,
            [
                sample("executed", DAY * day + 10 * n + 0.000457, n, topology=name)
                for day in range(days)
                for name in ("zebra", "ant")
            ],
        )
    return table


def file_of(path: str, size: int, *, rows: int = 1, day: int = 1, first: int = 0) -> DataFile:
    return DataFile(
        path=path,
        bytes=size,
        rows=rows,
        date=date(2026, 1, day),
        first=after(first),
        last=after(first),
    )


# Which files are merged.


def names(groups):
    return ["".join(file.path for file in group) for group in groups]


def test_small_files_of_a_day_are_merged_up_to_the_target():
    files = [file_of(name, 40, first=n) for n, name in enumerate("abcde")]
    assert names(groups_of(files, target_bytes=100)) == ["ab", "cd"]


def test_files_of_two_days_are_never_merged():
    files = [file_of("a", 1, day=1), file_of("b", 1, day=2), file_of("c", 1, day=2)]
    assert names(groups_of(files, target_bytes=100)) == ["bc"]


def test_a_file_of_half_the_target_is_left_alone():
    files = [file_of("a", 50), file_of("b", 49), file_of("c", 1)]
    assert names(groups_of(files, target_bytes=100)) == ["bc"]


def test_rows_that_compress_well_are_bounded_by_their_number():
    most = upkeep.MOST_ROWS
    sizes = {"a": most // 2, "b": most // 2 - 1, "c": most // 2 - 1, "d": 3}
    files = [file_of(name, 1, rows=rows) for name, rows in sizes.items()]
    assert names(groups_of(files)) == ["bc"]


def test_only_the_last_days_are_looked_at():
    files = [file_of(f"{day}{n}", 1, day=day) for day in (1, 3, 9) for n in (0, 1)]
    assert names(groups_of(files, days=2)) == ["3031", "9091"]


@pytest.mark.parametrize("wrong", [{"days": 0}, {"target_bytes": 0}])
def test_no_days_and_no_size_are_refused(wrong):
    with pytest.raises(InvalidInput, match="at least 1"):
        groups_of([], **wrong)


# Compaction.


def test_compaction_leaves_one_file_a_day_and_the_same_rows(samples):
    scattered(samples, commits=5, days=2)
    before = rows_of(samples)
    done = compact(samples)
    assert (done.files_before, done.files_after, done.rows) == (10, 2, 20)
    assert rows_of(samples) == before


def test_compacted_rows_are_sorted_as_the_table_wants_them(samples):
    scattered(samples)
    put(samples, [sample("executed", 0, 1, topology=None)])
    compact(samples)
    (file,) = samples.snapshot().files
    rows = pq.read_table(Path(samples.uri, file.path)).to_pylist()
    found = [(row["topology"] or "", row["bucket_start"]) for row in rows]
    assert found == sorted(found)
    assert len(found) == 9


def test_a_compacted_file_knows_its_ends_and_topologies_exactly(samples):
    scattered(samples)
    compact(samples)
    (file,) = samples.snapshot().files
    assert (file.first, file.last) == (after(0.000457), after(30.000457))
    assert file.topologies == ("ant", "zebra")
    assert samples.snapshot().within(file.last, None, "bee") == (file,)
    assert samples.snapshot().within(file.last + timedelta(microseconds=1), None) == ()


def test_versions_before_compaction_can_still_be_read(samples):
    scattered(samples)
    before, version = rows_of(samples), samples.snapshot().version
    compact(samples)
    assert rows_of(samples, version=version) == before


def test_compacting_twice_changes_nothing(samples):
    scattered(samples)
    done = compact(samples)
    again = compact(samples)
    assert (again.version, again.rows) == (done.version, 0)


def test_lines_in_quarantine_are_compacted_byte_by_byte(tmp_path):
    table = Lake(tmp_path).table("quarantine")
    for raw in (b"\x00\xff\n", b"", b"{"):
        put(table, [refused(raw)])
    compact(table)
    assert len(table.snapshot().files) == 1
    assert {row["raw"] for row in rows_of(table)} == {b"\x00\xff\n", b"", b"{"}


def test_a_table_that_is_not_there_is_compacted_into_nothing(samples):
    assert compact(samples).version is None


def meanwhile(monkeypatch, table: LakeTable, *actions):
    """Let others act just before the next commits of compaction."""
    left = list(actions)
    commit = LakeTable.commit

    def late(self, **arguments):
        if left and (arguments.get("about") or {}).get("command") == "compact":
            left.pop(0)()
        return commit(self, **arguments)

    monkeypatch.setattr(LakeTable, "commit", late)


def test_what_an_ingest_adds_meanwhile_is_kept_and_the_work_is_not_repeated(samples, monkeypatch):
    scattered(samples)
    said, rewritten = [], []
    rewrite = upkeep._rewrite
    monkeypatch.setattr(
        upkeep, "_rewrite", lambda *given: rewritten.append(given) or rewrite(*given)
    )
    meanwhile(monkeypatch, samples, lambda: put(samples, [sample("executed", DAY, 9)]))
    compact(samples, say=said.append, pause=lambda _: None)
    assert len(rows_of(samples)) == 9
    assert len(rewritten) == 1
    assert "samples: changed meanwhile; trying again" in said


def test_what_an_ingest_replaces_meanwhile_is_not_brought_back(samples, monkeypatch):
    scattered(samples)

    def replace_one():
        seen = samples.snapshot()
        folder = write(samples, [sample("executed", 0, 77)])
        samples.commit(after=seen, added=[folder], removed=[seen.files[0]])

    expected = len(rows_of(samples)) - 1
    meanwhile(monkeypatch, samples, replace_one)
    compact(samples, pause=lambda _: None)
    rows = rows_of(samples)
    assert len(rows) == expected
    assert [row["value"] for row in rows].count(77.0) == 1
    assert len(samples.snapshot().files) == 1


def test_an_ingest_that_compared_before_compaction_has_to_look_again(samples):
    scattered(samples)
    seen = samples.snapshot()
    compact(samples)
    with pytest.raises(ChangedMeanwhile):
        put(samples, [sample("executed", 100, 1)], seen)


def test_compaction_gives_up_where_others_never_pause(samples, monkeypatch):
    scattered(samples)
    busy = [lambda n=n: put(samples, [sample("executed", DAY + n, 1)]) for n in range(20)]
    meanwhile(monkeypatch, samples, *busy)
    with pytest.raises(ChangedMeanwhile, match="nothing was lost"):
        compact(samples, pause=lambda _: None)
    assert len(rows_of(samples)) == 8 + upkeep.MOST_ATTEMPTS
    # What was written in vain is gone.
    assert len(list(Path(samples.uri).glob("part-*"))) == 4 + upkeep.MOST_ATTEMPTS


def test_small_files_are_noticed_where_there_are_many(samples, monkeypatch):
    monkeypatch.setattr(contents, "MANY_SMALL_FILES", 3)
    scattered(samples, commits=4)
    (found,) = [one for one in tables_of(samples.lake) if one.name == "samples"]
    assert (found.spare_files, found.is_scattered) == (3, True)
    compact(samples)
    assert not tables_of(samples.lake)[0].is_scattered


# History.


def test_history_says_what_came_and_went_and_why(samples):
    scattered(samples)
    compact(samples)
    newest, *_, oldest = history(samples)
    assert (newest.note, newest.files_added, newest.files_removed) == ("compact", 1, 4)
    assert (newest.rows_added, newest.rows_removed) == (8, 8)
    assert (oldest.version, oldest.operation, oldest.rows_added) == (0, "CREATE TABLE", 0)
    assert history(samples, limit=2)[1].note == "ingest"
    assert history(samples, limit=2)[1].rows_added == 2
    assert datetime.now(UTC) - newest.time < timedelta(hours=1)


def test_a_table_that_is_not_there_has_no_history(samples):
    assert history(samples) == []


# Vacuum. All is as old as the tests say: nothing waits.


NOW = datetime.now(UTC)


def aged(place: Path, hours: float) -> None:
    """Make everything below a place so old."""
    then = (NOW - timedelta(hours=hours)).timestamp()
    for path in [*place.rglob("*"), place]:
        os.utime(path, (then, then))


def swept(lake: Lake, hours: float = 168) -> set[str]:
    """Vacuum, and what went."""
    cutoff = cutoff_of(NOW, hours)
    found = find_leftovers(lake, cutoff)
    remove_leftovers(lake, found, cutoff)
    assert not any(Path(lake.uri, one.path).exists() for one in found)
    return {one.path for one in found}


def test_files_that_no_recent_version_needs_go(samples):
    scattered(samples)
    old = {f"samples/{file.path}" for file in samples.snapshot().files}
    compact(samples)
    before = rows_of(samples)
    aged(Path(samples.uri), 200)
    assert swept(samples.lake) == old
    assert rows_of(samples) == before
    # Their folders are gone as well: what is left is the log and one folder.
    assert len(list(Path(samples.uri).iterdir())) == 2


def test_files_that_a_version_within_the_retention_needs_stay(samples):
    scattered(samples)
    version, before = samples.snapshot().version, rows_of(samples)
    aged(Path(samples.uri), 200)
    compact(samples)
    assert swept(samples.lake) == set()
    assert rows_of(samples, version=version) == before


def test_what_was_removed_is_kept_however_long_the_retention_is(samples):
    scattered(samples)
    version, before = samples.snapshot().version, rows_of(samples)
    compact(samples)
    aged(Path(samples.uri), 1000)
    aged(Path(samples.uri, "_delta_log"), 240)
    # A checkpoint of Delta forgets what was removed over a week ago.
    samples.open_delta().create_checkpoint()
    assert swept(samples.lake, hours=300) == set()
    assert rows_of(samples, version=version) == before
    assert len(swept(samples.lake, hours=230)) == 4


def test_what_a_killed_ingest_left_goes_when_it_is_old(samples):
    scattered(samples, commits=1)
    folder = Path(samples.uri, write(samples, [sample("executed", 0, 1)]))
    pending = folder / "_temporary" / "0" / "task" / "part.parquet"
    pending.parent.mkdir(parents=True)
    pending.write_bytes(b"half of it")
    aged(folder, 100)
    assert swept(samples.lake) == set()
    aged(folder, 200)
    assert len(swept(samples.lake)) == 2
    assert not folder.exists()
    assert len(rows_of(samples)) == 2


def test_an_ingest_that_still_writes_keeps_what_it_wrote_first(samples):
    scattered(samples, commits=1)
    folder = Path(samples.uri, write(samples, [sample("executed", 0, 1)]))
    aged(folder, 200)
    (folder / "date=2026-01-02").mkdir()
    (folder / "date=2026-01-02" / "later.parquet").write_bytes(b"now")
    assert swept(samples.lake) == set()


def test_old_staging_goes_and_recent_staging_stays(samples):
    scattered(samples, commits=1)
    for name, hours in (("killed", 200), ("running", 1)):
        file = Path(samples.lake.uri, "_staging", name, "table=samples", "part.parquet")
        file.parent.mkdir(parents=True)
        file.write_bytes(b"staged")
        aged(file.parents[1], hours)
    assert swept(samples.lake) == {"_staging/killed/table=samples/part.parquet"}
    assert [path.name for path in Path(samples.lake.uri, "_staging").iterdir()] == ["running"]


def test_what_following_remembers_and_what_is_not_ours_stays(samples):
    scattered(samples, commits=1)
    for place in ("_following/follow-1/offsets/0", "profiles/words.json"):
        file = Path(samples.lake.uri, place)
        file.parent.mkdir(parents=True)
        file.write_bytes(b"kept")
    aged(Path(samples.lake.uri), 1000)
    assert swept(samples.lake) == set()


def test_a_checksum_lives_as_long_as_its_file(samples):
    scattered(samples, commits=2)
    for file in samples.snapshot().files:
        path = Path(samples.uri, file.path)
        path.with_name(f".{path.name}.crc").write_bytes(b"sum")
    aged(Path(samples.uri), 200)
    assert swept(samples.lake) == set()
    compact(samples)
    aged(Path(samples.uri), 200)
    assert len(swept(samples.lake)) == 4


def test_empty_folders_go_when_they_are_old(samples):
    scattered(samples, commits=1)
    for name in ("part-killed", "part-running"):
        Path(samples.uri, name, "_temporary").mkdir(parents=True)
    aged(Path(samples.uri, "part-killed"), 200)
    swept(samples.lake)
    assert not Path(samples.uri, "part-killed").exists()
    assert Path(samples.uri, "part-running", "_temporary").exists()


def test_without_a_retention_the_library_lists_the_same(samples):
    scattered(samples)
    compact(samples)
    write(samples, [sample("executed", 0, 1)])
    listed = samples.open_delta().vacuum(
        0, dry_run=True, enforce_retention_duration=False, full=True
    )
    mine = find_leftovers(samples.lake, datetime.now(UTC))
    assert {one.path for one in mine} == {f"samples/{path}" for path in listed}
    assert len(mine) == 5


def test_nothing_is_changed_where_a_file_cannot_be_read(samples):
    scattered(samples)
    seen = samples.snapshot()
    Path(samples.uri, seen.files[1].path).write_bytes(b"damaged")
    with pytest.raises(UnreadableFile, match="all files of the version"), readable(samples.uri):
        compact(samples)
    assert samples.snapshot() == seen
    assert len(list(Path(samples.uri).glob("part-*"))) == 4


def test_a_short_retention_needs_force():
    check_retention(1.0)
    check_retention(0.5, force=True)
    with pytest.raises(InvalidInput, match="--force"):
        check_retention(0.5)
    with pytest.raises(InvalidInput):
        check_retention(-1, force=True)


def test_days_are_those_of_the_table_not_of_the_calendar(samples):
    scattered(samples, commits=2, days=3)
    done = compact(samples, days=1)
    assert (done.files_before, done.files_after) == (6, 5)
    assert NOON.date() in {file.date for file in samples.snapshot().files}
