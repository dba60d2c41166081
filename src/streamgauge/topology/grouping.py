"""Groupings: how the tuples of a stream are divided over the tasks that receive it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_name, check_number
from streamgauge.topology.frozen import freeze

# Rows of a custom matrix are often written with a few decimals; 1/3 three times is 0.999.
ROW_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How a stream chooses the receiving task; see the subclasses."""

    kind: ClassVar[str] = ""

    def describe(self) -> str:
        """A short label for pictures and tables."""
        return self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Grouping):
    """Spread evenly; load- and locality-aware where the engine's transport is."""

    kind = "shuffle"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOrShuffle(Grouping):
    """Tasks of the sender's own worker if there are any, else shuffle."""

    kind = "local-or-shuffle"


@dataclass(frozen=True, slots=True, kw_only=True)
class All(Grouping):
    """A copy to every task."""

    kind = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Global(Grouping):
    """Everything to the task with the lowest id."""

    kind = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct(Grouping):
    """The sender names the receiving task."""

    kind = "direct"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keyed(Grouping):
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        with Findings() as findings:
            freeze(self, "keys")
            if not self.keys:
                findings.add("keys", seen="no key", expected="at least one field name")
            for index, key in enumerate(self.keys):
                check_name(findings, key, "keys", index)

    def describe(self) -> str:
        """The kind and its keys: ``fields(word)``."""
        return f"{self.kind}({', '.join(self.keys)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields(_Keyed):
    """Equal key values go to the same task for the life of the topology."""

    kind = "fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialKey(_Keyed):
    """Two candidate tasks a key; the one this sender has used less."""

    kind = "partial-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(Grouping):
    """Task-to-task probabilities given as a matrix.

    Attributes:
        matrix: One row per sending task, or a single row that holds for all of them; one
            column per receiving task. Every row sums to one.
    """

    kind = "custom"
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in self.matrix))
        with Findings() as findings:
            if not self.matrix or not self.matrix[0]:
                findings.add(
                    "matrix", seen="an empty matrix", expected="at least one row and column"
                )
            for index, row in enumerate(self.matrix):
                _check_row(findings, row, index, width=len(self.matrix[0]))


def _check_row(findings: Findings, row: tuple[float, ...], index: int, width: int) -> None:
    if len(row) != width:
        findings.add(
            "matrix",
            index,
            seen=f"a row of {len(row)} shares",
            expected=f"{width} shares, as in the first row",
        )
    bounded = [
        check_number(findings, share, "matrix", index, column, most=1.0)
        for column, share in enumerate(row)
    ]
    if all(bounded) and abs(math.fsum(row) - 1.0) > ROW_SUM_TOLERANCE:
        findings.add(
            "matrix",
            index,
            seen=f"a row that sums to {math.fsum(row):.6g}",
            expected="shares that sum to 1",
            remedy="divide each share of the row by its sum",
        )
