"""Between executors: latency from node to node, and hops as transforms at given points.

Latency is probed on whatever plan was measured (Cooper 2020, section 4.11): the median, which
spikes do not move, or another percentile. Between nodes that were never probed the cluster's
description counts, and else the median of all probed pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.delays import Delays
from streamgauge.models.job_behaviour import JobBehaviour, TimeMoments
from streamgauge.models.transforms import Complex
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan
from streamgauge.topology.topology import Subscription
from streamgauge.topology.tuple_flow import (
    CONNECTION_TYPES,
    ConnectionBlock,
    Matrix,
    TupleFlow,
    as_slice,
    locate_nodes,
)

SECONDS_PER_MS = 1e-3
Places = NDArray[np.intp]

MEDIAN = 0.5
# The code of a connection between nodes.
REMOTE = CONNECTION_TYPES.index(ConnectionType.REMOTE)
# And those of connections inside a worker, and between the workers of a node.
NEAR = (0, 1)
# Pairs of executors for which leaving out zeros takes longer than adding them up.
SMALL_BLOCK = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """One-way latency between the nodes of a plan, in their order.

    Attributes:
        seconds: From row to column; zero on the diagonal.
        notes: What was assumed for want of probes.
    """

    seconds: NDArray[np.float64]
    variance: NDArray[np.float64]
    notes: tuple[str, ...]


def find_network(
    plan: PhysicalPlan, behaviour: JobBehaviour, *, percentile: float = MEDIAN
) -> Network:
    """How far the nodes of a plan are from each other, by probes between some of them or none.

    The median is typical, a higher percentile for worst cases.
    """
    measured = behaviour.links
    usual = [_at(latency, percentile) for latency in measured.values()]
    typical: float | None = None
    size = len(plan.nodes)
    seconds, variance = np.zeros((size, size)), np.zeros((size, size))
    guessed: list[str] = []
    for row, source in enumerate(plan.nodes):
        for column, target in enumerate(plan.nodes):
            if row == column:
                continue
            known = measured.get((source, target), measured.get((target, source)))
            if known is not None:
                seconds[row, column] = _at(known, percentile)
                variance[row, column] = float(known.variance) * SECONDS_PER_MS**2
                continue
            declared = plan.cluster.latency_between(source, target) * SECONDS_PER_MS
            if declared == 0.0 and usual:
                typical = float(np.median(usual)) if typical is None else typical
                declared = typical
                guessed.append(f"{source} → {target}")
            seconds[row, column] = declared
            jitter = plan.cluster.jitter_between(source, target) * SECONDS_PER_MS
            variance[row, column] = jitter**2
    notes = []
    if guessed:
        notes.append(
            f"{len(guessed)} of {size * (size - 1)} pairs of nodes were not probed, such as"
            f" {guessed[0]}: the median of the others is used"
        )
    return Network(seconds=seconds, variance=variance, notes=tuple(notes))


def _at(latency: TimeMoments, percentile: float) -> float:
    """The percentile, between the recorded ones by a straight line; the mean without any."""
    if latency.quantiles_ms is None:
        return float(latency.mean_ms) * SECONDS_PER_MS
    quantile = np.interp(percentile, latency.probabilities, latency.quantiles_ms.value)
    return float(quantile) * SECONDS_PER_MS


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """Connections of a block inside nodes: its executors' places, and the shares by type."""

    senders: Places | slice
    receivers: Places | slice
    in_worker: Matrix
    between_workers: Matrix


class Distances:
    """How far the connections of a plan lead, whatever the points at which hops are taken."""

    def __init__(self, flow: TupleFlow, network: Network) -> None:
        self.network = network
        self.worker = np.asarray(flow.plan.placement, dtype=np.intp)
        self.node = locate_nodes(flow.plan)
        apart = ~np.eye(len(network.seconds), dtype=bool)
        self.is_uniform = bool(apart.any()) and all(
            np.ptp(matrix[apart]) == 0.0 for matrix in (network.seconds, network.variance)
        )
        self._near: dict[Subscription, list[_Near]] = {}
        self._remote: dict[Subscription, Matrix | None] = {}

    def list_near(self, block: ConnectionBlock) -> list[_Near]:
        """What stays inside its node: by node, or for all nodes at once where that is little."""
        key = block.stream.subscription
        if key not in self._near:
            self._near[key] = list(self._find_near(block))
        return self._near[key]

    def _find_near(self, block: ConnectionBlock) -> Iterator[_Near]:
        if block.types.size <= SMALL_BLOCK:
            in_worker, between = (np.where(block.types == near, block.shares, 0.0) for near in NEAR)
            yield _Near(slice(None), slice(None), in_worker, between)
            return
        senders, receivers = self.node[as_slice(block.sources)], self.node[as_slice(block.targets)]
        for node in sorted(set(receivers.tolist())):
            here, there = np.flatnonzero(senders == node), np.flatnonzero(receivers == node)
            if len(here):
                pairs = np.ix_(here, there)
                local, shares = block.types[pairs] == 0, block.shares[pairs]
                yield _Near(here, there, np.where(local, shares, 0.0), np.where(local, 0.0, shares))

    def find_remote(self, block: ConnectionBlock) -> Matrix | None:
        """Shares that go from node to node; None where no connection does."""
        key = block.stream.subscription
        if key not in self._remote:
            remote = block.types == REMOTE
            self._remote[key] = np.where(remote, block.shares, 0.0) if remote.any() else None
        return self._remote[key]


class HopTransforms:
    """The ways between executors of a plan.

    Args:
        flow: The plan.
        delays: In its elements.
        network: Between its nodes.
        points: Where transforms are taken, a column.
        distances: Of the same plan and network, where they are known already.

    Attributes:
        executors: E[e^(−sT)] of executors' delays, points × executors.
    """

    def __init__(
        self,
        flow: TupleFlow,
        delays: Delays,
        network: Network,
        points: Complex,
        distances: Distances | None = None,
    ) -> None:
        self.executors = delays.executor_transform(points)
        self.points = points
        self._distances = Distances(flow, network) if distances is None else distances
        self._send = delays.send_transform(points)
        self._transfer = delays.transfer_transform(points)
        self._wires: dict[int, Complex] = {}

    def carried(self, block: ConnectionBlock, onward: Complex) -> Complex:
        """What holds for tuples that leave, from what holds for them where they arrive.

        Points × sending executors: Σ share · E[e^(−s·hop)] · onward.
        """
        rows = as_slice(block.sources)
        near = np.zeros((len(onward), len(block.sources)), dtype=np.complex128)
        far = np.zeros_like(near)
        split = _split(onward)
        for one in self._distances.list_near(block):
            arriving = split[:, one.receivers]
            near[:, one.senders] = _mixed(arriving, one.in_worker)
            far[:, one.senders] = _mixed(arriving, one.between_workers)
        remote = self._distances.find_remote(block)
        if remote is not None:
            far += self._over_network(block, split, remote)
        transfer = self._transfer[:, self._distances.worker[rows]]
        return np.asarray(self._send[:, rows] * (near + transfer * far))

    def _over_network(self, block: ConnectionBlock, onward: Matrix, remote: Matrix) -> Complex:
        """The part of what is carried that goes from node to node."""
        if self._distances.is_uniform:
            # From the second node to the first it is as far as between any two.
            return np.asarray(self._wire(0)[:, 1:2] * _mixed(onward, remote))
        node = self._distances.node
        senders, receivers = node[as_slice(block.sources)], node[as_slice(block.targets)]
        total = np.zeros((len(self.points), len(senders)), dtype=np.complex128)
        for place in sorted(set(receivers.tolist())):
            there = np.flatnonzero(receivers == place)
            if remote[:, there].any():
                wire = self._wire(place)[:, senders]
                total += wire * _mixed(onward[:, there], remote[:, there])
        return total

    def _wire(self, node: int) -> Complex:
        """The network to a node, points × nodes it may come from."""
        if node not in self._wires:
            network = self._distances.network
            seconds, variance = network.seconds[:, node], network.variance[:, node]
            scv = np.divide(variance, seconds**2, out=np.zeros_like(seconds), where=seconds > 0)
            self._wires[node] = transforms.gamma(self.points, seconds, scv)
        return self._wires[node]


def _split(values: Complex) -> Matrix:
    """Real parts above imaginary ones, for products with real matrices."""
    return np.concatenate([values.real, values.imag])


def _mixed(values: Matrix, shares: Matrix) -> Complex:
    """Σ over receivers, points × senders, of values as `_split` gives them."""
    both = values @ shares.T
    mixed = np.empty((len(both) // 2, both.shape[1]), dtype=np.complex128)
    mixed.real, mixed.imag = both[: len(mixed)], both[len(mixed) :]
    return mixed
