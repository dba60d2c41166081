"""What domain classes check on construction, with uniform messages; and the order of names."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection

from streamgauge.errors import Findings, did_you_mean

MAX_NAME_LENGTH = 200
MAX_SHOWN = 80


def format_value(value: object) -> str:
    """`value` as text, shortened to fit into a message."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to write out numbers of thousands of digits.
        return "a number of thousands of digits"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def check_name(findings: Findings, name: object, *place: str | int) -> bool:
    """Check that a name is printable text without blanks at its ends."""
    fine = (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME_LENGTH
        and name == name.strip()
        and name.isprintable()
    )
    if not fine:
        findings.add(
            *place,
            seen=f"name {format_value(name)}",
            expected=f"1 to {MAX_NAME_LENGTH} printable characters without blanks at the ends",
        )
    return fine


def check_known(
    findings: Findings,
    name: object,
    known: Collection[object],
    *place: str | int,
    seen: str,
    expected: str,
) -> bool:
    """Check that a name is known; the problem suggests the most similar one or lists them."""
    if name in known:
        return True
    remedy = did_you_mean(str(name), [str(other) for other in known])
    findings.add(*place, seen=seen, expected=expected, remedy=remedy)
    return False


def check_whole(
    findings: Findings,
    value: object,
    *place: str | int,
    least: int = 1,
    most: int | None = None,
) -> bool:
    """A whole number from `least` to `most`."""
    fine = (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value >= least
        and (most is None or value <= most)
    )
    if not fine:
        bound = f"of at least {least}" + (f" and at most {most}" if most is not None else "")
        findings.add(*place, seen=format_value(value), expected=f"a whole number {bound}")
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
        # Integers may be too large for a float; this comparison accepts them and rejects NaN.
        and -sys.float_info.max <= value <= sys.float_info.max
        and (value > above if above is not None else value >= least)
        and value <= most
    )
    if not fine:
        bound = f"above {above:g}" if above is not None else f"of at least {least:g}"
        if most < math.inf:
            bound += f" and at most {most:g}"
        findings.add(*place, seen=format_value(value), expected=f"a finite number {bound}")
    return fine


# Longer numbers are texts like any other.
_NUMBER = re.compile(r"([0-9]{1,9})")


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """A key that sorts names with the numbers in them as numbers; different names differ."""
    pieces = _NUMBER.split(name)
    return tuple(int(one) if index % 2 else one for index, one in enumerate(pieces)), name
