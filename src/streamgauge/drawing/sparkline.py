"""The course of a figure in one line of text: a bar for each value."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.:-=+*#"


def draw_sparkline(values: Sequence[float | None], most: int, bars: str = BARS) -> str:
    """Values as bars of eight heights, the least one lowest; a blank where nothing is known.

    Args:
        values: From left to right.
        most: Bars at most; beyond that, several values share one.
        bars: The bars from the lowest to the highest.
    """
    step = math.ceil(len(values) / most)
    if step > 1:
        values = [_mean_of(values[at : at + step]) for at in range(0, len(values), step)]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    top = len(bars) - 1
    return "".join(
        " "
        if value is None
        else bars[round(top * (value - low) / (high - low)) if high > low else top // 2]
        for value in values
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
