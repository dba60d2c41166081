"""A stand-alone cluster gives the bytes that threads of one process give."""

import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from benchmarks.spark_cluster import (
    MOST_SECONDS,
    QUICK,
    find_spark_home,
    make_environment,
    start_cluster,
    start_process,
)
from tests.engines.emulator.emulations import run as emulate

JOB = """
streamgauge: 1
topology:
  name: pair
  operators:
    s: {kind: source, tasks: 1}
    a: {tasks: 2}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours:
  s: {service: {cpu_ms: 0.05}}
  a: {service: {cpu_ms: {exponential: 2}}}
configuration: {executors: {s: 1, a: 2}, workers: 2}
cluster: {uniform: {nodes: 2, cores: 4}}
workload: [{source: s, per_second: 20}]
"""
# What a loopback cluster of this size can give.
SMALL = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.cores.max": "2",
}


def run(command, environment, log):
    with start_process(command, environment, log) as process:
        process.wait(timeout=MOST_SECONDS)
        assert process.returncode == 0, log.read_text(errors="replace")[-4000:]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_environment(tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="module")
def master(environment, tmp_path_factory):
    """The URL of a master with two workers of one core."""
    with start_cluster(2, environment, tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Five minutes of a small job, in buckets of five seconds: enough blocks for replicas."""
    folder = tmp_path_factory.mktemp("emulated") / "samples"
    emulate(JOB, folder, seconds=300.0, bucket_seconds=5.0)
    return folder


def files_of(start, samples, environment, folder, options=()):
    """What calibration writes after an ingest, by name."""
    lake, made = folder / "lake", folder / "made"
    made.mkdir()
    run([*start, "ingest", samples, "--lake", lake, *options], environment, folder / "ingest.log")
    wanted = ["calibrate", "--lake", lake, "--topology", "pair", "-o", made / "p.json"]
    run([*start, *wanted, *options], environment, folder / "calibrate.log")
    return {path.name: path.read_bytes() for path in made.iterdir()}


@pytest.fixture(scope="module")
def local_files(samples, environment, tmp_path_factory):
    start = [sys.executable, "-m", "streamgauge"]
    folder = tmp_path_factory.mktemp("local")
    found = files_of(start, samples, environment, folder, ["--master", "local[2]"])
    # The profile, and its replicas beside it.
    assert len(found) == 2
    return found


@pytest.mark.slow
def test_the_command_line_on_a_cluster_gives_the_same_bytes(
    master, samples, environment, local_files, tmp_path
):
    start = [sys.executable, "-m", "streamgauge"]
    conf = [part for key, value in SMALL.items() for part in ("--conf", f"{key}={value}")]
    found = files_of(start, samples, environment, tmp_path, ["--master", master, *conf])
    assert found == local_files


@pytest.mark.slow
def test_spark_submit_with_the_package_as_an_archive_gives_the_same_bytes(
    master, samples, environment, local_files, project, tmp_path
):
    archive = shutil.make_archive(
        str(tmp_path / "streamgauge"), "zip", root_dir=project / "src", base_dir="streamgauge"
    )
    # An interpreter with all packages but those installed to be edited, such as our own.
    packages = sysconfig.get_path("purelib")
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n'
    )
    python.chmod(0o755)
    settings = SMALL | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.pyspark.python": str(python),
        "spark.sql.shuffle.partitions": "7",
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    start = [find_spark_home() / "bin" / "spark-submit", "--master", master, "--py-files", archive]
    start += [*conf, project / "scripts" / "submit.py"]
    assert files_of(start, samples, environment, tmp_path) == local_files
    # Executors got the archive, too.
    assert list(Path(environment["SPARK_WORKER_DIR"]).glob("app-*/*/streamgauge.zip"))
