"""An ingest that is killed at any moment leaves nothing half done, and a re-run completes it."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta

import pytest

from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.job import ingest_files
from tests.pipeline.ingest.deliveries import RECEIVED, content, deliver, expected, line

MOST_SECONDS = 180


def files_below(folder):
    return sum(len(files) for _, _, files in os.walk(folder))


def run_and_kill(sources, lake, moment):
    """Kill the ingest and all its processes once it has left so many files more; or let it end."""
    before = files_below(lake)
    command = [sys.executable, "-m", "streamgauge", "ingest", *map(str, sources)]
    options = ["--lake", str(lake), "--master", "local[2]", "--conf", "spark.driver.memory=1g"]
    running = subprocess.Popen(
        [*command, *options],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + MOST_SECONDS
    while running.poll() is None and time.monotonic() < end:
        if files_below(lake) - before >= moment:
            break
        time.sleep(0.002)
    os.killpg(running.pid, signal.SIGKILL) if running.poll() is None else None
    running.wait()


def check_killed(spark, tmp_path, seed):
    rng = random.Random(seed)
    first = deliver(tmp_path, "first", 0, [line(task, 1) for task in range(60)])
    lines = [line(task, 2) for task in range(30)] + [line(task, 1) for task in range(30, 80)]
    second = deliver(tmp_path, "second", 1, [*lines, b"not a line", line(70, 1)])
    for one in (first, second):
        stamp = (RECEIVED + timedelta(hours=one.hour)).timestamp()
        os.utime(one.path, (stamp, stamp))
    lake = Lake(tmp_path / "lake")
    ingest_files(spark, lake, [first.file])
    run_and_kill([second.path], lake.uri, rng.randrange(1, 45))
    rows, _ = content(lake)
    # Whatever was done, no row is there twice, and none is missing.
    assert max(Counter(row[:2] for row in rows).values()) == 1
    assert {row[0] for row in rows} >= set(range(60))
    tally = ingest_files(spark, lake, [second.file])
    assert content(lake) == expected([first, second])
    assert tally.lines == len(second.lines)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_ingest_is_completed_by_a_re_run(spark, tmp_path, seed):
    check_killed(spark, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 13))
def test_a_killed_ingest_is_completed_by_a_re_run_at_length(spark, tmp_path, seed):
    check_killed(spark, tmp_path, seed)
