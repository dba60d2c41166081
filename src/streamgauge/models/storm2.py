"""Delays in Storm 2.x: bursts into single servers whose threads sleep when idle.

`storm-2x` section 4. An executor is a queue M^X/G/1. Who finds it asleep waits for the rest of its
sleep; it polls for a while before it sleeps, and is then awake at once. A transfer thread sleeps
whenever its queue is empty and takes next to no time for what it finds, so that a tuple waits for
the rest of one sleep. Windows by count fire on the executor's thread, so that one tuple in each
slide takes the trigger's time too; those by time have a thread of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.bursts import Bursts, bursts_into
from streamgauge.models.conversion import Conversion
from streamgauge.models.delays import Delays, Part
from streamgauge.models.flow import Rates, came_to
from streamgauge.models.queueing import (
    BulkQueue,
    Moments,
    Setup,
    asleep_probability,
    sojourn_transform,
    wait,
)
from streamgauge.models.service import ServiceTimes
from streamgauge.models.transforms import Complex
from streamgauge.models.windows import mixed_ages
from streamgauge.topology.topology import Operator
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
    logical = flow.plan.logical
    bursts = bursts_into(flow, rates, conversions, mechanics)
    windows = [one for one in logical.topology.operators if one.window is not None]
    ages = {
        one.name: mixed_ages(
            one.window,
            came_to(flow, one.name, rates.arrived),
            conversions[one.name].task_parts,
        )
        for one in windows
        if one.window is not None
    }
    mean, variance = _with_triggers(flow, windows, service)
    queue = BulkQueue(
        batches_per_second=bursts.per_second,
        batch_mean=bursts.mean,
        batch_variance=bursts.variance,
        service_seconds=mean,
        service_scv=np.divide(variance, mean**2, out=np.zeros_like(mean), where=mean > 0.0),
        setup=_wake_up(bursts, mechanics),
    )
    awake = wait(replace(queue, setup=None))
    whole = wait(queue)
    window, spread = np.zeros_like(mean), whole.variance + service.variance
    for one in windows:
        span = as_slice(logical.spans[one.name])
        window[span] = ages[one.name].mean + service.trigger_mean[span]
        spread[span] += ages[one.name].variance + service.trigger_variance[span]
    waited = sojourn_transform(queue)

    def executor_transform(s: Complex) -> Complex:
        value = np.array(waited(s))
        for one in windows:
            span = as_slice(logical.spans[one.name])
            trigger = transforms.gamma(s, service.trigger_mean[span], 0.0)
            value[:, span] *= ages[one.name].transform(s) * trigger
        return value

    sleep, workers = mechanics.transfer_sleep, len(flow.plan.workers)
    return Delays(
        executors={
            Part.QUEUEING: awake.mean,
            Part.WAKE_UP: np.subtract(
                whole.mean, awake.mean, out=np.zeros_like(mean), where=np.isfinite(whole.mean)
            ),
            Part.SERVICE: service.mean,
            Part.WINDOW: window,
        },
        spread=spread,
        executor_transform=executor_transform,
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


def _wake_up(bursts: Bursts, mechanics: Mechanics) -> Setup | None:
    if mechanics.bolt_sleep <= 0.0:
        return None
    asleep = asleep_probability(bursts.per_second, mechanics.bolt_spin)
    return Setup.sleep(mechanics.bolt_sleep, bursts.per_second).met_with(asleep)


def _with_triggers(
    flow: TupleFlow,
    windows: list[Operator],
    service: ServiceTimes,
) -> tuple[Vector, Vector]:
    """Mean and variance of what occupies an executor for a tuple: one in a slide also fires."""
    mean, variance = service.mean.copy(), service.variance.copy()
    for one in windows:
        assert one.window is not None
        if one.window.slide_tuples is None:
            continue
        span = as_slice(flow.plan.logical.spans[one.name])
        chance = 1.0 / one.window.slide_tuples
        trigger = service.trigger_mean[span]
        mean[span] += chance * trigger
        variance[span] += chance * service.trigger_variance[span]
        variance[span] += chance * (1.0 - chance) * trigger**2
    return mean, variance
