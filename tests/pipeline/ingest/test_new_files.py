"""Files that are committed as they were staged, and those of which a part is compared."""

import os
import random
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import PlacedExecutor, Plan, SampleGroup
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest import key_hashes, row_files
from streamgauge.pipeline.ingest.job import ingest_files, take_staged
from streamgauge.pipeline.ingest.retrying import retry
from streamgauge.pipeline.ingest.staging import stage_files
from streamgauge.pipeline.ingest.tally import Tally
from tests.pipeline.ingest.deliveries import RECEIVED, START_US, content, deliver, expected, line
from tests.pipeline.ingest.test_ingest import check_any_order
from tests.pipeline.ingest.test_kill import run_and_kill


def test_rows_that_meet_no_others_stay_in_the_file_they_were_staged_in(spark, tmp_path):
    lake = Lake(tmp_path / "lake")
    one = deliver(tmp_path, "one", 0, [line(task, 1) for task in range(9)])
    later = deliver(tmp_path, "later", 0, [line(task, 1, bucket=5) for task in range(9)])
    staged = []
    for delivery in (one, later):
        staged.append(stage_files(spark, lake, [delivery.file]))
        take_staged(spark, lake, staged[-1], tally := Tally())
        assert (tally.taken, tally.duplicates) == ({"samples": 9}, 0)
    files = {file.path for file in lake.table("samples").snapshot().files}
    assert files == {row["path"] for some in staged for row in some.of("samples")}


def test_many_rows_are_compared_by_spark_with_the_same_outcome(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(key_hashes, "MOST_ROWS_HERE", 0)
    monkeypatch.setattr(key_hashes, "HASHES_TOGETHER", 40)
    check_any_order(spark, tmp_path, seed=20)


def test_equal_hashes_of_different_keys_lose_and_double_nothing(spark, tmp_path, monkeypatch):
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(20)])
    lines = [line(task, 2) for task in range(15, 25)] + [line(30, 1), line(30, 1), line(3, 1)]
    second = deliver(tmp_path, "second", 1, lines)
    lake = Lake(tmp_path / "lake")
    ingest_files(spark, lake, [first.file])
    # Every row has the hash of every other.
    hashes_of = row_files.key_hashes
    monkeypatch.setattr(row_files, "key_hashes", lambda rows, table: hashes_of(rows, table) * 0)
    staged = stage_files(spark, lake, [second.file])
    (new,) = staged.of("samples")
    zeros = np.zeros(new["rows"], dtype=np.int64)
    new["hashes"], new["repeats"] = row_files.write_hashes(staged.folder, zeros)
    take_staged(spark, lake, staged, tally := Tally())
    assert content(lake) == expected([first, second])
    assert (tally.lines, tally.duplicates) == (13, 2)


def hashed(folder, path, hashes):
    place, _ = row_files.write_hashes(str(folder), np.array(hashes, dtype=np.int64))
    return {"path": path, "hashes": place, "rows": len(hashes)}


def test_rows_that_share_a_hash_with_a_new_one_are_found_in_all_ranges(tmp_path):
    least, greatest = -(2**63), 2**63 - 1
    new = [hashed(tmp_path, "a", [7, least, 5, 7]), hashed(tmp_path, "b", [greatest, 5, 3])]
    others = [hashed(tmp_path, "c", [8, 8, 3]), hashed(tmp_path, None, [greatest])]
    whole = key_hashes.repeated_places([*new, *others], 2, least, greatest)
    assert {path: places.tolist() for path, places in whole.items()} == {
        "a": [0, 2, 3],
        "b": [0, 1, 2],
        "c": [2],
    }
    halves = [
        key_hashes.repeated_places([*new, *others], 2, *ends)
        for ends in ((least, 4), (5, greatest))
    ]
    both = {
        path: sorted(place for half in halves for place in half.get(path, ())) for path in "abc"
    }
    assert both == {path: places.tolist() for path, places in whole.items()}
    assert key_hashes.repeated_places([hashed(tmp_path, "d", [])], 1, least, greatest) == {}


def test_ranges_of_hashes_meet_and_hold_all(monkeypatch):
    monkeypatch.setattr(key_hashes, "HASHES_TOGETHER", 10)
    ranges = key_hashes._ranges(25)
    assert (ranges[0][0], ranges[-1][1]) == (-(2**63), 2**63 - 1)
    assert [two[0] - one[1] for one, two in pairwise(ranges)] == [1, 1]


def test_nothing_is_left_that_no_version_names(spark, tmp_path):
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(20)])
    second = deliver(tmp_path, "second", 1, [line(task, 2) for task in range(10, 30)])
    lake = Lake(tmp_path / "lake")
    for one in (first, second, second):
        ingest_files(spark, lake, [one.file])
    assert not list((tmp_path / "lake" / "_staging").iterdir())
    table = lake.table("samples")
    named = {file.path for version in range(1, 3) for file in table.snapshot(version).files}
    there = {str(p.relative_to(table.uri)) for p in (tmp_path / "lake/samples").rglob("*.parquet")}
    assert there == named


def test_lines_of_several_samples_are_rows_and_broken_ones_stay_whole(spark, tmp_path):
    samples = tuple(decode(line(1, 5, bucket=one)) for one in range(2))
    single = decode(line(2, 5))
    good = [encode(SampleGroup((one,))).encode() for one in samples]
    broken = good[0].replace(b'"values":[5]', b'"values": [5, 6]')
    late = encode(SampleGroup((single,))).replace("17672256", "18672256").encode()
    one = deliver(tmp_path, "one", 0, [*good, broken, encode(single).encode(), late, good[0]])
    lake = Lake(tmp_path / "lake")
    tally = ingest_files(spark, lake, [one.file])
    assert (tally.lines, tally.taken, tally.duplicates) == (6, {"samples": 3}, 1)
    assert tally.reasons == {"inconsistent": 1, "after-receipt": 1}
    rows, refused = content(lake)
    read = sorted((one.task, one.bucket_start_us, one.value) for one in [*samples, single])
    assert [row[:3] for row in rows] == read
    assert refused == sorted([broken, late])
    # Known by what it gave.
    assert ingest_files(spark, lake, [one.file]).duplicates == 6


BINS = (
    b'{"type":"histogram","v":2,"topology":"t","component":"a","task":1,"metric":"execute_cpu_bin",'
    b'"stream":"s","source_component":"s","bins":[3,9],"bucket_start_us":1767225600000000,'
    b'"bucket_seconds":10,"values":[%d,4]}'
)


def test_a_bin_with_another_value_gives_way_and_others_of_its_line_stay(spark, tmp_path):
    first = deliver(tmp_path, "first", 0, [BINS % 5])
    second = deliver(tmp_path, "second", 1, [BINS % 6])
    lake = Lake(tmp_path / "lake")
    tallies = [ingest_files(spark, lake, [one.file]) for one in (first, second)]
    assert [tally.lines for tally in tallies] == [2, 2]
    assert (tallies[1].quarantined, tallies[1].duplicates) == (1, 1)
    rows = lake.table("samples").read(["bin", "value"]).read_all().to_pylist()
    assert sorted((row["bin"], row["value"]) for row in rows) == [(3, 6.0), (9, 4.0)]
    (raw,) = lake.table("quarantine").read(["raw"]).read_all()["raw"].to_pylist()
    assert (decode(raw).bin, decode(raw).value) == (3, 5.0)


def test_a_histogram_comes_back_from_quarantine_with_all_its_bins(spark, tmp_path):
    early = deliver(tmp_path, "early", -24 * 365, [BINS % 5])
    lake = Lake(tmp_path / "lake")
    assert ingest_files(spark, lake, [early.file]).quarantined == 1
    again = retry(spark, lake, received_at=RECEIVED)
    assert (again.lines, again.taken["samples"], again.released) == (2, 2, 1)
    assert content(lake)[1] == []


def plan(number, engine):
    """A plan with executors: values that are lists."""
    tasks = {"first_task": 1, "last_task": number}
    executors = (PlacedExecutor(component="a", **tasks, worker="n:1", node="n"),)
    return encode(
        Plan(
            topology="t",
            plan_id=f"p{number}",
            engine=engine,
            valid_from_us=START_US,
            document="{}",
            executors=executors,
        )
    ).encode()


def test_corrected_plans_leave_the_others_of_their_file_as_they_are(spark, tmp_path):
    first = deliver(tmp_path, "first", 0, [plan(number, "storm-1") for number in range(1, 6)])
    second = deliver(tmp_path, "second", 1, [plan(2, "storm-2"), plan(4, "storm-2")])
    lake = Lake(tmp_path / "lake")
    tallies = [ingest_files(spark, lake, [one.file]) for one in (first, second)]
    assert (tallies[1].taken["plans"], tallies[1].quarantined) == (0, 2)
    columns = ["plan_id", "engine", "executors"]
    rows = lake.table("plans").read(columns).read_all().to_pylist()
    found = {row["plan_id"]: (row["engine"], row["executors"][0]["last_task"]) for row in rows}
    engines = {1: "storm-1", 2: "storm-2", 3: "storm-1", 4: "storm-2", 5: "storm-1"}
    assert found == {f"p{number}": (engine, number) for number, engine in engines.items()}
    assert len(rows) == 5
    assert content(lake)[1] == sorted([plan(2, "storm-1"), plan(4, "storm-1")])


def test_a_file_all_of_whose_rows_are_corrected_is_gone(spark, tmp_path):
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(3)])
    second = deliver(tmp_path, "second", 1, [line(task, 2) for task in range(3)])
    lake = Lake(tmp_path / "lake")
    for one in (first, second):
        ingest_files(spark, lake, [one.file])
    assert content(lake) == expected([first, second])
    assert len(lake.table("samples").snapshot().files) == 1


def check_killed(spark, tmp_path, seed):
    """New times, times that the lake has, repeated and corrected rows, in several files."""
    rng = random.Random(seed)
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(60)])
    others = [
        deliver(tmp_path, "new", 1, [line(task, 1, bucket=task % 7 + 3) for task in range(300)]),
        deliver(tmp_path, "again", 2, [line(task, 1, bucket=task % 7 + 3) for task in range(40)]),
        deliver(tmp_path, "mended", 3, [line(task, 2) for task in range(30, 90)] + [b"no line"]),
    ]
    for one in (first, *others):
        stamp = (RECEIVED + timedelta(hours=one.hour)).timestamp()
        os.utime(one.path, (stamp, stamp))
    lake = Lake(tmp_path / "lake")
    ingest_files(spark, lake, [first.file])
    run_and_kill([one.path for one in others], lake.uri, rng.randrange(1, 30))
    rows, _ = content(lake)
    assert max(Counter(row[:2] for row in rows).values()) == 1
    assert {row[0] for row in rows} >= set(range(60))
    ingest_files(spark, lake, [one.file for one in others])
    assert content(lake) == expected([first, *others])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_kill_while_new_files_are_written_leaves_nothing_half_done(spark, tmp_path, seed):
    check_killed(spark, tmp_path, seed)
