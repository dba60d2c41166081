"""Writing folders of raw metrics: what the system has against it, in words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamgauge.errors import InvalidInput, Problem, UnreadableFile


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Say what the system has against writing there."""
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        problem = Problem(
            place=(),
            file=str(folder),
            seen=reason.lower(),
            expected="a folder that can be written",
            remedy="make room there, or name another folder" if full else "name another folder",
        )
        raise UnreadableFile([problem]) from None
