"""Why a plan behaves as predicted, as tables: what is full first, and what would help."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamgauge.cli.html_page import Column
from streamgauge.cli.prediction_page import Reasons
from streamgauge.cli.seen import any_duration, highest_rate
from streamgauge.drawing.quantities import estimate, number

if TYPE_CHECKING:
    from streamgauge.models.prediction import Bottleneck, Explanation, Prediction, Sensitivity

# Changes of less than this part of the latency are noise of the formulas.
NO_CHANGE = 1e-3


def reasons_of(prediction: Prediction) -> list[Reasons]:
    """The tables of a prediction's explanation; none where it has no such thing."""
    explanation = prediction.explanation
    if explanation is None:
        return []
    found = []
    if explanation.bottlenecks:
        found.append(_bottlenecks(explanation))
    found.append(_sensitivities(explanation, prediction))
    return found


def _bottlenecks(explanation: Explanation) -> Reasons:
    return Reasons(
        caption="What is full first as all rates grow",
        columns=(
            Column(name="with", words=True),
            Column(name="up to"),
            Column(name="times the load"),
            Column(name="then full", words=True),
        ),
        rows=list(_chain(explanation.bottlenecks)),
        note="Each row has twice the executors of what was full above it, or one for each task.",
    )


def _chain(bottlenecks: tuple[Bottleneck, ...]) -> Iterator[list[str]]:
    done: dict[str, int] = {}
    for one in bottlenecks:
        changes = ", ".join(f"{count} of {name}" for name, count in done.items())
        limit = one.limit
        yield [
            changes or "this plan",
            highest_rate(limit.per_second),
            estimate(limit.factor),
            limit.by,
        ]
        if one.operator is not None and one.executors is not None and one.tasks is not None:
            done[one.operator] = min(2 * one.executors, one.tasks)


def _sensitivities(explanation: Explanation, prediction: Prediction) -> Reasons:
    mean = prediction.latency.mean
    return Reasons(
        caption="What a change of an operator would do",
        columns=(
            Column(name="operator", words=True),
            Column(name="1 % longer service", unit="mean"),
            Column(name="the same", unit="p99"),
            Column(name="one executor more", unit="mean"),
            Column(name="would then fit"),
        ),
        rows=[
            [
                name,
                _per_cent(one.longer_service),
                _per_cent(one.longer_service_p99),
                _gain(one, mean),
                "–" if one.one_more_limit is None else highest_rate(one.one_more_limit),
            ]
            for name, one in explanation.sensitivities.items()
        ],
        note="Of latency from source to sink. An operator has at most one executor for each task.",
    )


def _per_cent(elasticity: float) -> str:
    if math.isnan(elasticity):
        return "–"
    if math.isinf(elasticity):
        return "too much"
    return "none" if abs(elasticity) < NO_CHANGE else f"{number(elasticity):>s} %"


def _gain(change: Sensitivity, mean: float) -> str:
    gained = change.one_more
    if gained is None:
        return "no task left"
    if gained == -math.inf:
        return "fits then"
    if not math.isfinite(gained):
        return "–"
    if abs(gained) < NO_CHANGE * mean:
        return "none"
    return f"{'−' if gained < 0.0 else '+'}{any_duration(abs(gained))}"
