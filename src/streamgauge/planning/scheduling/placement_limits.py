"""What nodes can take: cores or executors, and memory where needs of it are declared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.even import SlotOrder
from streamgauge.planning.scheduling.needs import Requirements
from streamgauge.planning.scheduling.placement_problem import Limit, Vector
from streamgauge.planning.scheduling.traffic import Traffic
from streamgauge.topology.cluster import Cluster, Machine, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import as_slice

# What is planned with where others keep all cores of a machine busy.
LEAST_CORES = 1e-3

Members = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a job may run.

    Attributes:
        cluster: With its machines.
        slots: The free slots of every node that has any, nodes in the order of the cluster.
    """

    cluster: Cluster
    slots: tuple[tuple[Slot, ...], ...]

    @classmethod
    def of(cls, cluster: Cluster, taken: Collection[Slot] = ()) -> Site:
        """All that others do not use."""
        occupied = set(taken)
        free = [tuple(s for s in node.slots if s not in occupied) for node in cluster.nodes]
        return cls(cluster=cluster, slots=tuple(one for one in free if one))

    def allotted(self, workers: int) -> Site:
        """With as many slots of each node as that many workers get by even placement."""
        order = SlotOrder.MOST_FREE_FIRST.arrange(self.cluster, self._taken)
        chosen = set(order[:workers])
        kept = (tuple(slot for slot in one if slot in chosen) for one in self.slots)
        return Site(cluster=self.cluster, slots=tuple(one for one in kept if one))

    @property
    def _taken(self) -> list[Slot]:
        free = {slot for one in self.slots for slot in one}
        return [slot for slot in self.cluster.slots if slot not in free]

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machine of every node."""
        return tuple(self.cluster.machine_of(one[0].node) for one in self.slots)

    def nodes_of(self, plan: PhysicalPlan) -> list[int]:
        """For each executor of a plan the number of its node here."""
        number = {one[0].node: index for index, one in enumerate(self.slots)}
        of_worker = [number[worker.node] for worker in plan.workers]
        return [of_worker[worker] for worker in plan.placement]


def cores_are_known(logical: LogicalPlan, expected: Expected) -> bool:
    """Of every operator but the ackers, which are taken to cost nothing if unknown."""
    operators = logical.topology.operators
    return all(
        one.name in expected.cores for one in operators if one.kind is not OperatorKind.ACKER
    )


def cores_of(traffic: Traffic, expected: Expected) -> Vector:
    """Cores that each executor keeps busy: its part of its operator's."""
    found = np.zeros(len(traffic.logical.executors))
    for name, span in traffic.logical.spans.items():
        found[as_slice(span)] = expected.cores.get(name, 0.0) * traffic.parts[name]
    return found


def core_limit(
    site: Site, members: Members, traffic: Traffic, expected: Expected, utilisation: float
) -> Limit:
    """Of machines: a part of the cores that nothing else keeps busy."""
    return _of_machines(
        site,
        _by_class(members, cores_of(traffic, expected)),
        lambda one: utilisation * max(one.cores - one.background_cores, LEAST_CORES),
    )


def count_limit(site: Site, members: Members, even: PhysicalPlan, slack: float) -> Limit:
    """Of executors on a node: what the even plan has there, and the even part with its slack."""
    each = len(even.logical.executors) / len(even.nodes)
    most = max(np.ceil(each), np.floor((1.0 + slack) * each + 1e-9))
    dealt = np.bincount(site.nodes_of(even), minlength=len(site.slots))
    return Limit(
        load=np.ones(len(members)),
        group=np.arange(len(site.slots), dtype=np.intp),
        most=np.maximum(dealt, most).astype(np.float64),
    )


def needs_memory(configuration: Configuration) -> bool:
    """Whether somebody said how much memory an executor needs."""
    return any(one.memory_bytes is not None for one in configuration.resources.values())


def memory_limits(site: Site, members: Members, logical: LogicalPlan) -> tuple[Limit, Limit]:
    """Of machines, what memory they have; of nodes, the heaps of the workers they may run.

    Raises:
        InvalidInput: An executor needs more than any worker may have.
    """
    load, heap_bytes = memory_of(members, logical)
    total = float(load @ np.asarray([len(one) for one in members]))
    on_machines = _of_machines(
        site, load, lambda one: total if one.memory_bytes is None else float(one.memory_bytes)
    )
    heaps = Limit(
        load=load,
        group=np.arange(len(site.slots), dtype=np.intp),
        most=np.asarray([len(one) * heap_bytes for one in site.slots]),
    )
    return on_machines, heaps


def memory_of(members: Members, logical: LogicalPlan) -> tuple[Vector, float]:
    """Bytes that one executor of each class needs, and that a worker has."""
    required = Requirements.of(logical.topology, logical.configuration)
    required.check(logical.topology.operator_names)
    executors = logical.executors
    needs = [required.needs[executors[one[0]].operator].memory_bytes for one in members]
    return np.asarray(needs, dtype=np.float64), required.heap_bytes


def _of_machines(site: Site, load: Vector, most: Callable[[Machine], float]) -> Limit:
    machines = {one.name: one for one in site.machines}
    number = {name: index for index, name in enumerate(machines)}
    return Limit(
        load=load,
        group=np.asarray([number[one.name] for one in site.machines], dtype=np.intp),
        most=np.asarray([most(one) for one in machines.values()], dtype=np.float64),
    )


def _by_class(members: Members, by_executor: Vector) -> Vector:
    return np.asarray([by_executor[one[0]] for one in members])
