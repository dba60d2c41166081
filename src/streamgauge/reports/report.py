"""The base of all results that people see: one statement, rendered in several ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.reports.content import Chart, FigureRow, Section, Term, Verdict
from streamgauge.reports.document import make_document

if TYPE_CHECKING:
    from pandas import DataFrame


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
        """All figures as a long table: subject, name, figure, value, unit."""
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
        """One self-contained page.

        Args:
            command: The command that makes this page again, if there is one.
        """
        from streamgauge.reports.page import render_page

        return render_page(self, command)

    def plot(self, number: int = 0) -> Picture:
        """One of the report's pictures, the most telling first.

        Args:
            number: Which one, in the order of the page; `charts` lists them.
        """
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
