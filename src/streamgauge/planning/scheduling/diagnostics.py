"""What a plan's reader should look at: where ackers are, which nodes are hot, how far acks go.

Pagliari 2021, section 3.3, saw jobs fail by the placement of their ackers alone: all on one node,
which became slow, or in workers of their own, whose queues filled up within seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.packing import (
    COMPONENT_MEMORY,
    DEFAULTS,
    MEBIBYTE,
    Requirements,
)
from streamgauge.planning.scheduling.traffic import Traffic, nearest_traffic, split_of
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan, Worker
from streamgauge.topology.topology import ACKER
from streamgauge.topology.tuple_flow import as_slice

# A node is hot when so much of its machine's cores is expected to be busy, or, where nobody knows
# that, when it has so many times the executors per core of an average node in use.
HOT_CORES = 0.8
HOT_EXECUTORS = 1.5
BY_CORES = "cores"
BY_EXECUTORS = "executors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """A flat record of a plan.

    Loads are of machines: a node's is that of all nodes on its machine. Shares and rates are None
    where no rates are known, shares also where nothing is sent.

    Attributes:
        workers: In use.
        nodes: In use.
        ackers: Executors that track tuple trees.
        ackers_by_worker: Of workers that have some.
        ackers_by_node: Of nodes that have some.
        acker_only_workers: Workers that run nothing else.
        acker_concentration: Part of all ackers on the node that has most; one over the nodes in
            use where they are even.
        load_by: What loads are made of: ``cores`` expected to be busy, what others keep busy
            included, as a part of the machine's; or ``executors`` per core, where an operator's
            cores are not known.
        loads: By node in use.
        busiest_node: The first with the highest load.
        hot_nodes: Above 0.8 of their cores; by executors, above 1.5 times the mean.
        heap_risks: Workers whose heap is smaller than what their executors declare together;
            ackers that are said to need nothing count with Storm's default.
        data_local_per_second: Tuples of the job that stay in their worker.
        data_inter_worker_per_second: Those that go to another worker of the node.
        data_remote_per_second: Those that go to another node.
        acks_local: Part of the engine's messages that stay in their worker.
        acks_inter_worker: Part that goes to another worker of the node.
        acks_remote: Part that goes to another node.
        ack_share: Part of all messages that is the engine's.
        remote_per_second: Messages between nodes, the job's and the engine's.
    """

    workers: int
    nodes: int
    ackers: int
    ackers_by_worker: Mapping[str, int]
    ackers_by_node: Mapping[str, int]
    acker_only_workers: tuple[str, ...]
    acker_concentration: float | None
    load_by: str
    loads: Mapping[str, float]
    busiest_node: str
    hot_nodes: tuple[str, ...]
    heap_risks: tuple[str, ...]
    data_local_per_second: float | None = None
    data_inter_worker_per_second: float | None = None
    data_remote_per_second: float | None = None
    acks_local: float | None = None
    acks_inter_worker: float | None = None
    acks_remote: float | None = None
    ack_share: float | None = None
    remote_per_second: float | None = None

    @property
    def busiest_load(self) -> float:
        """The highest load of a node."""
        return self.loads[self.busiest_node]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        found: dict[str, Any] = {}
        for name in type(self).__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Mapping):
                value = dict(value)
            found[name] = list(value) if isinstance(value, tuple) else value
        return found


def diagnose(plan: PhysicalPlan, expected: Expected | None = None) -> Diagnostics:
    """What is to be said of a plan.

    Tuples are dealt as the plan's engine does while no queue fills up (`traffic`). Where no rates
    of the engine's own messages are given, there is one for each root at its source, one for each
    tuple at whoever executed it, and one answer for each root.

    Args:
        plan: Where every executor is.
        expected: What the job will do, where that is known.
    """
    workers = plan.executors_by_worker
    ackers = {
        worker: sum(one.operator == ACKER for one in executors)
        for worker, executors in workers.items()
    }
    by_node = dict.fromkeys(plan.nodes, 0)
    for worker, count in ackers.items():
        by_node[worker.node] += count
    total = sum(ackers.values())
    traffic = None if expected is None else nearest_traffic(plan, expected)
    load_by, loads = _loads(plan, expected, traffic)
    limit = HOT_CORES if load_by == BY_CORES else HOT_EXECUTORS * sum(loads.values()) / len(loads)
    return Diagnostics(
        workers=len(plan.workers),
        nodes=len(plan.nodes),
        ackers=total,
        ackers_by_worker=_some({str(worker): count for worker, count in ackers.items()}),
        ackers_by_node=_some(by_node),
        acker_only_workers=tuple(str(one) for one in workers if ackers[one] == len(workers[one])),
        acker_concentration=max(by_node.values()) / total if total else None,
        load_by=load_by,
        loads=FrozenDict(loads),
        busiest_node=max(loads, key=lambda node: loads[node]),
        hot_nodes=tuple(node for node, load in loads.items() if load > limit),
        heap_risks=tuple(str(one) for one in _heap_risks(plan, ackers)),
        **({} if traffic is None else _distances(plan, traffic)),
    )


def _some(counts: Mapping[str, int]) -> FrozenDict[str, int]:
    return FrozenDict({name: count for name, count in counts.items() if count})


def _loads(
    plan: PhysicalPlan, expected: Expected | None, traffic: Traffic | None
) -> tuple[str, dict[str, float]]:
    """What loads are made of, and those of the nodes in use."""
    spans = plan.logical.spans
    busy = np.ones(len(plan.logical.executors))
    by = BY_EXECUTORS
    if expected is not None and traffic is not None and set(expected.cores) >= set(spans) - {ACKER}:
        by = BY_CORES
        for name, span in spans.items():
            # Of ackers nothing may be known: then they count for nothing.
            busy[as_slice(span)] = expected.cores.get(name, 0.0) * traffic.parts[name]
    machines = [plan.cluster.machine_of(worker.node) for worker in plan.workers]
    of_machine = {
        one.name: one.background_cores if by == BY_CORES else 0.0 for one in plan.cluster.machines
    }
    for index, worker in enumerate(plan.placement):
        of_machine[machines[worker].name] += float(busy[index])
    used = dict(zip((worker.node for worker in plan.workers), machines, strict=True))
    return by, {node: of_machine[used[node].name] / used[node].cores for node in plan.nodes}


def _heap_risks(plan: PhysicalPlan, ackers: Mapping[Worker, int]) -> list[Worker]:
    """Workers whose executors need more than their heap, by what is declared.

    Operators that declare no memory count for nothing: else every plan of a job without
    declarations would be blamed.
    """
    logical = plan.logical
    requirements = Requirements.of(logical)
    acker = requirements.needs[ACKER].memory_bytes or DEFAULTS[COMPONENT_MEMORY] * MEBIBYTE
    declared = {
        name: float(one.memory_bytes or 0) for name, one in logical.configuration.resources.items()
    }
    return [
        worker
        for worker, executors in plan.executors_by_worker.items()
        if sum(declared.get(one.operator, 0.0) for one in executors) + acker * ackers[worker]
        > requirements.heap_bytes
    ]


def _distances(plan: PhysicalPlan, traffic: Traffic) -> dict[str, Any]:
    """How far the job's tuples and the engine's messages go."""
    data = split_of(plan, (one for one in traffic.streams if not one.stream.is_system))
    acks = split_of(plan, (one for one in traffic.streams if one.stream.is_system))
    found: dict[str, Any] = {
        "data_local_per_second": data.local,
        "data_inter_worker_per_second": data.inter_worker,
        "data_remote_per_second": data.remote,
        "remote_per_second": data.remote + acks.remote,
    }
    if acks.total > 0.0:
        found |= {
            "acks_local": acks.local / acks.total,
            "acks_inter_worker": acks.inter_worker / acks.total,
            "acks_remote": acks.remote / acks.total,
        }
    if data.total + acks.total > 0.0:
        found["ack_share"] = acks.total / (data.total + acks.total)
    return found
