"""Queues of the textbooks, which other planners use: M/M/1, M/M/c, G/G/1 and G/G/c.

Kleinrock 1975 and 1976, Kingman 1961, Allen 1990. Where a queue is offered as much as it can do, or
more, waits are infinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from streamgauge.models import transforms
from streamgauge.models.queueing import Vector, as_vector, over
from streamgauge.models.transforms import Complex


def mm1_wait(rate: ArrayLike, service_seconds: ArrayLike) -> Vector:
    """Mean wait in the M/M/1 queue, ρb/(1 − ρ) (Kleinrock 1975, 3.26)."""
    return mmc_wait(rate, service_seconds, 1)


def mm1_sojourn_quantiles(
    rate: ArrayLike, service_seconds: ArrayLike, probabilities: Sequence[float]
) -> Vector:
    """Quantiles of the M/M/1 sojourn, which is exponential."""
    return exponential_quantiles(
        mm1_wait(rate, service_seconds) + as_vector(service_seconds), probabilities
    )


def erlang_c(load: ArrayLike, servers: ArrayLike) -> Vector:
    """Probability that a customer of the M/M/c queue waits; one where the queue is overloaded.

    By Erlang's loss formula as a ratio of incomplete gamma functions, so that neither powers nor
    factorials of hundreds of servers overflow.
    """
    offered, count = np.broadcast_arrays(as_vector(load), as_vector(servers))
    stable = offered < count
    safe = np.where(stable, offered, 0.0)
    states = np.exp(special.xlogy(count, safe) - safe - special.gammaln(count + 1.0))
    loss = states / special.gammaincc(count + 1.0, safe)
    return np.where(stable, loss / (1.0 - safe / count * (1.0 - loss)), 1.0)


def mmc_wait(rate: ArrayLike, service_seconds: ArrayLike, servers: ArrayLike) -> Vector:
    """Mean wait in the M/M/c queue (Kleinrock 1975, section 3.5)."""
    service, count = as_vector(service_seconds), as_vector(servers)
    load = as_vector(rate) * service
    return over(erlang_c(load, count) * service, count - load)


def mmc_sojourn_quantiles(
    rate: ArrayLike, service_seconds: ArrayLike, servers: ArrayLike, probabilities: Sequence[float]
) -> Vector:
    """Quantiles of the M/M/c sojourn: a service, and an exponential wait with Erlang's chance."""
    service, count = as_vector(service_seconds), as_vector(servers)
    load = as_vector(rate) * service
    delayed = erlang_c(load, count)
    patience = over(service, count - load)
    safe = np.where(np.isfinite(patience), patience, 0.0)
    variance = service**2 + delayed * (2.0 - delayed) * safe**2

    def transform(s: Complex) -> Complex:
        waiting = transforms.with_atom(transforms.exponential(s, safe), delayed)
        return transforms.exponential(s, service) * waiting

    mean = service + delayed * patience
    return transforms.quantiles(transform, probabilities, mean, np.sqrt(variance))


def kingman_wait(
    rate: ArrayLike, service_seconds: ArrayLike, arrival_scv: ArrayLike, service_scv: ArrayLike
) -> Vector:
    """Mean wait in the G/G/1 queue, about ρb(c_a² + c_s²)/(2(1 − ρ)) (Kingman 1961)."""
    return allen_cunneen_wait(rate, service_seconds, 1, arrival_scv, service_scv)


def allen_cunneen_wait(
    rate: ArrayLike,
    service_seconds: ArrayLike,
    servers: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
) -> Vector:
    """Mean wait in the G/G/c queue: that of M/M/c times (c_a² + c_s²)/2 (Allen 1990)."""
    variability = (as_vector(arrival_scv) + as_vector(service_scv)) / 2.0
    base = mmc_wait(rate, service_seconds, servers)
    # Constant arrivals and services never wait below saturation, and 0·∞ has no value above.
    return np.where(np.isfinite(base), np.where(np.isfinite(base), base, 0.0) * variability, np.inf)


def exponential_quantiles(mean: ArrayLike, probabilities: Sequence[float]) -> Vector:
    """Quantiles of an exponential time: what a mean alone says of the tail in heavy traffic."""
    first = as_vector(mean)
    levels = as_vector(probabilities).reshape(-1, *[1] * first.ndim)
    return np.asarray(-np.log1p(-levels) * first)
