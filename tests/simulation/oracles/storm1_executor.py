"""One Storm 1.x executor, simulated event by event.

The full simulator follows every list through input batch, overflow and ring (Cooper 2020,
algorithms 1 to 3); the simplified one only tells the batch from the rest (algorithms 4 to 6).
Repaired: lists hold whole numbers of tuples, the population is averaged over arriving lists,
which see time averages as they are Poisson, and flushes may be periodic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.simulation.random_streams import exponential, make_streams, uniform
from streamgauge.topology.field_checks import check_whole
from streamgauge.transport.batched_queue import BatchedQueue, Flush, Sojourn

DEFAULT_ARRIVALS = 1_000_000
# Independent parts of a run whose spread gives the standard error (batch means).
PARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSojourn:
    """Mean sojourn as simulated, with how far it can be trusted.

    Attributes:
        sojourn: The means.
        standard_error_seconds: Of the total, from the spread over parts of the run.
        arrivals: Lists that arrived.
    """

    sojourn: Sojourn
    standard_error_seconds: float
    arrivals: int


def simulate_executor(
    queue: BatchedQueue, *, arrivals: int = DEFAULT_ARRIVALS, seed: int, full: bool = False
) -> SimulatedSojourn:
    """Simulate until that many lists have arrived; the same seed gives the same answer.

    Args:
        queue: The executor's queue. Above full load the answer grows with `arrivals`.
        arrivals: Lists to simulate; means settle from about a million on.
        seed: Of the random numbers.
        full: Whether overflow and ring are followed too.
    """
    findings = Findings()
    check_whole(findings, arrivals, "arrivals", least=PARTS)
    findings.raise_if_any()
    kernel = _run_full if full else _run_simplified
    in_batch, beyond = kernel(
        make_streams(seed, 1),
        arrivals,
        queue.lists_per_second,
        queue.list_size,
        queue.flush_seconds,
        1.0 / queue.service_seconds,
        queue.batch_limit,
        queue.ring_limit,
        queue.flush is Flush.PERIODIC,
    )
    return _summarise(queue, in_batch, beyond, arrivals)


def _summarise(
    queue: BatchedQueue, in_batch: NDArray[Any], beyond: NDArray[Any], arrivals: int
) -> SimulatedSojourn:
    """Little's law on the populations that arriving lists saw."""
    each = arrivals // PARTS
    rate = queue.lists_per_second * queue.list_size
    totals = (in_batch + beyond) / each / rate
    return SimulatedSojourn(
        sojourn=Sojourn(
            batch_seconds=float(in_batch.mean()) / each / rate,
            rest_seconds=float(beyond.mean()) / each / rate,
        ),
        standard_error_seconds=float(totals.std(ddof=1)) / math.sqrt(PARTS),
        arrivals=each * PARTS,
    )


@njit(cache=True)
def _list_size(streams: NDArray[Any], mean: float) -> int:
    whole = int(mean)
    if mean == whole:
        return whole
    return whole + 1 if uniform(streams, 0) < mean - whole else whole


@njit(cache=True)
def _run_simplified(
    streams: NDArray[Any],
    arrivals: int,
    arrival_rate: float,
    list_size: float,
    flush_seconds: float,
    service_rate: float,
    batch_limit: int,
    ring_limit: int,
    periodic: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    in_batch = np.zeros(PARTS)
    beyond = np.zeros(PARTS)
    each = arrivals // PARTS
    flush_rate = 0.0 if periodic else 1.0 / flush_seconds
    clock, next_flush = 0.0, flush_seconds
    lists, batch, rest = 0, 0, 0
    for part in range(PARTS):
        arrived = 0
        while arrived < each:
            # While nothing can be served, service events would change nothing: leave them out.
            serving_rate = service_rate if rest > 0 else 0.0
            total_rate = arrival_rate + serving_rate + flush_rate
            if periodic:
                clock += exponential(streams, 0) / total_rate
                if clock >= next_flush:
                    # Time has no memory: go on from the flush with the rates that hold then.
                    # Further flushes before the next arrival find an empty batch.
                    idle = rest == 0 and batch == 0
                    skipped = math.floor((clock - next_flush) / flush_seconds) if idle else 0
                    clock = next_flush + skipped * flush_seconds
                    next_flush = clock + flush_seconds
                    rest += batch
                    lists, batch = 0, 0
                    continue
            event = uniform(streams, 0) * total_rate
            if event < arrival_rate:
                in_batch[part] += batch
                beyond[part] += rest
                arrived += 1
                lists += 1
                batch += _list_size(streams, list_size)
                if lists >= batch_limit:
                    rest += batch
                    lists, batch = 0, 0
            elif event < arrival_rate + serving_rate:
                rest -= 1
            else:
                rest += batch
                lists, batch = 0, 0
    return in_batch, beyond


@njit(cache=True)
def _run_full(
    streams: NDArray[Any],
    arrivals: int,
    arrival_rate: float,
    list_size: float,
    flush_seconds: float,
    service_rate: float,
    batch_limit: int,
    ring_limit: int,
    periodic: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    in_batch = np.zeros(PARTS)
    beyond = np.zeros(PARTS)
    each = arrivals // PARTS
    flush_rate = 0.0 if periodic else 1.0 / flush_seconds
    clock, next_flush = 0.0, flush_seconds
    lists, batch = 0, 0
    # Overflow: batches as (lists, tuples), oldest first, in a circular buffer that grows.
    waiting_lists = np.zeros(64, dtype=np.int64)
    waiting_tuples = np.zeros(64, dtype=np.int64)
    head, waiting, overflow = 0, 0, 0
    ring_lists, ring_tuples, serving = 0, 0, 0
    lingering = False
    for part in range(PARTS):
        arrived = 0
        while arrived < each:
            can_serve = serving > 0 or ring_lists > 0 or lingering
            serving_rate = service_rate if can_serve else 0.0
            total_rate = arrival_rate + serving_rate + flush_rate
            arrives, serves, flushes = False, False, False
            if periodic:
                clock += exponential(streams, 0) / total_rate
                flushes = clock >= next_flush
            if flushes:
                idle = not can_serve and lists == 0 and waiting == 0
                skipped = math.floor((clock - next_flush) / flush_seconds) if idle else 0
                clock = next_flush + skipped * flush_seconds
                next_flush = clock + flush_seconds
            else:
                event = uniform(streams, 0) * total_rate
                arrives = event < arrival_rate
                serves = not arrives and event < arrival_rate + serving_rate
                flushes = not arrives and not serves
            push = False
            if arrives:
                in_batch[part] += batch
                beyond[part] += overflow + ring_tuples + serving
                arrived += 1
                lists += 1
                batch += _list_size(streams, list_size)
                if lists >= batch_limit:
                    if waiting == 0 and ring_limit - ring_lists >= lists:
                        ring_lists += lists
                        ring_tuples += batch
                    else:
                        push = True
                    if not push:
                        lists, batch = 0, 0
            elif serves:
                if serving > 0:
                    serving -= 1
                elif ring_lists > 0:
                    serving = ring_tuples - 1
                    ring_lists, ring_tuples = 0, 0
                # A flush that waits for room goes on when a service has made some.
                flushes = lingering
            if flushes and lists > 0:
                push = True
            if push:
                if waiting == len(waiting_lists):
                    waiting_lists = _doubled(waiting_lists, head)
                    waiting_tuples = _doubled(waiting_tuples, head)
                    head = 0
                tail = (head + waiting) % len(waiting_lists)
                waiting_lists[tail] = lists
                waiting_tuples[tail] = batch
                waiting += 1
                overflow += batch
                lists, batch = 0, 0
            if arrives or flushes:
                while waiting > 0 and ring_limit - ring_lists >= waiting_lists[head]:
                    ring_lists += waiting_lists[head]
                    ring_tuples += waiting_tuples[head]
                    overflow -= waiting_tuples[head]
                    head = (head + 1) % len(waiting_lists)
                    waiting -= 1
                if waiting == 0:
                    lingering = False
                elif flushes:
                    lingering = True
    return in_batch, beyond


@njit(cache=True)
def _doubled(ring: NDArray[Any], head: int) -> NDArray[Any]:
    """A circular buffer of twice the size with the same content from its beginning on."""
    size = len(ring)
    larger = np.zeros(2 * size, dtype=ring.dtype)
    for index in range(size):
        larger[index] = ring[(head + index) % size]
    return larger
