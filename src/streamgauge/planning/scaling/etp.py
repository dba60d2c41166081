"""Expected throughput percentage: how much of the throughput a component reaches undisturbed.

Puttaswamy 2018, section 4.2 (after Stela: Xu, Peng and Gupta 2016): what leaves the sinks that a
component reaches on paths without another congested one, as a part of all that leaves.
"""

from __future__ import annotations

from collections.abc import Collection

from streamgauge.planning.scaling.congestion import BY_CAPACITY, CongestionRule
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph
from streamgauge.planning.scaling.rates import NOTHING, Flow, FlowModel


def reached_share(model: FlowModel, flow: Flow, index: int, congested: Collection[int]) -> float:
    """Part of the throughput, from 0 to 1, that a component reaches undisturbed.

    Of a sink it is its own part. A sink counts once, by however many paths it is reached; where
    nothing leaves at all, the part is 0.
    """
    total = model.throughput(flow)
    if total <= 0.0:
        return 0.0
    if not model.children[index]:
        return flow.outputs[index] * model.weights[index] / total
    reached = 0.0
    waiting, visited = list(model.children[index]), set()
    while waiting:
        other = waiting.pop()
        if other in visited:
            continue
        visited.add(other)
        if other in congested:
            continue
        if model.children[other]:
            waiting += model.children[other]
        else:
            reached += flow.outputs[other] * model.weights[other]
    return reached / total


def etp(
    graph: ScalingGraph,
    name: str,
    allocation: Allocation = NOTHING,
    *,
    rule: CongestionRule = BY_CAPACITY,
) -> float:
    """The expected throughput percentage of a component, from 0 to 1.

    Args:
        graph: The components with the units they have now.
        name: Whose.
        allocation: Units to be added first.
        rule: Who blocks a path.
    """
    graph.check_allocation({**allocation, name: allocation.get(name, 0)})
    model = FlowModel(graph)
    flow = model.flow(allocation)
    return reached_share(model, flow, model.index[name], set(rule.find_congested(model, flow)))
