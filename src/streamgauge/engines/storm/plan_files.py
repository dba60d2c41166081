"""Plans on their way to nimbus and back: plan files, and assignments as nimbus tells them.

Storm numbers tasks by the names of their operators. A plan that numbers them otherwise is numbered
anew before anything else happens to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streamgauge.errors import Infeasible
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.files.document import write_whole
from streamgauge.topology.logical_plan import Executor, LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan, Worker
from streamgauge.topology.topology import ACKER, Topology

ACTIVE = "ACTIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAssignment:
    """What nimbus says of a topology.

    Attributes:
        status: ``ACTIVE`` unless it is being changed or is paused.
        slots: For each executor where it runs.
    """

    status: str
    slots: Mapping[Executor, Slot]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> FoundAssignment:
        """From the bridge's answer."""
        slots = {
            Executor(one["first_task"], one["last_task"], one["component"]): Slot(
                one["node"], one["port"]
            )
            for one in answer["executors"]
        }
        return cls(status=answer["status"], slots=dict(sorted(slots.items())))

    def differences(self, wanted: PhysicalPlan) -> list[str]:
        """What is not as wanted, a line each; nothing where the plan is in place."""
        lines = []
        for executor in wanted.logical.executors:
            place, found = wanted.worker_of(executor), self.slots.get(executor)
            if found is None:
                lines.append(f"{executor}: planned on {place}, does not run")
            elif found != place:
                lines.append(f"{executor}: planned on {place}, runs on {found}")
        others = set(self.slots) - set(wanted.logical.executors)
        return lines + [f"{one}: not planned, runs on {self.slots[one]}" for one in sorted(others)]

    def changed_workers(self, wanted: PhysicalPlan) -> list[Worker]:
        """Workers of a plan that do not run just its executors yet, and so will start anew."""
        return [
            worker
            for worker, executors in wanted.executors_by_worker.items()
            if [one for one, slot in self.slots.items() if slot == worker] != list(executors)
        ]

    def plan(
        self, topology: Topology, configuration: Configuration, cluster: Cluster
    ) -> PhysicalPlan:
        """The assignment as a plan of a topology as its user declared it.

        Executors and workers of the configuration are those that were found.

        Raises:
            Infeasible: Executors are missing or on slots that the cluster does not have.
        """
        executors = tuple(self.slots)
        counts = {
            name: sum(one.operator == name for one in executors) for name in topology.operator_names
        }
        ackers = sum(len(one.tasks) for one in executors if one.operator == ACKER)
        workers = tuple(dict.fromkeys(self.slots.values()))
        found = replace(
            configuration,
            executors={name: count for name, count in counts.items() if count},
            workers=len(workers) or 1,
            ackers=ackers if topology.acked else configuration.ackers,
        )
        try:
            logical = LogicalPlan(
                topology=topology.with_ackers(ackers), configuration=found, executors=executors
            )
            placement = tuple(workers.index(slot) for slot in self.slots.values())
            return PhysicalPlan(
                logical=logical, cluster=cluster, workers=workers, placement=placement
            )
        except ValueError as error:
            raise Infeasible(f"what runs of {topology.name!r} is no plan of it: {error}") from None


def as_storm_numbers(plan: PhysicalPlan) -> PhysicalPlan:
    """The same placement with tasks numbered as Storm does."""
    logical = plan.logical
    order = TaskOrder.ALPHABETICAL.arrange(logical.topology)
    if tuple(logical.spans) == order:
        return plan
    executors: list[Executor] = []
    placement: list[int] = []
    next_task = 1
    for name in order:
        span = logical.spans[name]
        shift = next_task - logical.executors[span.start].first_task
        for index in span:
            one = logical.executors[index]
            executors.append(Executor(one.first_task + shift, one.last_task + shift, name))
            placement.append(plan.placement[index])
        next_task = executors[-1].last_task + 1
    numbered = replace(logical, executors=tuple(executors))
    return replace(plan, logical=numbered, placement=tuple(placement))


def plan_document(plan: PhysicalPlan, topology: str) -> dict[str, Any]:
    """A plan as its file has it."""
    workers = [
        {
            "node": worker.node,
            "port": worker.port,
            "executors": [[one.first_task, one.last_task] for one in executors],
        }
        for worker, executors in plan.executors_by_worker.items()
    ]
    return {"topology": topology, "workers": workers}


def write_plan(folder: Path, plan: PhysicalPlan, topology: str) -> None:
    """Leave a plan where nimbus's scheduler finds it, whole."""
    text = json.dumps(plan_document(plan, topology), indent=1) + "\n"
    write_whole(folder / f"{topology}.json", text)


def remove_plan(folder: Path, topology: str) -> None:
    """Leave a topology to Storm's own scheduler."""
    for ending in ("json", "status"):
        (folder / f"{topology}.{ending}").unlink(missing_ok=True)


def scheduler_says(folder: Path, topology: str) -> str:
    """Why the scheduler could not follow a plan; empty where it could or has not tried."""
    try:
        status = json.loads((folder / f"{topology}.status").read_text(encoding="utf-8"))
        return str(status["trouble"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
