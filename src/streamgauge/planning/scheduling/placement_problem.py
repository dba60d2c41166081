"""Placement as a problem of counts: how many executors of each class every node gets.

Executors that send and receive alike are interchangeable, so that what matters is not which of
them a node has but how many. A stream between X and Y such executors has x·y/(X·Y) of its tuples
inside a node with x and y of them. Nodes have limits: of cores or executors, and of memory where
needs of it are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.even import SlotOrder
from streamgauge.planning.scheduling.packing import Requirements
from streamgauge.planning.scheduling.traffic import Traffic
from streamgauge.topology.cluster import Cluster, Machine, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import as_slice

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]
# Executors of each class, by their indices in the logical plan.
Members = tuple[tuple[int, ...], ...]

# Rates that differ by rounding only are the same.
DIGITS = 12
# A limit that is passed by less than this part is kept.
TOLERANCE = 1e-6
# What is planned with where others keep all cores of a machine busy.
LEAST_CORES = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit:
    """What nodes, or the machines that several of them share, can take of something.

    Attributes:
        load: What one executor of each class takes.
        group: For each node which place it draws on.
        most: What each place has.
    """

    load: Vector
    group: NDArray[np.intp]
    most: Vector

    def loads(self, counts: Counts) -> Vector:
        """What each place has to take."""
        by_node = self.load @ counts
        return np.bincount(self.group, weights=by_node, minlength=len(self.most)).astype(np.float64)

    def is_kept(self, counts: Counts) -> bool:
        """Whether no place has to take more than it has."""
        return bool(np.all(self.loads(counts) <= self.allowed))

    @property
    def allowed(self) -> Vector:
        """What each place has, with room for rounding."""
        return self.most * (1.0 + TOLERANCE)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacementProblem:
    """Which counts are allowed, and what they cost.

    Attributes:
        members: Executors of each class.
        pairs: Tuples per second, both ways, between an executor of one class and one of another;
            on the diagonal, between two of the same.
        most_nodes: How many of them may be used.
    """

    members: Members
    pairs: Matrix
    nodes: int
    most_nodes: int
    limits: tuple[Limit, ...]

    @cached_property
    def sizes(self) -> Counts:
        """Executors in each class."""
        return np.asarray([len(members) for members in self.members], dtype=np.int64)

    @cached_property
    def total(self) -> float:
        """Tuples per second between different executors, wherever they are."""
        return self.together(self.sizes[:, np.newaxis])

    def together(self, counts: Counts) -> float:
        """Tuples per second that stay inside nodes with so many executors of each class."""
        products = float(np.sum(counts * (self.pairs @ counts)))
        return 0.5 * (products - float(np.diagonal(self.pairs) @ counts.sum(axis=1)))

    def remote(self, counts: Counts) -> float:
        """Tuples per second between nodes."""
        return max(self.total - self.together(counts), 0.0)

    def allows(self, counts: Counts) -> bool:
        """Whether every executor is placed once and every limit is kept."""
        return (
            bool(np.all(counts >= 0))
            and np.array_equal(counts.sum(axis=1), self.sizes)
            and int(counts.any(axis=0).sum()) <= self.most_nodes
            and all(limit.is_kept(counts) for limit in self.limits)
        )

    def count_nodes(self, node_of_executor: Sequence[int]) -> Counts:
        """The counts of a placement given executor by executor."""
        counts = np.zeros((len(self.members), self.nodes), dtype=np.int64)
        for index, members in enumerate(self.members):
            for executor in members:
                counts[index, node_of_executor[executor]] += 1
        return counts


def classes_of(traffic: Traffic) -> tuple[Members, Matrix]:
    """The classes of interchangeable executors, and the traffic between two of each.

    Executors of one operator are of one class if they send and get the same, and have the same
    part of their operator's work.
    """
    logical = traffic.logical
    marks: dict[str, list[Matrix]] = {
        name: [parts[:, np.newaxis]] for name, parts in traffic.parts.items()
    }
    for carried in traffic.streams:
        single = len(carried.shares) == 1
        per_second = carried.per_second
        marks[carried.stream.source].append(carried.sent[:, np.newaxis] if single else per_second)
        marks[carried.stream.target].append(per_second[:1].T if single else per_second.T)
    members: list[tuple[int, ...]] = []
    for name, span in logical.spans.items():
        alike = _rounded(np.hstack(marks[name]))
        _, inverse = np.unique(alike, axis=0, return_inverse=True)
        groups: dict[int, list[int]] = {}
        for executor, group in zip(span, inverse.ravel().tolist(), strict=True):
            groups.setdefault(group, []).append(executor)
        members += sorted(tuple(group) for group in groups.values())
    first = np.asarray([group[0] for group in members], dtype=np.intp)
    pairs = np.zeros((len(members), len(members)))
    operator = np.asarray([logical.executors[index].operator for index in first])
    for carried in traffic.streams:
        rows = np.flatnonzero(operator == carried.stream.source)
        columns = np.flatnonzero(operator == carried.stream.target)
        per_second = carried.per_second[
            np.ix_(first[rows] - carried.sources.start, first[columns] - carried.targets.start)
        ]
        pairs[np.ix_(rows, columns)] += per_second
        pairs[np.ix_(columns, rows)] += per_second.T
    return tuple(members), pairs


def _rounded(values: Matrix) -> Matrix:
    """Each column to a number of digits of its largest value."""
    scale = np.abs(values).max(axis=0)
    scaled = np.divide(values, scale, out=np.zeros_like(values), where=scale > 0.0)
    return np.asarray(np.round(scaled, DIGITS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a job may run.

    Attributes:
        slots: The free slots of every node that has any, nodes in the order of the cluster.
    """

    cluster: Cluster
    slots: tuple[tuple[Slot, ...], ...]

    @classmethod
    def of(cls, cluster: Cluster, taken: Collection[Slot] = ()) -> Site:
        """All that others do not use."""
        occupied = set(taken)
        free = [tuple(s for s in node.slots if s not in occupied) for node in cluster.nodes]
        return cls(cluster=cluster, slots=tuple(filter(None, free)))

    def allotted(self, workers: int) -> Site:
        """With as many slots of each node as that many workers get by even placement."""
        free = {slot for of_node in self.slots for slot in of_node}
        taken = [slot for slot in self.cluster.slots if slot not in free]
        order = SlotOrder.MOST_FREE_FIRST.arrange(self.cluster, taken)
        chosen = set(order[:workers])
        kept = (tuple(slot for slot in of_node if slot in chosen) for of_node in self.slots)
        return Site(cluster=self.cluster, slots=tuple(filter(None, kept)))

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machine of every node."""
        return tuple(self.cluster.machine_of(slots[0].node) for slots in self.slots)

    def nodes_of(self, plan: PhysicalPlan) -> list[int]:
        """For each executor of a plan the number of its node here."""
        number = {slots[0].node: index for index, slots in enumerate(self.slots)}
        of_worker = [number[worker.node] for worker in plan.workers]
        return [of_worker[worker] for worker in plan.placement]


def cores_are_known(logical: LogicalPlan, expected: Expected) -> bool:
    """Of every operator but the ackers, which are taken to cost nothing if unknown."""
    return all(
        operator.name in expected.cores
        for operator in logical.topology.operators
        if operator.kind is not OperatorKind.ACKER
    )


def cores_of(traffic: Traffic, expected: Expected) -> Vector:
    """Cores that each executor keeps busy: its part of its operator's."""
    cores = np.zeros(len(traffic.logical.executors))
    for name, span in traffic.logical.spans.items():
        cores[as_slice(span)] = expected.cores.get(name, 0.0) * traffic.parts[name]
    return cores


def core_limit(
    site: Site, members: Members, traffic: Traffic, expected: Expected, utilisation: float
) -> Limit:
    """Of machines: a part of the cores that nothing else keeps busy."""
    cores = cores_of(traffic, expected)
    return _limit_machines(
        site,
        cores[[executors[0] for executors in members]],
        lambda machine: utilisation * max(machine.cores - machine.background_cores, LEAST_CORES),
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
    return any(needs.memory_bytes is not None for needs in configuration.resources.values())


def memory_limits(site: Site, members: Members, logical: LogicalPlan) -> tuple[Limit, Limit]:
    """Of machines, what memory they have; of nodes, the heaps of the workers they may run.

    Raises:
        InvalidInput: An executor needs more than any worker may have.
    """
    load, heap_bytes = memory_of(members, logical)
    total = float(load @ np.asarray([len(executors) for executors in members]))

    def memory(machine: Machine) -> float:
        return total if machine.memory_bytes is None else float(machine.memory_bytes)

    heaps = Limit(
        load=load,
        group=np.arange(len(site.slots), dtype=np.intp),
        most=np.asarray([len(slots) * heap_bytes for slots in site.slots]),
    )
    return _limit_machines(site, load, memory), heaps


def memory_of(members: Members, logical: LogicalPlan) -> tuple[Vector, float]:
    """Bytes that one executor of each class needs, and that a worker has."""
    required = Requirements.of(logical)
    required.check(logical.topology.operator_names)
    operators = [logical.executors[executors[0]].operator for executors in members]
    needs = [required.needs[operator].memory_bytes for operator in operators]
    return np.asarray(needs, dtype=np.float64), required.heap_bytes


def _limit_machines(site: Site, load: Vector, most: Callable[[Machine], float]) -> Limit:
    machines = {machine.name: machine for machine in site.machines}
    number = {name: index for index, name in enumerate(machines)}
    return Limit(
        load=load,
        group=np.asarray([number[machine.name] for machine in site.machines], dtype=np.intp),
        most=np.asarray([most(machine) for machine in machines.values()], dtype=np.float64),
    )
