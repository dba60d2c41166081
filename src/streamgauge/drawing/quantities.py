"""Numbers for people to read: few digits, a suitable unit, a dash where there is no number."""

from __future__ import annotations

import math

MISSING = "–"
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Where an abbreviated count begins: 5,000 is short enough as it is.
_ABBREVIATED = 10_000
_MOST_DECIMALS = 6


def number(value: float, digits: int = 3) -> str:
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


def estimate(value: float, digits: int = 3) -> str:
    """To `digits` significant digits, then zeros: ``337,000`` for an estimate of 337,232."""
    if not math.isfinite(value) or value == 0.0:
        return number(value, digits)
    return number(round(value, digits - 1 - math.floor(math.log10(abs(value)))), digits)


def share(part: float) -> str:
    """A part of one in per cent: ``97.3 %``."""
    if not math.isfinite(part):
        return MISSING
    if part == 0.0:
        return "0 %"
    percent = 100.0 * part
    if abs(percent) < 0.05:
        return "<0.1 %"
    return f"{percent:.0f} %" if f"{percent:.1f}" == "100.0" else f"{percent:.1f} %"


def duration(seconds: float, digits: int = 3) -> str:
    """A time in the unit that fits it: ``1.39 ms``."""
    if not math.isfinite(seconds):
        return MISSING
    scale, unit = _time_unit(seconds)
    if 0.0 < seconds < scale:
        return f"<1 {unit}"
    return f"{number(seconds / scale, digits)} {unit}"


def duration_within(seconds: float, half_width: float) -> str:
    """A time and its half width, in one unit: ``1.393 ± 0.020 ms``."""
    if not math.isfinite(seconds) or not math.isfinite(half_width):
        return duration(seconds)
    scale, unit = _time_unit(seconds)
    return f"{number_within(seconds / scale, half_width / scale)} {unit}"


def number_within(value: float, half_width: float) -> str:
    """A number and its half width, with as many digits as are certain, four at most.

    The half width is rounded up, so that no number seems more certain than it is.
    """
    if not math.isfinite(value) or not math.isfinite(half_width):
        return number(value)
    decimals = _decimals(value, 4)
    if half_width > 0.0:
        decimals = min(decimals, _decimals(half_width, 2))
    shown = math.ceil(half_width * 10**decimals - 1e-9) / 10**decimals
    return f"{value:,.{decimals}f} ± {shown:,.{decimals}f}"


def plain_number(value: float) -> str:
    """A number that is short as it is, such as one on an axis: ``0.5``, ``2,000``, ``1.5M``."""
    for scale, letter in _LARGE:
        if abs(value) >= max(scale, _ABBREVIATED):
            return f"{value / scale:g}{letter}"
    return f"{value:,g}"


def plain_duration(seconds: float, digits: int = 6) -> str:
    """A time without zeros at its end, such as one on an axis: ``2 ms``, ``1.5 s``."""
    scale, unit = _time_unit(seconds * (1.0 + 1e-9))
    value = number(seconds / scale, digits)
    return f"{value.rstrip('0').rstrip('.') if '.' in value else value} {unit}"


def _decimals(value: float, digits: int) -> int:
    if value == 0.0:
        return 0
    return min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), _MOST_DECIMALS)


def _time_unit(seconds: float) -> tuple[float, str]:
    if seconds == 0.0:
        return _TIMES[0]
    return next((one for one in _TIMES if abs(seconds) >= one[0]), _TIMES[-1])
