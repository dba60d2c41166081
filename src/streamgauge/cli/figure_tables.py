"""Measured figures as cells, and tables of them that fit the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from streamgauge.cli.output import print_table, printable, terminal_width
from streamgauge.drawing.quantities import MISSING, number, number_within, plain_number, share

if TYPE_CHECKING:
    from streamgauge.profile.figures import Figure, TimeFigures

# More rows than this are for machines: `--json` has them all.
MANY = 20
WIDEST = 100
# No rate or time is as large as this; what is would break every table.
HUGE = 1e9
NARROWEST = 8
# A table has three blanks between two columns, and one at each edge.
GAP, EDGES = 3, 2


def short_number(value: float) -> str:
    """A number of a dozen characters at most."""
    return f"{value:.3g}" if value >= HUGE else number(value)


def measured(figure: Figure | None) -> str:
    """A figure ± its standard error."""
    if figure is None:
        return MISSING
    if figure.standard_error is None or figure.value >= HUGE:
        return short_number(figure.value)
    return number_within(figure.value, figure.standard_error)


def plain(figure: Figure | None, scale: float = 1.0) -> str:
    """A figure without its error, where there is no room for it."""
    return MISSING if figure is None else short_number(figure.value * scale)


def level(figure: Figure | None) -> str:
    """A figure that is mostly a whole number, such as threads or places in a queue."""
    return MISSING if figure is None else plain_number(figure.value)


def part(figure: Figure | None) -> str:
    """A figure in per cent."""
    return MISSING if figure is None else share(figure.value)


def quantile(times: TimeFigures | None, probability: float) -> str:
    """A quantile, where it is known."""
    if times is None or probability not in times.quantiles_ms:
        return MISSING
    return short_number(times.quantiles_ms[probability])


def size(figure: Figure | None) -> str:
    """How many observations a figure rests on; a dash for what was written by hand."""
    return f"{figure.samples:,}" if figure is not None and figure.samples else MISSING


def print_figures(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1
) -> None:
    """A table whose first columns are names and whose others are figures, set to the right.

    Nothing is printed without rows; columns that hold nothing are left out; names are cut where
    the table would be wider than the terminal.
    """
    body = [list(row) for row in rows]
    if not body:
        return
    kept = [
        index
        for index in range(len(columns))
        if index < texts or any(row[index] not in ("", MISSING) for row in body)
    ]
    table = [[columns[index] for index in kept], *([row[index] for index in kept] for row in body)]
    widths = [max(len(row[index]) for row in table) for index in range(len(kept))]
    taken = sum(widths[texts:]) + GAP * (len(kept) - 1) + EDGES
    room = min(terminal_width(), WIDEST) - taken
    names = _name_widths(widths[:texts], room)
    laid = [
        [
            clipped(printable(cell), names[index]) if index < texts else cell.rjust(widths[index])
            for index, cell in enumerate(row)
        ]
        for row in table
    ]
    # A title of its own table would be broken where the table ends.
    print_lines([title])
    print_table("", laid[0], laid[1:])


def print_lines(lines: Iterable[str], *, indent: str = "") -> None:
    """Lines of text, each broken where the terminal ends."""
    for line in lines:
        wrapped = textwrap.wrap(
            printable(line),
            min(terminal_width(), WIDEST),
            initial_indent=indent,
            subsequent_indent=indent + "  ",
        )
        print("\n".join(wrapped))


def clipped(name: str, width: int) -> str:
    """The name, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(name) <= width:
        return name
    ending = (width - 1) // 2
    return name[: width - 1 - ending] + "…" + name[len(name) - ending :]


def _name_widths(widths: Sequence[int], room: int) -> list[int]:
    """As wide as they are, or the widest cut until all fit."""
    cut = list(widths)
    while sum(cut) > room and max(cut) > NARROWEST:
        cut[cut.index(max(cut))] -= 1
    return cut
