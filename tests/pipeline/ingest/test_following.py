"""A landing folder is followed: each file once, late ones too, batch by batch."""

import os
import signal
import subprocess
import sys
import time

import pytest

from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.following import follow
from tests.pipeline.ingest.deliveries import content, line


def run_once(spark, lake, folder):
    told = []
    query = follow(
        spark, lake, str(folder), told=lambda number, one: told.append((number, one)), once=True
    )
    query.awaitTermination()
    assert query.exception() is None
    return told


def test_files_are_taken_as_they_come_and_only_once(spark, tmp_path):
    landing = tmp_path / "landing + 1"
    landing.mkdir()
    lake = Lake(tmp_path / "lake")
    (landing / "b.jsonl").write_bytes(line(1, 1, bucket=9) + b"\n")
    (landing / ".c.jsonl").write_bytes(line(9, 9) + b"\n")
    ((number, first),) = run_once(spark, lake, landing)
    assert (number, first.lines, first.taken) == (0, 1, {"samples": 1})
    # A file with older rows comes later; one that is being written gets its name.
    (landing / "a.jsonl").write_bytes(line(2, 1, bucket=0) + b"\nnot a line\n")
    (landing / ".c.jsonl").rename(landing / "c.jsonl")
    ((number, second),) = run_once(spark, lake, landing)
    assert (number, second.files, second.lines) == (1, 2, 3)
    assert run_once(spark, lake, landing) == []
    rows, refused = content(lake)
    assert [row[0] for row in rows] == [1, 2, 9]
    assert refused == [b"not a line"]
    # Every batch was committed once for its table.
    (name,) = [path.name for path in (tmp_path / "lake" / "_following").iterdir()]
    assert lake.table("samples").batch_of(f"{name}/samples") == 1


def wait_for(path, text, running, seconds=120.0):
    end = time.monotonic() + seconds
    while text not in path.read_text():
        assert running.poll() is None and time.monotonic() < end, path.read_text()
        time.sleep(0.1)


@pytest.mark.slow
def test_ctrl_c_stops_after_the_batch_and_leaves_nothing_running(tmp_path):
    landing, lake, said = tmp_path / "landing", tmp_path / "lake", tmp_path / "said"
    landing.mkdir()
    command = [sys.executable, "-m", "streamgauge", "ingest", str(landing), "--follow"]
    with said.open("w") as errors:
        running = subprocess.Popen(
            [*command, "--lake", str(lake), "--master", "local[2]"],
            start_new_session=True,
            stderr=errors,
        )
    try:
        wait_for(said, "stop with Ctrl-C", running)
        (landing / ".a.jsonl").write_bytes(line(1, 1) + b"\n")
        (landing / ".a.jsonl").rename(landing / "a.jsonl")
        wait_for(said, "batch 0: 1 file, 1 lines", running)
        # As a terminal does: to all processes of the group.
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(60) == 0
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert said.read_text().splitlines()[-1] == "stopped"
    assert "Traceback" not in said.read_text()
    assert [row[0] for row in content(Lake(lake))[0]] == [1]
