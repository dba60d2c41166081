"""Physical plans: which worker on which node runs each executor, and how two plans differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.frozen import freeze
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.topology import ACKER

# A worker is the process in a slot; the slot is all its identity.
Worker = Slot


class ConnectionType(StrEnum):
    """How far apart two connected executors are."""

    LOCAL = "local"
    INTER_LOCAL = "inter-local"
    REMOTE = "remote"

    @classmethod
    def between(cls, source: Worker, target: Worker) -> ConnectionType:
        """Same worker, same node, or another node."""
        if source == target:
            return cls.LOCAL
        return cls.INTER_LOCAL if source.node == target.node else cls.REMOTE


@dataclass(frozen=True, kw_only=True)
class PhysicalPlan:
    """Every executor of a logical plan in exactly one worker.

    Attributes:
        workers: The workers that run at least one executor, in the order they were filled.
        placement: For each executor of the logical plan the index of its worker.
    """

    logical: LogicalPlan
    cluster: Cluster
    workers: tuple[Worker, ...]
    placement: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", tuple(Worker(*worker) for worker in self.workers))
        freeze(self, "placement")
        findings = Findings()
        check_slots(findings, self.cluster, self.workers)
        executors = self.logical.executors
        if len(self.placement) != len(executors):
            findings.add(
                "placement",
                seen=f"{len(self.placement)} placed executors",
                expected=f"the plan's {len(executors)} executors, each once",
            )
        for index, worker in enumerate(self.placement):
            if not 0 <= worker < len(self.workers):
                findings.add(
                    "placement", index, seen=f"worker {worker}", expected="the index of a worker"
                )
        for index in sorted(set(range(len(self.workers))) - set(self.placement)):
            findings.add(
                "workers",
                index,
                seen=f"worker {self.workers[index]} without executors",
                expected="only workers that run something",
            )
        findings.raise_if_any()

    @classmethod
    def explicit(
        cls,
        logical: LogicalPlan,
        cluster: Cluster,
        assignment: Mapping[Slot, Sequence[str]] | Iterable[tuple[Slot, Sequence[str]]],
    ) -> PhysicalPlan:
        """A plan given by hand: for each slot the labels of its executors.

        Raises:
            InvalidInput: An executor is missing, placed twice or unknown, or a slot is.
        """
        pairs = list(assignment.items() if isinstance(assignment, Mapping) else assignment)
        findings = Findings()
        check_slots(findings, cluster, [slot for slot, _ in pairs])
        placed = _place_labels(findings, logical, [labels for _, labels in pairs])
        for executor in logical.executors:
            if executor not in placed:
                findings.add(
                    "workers",
                    seen=f"no worker for executor {executor}",
                    expected="every executor of the plan in exactly one worker",
                    remedy="add it to a worker",
                )
        findings.raise_if_any()
        return cls.from_slots(
            logical,
            cluster,
            [slot for slot, _ in pairs],
            [placed[executor] for executor in logical.executors],
        )

    @classmethod
    def from_slots(
        cls, logical: LogicalPlan, cluster: Cluster, slots: Sequence[Slot], slot_of: Sequence[int]
    ) -> PhysicalPlan:
        """A plan from the index of each executor's slot; slots without executors have no worker."""
        used = {index: rank for rank, index in enumerate(sorted(set(slot_of)))}
        return cls(
            logical=logical,
            cluster=cluster,
            workers=tuple(slots[index] for index in used),
            placement=tuple(used[index] for index in slot_of),
        )

    def worker_of(self, executor: Executor) -> Worker:
        """The worker that runs `executor`."""
        index = self.logical.index_of_task[executor.first_task]
        return self.workers[self.placement[index]]

    def executors_in(self, worker: Worker) -> tuple[Executor, ...]:
        """The executors that `worker` runs, in the order of their tasks."""
        return self.executors_by_worker.get(worker, ())

    @cached_property
    def executors_by_worker(self) -> Mapping[Worker, tuple[Executor, ...]]:
        """For each worker its executors, in the order of their tasks."""
        by_worker: dict[Worker, list[Executor]] = {worker: [] for worker in self.workers}
        for executor, worker in zip(self.logical.executors, self.placement, strict=True):
            by_worker[self.workers[worker]].append(executor)
        return {worker: tuple(executors) for worker, executors in by_worker.items()}

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in use, in the order of their first worker."""
        return tuple(dict.fromkeys(worker.node for worker in self.workers))


def check_slots(findings: Findings, cluster: Cluster, slots: Sequence[Slot]) -> None:
    """Every slot is one of the cluster's and used once."""
    known = {node.name: set(node.ports) for node in cluster.nodes}
    used: set[Slot] = set()
    for index, slot in enumerate(slots):
        node, port = slot
        if node not in known:
            findings.add(
                "workers",
                index,
                "node",
                seen=f"unknown node {node!r}",
                expected="a node of the cluster",
                remedy=did_you_mean(node, list(known)),
            )
        elif port not in known[node]:
            findings.add(
                "workers",
                index,
                "port",
                seen=f"port {port} of {node!r}",
                expected=f"one of its slots: {', '.join(map(str, sorted(known[node])))}",
            )
        if slot in used:
            findings.add("workers", index, seen=f"slot {slot} twice", expected="each slot once")
        used.add(slot)


def _place_labels(
    findings: Findings, logical: LogicalPlan, labels: Sequence[Sequence[str]]
) -> dict[Executor, int]:
    known = set(logical.executors)
    placed: dict[Executor, int] = {}
    for worker, of_worker in enumerate(labels):
        for index, label in enumerate(of_worker):
            place = ("workers", worker, "executors", index)
            try:
                executor = Executor.parse(label)
            except InvalidInput as error:
                findings.absorb(error, *place)
                continue
            if executor not in known:
                names = [str(one) for one in logical.executors]
                findings.add(
                    *place,
                    seen=f"executor {label}, which does not follow from the configuration",
                    expected="an executor of the logical plan",
                    remedy=did_you_mean(label, names),
                )
            elif executor in placed:
                findings.add(
                    *place,
                    seen=f"executor {label} a second time",
                    expected="every executor in exactly one worker",
                    remedy="keep one of the two",
                )
            else:
                placed[executor] = worker
    return placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An executor that runs the same tasks in another worker."""

    executor: Executor
    source: Worker
    target: Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    """What a rebalance from one plan to another does.

    Attributes:
        added: Executors only the second plan has, with their workers.
        removed: Executors only the first plan has, with their workers.
        tasks_moved: Tasks, by operator and position, whose worker changes: what state must
            travel, however executors are cut.
    """

    moved: tuple[Move, ...]
    added: tuple[tuple[Executor, Worker], ...]
    removed: tuple[tuple[Executor, Worker], ...]
    kept: int
    workers_added: tuple[Worker, ...]
    workers_removed: tuple[Worker, ...]
    tasks_moved: int

    @property
    def is_empty(self) -> bool:
        """Whether the plans are the same."""
        return not (self.moved or self.added or self.removed)

    def to_dict(self) -> dict[str, Any]:
        """A flat record for ``--json``."""
        return {
            "moved": [
                {"executor": m.executor.label, "from": str(m.source), "to": str(m.target)}
                for m in self.moved
            ],
            "added": [{"executor": e.label, "to": str(worker)} for e, worker in self.added],
            "removed": [{"executor": e.label, "from": str(worker)} for e, worker in self.removed],
            "kept": self.kept,
            "workers_added": [str(worker) for worker in self.workers_added],
            "workers_removed": [str(worker) for worker in self.workers_removed],
            "tasks_moved": self.tasks_moved,
        }


def diff_plans(before: PhysicalPlan, after: PhysicalPlan) -> PlanDiff:
    """What moves, what is added and what goes, from `before` to `after`.

    Executors are the same when they run the same tasks by position in their operator: task ids
    may shift when an operator that is numbered earlier gets more tasks, as ackers do.

    Raises:
        InvalidInput: The plans are of topologies with different operators or tasks.
    """
    _check_comparable(before, after)
    old, new = _by_position(before), _by_position(after)
    kept = old.keys() & new.keys()
    moved = tuple(
        Move(executor=new[key][0], source=worker, target=new[key][1])
        for key, (_, worker) in old.items()
        if key in kept and new[key][1] != worker
    )
    old_tasks, new_tasks = _workers_by_task(old), _workers_by_task(new)
    return PlanDiff(
        moved=moved,
        added=tuple(placed for key, placed in new.items() if key not in kept),
        removed=tuple(placed for key, placed in old.items() if key not in kept),
        kept=len(kept) - len(moved),
        workers_added=tuple(worker for worker in after.workers if worker not in before.workers),
        workers_removed=tuple(worker for worker in before.workers if worker not in after.workers),
        tasks_moved=sum(
            new_tasks[task] != worker for task, worker in old_tasks.items() if task in new_tasks
        ),
    )


# An executor by its operator and the positions of its tasks there, from zero.
_Position = tuple[str, int, int]


def _by_position(plan: PhysicalPlan) -> dict[_Position, tuple[Executor, Worker]]:
    first = {name: plan.logical.tasks_of(name).start for name in plan.logical.spans}
    return {
        (
            executor.operator,
            executor.first_task - first[executor.operator],
            executor.last_task - first[executor.operator],
        ): (executor, plan.workers[worker])
        for executor, worker in zip(plan.logical.executors, plan.placement, strict=True)
    }


def _workers_by_task(
    placed: Mapping[_Position, tuple[Executor, Worker]],
) -> dict[tuple[str, int], Worker]:
    return {
        (operator, task): worker
        for (operator, first, last), (_, worker) in placed.items()
        for task in range(first, last + 1)
    }


def _check_comparable(before: PhysicalPlan, after: PhysicalPlan) -> None:
    old, new = (
        {op.name: op.tasks for op in plan.logical.topology.operators if op.name != ACKER}
        for plan in (before, after)
    )
    if old != new:
        names = (before.logical.topology.name, after.logical.topology.name)
        different = sorted({name for name, _ in old.items() ^ new.items()})
        raise InvalidInput.single(
            (),
            seen=f"plans of {names[0]!r} and {names[1]!r}, which differ in {', '.join(different)}",
            expected="two plans of one topology: the same operators with the same tasks",
        )
