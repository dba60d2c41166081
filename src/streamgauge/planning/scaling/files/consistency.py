"""Rows against each other: which rates cannot all be true, row by row.

A file with such rows is still of use, since capacities, ratios and what spouts emit are all that a
graph is made of; but a number that contradicts the others may be the misprint of one that counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.errors import Place, Problem
from streamgauge.planning.scaling.files.rows import ComponentRow

# Published rates are rounded to whole tuples.
TOLERANCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledRow:
    """A row with what it leaves out.

    Attributes:
        row: As written.
        arriving: What its parents send it, by what they are said to emit.
        processing: As written, else the lesser of input and capacity (eq. 12).
        ratio: Tuples out per tuple processed (eq. 5).
        output: As written, else by the ratio.
        assumed: Whether the ratio is neither written nor to be derived.
    """

    row: ComponentRow
    arriving: float
    processing: float
    ratio: float
    output: float
    assumed: bool = False

    @property
    def input(self) -> float:
        """As written, else what arrives."""
        return self.arriving if self.row.input_rate is None else self.row.input_rate


def settle(row: ComponentRow, arriving: float) -> SettledRow:
    """What a row says, and what follows where it says nothing."""
    if row.is_spout:
        assert row.output_rate is not None
        return SettledRow(
            row=row,
            arriving=0.0,
            processing=row.output_rate,
            ratio=1.0,
            output=row.output_rate,
        )
    came = arriving if row.input_rate is None else row.input_rate
    processing = row.processing_rate
    if processing is None:
        processing = min(came, row.capacity())
    ratio, output = row.out_in_ratio, row.output_rate
    assumed = ratio is None and (output is None or processing <= 0.0)
    if ratio is None:
        # Nothing over nothing says nothing: as many out as in.
        ratio = 1.0 if output is None or processing <= 0.0 else output / processing
    return SettledRow(
        row=row,
        arriving=arriving,
        processing=processing,
        ratio=ratio,
        output=processing * ratio if output is None else output,
        assumed=assumed,
    )


def contradictions(
    rows: Mapping[int, SettledRow],
    *,
    orphans: frozenset[str] = frozenset(),
    tolerance: float = TOLERANCE,
) -> tuple[Problem, ...]:
    """Every rate that disagrees with the others, in the order of the rows.

    Args:
        rows: By their place in the file.
        orphans: Bolts that nobody feeds.
        tolerance: Tuples per second by which rates may differ.
    """
    found: list[Problem] = []
    for index in sorted(rows):
        checked = _Checked(rows[index], ("components", index), tolerance)
        if rows[index].row.is_spout:
            checked.spout()
        elif rows[index].row.id in orphans:
            checked.orphan()
        else:
            checked.bolt()
        found += checked.problems
    return tuple(found)


class _Checked:
    """One row under examination."""

    def __init__(self, settled: SettledRow, place: Place, tolerance: float) -> None:
        self.settled, self.place, self.tolerance = settled, place, tolerance
        self.problems: list[Problem] = []

    def spout(self) -> None:
        """What a spout has no use for, where it contradicts what it emits."""
        row = self.settled.row
        self._differs("processingRate", row.processing_rate, row.output_rate, "what it emits")
        limit, emitted = row.max_processing_rate, row.output_rate
        if limit is not None and emitted is not None and limit < emitted - self.tolerance:
            self._add("maxProcessingRate", limit, f"none, or at least the {emitted:g} it emits")

    def orphan(self) -> None:
        """A bolt that nobody feeds."""
        self.problems.append(
            Problem(
                place=(*self.place, "parents"),
                seen=f"component {self.settled.row.id}: a bolt that no component feeds",
                expected="at least one parent with a ratio for it",
                remedy="until then nothing arrives there or downstream",
            )
        )

    def bolt(self) -> None:
        """Input, processing, drops and output (eq. 2, 4, 12 and 13)."""
        settled, row = self.settled, self.settled.row
        capacity = row.capacity()
        self._differs("inputRate", row.input_rate, settled.arriving, "what its parents send")
        processed = min(settled.input, capacity)
        self._differs(
            "processingRate",
            row.processing_rate,
            processed,
            "its capacity" if capacity < settled.input else "its input",
        )
        dropped = max(settled.input - settled.processing, 0.0)
        self._differs("droppedRate", row.dropped_rate, dropped, "input less processing")
        if row.out_in_ratio is not None:
            emitted = settled.processing * row.out_in_ratio
            self._differs("outputRate", row.output_rate, emitted, "processing times outInRatio")
        if row.max_processing_rates is not None:
            self._differs(
                "maxProcessingRate",
                row.max_processing_rate,
                capacity,
                f"the table's for {row.unit_count} units",
            )
        if settled.assumed:
            self._unknown_ratio()

    def _unknown_ratio(self) -> None:
        row = self.settled.row
        if row.output_rate is not None and row.output_rate > self.tolerance:
            seen = f"an output of {row.output_rate:g} with nothing processed"
        else:
            seen = "nothing processed" if row.output_rate is not None else "no output"
        self.problems.append(
            Problem(
                place=(*self.place, "outInRatio"),
                seen=f"component {row.id}: {seen}",
                expected="an outInRatio, or rates it follows from",
                remedy="as many out as in is assumed",
            )
        )

    def _differs(self, key: str, seen: float | None, due: float | None, what: str) -> None:
        if seen is not None and due is not None and abs(seen - due) > self.tolerance:
            self._add(key, seen, f"{due:g}, {what}")

    def _add(self, key: str, seen: float, expected: str) -> None:
        self.problems.append(
            Problem(
                place=(*self.place, key),
                seen=f"component {self.settled.row.id}: {seen:g}",
                expected=expected,
            )
        )
