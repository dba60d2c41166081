"""The process that drives an ingest does not grow with what is read."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streamgauge.lake.tables import Lake
from tests.pipeline.ingest.deliveries import START_US, line

MIB = 2**20
TASKS = 2000
BUCKET_US = 10_000_000
MOST_SECONDS = 3600
# What a process of Python may use more in one run than in the next of the same kind.
SLACK_MIB = 40


def write_lines(path, size):
    """Lines of about so many bytes, all different: the same tasks, bucket after bucket."""
    block = b"".join(line(task, 7) + b"\n" for task in range(TASKS))
    buckets = size // len(block)
    with path.open("wb") as file:
        for number in range(buckets):
            time_us = b"%d" % (START_US + number * BUCKET_US)
            file.write(block.replace(b"%d" % START_US, time_us))
    return buckets * TASKS


def peak_mib(status):
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def ingested(path, lake):
    """Ingest a file in a process of its own; the most memory that its Python ever had, in MiB."""
    options = ["--lake", str(lake), "--master", "local[2]", "--conf", "spark.driver.memory=1g"]
    command = [sys.executable, "-m", "streamgauge", "ingest", str(path), *options]
    log = path.with_suffix(".log")
    peak, end = 0.0, time.monotonic() + MOST_SECONDS
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink)
    try:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None and time.monotonic() < end:
            # An ended process has no memory any more.
            if "VmHWM" in (text := status.read_text()):
                peak = peak_mib(text)
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, log.read_text(errors="replace")[-4000:]
    return peak


def check_growth(folder, sizes):
    peaks = []
    for size in sizes:
        path, lake = folder / f"{size}.jsonl", folder / f"lake-{size}"
        lines = write_lines(path, size)
        peaks.append(ingested(path, lake))
        path.unlink()
        assert Lake(lake).table("samples").snapshot().rows == lines
    small, large = peaks
    assert large <= small + SLACK_MIB


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the memory")
def test_a_file_ten_times_as_large_takes_no_more_memory_of_the_driver(tmp_path):
    check_growth(tmp_path, [100 * MIB, 1000 * MIB])
