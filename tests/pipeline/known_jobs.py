"""Small random jobs whose service times, outputs and routing are known, emulated.

Cores are many and tasks mostly idle, so that times are as declared. Agents write what means,
variability, coefficients and routing rest on, and no more.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from streamgauge.engines.emulator import emulate
from streamgauge.lake.metrics import Metric
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.state import State
from streamgauge.simulation.topology_run import Tracing, simulate

# 60 s of warm-up are left out; 300 s remain, in twelve blocks of 24 s and half a one.
SECONDS, BUCKET_SECONDS = 360.0, 6.0
FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = "default"

# What the figures rest on, and the sign of life without which nothing counts.
_METRICS = frozenset(
    metric.label.encode()
    for metric in (
        Metric.EXECUTED,
        Metric.EMITTED,
        Metric.TRANSFERRED,
        Metric.EXECUTE_LATENCY_SUM,
        Metric.EXECUTE_LATENCY_SQUARES,
        Metric.EXECUTE_CPU_SUM,
        Metric.EXECUTE_CPU_SQUARES,
        Metric.EMIT_LATENCY_SUM,
        Metric.EMIT_LATENCY_SQUARES,
        Metric.EMIT_CPU_SUM,
        Metric.EMIT_CPU_SQUARES,
        Metric.WORKER_HEARTBEATS,
    )
)
_MOST_OUTPUTS = 1.5
_GROUPINGS: tuple[Any, ...] = ("shuffle", "all", {"fields": ["k"]}, {"fields": ["k"]})
_ENGINES: tuple[dict[str, Any], ...] = (
    {"engine": "storm-1"},
    # Tuples are dealt by load otherwise, which nobody declares.
    {"engine": "storm-2", "settings": {"topology.disable.loadaware.messaging": True}},
)
# From and to, by the operators' names; s is the source.
_SHAPES = (
    (("s", "a"),),
    (("s", "a"), ("a", "b")),
    (("s", "a"), ("a", "b"), ("b", "c")),
    (("s", "a"), ("s", "b")),
    (("s", "a"), ("s", "b"), ("a", "c")),
    # What comes to b is of two streams, each with outputs of its own.
    (("s", "a"), ("s", "b"), ("a", "b"), ("b", "c")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A job that is to be emulated.

    Attributes:
        job: What is true of it.
        seed: Of its emulation.
        started_at: When its simulated time begins.
        seconds: How long it is watched.
        bucket_seconds: How long the buckets of its metrics are.
    """

    job: Job
    seed: int
    started_at: datetime
    seconds: float = SECONDS
    bucket_seconds: float = BUCKET_SECONDS

    @property
    def name(self) -> str:
        """What its topology is called."""
        return self.job.topology.name


def known_jobs(count: int, *, seed: int) -> list[Known]:
    """Jobs of every shape, all different; most start at odd times of one day."""
    random = Random(seed)
    jobs = []
    for number in range(count):
        shape = _SHAPES[number % len(_SHAPES)]
        job = parse_job(json.dumps(_document(f"known-{number:03d}", shape, random)))
        # Some run side by side, and blocks begin in the middle of buckets.
        started_at = FIRST_START + timedelta(seconds=random.randrange(20 * 3600))
        jobs.append(Known(job=job, seed=random.randrange(2**31), started_at=started_at))
    return jobs


def _document(name: str, shape: Sequence[tuple[str, str]], random: Random) -> dict[str, Any]:
    """A job file. Cores are many and tasks mostly idle, so that nothing stretches its times."""
    names = sorted({one for pair in shape for one in pair}, key="sabc".index)
    tasks = {one: random.randint(1, 2 if one == "s" else 3) for one in names}
    groupings = [random.choice(_GROUPINGS) for _ in shape]
    per_second = random.uniform(20.0, 40.0)
    return {
        "streamgauge": 1,
        "topology": {
            "name": name,
            "operators": {
                one: {"kind": "source" if one == "s" else "processor", "tasks": tasks[one]}
                for one in names
            },
            "streams": [
                {"from": source, "to": target, "grouping": grouping}
                for (source, target), grouping in zip(shape, groupings, strict=True)
            ],
        },
        "behaviours": _behaviours(shape, tasks, per_second, random),
        "configuration": {**random.choice(_ENGINES), "executors": tasks, "workers": 1},
        # Names of its own: machines of different jobs are different.
        "cluster": {
            "machines": {f"machine-{name}": {"cores": 32}},
            "nodes": {f"node-{name}": {"machine": f"machine-{name}", "slots": 1}},
        },
        "workload": [
            {
                "source": "s",
                "per_second": per_second,
                "shape": random.choice(("poisson", "poisson", "regular")),
            }
        ],
    }


def _behaviours(
    shape: Sequence[tuple[str, str]], tasks: Mapping[str, int], per_second: float, random: Random
) -> dict[str, Any]:
    """What every operator does; a task is busy for a fifth of its time at the most."""
    senders = {source for source, _ in shape}
    most = {"s": per_second}
    found: dict[str, Any] = {}
    for one in tasks:
        into = [source for source, target in shape if target == one]
        # Every tuple of every task may come to one task, where each task gets a copy.
        busiest = most["s"] if one == "s" else sum(most[source] for source in into)
        longest_ms = min(0.2 / busiest * 1e3, 4.0)
        found[one] = {"service": _service(random, longest_ms)}
        if one in senders:
            found[one]["keys"] = {STREAM: _keys(random)}
        if one in senders and one != "s":
            found[one]["outputs"] = {STREAM: _outputs(random)}
            most[one] = busiest * tasks[one] * _MOST_OUTPUTS
        if len(into) > 1:
            special = {"service": _service(random, longest_ms)}
            found[one]["inputs"] = {
                into[0]: {STREAM: {**special, "outputs": {STREAM: _outputs(random)}}}
            }
    return found


def _service(random: Random, longest_ms: float) -> dict[str, Any]:
    """On a core, waiting, or both."""
    parts = random.choice((("cpu_ms",), ("cpu_ms",), ("wait_ms",), ("cpu_ms", "wait_ms")))
    return {part: _time(random, longest_ms / len(parts)) for part in parts}


def _time(random: Random, longest_ms: float) -> Any:
    mean = random.uniform(0.3, 1.0) * longest_ms
    kind = random.choice(("constant", "exponential", "gamma", "gamma", "lognormal", "uniform"))
    if kind == "constant":
        return mean
    if kind == "exponential":
        return {"exponential": mean}
    if kind == "uniform":
        spread = random.uniform(0.2, 1.0) * mean
        return {"uniform": {"low": mean - spread, "high": mean + spread}}
    most = 2.0 if kind == "gamma" else 1.0
    return {kind: {"mean": mean, "scv": random.uniform(0.2, most)}}


def _outputs(random: Random) -> Any:
    """Whole numbers, one of two numbers, or any number."""
    mean = random.uniform(0.4, _MOST_OUTPUTS)
    return random.choice(
        (
            random.randint(1, int(_MOST_OUTPUTS)),
            mean,
            {"poisson": mean},
            {"geometric": mean},
            {"empirical": {"values": [0, 1, 3], "weights": [2, 3, 1]}},
        )
    )


def _keys(random: Random) -> dict[str, Any]:
    """A few keys of different weights."""
    return {
        "given": {
            "weights": {f"key-{n}": random.uniform(0.2, 2.0) for n in range(random.randint(3, 9))}
        }
    }


def write_all(jobs: Iterable[Known], folder: Path) -> None:
    """Emulate jobs, and write one file of lines for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for known in jobs:
        with TemporaryDirectory() as written:
            emulate(
                known.job,
                place_job(known.job).plan,
                partial(_simulated, known),
                folder=written,
                seed=known.seed,
                bucket_seconds=known.bucket_seconds,
                trace_every=0,
                started_at=known.started_at,
            )
            found = [line for path in sorted(Path(written).iterdir()) for line in _lines(path)]
        (folder / f"{known.name}.jsonl").write_bytes(b"".join(found))


def _lines(path: Path) -> Iterator[bytes]:
    """Lines of plans and events, and of those samples that the truth is known of."""
    raw = path.read_bytes()
    for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines(keepends=True):
        metric = line.partition(b'"metric":"')[2].partition(b'"')[0]
        if not metric or metric in _METRICS:
            yield line


def _simulated(known: Known, *, seed: int, tracing: Tracing) -> SimulationResult:
    """A run that is watched by agents which keep no histograms of times.

    Sums and squares say more of means and variability. Bins would be three of four lines.
    """

    def look(state: State, compiled: Compiled) -> None:
        for bins in (state.wall_bin, state.cpu_bin, state.process_bin, state.emit_bin):
            bins[:] = 0
        state.wait_bin[:] = 0
        tracing.look(state, compiled)

    job = known.job
    assert job.workload is not None
    return simulate(
        place_job(job).plan,
        job.behaviours,
        job.workload,
        seconds=known.seconds,
        seed=seed,
        tracing=replace(tracing, look=look),
    )
