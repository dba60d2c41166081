"""The sections of a file that say how a job is deployed: an explicit plan, and steps."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from streamgauge.profile.job import Assignment, Step
from streamgauge.topology.cluster import Slot
from streamgauge.topology.configuration import Setting
from streamgauge.topology.files.file_model import FileModel, Name
from streamgauge.topology.files.sections import ResourcesFile, build_resources, write_resources
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.topology import Topology


class PlanWorkerFile(FileModel):
    """One worker of an explicit plan."""

    node: Name
    port: int
    executors: list[str] = Field(examples=[["splitter[7-8]", "counter[11]"]])


class PlanFile(FileModel):
    """An explicit plan in place of a scheduled one."""

    task_order: Literal["declared", "alphabetical"] = "declared"
    workers: list[PlanWorkerFile]

    def build(self) -> Assignment:
        """The assignment."""
        workers = ((Slot(one.node, one.port), tuple(one.executors)) for one in self.workers)
        return Assignment(workers=tuple(workers), task_order=TaskOrder(self.task_order))

    @classmethod
    def of(cls, plan: Assignment) -> dict[str, Any]:
        """What to write for it."""
        workers = [
            {"node": slot.node, "port": slot.port, "executors": list(labels)}
            for slot, labels in plan.workers
        ]
        order = (
            {} if plan.task_order is TaskOrder.DECLARED else {"task_order": str(plan.task_order)}
        )
        return {**order, "workers": workers}


class StepFile(FileModel):
    """What a step changes of the configuration."""

    executors: int | dict[str, int] | None = Field(
        default=None, description="per operator, or one number for every operator"
    )
    workers: int | None = None
    ackers: int | None = None
    settings: dict[str, Setting] = {}
    resources: dict[str, ResourcesFile] = {}

    def build(self, topology: Topology) -> Step:
        """The step."""
        executors = {} if self.executors is None else self.executors
        if isinstance(executors, int):
            executors = dict.fromkeys(topology.operator_names, executors)
        return Step(
            executors=executors,
            workers=self.workers,
            ackers=self.ackers,
            settings=self.settings,
            resources=build_resources(self.resources),
        )

    @classmethod
    def of(cls, step: Step) -> dict[str, Any]:
        """What to write for it."""
        written = {
            "executors": dict(step.executors),
            "workers": step.workers,
            "ackers": step.ackers,
            "settings": dict(step.settings),
            "resources": {
                operator: file.model_dump(exclude_defaults=True)
                for operator, file in write_resources(step.resources).items()
            },
        }
        return {name: part for name, part in written.items() if part not in ({}, None)}
