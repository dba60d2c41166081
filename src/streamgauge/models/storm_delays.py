"""Delays in Storm 1.x and 2.x (docs/storm-rules.md).

In Storm 1.x every queue gathers what comes until a timer flushes it. Cooper 2020, sections 2.7, 2.8
and 4.13, repaired: timers are periodic, so that a tuple waits for half an interval in each queue it
passes, and lists are as large as what comes together, not only as what comes by chance in an
interval. A released batch is served tuple by tuple.

In Storm 2.x bursts come to single servers whose threads sleep when idle. An executor is a queue
M^X/G/1. A tuple that finds it asleep waits for the rest of its sleep; it polls for a while before
it sleeps, and is then awake at once. A transfer thread sleeps whenever its queue is empty and takes
next to no time for what it finds, so that a tuple waits for the rest of one sleep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.arrival_variability import Bursts, bursts_into, wait_factors
from streamgauge.models.batching import flush_wait, flush_wait_variance
from streamgauge.models.delays import Delays, Part, no_wait
from streamgauge.models.gated_arrivals import gate_factors
from streamgauge.models.lateness import find_lateness
from streamgauge.models.machine_threads import number_alike
from streamgauge.models.meeting_again import Clusters
from streamgauge.models.queueing import (
    BatchArrivals,
    BatchSize,
    BulkQueue,
    FlushedQueue,
    Moments,
    Setup,
    as_vector,
    asleep_probability,
    backlog,
    divide_or,
    released_wait,
    sojourn_transform,
    wait_before,
    wait_twice,
)
from streamgauge.models.service import ServiceTimes
from streamgauge.models.sibling_pairs import WaitsOnTheWay, find_clusters
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Complex, Transform, Vector
from streamgauge.models.windows import window_delays
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.transport.mechanics import Mechanics

Queue = TypeVar("Queue", bound=BatchArrivals)


def storm1_delays(traffic: Traffic, service: ServiceTimes) -> Delays:
    """Delays in a plan on Storm 1.x, by wall-clock service times."""
    mechanics = traffic.mechanics
    lists, bursts = bursts_into(traffic), bursts_into(traffic, gathered=False)
    released_tuples = bursts.per_second * bursts.mean * mechanics.flush_seconds
    windows = window_delays(traffic, service, lists, ahead=released_tuples / 2.0)
    # All timers go as often: a release is what was emitted in an interval, however it was gathered.
    queue = FlushedQueue(
        batches_per_second=bursts.per_second,
        batch_mean=bursts.mean,
        batch_variance=bursts.variance,
        flush_seconds=mechanics.flush_seconds,
        service_seconds=service.mean,
        service_scv=divide_or(service.variance, service.mean**2, otherwise=0.0),
        met=traffic.met,
    )
    utilisation = bursts.per_second * bursts.mean * windows.occupied_mean
    factors = wait_factors(traffic, queue, utilisation)
    queue = replace(queue, wait_factor=factors.mean, wait_scv=factors.scv)
    gathered = _flushed(lists.per_second, mechanics)
    send = _flushed(_sent(traffic), mechanics)
    transfer = _flushed(traffic.leaving_workers(), mechanics)
    plain = queue
    waits = WaitsOnTheWay(
        find=lambda found: (released_wait(_join(plain, bursts, found, backlog)), gathered),
        service=Moments(mean=service.mean, variance=service.variance),
        send=send,
        transfer=transfer,
        release=mechanics.flush_seconds,
        released=np.ones_like(service.mean),
    )
    clusters = find_clusters(traffic, bursts, waits)
    queue = _join(queue, bursts, clusters, backlog)
    released = released_wait(queue)
    served = Moments(
        mean=released.mean + service.mean, variance=released.variance + service.variance
    )

    def executor_transform(s: Complex) -> Complex:
        value = _gathering(gathered, mechanics)(s) * _gamma(served)(s)
        return np.asarray(value * windows.transform(s))

    return Delays(
        executors={
            Part.BATCHING: gathered.mean,
            Part.QUEUEING: released.mean + windows.waited,
            Part.SERVICE: service.mean,
            Part.WINDOW: windows.mean,
        },
        spread=gathered.variance + served.variance + windows.variance,
        executor_transform=executor_transform,
        send=send,
        send_transform=_gathering(send, mechanics),
        transfer=transfer,
        transfer_transform=_gathering(transfer, mechanics),
        utilisation=utilisation,
        shared=_finite(backlog(queue).variance) * clusters.together,
        dealt=_finite(backlog(queue).variance) * clusters.dealt,
        behind=clusters.behind,
        find_lateness=lambda: find_lateness(traffic, service, mechanics.source_sleep),
    )


def _flushed(per_second: Vector, mechanics: Mechanics) -> Moments:
    """Wait of what comes at a rate for its batch to be full or flushed."""
    return Moments(
        mean=flush_wait(per_second, limit=mechanics.batch, flush_seconds=mechanics.flush_seconds),
        variance=flush_wait_variance(
            per_second, limit=mechanics.batch, flush_seconds=mechanics.flush_seconds
        ),
    )


def _sent(traffic: Traffic) -> Vector:
    """Tuples a second into every executor's send queue."""
    sent = np.zeros(len(traffic.flow.plan.placement))
    for block in traffic.flow.blocks:
        emitted = traffic.rates.emitted[block.stream.key]
        sent[as_slice(block.sources)] += emitted * block.shares.sum(axis=1)
    return sent


def _gathering(wait: Moments, mechanics: Mechanics) -> Transform:
    """Even over a flush interval where batches do not fill; else shorter, and as varied."""
    longest = np.minimum(2.0 * wait.mean, mechanics.flush_seconds)
    return lambda s: transforms.uniform(s, longest)


def _gamma(time: Moments) -> Transform:
    # Infinite times have no transform; callers are refused before one is taken.
    mean = np.where(np.isfinite(time.mean), time.mean, 1.0)
    variance = np.where(np.isfinite(time.variance), time.variance, 1.0)
    scv = divide_or(variance, mean**2, otherwise=0.0)
    return lambda s: transforms.gamma(s, mean, scv)


def storm2_delays(traffic: Traffic, service: ServiceTimes) -> Delays:
    """Delays in a plan on Storm 2.x, by wall-clock service times."""
    mechanics = traffic.mechanics
    bursts = bursts_into(traffic)
    size = BatchSize.of(bursts.mean, bursts.variance)
    windows = window_delays(traffic, service, bursts, ahead=size.mean_ahead)
    queue = BulkQueue(
        batches_per_second=bursts.per_second,
        batch_mean=bursts.mean,
        batch_variance=bursts.variance,
        service_seconds=service.mean,
        service_scv=divide_or(service.variance, service.mean**2, otherwise=0.0),
        setup=_wake_up(bursts.per_second, mechanics),
        met=traffic.met,
    )
    utilisation = bursts.per_second * bursts.mean * windows.occupied_mean
    plain = bursts_into(traffic, gathered=False)
    ungathered = replace(
        queue,
        batches_per_second=plain.per_second,
        batch_mean=plain.mean,
        batch_variance=plain.variance,
    )
    regular = wait_factors(traffic, ungathered, utilisation).mean
    gated = gate_factors(queue, ungathered, traffic.arrivals.gates)
    queue = replace(queue, wait_factor=regular * gated)
    send, send_transform = no_wait(len(service.mean))
    sleep, workers = mechanics.transfer_sleep, len(traffic.flow.plan.workers)
    transfer = Moments(
        mean=np.where(traffic.held_up(), np.inf, sleep / 2.0),
        variance=np.full(workers, sleep**2 / 12.0),
    )
    queue, clusters = _meet_again(
        traffic,
        queue,
        bursts,
        plain,
        Moments(mean=service.mean, variance=service.variance),
        transfer,
    )
    awake, whole = wait_twice(queue)
    sojourn = _sojourn(traffic, queue)
    return Delays(
        executors={
            Part.QUEUEING: awake.mean + windows.waited,
            Part.WAKE_UP: np.subtract(
                whole.mean,
                awake.mean,
                out=np.zeros_like(service.mean),
                where=np.isfinite(whole.mean),
            ),
            Part.SERVICE: service.mean,
            Part.WINDOW: windows.mean,
        },
        spread=whole.variance + service.variance + windows.variance,
        executor_transform=lambda s: np.asarray(sojourn(s) * windows.transform(s)),
        send=send,
        send_transform=send_transform,
        transfer=transfer,
        transfer_transform=lambda s: np.broadcast_to(
            transforms.uniform(s, sleep), (len(s), workers)
        ),
        utilisation=utilisation,
        shared=_finite(wait_before(queue).variance) * clusters.together,
        dealt=_finite(wait_before(queue).variance) * clusters.dealt,
        behind=clusters.behind,
        find_lateness=lambda: find_lateness(traffic, service, mechanics.source_sleep),
    )


def _meet_again(
    traffic: Traffic,
    queue: BulkQueue,
    bursts: Bursts,
    ungathered: Bursts,
    service: Moments,
    transfer: Moments,
) -> tuple[BulkQueue, Clusters]:
    """The queues of Storm 2.x's executors with what comes of one root over several ways."""
    gates = traffic.arrivals.gates

    def join(found: Clusters) -> BulkQueue:
        joined = _join(queue, bursts, found, wait_before)
        return replace(
            joined, setup=_wake_up(as_vector(joined.batches_per_second), traffic.mechanics)
        )

    def find(found: Clusters) -> tuple[Moments, Moments]:
        awake, whole = wait_twice(join(found))
        finite = np.isfinite(whole.mean)
        rest = Moments(
            mean=np.subtract(whole.mean, awake.mean, out=np.zeros_like(whole.mean), where=finite),
            variance=np.subtract(
                whole.variance, awake.variance, out=np.zeros_like(whole.mean), where=finite
            ),
        )
        return awake, rest

    waits = WaitsOnTheWay(
        find=find,
        service=service,
        send=no_wait(len(service.mean))[0],
        transfer=transfer,
        release=gates.seconds,
        # Siblings that come through different gates are not released together.
        released=gates.part / np.maximum(gates.count, 1.0),
    )
    clusters = find_clusters(traffic, ungathered, waits)
    return join(clusters), clusters


def _finite(variance: Vector) -> Vector:
    """None of what never ends."""
    return np.where(np.isfinite(variance), variance, 0.0)


def _join(
    queue: Queue, bursts: Bursts, clusters: Clusters, before: Callable[[Queue], Moments]
) -> Queue:
    """The same queue with clusters in its batches.

    How regular arrivals are changes the wait for earlier batches as much as it does without them.
    """
    if not clusters.met.any():
        return queue
    joined = clusters.join(bursts)
    with_them = replace(
        queue,
        batches_per_second=joined.per_second,
        batch_mean=joined.mean,
        batch_variance=joined.variance,
        wait_factor=1.0,
    )
    alone, together = before(replace(queue, wait_factor=1.0)).mean, before(with_them).mean
    known = np.isfinite(together) & (together > 0.0)
    part = np.where(known, alone, 0.0) / np.where(known, together, 1.0)
    factor = 1.0 + (as_vector(queue.wait_factor) - 1.0) * part
    return replace(with_them, wait_factor=factor)


def _wake_up(batches_per_second: Vector, mechanics: Mechanics) -> Setup | None:
    if mechanics.bolt_sleep <= 0.0:
        return None
    asleep = asleep_probability(batches_per_second, mechanics.bolt_spin)
    return Setup.sleep(mechanics.bolt_sleep, batches_per_second).met_with(asleep)


def _sojourn(traffic: Traffic, queue: BulkQueue) -> Transform:
    """Transform of the time in a queue and service, taken once for executors that are alike.

    One for sources and those that get nothing: no tuple goes there.
    """
    logical = traffic.flow.plan.logical
    figures = np.asarray(
        [
            queue.batches_per_second,
            queue.batch_mean,
            queue.batch_variance,
            queue.service_seconds,
            queue.service_scv,
            queue.wait_factor,
            np.broadcast_to(queue.met, np.shape(queue.wait_factor)),
        ]
    )
    used = figures[0] > 0.0
    for source in logical.topology.sources:
        used[as_slice(logical.spans[source.name])] = False
    columns = list(zip(*figures[:, used].tolist(), strict=True))
    place = number_alike(columns)
    distinct = np.asarray(list(dict.fromkeys(columns))).reshape(-1, len(figures))
    rate, size, spread, seconds, scv, factor, met = distinct.T
    alike = sojourn_transform(
        BulkQueue(
            batches_per_second=rate,
            batch_mean=size,
            batch_variance=spread,
            service_seconds=seconds,
            service_scv=scv,
            setup=_wake_up(rate, traffic.mechanics),
            wait_factor=factor,
            met=met,
        )
    )

    def transform(s: Complex) -> Complex:
        value = np.ones((len(s), len(used)), dtype=np.complex128)
        value[:, used] = alike(s)[:, place]
        return value

    return transform
