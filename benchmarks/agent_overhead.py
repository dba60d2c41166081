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
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from benchmarks.report import Entry, say
from streamgauge.engines.storm.agent import agent_settings
from streamgauge.engines.storm.bridge import Bridge
from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import java_command, own_jar, storm_jars
from streamgauge.engines.storm.processes import processes_of
from streamgauge.engines.storm.submitting import submit_jar
from streamgauge.errors import InvalidInput, SourceUnreachable

SOURCE = Path(__file__).parent.parent / "examples" / "storm" / "Words.java"
WITH, WITHOUT = "with", "without"
# Idle bolts sleep at once. By default they poll, for half a core here with hardly anything to do,
# and how much of that they get done changes from second to second by more than any agent costs.
QUIET = {"topology.bolt.wait.progressive.level2.count": 0}
WORKERS = 2
WARM_UP_SECONDS, MEASURED_SECONDS, GONE_SECONDS = 50.0, 40.0, 120.0
ALL_TIME = ":all-time"
# Of each topology: cores that its workers kept busy, and mean complete latency in milliseconds.
Pair = dict[str, dict[str, float]]
# What is run, and its arguments: sentences a second, and microseconds that a bolt computes a tuple.
LOADS = {"bolts that do nothing": (1000, 0), "bolts that compute 50 µs": (300, 50)}


def run(*, large: bool) -> list[Entry]:
    """Pairs for each load."""
    try:
        storm_jars(), own_jar()
    except (InvalidInput, SourceUnreachable) as error:
        say(f"agent_overhead is left out: {error}")
        return []
    entries = []
    with tempfile.TemporaryDirectory() as folder:
        jar = compiled_topology(Path(folder))
        cluster = StormCluster.up(Path(folder) / "storm", nodes=2, slots=WORKERS, outlives=False)
        try:
            with cluster.bridge() as bridge:
                for name, (per_second, micros) in LOADS.items():
                    arguments = (str(per_second), str(WORKERS), str(micros))
                    pairs = [
                        _run_pair(cluster, bridge, jar, arguments, number)
                        for number in range(10 if large else 4)
                    ]
                    entries.append(_summarise(name, pairs))
        finally:
            cluster.down()
    return entries


def compiled_topology(folder: Path) -> Path:
    """The topology's jar."""
    tools = Path(java_command()).resolve().parent
    classes, jar = folder / "classes", folder / "words.jar"
    libraries = f"{storm_jars().workers}/*"
    for command in (
        [tools / "javac", "-cp", libraries, "-d", classes, SOURCE],
        [tools / "jar", "cf", jar, "-C", classes, "."],
    ):
        subprocess.run([str(word) for word in command], check=True)
    return jar


def _run_pair(
    cluster: StormCluster, bridge: Bridge, jar: Path, arguments: tuple[str, ...], number: int
) -> Pair:
    """The topology with and without the agent at the same time, in new processes."""
    order = (WITH, WITHOUT) if number % 2 == 0 else (WITHOUT, WITH)
    with cleared(cluster, bridge):
        for name in order:
            settings = {**QUIET, **(agent_settings() if name == WITH else {})}
            submit_jar(cluster, jar, "Words", (name, *arguments), settings=settings)
        time.sleep(WARM_UP_SECONDS)
        before, began = _read_totals(cluster, bridge), time.monotonic()
        time.sleep(MEASURED_SECONDS)
        after, seconds = _read_totals(cluster, bridge), time.monotonic() - began
    pair = {}
    for name in order:
        cpu_seconds, acked, complete_ms = (after[name] - before[name]).tolist()
        mean = complete_ms / acked if acked else math.nan
        pair[name] = {"cores": cpu_seconds / seconds, "ms": mean}
    say(f"{number + 1}: {pair}")
    return pair


@contextmanager
def cleared(cluster: StormCluster, bridge: Bridge) -> Iterator[None]:
    """Whatever is submitted inside is gone in the end."""
    try:
        yield
    finally:
        for one in bridge.ask("cluster")["topologies"]:
            bridge.ask("kill", topology=one["name"], wait_seconds=0)
        deadline = time.monotonic() + GONE_SECONDS
        while cluster.has_workers() and time.monotonic() < deadline:
            time.sleep(0.2)


def _read_totals(cluster: StormCluster, bridge: Bridge) -> dict[str, NDArray[np.float64]]:
    """So far: CPU seconds of the workers, roots acked, and milliseconds that these took."""
    cpu = {name: _cpu_seconds(cluster, name) for name in (WITH, WITHOUT)}
    return {name: np.array([cpu[name], *_roots(bridge, name)]) for name in cpu}


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
        counters = one.get("counters", {})
        if "complete_ms" in counters:
            count = counters["acked"].get(ALL_TIME, {}).get("default", 0)
            acked += count
            took += count * counters["complete_ms"].get(ALL_TIME, {}).get("default", 0.0)
    return acked, took


def _summarise(name: str, pairs: Sequence[Pair]) -> Entry:
    entry = Entry(
        f"agent overhead, {name}",
        f"CPU of a topology's workers with the agent against without; {len(pairs)} pairs",
        cases={str(number): dict(pair) for number, pair in enumerate(pairs, start=1)},
    )
    more = [pair[WITH]["cores"] / pair[WITHOUT]["cores"] - 1.0 for pair in pairs]
    later = [pair[WITH]["ms"] - pair[WITHOUT]["ms"] for pair in pairs]
    entry.ratios["CPU more with the agent, mean"] = statistics.fmean(more)
    entry.ratios["± 95 %"] = _halfwidth(more)
    entry.ratios["complete latency more, ms, mean"] = statistics.fmean(later)
    entry.ratios["± 95 %, ms"] = _halfwidth(later)
    for label, figure in (("cores", "cores"), ("complete latency, ms,", "ms")):
        without = statistics.fmean(pair[WITHOUT][figure] for pair in pairs)
        entry.ratios[f"{label} without the agent"] = without
    return entry


def _halfwidth(values: list[float]) -> float:
    """Of the 95 % interval of the mean, by Student's distribution."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, 0.975)) * error
