"""What a plan's reader should look at: where ackers are, which nodes are hot, how far acks go.

Pagliari 2021, section 3.3, saw jobs fail by the placement of their ackers alone: all on one node,
which became slow, or in workers of their own, whose queues filled up within seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.models.byte_flow import ByteFlow
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.packing import (
    COMPONENT_MEMORY,
    DEFAULTS,
    MEBIBYTE,
    Requirements,
)
from streamgauge.planning.scheduling.placement_problem import cores_are_known, cores_of
from streamgauge.planning.scheduling.traffic import Traffic, nearest_traffic, split_of
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan, Worker
from streamgauge.topology.topology import ACKER

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
        ackers: Executors that track tuple trees.
        acker_only_workers: Workers that run nothing else.
        acker_concentration: Part of all ackers on the node that has most; one over the nodes in
            use where they are even.
        load_by: What loads are made of: ``cores`` expected to be busy, what others keep busy
            included, as a part of the machine's; or ``executors`` per core, where an operator's
            cores are not known.
        busiest_node: The first with the highest load.
        hot_nodes: Above 0.8 of their cores; by executors, above 1.5 times the mean.
        heap_risks: Workers whose heap is smaller than what their executors declare together;
            ackers that are said to need nothing count with Storm's default.
        data_local_per_second: Tuples of the job that stay in their worker.
        acks_local: Part of the engine's messages that stay in their worker.
        ack_share: Part of all messages that is the engine's.
        remote_per_second: Messages between nodes, the job's and the engine's.
        inter_worker_bytes_per_second: Bytes between workers of one node; None, like the next two,
            where nobody knows how large tuples are.
        remote_bytes_per_second: The same between nodes.
        network_loads: By machine, the part of its network card's speed that is needed in the busier
            direction, where that speed is known.
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
    inter_worker_bytes_per_second: float | None = None
    remote_bytes_per_second: float | None = None
    network_loads: Mapping[str, float] = field(default_factory=FrozenDict)

    @property
    def full_cards(self) -> tuple[str, ...]:
        """Machines whose network card would have to carry more than it can."""
        return tuple(name for name, load in self.network_loads.items() if load >= 1.0)

    @property
    def busiest_load(self) -> float:
        """The highest load of a node."""
        return self.loads[self.busiest_node]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        record: dict[str, Any] = {}
        for name in type(self).__dataclass_fields__:
            value = getattr(self, name)
            plain = dict(value) if isinstance(value, Mapping) else value
            record[name] = list(plain) if isinstance(plain, tuple) else plain
        return record


def diagnose(
    plan: PhysicalPlan, expected: Expected | None = None, bytes_moved: ByteFlow | None = None
) -> Diagnostics:
    """What is to be said of a plan.

    Tuples are dealt as the plan's engine does while no queue fills up (`traffic`). Where no rates
    of the engine's own messages are given, there is one for each root at its source, one for each
    tuple at whoever executed it, and one answer for each root. `bytes_moved` is what a model says
    of the same plan.
    """
    workers = plan.executors_by_worker
    ackers = {
        worker: sum(executor.operator == ACKER for executor in executors)
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
        ackers_by_worker=_without_zeros({str(worker): count for worker, count in ackers.items()}),
        ackers_by_node=_without_zeros(by_node),
        acker_only_workers=tuple(
            str(worker) for worker in workers if ackers[worker] == len(workers[worker])
        ),
        acker_concentration=max(by_node.values()) / total if total else None,
        load_by=load_by,
        loads=FrozenDict(loads),
        busiest_node=max(loads, key=lambda node: loads[node]),
        hot_nodes=tuple(node for node, load in loads.items() if load > limit),
        heap_risks=tuple(map(str, _heap_risks(plan, ackers))),
        **({} if traffic is None else _distances(plan, traffic)),
        **({} if bytes_moved is None or not bytes_moved.is_known else _bytes(bytes_moved)),
    )


def _bytes(flow: ByteFlow) -> dict[str, Any]:
    """Bytes between workers and nodes, and how full network cards are."""
    return {
        "inter_worker_bytes_per_second": flow.total("inter_worker_bytes_per_second"),
        "remote_bytes_per_second": flow.total("remote_bytes_per_second"),
        "network_loads": FrozenDict(
            {one.name: one.in_use for one in flow.machines if one.in_use is not None}
        ),
    }


def _without_zeros(counts: Mapping[str, int]) -> FrozenDict[str, int]:
    return FrozenDict({name: count for name, count in counts.items() if count})


def _loads(
    plan: PhysicalPlan, expected: Expected | None, traffic: Traffic | None
) -> tuple[str, dict[str, float]]:
    """What loads are made of, and those of the nodes in use."""
    by, busy = BY_EXECUTORS, np.ones(len(plan.logical.executors))
    if expected is not None and traffic is not None and cores_are_known(plan.logical, expected):
        by, busy = BY_CORES, cores_of(traffic, expected)
    machines = [plan.cluster.machine_of(worker.node) for worker in plan.workers]
    of_machine = {
        machine.name: machine.background_cores if by == BY_CORES else 0.0
        for machine in plan.cluster.machines
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
        name: float(needs.memory_bytes or 0)
        for name, needs in logical.configuration.resources.items()
    }
    return [
        worker
        for worker, executors in plan.executors_by_worker.items()
        if sum(declared.get(executor.operator, 0.0) for executor in executors)
        + acker * ackers[worker]
        > requirements.heap_bytes
    ]


def _distances(plan: PhysicalPlan, traffic: Traffic) -> dict[str, Any]:
    """How far the job's tuples and the engine's messages go."""
    data = split_of(plan, (part for part in traffic.streams if not part.stream.is_system))
    acks = split_of(plan, (part for part in traffic.streams if part.stream.is_system))
    distances: dict[str, Any] = {
        "data_local_per_second": data.local,
        "data_inter_worker_per_second": data.inter_worker,
        "data_remote_per_second": data.remote,
        "remote_per_second": data.remote + acks.remote,
    }
    if acks.total > 0.0:
        distances |= {
            "acks_local": acks.local / acks.total,
            "acks_inter_worker": acks.inter_worker / acks.total,
            "acks_remote": acks.remote / acks.total,
        }
    if data.total + acks.total > 0.0:
        distances["ack_share"] = acks.total / (data.total + acks.total)
    return distances
