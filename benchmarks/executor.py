"""One executor: compiled simulation against plain Python, and against the exact solution."""

from __future__ import annotations

import random
from functools import partial

from benchmarks.report import Entry
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
    """Seconds of a million arrivals, by each way to find them."""
    del large
    entry = Entry(
        "executor",
        "a million arrivals at half load, simplified chain; plain Python is the same algorithm, "
        "timed on fewer arrivals",
    )
    simplified = partial(simulate_executor, QUEUE, arrivals=ARRIVALS, seed=1)
    for full in (False, True):
        simulate_executor(QUEUE, arrivals=1_000, seed=1, full=full)  # compiled before the timing
    compiled = entry.time("compiled", simplified, repetitions=5)
    full_chain = entry.time("compiled, full", partial(simplified, full=True), repetitions=5)
    plain = entry.time("plain Python", partial(_plain, QUEUE, PLAIN_ARRIVALS), repetitions=3)
    exact = entry.time("exact", partial(mean_sojourn, QUEUE), repetitions=5)
    plain_seconds = plain.seconds * ARRIVALS / PLAIN_ARRIVALS
    entry.ratios["plain Python / compiled, per arrival"] = plain_seconds / compiled.seconds
    entry.ratios["full / simplified"] = full_chain.seconds / compiled.seconds
    entry.ratios["compiled / exact solution"] = compiled.seconds / exact.seconds
    return [entry]


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
