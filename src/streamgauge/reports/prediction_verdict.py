"""The verdict of a prediction in words: whether a plan fits, what is full first, and headroom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    HIGH_LEVEL,
    MANIFOLD,
    format_estimate,
    format_number,
    format_share,
    format_utilisation,
    list_names,
)
from streamgauge.models.held_back import Holding
from streamgauge.models.prediction import FULL
from streamgauge.reports.content import Grade, Verdict

if TYPE_CHECKING:
    from streamgauge.models.pending_limit import Pending
    from streamgauge.models.prediction import Prediction
    from streamgauge.models.throughput import Throughput

FITS, OVERLOADED = "Fits", "Overloaded"


def judge_prediction(prediction: Prediction) -> Verdict:
    """Whether the plan carries its load, and up to which rate it would."""
    limit = prediction.limit
    if prediction.overloaded:
        real = say_what_gets_through(prediction.throughput)
        sentence = f": {real}{_say_what_is_overloaded(prediction)}"
        return Verdict(grade=Grade.BAD, word=OVERLOADED, sentence=sentence)
    if math.isnan(limit.factor):
        sentence = "."
    elif math.isinf(limit.factor):
        sentence = ", and nothing that was measured limits the rate."
    else:
        sentence = (
            f". Up to {format_estimate(limit.per_second)} tuples/s would,"
            f" {format_estimate(limit.factor)} times the load; {_say_what_is_full(prediction)}."
        )
    nearly_full = (
        limit.factor * HIGH_LEVEL < 1.0
        or find_busiest(prediction) >= HIGH_LEVEL
        or any(machine.in_use >= FULL for machine in prediction.machines)
    )
    return Verdict(grade=Grade.WARNING if nearly_full else Grade.FINE, word=FITS, sentence=sentence)


def say_what_gets_through(throughput: Throughput | None) -> str:
    """What is really processed, and where the rest piles up; a limit on roots says so itself."""
    if throughput is None or throughput.holding is Holding.OPEN_ROOTS:
        return ""
    due = format_estimate(throughput.due_per_second)
    if not throughput.is_held_back:
        return f"in a long run processes all {due} tuples/s, as shuffle goes further. Too much for "
    piles = [f"{one.name} ({format_estimate(one.per_second)}/s)" for one in throughput.backlogs]
    return (
        f"really processes {format_estimate(throughput.processed_per_second)} of {due} tuples/s"
        f" ({format_share(throughput.processed_part)})"
        + (f"; tuples pile up at {list_names(piles, most=2)}" if piles else "")
        + ". Too much for "
    )


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


def name_limit(pending: Pending) -> str:
    """A limit on open roots with its value: ``topology.max.spout.pending = 5``."""
    return f"{pending.setting} = {pending.limit}"


def say_what_limit_fits(pending: Pending) -> str:
    """``a limit of 12 would fit, one of 20 with hardly any wait``; empty where none is known."""
    if pending.smallest is None:
        return ""
    return f"a limit of {pending.smallest} would fit, one of {pending.ample} with hardly any wait"


def _say_what_is_overloaded(prediction: Prediction) -> str:
    pending = prediction.pending
    held = None if pending is None or pending.holds_back is None else pending
    names = [
        f"{name} ({_show_load(load)})"
        for name, load in prediction.overloaded.items()
        if held is None or name != held.name(held.holds_back or "")
    ]
    if held is None:
        return f"{list_names(names)}.{_say_what_fits(prediction)}"
    fitting = say_what_limit_fits(held)
    told = [
        f"{list_names(names)}; " if names else "",
        _say_what_holds_back(held),
        "; " + fitting if fitting else "",
    ]
    return "".join(told) + "."


def _say_what_holds_back(pending: Pending) -> str:
    """``held back by topology.max.spout.pending = 5: at most 320 of 500 tuples/s``."""
    if pending.stuck:
        return (
            f"windows of {list_names(list(pending.stuck))} may hold all roots that"
            f" {name_limit(pending)} allows and never fire, so that nothing gets through until"
            " roots run out of time"
        )
    due = sum(source.due_per_second for source in pending.sources.values())
    return (
        f"held back by {name_limit(pending)}: at most {format_estimate(pending.emitted_per_second)}"
        f" of {format_estimate(due)} tuples/s"
    )


def _say_what_fits(prediction: Prediction) -> str:
    limit = prediction.limit
    if math.isnan(limit.factor):
        return ""
    if limit.factor == 0.0:
        return " No rate at all would fit."
    return (
        f" At most {format_estimate(limit.per_second)} tuples/s would fit,"
        f" {format_share(limit.factor)} of the load; {_say_what_is_full(prediction)}."
    )


def _say_what_is_full(prediction: Prediction) -> str:
    """``then splitter[3-4] is full``, or which source is held back then."""
    pending, by = prediction.pending, prediction.limit.by
    if pending is not None:
        for source in pending.sources:
            if by == pending.name(source):
                return f"then {name_limit(pending)} holds {source} back"
    return f"then {by} is full"


def _show_load(part: float) -> str:
    if math.isinf(part):
        return "no free core"
    return (
        format_utilisation(part) if part < MANIFOLD else f"{format_number(part)} times its capacity"
    )
