"""Predictions in words: the verdict, and what it is about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamgauge.cli.output import counted
from streamgauge.drawing.quantities import estimate, number, share

if TYPE_CHECKING:
    from streamgauge.models.prediction import Limit, Prediction

# More of these say no more.
MOST_NAMED = 3
# From here on a multiple reads better than so many per cent.
MANIFOLD = 10.0


def verdict_of(prediction: Prediction) -> str:
    """What it comes to, in one sentence or two."""
    limit = prediction.limit
    if prediction.overloaded:
        worst = list(prediction.overloaded.items())
        named = ", ".join(f"{name} ({_load(load)})" for name, load in worst[:MOST_NAMED])
        more = f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
        return f"Overloaded: {named}{more}.{_what_would_fit(limit)}"
    if math.isnan(limit.factor):
        return "Fits."
    if math.isinf(limit.factor):
        return "Fits, and nothing that was measured limits the rate."
    return (
        f"Fits. Up to {estimate(limit.per_second)} tuples/s would,"
        f" {estimate(limit.factor)} times the load; then {limit.by} is full."
    )


def _what_would_fit(limit: Limit) -> str:
    if math.isnan(limit.factor):
        return ""
    if limit.factor == 0.0:
        return " No rate at all would fit."
    return (
        f" At most {estimate(limit.per_second)} tuples/s would fit,"
        f" {share(limit.factor)} of the load; then {limit.by} is full."
    )


def _load(part: float) -> str:
    if math.isinf(part):
        return "no free core"
    return share(part) if part < MANIFOLD else f"{number(part)} times what it can do"


def about(topology: str, executors: int, workers: int, nodes: int, model: str, load: str) -> str:
    """What is predicted, in one line."""
    return (
        f"{topology}: {counted(executors, 'executor')} in {counted(workers, 'worker')} on"
        f" {counted(nodes, 'node')}, {load}, model {model}"
    )
