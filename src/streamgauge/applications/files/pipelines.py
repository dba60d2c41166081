"""The section `pipeline` of a file: task by task."""

from __future__ import annotations

from pydantic import Field

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.files.parts import (
    DataFile,
    FlowFile,
    KafkaFile,
    RoutingWord,
    WindowingFile,
    ZooKeeperFile,
    convert_filtering,
    refuse_external,
)
from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.files.schema import FileModel, Name, build_part

DEFAULT_PROCESSING = 10.0


class TaskFile(FileModel):
    """A task: a source where it has data or flow, else one with parents."""

    name: Name
    parallelism: int = 1
    data: DataFile | None = None
    flow: FlowFile | None = None
    kafka: KafkaFile | None = None
    zookeeper: ZooKeeperFile | None = None
    parents: list[Name] = []
    routing: RoutingWord = Field(default="none", description="how it is fed from its parents")
    processing: float | None = Field(default=None, description="of a tuple, in 1000 cycles")
    filtering: float = Field(default=0.0, description="part that is forwarded; 0 is no filter")
    resizeddata: int = Field(default=0, description="bytes of what it emits; 0 is unchanged")
    windowing: WindowingFile | None = None
    reliability: bool = True

    def build(self) -> Task:
        """The task."""
        if self.kafka is not None or self.zookeeper is not None:
            place = "kafka" if self.kafka is not None else "zookeeper"
            raise InvalidInput.single((place,), **refuse_external("Kafka"))
        findings = Findings()
        check_number(findings, self.filtering, "filtering", most=1.0)
        check_whole(findings, self.resizeddata, "resizeddata", least=0)
        findings.raise_if_any()
        is_source = self.data is not None or self.flow is not None
        processing = self.processing
        if processing is None:
            processing = 0.0 if is_source else DEFAULT_PROCESSING
        return Task(
            name=self.name,
            parallelism=self.parallelism,
            data=build_part(self.data or DataFile(), "data") if is_source else None,
            flow=build_part(self.flow or FlowFile(), "flow") if is_source else None,
            parents=tuple(self.parents),
            routing=Routing(self.routing),
            processing=processing,
            filtering=convert_filtering(self.filtering),
            resized_bytes=self.resizeddata or None,
            window=None if self.windowing is None else build_part(self.windowing, "windowing"),
        )


class PipelineFile(FileModel):
    """An application task by task."""

    tasks: list[TaskFile]

    def build(self, *, name: str, about: str) -> Application:
        """The application."""
        findings = Findings()
        tasks = []
        for index, task in enumerate(self.tasks):
            with findings.at("tasks", index):
                tasks.append(task.build())
        self._check_reliability(findings)
        findings.raise_if_any()
        reliable = all(task.reliability for task in self.tasks)
        return Application(name=name, tasks=tuple(tasks), reliable=reliable, about=about)

    def _check_reliability(self, findings: Findings) -> None:
        for index, task in enumerate(self.tasks):
            if task.reliability != self.tasks[0].reliability:
                findings.add(
                    "tasks",
                    index,
                    "reliability",
                    seen=f"different values for {self.tasks[0].name!r} and {task.name!r}",
                    expected="the same for all tasks: a tuple tree is tracked as a whole",
                )
                return
