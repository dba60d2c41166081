"""A whole topology against general simulators: hops per second on the same open network.

A hop is one delivery into a receive queue. Four stages of four executors, exponential service,
half loaded, tuples spread in turn; no acks, nothing shared. What `simulate` runs is what is
measured, core sharing and queue statistics included.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import asdict
from functools import partial
from typing import Any

import ciw
import simpy

from benchmarks.report import Entry, measure
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.topology_run import simulate
from streamgauge.transport.mechanics import PLAIN

STAGES, WIDTH, RATE, SERVICE = 4, 4, 200.0, 0.01
OURS_SECONDS, SIMPY_SECONDS, CIW_SECONDS = 2_000.0, 100.0, 25.0


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    del large
    open_network, acked = _job(acked=False), _job(acked=True)
    for job in (open_network, acked):
        _simulate(job, 1.0)  # compiled outside the measurement
    ours = measure(partial(_simulate, open_network, OURS_SECONDS), repetitions=3)
    with_acks = measure(partial(_simulate, acked, OURS_SECONDS / 2), repetitions=3)
    theirs = measure(partial(_simpy, SIMPY_SECONDS), repetitions=3)
    ciws = measure(partial(_ciw, CIW_SECONDS), repetitions=3)
    hops = RATE * STAGES
    ours_rate = hops * OURS_SECONDS / ours.seconds
    # Acked: the tuple's own hops, an acknowledgement for each, one beginning and one end.
    acked_rate = (2 * hops + 2 * RATE) * OURS_SECONDS / 2 / with_acks.seconds
    return [
        Entry(
            name="network",
            about=f"{STAGES} stages of {WIDTH} executors at half load; hops per second",
            cases={
                "ours": {**asdict(ours), "hops per second": ours_rate},
                "ours, acked": {**asdict(with_acks), "hops per second": acked_rate},
                "SimPy": {
                    **asdict(theirs),
                    "hops per second": hops * SIMPY_SECONDS / theirs.seconds,
                },
                "Ciw": {**asdict(ciws), "hops per second": hops * CIW_SECONDS / ciws.seconds},
            },
            ratios={
                "ours / SimPy, hops per second": ours_rate
                / (hops * SIMPY_SECONDS / theirs.seconds),
                "ours / Ciw, hops per second": ours_rate / (hops * CIW_SECONDS / ciws.seconds),
                "acked / not acked, hops per second": acked_rate / ours_rate,
            },
        )
    ]


def _job(*, acked: bool) -> Job:
    names = [f"s{stage}" for stage in range(STAGES)]
    operators = "".join(f", {name}: {{tasks: {WIDTH}}}" for name in names)
    streams = ", ".join(
        f"{{from: {a}, to: {b}, grouping: shuffle}}"
        for a, b in zip(["source", *names], names, strict=False)
    )
    service = f"service: {{wait_ms: {{exponential: {SERVICE * 1000}}}}}"
    behaviours = "\n".join(
        f"  {name}: {{{service}{', outputs: {default: 1}' if name != names[-1] else ''}}}"
        for name in names
    )
    executors = ", ".join(f"{name}: {WIDTH}" for name in names)
    return parse_job(
        f"""
streamgauge: 1
topology:
  name: network
  acked: {str(acked).lower()}
  operators: {{source: {{kind: source}}{operators}}}
  streams: [{streams}]
behaviours:
{behaviours}
configuration: {{executors: {{{executors}}}}}
cluster: {{uniform: {{nodes: 1, cores: 64}}}}
workload: [{{source: source, per_second: {RATE}}}]
"""
    )


def _simulate(job: Job, seconds: float) -> None:
    assert job.workload is not None
    simulate(
        place_job(job).plan,
        job.behaviours,
        job.workload,
        seconds=seconds,
        seed=1,
        mechanics=PLAIN,
    )


def _simpy(seconds: float) -> None:
    """The same network as one would write it with SimPy."""
    environment = simpy.Environment()
    generator = random.Random(1)
    stores = [[simpy.Store(environment) for _ in range(WIDTH)] for _ in range(STAGES)]
    turn = [0] * STAGES

    def deliver(stage: int, item: float) -> None:
        stores[stage][turn[stage]].put(item)
        turn[stage] = (turn[stage] + 1) % WIDTH

    def source() -> Generator[Any, Any, None]:
        while True:
            yield environment.timeout(generator.expovariate(RATE))
            deliver(0, environment.now)

    def executor(stage: int, store: Any) -> Generator[Any, Any, None]:
        while True:
            item = yield store.get()
            yield environment.timeout(generator.expovariate(1.0 / SERVICE))
            if stage + 1 < STAGES:
                deliver(stage + 1, item)

    environment.process(source())
    for stage, row in enumerate(stores):
        for store in row:
            environment.process(executor(stage, store))
    environment.run(until=seconds)


def _ciw(seconds: float) -> None:
    """The same with Ciw; it has no rotation, so each stage chooses at random."""
    nodes = STAGES * WIDTH
    routing = [
        [1.0 / WIDTH if other // WIDTH == node // WIDTH + 1 else 0.0 for other in range(nodes)]
        for node in range(nodes)
    ]
    network = ciw.create_network(
        arrival_distributions=[
            ciw.dists.Exponential(RATE / WIDTH) if node < WIDTH else None for node in range(nodes)
        ],
        service_distributions=[ciw.dists.Exponential(1.0 / SERVICE)] * nodes,
        number_of_servers=[1] * nodes,
        routing=routing,
    )
    ciw.seed(1)
    ciw.Simulation(network).simulate_until_max_time(seconds)
