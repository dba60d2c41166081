"""The verdict of a prediction in words: whether a plan fits, what is full first, and headroom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamgauge.drawing.topology_picture import HIGH_LEVEL
from streamgauge.drawing.wording import (
    MANIFOLD,
    format_estimate,
    format_number,
    format_share,
    format_utilisation,
    list_names,
)
from streamgauge.models.prediction import FULL
from streamgauge.reports.content import Grade, Verdict

if TYPE_CHECKING:
    from streamgauge.models.load_limit import Limit
    from streamgauge.models.prediction import Prediction

FITS, OVERLOADED = "Fits", "Overloaded"


def judge_prediction(prediction: Prediction) -> Verdict:
    """Whether the plan carries its load, and up to which rate it would."""
    limit = prediction.limit
    if prediction.overloaded:
        names = [f"{name} ({_show_load(load)})" for name, load in prediction.overloaded.items()]
        return Verdict(
            grade=Grade.BAD,
            word=OVERLOADED,
            sentence=f": {list_names(names)}.{_say_what_fits(limit)}",
        )
    if math.isnan(limit.factor):
        sentence = "."
    elif math.isinf(limit.factor):
        sentence = ", and nothing that was measured limits the rate."
    else:
        sentence = (
            f". Up to {format_estimate(limit.per_second)} tuples/s would,"
            f" {format_estimate(limit.factor)} times the load; then {limit.by} is full."
        )
    nearly_full = (
        limit.factor * HIGH_LEVEL < 1.0
        or find_busiest(prediction) >= HIGH_LEVEL
        or any(machine.in_use >= FULL for machine in prediction.machines)
    )
    return Verdict(grade=Grade.WARNING if nearly_full else Grade.FINE, word=FITS, sentence=sentence)


def find_bottleneck(prediction: Prediction) -> str:
    """The executor or machine that is full first; empty where that is not known or none would."""
    if math.isfinite(prediction.limit.factor):
        return prediction.limit.by
    return next(iter(prediction.overloaded), "")


def find_busiest(prediction: Prediction) -> float:
    """Utilisation of the busiest executor."""
    return max((executor.utilisation for executor in prediction.executors), default=math.nan)


def show_headroom(factor: float) -> str:
    """How much more of the same load would fit: ``1.77 times the load``."""
    if math.isnan(factor):
        return "not known"
    if math.isinf(factor):
        return "no limit"
    if factor < 1.0:
        return f"none: only {format_share(factor)} of the load fits"
    return f"{format_estimate(factor)} times the load"


def _say_what_fits(limit: Limit) -> str:
    if math.isnan(limit.factor):
        return ""
    if limit.factor == 0.0:
        return " No rate at all would fit."
    return (
        f" At most {format_estimate(limit.per_second)} tuples/s would fit,"
        f" {format_share(limit.factor)} of the load; then {limit.by} is full."
    )


def _show_load(part: float) -> str:
    if math.isinf(part):
        return "no free core"
    return (
        format_utilisation(part) if part < MANIFOLD else f"{format_number(part)} times its capacity"
    )
