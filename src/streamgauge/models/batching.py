"""Batches of Storm 1.x: how many objects leave a queue together, and how long they wait.

Cooper 2020, sections 4.12.1 and 4.13.2 to 4.13.4, with the repairs of `storm-tracer` 2.9.1, 2.11
and 8 (flaw 1). Objects arrive at a queue as a Poisson process and leave together when the
batch is full or a flush comes; the thread behind takes no time. Objects are tuples in an
executor's send queue and maps in a worker's transfer queue.

In the formulae k is the limit, δ the flush interval, a = λδ, and P and Q are the regularised
incomplete gamma functions: of Poisson arrivals with mean a, n or more come with probability
P(n, a), fewer with Q(n, a).

A send thread sorts its batch into one list for each local executor and one map for all others; a
transfer thread gathers maps, and the receiving worker splits them up into lists again (section
4.12, with the repairs of `storm-tracer` 2.9 and 8, flaws 2, 6 and 11).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole, format_value

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

# Tails of distributions whose logarithm is below the negative of this change no digit.
NEGLIGIBLE = 40.0
# The mean size of a list, from the mean size of a batch and the share of its tuples.
ListMean = Callable[[Vector, Vector], Vector]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Connections:
    """What executors send each other, over all streams and acks.

    A tuple for several subscribers is several tuples here, as it is in the send queue. Make it by
    `between`, which sorts.

    Attributes:
        worker: The worker of each executor, from 0.
        source: Sending executor of each connection, from 0.
        target: Receiving executor. Pairs are in order, and none comes twice.
        rate: Tuples per second of each connection, σ_ij; above 0.
    """

    worker: Indices
    workers: int
    source: Indices
    target: Indices
    rate: Vector

    def __post_init__(self) -> None:
        findings = Findings()
        _check_connections(findings, self.source, self.target, self.rate, self.executors)
        _check_indices(findings, self.worker, "worker", self.workers)
        findings.raise_if_any()
        pairs = self.source * self.executors + self.target
        if np.any(np.diff(pairs) <= 0) or np.any(self.rate == 0.0):
            findings.add(
                "source",
                seen="pairs out of order, twice or without tuples",
                expected="each pair that is used once, in order",
                remedy="make connections by Connections.between",
            )
        findings.raise_if_any()

    @classmethod
    def between(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        rate: ArrayLike,
        *,
        worker: ArrayLike,
        workers: int | None = None,
    ) -> Connections:
        """Connections in any order; those of one pair add up, and those without tuples go.

        `worker` is that of each executor; `workers`, if not given, up to the last that has one.
        """
        sources, targets = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
        rates, places = np.asarray(rate, dtype=np.float64), np.asarray(worker, dtype=np.int64)
        executors = len(places)
        findings = Findings()
        _check_connections(findings, sources, targets, rates, executors)
        findings.raise_if_any()
        some = rates > 0.0
        sources, targets, rates = sources[some], targets[some], rates[some]
        pairs = sources * executors + targets
        if np.any(np.diff(pairs) <= 0):
            pairs, group = np.unique(pairs, return_inverse=True)
            rates = _sums(group, rates, len(pairs))
            sources, targets = np.divmod(pairs, executors)
        if workers is None:
            workers = int(places.max(initial=-1)) + 1
        return cls(worker=places, workers=workers, source=sources, target=targets, rate=rates)

    @property
    def executors(self) -> int:
        """Number of executors."""
        return len(self.worker)

    @property
    def leaves(self) -> NDArray[np.bool_]:
        """Whether a connection goes to another worker, through the transfer queue."""
        return np.asarray(self.worker[self.source] != self.worker[self.target])

    @property
    def output_rate(self) -> Vector:
        """Tuples per second into each executor's send queue."""
        return _sums(self.source, self.rate, self.executors)

    @property
    def share(self) -> Vector:
        """Part of its source's tuples that each connection takes, G_ij (eq. 4.7)."""
        return np.asarray(self.rate / self.output_rate[self.source])


def _check_connections(
    findings: Findings, source: Indices, target: Indices, rate: Vector, executors: int
) -> None:
    if not source.shape == target.shape == rate.shape == (rate.size,):
        shapes = f"shapes {source.shape}, {target.shape} and {rate.shape}"
        findings.add("rate", seen=shapes, expected="source, target and rate of one length")
        return
    _check_indices(findings, source, "source", executors)
    _check_indices(findings, target, "target", executors)
    check_rates(findings, rate)


def _check_indices(findings: Findings, indices: Indices, name: str, end: int) -> None:
    wrong = (indices < 0) | (indices >= end)
    if np.any(wrong):
        findings.add(name, seen=str(indices[wrong][0]), expected=f"numbers from 0 and below {end}")


def _sums(groups: Indices, values: Vector, size: int) -> Vector:
    # Of no values at all, NumPy would make whole numbers.
    return np.bincount(groups, weights=values, minlength=size).astype(np.float64, copy=False)


def _ratio(numerator: Matrix, denominator: Matrix) -> Matrix:
    """Element by element; 0 where the denominator is."""
    there = denominator > 0.0
    return np.asarray(np.where(there, numerator / np.where(there, denominator, 1.0), 0.0))


def conditional_mean(batch: Vector, share: Vector) -> Vector:
    """Mean tuples in a list, Z·G/(1 − (1 − G)^Z): a list without tuples is not sent.

    Takes the place of eq. 4.26, whose Z·G may be less than one tuple.
    """
    batch, share = np.broadcast_arrays(batch, share)
    inside = (share > 0.0) & (share < 1.0)
    part = np.where(inside, share, 0.5)
    some = -np.expm1(batch * np.log1p(-part))
    size = np.where(inside, batch * part / some, np.where(share < 1.0, 1.0, batch))
    return np.asarray(np.clip(size, 1.0, batch))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListSizes:
    """How many tuples travel together; 0 where none do.

    Attributes:
        batch: Tuples that an executor's send thread takes at once, Z_i.
        local_list: Tuples in a list from executor to executor within a worker, T_ij, by
            connection; 0 for those that leave it.
        executor_map: Tuples in a map from an executor to its worker's transfer queue, M_iw.
        transfer_rate: Tuples per second into a worker's transfer queue, λ_w.
        map_size: Tuples in a map in that queue, M_w.
        map_rate: Maps per second into it.
        map_batch: Maps that the transfer thread takes at once.
        transfer_batch: Tuples in them, Z_w.
        remote_list: Tuples in a list from worker to executor of another, T_wj, worker by executor.
        list_rate: Lists per second into an executor's receive queue.
        list_size: Tuples in such a list, I_j; a fraction is the chance of one tuple more.
    """

    connections: Connections
    batch: Vector
    local_list: Vector
    executor_map: Vector
    transfer_rate: Vector
    map_size: Vector
    map_rate: Vector
    map_batch: Vector
    transfer_batch: Vector
    remote_list: Matrix
    list_rate: Vector
    list_size: Vector


def list_sizes(
    connections: Connections,
    *,
    limit: int,
    flush_seconds: float,
    list_mean: ListMean = conditional_mean,
    map_size: ArrayLike | None = None,
) -> ListSizes:
    """Sizes of batches, maps and lists everywhere.

    Args:
        connections: What is sent.
        limit: Objects that fill a batch: tuples in send queues, maps in transfer queues.
        flush_seconds: Time between flushes.
        list_mean: The mean size of a list from that of a batch and a share.
        map_size: Tuples in a map by worker, where they are known; else by eq. 4.30, each
            executor weighed by its maps and not its tuples.
    """
    batch = batch_size(connections.output_rate, limit=limit, flush_seconds=flush_seconds)
    stays = ~connections.leaves
    local_list = np.zeros_like(connections.rate)
    local_list[stays] = list_mean(batch[connections.source[stays]], connections.share[stays])
    leaving, maps = _executor_maps(connections, batch, list_mean)
    transfer_rate = _sums(connections.worker, leaving, connections.workers)
    if map_size is None:
        each = _sums(connections.worker, _ratio(leaving, maps), connections.workers)
        mean_map = _ratio(transfer_rate, each)
    else:
        mean_map = np.asarray(map_size, dtype=np.float64)
    map_rate = _ratio(transfer_rate, mean_map)  # eq. 4.27
    map_batch = batch_size(map_rate, limit=limit, flush_seconds=flush_seconds)
    transfer_batch = map_batch * mean_map
    remote_list = _remote_lists(connections, transfer_rate, transfer_batch, list_mean)
    list_rate, list_size = input_lists(connections, local_list, remote_list)
    return ListSizes(
        connections=connections,
        batch=batch,
        local_list=local_list,
        executor_map=maps,
        transfer_rate=transfer_rate,
        map_size=mean_map,
        map_rate=map_rate,
        map_batch=map_batch,
        transfer_batch=transfer_batch,
        remote_list=remote_list,
        list_rate=list_rate,
        list_size=list_size,
    )


def _executor_maps(
    connections: Connections, batch: Vector, list_mean: ListMean
) -> tuple[Vector, Vector]:
    """Tuples per second of each executor to other workers, and in its maps (eq. 4.28)."""
    leaves = connections.leaves
    leaving = _sums(connections.source[leaves], connections.rate[leaves], connections.executors)
    maps = list_mean(batch, _ratio(leaving, connections.output_rate))
    # A map is made only where something leaves.
    return leaving, np.asarray(np.where(leaving > 0.0, maps, 0.0))


def _remote_rates(connections: Connections) -> Matrix:
    """Tuples per second from a worker to each executor of the others."""
    leaves = connections.leaves
    source, target = connections.source[leaves], connections.target[leaves]
    shape = (connections.workers, connections.executors)
    cells = connections.worker[source] * connections.executors + target
    return _sums(cells, connections.rate[leaves], math.prod(shape)).reshape(shape)


def _remote_lists(
    connections: Connections, transfer_rate: Vector, transfer_batch: Vector, list_mean: ListMean
) -> Matrix:
    """T_wj of eq. 4.31.

    A worker's batches are shared out as its tuples are. The sum of T_ij there counts an executor
    by its batch alone, however seldom it sends one.
    """
    rates = _remote_rates(connections)
    shares = _ratio(rates, np.broadcast_to(transfer_rate[:, np.newaxis], rates.shape))
    sizes = np.zeros_like(rates)
    some = np.nonzero(shares)
    sizes[some] = list_mean(transfer_batch[some[0]], shares[some])
    return sizes


def input_lists(
    connections: Connections, local_list: Vector, remote_list: Matrix
) -> tuple[Vector, Vector]:
    """Lists per second into each executor and their mean size, I_j (eq. 4.32 to 4.34)."""
    stays = ~connections.leaves
    target, rate = connections.target[stays], connections.rate[stays]
    remote = _remote_rates(connections)
    lists = _sums(target, _ratio(rate, local_list[stays]), connections.executors)
    lists += _ratio(remote, remote_list).sum(axis=0)
    tuples = _sums(target, rate, connections.executors) + remote.sum(axis=0)
    # The mean of eq. 4.34 over lists is tuples over lists.
    return lists, _ratio(tuples, lists)
