"""What is well measured, thin or missing, as lines on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.cli.figure_tables import MANY, print_lines
from streamgauge.profile.quality import Verdict

if TYPE_CHECKING:
    from streamgauge.profile.quality import Assessment

_JOB = "links and workers"


def print_quality(assessments: Sequence[Assessment], notes: Sequence[str]) -> None:
    """First what is fine, in brief; then what is not, one by one, with what to do."""
    good = [one for one in assessments if one.verdict is Verdict.GOOD]
    print(f"\nWell measured: {len(good)} of {len(assessments)} figures")
    by_operator: dict[str, dict[str, None]] = {}
    for one in good:
        by_operator.setdefault(one.operator or _JOB, {})[one.what] = None
    print_lines([f"{name}: {', '.join(whats)}" for name, whats in by_operator.items()], indent="  ")
    for verdict, title in ((Verdict.THIN, "Thin"), (Verdict.MISSING, "Missing")):
        found = [one for one in assessments if one.verdict is verdict]
        print(f"\n{title}: {len(found) or 'nothing'}")
        print_lines(map(_line, found[:MANY]), indent="  ")
        if len(found) > MANY:
            print(f"  and {len(found) - MANY} more; --json lists them all")
    remarks = [f"{_name(one)}: {one.why}" for one in good if one.why]
    if remarks or notes:
        print("\nNotes")
        print_lines([*notes, *remarks[:MANY]], indent="  ")


def _name(one: Assessment) -> str:
    return " ".join(part for part in (one.operator, one.subject) if part) + f": {one.what}"


def _line(one: Assessment) -> str:
    return f"{_name(one)}: {one.why}" + (f" → {one.remedy}" if one.remedy else "")
