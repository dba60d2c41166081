"""The folder: refused, replaced or left as it was; files whole or not there at all."""

from datetime import datetime

import pytest

from streamgauge.engines.emulator import emulate
from streamgauge.engines.emulator.outbox import Outbox
from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.records import Event, Sample
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from tests.engines.disks import small_disk
from tests.engines.emulator.emulations import JOINED, emulated, lines, run

EVENT = Event(topology="t", happened_at_us=1, kind="start")


def sample(start):
    return Sample(
        node="n", metric="node_cpu", bucket_start_us=start, bucket_seconds=1.0, value=1.0, count=1
    )


def test_nothing_has_its_name_before_the_end(tmp_path):
    with Outbox(tmp_path / "new") as outbox:
        outbox.write(EVENT)
        assert all(path.name.startswith(".") for path in (tmp_path / "new").iterdir())
        outbox.commit()
    assert [path.name for path in sorted((tmp_path / "new").iterdir())] == [
        ".emulated",
        "events.jsonl",
    ]


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_what_is_not_finished_leaves_no_trace(tmp_path, fault):
    with pytest.raises(fault), Outbox(tmp_path / "new") as outbox:
        outbox.write(EVENT)
        raise fault
    assert not (tmp_path / "new").exists()


def test_an_interrupted_emulation_leaves_the_one_before(tmp_path):
    run(JOINED, tmp_path, seconds=1.0, bucket_seconds=1.0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupt(reached, horizon):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(JOINED, tmp_path, seconds=1.0, bucket_seconds=1.0, progress=interrupt)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_earlier_emulation_is_replaced_whole(tmp_path):
    with Outbox(tmp_path, most_bytes=1) as outbox:
        for start in range(3):
            outbox.write(sample(start))
        outbox.commit()
    assert len(list(tmp_path.glob("samples-*"))) == 3
    with Outbox(tmp_path) as outbox:
        outbox.write(EVENT)
        outbox.commit()
    assert [path.name for path in tmp_path.glob("*.jsonl*")] == ["events.jsonl"]


@pytest.mark.parametrize(("most", "files"), [(1, 5), (2, 3), (60, 1)])
def test_samples_go_on_in_another_file_after_some_buckets(tmp_path, most, files):
    with Outbox(tmp_path, most_buckets=most) as outbox:
        for start in range(5):
            outbox.write(sample(start))
            outbox.end_bucket()
        outbox.commit()
    found = sorted(tmp_path.glob("samples-*"))
    assert [path.name for path in found] == [f"samples-{n + 1:04d}.jsonl.gz" for n in range(files)]
    assert sum(len(lines(path)) for path in found) == 5


def test_what_a_killed_emulation_left_is_cleared_away(tmp_path):
    (tmp_path / ".emulated").touch()
    (tmp_path / ".samples-0001.jsonl.gz").write_bytes(b"half")
    with Outbox(tmp_path) as outbox:
        outbox.write(sample(0))
        outbox.commit()
    assert len(lines(tmp_path / "samples-0001.jsonl.gz")) == 1


@pytest.mark.parametrize(
    "names",
    [["thesis.tex"], ["events.jsonl"], [".emulated", "thesis.tex"], [".emulated", "samples.gz"]],
)
def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidInput, match=r"holds '.*'; expected an empty folder"):
        Outbox(tmp_path).__enter__()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, "mine"
    )


def test_two_emulations_do_not_write_to_one_folder(tmp_path):
    with (
        Outbox(tmp_path) as first,
        pytest.raises(InvalidInput, match="another emulation"),
    ):
        first.write(EVENT)
        Outbox(tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder", tmp_path / "nul\0"):
        with pytest.raises(UnreadableFile, match="expected a folder that can be written"):
            Outbox(folder).__enter__()


def test_a_disk_that_fills_up_is_reported_and_cleared(tmp_path):
    with (
        small_disk(),
        pytest.raises(UnreadableFile, match="expected a folder that can be written"),
        Outbox(tmp_path / "new") as outbox,
    ):
        for number in range(10_000):
            outbox.write(Event(topology="t", happened_at_us=number, kind="start"))
        outbox.commit()
    assert not (tmp_path / "new").exists()


def test_a_disk_that_fills_up_at_the_very_end_is_reported_and_cleared(tmp_path):
    # What a compressed stream holds back is written when it is closed.
    with small_disk(), pytest.raises(UnreadableFile), Outbox(tmp_path / "new") as outbox:
        for start in range(10):
            outbox.write(sample(start * 987_654_321))
        outbox.commit()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"bucket_seconds": 0.0}, "bucket_seconds"),
        ({"bucket_seconds": -1.0}, "bucket_seconds"),
        ({"bucket_seconds": 1e6}, "bucket_seconds"),
        ({"trace_every": -1}, "trace_every"),
        ({"seed": -1}, "seed"),
        ({"cluster": ""}, "cluster"),
        ({"step": " "}, "step"),
        ({"seconds": 0.0}, "seconds"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, options, place):
    with pytest.raises(InvalidInput) as refusal:
        run(JOINED, tmp_path / "new", **{"seconds": 1.0, "bucket_seconds": 1.0, **options})
    assert refusal.value.problems[0].place == (place,)
    assert not (tmp_path / "new").exists()


def test_a_time_without_its_zone_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="with its zone"):
        run(JOINED, tmp_path, seconds=1.0, started_at=datetime(2026, 1, 1))


def test_a_plan_of_another_job_is_refused(tmp_path):
    job = parse_job(JOINED)
    other = parse_job(
        JOINED.replace(" j:", " k:").replace("to: j", "to: k").replace("from: j", "from: k")
    )
    with pytest.raises(InvalidInput):
        emulate(job, place_job(other).plan, None, folder=tmp_path, seed=1)


def test_a_run_shorter_than_a_bucket_gives_one_short_bucket(tmp_path):
    job = emulated(JOINED, tmp_path, seconds=1.5, warmup=0.5, bucket_seconds=60.0)
    assert {one.bucket_seconds for one in job.samples} == {2.0}
