"""The file of an application: a workflow with its data stream, or a pipeline task by task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.datastream import Data, Flow
from streamgauge.applications.files.parts import (
    DataFile,
    FlowFile,
    FormerKeys,
    KafkaFile,
    RoutingWord,
    WindowingFile,
    ZooKeeperFile,
    convert_filtering,
    refuse_external,
    rename_keys,
    restore_keys,
)
from streamgauge.applications.workflow import (
    DEFAULT_VARIABILITY,
    Connection,
    Load,
    RoutedEdges,
    Scalability,
    Workflow,
    expand_workflow,
)
from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.files.document import (
    STANDARD_INPUT,
    Document,
    parse_document,
    read_document,
)
from streamgauge.topology.files.file_model import FileModel, Name, build_part, list_keys, validate

UNNAMED = "application"
SECTIONS = ("datastream", "workflow", "pipeline")
FORMER_KEYS: FormerKeys = {(): {"dataflow": "workflow"}, ("workflow",): {"reliable": "reliability"}}
DEFAULT_PROCESSING = 10.0

BalancingWord = Literal["balanced", "increasing", "decreasing", "pyramid"]


class SyntheticFile(FileModel):
    """Sources that generate their tuples."""

    data: DataFile = DataFile()
    flow: FlowFile = FlowFile()


class ExternalFile(FileModel):
    """Sources that read their tuples from outside."""

    kafka: KafkaFile = KafkaFile()
    zookeeper: ZooKeeperFile = ZooKeeperFile()


class DatastreamFile(FileModel):
    """What the sources of a workflow emit."""

    synthetic: SyntheticFile | None = None
    external: ExternalFile | None = None

    def build(self) -> tuple[Data, Flow]:
        """The data, and how fast it flows."""
        findings = Findings()
        if self.synthetic is not None and self.external is not None:
            findings.add(
                "external",
                seen="synthetic and external together",
                expected="one of them: external replaces synthetic",
            )
        elif self.external is not None:
            findings.add("external", **refuse_external("Kafka"))
        findings.raise_if_any()
        synthetic = self.synthetic or SyntheticFile()
        data, flow = Data(), Flow()
        with findings.at("synthetic", "data"):
            data = synthetic.data.build()
        with findings.at("synthetic", "flow"):
            flow = synthetic.flow.build()
        findings.raise_if_any()
        return data, flow


class ScalabilityFile(FileModel):
    """Instances in total, sources included."""

    parallelism: int = 10
    balancing: BalancingWord = "balanced"
    variability: float = Field(default=DEFAULT_VARIABILITY, description="0 is flat, 1 is steep")


class ConnectionFile(FileModel):
    """Edges."""

    shape: Literal["linear", "diamond", "star"] = "linear"
    routing: RoutingWord = "balanced"


class LoadFile(FileModel):
    """Load of a tuple."""

    processing: float = Field(default=10.0, description="of the first task, in 1000 cycles")
    balancing: BalancingWord = "balanced"
    reliability: bool | None = None


class WorkflowFile(FileModel):
    """An application by its depth, shape and totals."""

    depth: int = Field(default=3, description="levels, sources included")
    scalability: ScalabilityFile = ScalabilityFile()
    connection: ConnectionFile = ConnectionFile()
    workload: LoadFile = LoadFile()
    reliability: bool | None = None
    filtering: float = Field(default=0.0, description="part that is forwarded; 0 is no filter")
    windowing: WindowingFile | None = None

    def build(self, data: Data, flow: Flow) -> Workflow:
        """The workflow with these sources."""
        findings = Findings()
        check_number(findings, self.filtering, "filtering", most=1.0)
        reliability = {self.reliability, self.workload.reliability} - {None}
        if len(reliability) > 1:
            findings.add(
                "reliability",
                seen="different values of reliability and workload.reliability",
                expected="one of them, or the same value twice",
            )
        scalability, connection, load, window = Scalability(), Connection(), Load(), None
        with findings.at("scalability"):
            scalability = Scalability(**self.scalability.model_dump())
        with findings.at("connection"):
            connection = Connection(**self.connection.model_dump())
        with findings.at("workload"):
            load = Load(**self.workload.model_dump(exclude={"reliability"}))
        with findings.at("windowing"):
            window = None if self.windowing is None else self.windowing.build()
        findings.raise_if_any()
        return Workflow(
            depth=self.depth,
            scalability=scalability,
            connection=connection,
            workload=load,
            filtering=convert_filtering(self.filtering),
            window=window,
            reliability=all(reliability),
            data=data,
            flow=flow,
        )


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


class ApplicationFile(FileModel):
    """An application: `workflow` with its `datastream`, or `pipeline`."""

    name: Name | None = None
    about: str = ""
    datastream: DatastreamFile | None = None
    workflow: WorkflowFile | None = None
    pipeline: PipelineFile | None = None


def load_application(path: str | Path, *, routed: RoutedEdges = RoutedEdges.ALL) -> Application:
    """The application that a file describes, named like the file unless it names itself.

    The path ``-`` reads standard input.

    Raises:
        UnreadableFile: The file is not a readable document.
        InvalidInput: The content is wrong; every problem with file, line and key.
    """
    stem = UNNAMED if str(path) == STANDARD_INPUT else Path(path).stem
    return _build_application(read_document(path), stem, routed)


def parse_application(
    text: str | bytes, name: str = "", *, routed: RoutedEdges = RoutedEdges.ALL
) -> Application:
    """The application that a text describes."""
    return _build_application(parse_document(text, name), Path(name).stem, routed)


def _build_application(document: Document, stem: str, routed: RoutedEdges) -> Application:
    data, written = rename_keys(document.data, FORMER_KEYS)
    try:
        _check_sections(data)
        # An empty section is there, with nothing but defaults.
        given = {
            key: {} if part is None and key in SECTIONS else part for key, part in data.items()
        }
        file = validate(ApplicationFile, given, _known_keys)
        name = file.name or re.sub(r"[^\w-]+", "-", stem).strip("-") or UNNAMED
        return _build_parts(file, name, routed)
    except InvalidInput as error:
        raise document.locate_error(restore_keys(error, written)) from None


def _build_parts(file: ApplicationFile, name: str, routed: RoutedEdges) -> Application:
    if file.pipeline is not None:
        try:
            return file.pipeline.build(name=name, about=file.about)
        except InvalidInput as error:
            raise error.below("pipeline") from None
    findings = Findings()
    sources, workflow = (Data(), Flow()), Workflow()
    with findings.at("datastream"):
        sources = (file.datastream or DatastreamFile()).build()
    with findings.at("workflow"):
        workflow = (file.workflow or WorkflowFile()).build(*sources)
    findings.raise_if_any()
    return expand_workflow(workflow, name=name, about=file.about, routed=routed)


def _check_sections(data: Mapping[str, Any]) -> None:
    findings = Findings()
    if "workflow" in data and "pipeline" in data:
        findings.add("pipeline", seen="workflow and pipeline together", expected="one of them")
    elif "pipeline" in data and "datastream" in data:
        findings.add(
            "datastream",
            seen="datastream and pipeline together",
            expected="data and flow in the pipeline's sources",
        )
    elif "workflow" not in data and "pipeline" not in data:
        is_job = "topology" in data
        findings.add(
            seen="a job" if is_job else "neither workflow nor pipeline",
            expected="the description of an application: workflow or pipeline",
            remedy="use streamgauge simulate or topology for a job" if is_job else "",
        )
    findings.raise_if_any()


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(ApplicationFile.model_json_schema(by_alias=True)))
