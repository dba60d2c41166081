"""Batches of Storm 1.x: how many objects leave a queue together, and how long they wait.

Cooper 2020, sections 4.12.1 and 4.13.2 to 4.13.4, with the repairs of `storm-tracer` 2.9.1, 2.11
and 8 (flaw 1). Objects arrive at a queue as a Poisson process and leave together when the
batch is full or a flush comes; the thread behind takes no time. Objects are tuples in an
executor's send queue and maps in a worker's transfer queue.

In the formulae k is the limit, δ the flush interval, a = λδ, and P and Q are the regularised
incomplete gamma functions: of Poisson arrivals with mean a, n or more come with probability
P(n, a), fewer with Q(n, a).
"""

from __future__ import annotations

import cmath
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole, format_value

Vector = NDArray[np.float64]

# Tails of distributions whose logarithm is below the negative of this change no digit.
NEGLIGIBLE = 40.0


def _load(rate: ArrayLike, limit: int, flush_seconds: float) -> Vector:
    """Mean number of arrivals in a flush interval, a = λδ."""
    rates = np.asarray(rate, dtype=np.float64)
    findings = Findings()
    check_rates(findings, rates)
    check_whole(findings, limit, "limit")
    check_number(findings, flush_seconds, "flush_seconds", above=0.0)
    findings.raise_if_any()
    return np.asarray(rates * flush_seconds)


def check_rates(findings: Findings, rates: Vector) -> None:
    """Rates are finite and not below zero."""
    wrong = ~(np.isfinite(rates) & (rates >= 0.0))
    if np.any(wrong):
        seen = format_value(float(rates[wrong][0]))
        findings.add("rate", seen=seen, expected="finite numbers of at least 0")


def batch_size(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Mean number of objects in a batch that leaves, E[Z]; 1 where hardly anything arrives.

    The interval starts anew at every delivery, as the thesis assumes.
    """
    from scipy import special

    load = _load(rate, limit, flush_seconds)
    busy = load > 0.0
    a = np.where(busy, load, 1.0)
    # eq. 4.25: what an interval delivers, over the chance that it delivers anything.
    delivered = limit * special.gammainc(limit + 1.0, a) + a * special.gammaincc(limit, a)
    size = np.where(busy, delivered / -np.expm1(-a), 1.0)
    return np.asarray(np.clip(size, 1.0, limit))


def delivery_interval(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Mean time between batches, E[Y] in seconds; infinite where nothing arrives."""
    size = batch_size(rate, limit=limit, flush_seconds=flush_seconds)
    with np.errstate(divide="ignore", over="ignore"):
        # eq. 4.12, which makes eq. 4.23 of eq. 4.25
        return np.asarray(size / np.asarray(rate, dtype=np.float64))


def batch_wait(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Mean time an object waits for its batch to leave, if each delivery restarts the timer.

    Takes the place of eq. 4.35 and 4.36, which forget the intervals without arrivals.
    """
    first, _ = _restarted_moments(_load(rate, limit, flush_seconds), limit)
    return np.asarray(flush_seconds * first)


def batch_wait_variance(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Variance of what `batch_wait` is the mean of."""
    first, second = _restarted_moments(_load(rate, limit, flush_seconds), limit)
    return np.asarray(flush_seconds**2 * (second - first**2))


def _restarted_moments(load: Vector, limit: int) -> tuple[Vector, Vector]:
    """E[W]/δ and E[W²]/δ².

    In an interval without a full batch, n < k objects lie uniformly in δ. In one that ends with
    the k-th arrival at X ≤ δ, the k − 1 others lie uniformly in X, and
    E[Xʳ; X ≤ δ] = k(k + 1)…(k + r − 1)/λʳ · P(k + r, a), as eq. 4.20.
    """
    from scipy import special

    if limit == 1:
        return np.zeros_like(load), np.zeros_like(load)
    k = float(limit)
    busy = load > 0.0
    a = np.where(busy, load, 1.0)
    partial = special.gammaincc(k - 1.0, a)
    objects = special.gammaincc(k, a) + k * special.gammainc(k + 1.0, a) / a
    full_once = (k - 1.0) * k * special.gammainc(k + 1.0, a) / a / a
    full_twice = (k - 1.0) * k * (k + 1.0) * special.gammainc(k + 2.0, a) / a / a / a
    first = np.where(busy, (partial + full_once) / objects / 2.0, 1.0 / 2.0)
    second = np.where(busy, (partial + full_twice) / objects / 3.0, 1.0 / 3.0)
    return np.asarray(first), np.asarray(second)


def flush_wait(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Mean time an object waits for its batch to leave, under the engine's periodic timer.

    Half the interval where batches do not fill up. By Little's law, the rate times this wait is
    the mean number of objects in the batch.
    """
    first, _ = _periodic_moments(_load(rate, limit, flush_seconds), limit)
    return np.asarray(flush_seconds * first)


def flush_wait_variance(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Variance of what `flush_wait` is the mean of; δ²/12 where batches do not fill up."""
    first, second = _periodic_moments(_load(rate, limit, flush_seconds), limit)
    return np.asarray(flush_seconds**2 * (second - first**2))


def _periodic_moments(load: Vector, limit: int) -> tuple[Vector, Vector]:
    """E[W]/δ and E[W²]/δ².

    With N arrivals since the flush at a time uniform in the interval, and s = N mod k,
    λE[W] = E[s]. From the order statistics of the arrivals, λ²E[W²] = E[s(s − 1)], where now
    s = k if k divides N > 0.
    """
    if limit == 1:
        return np.zeros_like(load), np.zeros_like(load)
    flat = load.reshape(-1)
    first = np.full(flat.shape, 1.0 / 2.0)
    second = np.full(flat.shape, 1.0 / 3.0)
    often = flat > 2.0 * limit
    seldom = (flat > 0.0) & ~often
    first[seldom], second[seldom] = _seldom_full(flat[seldom], limit)
    first[often], second[often] = _often_full(flat[often], limit)
    return first.reshape(load.shape), second.reshape(load.shape)


def _seldom_full(a: Vector, limit: int) -> tuple[Vector, Vector]:
    """The moments as those of N, less what each full batch has taken away."""
    from scipy import special

    first = np.full(a.shape, 1.0 / 2.0)
    second = np.full(a.shape, 1.0 / 3.0)
    most = float(a.max(initial=0.0))
    batches = math.ceil((most + 12.0 * math.sqrt(most) + NEGLIGIBLE) / limit)
    for n in range(limit, (batches + 1) * limit, limit):
        # Time averages, over the interval, of P(N ≥ n), P(N > n) and E[N; N > n].
        p0, p1, p2 = (special.gammainc(n + r, a) for r in (0.0, 1.0, 2.0))
        reached = p0 - n * p1 / a
        passed = p1 - (n + 1.0) * p2 / a
        count = a * p0 / 2.0 - n * (n + 1.0) * p2 / a / 2.0
        first -= limit * reached / a
        second -= limit * (2.0 * count - (2.0 * n + 1.0 - limit) * passed) / a / a
    return first, second


def _often_full(a: Vector, limit: int) -> tuple[Vector, Vector]:
    """The moments from the Fourier series of s, as E[exp(iθN)] = exp(−λt(1 − exp(iθ))).

    The constant parts sum up by Σ 1/sin²(πm/k) = (k² − 1)/3, m from 1 to k − 1.
    """
    k = float(limit)
    square = k * k - 1.0
    first = (k - 1.0) / 2.0 - square / 12.0 / a
    edge = square * (2.0 - k) / 12.0 + (k - 1.0) ** 2 / 2.0 + k * (k - 1.0) * np.expm1(-a)
    second = square / 3.0 + edge / a
    least = float(a.min(initial=math.inf))
    # The m-th harmonic has died out by exp(−2a·sin²(πm/k)).
    harmonics = math.ceil(k / math.pi * math.asin(min(1.0, math.sqrt(NEGLIGIBLE / 2.0 / least))))
    for m in range(1, min(limit // 2, harmonics) + 1):
        # Harmonics m and k − m are conjugate.
        weight = 1.0 if 2 * m == limit else 2.0
        sine = math.sin(math.pi * m / k)
        # 1 − exp(iθ), and the i·exp(−iθ/2)/sin(θ/2) that is twice its inverse
        gap = -2j * sine * cmath.exp(1j * math.pi * m / k)
        inverse = 2.0 / gap
        left = weight * np.exp(-gap * a) / a
        first += left.real / (4.0 * sine * sine)
        second -= (left * (inverse / (sine * sine) + (k - 1.0) * inverse**2)).real / 4.0
    return first / a, second / a / a
