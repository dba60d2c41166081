"""The scale-out file: components and rates in the published form, and the graph they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from streamgauge.errors import CyclicTopology, Findings, InvalidInput, Problem
from streamgauge.planning.scaling.files.rows import (
    TOLERANCE,
    ScaleOutFile,
    SettledRow,
    contradictions,
    format_row,
    settle,
)
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph, TableLaw
from streamgauge.planning.scaling.measured import MeasuredRates
from streamgauge.planning.scaling.rates import ComponentRates, propagate
from streamgauge.topology.files.document import (
    STANDARD_INPUT,
    Document,
    parse_document,
    read_document,
)
from streamgauge.topology.files.file_model import list_keys, validate

UNNAMED = "scale-out"
SECTION = "components"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOut:
    """What a scale-out file says.

    Attributes:
        graph: Made of capacities, ratios and what spouts emit.
        free_units: To hand out, where the file says so.
        warnings: Rates that contradict others, by row and key; the graph does not rest on them.
    """

    graph: ScalingGraph
    free_units: int | None = None
    about: str = ""
    warnings: tuple[Problem, ...] = ()


def load_scale_out(path: str | Path, *, tolerance: float = TOLERANCE) -> ScaleOut:
    """What a file says, named like the file unless it names itself.

    The path ``-`` reads standard input; rates may differ by the tolerance, in tuples per second,
    without a warning.

    Raises:
        UnreadableFile: The file is no document.
        CyclicTopology: Components feed each other in a round.
        InvalidInput: What it says cannot be; every problem with file, line and key.
    """
    stem = UNNAMED if str(path) == STANDARD_INPUT else Path(path).stem
    return _scale_out(read_document(path), stem, tolerance)


def parse_scale_out(text: str | bytes, name: str = "", *, tolerance: float = TOLERANCE) -> ScaleOut:
    """What a text says."""
    return _scale_out(parse_document(text, name), Path(name).stem or UNNAMED, tolerance)


def is_scale_out(document: Document) -> bool:
    """Whether a document is a scale-out file, not a job: it begins with components."""
    return isinstance(document.data.get(SECTION), list)


def scale_out_of(document: Document) -> ScaleOut:
    """What a document says that was read already."""
    return _scale_out(document, Path(document.name).stem or UNNAMED, TOLERANCE)


def scale_out_to_data(
    scale_out: ScaleOut, measured: Mapping[str, MeasuredRates] | None = None
) -> dict[str, Any]:
    """The graph as a file holds it.

    Args:
        scale_out: What to write.
        measured: Rates to write where they are known, else those that follow from the graph. A
            reader is told where measured rates contradict each other: what parents sent and did
            not arrive, for one.
    """
    graph, rates = scale_out.graph, propagate(scale_out.graph)
    rows = []
    for component in graph.components:
        bolt = {
            **_rates_row((measured or {}).get(component.name, rates[component.name])),
            "maxProcessingRate": rates[component.name].capacity,
            "maxProcessingRates": list(component.law.rates)
            if isinstance(component.law, TableLaw)
            else None,
            "outInRatio": component.out_per_in,
        }
        shares = {edge.target: edge.share for edge in graph.children[component.name]}
        rows.append(
            format_row(
                {
                    "id": component.name,
                    "type": "spout" if component.source else "bolt",
                    "parents": [edge.source for edge in graph.parents[component.name]],
                    "children": list(shares),
                    "unitCount": component.units,
                    **({"outputRate": rates[component.name].output} if component.source else bolt),
                    "childOutputRatio": shares,
                }
            )
        )
    head = {
        "name": graph.name,
        "about": scale_out.about or None,
        "freeResources": scale_out.free_units,
    }
    return {**format_row(head), SECTION: rows}


def _rates_row(rates: ComponentRates | MeasuredRates) -> dict[str, float | None]:
    return {
        "inputRate": rates.input,
        "processingRate": rates.processed,
        "droppedRate": rates.dropped,
        "outputRate": rates.output,
    }


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the scale-out file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "scale-out-1.schema.json",
        **ScaleOutFile.model_json_schema(by_alias=True),
    }


def _scale_out(document: Document, stem: str, tolerance: float) -> ScaleOut:
    try:
        file: ScaleOutFile = validate(ScaleOutFile, document.data, _known_keys)
        file.check()
        settled = _settle_rows(file, _order(file))
        graph = _graph(file, settled, stem)
    except InvalidInput as error:
        raise document.locate_error(error) from None
    orphans = frozenset(
        row.id for row in file.components if not row.is_spout and not graph.parents[row.id]
    )
    by_place = {index: settled[row.id] for index, row in enumerate(file.components)}
    problems = contradictions(by_place, orphans=orphans, tolerance=tolerance)
    warnings = document.locate_error(InvalidInput(problems)).problems if problems else ()
    return ScaleOut(
        graph=graph, free_units=file.free_resources, about=file.about, warnings=warnings
    )


def _graph(file: ScaleOutFile, settled: Mapping[str, SettledRow], stem: str) -> ScalingGraph:
    findings = Findings()
    components = []
    for index, row in enumerate(file.components):
        with findings.at(SECTION, index):
            components.append(
                Component(
                    name=row.id,
                    units=row.unit_count,
                    law=row.law(),
                    source=row.is_spout,
                    out_per_in=settled[row.id].ratio,
                )
            )
    findings.raise_if_any()
    return ScalingGraph(
        name=file.name or stem, components=tuple(components), edges=tuple(_edges(file))
    )


def _edges(file: ScaleOutFile) -> list[Edge]:
    return [
        Edge(source=row.id, target=child, share=ratio)
        for row in file.components
        for child, ratio in row.child_output_ratio.items()
    ]


def _order(file: ScaleOutFile) -> tuple[str, ...]:
    """Parents before their children; a cycle is named."""
    bare = LinearLaw(per_unit=1.0)
    names = tuple(
        Component(name=row.id, units=1, law=bare, source=row.is_spout) for row in file.components
    )
    try:
        return ScalingGraph(name=UNNAMED, components=names, edges=tuple(_edges(file))).order
    except CyclicTopology as error:
        raise CyclicTopology(
            replace(problem, place=(SECTION,), remedy="remove the child that closes the cycle")
            for problem in error.problems
        ) from None


def _settle_rows(file: ScaleOutFile, order: tuple[str, ...]) -> dict[str, SettledRow]:
    """Every row with what it leaves out, from the spouts on."""
    rows = {row.id: row for row in file.components}
    parents = file.parents_by_child()
    settled: dict[str, SettledRow] = {}
    for name in order:
        arriving = sum(
            settled[parent].output * rows[parent].child_output_ratio[name]
            for parent in parents.get(name, ())
        )
        settled[name] = settle(rows[name], arriving)
    return settled


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(json_schema()))
