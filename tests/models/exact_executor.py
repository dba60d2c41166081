"""Exact mean sojourn in the queue of a Storm 1.x executor, periodic flushes included.

With a periodic flush, only the tuples beyond the batch remain to be known just after a flush,
so the chain embedded there has one dimension; it is solved on a truncated range that grows
until its tail is negligible.
"""

import math

import numpy as np
from scipy import linalg, special
from scipy.sparse import linalg as sparse_linalg

from streamgauge.errors import Infeasible, InternalError
from streamgauge.models import storm_tracer
from streamgauge.models.batching import flush_wait
from streamgauge.models.storm_tracer import check_feasible, find_stationary
from streamgauge.transport.batched_queue import Flush, Sojourn

# Full batches, and tails of distributions, below this probability change no digit shown.
NEGLIGIBLE = 1e-15
TAIL = 1e-12
LARGEST_RANGE = 1 << 15


def mean_sojourn(queue):
    """Mean sojourn of a tuple, to numerical precision."""
    if queue.flush is Flush.EXPONENTIAL:
        return storm_tracer.mean_sojourn(queue)
    check_feasible(queue)
    return _periodic_flush(queue)


def mean_lists_in_batch(queue):
    """Mean number of lists in the input batch at a random time, with periodic flushes."""
    load = queue.lists_per_second * queue.flush_seconds
    return float(load * flush_wait(load, limit=queue.batch_limit, flush_seconds=1.0))


def _periodic_flush(queue):
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
            return Sojourn(
                batch_seconds=mean_lists_in_batch(queue) / queue.lists_per_second,
                rest_seconds=beyond / (queue.lists_per_second * queue.list_size),
            )
        size *= 2
    raise Infeasible(
        f"utilisation {queue.utilisation:.6f} and {queue.list_size:g} tuples a list need more than "
        f"{LARGEST_RANGE} states: simulate this executor instead"
    )


def _list_sizes(queue, lists, size):
    """Distribution of the tuples in that many lists, on 0 … size − 1; the rest is left out."""
    whole = math.floor(queue.list_size)
    more = np.arange(lists + 1)
    part = queue.list_size - whole
    shares = special.binom(lists, more) * part**more * (1.0 - part) ** (lists - more)
    result = np.zeros(size)
    fits = lists * whole + more < size
    result[lists * whole + more[fits]] = shares[fits]
    return result


def _embedded_at_flushes(queue, size):
    """Mean tuples beyond the batch, when no batch fills up between flushes.

    From flush to flush u → (u − S)⁺ + A, S ~ Poisson(μδ) possible services and A the tuples of
    Poisson(λδ) lists.
    """
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
    steady = find_stationary(step - np.eye(size))
    # ∫₀^δ P(S(t) = s) dt / δ = P(s + 1, μδ)/(μδ), for the mean of (u − S(t))⁺ in between.
    shares = special.gammainc(u + 1.0, work) / work
    between = np.convolve(u, shares)[:size]
    return float(steady @ between), float(steady[-size // 8 :].sum())


def _shifted(distribution):
    """Row v holds the distribution moved up by v."""
    first_column = np.zeros(len(distribution))
    first_column[0] = distribution[0]
    return np.asarray(linalg.toeplitz(first_column, distribution))


def _embedded_with_full_batches(queue, size):
    """Mean tuples beyond the batch, when batches also fill up between flushes.

    The chain (lists in the batch, tuples beyond it) is followed by uniformisation from flush to
    flush; the distribution that an interval leaves as it is solves x·(I − P + 1·v) = v for any
    distribution v, which takes GMRES only a few intervals to find.
    """
    limit = queue.batch_limit
    rate = queue.lists_per_second + 1.0 / queue.service_seconds
    arrival = queue.lists_per_second / rate
    jumps = rate * queue.flush_seconds
    steps = np.arange(math.ceil(jumps + 9.0 * math.sqrt(jumps) + 20.0))
    ended = np.exp(steps * math.log(jumps) - jumps - special.gammaln(steps + 1.0))
    lasting = special.gammainc(steps + 1.0, jumps) / jumps
    sizes = [_list_sizes(queue, lists, size) for lists in range(limit + 1)]

    def interval(state):
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


def _jump(current, arrival, full):
    """One uniformised event: an arrival, which may fill the batch, or a possible service."""
    moved = np.empty_like(current)
    moved[:, :-1] = (1.0 - arrival) * current[:, 1:]
    moved[:, -1] = 0.0
    moved[:, 0] += (1.0 - arrival) * current[:, 0]
    moved[1:] += arrival * current[:-1]
    moved[0] += arrival * _added(current[-1], full)
    return moved


def _added(state, sizes):
    """The distribution of the sum; what goes beyond the range stays at its end."""
    total = np.convolve(state, sizes)
    kept = total[: len(state)].copy()
    kept[-1] += total[len(state) :].sum()
    return kept
