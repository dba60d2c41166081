"""Whether a job was steady while it was measured.

By Little's law (1961) a job holds N = λ·W tuples. If times since tuples were due grow by s seconds
a second, a part s of all that comes piles up; if they shrink, a backlog drains. Neither shows what
the plan does in the long run.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from streamgauge.experiments.figures import ALL, FigureKind, Key
from streamgauge.experiments.truth import RepetitionTruth, StepTruth, summarise_step

# The part of what comes that may pile up or drain.
MOST_PART = 0.01
# Of sources whose tuples are due at no time of their own, latency counts from emission.
_LATENCIES = tuple(Key(kind, ALL, "mean") for kind in (FigureKind.SINCE_DUE, FigureKind.LATENCY))


def keep_steady(truth: StepTruth) -> tuple[StepTruth | None, tuple[str, ...]]:
    """The truth of the repetitions that were steady, and why the others were not."""
    told = {one.turn: tell_unsteady(one) for one in truth.repetitions}
    reasons = tuple(f"{turn}: {reason}" for turn, reason in told.items() if reason)
    if not reasons:
        return truth, ()
    steady = [one for one in truth.repetitions if not told[one.turn]]
    return summarise_step(truth.name, steady) if steady else None, reasons


def tell_unsteady(repetition: RepetitionTruth) -> str:
    """What piled up or drained between the windows that count; empty where nothing did."""
    for key in _LATENCIES:
        seen = [
            (datetime.fromisoformat(window.start).timestamp(), window.figures[key].value)
            for window in repetition.counted
            if key in window.figures
        ]
        if len(seen) > 1:
            return _tell_trend(*zip(*seen, strict=True))
    return ""


def _tell_trend(times: Sequence[float], latencies: Sequence[float]) -> str:
    part = float(np.polyfit(np.asarray(times) - times[0], latencies, 1)[0])
    if abs(part) <= MOST_PART:
        return ""
    change = "a backlog grew" if part > 0.0 else "a backlog drained"
    return (
        f"{change} while it was measured (tuples took {latencies[0]:.2g} s in the first window,"
        f" {latencies[-1]:.2g} s in the last one)"
    )
