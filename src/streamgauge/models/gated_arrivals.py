"""Queues behind threads that sleep: what comes meanwhile is let through at once, again and again.

A transfer thread of Storm 2.x that found nothing sleeps, then hands over all that came meanwhile; a
source that slept emits all that was due. Releases are as large as chance has it, but come as
regularly as a clock, so that over longer times arrivals vary no more than before. Batches of that
size at random times would make a longer queue.

The work that a release finds is the maximum of a random walk (Spitzer 1956): i releases of w gates
that open every T seconds bring as much as comes in i·T/w seconds; the time between them is that of
w even spacings on a circle. One gate is a flushed queue (`queueing.FlushedQueue`); very many are
none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.arrival_variability import Gates
from streamgauge.models.queueing import BulkQueue, divide_or, wait_before, work_moments
from streamgauge.models.random_walks import Cumulants, find_maximum
from streamgauge.models.transforms import Vector

# Of a step, squared: no walk has less, so that there is something to divide by.
LEAST_VARIANCE = 1e-9


def gate_factors(queue: BulkQueue, ungathered: BulkQueue, gates: Gates) -> Vector:
    """Waits for the batches before, in multiples of those with gathered batches at random times.

    Where a part p of the tuples comes through gates, batches at random times would add p² of what
    they add where all do; regular ones are taken to do so, too.

    Args:
        queue: Of what comes as it is gathered, at random times.
        ungathered: Of the same tuples as if nobody gathered them.
        gates: That tuples come through.
    """
    if gates.seconds <= 0.0:
        return np.ones_like(gates.part)
    at_random = wait_before(replace(queue, wait_factor=1.0)).mean
    plain = wait_before(replace(ungathered, wait_factor=1.0)).mean
    known = np.isfinite(at_random) & np.isfinite(plain) & (at_random > 0.0) & (gates.part > 0.0)
    released = _find_backlog(ungathered, gates, known)
    plain, at_random = np.where(known, plain, 1.0), np.where(known, at_random, 1.0)
    waited = plain + gates.part**2 * (released - plain)
    return np.where(known, divide_or(waited, at_random), 1.0)


def _find_backlog(queue: BulkQueue, gates: Gates, known: NDArray[np.bool_]) -> Vector:
    """Work that a release finds, where all that comes is released."""
    count, period = np.maximum(gates.count, 1.0), gates.seconds
    step = period / count
    batches = queue.met_per_second * step
    work = Cumulants(*(np.where(known, batches * moment, 0.0) for moment in work_moments(queue)))

    def position(steps: Vector) -> Cumulants:
        turn = np.mod(steps, count)
        circle = turn * (count - turn) / (count**2 * (count + 1.0))
        return work.times(steps).less_time(steps * step, period**2 * circle)

    return find_maximum(
        position,
        drift=np.where(known, step - work.mean, step),
        spread=work.variance + LEAST_VARIANCE * step**2,
    ).mean
