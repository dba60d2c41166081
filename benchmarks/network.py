"""A whole topology against general simulators: hops per second on the same open network.

A hop is one delivery into a receive queue. Four stages of four executors, exponential service,
half loaded, tuples spread in turn; no acks, nothing shared. What `simulate` runs is what is
measured, core sharing and queue statistics included.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import ciw
import simpy

from benchmarks.jobs import chain_job, simulate_job
from benchmarks.report import Entry
from streamgauge.transport.mechanics import PLAIN

STAGES, WIDTH, RATE, SERVICE = 4, 4, 200.0, 0.01
OURS_SECONDS, ACKED_SECONDS, SIMPY_SECONDS, CIW_SECONDS = 2_000.0, 1_000.0, 100.0, 25.0
HOPS_PER_SECOND = RATE * STAGES
# The tuple's own hops, an acknowledgement for each, one beginning and one end.
ACKED_HOPS_PER_SECOND = 2 * HOPS_PER_SECOND + 2 * RATE


def run(*, large: bool) -> list[Entry]:
    """Hops per second of wall-clock time, by simulator."""
    del large
    entry = Entry("network", f"{STAGES} stages of {WIDTH} executors at half load; hops per second")

    def rate(case: str, work: Callable[[], object], hops: float) -> float:
        hops_per_second = hops / entry.time(case, work, repetitions=3).seconds
        entry.cases[case]["hops per second"] = hops_per_second
        return hops_per_second

    plain, acked = _simulation(acked=False), _simulation(acked=True)
    for simulation in (plain, acked):
        simulation(seconds=1.0)  # compiled before the timing
    ours = rate("ours", partial(plain, seconds=OURS_SECONDS), HOPS_PER_SECOND * OURS_SECONDS)
    with_acks = rate(
        "ours, acked",
        partial(acked, seconds=ACKED_SECONDS),
        ACKED_HOPS_PER_SECOND * ACKED_SECONDS,
    )
    simpy_rate = rate("SimPy", partial(_simpy, SIMPY_SECONDS), HOPS_PER_SECOND * SIMPY_SECONDS)
    ciw_rate = rate("Ciw", partial(_ciw, CIW_SECONDS), HOPS_PER_SECOND * CIW_SECONDS)
    entry.ratios["ours / SimPy, hops per second"] = ours / simpy_rate
    entry.ratios["ours / Ciw, hops per second"] = ours / ciw_rate
    entry.ratios["acked / not acked, hops per second"] = with_acks / ours
    return [entry]


def _simulation(*, acked: bool) -> Callable[..., object]:
    services = {
        f"s{stage}": {"wait_ms": {"exponential": SERVICE * 1000}} for stage in range(STAGES)
    }
    job = chain_job(services, rate=RATE, tasks=WIDTH, acked=acked)
    return partial(simulate_job, job, seed=1, mechanics=PLAIN)


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
