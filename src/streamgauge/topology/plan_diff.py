"""What changes from one physical plan to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.errors import InvalidInput
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.physical_plan import PhysicalPlan, Worker
from streamgauge.topology.topology import ACKER


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
        moved: Executors that both plans have, in different workers.
        added: Executors only the second plan has, with their workers.
        removed: Executors only the first plan has, with their workers.
        kept: Number of executors that stay where they are.
        workers_added: Workers only the second plan has.
        workers_removed: Workers only the first plan has.
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
