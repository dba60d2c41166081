"""Reports as terminal text: the verdict first, tables that fit the width, words kept whole."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import clip, printable, text_width
from streamgauge.reports.content import Chart, Column, Commands, Section, Table, Text, show_cell

if TYPE_CHECKING:
    from streamgauge.reports.report import Report

# Longer tables are for `--json`.
MOST_ROWS = 40
# Columns are apart by this much, and a table is indented by one.
GAP, INDENT = 3, 1
NARROWEST = 8
# No line ends between a figure and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|min|tuples/s)(?!\w))")
_GLUE = "\u00a0"


def render_text(report: Report, width: int) -> str:
    """The report, at most `width` columns wide."""
    lines = list(wrap(report.about, width))
    for sentence in (*report.verdict.doubts, str(report.verdict)):
        lines += wrap(sentence, width)
    lines += wrap("; ".join(f"{term.name} {term.value}" for term in report.headline), width)
    for caution in report.verdict.cautions:
        lines += wrap(caution, width)
    for section in report.sections():
        lines += _render_section(section, width)
    return "\n".join(lines) + "\n"


def _render_section(section: Section, width: int) -> Iterator[str]:
    """Tables under their captions; text and commands under the section's heading."""
    heading = section.heading
    for block in section.blocks:
        match block:
            case Table() if not block.page_only and not block.is_empty:
                yield ""
                yield from render_table(block, width)
            case Chart() if block.draw_text is not None:
                yield from ("", block.draw_text(width))
            case Text() if block.sentences and not block.page_only:
                yield from ("", heading) if heading else ("",)
                for sentence in block.sentences:
                    yield from wrap(sentence, width, indent="  ")
                heading = ""
            case Commands() if block.lines and not block.page_only:
                yield from ("", heading) if heading else ("",)
                # A command is copied whole: it is not wrapped.
                yield from (f"  {printable(line)}" for line in block.lines)
                heading = ""
            case _:
                pass


def render_table(table: Table, width: int, most_rows: int = MOST_ROWS) -> Iterator[str]:
    """The table's lines: caption, headings, rows, note; beyond `most_rows` rows are only counted.

    Columns that hold nothing are left out. Columns of words are wrapped between words, and names
    that are still too long are cut in their middle; figures are never broken.
    """
    narrow = table.show_on(page=False)
    columns = narrow.columns
    body = [list(map(show_cell, row)) for group in narrow.row_groups for row in group.rows]
    headings = [printable(column.heading) for column in columns]
    widths = _fit_widths(columns, [headings, *body], width - INDENT)
    if narrow.caption:
        yield from wrap(narrow.caption, width)
        yield ""
    yield from _render_row(columns, headings, widths)
    yield " " * INDENT + "─" * (sum(widths) + GAP * (len(widths) - 1))
    left = most_rows
    for group in narrow.row_groups:
        if group.heading:
            yield f"{' ' * INDENT}{printable(group.heading)}"
        for row in group.rows[: max(left, 0)]:
            yield from _render_row(columns, list(map(show_cell, row)), widths)
        left -= len(group.rows)
    if left < 0:
        yield f"{' ' * INDENT}… {-left:,} more; --json lists them all"
    if narrow.note:
        yield from wrap(narrow.note, width, indent=" ")


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most that width; neither words nor figures are broken."""
    lines = textwrap.wrap(
        _BEFORE_UNIT.sub(_GLUE, printable(text)),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_GLUE, " ") for line in lines]


def _fit_widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """How wide each column is: as wide as its longest cell, narrower where it must be.

    Headings are wrapped first, then cells of words, and names are cut last.
    """
    places = range(len(columns))
    holds_words = [columns[place].words or place == 0 for place in places]
    headings = [_longest_word([rows[0][place]]) for place in places]
    cells = [[row[place] for row in rows[1:]] for place in places]
    whole = [max(map(text_width, cells[place]), default=0) for place in places]
    wrapped = [
        _longest_word(cells[place])
        if holds_words[place]
        else max(map(_longest_figure, cells[place]), default=0)
        for place in places
    ]
    widths = [max(text_width(rows[0][place]), whole[place]) for place in places]
    room = width - GAP * (len(columns) - 1)
    _shrink(widths, [max(headings[place], whole[place]) for place in places], room)
    _shrink(widths, [max(headings[place], wrapped[place]) for place in places], room)
    cut = [NARROWEST if holds_words[place] else widths[place] for place in places]
    _shrink(widths, cut, room)
    # A heading that is wrapped may need less than its share.
    heads = [
        max(map(text_width, wrap(rows[0][place], widths[place])), default=0) for place in places
    ]
    return [min(widths[place], max(heads[place], whole[place])) for place in places]


def _shrink(widths: list[int], least: Sequence[int], room: int) -> None:
    """Make the widest column narrower until all fit, none narrower than its least width."""
    while sum(widths) > room:
        slack = [width - low for width, low in zip(widths, least, strict=True)]
        if max(slack) <= 0:
            return
        widest = max(
            (index for index in range(len(widths)) if slack[index] > 0), key=widths.__getitem__
        )
        widths[widest] -= 1


def _longest_word(cells: Sequence[str] | Iterator[str]) -> int:
    glued = (_BEFORE_UNIT.sub(_GLUE, cell) for cell in cells)
    return max((text_width(word) for cell in glued for word in cell.split(" ")), default=1)


def _longest_figure(cell: str) -> int:
    """A figure is not broken; a change from one to another may be, behind its arrow."""
    first, *others = cell.split(" → ")
    return max(text_width(f"{first} →" if others else first), *map(text_width, others), 0)


def _render_row(
    columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]
) -> Iterator[str]:
    """One row, of as many lines as its tallest cell."""
    wrapped = [
        [clip(line, width) for line in wrap(cell, width)] or [""]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, wrapped))):
        parts = []
        for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
            text = wrapped[index][number] if number < len(wrapped[index]) else ""
            pad = " " * (width - text_width(text))
            parts.append(text + pad if column.words or index == 0 else pad + text)
        yield (" " * INDENT + (" " * GAP).join(parts)).rstrip()
