"""One executor: compiled simulation against plain Python, and against the exact solution."""

from __future__ import annotations

import random
from dataclasses import asdict
from functools import partial

from benchmarks.report import Entry, measure
from streamgauge.models.executor import mean_sojourn
from streamgauge.simulation.executor import simulate_executor
from streamgauge.transport.batched_queue import BatchedQueue, Flush

ARRIVALS = 1_000_000
PLAIN_ARRIVALS = 100_000
QUEUE = BatchedQueue(
    lists_per_second=1.0,
    service_seconds=0.5,
    flush_seconds=1.0,
    batch_limit=100,
    flush=Flush.EXPONENTIAL,
)


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    del large
    simulate_executor(QUEUE, arrivals=1_000, seed=1)  # compiled outside the measurement
    simulate_executor(QUEUE, arrivals=1_000, seed=1, full=True)
    compiled = measure(partial(simulate_executor, QUEUE, arrivals=ARRIVALS, seed=1), repetitions=5)
    full = measure(
        partial(simulate_executor, QUEUE, arrivals=ARRIVALS, seed=1, full=True), repetitions=5
    )
    plain = measure(partial(_plain, QUEUE, PLAIN_ARRIVALS), repetitions=3)
    exact = measure(partial(mean_sojourn, QUEUE), repetitions=5)
    per_arrival = plain.seconds / PLAIN_ARRIVALS
    return [
        Entry(
            name="executor",
            about="a million arrivals at half load, simplified chain; plain Python is the same "
            "algorithm, timed on fewer arrivals",
            cases={
                "compiled": asdict(compiled),
                "compiled, full": asdict(full),
                "plain Python": asdict(plain),
                "exact": asdict(exact),
            },
            ratios={
                "plain Python / compiled, per arrival": per_arrival * ARRIVALS / compiled.seconds,
                "full / simplified": full.seconds / compiled.seconds,
                "compiled / exact solution": compiled.seconds / exact.seconds,
            },
        )
    ]


def _plain(queue: BatchedQueue, arrivals: int) -> float:
    """Algorithms 4 to 6 of Cooper 2020 as one would write them down, service no-ops left out."""
    generator = random.Random(1)
    arrival, flush = queue.lists_per_second, 1.0 / queue.flush_seconds
    lists = batch = rest = seen = population = 0
    while seen < arrivals:
        service = 1.0 / queue.service_seconds if rest > 0 else 0.0
        event = generator.random() * (arrival + service + flush)
        if event < arrival:
            population += batch + rest
            seen += 1
            lists += 1
            batch += 1
            if lists >= queue.batch_limit:
                rest += batch
                lists = batch = 0
        elif event < arrival + service:
            rest -= 1
        else:
            rest += batch
            lists = batch = 0
    return population / seen / arrival
