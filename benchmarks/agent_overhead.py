"""What the metrics agent costs a topology on real Storm: CPU, and latency.

The same topology, one that knows nothing of us, runs twice on one cluster at the same time, with
the agent and without it, so that whatever else the machine does falls on both. Each repetition is
a new pair of processes, since what the compiler makes of a program differs from run to run, and who
is started first changes from one to the next.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from benchmarks.report import Entry
from streamgauge.engines.storm.agent_settings import agent_settings
from streamgauge.engines.storm.bridge import Bridge
from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import own_jar, storm_jars
from streamgauge.engines.storm.java_tools import java_command
from streamgauge.engines.storm.processes import processes_of
from streamgauge.engines.storm.submitting import submit_jar
from streamgauge.errors import InvalidInput, SourceUnreachable

SOURCE = Path(__file__).parent.parent / "examples" / "storm" / "Words.java"
WITH, WITHOUT = "with", "without"
# Idle bolts sleep at once. By default they poll, for half a core here with hardly anything to do,
# and how much of that they get done changes from second to second by more than any agent costs.
QUIET = {"topology.bolt.wait.progressive.level2.count": 0}
WORKERS = 2
WARM_UP_SECONDS = 50.0
MEASURED_SECONDS = 40.0
_ALL_TIME = ":all-time"
_GONE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Sentences a second, and what a bolt computes for a tuple, in microseconds."""

    per_second: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A repetition: cores that workers kept busy, and mean complete latency in milliseconds."""

    cores: dict[str, float]
    complete_ms: dict[str, float]

    @property
    def overhead(self) -> float:
        """CPU with the agent over that without it, less one."""
        return self.cores[WITH] / self.cores[WITHOUT] - 1.0


LOADS = {
    "bolts that do nothing": Load(per_second=1000, micros=0),
    "bolts that compute 50 µs": Load(per_second=300, micros=50),
}


def run(*, large: bool) -> list[Entry]:
    """Pairs for each load."""
    repetitions = 10 if large else 4
    with tempfile.TemporaryDirectory() as folder:
        try:
            storm_jars(), own_jar()
        except (InvalidInput, SourceUnreachable) as error:
            print(f"agent_overhead is left out: {error}", file=sys.stderr)
            return []
        jar = compiled_topology(Path(folder))
        cluster = StormCluster.up(Path(folder) / "storm", nodes=2, slots=WORKERS, outlives=False)
        try:
            with cluster.bridge() as bridge:
                return [
                    _entry(name, [_pair(cluster, bridge, jar, load, n) for n in range(repetitions)])
                    for name, load in LOADS.items()
                ]
        finally:
            cluster.down()


def compiled_topology(folder: Path) -> Path:
    """The topology's jar."""
    tools = Path(java_command()).resolve().parent
    classes, jar = folder / "classes", folder / "words.jar"
    libraries = f"{storm_jars().workers}/*"
    paths = [str(one) for one in (tools / "javac", classes, SOURCE, tools / "jar", jar)]
    subprocess.run([paths[0], "-cp", libraries, "-d", *paths[1:3]], check=True)
    subprocess.run([paths[3], "cf", paths[4], "-C", paths[1], "."], check=True)
    return jar


def _pair(cluster: StormCluster, bridge: Bridge, jar: Path, load: Load, number: int) -> Pair:
    order = (WITH, WITHOUT) if number % 2 == 0 else (WITHOUT, WITH)
    arguments = (str(load.per_second), str(WORKERS), str(load.micros))
    with _running(cluster, bridge):
        for name in order:
            settings = {**QUIET, **(agent_settings() if name == WITH else {})}
            submit_jar(cluster, jar, "Words", (name, *arguments), settings=settings)
        time.sleep(WARM_UP_SECONDS)
        begin = {name: _cpu_seconds(cluster, name) for name in order}
        roots = {name: _roots(bridge, name) for name in order}
        began = time.monotonic()
        time.sleep(MEASURED_SECONDS)
        end = {name: _cpu_seconds(cluster, name) for name in order}
        seconds = time.monotonic() - began
        after = {name: _roots(bridge, name) for name in order}
    pair = Pair(
        cores={name: (end[name] - begin[name]) / seconds for name in order},
        complete_ms={name: _mean_since(roots[name], after[name]) for name in order},
    )
    print(f"  {number + 1}: {pair.overhead:+.1%} {pair}", file=sys.stderr)
    return pair


@contextmanager
def _running(cluster: StormCluster, bridge: Bridge) -> Iterator[None]:
    """Whatever is submitted inside is gone in the end."""
    try:
        yield
    finally:
        for one in bridge.ask("cluster")["topologies"]:
            bridge.ask("kill", topology=one["name"], wait_seconds=0)
        deadline = time.monotonic() + _GONE_SECONDS
        while cluster.has_workers() and time.monotonic() < deadline:
            time.sleep(0.2)


def _cpu_seconds(cluster: StormCluster, topology: str) -> float:
    """CPU that the workers of a topology have used so far; their log writers are not counted."""
    ticks, found = 0, 0
    for process in processes_of(cluster.state.cluster):
        words = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        mains = [word for word in words if word.startswith("org.apache.storm.")]
        if mains[:1] == ["org.apache.storm.daemon.worker.Worker"] and any(
            word.startswith(f"{topology}-") for word in words
        ):
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
            found += 1
    if found != WORKERS:
        raise SourceUnreachable(f"{topology} has {found} workers, not {WORKERS}")
    return ticks / os.sysconf("SC_CLK_TCK")


def _roots(bridge: Bridge, topology: str) -> tuple[float, float]:
    """Roots acked so far, and milliseconds that they took together, as nimbus knows."""
    acked, took = 0.0, 0.0
    for one in bridge.ask("statistics", topology=topology)["executors"]:
        counters: dict[str, Any] = one.get("counters", {})
        if "complete_ms" in counters:
            count = counters["acked"].get(_ALL_TIME, {}).get("default", 0)
            acked += count
            took += count * counters["complete_ms"].get(_ALL_TIME, {}).get("default", 0.0)
    return acked, took


def _mean_since(before: tuple[float, float], after: tuple[float, float]) -> float:
    roots = after[0] - before[0]
    return (after[1] - before[1]) / roots if roots else math.nan


def _entry(name: str, pairs: list[Pair]) -> Entry:
    overheads = [pair.overhead for pair in pairs]
    later = [pair.complete_ms[WITH] - pair.complete_ms[WITHOUT] for pair in pairs]
    cores = [pair.cores[WITHOUT] for pair in pairs]
    return Entry(
        name=f"agent overhead, {name}",
        about=f"CPU of a topology's workers with the agent against without; {len(pairs)} pairs",
        cases={str(n): {"cores": p.cores, "ms": p.complete_ms} for n, p in enumerate(pairs, 1)},
        ratios={
            "CPU more with the agent, mean": statistics.fmean(overheads),
            "± 95 %": _halfwidth(overheads),
            "complete latency more, ms, mean": statistics.fmean(later),
            "± 95 %, ms": _halfwidth(later),
            "cores without the agent": statistics.fmean(cores),
            "complete latency without it, ms": statistics.fmean(
                pair.complete_ms[WITHOUT] for pair in pairs
            ),
        },
    )


def _halfwidth(values: list[float]) -> float:
    """Of the 95 % interval of the mean, by Student's distribution."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, 0.975)) * error
