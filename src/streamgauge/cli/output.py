"""What commands share in presenting: documents, tables, errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.errors import InvalidInput, StreamgaugeError

SCHEMA_VERSION = 1
MANY_PROBLEMS = 20


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
    heading = Text(title) if title else None
    table = Table(title=heading, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in body)
        # A number broken over two lines is two wrong numbers.
        table.add_column(
            Text(column),
            justify="right" if numeric else "left",
            overflow="ellipsis" if numeric else "fold",
            no_wrap=numeric,
        )
    for row in body:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console(width=terminal_width()).print(table)


def terminal_width() -> int:
    """Columns of the terminal, or a hundred where there is none."""
    import shutil

    return shutil.get_terminal_size((100, 40)).columns


def printable(text: str) -> str:
    """The text without what a terminal would obey rather than show."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def counted(number: int, noun: str) -> str:
    """``1 worker``, ``2 workers``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(message: str) -> None:
    """A remark for people, on standard error."""
    print(printable(message), file=sys.stderr)


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
    lines = str(error).splitlines()
    for line in lines[:MANY_PROBLEMS]:
        say(f"error: {line}")
    if len(lines) > MANY_PROBLEMS:
        say(f"error: and {len(lines) - MANY_PROBLEMS} more; --json lists them all")
    for note in getattr(error, "__notes__", ()):
        say(f"       {note}")


@contextmanager
def in_file(file: str) -> Iterator[None]:
    """Say which file a problem is in that was found only after reading it."""
    try:
        yield
    except InvalidInput as error:
        problems = [p if p.file else replace(p, file=file) for p in error.problems]
        raise type(error)(problems) from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, and say where it is; ``-`` is standard output."""
    from streamgauge.topology.files.document import STANDARD_INPUT, write_whole

    if str(path) == STANDARD_INPUT:
        print(text, end="")
        return
    write_whole(path, text)
    say(f"wrote {path}")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))
