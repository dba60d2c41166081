"""What a command reads is not written over by it: neither the job nor what its file refers to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from streamgauge.errors import InvalidInput

# Files that were read inside `protect_inputs`; None outside, where programs do as they like.
_files: ContextVar[set[Path] | None] = ContextVar("files", default=None)


@contextmanager
def protect_inputs() -> Iterator[None]:
    """Inside the block, a file that was read cannot be written."""
    token = _files.set(set())
    try:
        yield
    finally:
        _files.reset(token)


def remember_input(file: Path) -> None:
    """Protect a file that is read, where files are protected at all."""
    files = _files.get()
    if files is not None:
        files.add(file)


def check_not_input(path: Path) -> None:
    """Refuse to write over a file that was read.

    Raises:
        InvalidInput: The file is protected.
    """
    for file in _files.get() or ():
        with suppress(OSError):
            if path.samefile(file):
                refuse_input(path)


def refuse_input(path: Path) -> None:
    """Say that an output is also an input.

    Raises:
        InvalidInput: Always.
    """
    raise InvalidInput.single(
        (),
        file=str(path),
        seen="a file that this command also reads or writes",
        expected="another file to write to",
        remedy="it was left unchanged",
    )
