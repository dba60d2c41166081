"""What commands share in presenting: documents, tables, errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.errors import InvalidInput, StreamgaugeError

SCHEMA_VERSION = 1


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output, with its schema version."""
    print(json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=2, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on standard output; numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    body = [list(row) for row in rows]
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in body)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console(width=terminal_width()).print(table)


def terminal_width() -> int:
    """Columns of the terminal, or a hundred where there is none."""
    import shutil

    return shutil.get_terminal_size((100, 40)).columns


def say(message: str) -> None:
    """A remark for people, on standard error."""
    print(message, file=sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Warnings for people, on standard error."""
    for warning in warnings:
        say(f"warning: {warning}")


def report_error(error: StreamgaugeError, *, as_json: bool) -> None:
    """The error for people on standard error, and as a document where documents are wanted."""
    problems = error.problems if isinstance(error, InvalidInput) else ()
    if as_json:
        detail = {
            "code": error.code,
            "message": str(error),
            "problems": [problem.to_dict() for problem in problems],
        }
        print_document({"error": detail})
    for line in str(error).splitlines():
        say(f"error: {line}")
    for note in getattr(error, "__notes__", ()):
        say(f"       {note}")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, and say where it is."""
    from streamgauge.topology.files.document import write_whole

    write_whole(path, text)
    say(f"wrote {path}")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
