"""Schedulers: how fast they are, and how that grows."""

from __future__ import annotations

from functools import partial

from benchmarks.jobs import random_topology
from benchmarks.report import Entry, growth
from streamgauge.planning.scheduling.contract import (
    Expected,
    PlacementRequest,
    load_scheduler,
    scheduler_names,
)
from streamgauge.topology import Cluster, Configuration, Resources

ALLOWED_SECONDS = 2.0
EXECUTORS_PER_OPERATOR = 16
# Executors and nodes; the middle is what has to be done in time.
SIZES = ((1600, 100), (3200, 200), (6400, 400))
MIDDLE = SIZES[1]
SLOTS, CORES, MEMORY_BYTES = 20, 8.0, 32 * 2**30


def run(*, large: bool) -> list[Entry]:
    """Seconds of every scheduler, by size."""
    entry = Entry(
        "scheduling: speed",
        f"{MIDDLE[0]} executors on {MIDDLE[1]} nodes, three kinds of needs, rates given; "
        "growth as executors and nodes double, 1 is linear",
    )
    sizes = (*SIZES, (12800, 800)) if large else SIZES
    for name in scheduler_names():
        seconds = {size: _time_scheduler(entry, name, *size) for size in sizes}
        entry.ratios[f"part of the 2 s allowed: {name}"] = seconds[MIDDLE] / ALLOWED_SECONDS
        exponent = growth(seconds[sizes[0]], seconds[sizes[-1]], sizes[-1][0] / sizes[0][0])
        entry.ratios[f"growth exponent: {name}"] = exponent
    return [entry]


def _time_scheduler(entry: Entry, name: str, executors: int, nodes: int) -> float:
    topology = random_topology(
        executors // EXECUTORS_PER_OPERATOR, tasks=EXECUTORS_PER_OPERATOR, seed=1
    )
    # One executor a task; needs of 0.2, 0.3 or 0.4 cores.
    configuration = Configuration(
        executors={operator.name: operator.tasks for operator in topology.operators},
        workers=2 * nodes,
        ackers=2 * nodes,
        resources={
            name: Resources(cpu_cores=0.2 + 0.1 * (index % 3), memory_bytes=128 * 2**20)
            for index, name in enumerate(topology.operator_names)
        },
        settings={"topology.worker.max.heap.size.mb": 1024},
    )
    cluster = Cluster.uniform(nodes=nodes, slots=SLOTS, cores=CORES, memory_bytes=MEMORY_BYTES)
    expected = Expected(
        rates={stream.key: 100.0 for stream in topology.streams},
        cores=dict.fromkeys(topology.operator_names, 1.0),
    )
    scheduler = load_scheduler(name, configuration)
    request = PlacementRequest(topology, configuration, cluster, expected=expected)
    work = partial(scheduler.schedule, request)
    return entry.time(f"{name}, {executors} on {nodes}", work, repetitions=3).seconds
