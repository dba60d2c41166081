"""JSON that is easy to read: a figure takes one line instead of five."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

WIDTH = 100
INDENT = 2
# A mapping of so few plain values is one line, however long: a figure with all its digits.
FEW = 6

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def lay_out_json(data: dict[str, Any]) -> str:
    """`data` as JSON that reads back to the same, with the keys in the order they have."""
    return _lay_out(data, "", 0) + "\n"


def _lay_out(value: Any, before: str, depth: int) -> str:
    """The value behind `before`, on one line where that is short enough.

    What does not fit a line of its own does not fit that of what holds it, so every value is laid
    out once, the inner ones first.
    """
    if isinstance(value, dict):
        opening, closing = "{}"
        parts = [_lay_out(one, f"{_text(name)}: ", depth + 1) for name, one in value.items()]
        flat = _is_flat(value.values())
    elif isinstance(value, list):
        opening, closing = "[]"
        parts = [_lay_out(one, "", depth + 1) for one in value]
        flat = _is_flat(value)
    else:
        return before + _plain(value)
    # Between two parts is a comma and a space; the comma behind the last needs room too.
    length = depth * INDENT + len(before) + sum(map(len, parts)) + 2 * max(len(parts), 1)
    if length < WIDTH or (isinstance(value, dict) and flat and len(parts) <= FEW):
        return f"{before}{opening}{', '.join(parts)}{closing}"
    lines = _fill_lines(parts, depth + 1) if flat and isinstance(value, list) else parts
    margin = " " * (INDENT * (depth + 1))
    body = f",\n{margin}".join(lines)
    return f"{before}{opening}\n{margin}{body}\n{' ' * (INDENT * depth)}{closing}"


def _fill_lines(parts: list[str], depth: int) -> list[str]:
    """Lines of as many parts as each takes."""
    lines: list[str] = []
    for part in parts:
        if lines and depth * INDENT + len(lines[-1]) + len(part) + 3 < WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines


def _plain(value: Any) -> str:
    """A number, text or nothing; numbers are most of a profile, so they take the short way."""
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return repr(value)
    return _text(value) if kind is str else _ENCODER.encode(value)


@lru_cache(maxsize=10_000)
def _text(value: str) -> str:
    return _ENCODER.encode(value)


def _is_flat(values: Iterable[Any]) -> bool:
    return not any(isinstance(one, dict | list) for one in values)
