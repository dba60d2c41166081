"""Quantities, counts and names as people read them: in pictures, on terminals and on pages.

Numbers have few digits and a suitable unit; what is not a number is a dash.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable

MISSING = "–"
INFINITE = "infinite"
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Where an abbreviated count begins: 5,000 is short enough as it is.
_ABBREVIATED = 10_000
_MOST_DECIMALS = 6
# Figures that are nearer to each other than this are shown as one: they were measured.
SAME = 0.01
# From here on a multiple reads better than a percentage.
MANIFOLD = 10.0
BYTE_UNITS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))
# Parts of the time from which something is called busy, and nearly full.
MIDDLE_LEVEL, HIGH_LEVEL = 0.7, 0.9


def format_number(value: float, digits: int = 3) -> str:
    """To `digits` significant digits, integer digits kept: ``0.0123``, ``12.3``, ``1,234,567``.

    Numbers below a thousandth are written as ``<0.001``.
    """
    if not math.isfinite(value):
        return MISSING
    if value == 0.0:
        return "0"
    if abs(value) < 0.001:
        return "<0.001" if value > 0.0 else ">−0.001"
    return f"{value:,.{_decimals(value, digits)}f}"


def format_estimate(value: float, digits: int = 3) -> str:
    """To `digits` significant digits, then zeros: ``337,000`` for an estimate of 337,232."""
    if not math.isfinite(value) or value == 0.0:
        return format_number(value, digits)
    return format_number(round(value, digits - 1 - math.floor(math.log10(abs(value)))), digits)


def format_share(part: float) -> str:
    """A part of one in per cent: ``97.3 %``."""
    if not math.isfinite(part):
        return MISSING
    if part == 0.0:
        return "0 %"
    percent = 100.0 * part
    if abs(percent) < 0.05:
        return "<0.1 %"
    return f"{percent:.0f} %" if f"{percent:.1f}" == "100.0" else f"{percent:.1f} %"


def format_duration(seconds: float, digits: int = 3) -> str:
    """A time in the unit that fits it: ``1.39 ms``; it may be infinite."""
    if not math.isfinite(seconds):
        return MISSING if math.isnan(seconds) else INFINITE
    scale, unit = _time_unit(seconds)
    if 0.0 < seconds < scale:
        return f"<1 {unit}"
    return f"{format_number(seconds / scale, digits)} {unit}"


def format_duration_within(seconds: float, half_width: float) -> str:
    """A time and its half width, in one unit: ``1.393 ± 0.020 ms``."""
    if not math.isfinite(seconds) or not math.isfinite(half_width):
        return format_duration(seconds)
    scale, unit = _time_unit(seconds)
    return f"{format_number_within(seconds / scale, half_width / scale)} {unit}"


def format_number_within(value: float, half_width: float) -> str:
    """A number and its half width, with as many digits as are certain, four at most.

    The half width is rounded up, so that no number seems more certain than it is.
    """
    if not math.isfinite(value) or not math.isfinite(half_width):
        return format_number(value)
    decimals = _decimals(value, 4)
    if half_width > 0.0:
        decimals = min(decimals, _decimals(half_width, 2))
    shown = math.ceil(half_width * 10**decimals - 1e-9) / 10**decimals
    return f"{value:,.{decimals}f} ± {shown:,.{decimals}f}"


def format_plain_number(value: float) -> str:
    """A number that is short as it is, such as one on an axis: ``0.5``, ``2,000``, ``1.5M``."""
    for scale, letter in _LARGE:
        if abs(value) >= max(scale, _ABBREVIATED):
            return f"{value / scale:g}{letter}"
    return f"{value:,g}"


def format_plain_duration(seconds: float, digits: int = 6) -> str:
    """A time without zeros at its end, such as one on an axis: ``2 ms``, ``1.5 s``."""
    scale, unit = _time_unit(seconds * (1.0 + 1e-9))
    value = format_number(seconds / scale, digits)
    return f"{value.rstrip('0').rstrip('.') if '.' in value else value} {unit}"


def _decimals(value: float, digits: int) -> int:
    if value == 0.0:
        return 0
    return min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), _MOST_DECIMALS)


def _time_unit(seconds: float) -> tuple[float, str]:
    if seconds == 0.0:
        return _TIMES[0]
    return next((unit for unit in _TIMES if abs(seconds) >= unit[0]), _TIMES[-1])


def printable(text: str) -> str:
    """The text without characters that a terminal would obey rather than show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def text_width(text: str) -> int:
    """Terminal cells a text takes; East Asian wide characters take two."""
    return sum(map(char_width, text))


def char_width(char: str) -> int:
    """Terminal cells a character takes."""
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def clip(name: str, longest: int) -> str:
    """The name, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(name) <= longest:
        return name
    ending = (longest - 1) // 2
    return name[: longest - 1 - ending] + "…" + name[len(name) - ending :]


def count(amount: int, noun: str, plural: str = "") -> str:
    """``1 worker``, ``2 workers``; a plural that is not the noun and an s is given."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {plural or f'{noun}s'}"


def name_percentile(level: float) -> str:
    """``p99`` for 0.99."""
    return f"p{100 * level:g}"


def format_measured(value: float, spread: float, unit: str) -> str:
    """A value with its spread, if any; seconds in the unit that fits, ``1`` is no unit."""
    if unit == "s":
        return format_duration_within(value, spread) if spread else format_duration(value)
    figure = format_number_within(value, spread) if spread else format_number(value)
    return figure if unit == "1" else f"{figure} {unit}"


def format_period(seconds: float) -> str:
    """A length of time in hours, minutes and seconds: ``7 min 20 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value} {unit}" for value, unit in ((hours, "h"), (minutes, "min")) if value]
    return " ".join([*parts, f"{rest} s"] if rest or not parts else parts)


def format_utilisation(part: float) -> str:
    """Part of the time that something is busy; infinite where its machine has no free core."""
    if math.isinf(part):
        return "over 100 %"
    return (
        format_share(part)
        if part < MANIFOLD or math.isnan(part)
        else f"{format_number(part)} times"
    )


def format_emission(per_second: float) -> str:
    """What sources emit, without its unit; NaN where a source emits as fast as it can."""
    return "unlimited" if math.isnan(per_second) else format_number(per_second)


def format_limit(per_second: float, unit: str = " tuples/s") -> str:
    """The highest rate that fits: to three digits, as it is searched for."""
    if math.isnan(per_second):
        return "not known"
    return "no limit" if math.isinf(per_second) else f"{format_estimate(per_second)}{unit}"


def format_rate(per_second: float) -> str:
    """To three digits, large ones abbreviated: ``1.4M``."""
    return format_plain_number(float(f"{per_second:.3g}"))


def format_bytes_rate(per_second: float) -> str:
    """Bytes a second to three digits, by thousands as network cards count: ``12.5 MB/s``."""
    if not math.isfinite(per_second):
        return MISSING
    # What three digits round up to a thousand belongs to the next unit.
    scale, unit = next((one for one in BYTE_UNITS if per_second >= 0.9995 * one[0]), (1.0, "B/s"))
    return f"{format_number(per_second / scale)} {unit}"


def format_difference(part: float) -> str:
    """A relative change: ``+12.3 %``, ``−5.0 %``, ``±0 %``."""
    if abs(part) < 0.0005:
        return "±0 %"
    return f"{'+' if part > 0.0 else '−'}{format_share(abs(part))}"


def format_change(before: float, after: float, show: Callable[[float], str]) -> str:
    """``41 → 82``; only the figure after where the two do not differ visibly."""
    same = math.isclose(before, after, rel_tol=SAME) or show(before) == show(after)
    return show(after) if same or math.isnan(before) else f"{show(before)} → {show(after)}"


def list_names(names: list[str], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
