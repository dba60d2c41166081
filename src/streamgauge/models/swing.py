"""Swings: the range of a time line that goes up and down, and its period."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.prediction import Swing

Vector = NDArray[np.float64]

# Parts of the range that a line has to fall below and to rise above between two crests.
LOW, HIGH = 0.4, 0.6
FEWEST_CRESTS = 2


def swing_of(times: Vector, waiting: Vector, latency: Vector) -> Swing:
    """The swing of a run.

    Args:
        times: End of each stretch of time, in seconds.
        waiting: Tuples that wait then, where it swings.
        latency: Mean latency in seconds in each stretch; NaN where nothing came to its end.
    """
    known = latency[~np.isnan(latency)].tolist()
    return Swing(
        lowest=min(known, default=math.nan),
        highest=max(known, default=math.nan),
        period=period_of(times, waiting),
    )


def period_of(times: Vector, line: Vector) -> float | None:
    """Mean seconds from one crest to the next; nothing with fewer than two whole ones."""
    crests = crests_of(line)
    if len(crests) < FEWEST_CRESTS:
        return None
    return float(np.mean([times[other] - times[one] for one, other in pairwise(crests)]))


def crests_of(line: Vector) -> list[int]:
    """Where a line is highest between two valleys.

    What begins or ends with the line may be higher still before or after, and is no crest.
    """
    low, high = (line.min() + part * np.ptp(line) for part in (LOW, HIGH))
    crests: list[int] = []
    best: int | None = None
    seen_valley = False
    for place, value in enumerate(line.tolist()):
        if value < low:
            if best is not None:
                crests.append(best)
            best, seen_valley = None, True
        elif value > high and seen_valley and (best is None or value > line[best]):
            best = place
    return crests
