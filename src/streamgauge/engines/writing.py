"""Writing folders: one process at a time, and what the system has against it, in words."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from streamgauge.errors import InvalidInput, Problem, UnreadableFile


def unwritable(
    folder: Path,
    error: OSError | ValueError,
    *,
    expected: str = "a folder that can be written",
    remedy: str = "name another folder",
    when_full: str | None = None,
) -> UnreadableFile:
    """What the system has against writing there; a full disk may need another remedy."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    problem = Problem(
        place=(),
        file=str(folder),
        seen=reason.lower(),
        expected=expected,
        remedy=remedy if when_full is None or not full else when_full,
    )
    return UnreadableFile([problem])


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Say what the system has against writing there."""
    try:
        yield
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        remedy = "make room there, or name another folder"
        raise unwritable(folder, error, when_full=remedy) from None


def lock_file(path: Path, refusal: InvalidInput) -> IO[bytes]:
    """A file that no other process has locked, made where it does not exist; open while it is ours.

    Raises:
        InvalidInput: The refusal that was given, where another process has it.
    """
    lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise refusal from None
    return lock
