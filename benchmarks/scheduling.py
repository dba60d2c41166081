"""Schedulers: how fast they are, and how that grows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.report import Entry, Measurement, growth, measure
from benchmarks.topologies import random_topology
from streamgauge.planning.scheduling.contract import Expected, load_scheduler, scheduler_names
from streamgauge.topology import Cluster, Configuration, Resources, Topology

ALLOWED_SECONDS = 2.0
EXECUTORS_PER_OPERATOR = 16
# Executors and nodes; the middle is what has to be done in time.
SIZES = ((1600, 100), (3200, 200), (6400, 400))
MIDDLE = SIZES[1]
SLOTS, CORES, MEMORY_BYTES = 20, 8.0, 32 * 2**30


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    sizes = (*SIZES, (12800, 800)) if large else SIZES
    cases: dict[str, dict[str, Any]] = {}
    ratios: dict[str, float] = {}
    for name in scheduler_names():
        timed = {size: _timed(name, *size) for size in sizes}
        cases |= {f"{name}, {size[0]} on {size[1]}": asdict(one) for size, one in timed.items()}
        part = timed[MIDDLE].seconds / ALLOWED_SECONDS
        ratios[f"part of the 2 s allowed: {name}"] = round(part, 3)
        times = growth(timed[sizes[0]].seconds, timed[sizes[-1]].seconds, sizes[-1][0] / 1600)
        ratios[f"growth exponent: {name}"] = round(times, 2)
    return [
        Entry(
            name="scheduling: speed",
            about=f"{MIDDLE[0]} executors on {MIDDLE[1]} nodes, three kinds of needs, rates given; "
            "growth as executors and nodes double, 1 is linear",
            cases=cases,
            ratios=ratios,
        )
    ]


def _timed(name: str, executors: int, nodes: int) -> Measurement:
    topology = random_topology(
        executors // EXECUTORS_PER_OPERATOR, tasks=EXECUTORS_PER_OPERATOR, seed=1
    )
    configuration = _configured(topology, workers=2 * nodes)
    cluster = Cluster.uniform(nodes=nodes, slots=SLOTS, cores=CORES, memory_bytes=MEMORY_BYTES)
    expected = Expected(
        rates={stream.key: 100.0 for stream in topology.streams},
        cores=dict.fromkeys(topology.operator_names, 1.0),
    )
    scheduler = load_scheduler(name, configuration)
    return measure(
        lambda: scheduler.schedule(topology, configuration, cluster, expected=expected),
        repetitions=3,
    )


def _configured(topology: Topology, workers: int) -> Configuration:
    """One executor a task; needs of 0.2, 0.3 or 0.4 cores."""
    return Configuration(
        executors={operator.name: operator.tasks for operator in topology.operators},
        workers=workers,
        ackers=workers,
        resources={
            name: Resources(cpu_cores=0.2 + 0.1 * (index % 3), memory_bytes=128 * 2**20)
            for index, name in enumerate(topology.operator_names)
        },
        settings={"topology.worker.max.heap.size.mb": 1024},
    )
