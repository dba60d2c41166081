"""The base of all results that people see: one statement, rendered in several ways."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import count
from streamgauge.reports.content import Chart, FigureRow, Section, Term, Verdict

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pandas import DataFrame

    from streamgauge.models.prediction import Prediction
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

SCHEMA_VERSION = 1
# By the end of a figure's name; of workers and machines, their cores by what they do.
UNITS = {
    "_bytes_per_second": "bytes/s",
    "_per_second": "1/s",
    "_seconds": "s",
    "_ms": "ms",
    "_bytes": "bytes",
    "cores": "cores",
    "busy": "cores",
    "work": "cores",
    "engine": "cores",
    "engine_error": "cores",
    "polling": "cores",
    "background": "cores",
}


def make_document(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as a JSON document of the current schema version."""
    return {"schema_version": SCHEMA_VERSION, **replace_non_finite(dict(body))}


def write_document(body: Mapping[str, Any]) -> str:
    """The document as text."""
    return json.dumps(make_document(body), indent=2, ensure_ascii=False)


def replace_non_finite(value: Any) -> Any:
    """The value with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(item) for item in value]
    return value


def describe_size(plan: PhysicalPlan) -> str:
    """``8 executors in 2 workers on 1 node``."""
    executors = count(len(plan.logical.executors), "executor")
    return (
        f"{executors} in {count(len(plan.workers), 'worker')} on {count(len(plan.nodes), 'node')}"
    )


def list_figures(
    subject: str,
    name: str,
    record: Mapping[str, float] | DataclassInstance,
    unit: str | None = None,
) -> Iterator[FigureRow]:
    """The numbers of a record.

    Args:
        subject: What kind of thing the record is of: ``operator``, ``worker`` …
        name: Which of them.
        record: Numbers by name, or an object whose fields that are numbers are taken.
        unit: Of all numbers; by default that which a number's name ends in.
    """
    values: Mapping[str, Any]
    if isinstance(record, Mapping):
        values = record
    else:
        values = {field.name: getattr(record, field.name) for field in fields(record)}
    for figure, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            own = next((UNITS[end] for end in UNITS if figure.endswith(end)), "")
            yield FigureRow(
                subject=subject,
                name=name,
                figure=figure,
                value=float(value),
                unit=own if unit is None else unit,
            )


def list_parts_figures(
    result: Prediction | SimulationResult, prefix: str = ""
) -> Iterator[FigureRow]:
    """The numbers of operators, executors, workers and machines; their names have the prefix."""
    for name, operator in result.operators.items():
        yield from list_figures("operator", f"{prefix}{name}", operator)
    for subject in ("executor", "worker", "machine"):
        for record in getattr(result, f"{subject}s"):
            yield from list_figures(subject, f"{prefix}{record.name}", record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawn chart: shown by notebooks, saved by `save`."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")


class Report(ABC):
    """What a result says: title, verdict, headline and sections, stated once.

    Subclasses state these; the renderers turn them into terminal text, HTML and JSON.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What the report is about, as the heading of its page."""

    @property
    def about(self) -> str:
        """What was looked at, in one line."""
        return ""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """The answer in one or two sentences."""

    @property
    def headline(self) -> Sequence[Term]:
        """The few figures that a reader looks for first; the first two are set large."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong on the way without making the result useless; the CLI prints it first."""
        return ()

    @abstractmethod
    def sections(self) -> Sequence[Section]:
        """The parts of the report in the order in which they are read."""

    @abstractmethod
    def document(self) -> Mapping[str, Any]:
        """The body of the JSON document."""

    @abstractmethod
    def figures(self) -> Iterator[FigureRow]:
        """Every figure as a row of the long table."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All pictures, in the order of the page."""
        return tuple(chart for section in self.sections() for chart in section.charts)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document, with `schema_version`; infinities and NaN are null."""
        return make_document(self.document())

    def to_pandas(self) -> DataFrame:
        """All figures as a long table: subject, name, figure, value, unit, and their intervals."""
        from streamgauge.extras import require_extra

        with require_extra("pandas"):
            import pandas
        columns = list(FigureRow.__slots__)
        rows = [[getattr(row, column) for column in columns] for row in self.figures()]
        return pandas.DataFrame(rows, columns=columns)

    def to_text(self, width: int = 100) -> str:
        """The report as a terminal shows it."""
        from streamgauge.reports.terminal import render_text

        return render_text(self, width)

    def to_html(self, command: str = "") -> str:
        """One self-contained page, with the command that makes it again if there is one."""
        from streamgauge.reports.page import render_page

        return render_page(self, command)

    def plot(self, number: int = 0) -> Picture:
        """One of the report's pictures, in the order of `charts`: the most telling first."""
        from streamgauge.errors import InvalidInput

        charts = self.charts
        if not 0 <= number < len(charts):
            raise InvalidInput.single(
                ("number",),
                seen=f"picture {number} of {len(charts)}",
                expected=f"a number below {len(charts)}" if charts else "a result with pictures",
            )
        return Picture(svg=charts[number].svg())

    def _repr_html_(self) -> str:
        from streamgauge.reports.page import render_fragment

        return render_fragment(self)

    def __str__(self) -> str:
        return "".join(f"warning: {text}\n" for text in self.warnings) + self.to_text()
