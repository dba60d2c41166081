"""JSON for people: a figure is one line and not five, and a file of thousands half as long."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 100
INDENT = 2
# A mapping of so few plain values is one line, however long: a figure with all its digits.
FEW = 6

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def lay_out_json(data: dict[str, Any]) -> str:
    """`data` as JSON that reads back to the same, with the keys in the order they have."""
    return _laid_out(data, "", 0) + "\n"


def _laid_out(value: Any, before: str, depth: int) -> str:
    """The value behind `before`, on one line where that is short enough."""
    if not _is_long(value):
        short = before + _ENCODER.encode(value)
        # The comma behind it needs room too.
        if depth * INDENT + len(short) < WIDTH or not isinstance(value, dict | list):
            return short
        if isinstance(value, dict) and len(value) <= FEW and _is_flat(value.values()):
            return short
    margin = " " * (INDENT * (depth + 1))
    if isinstance(value, list):
        opening, closing = "[]"
        lines = _rows(value, depth + 1)
    else:
        opening, closing = "{}"
        lines = [
            _laid_out(one, f"{_ENCODER.encode(name)}: ", depth + 1) for name, one in value.items()
        ]
    body = f",\n{margin}".join(lines)
    return f"{before}{opening}\n{margin}{body}\n{' ' * (INDENT * depth)}{closing}"


def _is_long(value: Any) -> bool:
    """Whether a value cannot fit a line: each plain one in it takes a character and a comma.

    So that text is not made of all of a file, of its halves, of theirs, and thrown away.
    """
    return _room_left(value, WIDTH) < 0


def _room_left(value: Any, room: int) -> int:
    if not isinstance(value, dict | list):
        return room - 2
    for one in value.values() if isinstance(value, dict) else value:
        room = _room_left(one, room)
        if room < 0:
            break
    return room


def _rows(values: list[Any], depth: int) -> list[str]:
    """The entries of a list: one a line, or as many plain ones as a line takes."""
    if not _is_flat(values):
        return [_laid_out(one, "", depth) for one in values]
    rows: list[str] = []
    for text in map(_ENCODER.encode, values):
        if rows and depth * INDENT + len(rows[-1]) + len(text) + 3 < WIDTH:
            rows[-1] += f", {text}"
        else:
            rows.append(text)
    return rows


def _is_flat(values: Any) -> bool:
    return not any(isinstance(one, dict | list) for one in values)
