"""Reports as HTML: self-contained pages, and fragments for notebooks.

A page is one file without scripts or requests, in light and dark, for print too. A fragment takes
its colours from the notebook around it, so that it is right on light and dark ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from streamgauge.drawing.svg import page_style
from streamgauge.drawing.wording import printable
from streamgauge.reports.content import (
    MOST_ROWS,
    Commands,
    RowGroup,
    Section,
    Table,
    Term,
    Terms,
    show_cell,
)

if TYPE_CHECKING:
    from streamgauge.reports.report import Report

TEMPLATES = "templates"
MADE = "made"
_WIDTH = re.compile(r'^<svg [^>]*\bwidth="(\d+)"')


def render_page(report: Report, command: str = "") -> str:
    """One self-contained HTML document; the same report and command give the same page."""
    sections = _add_command([part for part in report.sections() if not part.is_empty], command)
    style = page_style() + _read("page.css")
    template = _environment().get_template("page.html.j2")
    return template.render(report=report, sections=sections, style=style) + "\n"


def render_fragment(report: Report) -> str:
    """Verdict, headline and the tables that a terminal would show."""
    tables = [
        block
        for section in report.sections()
        for block in section.blocks
        if isinstance(block, Table) and not block.page_only and not block.is_empty
    ]
    template = _environment().get_template("fragment.html.j2")
    return template.render(report=report, tables=tables, style=_read("fragment.css"))


def _add_command(sections: Sequence[Section], command: str) -> list[Section]:
    """The sections, with how to repeat the result and by which version in the last one."""
    from streamgauge import __version__

    last = next((part for part in sections if part.anchor == MADE), None)
    blocks = [*(last.blocks if last is not None else ())]
    if command:
        blocks.insert(0, Commands([command]))
    blocks.append(Terms([Term("streamgauge", __version__)]))
    made = Section(MADE, "How this was made", blocks)
    return [*(part for part in sections if part.anchor != MADE), made]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("streamgauge.reports", TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "printable": printable,
        "show_cell": show_cell,
        "for_page": _show_on_page,
        "limit_rows": lambda table: list(_limit_rows(table)),
        "count_left_out": _count_left_out,
        "width_style": _set_width,
    }
    return environment


@cache
def _read(name: str) -> str:
    return files("streamgauge.reports").joinpath(TEMPLATES, name).read_text(encoding="utf-8")


def _show_on_page(table: Table) -> Table:
    return table.show_on(page=True)


def _limit_rows(table: Table) -> Iterator[RowGroup]:
    """The table's groups with as many rows as a page can hold."""
    room = MOST_ROWS
    for group in table.row_groups:
        if room > 0 and group.rows:
            yield replace(group, rows=group.rows[:room])
        room -= len(group.rows)


def _count_left_out(table: Table) -> int:
    return max(sum(len(group.rows) for group in table.row_groups) - MOST_ROWS, 0)


def _set_width(svg: str) -> Markup:
    """How wide the picture was drawn, so that a narrow screen shrinks it only so far."""
    width = _WIDTH.search(svg)
    return Markup(f' style="--width: {width[1]}px"') if width else Markup("")
