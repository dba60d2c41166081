"""Keys of earlier versions of NAMB: read under their new names, reported as written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streamgauge.errors import InvalidInput, Place

# By the section that holds them, ``()`` for the whole file: former key → key.
FormerKeys = Mapping[Place, Mapping[str, str]]


def rename_keys(
    data: Mapping[str, Any], former: FormerKeys
) -> tuple[dict[str, Any], dict[Place, str]]:
    """The data under today's keys, and by place how the file writes them."""
    written: dict[Place, str] = {}

    def walk(part: Mapping[str, Any], place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in part.items():
            today = former.get(place, {}).get(key, key)
            # Where both are given, the former is left to be refused as unknown.
            name = key if today in part else today
            if name != key:
                written[*place, name] = key
            inner = (*place, name)
            result[name] = (
                walk(value, inner) if inner in former and isinstance(value, dict) else value
            )
        return result

    return walk(data, ()), written


def restore_keys(error: InvalidInput, written: Mapping[Place, str]) -> InvalidInput:
    """The error with places as the file writes them."""
    return type(error)(
        replace(
            problem,
            place=tuple(
                written.get(problem.place[: depth + 1], part)
                for depth, part in enumerate(problem.place)
            ),
        )
        for problem in error.problems
    )
