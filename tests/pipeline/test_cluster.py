"""A stand-alone cluster gives the bytes that threads of one process give."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

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
MOST_SECONDS = 600
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
# What a loopback cluster of this size can give.
SMALL = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.cores.max": "2",
}


@contextmanager
def started(command, environment, log):
    """A process that is gone afterwards, with all that it started."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            list(map(str, command)),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # A worker that is asked ends its executors; whoever does not listen is killed.
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(command, environment, log):
    with started(command, environment, log) as process:
        process.wait(timeout=MOST_SECONDS)
        assert process.returncode == 0, log.read_text(errors="replace")[-4000:]


def until(condition, process, log):
    end = time.monotonic() + MOST_SECONDS
    while not condition():
        told = log.read_text(errors="replace")[-4000:]
        assert process.poll() is None, told
        assert time.monotonic() < end, told
        time.sleep(0.1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def spark_home():
    import pyspark

    return Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return own | {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_DAEMON_MEMORY": "256m",
    }


@pytest.fixture(scope="module")
def master(environment, tmp_path_factory):
    """The URL of a master with two workers of one core."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    url, log = f"spark://127.0.0.1:{port}", folder / "master.log"
    spark_class = spark_home() / "bin" / "spark-class"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    offer = ["--cores", "1", "--memory", "600m"]
    with ExitStack() as stack:
        command = [spark_class, MASTER, *here, "--port", port]
        process = stack.enter_context(started(command, environment, log))
        until(lambda: "I have been elected leader" in log.read_text(), process, log)
        for number in range(2):
            command = [spark_class, WORKER, *here, *offer, url]
            own_log = folder / f"worker-{number}.log"
            stack.enter_context(started(command, environment, own_log))
        until(lambda: log.read_text().count("Registering worker") == 2, process, log)
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
    start = [spark_home() / "bin" / "spark-submit", "--master", master, "--py-files", archive]
    start += [*conf, project / "scripts" / "submit.py"]
    assert files_of(start, samples, environment, tmp_path) == local_files
    # Executors got the archive, too.
    assert list(Path(environment["SPARK_WORKER_DIR"]).glob("app-*/*/streamgauge.zip"))
