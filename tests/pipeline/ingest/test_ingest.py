"""Every row once, nothing lost, whatever the order, the files and how often they come."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from streamgauge.lake.repair import repair
from streamgauge.lake.schemas import SAMPLES
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest import job
from streamgauge.pipeline.ingest.committing import commit_files
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files, known_files
from streamgauge.pipeline.ingest.quarantine import superseded_records
from streamgauge.pipeline.ingest.retrying import retry
from tests.pipeline.ingest.deliveries import RECEIVED, content, deliver, expected, line


def random_deliveries(rng, folder):
    """Files whose lines agree, differ, come twice, and cannot be read."""
    deliveries = []
    for number in range(5):
        lines = [line(rng.randrange(40), rng.randrange(3)) for _ in range(rng.randrange(40, 80))]
        lines += [b'{"bad":%d}' % rng.randrange(4) for _ in range(rng.randrange(3))]
        rng.shuffle(lines)
        deliveries.append(deliver(folder, f"f{number}", rng.randrange(3), lines))
    return deliveries


def check_any_order(spark, tmp_path, seed):
    rng = random.Random(seed)
    deliveries = random_deliveries(rng, tmp_path)
    order = [*deliveries, rng.choice(deliveries)]
    rng.shuffle(order)
    cuts = sorted(rng.sample(range(1, len(order)), 2))
    lake = Lake(tmp_path / "lake")
    lines = places = 0
    for first, last in zip([0, *cuts], [*cuts, len(order)], strict=True):
        batch = {one.path: one for one in order[first:last]}
        tally = ingest_files(spark, lake, [one.file for one in batch.values()])
        lines += sum(len(one.lines) for one in batch.values())
        places += tally.duplicates
        assert tally.lines == sum(len(one.lines) for one in batch.values())
    rows, refused = content(lake)
    assert (rows, refused) == expected(deliveries)
    # Rows in = rows in samples + rows in quarantine + duplicates.
    assert lines == len(rows) + len(refused) + places


def test_any_order_split_and_repetition_gives_the_same_lake(spark, tmp_path):
    check_any_order(spark, tmp_path, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_any_order_split_and_repetition_gives_the_same_lake_at_length(spark, tmp_path, seed):
    check_any_order(spark, tmp_path, seed)


@pytest.mark.parametrize(
    "harmed",
    [
        "samples",
        pytest.param("quarantine", marks=pytest.mark.slow),
        pytest.param("files", marks=pytest.mark.slow),
        pytest.param("samples log", marks=pytest.mark.slow),
    ],
)
def test_a_repaired_lake_takes_its_sources_again_and_is_whole(spark, tmp_path, harmed):
    rng = random.Random(harmed)
    deliveries = random_deliveries(rng, tmp_path)
    lake = Lake(tmp_path / "lake")
    for batch in (deliveries[:3], deliveries[3:]):
        ingest_files(spark, lake, [one.file for one in batch])
    table = lake.table(harmed.partition(" ")[0])
    path = Path(table.uri, rng.choice(table.snapshot().files).path)
    if harmed.endswith("log"):
        path = rng.choice(sorted(Path(table.uri, "_delta_log").glob("*.json"))[1:])
    path.write_bytes(path.read_bytes()[:-30])
    assert repair(lake).damage
    ingest_files(spark, lake, [one.file for one in deliveries])
    assert content(lake) == expected(deliveries)
    assert not repair(lake).damage


def test_two_writers_at_once_both_succeed(spark, tmp_path):
    first = deliver(tmp_path, "one", 0, [line(task, 1) for task in range(50)])
    second = deliver(tmp_path, "two", 1, [line(task, 2) for task in range(25, 75)])
    lake = Lake(tmp_path / "lake")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: ingest_files(spark, lake, [one.file]), [first, second]))
    assert content(lake) == expected([first, second])


def test_one_bad_file_does_not_stop_the_others_and_lines_come_back(spark, tmp_path):
    good = deliver(tmp_path, "good", 0, [line(1, 1)])
    late = deliver(tmp_path, "late", -24 * 365, [line(2, 1)])
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(b"no gzip at all")
    lake = Lake(tmp_path / "lake")
    files = [good.file, late.file, *find_files([str(broken)])]
    tally = ingest_files(spark, lake, files)
    assert "gzip" in tally.faults[str(broken)]
    assert tally.reasons == {"after-receipt": 1}
    assert (tally.taken["samples"], tally.quarantined) == (1, 1)
    # Once the receipt is right, the line is taken.
    again = retry(spark, lake, received_at=RECEIVED)
    assert (again.taken["samples"], again.released) == (1, 1)
    rows, refused = content(lake)
    assert [row[0] for row in rows] == [1, 2]
    assert refused == []


def test_what_stopped_between_two_commits_is_completed(spark, tmp_path, monkeypatch):
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(3)])
    second = deliver(tmp_path, "second", 1, [line(0, 2), line(1, 2), line(5, 1)])
    lake = Lake(tmp_path / "lake")
    ingest_files(spark, lake, [first.file])

    def stop(table, write, **options):
        if table.table.name == "samples":
            write(table.snapshot().files)
            raise KeyboardInterrupt
        return commit_files(table, write, **options)

    with monkeypatch.context() as patched:
        patched.setattr(job, "commit_files", stop)
        with pytest.raises(KeyboardInterrupt):
            ingest_files(spark, lake, [second.file])
    # What gives way is in quarantine by now, and still in its table.
    assert len(content(lake)[1]) == 2
    tally = ingest_files(spark, lake, [second.file])
    assert content(lake) == expected([first, second])
    assert (tally.lines, tally.taken["samples"], tally.quarantined) == (3, 1, 2)


def test_only_what_was_received_since_may_have_been_superseded(spark, tmp_path):
    month = 31 * 8640
    deliveries = [deliver(tmp_path, str(hour), hour, [line(1, hour)]) for hour in range(3)]
    lake = Lake(tmp_path / "lake")
    for one in deliveries:
        ingest_files(spark, lake, [one.file])

    def count(bucket):
        first = RECEIVED - timedelta(days=31) + timedelta(seconds=10 * bucket)
        rows = superseded_records(spark, lake, SAMPLES, first, RECEIVED + timedelta(days=9))
        return None if rows is None else rows.count()

    # Both are of the first bucket; one was received a month after it, the other an hour later.
    assert [count(bucket) for bucket in (0, 1, month + 360, month + 361)] == [2, 0, 0, None]


def test_what_tells_of_other_files_is_not_opened_to_see_whether_one_is_known(spark, tmp_path):
    deliveries = [deliver(tmp_path, name, 0, [line(1, 1)]) for name in "abc"]
    lake = Lake(tmp_path / "lake")
    for one in deliveries[:2]:
        ingest_files(spark, lake, [one.file])
    table = lake.table("files")
    (of_a,) = (one for one in table.snapshot().files if one.sources[0].endswith("a.jsonl"))
    Path(table.uri, of_a.path).unlink()
    assert known_files(lake, [one.file for one in deliveries[1:]]) == {deliveries[1].file.uri: 1}
    with pytest.raises(FileNotFoundError):
        known_files(lake, [deliveries[0].file])
