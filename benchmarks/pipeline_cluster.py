"""How a calibration divides among executors: tasks, seconds and bytes of a stand-alone cluster.

Master, workers and driver share one machine, so this shows how work is divided, not how much faster
a cluster is. Every executor has one core. The fleet has one topology with half of all samples.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

from benchmarks.pipeline_fleet import Fleet
from benchmarks.pipeline_inputs import write_lake
from benchmarks.pipeline_work import calibrate_on_spark
from benchmarks.processes import Answer, run_apart
from benchmarks.report import Entry, say
from benchmarks.spark_cluster import make_environment, start_cluster

MEMORY = {"spark.executor.memory": "1g"}
WORKER_MEMORY = "1100m"
SMALL, LARGE = Fleet(topologies=12, days=3), Fleet(topologies=120, days=3)
# Whether work divides evenly, and what an executor must have room for.
_PARTS = ("tasks", "seconds", "shuffle_read_bytes", "shuffle_written_bytes")
_HELD = ("jvm_bytes", "python_bytes")


def _measure(done: Mapping[str, Entry], *, large: bool, executors: int) -> Entry:
    """A lake calibrated by so many executors."""
    fleet = LARGE if large else SMALL
    say(f"calibrating {fleet.samples:,} samples with {executors} executors")
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        place = Path(folder)
        run_apart(write_lake, place / "lake", fleet)
        answer = run_apart(_calibrate_on_cluster, place, executors)
    tasks = answer["tasks"]
    # The driver is listed, too, and runs no tasks.
    each = [one for name, one in tasks["executors"].items() if name != "driver"]
    entry = Entry(
        _name(executors),
        f"calibration of {fleet.samples:,} samples of {fleet.topologies} topologies by {executors}"
        " executors of one core each, all on this machine; parts of the busiest: 1 is an even part",
        cases={"calibration": answer},
        ratios={
            "seconds": answer["seconds"],
            "CPU seconds": answer["cpu_seconds"],
            "peak memory, bytes": answer["peak_bytes"],
            **{f"tasks: {label}": tasks[label] for label in _PARTS},
        },
    )
    for label in _PARTS:
        part = max(one[label] for one in each) / tasks[label] * executors
        entry.ratios[f"busiest executor's part of {label}"] = part
    for label in _HELD:
        entry.ratios[f"largest executor's {label}"] = max(one[label] for one in each)
    entry.ratios["driver's jvm_bytes"] = tasks["executors"]["driver"]["jvm_bytes"]
    for other in (done[name] for name in PARTS if name in done):
        theirs = other.cases["calibration"]["figures"]
        assert theirs == answer["figures"], f"figures differ from those of {other.name}"
    return entry


def _calibrate_on_cluster(place: Path, executors: int) -> Answer:
    """Start a cluster, calibrate, and give a digest of the figures."""
    events = place / "events"
    events.mkdir()
    environment = make_environment(place)
    with start_cluster(executors, environment, place, memory=WORKER_MEMORY) as url:
        answer = calibrate_on_spark(place / "lake", master=url, events=events, conf=MEMORY)
    digest = sha256(repr(sorted(answer["figures"].items(), key=repr)).encode()).hexdigest()
    return {**answer, "figures": digest}


def _name(executors: int) -> str:
    return f"pipeline_cluster {executors}"


PARTS: Mapping[str, Callable[..., Entry]] = {
    _name(executors): partial(_measure, executors=executors) for executors in (1, 2, 4)
}
