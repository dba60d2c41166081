"""With which code a command ends.

Errors carry their own code (`errors`); a report's verdict decides the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.reports.content import Verdict

DONE = 0
FAILURE = 1
INVALID_INPUT = 2
# Computed, and the answer is bad: overloaded, the objective is missed, or nothing is feasible.
OVERLOADED = 3
UNREACHABLE = 4
NOT_ENOUGH_DATA = 5
INTERRUPTED = 130


def exit_code_of(verdict: Verdict) -> int:
    """The code of a command that reports this verdict."""
    from streamgauge.reports.content import Grade

    return OVERLOADED if verdict.grade is Grade.BAD else DONE
