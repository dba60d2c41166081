"""The order in which people expect names: ``node-2`` before ``node-10``."""

from __future__ import annotations

import re

# Longer numbers are texts like any other.
_NUMBER = re.compile(r"([0-9]{1,9})")


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """A key that sorts names with the numbers in them as numbers; different names differ."""
    pieces = _NUMBER.split(name)
    return tuple(int(one) if index % 2 else one for index, one in enumerate(pieces)), name
