"""What went wrong in a job of Spark, in one line instead of pages of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from streamgauge.errors import JobFailed

_CAUSE = re.compile(r"^(?:Caused by: |: )?(?:[a-z]\w*\.)+\w*(?:Exception|Error)\w*: (.+)$", re.M)
_NO_ROOM = "No space left on device"
_WRITTEN = re.compile(r"Task failed while writing rows to (?:file:)?(\S+?)\.?(?: SQLSTATE|\s|$)")


@contextmanager
def failures_explained() -> Iterator[None]:
    """Turn what Spark raises into an error that says what to mend.

    Raises:
        JobFailed: Spark raised something.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobFailed(f"Spark could not finish: {cause_of(str(error))}") from error


def cause_of(text: str) -> str:
    """The innermost cause that a text of Spark names."""
    if _NO_ROOM in text:
        written = _WRITTEN.search(text)
        if written is not None:
            return f"no space left on the disk of {written[1]}: make room there"
        return "no space left for temporary files: make room, or give spark.local.dir another place"
    causes = _CAUSE.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (causes[-1] if causes else lines[0] if lines else "no reason was given").strip()
