"""What reports are made of: verdict, headline, tables, charts and text, as data.

A renderer (`terminal`, `page`) decides how they look; nothing here knows about widths or markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from streamgauge.drawing.wording import MISSING, printable

# A cell is shown as it is; None is shown as a dash.
Cell = str | int | None
# More rows than this belong into `--json`: a page lists the first ones and counts the rest.
MOST_ROWS = 200


def show_cell(cell: Cell) -> str:
    """The cell as a terminal or a page shows it."""
    return MISSING if cell is None else printable(str(cell))


class Grade(StrEnum):
    """How good the news is."""

    FINE = "fine"
    WARNING = "warning"
    BAD = "bad"  # overloaded, or nothing feasible: commands then exit with 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer in one or two sentences.

    Attributes:
        word: The first word or words, which are set apart: ``Fits``, ``Overloaded``.
        sentence: The rest, as it follows the word: ``. Up to 300 tuples/s would fit.``
        doubts: Why the answer may be wrong, each a sentence or two; shown before it.
        cautions: What a reader must not overlook, each a sentence.
    """

    grade: Grade
    word: str
    sentence: str = ""
    doubts: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.word}{self.sentence}"


@dataclass(frozen=True, slots=True)
class Term:
    """A name with its figure or text: ``p99 latency``, ``2.12 ms``."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        unit: What its figures are measured in, or what exactly they are.
        words: Whether it holds words, which are set to the left and may be wrapped, as the first
            column always is.
    """

    name: str
    unit: str = ""
    words: bool = False
    page_only: bool = False
    terminal_only: bool = False

    @property
    def heading(self) -> str:
        """Name and unit in one line."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


# A row by the columns of its cells; a column that a row does not name is empty there.
Row = Mapping[Column, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Rows that belong together, below a heading where they have one."""

    rows: Sequence[Sequence[Cell]]
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; the first cell of every row names it. Rows below headings are in `groups`."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = ()
    groups: Sequence[RowGroup] = ()
    note: str = ""
    page_only: bool = False

    @property
    def row_groups(self) -> Sequence[RowGroup]:
        """All rows as groups; rows without a group have no heading."""
        return self.groups or (RowGroup(rows=self.rows),)

    @property
    def is_empty(self) -> bool:
        """Whether there is no row at all."""
        return not any(group.rows for group in self.row_groups)

    def show_on(self, *, page: bool) -> Table:
        """The table without columns that are for the other medium, or that hold nothing."""
        rows = [row for group in self.row_groups for row in group.rows]
        kept = [
            index
            for index, column in enumerate(self.columns)
            if not (column.terminal_only if page else column.page_only)
            and (index == 0 or any(row[index] not in ("", MISSING, None) for row in rows))
        ]
        return replace(
            self,
            columns=[self.columns[index] for index in kept],
            rows=(),
            groups=[
                replace(group, rows=[[row[index] for index in kept] for row in group.rows])
                for group in self.row_groups
            ],
        )


def tabulate(
    caption: str, rows: Iterable[Row], *, note: str = "", page_only: bool = False
) -> Table:
    """A table of rows that name the columns of their cells, in the order of the first naming."""
    return tabulate_groups(caption, {"": rows}, note=note, page_only=page_only)


def tabulate_groups(
    caption: str, groups: Mapping[str, Iterable[Row]], *, note: str = "", page_only: bool = False
) -> Table:
    """The same, with rows by the heading that they stand below."""
    bodies = {heading: list(rows) for heading, rows in groups.items()}
    columns = list(dict.fromkeys(name for rows in bodies.values() for row in rows for name in row))
    return Table(
        caption=caption,
        columns=columns,
        groups=[
            RowGroup(
                rows=[[row.get(column) for column in columns] for row in rows], heading=heading
            )
            for heading, rows in bodies.items()
        ],
        note=note,
        page_only=page_only,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture.

    Attributes:
        draw: Makes the SVG; `embedded` says whether a page around it brings the style.
        wide: Whether it takes the whole width of a page, and may be wider than a screen.
        instead: What a page says in place of a picture that is too large to be read there.
        draw_text: Draws it in characters, at most so many columns wide, for terminals.
    """

    title: str
    draw: Callable[..., str]
    caption: str = ""
    wide: bool = False
    instead: str = ""
    draw_text: Callable[[int], str] | None = None

    def svg(self, *, embedded: bool = False) -> str:
        """The picture as an SVG document, or as a part of a page that brings the style."""
        return self.draw(embedded=embedded)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """Small charts that stand beside each other where there is room."""

    charts: Sequence[Chart]


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences; each is a paragraph on a page and a line of a list on a terminal."""

    sentences: Sequence[str]
    page_only: bool = False


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to type, one in each line."""

    lines: Sequence[str]
    page_only: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """A list of names with their figures, such as how a result was made; on pages only."""

    terms: Sequence[Term]


Block = Table | Chart | ChartRow | Text | Commands | Terms


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report; links name it by its anchor."""

    anchor: str
    heading: str
    blocks: Sequence[Block]

    @property
    def charts(self) -> Iterator[Chart]:
        """All its pictures."""
        for block in self.blocks:
            if isinstance(block, Chart):
                yield block
            elif isinstance(block, ChartRow):
                yield from block.charts

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return all(_is_empty(block) for block in self.blocks)


def _is_empty(block: Block) -> bool:
    match block:
        case Table():
            return block.is_empty
        case Text():
            return not block.sentences
        case Commands():
            return not block.lines
        case _:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One row of a result's long table.

    Attributes:
        subject: What kind of thing the figure is of: ``job``, ``operator``, ``executor`` …
        figure: ``utilisation``, ``latency_p99`` …
        value: NaN where it is unknown.
        unit: Empty for a count or a ratio.
        low: Lower end of its interval; NaN where that is not known.
        high: Its upper end.
    """

    subject: str
    name: str
    figure: str
    value: float
    unit: str = ""
    low: float = math.nan
    high: float = math.nan
