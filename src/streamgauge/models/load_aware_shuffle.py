"""Storm 2.x's shuffle: a task sends to the nearest tasks, as long as their queues do not fill up.

`docs/storm-rules.md` has the rule. Swinging and settling loads are told by `regimes`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.machine_threads import number_alike
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Stream
from streamgauge.topology.tuple_flow import Matrix, as_slice

# How far a sending task looks, from near to far.
SCOPES = ("worker", "node", "rack", "everywhere")


def nearest_shares(
    plan: PhysicalPlan, stream: Stream, widen_load: float
) -> tuple[Matrix, NDArray[np.int8]]:
    """Load-aware shuffle while no queue fills up: even over the nearest scope.

    Only the lowest task of an executor reports a load; the others count as full, and get nothing.
    A scope of idle executors with k tasks each has the mean load (k − 1)/k: above `widen_load` the
    next wider one is taken.

    Returns:
        Shares of sending × receiving executors, and the scope of each sending one.
    """
    spans = plan.logical.spans
    sources, targets = spans[stream.source], spans[stream.target]
    tasks = np.asarray(
        [len(plan.logical.executors[index].tasks) for index in targets], dtype=np.float64
    )
    placement = np.asarray(plan.placement, dtype=np.intp)
    senders, receivers = placement[as_slice(sources)], placement[as_slice(targets)]
    shares = np.zeros((len(sources), len(targets)))
    scopes = np.zeros(len(sources), dtype=np.int8)
    nearness = find_nearness(plan)
    for worker in sorted(set(senders.tolist())):
        near = nearness[worker, receivers]
        for scope in range(len(SCOPES)):
            inside = near <= scope
            if not inside.any():
                continue
            idle_load = 1.0 - inside.sum() / tasks[inside].sum()
            if idle_load <= widen_load or scope == len(SCOPES) - 1:
                shares[senders == worker] = inside / inside.sum()
                scopes[senders == worker] = scope
                break
    return shares, scopes


def find_nearness(plan: PhysicalPlan) -> NDArray[np.int64]:
    """For each worker, and each other one, the narrowest scope of the former that holds the latter.

    Two workers of a node have one rack.
    """
    nodes = [worker.node for worker in plan.workers]
    racks = [plan.cluster.node(node).rack for node in nodes]
    node, rack = number_alike(nodes), number_alike(racks)
    apart = 1 - np.eye(len(nodes), dtype=np.int64)
    return apart + np.not_equal.outer(node, node) + np.not_equal.outer(rack, rack)
