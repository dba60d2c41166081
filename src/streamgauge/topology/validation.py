"""The checks that every noun makes on construction, worded alike."""

from __future__ import annotations

import math

from streamgauge.errors import Findings

MAX_NAME_LENGTH = 200


def check_name(findings: Findings, name: object, *place: str | int) -> bool:
    """A name is printable text without blanks at its ends; says so where it is not."""
    fine = (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME_LENGTH
        and name == name.strip()
        and name.isprintable()
    )
    if not fine:
        findings.add(
            *place,
            seen=f"name {name!r}"[: MAX_NAME_LENGTH + 40],
            expected=f"1 to {MAX_NAME_LENGTH} printable characters without blanks at the ends",
        )
    return fine


def check_whole(findings: Findings, value: object, *place: str | int, least: int = 1) -> bool:
    """A whole number of at least `least`."""
    fine = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not fine:
        findings.add(*place, seen=repr(value), expected=f"a whole number of at least {least}")
    return fine


def check_number(
    findings: Findings,
    value: object,
    *place: str | int,
    least: float = 0.0,
    above: float | None = None,
    most: float = math.inf,
) -> bool:
    """A finite number in [least, most], or above `above` where that is given."""
    fine = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (value > above if above is not None else value >= least)
        and value <= most
    )
    if not fine:
        bound = f"above {above:g}" if above is not None else f"of at least {least:g}"
        if most < math.inf:
            bound += f" and at most {most:g}"
        findings.add(*place, seen=repr(value), expected=f"a finite number {bound}")
    return fine
