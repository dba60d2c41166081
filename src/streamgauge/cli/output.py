"""What commands share in presenting: documents, tables, errors."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import printable
from streamgauge.errors import InvalidInput, StreamgaugeError
from streamgauge.overwrite_guard import refuse_input

if TYPE_CHECKING:
    from streamgauge.reports.content import Table
    from streamgauge.reports.report import Report

MANY_PROBLEMS = 20


def present(
    report: Report,
    *,
    as_json: bool = False,
    html: Path | None = None,
    svg: Path | None = None,
) -> None:
    """Show a report as the options of a command ask for, and exit with 3 where the news is bad.

    Args:
        report: What to show.
        as_json: Whether to print one JSON document instead of text.
        html: Where to write a page.
        svg: Where to write the first picture.

    Raises:
        typer.Exit: The verdict is overload, or nothing is feasible.
    """
    import typer

    from streamgauge.cli.exit_codes import DONE, exit_code_of
    from streamgauge.reports.report import write_document

    warn(report.warnings)
    if as_json:
        print(write_document(report.document()))
    else:
        print(report.to_text(terminal_width()), end="")
    # Last, so that a file that cannot be written costs nothing but the file.
    if svg is not None:
        write_text(svg, report.plot().svg)
    if html is not None:
        write_text(html, report.to_html(shlex.join(["streamgauge", *sys.argv[1:]])))
    code = exit_code_of(report.verdict)
    if code != DONE:
        raise typer.Exit(code)


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output, with its schema version."""
    from streamgauge.reports.report import write_document

    print(write_document(document))


def print_table(table: Table, most_rows: int | None = None) -> None:
    """A report's table on standard output, with all its rows unless a number is given."""
    from streamgauge.reports.terminal import render_table

    if table.is_empty:
        return
    rows = sum(len(group.rows) for group in table.row_groups) if most_rows is None else most_rows
    print("\n" + "\n".join(render_table(table, terminal_width(), rows)))


def terminal_width() -> int:
    """Columns of the terminal, or a hundred where there is none."""
    import shutil

    return shutil.get_terminal_size((100, 40)).columns


def can_print(signs: str) -> bool:
    """Whether the encoding of standard output has these signs."""
    try:
        signs.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


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


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, and say where it is; ``-`` is standard output.

    Raises:
        InvalidInput: The file is one that the command reads, or it cannot be written.
    """
    from streamgauge.topology.files.document import STANDARD_INPUT, write_whole

    if str(path) == STANDARD_INPUT:
        print(text, end="")
        return
    check_output(path)
    write_whole(path, text)
    say(f"wrote {path}")


def check_outputs(*paths: Path | None) -> None:
    """Refuse outputs that cannot be written: call it before anything is computed.

    Raises:
        InvalidInput: The command line names a file twice.
        UnreadableFile: A file cannot be written.
    """
    from streamgauge.topology.files.document import check_writable

    for path in paths:
        if path is not None:
            check_output(path)
            check_writable(path)


def check_output(path: Path) -> None:
    """Refuse to write over a file that the command line names as something else, too.

    Raises:
        InvalidInput: The command line names the file twice.
    """
    if path.exists() and sum(_names_file(word, path) for word in sys.argv[1:]) > 1:
        refuse_input(path)


def _names_file(word: str, path: Path) -> bool:
    """Whether a word of the command line names a file: FILE, FILE@STEP or --OPTION=FILE."""
    value = word.partition("=")[2] if word.startswith("-") else word
    for text in (value, value.rpartition("@")[0]):
        with suppress(OSError, ValueError):
            if text and path.samefile(text):
                return True
    return False
