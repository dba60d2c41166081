"""The combined file as a whole, for its JSON Schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from streamgauge.profile.files.behaviours import BehavioursFile
from streamgauge.profile.files.figures import FiguresFile
from streamgauge.profile.files.plans import PlanFile, StepFile
from streamgauge.topology.files.file_model import FileModel
from streamgauge.topology.files.sections import ClusterFile, ConfigurationFile, TopologyFile
from streamgauge.topology.files.workloads import WorkloadFile


class ReferenceFile(FileModel):
    """A section that is in another file, named relative to this one."""

    file: str


class DescriptionFile(FileModel):
    """A streaming job: each section here, or `{file: other.yaml}`."""

    streamgauge: Literal[1] = Field(description="version of this file format")
    about: str = ""
    topology: TopologyFile | ReferenceFile | None = None
    behaviours: BehavioursFile | ReferenceFile | None = None
    configuration: ConfigurationFile | ReferenceFile | None = None
    cluster: ClusterFile | ReferenceFile | None = None
    workload: WorkloadFile | ReferenceFile | None = None
    plan: PlanFile | ReferenceFile | None = None
    steps: dict[str, StepFile] | ReferenceFile | None = None
    profile: FiguresFile | ReferenceFile | None = None


def describe_file() -> dict[str, Any]:
    """The JSON Schema of the combined file, for editors."""
    schema = DescriptionFile.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "streamgauge-1.schema.json",
        **schema,
    }
