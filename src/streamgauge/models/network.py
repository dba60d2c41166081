"""Between executors: latency from node to node, and hops as transforms at given points.

Latency is probed on whatever plan was measured (Cooper 2020, section 4.11): the median, which
spikes do not move, or another percentile. Between nodes that were never probed the cluster's
description counts, and else the median of all probed pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.delays import Delays
from streamgauge.models.job_behaviour import JobBehaviour, TimeMoments
from streamgauge.models.transforms import Complex
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan
from streamgauge.topology.tuple_flow import (
    CONNECTION_TYPES,
    ConnectionBlock,
    Matrix,
    TupleFlow,
    as_slice,
)

SECONDS_PER_MS = 1e-3
Places = NDArray[np.intp]

MEDIAN = 0.5
# The code of a connection between nodes.
REMOTE = CONNECTION_TYPES.index(ConnectionType.REMOTE)


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


class HopTransforms:
    """The ways between executors of a plan.

    Attributes:
        points: Where transforms are taken, a column.
        executors: E[e^(−sT)] of executors' delays, points × executors.
    """

    def __init__(self, flow: TupleFlow, delays: Delays, network: Network, points: Complex) -> None:
        self.executors = delays.executor_transform(points)
        self.points, self._network = points, network
        self._send = delays.send_transform(points)
        self._transfer = delays.transfer_transform(points)
        self._worker = np.asarray(flow.plan.placement, dtype=np.intp)
        self._node = locate_nodes(flow)
        apart = ~np.eye(len(network.seconds), dtype=bool)
        self._is_uniform = bool(apart.any()) and all(
            np.ptp(matrix[apart]) == 0.0 for matrix in (network.seconds, network.variance)
        )

    def carried(self, block: ConnectionBlock, onward: Complex) -> Complex:
        """What holds for tuples that leave, from what holds for them where they arrive.

        Points × sending executors: Σ share · E[e^(−s·hop)] · onward.
        """
        rows = as_slice(block.sources)
        senders, receivers = self._node[rows], self._node[as_slice(block.targets)]
        near = np.zeros((len(onward), len(senders)), dtype=np.complex128)
        far = np.zeros_like(near)
        for node in sorted(set(receivers.tolist())):
            here, there = np.flatnonzero(senders == node), np.flatnonzero(receivers == node)
            if len(here):
                pairs = np.ix_(here, there)
                local, shares = block.types[pairs] == 0, block.shares[pairs]
                near[:, here] = _mixed(onward[:, there], np.where(local, shares, 0.0))
                far[:, here] = _mixed(onward[:, there], np.where(local, 0.0, shares))
        if np.any(block.types == REMOTE):
            far += self._over_network(block, onward, senders, receivers)
        transfer = self._transfer[:, self._worker[rows]]
        return np.asarray(self._send[:, rows] * (near + transfer * far))

    def _over_network(
        self, block: ConnectionBlock, onward: Complex, senders: Places, receivers: Places
    ) -> Complex:
        """The part of what is carried that goes from node to node."""
        remote = np.where(block.types == REMOTE, block.shares, 0.0)
        if self._is_uniform:
            # From the second node to the first it is as far as between any two.
            return np.asarray(self._wire(0)[:, 1:2] * _mixed(onward, remote))
        total = np.zeros((len(onward), len(senders)), dtype=np.complex128)
        for node in sorted(set(receivers.tolist())):
            there = np.flatnonzero(receivers == node)
            if remote[:, there].any():
                wire = self._wire(node)[:, senders]
                total += wire * _mixed(onward[:, there], remote[:, there])
        return total

    def _wire(self, node: int) -> Complex:
        """The network to a node, points × nodes it may come from."""
        seconds, variance = self._network.seconds[:, node], self._network.variance[:, node]
        scv = np.divide(variance, seconds**2, out=np.zeros_like(seconds), where=seconds > 0)
        return transforms.gamma(self.points, seconds, scv)


def _mixed(values: Complex, shares: Matrix) -> Complex:
    """Σ over receivers, points × senders; a complex matrix times a real one, without waste."""
    both = np.concatenate([values.real, values.imag]) @ shares.T
    return np.asarray(both[: len(values)] + 1j * both[len(values) :])


def locate_nodes(flow: TupleFlow) -> Places:
    """The place of each executor's node among the plan's."""
    plan = flow.plan
    place = {name: index for index, name in enumerate(plan.nodes)}
    of_worker = np.asarray([place[worker.node] for worker in plan.workers], dtype=np.intp)
    return np.asarray(of_worker[np.asarray(plan.placement, dtype=np.intp)])
