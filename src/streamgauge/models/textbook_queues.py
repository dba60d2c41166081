"""Queues of the textbooks, which other planners use: M/M/1, M/M/c, G/G/1 and G/G/c.

Kleinrock 1975, Kingman 1961, Allen 1990. One server is a case of several: M/M/1 is M/M/c, and
Kingman's formula that of Allen and Cunneen, with c = 1. Where a queue is offered as much as it can
do, or more, waits are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from streamgauge.models import transforms
from streamgauge.models.queueing import Vector, as_vector, divide_or
from streamgauge.models.transforms import Complex


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wait:
    """Waits in front of several servers: none where one of them is free, else exponential.

    Attributes:
        chance: Part of the customers that wait at all.
        patience: Mean wait of those, in seconds; infinite where the queue is overloaded.
    """

    chance: Vector
    patience: Vector

    @property
    def mean(self) -> Vector:
        """Of all customers."""
        return np.asarray(self.chance * self.patience)

    @property
    def variance(self) -> Vector:
        """Of the same."""
        return np.asarray(self.chance * (2.0 - self.chance) * self.patience**2)

    def transform(self, s: Complex) -> Complex:
        """E[e^(−sT)], points × queues; zero where waits are infinite."""
        finite = np.isfinite(self.patience)
        delayed = transforms.exponential(s, np.where(finite, self.patience, 0.0))
        return np.asarray(np.where(finite, transforms.with_atom(delayed, self.chance), 0.0))


def erlang_c(load: ArrayLike, servers: ArrayLike) -> Vector:
    """Probability that a customer of the M/M/c queue waits; one where the queue is overloaded.

    By Erlang's loss formula as a ratio of incomplete gamma functions, so that neither powers nor
    factorials of hundreds of servers overflow.
    """
    from scipy import special

    offered, count = np.broadcast_arrays(as_vector(load), as_vector(servers))
    stable = offered < count
    safe = np.where(stable, offered, 0.0)
    states = np.exp(special.xlogy(count, safe) - safe - special.gammaln(count + 1.0))
    loss = states / special.gammaincc(count + 1.0, safe)
    return np.where(stable, loss / (1.0 - safe / count * (1.0 - loss)), 1.0)


def mmc_wait(rate: ArrayLike, service_seconds: ArrayLike, servers: ArrayLike) -> Wait:
    """Wait in the M/M/c queue (Kleinrock 1975, section 3.5).

    Args:
        rate: Customers a second.
        service_seconds: Mean of their exponential service.
        servers: That serve one queue.
    """
    service, count = as_vector(service_seconds), as_vector(servers)
    load = as_vector(rate) * service
    return Wait(chance=erlang_c(load, count), patience=divide_or(service, count - load))


def allen_cunneen_wait(
    rate: ArrayLike,
    service_seconds: ArrayLike,
    servers: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
) -> Wait:
    """Wait in the G/G/c queue: that of M/M/c, longer by (c_a² + c_s²)/2 (Allen 1990).

    Args:
        rate: Customers a second.
        service_seconds: Mean of their service.
        servers: That serve one queue.
        arrival_scv: Squared coefficient of variation of the time between arrivals.
        service_scv: The same of service.
    """
    base = mmc_wait(rate, service_seconds, servers)
    variability = (as_vector(arrival_scv) + as_vector(service_scv)) / 2.0
    # Constant arrivals and services never wait below saturation, and 0·∞ has no value above.
    longer = np.multiply(
        base.patience,
        variability,
        out=np.full(np.broadcast_shapes(base.patience.shape, variability.shape), np.inf),
        where=np.isfinite(base.patience),
    )
    return replace(base, patience=longer)
