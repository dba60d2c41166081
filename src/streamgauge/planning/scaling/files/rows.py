"""The rows of a scale-out file: one for each component, under the keys of the published form.

Puttaswamy 2018, chapter 6, names what his program reads (free resources, and for each component its
parents, children, rates and child ratios) but not its keys; these are the names of the thesis's own
variables (section 5.2.3).

A file whose rates cannot all be true is still of use, since capacities, ratios and what spouts emit
are all that a graph is made of; but a number that contradicts the others may be the misprint of one
that counts, so every such rate is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import Field

from streamgauge.errors import Findings, InvalidInput, Place, Problem, did_you_mean
from streamgauge.planning.scaling.graph import MAX_UNITS, LinearLaw, ScalingLaw, TableLaw
from streamgauge.topology.field_checks import check_name, check_number, check_whole
from streamgauge.topology.files.file_model import FileModel, Name

# Whole numbers from here on are written as they are: no double tells them from their neighbours.
MOST_DIGITS = 1e15
# Rates by the names that people know them by.
RATES = ("inputRate", "processingRate", "droppedRate", "outputRate", "outInRatio")
# Published rates are rounded to whole tuples: contradictions up to this many a second are none.
TOLERANCE = 1.0


class ComponentRow(FileModel):
    """One component; rates are tuples per second, of all its units together."""

    id: Name
    type: Literal["spout", "bolt"]
    parents: list[Name] | None = Field(
        default=None, description="components that feed it; checked against their children"
    )
    children: list[Name] | None = Field(
        default=None, description="components it feeds; the keys of childOutputRatio if not given"
    )
    unit_count: int = Field(default=1, alias="unitCount", description="resource units it has")
    input_rate: float | None = Field(default=None, alias="inputRate")
    processing_rate: float | None = Field(default=None, alias="processingRate")
    dropped_rate: float | None = Field(default=None, alias="droppedRate")
    output_rate: float | None = Field(
        default=None, alias="outputRate", description="what it emits; required for a spout"
    )
    max_processing_rate: float | None = Field(
        default=None, alias="maxProcessingRate", description="of all its units together; for bolts"
    )
    max_processing_rates: list[float] | None = Field(
        default=None,
        alias="maxProcessingRates",
        description="with 1, 2, 3 … units, where capacity is not proportional to units",
    )
    out_in_ratio: float | None = Field(
        default=None,
        alias="outInRatio",
        description="tuples out per tuple processed; outputRate / processingRate if not given",
    )
    child_output_ratio: dict[str, float] = Field(
        default={},
        alias="childOutputRatio",
        description="copies of an emitted tuple that reach each child",
    )

    @property
    def is_spout(self) -> bool:
        """Whether tuples begin here."""
        return self.type == "spout"

    def law(self) -> ScalingLaw:
        """What units of it can do: by the table, else in proportion (eq. 6)."""
        if self.max_processing_rates is not None:
            return TableLaw(rates=tuple(self.max_processing_rates))
        whole = self.output_rate if self.is_spout else self.max_processing_rate
        assert whole is not None
        return LinearLaw(per_unit=whole / self.unit_count)

    def capacity(self) -> float:
        """What the units it has can do."""
        return self.law().rate(self.unit_count)

    def check(self, findings: Findings, *place: str | int) -> None:
        """What can be said of the row alone."""
        check_name(findings, self.id, *place, "id")
        check_whole(findings, self.unit_count, *place, "unitCount", most=MAX_UNITS)
        for field, info in type(self).model_fields.items():
            value = getattr(self, field)
            if info.alias in RATES and value is not None:
                check_number(findings, value, *place, info.alias)
        for child, ratio in self.child_output_ratio.items():
            check_number(findings, ratio, *place, "childOutputRatio", child)
        self._check_limit(findings, *place)

    def _check_limit(self, findings: Findings, *place: str | int) -> None:
        """Whether it says what a unit can do, once."""
        needed = "outputRate" if self.is_spout else "maxProcessingRate"
        value = self.output_rate if self.is_spout else self.max_processing_rate
        table = self.max_processing_rates
        if table is not None:
            if self.is_spout:
                findings.add(
                    *place,
                    "maxProcessingRates",
                    seen="a table for a spout",
                    expected="an outputRate, which grows with the units",
                )
            try:
                TableLaw(rates=tuple(table))
            except InvalidInput as error:
                # The law calls its table rates.
                for problem in error.problems:
                    findings.add(
                        *place,
                        "maxProcessingRates",
                        *problem.place[1:],
                        seen=problem.seen,
                        expected=problem.expected,
                    )
        if value is not None:
            check_number(findings, value, *place, needed, above=0.0)
        elif self.is_spout or table is None:
            findings.add(
                *place,
                seen=f"no {needed!r} of {self.type} {self.id!r}",
                expected="what its units emit"
                if self.is_spout
                else "the most that its units process",
            )


class ScaleOutFile(FileModel):
    """Components with their rates, and units to hand out."""

    name: Name | None = None
    about: str = ""
    free_resources: int | None = Field(
        default=None, alias="freeResources", description="units to hand out"
    )
    components: list[ComponentRow]

    def check(self) -> None:
        """Raise InvalidInput with everything that cannot be, of all rows."""
        findings = Findings()
        if self.free_resources is not None:
            check_whole(findings, self.free_resources, "freeResources", least=0, most=MAX_UNITS)
        if not any(row.is_spout for row in self.components):
            findings.add("components", seen="no spout", expected="at least one")
        seen: set[str] = set()
        for index, row in enumerate(self.components):
            place = ("components", index)
            row.check(findings, *place)
            if row.id in seen:
                findings.add(*place, "id", seen=f"component {row.id!r} twice", expected="each once")
            seen.add(row.id)
        self._check_ends(findings)
        findings.raise_if_any()

    def _check_ends(self, findings: Findings) -> None:
        """Whether parents, children and ratios name components, and agree."""
        known = [row.id for row in self.components]
        fed_by = self.parents_by_child()
        for index, row in enumerate(self.components):
            add = partial(findings.add, "components", index)
            ends: list[tuple[str, str | int, str]] = [
                *(("parents", position, name) for position, name in enumerate(row.parents or ())),
                *(("children", position, name) for position, name in enumerate(row.children or ())),
                *(("childOutputRatio", name, name) for name in row.child_output_ratio),
            ]
            for key, position, name in ends:
                if name not in known:
                    add(
                        key,
                        position,
                        seen=f"unknown component {name!r}",
                        expected="the id of a component",
                        remedy=did_you_mean(name, known),
                    )
            feeding = fed_by.get(row.id, [])
            _check_children(add, row)
            if row.is_spout and (fed := dict.fromkeys((*(row.parents or ()), *feeding))):
                add(
                    "parents",
                    seen=f"spout {row.id!r}, which {', '.join(fed)} feeds",
                    expected="none, as tuples begin there",
                    remedy="call it a bolt, or leave that child out",
                )
            elif row.parents is not None:
                _check_parents(add, row, row.parents, feeding)

    def parents_by_child(self) -> Mapping[str, list[str]]:
        """Who says of itself that it feeds a component."""
        parents: dict[str, list[str]] = {}
        for row in self.components:
            for child in dict.fromkeys((*(row.children or ()), *row.child_output_ratio)):
                parents.setdefault(child, []).append(row.id)
        return parents


def _check_children(add: Callable[..., None], row: ComponentRow) -> None:
    """Every child has a ratio, and every ratio a child."""
    if row.children is None:
        return
    for child in dict.fromkeys(row.children):
        if child not in row.child_output_ratio:
            seen = f"no ratio for child {child!r} of {row.id!r}"
            add("childOutputRatio", seen=seen, expected="one for every child")
    for child in row.child_output_ratio:
        if child not in row.children:
            seen = f"a ratio for {child!r}, which is no child of {row.id!r}"
            add(
                "children",
                seen=seen,
                expected="every component that has a ratio among the children",
            )


def _check_parents(
    add: Callable[..., None], row: ComponentRow, parents: list[str], feeding: list[str]
) -> None:
    """Whoever is named as a parent has this child, and the other way round."""
    unanswered = [
        f"{parent!r} as a parent of {row.id!r}, and no such child there"
        for parent in dict.fromkeys(parents)
        if parent not in feeding
    ]
    unnamed = [
        f"{row.id!r} as a child of {parent!r}, and no such parent here"
        for parent in feeding
        if parent not in parents
    ]
    for seen in (*unanswered, *unnamed):
        add("parents", seen=seen, expected="the same connections in parents and in children")


def format_row(values: Mapping[str, Any]) -> dict[str, Any]:
    """A row as a file holds it: what is there, whole numbers without a point."""
    return {
        key: int(value) if _is_whole(value) else value
        for key, value in values.items()
        if value is not None
    }


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) < MOST_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledRow:
    """A row with what it leaves out.

    Attributes:
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
        emitted = row.output_rate
        assert emitted is not None
        return SettledRow(row=row, arriving=0.0, processing=emitted, ratio=1.0, output=emitted)
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
    rows: Mapping[int, SettledRow], *, orphans: frozenset[str], tolerance: float
) -> tuple[Problem, ...]:
    """Every rate that disagrees with the others, in the order of the rows.

    Rows come by their place in the file, orphans are bolts that nobody feeds.
    """
    problems: list[Problem] = []
    for index in sorted(rows):
        row = _RowCheck(rows[index], ("components", index), tolerance)
        if row.settled.row.is_spout:
            row.check_spout()
        elif row.settled.row.id in orphans:
            row.report(
                "parents",
                "a bolt that no component feeds",
                "at least one parent with a ratio for it",
                "until then nothing arrives there or downstream",
            )
        else:
            row.check_bolt()
        problems += row.problems
    return tuple(problems)


class _RowCheck:
    """One row under examination."""

    def __init__(self, settled: SettledRow, place: Place, tolerance: float) -> None:
        self.settled, self.place, self.tolerance = settled, place, tolerance
        self.problems: list[Problem] = []

    def check_spout(self) -> None:
        """What a spout has no use for, where it contradicts what it emits."""
        row = self.settled.row
        self._differs("processingRate", row.processing_rate, row.output_rate, "what it emits")
        limit, emitted = row.max_processing_rate, row.output_rate
        if limit is not None and emitted is not None and limit < emitted - self.tolerance:
            wanted = f"none, or at least the {emitted:g} it emits"
            self.report("maxProcessingRate", f"{limit:g}", wanted)

    def check_bolt(self) -> None:
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
        self.report(
            "outInRatio",
            seen,
            "an outInRatio, or rates it follows from",
            "as many out as in is assumed",
        )

    def _differs(self, key: str, seen: float | None, due: float | None, what: str) -> None:
        if seen is not None and due is not None and abs(seen - due) > self.tolerance:
            self.report(key, f"{seen:g}", f"{due:g}, {what}")

    def report(self, key: str, seen: str, expected: str, remedy: str = "") -> None:
        """Name a key of the row that cannot be true."""
        self.problems.append(
            Problem(
                place=(*self.place, key),
                seen=f"component {self.settled.row.id}: {seen}",
                expected=expected,
                remedy=remedy,
            )
        )
