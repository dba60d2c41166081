"""Delays in Storm 2.x: bursts into single servers whose threads sleep when idle.

The rules are in docs/storm-rules.md. An executor is a queue M^X/G/1. A tuple that finds it asleep
waits for the rest of its sleep; it polls for a while before it sleeps, and is then awake at once.
A transfer thread sleeps whenever its queue is empty and takes next to no time for what it finds, so
that a tuple waits for the rest of one sleep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.bursts import bursts_into
from streamgauge.models.conversion import Conversion
from streamgauge.models.delays import Delays, Part
from streamgauge.models.flow import Rates
from streamgauge.models.queueing import (
    BulkQueue,
    Moments,
    Setup,
    asleep_probability,
    divide_or,
    sojourn_transform,
    wait,
)
from streamgauge.models.regularity import wait_factors
from streamgauge.models.service import ServiceTimes
from streamgauge.models.transforms import Complex, Transform
from streamgauge.models.windows import window_delays
from streamgauge.topology.tuple_flow import TupleFlow, as_slice
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]


def storm2_delays(
    flow: TupleFlow,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    service: ServiceTimes,
    mechanics: Mechanics,
) -> Delays:
    """Delays in a plan on Storm 2.x.

    Args:
        flow: The plan.
        rates: What comes to its executors.
        conversions: What its processors make of that.
        service: By the clock.
        mechanics: Of the engine under the plan's settings.
    """
    bursts = bursts_into(flow, rates, conversions, mechanics)
    windows = window_delays(flow, rates, conversions, service, bursts, mechanics)
    mean = windows.occupied_mean
    queue = BulkQueue(
        batches_per_second=bursts.per_second,
        batch_mean=bursts.mean,
        batch_variance=bursts.variance,
        service_seconds=mean,
        service_scv=divide_or(windows.occupied_variance, mean**2, otherwise=0.0),
        setup=_wake_up(bursts.per_second, mechanics),
    )
    queue = replace(queue, wait_factor=wait_factors(flow, rates, conversions, mechanics, queue))
    awake, whole = wait(replace(queue, setup=None)), wait(queue)
    sojourn = _sojourn(flow, queue, mechanics)
    sleep, workers = mechanics.transfer_sleep, len(flow.plan.workers)
    return Delays(
        executors={
            Part.QUEUEING: awake.mean,
            Part.WAKE_UP: np.subtract(
                whole.mean, awake.mean, out=np.zeros_like(mean), where=np.isfinite(whole.mean)
            ),
            Part.SERVICE: service.mean,
            Part.WINDOW: windows.mean,
        },
        spread=whole.variance + service.variance + windows.variance,
        executor_transform=lambda s: np.asarray(sojourn(s) * windows.transform(s)),
        send=Moments(mean=np.zeros_like(mean), variance=np.zeros_like(mean)),
        send_transform=lambda s: np.ones((len(s), len(mean)), dtype=np.complex128),
        transfer=Moments(
            mean=np.full(workers, sleep / 2.0), variance=np.full(workers, sleep**2 / 12.0)
        ),
        transfer_transform=lambda s: np.broadcast_to(
            transforms.uniform(s, sleep), (len(s), workers)
        ),
        utilisation=queue.utilisation,
    )


def _wake_up(batches_per_second: Vector, mechanics: Mechanics) -> Setup | None:
    if mechanics.bolt_sleep <= 0.0:
        return None
    asleep = asleep_probability(batches_per_second, mechanics.bolt_spin)
    return Setup.sleep(mechanics.bolt_sleep, batches_per_second).met_with(asleep)


def _sojourn(flow: TupleFlow, queue: BulkQueue, mechanics: Mechanics) -> Transform:
    """Transform of the time in a queue and service, taken once for executors that are alike.

    One for sources and those that get nothing: no tuple goes there.
    """
    logical = flow.plan.logical
    figures = np.asarray(
        [
            queue.batches_per_second,
            queue.batch_mean,
            queue.batch_variance,
            queue.service_seconds,
            queue.service_scv,
            queue.wait_factor,
        ]
    )
    used = figures[0] > 0.0
    for source in logical.topology.sources:
        used[as_slice(logical.spans[source.name])] = False
    distinct, place = np.unique(figures[:, used], axis=1, return_inverse=True)
    rate, size, spread, seconds, scv, factor = distinct
    alike = sojourn_transform(
        BulkQueue(
            batches_per_second=rate,
            batch_mean=size,
            batch_variance=spread,
            service_seconds=seconds,
            service_scv=scv,
            setup=_wake_up(rate, mechanics),
            wait_factor=factor,
        )
    )

    def transform(s: Complex) -> Complex:
        value = np.ones((len(s), len(used)), dtype=np.complex128)
        value[:, used] = alike(s)[:, place.ravel()]
        return value

    return transform
