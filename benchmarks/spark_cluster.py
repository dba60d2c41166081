"""A stand-alone Spark cluster on the loopback of this machine, and what its event logs tell."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

MOST_SECONDS = 600
# Processes that live for seconds gain nothing from the second compiler.
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EVENT_LOG = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    # What the processes of each executor hold, its Python ones apart.
    "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.executor.processTreeMetrics.enabled": "true",
    "spark.executor.metrics.pollingInterval": "2s",
}


def find_spark_home() -> Path:
    """The folder of the pyspark package, which holds Spark's own programs."""
    import pyspark

    return Path(pyspark.__file__).parent


def make_environment(folder: Path) -> dict[str, str]:
    """Variables under which Spark's daemons stay small, on loopback, and write below `folder`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return own | {
        "SPARK_HOME": str(find_spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_DAEMON_MEMORY": "256m",
    }


@contextmanager
def start_process(
    command: Sequence[object], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone afterwards, with all that it started."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            list(map(str, command)),
            env=dict(environment),
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


@contextmanager
def start_cluster(
    workers: int, environment: Mapping[str, str], folder: Path, *, memory: str = "600m"
) -> Iterator[str]:
    """The URL of a master with so many workers of one core each."""
    port = _find_port()
    url, log = f"spark://127.0.0.1:{port}", folder / "master.log"
    spark_class = find_spark_home() / "bin" / "spark-class"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    offer = ["--cores", "1", "--memory", memory]
    with ExitStack() as stack:
        command = [spark_class, MASTER, *here, "--port", port]
        process = stack.enter_context(start_process(command, environment, log))
        _wait_for(lambda: "I have been elected leader" in log.read_text(), process, log)
        for number in range(workers):
            command = [spark_class, WORKER, *here, *offer, url]
            own_log = folder / f"worker-{number}.log"
            stack.enter_context(start_process(command, environment, own_log))
        _wait_for(lambda: log.read_text().count("Registering worker") == workers, process, log)
        yield url


def _find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + MOST_SECONDS
    while not condition():
        told = log.read_text(errors="replace")[-4000:]
        assert process.poll() is None, told
        assert time.monotonic() < end, told
        time.sleep(0.1)


# What is told of tasks, and the most that executors held (resident sets, but for the heap).
_COUNTS = (
    "tasks",
    "seconds",
    "jvm_cpu_seconds",
    "input_bytes",
    "shuffle_written_bytes",
    "shuffle_read_bytes",
    "spilled_bytes",
)
_HELD = {
    "jvm_heap_bytes": "JVMHeapMemory",
    "jvm_bytes": "ProcessTreeJVMRSSMemory",
    "python_bytes": "ProcessTreePythonRSSMemory",
}


def read_event_log(folder: Path) -> dict[str, Any]:
    """What the tasks of one application did, and what memory it took: in all, and by executor.

    Bytes are those of tasks that ended well; those of memory in all are the most of one executor.
    """
    (path,) = folder.iterdir()
    nothing = dict.fromkeys((*_COUNTS, *_HELD), 0.0)
    totals, executors = dict(nothing), dict[str, dict[str, float]]()
    stages: dict[int, list[float]] = {}
    for line in path.open(encoding="utf-8"):
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageExecutorMetrics":
            own = executors.setdefault(event["Executor ID"], dict(nothing))
            for name, theirs in _HELD.items():
                own[name] = max(own[name], event["Executor Metrics"][theirs])
                totals[name] = max(totals[name], own[name])
        elif event["Event"] == "SparkListenerTaskEnd" and "Task Metrics" in event:
            own = executors.setdefault(event["Task Info"]["Executor ID"], dict(nothing))
            counts = _count_task(event["Task Metrics"])
            stages.setdefault(event["Stage ID"], []).append(counts["seconds"])
            for name, value in counts.items():
                totals[name] += value
                own[name] += value
    slowest = {
        f"stage {number}, {len(times)} tasks": max(times) / sorted(times)[len(times) // 2]
        for number, times in stages.items()
        if len(times) > 1 and max(times) > 1.0
    }
    return {
        "stages": len(stages),
        **totals,
        "executors": executors,
        "slowest task over the median": slowest,
    }


def _count_task(metrics: Mapping[str, Any]) -> dict[str, float]:
    read = metrics["Shuffle Read Metrics"]
    values = (
        1,
        metrics["Executor Run Time"] / 1e3,
        metrics["Executor CPU Time"] / 1e9,
        metrics["Input Metrics"]["Bytes Read"],
        metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"],
        read["Remote Bytes Read"] + read["Local Bytes Read"],
        metrics["Disk Bytes Spilled"],
    )
    return dict(zip(_COUNTS, values, strict=True))
