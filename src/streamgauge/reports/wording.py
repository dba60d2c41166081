"""Figures and counts in words, the same on terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Callable

from streamgauge.drawing.quantities import (
    duration,
    duration_within,
    estimate,
    number,
    number_within,
    plain_number,
    share,
)

INFINITE = "infinite"
# Figures that are nearer to each other than this are shown as one: they were measured.
SAME = 0.01
# From here on a multiple reads better than a percentage.
MANIFOLD = 10.0


def printable(text: str) -> str:
    """The text without characters that a terminal would obey rather than show."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def count(amount: int, noun: str) -> str:
    """``1 worker``, ``2 workers``."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def name_percentile(level: float) -> str:
    """``p99`` for 0.99."""
    return f"p{100 * level:g}"


def show_duration(seconds: float) -> str:
    """A time, which may be infinite."""
    return INFINITE if math.isinf(seconds) else duration(seconds)


def show_measured(value: float, spread: float, unit: str) -> str:
    """A value with its spread, if any; seconds in the unit that fits, ``1`` is no unit."""
    if unit == "s":
        return duration_within(value, spread) if spread else duration(value)
    figure = number_within(value, spread) if spread else number(value)
    return figure if unit == "1" else f"{figure} {unit}"


def show_period(seconds: float) -> str:
    """A length of time in hours, minutes and seconds: ``7 min 20 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value} {unit}" for value, unit in ((hours, "h"), (minutes, "min")) if value]
    return " ".join([*parts, f"{rest} s"] if rest or not parts else parts)


def show_utilisation(part: float) -> str:
    """Part of the time that something is busy; infinite where its machine has no free core."""
    if math.isinf(part):
        return "over 100 %"
    return share(part) if part < MANIFOLD or math.isnan(part) else f"{number(part)} times"


def show_received(per_second: float, *, is_source: bool) -> str | None:
    """Tuples that an operator receives; nothing for a source, which gets acknowledgements only."""
    return None if is_source else number(per_second)


def show_emission(per_second: float) -> str:
    """What sources emit, without its unit; NaN where a source emits as fast as it can."""
    return "unlimited" if math.isnan(per_second) else number(per_second)


def show_limit(per_second: float, unit: str = " tuples/s") -> str:
    """The highest rate that fits: to three digits, as it is searched for."""
    if math.isnan(per_second):
        return "not known"
    return "no limit" if math.isinf(per_second) else f"{estimate(per_second)}{unit}"


def show_rate(per_second: float) -> str:
    """To three digits, large ones abbreviated: ``1.4M``."""
    return plain_number(float(f"{per_second:.3g}"))


def show_difference(part: float) -> str:
    """A relative change: ``+12.3 %``, ``−5.0 %``, ``±0 %``."""
    if abs(part) < 0.0005:
        return "±0 %"
    return f"{'+' if part > 0.0 else '−'}{share(abs(part))}"


def show_change(before: float, after: float, show: Callable[[float], str]) -> str:
    """``41 → 82``; only the figure after where the two do not differ visibly."""
    same = math.isclose(before, after, rel_tol=SAME) or show(before) == show(after)
    return show(after) if same or math.isnan(before) else f"{show(before)} → {show(after)}"


def list_names(names: list[str], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
