"""The file of an application: a workflow or a pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from streamgauge.applications.application import Application
from streamgauge.applications.data import Data
from streamgauge.applications.files.former_keys import FormerKeys, rename_keys, restore_keys
from streamgauge.applications.files.pipelines import PipelineFile
from streamgauge.applications.files.workflows import DatastreamFile, WorkflowFile
from streamgauge.applications.flow import Flow
from streamgauge.applications.workflow import RoutedEdges, Workflow, expand_workflow
from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.files.document import (
    STANDARD_INPUT,
    Document,
    parse_document,
    read_document,
)
from streamgauge.topology.files.schema import FileModel, Name, list_keys, validate

UNNAMED = "application"
SECTIONS = ("datastream", "workflow", "pipeline")
FORMER_KEYS: FormerKeys = {
    (): {"dataflow": "workflow"},
    ("workflow",): {"reliable": "reliability"},
}


class ApplicationFile(FileModel):
    """An application: `workflow` with its `datastream`, or `pipeline`."""

    name: Name | None = None
    about: str = ""
    datastream: DatastreamFile | None = None
    workflow: WorkflowFile | None = None
    pipeline: PipelineFile | None = None


def load_application(path: str | Path, *, routed: RoutedEdges = RoutedEdges.ALL) -> Application:
    """The application that a file describes, named like the file unless it names itself.

    Args:
        path: Of the file; ``-`` reads standard input.
        routed: Which connections of a workflow get its routing.

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
