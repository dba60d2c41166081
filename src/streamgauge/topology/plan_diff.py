"""What changes from one physical plan to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.physical_plan import PhysicalPlan, Worker


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
    """What moves, what is added and what goes, from `before` to `after`."""
    old, new = _workers_by_executor(before), _workers_by_executor(after)
    moved = tuple(
        Move(executor=executor, source=worker, target=new[executor])
        for executor, worker in old.items()
        if executor in new and new[executor] != worker
    )
    old_tasks, new_tasks = _workers_by_task(before), _workers_by_task(after)
    return PlanDiff(
        moved=moved,
        added=tuple((executor, worker) for executor, worker in new.items() if executor not in old),
        removed=tuple(
            (executor, worker) for executor, worker in old.items() if executor not in new
        ),
        kept=sum(new.get(executor) == worker for executor, worker in old.items()),
        workers_added=tuple(worker for worker in after.workers if worker not in before.workers),
        workers_removed=tuple(worker for worker in before.workers if worker not in after.workers),
        tasks_moved=sum(
            new_tasks[task] != worker for task, worker in old_tasks.items() if task in new_tasks
        ),
    )


def _workers_by_executor(plan: PhysicalPlan) -> dict[Executor, Worker]:
    return {
        executor: plan.workers[worker]
        for executor, worker in zip(plan.logical.executors, plan.placement, strict=True)
    }


def _workers_by_task(plan: PhysicalPlan) -> dict[tuple[str, int], Worker]:
    first = {name: plan.logical.tasks_of(name).start for name in plan.logical.spans}
    return {
        (executor.operator, task - first[executor.operator]): worker
        for executor, worker in _workers_by_executor(plan).items()
        for task in executor.tasks
    }
