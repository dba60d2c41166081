"""Exact mean sojourn in the queue of a Storm 1.x executor.

With a random flush, the number of lists in the batch is a Markov chain of its own, and each
release starts it anew; the tuples beyond the batch are a BMAP/M/1 queue whose phase is that
number. Its mean follows from the matrix G of first passages one tuple down (Neuts 1989).

With a periodic flush, only the tuples beyond the batch remain to be known just after a flush,
so the chain embedded there has one dimension; it is solved on a truncated range that grows
until its tail is negligible.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Infeasible, InternalError
from streamgauge.models.batching import flush_wait
from streamgauge.transport.batched_queue import BatchedQueue, Flush, Sojourn

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Phases of the batch, and tails of distributions, below this probability change no digit shown.
NEGLIGIBLE = 1e-15
TAIL = 1e-12
MAX_ITERATIONS = 100_000
LARGEST_RANGE = 1 << 15


def mean_sojourn(queue: BatchedQueue) -> Sojourn:
    """Mean sojourn of a tuple, to numerical precision.

    Raises:
        Infeasible: The server is offered as much as it can do, or more.
    """
    if queue.utilisation >= 1.0:
        raise Infeasible(
            f"utilisation {queue.utilisation:.3f}: expected below 1 for a mean to exist; "
            "give the operator more executors or less load"
        )
    if queue.flush is Flush.EXPONENTIAL:
        return _random_flush(queue)
    return _periodic_flush(queue)


def mean_lists_in_batch(queue: BatchedQueue) -> float:
    """Mean number of lists in the input batch at a random time."""
    load = queue.lists_per_second * queue.flush_seconds
    if queue.flush is Flush.EXPONENTIAL:
        # P(n) ∝ rⁿ with r = λ/(λ + τ), n below the limit (`storm-tracer` 2.10.4).
        n = np.arange(queue.batch_limit)
        weights = (load / (1.0 + load)) ** n
        return float(n @ weights / weights.sum())
    wait = flush_wait(load, limit=queue.batch_limit, flush_seconds=1.0)
    return float(load * wait)


def _size_moments(queue: BatchedQueue) -> tuple[float, float]:
    """Mean and variance of the whole number of tuples in a list."""
    part = queue.list_size - math.floor(queue.list_size)
    return queue.list_size, part * (1.0 - part)


def _random_flush(queue: BatchedQueue) -> Sojourn:
    arrival, flush = queue.lists_per_second, 1.0 / queue.flush_seconds
    service = 1.0 / queue.service_seconds
    growth = arrival / (arrival + flush)
    enough = math.ceil(math.log(NEGLIGIBLE) / math.log(growth))
    phases = max(1, min(queue.batch_limit, enough))
    release = np.full(phases, flush)
    release[0] = 0.0
    # The last phase releases on arrival too, with one list more than it holds.
    stay = np.diag(-(arrival + release)) + np.diag(np.full(phases - 1, arrival), k=1)
    first_passage = _first_passage(queue, stay, release, service)
    mean, variance = _size_moments(queue)
    lists = np.arange(phases)
    released = release * _mean_size(lists, mean)
    released[-1] += arrival * phases * mean
    # D''(1): second factorial moments of what is released.
    second = release * _second_factorial(lists, mean, variance)
    second[-1] += arrival * _second_factorial(phases, mean, variance)
    generator = stay.copy()
    generator[:, 0] += release
    generator[-1, 0] += arrival
    steady = _stationary(generator)
    empty = (1.0 - queue.utilisation) * _stationary(first_passage - np.eye(phases))
    # Π'(1)·D = μθ − μπ₀ − θD'(1), with every release ending in phase 0.
    right = service * steady - service * empty
    right[0] -= steady @ released
    ones = np.ones(phases)
    particular = np.linalg.solve((generator + np.outer(ones, steady)).T, right)
    particular -= particular.sum() * steady
    spare = service * ones - released
    beyond = float((steady @ (released + second / 2.0) - particular @ spare) / (steady @ spare))
    return _sojourn(queue, beyond)


def _mean_size(lists: NDArray[np.int64] | int, mean: float) -> Vector:
    return np.asarray(lists * mean, dtype=np.float64)


def _second_factorial(lists: NDArray[np.int64] | int, mean: float, variance: float) -> Vector:
    size = np.asarray(lists * mean, dtype=np.float64)
    return np.asarray(lists * variance + size * size - size, dtype=np.float64)


def _first_passage(queue: BatchedQueue, stay: Matrix, release: Vector, service: float) -> Matrix:
    """G: phase in which the tuples beyond the batch first fall by one, from each phase.

    Fixed point of G = −U⁻¹·μ with U = D₀ − μI + Σ Dₘ·Gᵐ; a release of n lists takes n times
    the passage H through one list's tuples.
    """
    phases = len(release)
    arrival = queue.lists_per_second
    whole = math.floor(queue.list_size)
    part = queue.list_size - whole
    identity = np.eye(phases)
    passage: Matrix = identity
    for _ in range(MAX_ITERATIONS):
        through = np.linalg.matrix_power(passage, whole)
        if part > 0.0:
            through = (1.0 - part) * through + part * (through @ passage)
        inner = stay - service * identity
        row = identity[0]
        for n in range(1, phases + 1):
            row = row @ through
            if n < phases:
                inner[n] += release[n] * row
            else:
                inner[phases - 1] += arrival * row
        updated = np.asarray(-service * np.linalg.inv(inner), dtype=np.float64)
        if np.max(np.abs(updated - passage)) < NEGLIGIBLE * 10:
            return updated
        passage = updated
    raise InternalError("first passages of the executor's queue did not converge")


def _stationary(generator: Matrix) -> Vector:
    """The distribution that a generator leaves as it is."""
    size = len(generator)
    system = np.vstack([generator.T[:-1], np.ones(size)]) if size > 1 else np.ones((1, 1))
    right = np.zeros(size)
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(system, right))


def _sojourn(queue: BatchedQueue, beyond: float) -> Sojourn:
    """By Little's law, for lists in the batch and for tuples beyond it."""
    rate = queue.lists_per_second
    return Sojourn(
        batch_seconds=mean_lists_in_batch(queue) / rate,
        rest_seconds=beyond / (rate * queue.list_size),
    )


def _periodic_flush(queue: BatchedQueue) -> Sojourn:
    from scipy import special

    load = queue.lists_per_second * queue.flush_seconds
    fills_between_flushes = float(special.gammainc(queue.batch_limit, load)) > NEGLIGIBLE
    solve = _embedded_with_full_batches if fills_between_flushes else _embedded_at_flushes
    # A full batch must have room, or it would be forgotten.
    fullest = queue.batch_limit * math.ceil(queue.list_size) if fills_between_flushes else 0
    size = 64
    while size <= 2 * fullest:
        size *= 2
    while size <= LARGEST_RANGE:
        beyond, tail = solve(queue, size)
        if tail < TAIL:
            return _sojourn(queue, beyond)
        size *= 2
    raise Infeasible(
        f"utilisation {queue.utilisation:.6f} and {queue.list_size:g} tuples a list need more than "
        f"{LARGEST_RANGE} states: simulate this executor instead"
    )


def _list_sizes(queue: BatchedQueue, lists: int, size: int) -> Vector:
    """Distribution of the tuples in that many lists, on 0 … size − 1; the rest is left out."""
    from scipy import special

    whole = math.floor(queue.list_size)
    more = np.arange(lists + 1)
    part = queue.list_size - whole
    shares = special.binom(lists, more) * part**more * (1.0 - part) ** (lists - more)
    result = np.zeros(size)
    fits = lists * whole + more < size
    result[lists * whole + more[fits]] = shares[fits]
    return result


def _embedded_at_flushes(queue: BatchedQueue, size: int) -> tuple[float, float]:
    """Mean tuples beyond the batch, when no batch fills up between flushes.

    From flush to flush u → (u − S)⁺ + A, S ~ Poisson(μδ) possible services and A the tuples of
    Poisson(λδ) lists.
    """
    from scipy import linalg, special

    load = queue.lists_per_second * queue.flush_seconds
    work = queue.flush_seconds / queue.service_seconds
    u = np.arange(size)
    arrived = np.zeros(size)
    for lists in range(queue.batch_limit):
        share = math.exp(lists * math.log(load) - load - math.lgamma(lists + 1.0))
        arrived += share * _list_sizes(queue, lists, size)
    served = np.exp(u * math.log(work) - work - special.gammaln(u + 1.0))
    # left[u, v]: probability that v of u tuples are left after an interval of service.
    left = linalg.toeplitz(served, np.zeros(size))
    left[:, 0] = special.gammainc(np.maximum(u, 1), work)
    left[0, 0] = 1.0
    step = left @ _shifted(arrived)
    # What would go beyond the range stays at its end, and shows as its tail.
    step[:, -1] += 1.0 - step.sum(axis=1)
    steady = _stationary(step - np.eye(size))
    # ∫₀^δ P(S(t) = s) dt / δ = P(s + 1, μδ)/(μδ), for the mean of (u − S(t))⁺ in between.
    shares = special.gammainc(u + 1.0, work) / work
    between = np.convolve(u, shares)[:size]
    return float(steady @ between), float(steady[-size // 8 :].sum())


def _shifted(distribution: Vector) -> Matrix:
    """Row v holds the distribution moved up by v."""
    from scipy import linalg

    first_column = np.zeros(len(distribution))
    first_column[0] = distribution[0]
    return np.asarray(linalg.toeplitz(first_column, distribution))


def _embedded_with_full_batches(queue: BatchedQueue, size: int) -> tuple[float, float]:
    """Mean tuples beyond the batch, when batches also fill up between flushes.

    The chain (lists in the batch, tuples beyond it) is followed by uniformisation from flush to
    flush; the distribution that an interval leaves as it is solves x·(I − P + 1·v) = v for any
    distribution v, which takes GMRES only a few intervals to find.
    """
    from scipy import special
    from scipy.sparse import linalg as sparse_linalg

    limit = queue.batch_limit
    rate = queue.lists_per_second + 1.0 / queue.service_seconds
    arrival = queue.lists_per_second / rate
    jumps = rate * queue.flush_seconds
    steps = np.arange(math.ceil(jumps + 9.0 * math.sqrt(jumps) + 20.0))
    ended = np.exp(steps * math.log(jumps) - jumps - special.gammaln(steps + 1.0))
    lasting = special.gammainc(steps + 1.0, jumps) / jumps
    sizes = [_list_sizes(queue, lists, size) for lists in range(limit + 1)]

    def interval(state: Vector) -> tuple[Vector, float]:
        """The distribution after the next flush, and the mean of u until then."""
        current = np.zeros((limit, size))
        current[0] = state
        last = np.zeros((limit, size))
        mean = 0.0
        for end, last_share in zip(ended, lasting, strict=True):
            last += end * current
            mean += last_share * float(current.sum(axis=0) @ np.arange(size))
            current = _jump(current, arrival, sizes[limit])
        flushed = np.zeros(size)
        for lists in range(limit):
            flushed += _added(last[lists], sizes[lists])
        return flushed, mean

    start = np.zeros(size)
    start[0] = 1.0
    residual = sparse_linalg.LinearOperator(
        (size, size), matvec=lambda x: x - interval(x)[0] + x.sum() * start, dtype=np.float64
    )
    steady, failed = sparse_linalg.gmres(residual, start, rtol=TAIL, restart=200, maxiter=50)
    if failed:
        raise InternalError("the executor's queue did not converge between flushes")
    _, mean = interval(steady)
    return mean, float(steady[-size // 8 :].sum())


def _jump(current: Matrix, arrival: float, full: Vector) -> Matrix:
    """One uniformised event: an arrival, which may fill the batch, or a possible service."""
    moved = np.empty_like(current)
    moved[:, :-1] = (1.0 - arrival) * current[:, 1:]
    moved[:, -1] = 0.0
    moved[:, 0] += (1.0 - arrival) * current[:, 0]
    moved[1:] += arrival * current[:-1]
    moved[0] += arrival * _added(current[-1], full)
    return moved


def _added(state: Vector, sizes: Vector) -> Vector:
    """The distribution of the sum; what goes beyond the range stays at its end."""
    total = np.convolve(state, sizes)
    kept = total[: len(state)].copy()
    kept[-1] += total[len(state) :].sum()
    return kept
