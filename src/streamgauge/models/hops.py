"""Hops: what lies between the logic of two executors, as transforms at given points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.delays import Delays
from streamgauge.models.network import Network
from streamgauge.models.transforms import Complex
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import (
    CONNECTION_TYPES,
    ConnectionBlock,
    Matrix,
    TupleFlow,
    as_slice,
)

Places = NDArray[np.intp]

# The code of a connection between nodes.
REMOTE = CONNECTION_TYPES.index(ConnectionType.REMOTE)


class HopTransforms:
    """The ways between executors of a plan.

    Args:
        flow: The plan, with routing shares.
        delays: In its elements.
        network: Between its nodes.
        points: Where transforms are taken, a column.

    Attributes:
        points: As given.
        executors: E[e^(−sT)] of executors' delays, points × executors.
    """

    def __init__(self, flow: TupleFlow, delays: Delays, network: Network, points: Complex) -> None:
        self.executors = delays.executor_transform(points)
        self.points, self._network = points, network
        self._send = delays.send_transform(points)
        self._transfer = delays.transfer_transform(points)
        self._worker = np.asarray(flow.plan.placement, dtype=np.intp)
        self._node = nodes_of(flow)
        apart = ~np.eye(len(network.seconds), dtype=bool)
        self._is_uniform = bool(apart.any()) and all(
            np.ptp(matrix[apart]) == 0.0 for matrix in (network.seconds, network.variance)
        )

    def carried(self, block: ConnectionBlock, onward: Complex) -> Complex:
        """What holds for tuples that leave, from what holds for them where they arrive.

        Args:
            block: The connections they take.
            onward: By receiving executor, points × executors.

        Returns:
            By sending executor: Σ share · E[e^(−s·hop)] · onward.
        """
        rows = as_slice(block.sources)
        senders, receivers = self._node[rows], self._node[as_slice(block.targets)]
        near = np.zeros((len(onward), len(senders)), dtype=np.complex128)
        far = np.zeros_like(near)
        for node in np.unique(receivers).tolist():
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
        for node in np.unique(receivers).tolist():
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


def nodes_of(flow: TupleFlow) -> Places:
    """The place of each executor's node among the plan's."""
    plan = flow.plan
    place = {name: index for index, name in enumerate(plan.nodes)}
    of_worker = np.asarray([place[worker.node] for worker in plan.workers], dtype=np.intp)
    return np.asarray(of_worker[np.asarray(plan.placement, dtype=np.intp)])
