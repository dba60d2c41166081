"""Tables of figures on a terminal, for commands that have no report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamgauge.cli.output import terminal_width
from streamgauge.reports.content import Column, Table
from streamgauge.reports.measured import shorten_number
from streamgauge.reports.terminal import render_table, wrap

__all__ = ["print_figures", "print_lines", "short_number"]

short_number = shorten_number


def print_figures(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1
) -> None:
    """A table whose first columns are names and whose others are figures, set to the right.

    Nothing is printed without rows.
    """
    body = [list(row) for row in rows]
    if body:
        headings = [Column(name=name, words=index < texts) for index, name in enumerate(columns)]
        table = Table(caption=title, columns=headings, rows=body)
        print("\n".join(render_table(table, terminal_width(), most_rows=len(body))), end="\n\n")


def print_lines(lines: Iterable[str], *, indent: str = "") -> None:
    """Lines of text, each broken where the terminal ends."""
    for line in lines:
        print("\n".join(wrap(line, terminal_width(), indent)))
