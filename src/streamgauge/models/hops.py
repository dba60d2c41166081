"""Hops: what lies between the logic of two executors, as transforms at given points."""

from __future__ import annotations

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.delays import Delays
from streamgauge.models.network import Network
from streamgauge.models.transforms import Complex
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow, as_slice


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

    def carried(self, block: ConnectionBlock, onward: Complex) -> Complex:
        """What holds for tuples that leave, from what holds for them where they arrive.

        Args:
            block: The connections they take.
            onward: By receiving executor, points × executors.

        Returns:
            By sending executor: Σ share · E[e^(−s·hop)] · onward.
        """
        rows = as_slice(block.sources)
        transfer = self._transfer[:, self._worker[rows]]
        total = onward @ np.where(block.types == 0, block.shares, 0.0).T
        total = total + transfer * (onward @ np.where(block.types == 1, block.shares, 0.0).T)
        remote = np.where(block.types == 2, block.shares, 0.0)
        senders, receivers = self._node[rows], self._node[as_slice(block.targets)]
        for node in np.unique(receivers).tolist():
            part = np.where(receivers == node, remote, 0.0)
            if not part.any():
                continue
            seconds = self._network.seconds[senders, node]
            variance = self._network.variance[senders, node]
            scv = np.divide(variance, seconds**2, out=np.zeros_like(seconds), where=seconds > 0)
            wire = transforms.gamma(self.points, seconds, scv)
            total = total + transfer * wire * (onward @ part.T)
        return np.asarray(self._send[:, rows] * total)


def nodes_of(flow: TupleFlow) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The place of each executor's node among the plan's."""
    plan = flow.plan
    place = {name: index for index, name in enumerate(plan.nodes)}
    of_worker = np.asarray([place[worker.node] for worker in plan.workers], dtype=np.intp)
    return np.asarray(of_worker[np.asarray(plan.placement, dtype=np.intp)])
