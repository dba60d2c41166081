"""How a calibration divides among executors: tasks, seconds and bytes of a stand-alone cluster.

Master, workers and driver share one machine, so this shows how work is divided, not how much faster
a cluster is. Every executor has one core. The fleet has one topology with half of all samples.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.pipeline_fleet import Fleet
from benchmarks.pipeline_inputs import write_lake
from benchmarks.pipeline_work import calibrate_on_spark
from benchmarks.processes import run_apart
from benchmarks.report import Entry, say
from benchmarks.spark_cluster import make_environment, start_cluster

EXECUTORS = (1, 2, 4)
MEMORY = {"spark.executor.memory": "1g"}
WORKER_MEMORY = "1100m"


def run(*, large: bool) -> list[Entry]:
    """The same lake calibrated by one, two and four executors."""
    fleet = Fleet(topologies=120 if large else 12, days=3)
    entry = Entry(
        "pipeline on a cluster",
        f"calibration of {fleet.samples:,} samples of {fleet.topologies} topologies by executors"
        " of one core each, all on this machine; shares of the busiest executor: 1 is an even part",
    )
    figures = []
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        for executors in EXECUTORS:
            say(f"calibrating {fleet.samples:,} samples with {executors} executors")
            place = Path(folder) / str(executors)
            events = place / "events"
            events.mkdir(parents=True)
            # What a run keeps in its lake would spare the next one work.
            write_lake(place / "lake", fleet)
            with start_cluster(
                executors, make_environment(place), place, memory=WORKER_MEMORY
            ) as url:
                answer = run_apart(
                    calibrate_on_spark, place / "lake", master=url, events=events, conf=MEMORY
                )
            figures.append(answer.pop("figures"))
            entry.cases[f"{executors} executors"] = answer
            for label in ("tasks", "seconds", "input_bytes", "shuffle_read_bytes"):
                parts = [each[label] for each in answer["tasks"]["executors"].values()]
                part = max(parts) / sum(parts) * executors
                entry.ratios[f"{executors} executors, busiest one's part of {label}"] = part
    assert all(each == figures[0] for each in figures), "figures depend on the number of executors"
    return [entry]
