"""Committing what was compared with a snapshot, and comparing again where that has changed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from streamgauge.errors import ChangedMeanwhile
from streamgauge.lake.tables import DataFile, LakeTable

MOST_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.1

# Given the files of a snapshot: folders with new files, and files of the snapshot that go.
Write = Callable[[tuple[DataFile, ...]], tuple[list[str], list[DataFile]]]


class Batch(NamedTuple):
    """A batch of a continuous query: committed once, whatever is repeated."""

    query: str
    number: int


def commit_files(
    table: LakeTable,
    write: Write,
    *,
    batch: Batch | None = None,
    about: Mapping[str, str] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Write for the newest snapshot and commit; again for a newer one where another was first.

    Args:
        table: The table.
        write: Called with the files of the snapshot, maybe several times.
        batch: Of a continuous query; nothing is done where it was committed before.
        about: For the table's history.
        pause: Waits between attempts.

    Returns:
        Whether something was done; not where the batch was committed before.

    Raises:
        ChangedMeanwhile: Others were first every time.
    """
    for attempt in range(MOST_ATTEMPTS):
        if batch is not None:
            last = table.batch_of(batch.query)
            if last is not None and last >= batch.number:
                return False
        snapshot = table.snapshot()
        added, removed = write(snapshot.files)
        try:
            table.commit(after=snapshot, added=added, removed=removed, batch=batch, about=about)
        except ChangedMeanwhile:
            # Writers that met once should not meet again.
            pause(_FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5))
        else:
            return True
    raise ChangedMeanwhile(
        f"{table.uri}: other writers committed first {MOST_ATTEMPTS} times in a row; expected a"
        " moment without: nothing was lost, run it again when they are done"
    )
