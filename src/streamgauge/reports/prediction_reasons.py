"""Why a plan behaves as predicted: what is full first, and what a change would bring."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import estimate, share
from streamgauge.models.prediction import Drawback
from streamgauge.reports.content import Cell, Column, Row, Table, tabulate
from streamgauge.reports.prediction_tables import PER_SECOND
from streamgauge.reports.wording import show_duration, show_limit

if TYPE_CHECKING:
    from streamgauge.models.prediction import Bottleneck, Prediction, Sensitivity

DRAWBACKS = {
    Drawback.CROWDS_MACHINE: "its thread takes time from others of its machine",
    Drawback.NARROWS_SHUFFLE: "shuffle would keep to fewer executors, those that are nearer",
    Drawback.REGROUPS_TASKS: "tasks are divided anew, and busy ones would share an executor",
}
# Changes by a smaller part of the latency are noise of the formulas.
NO_CHANGE = 1e-3


def tabulate_reasons(prediction: Prediction) -> Iterator[Table]:
    """What is full first, and what would help; nothing where the model explains nothing."""
    explanation = prediction.explanation
    if explanation is None:
        return
    yield tabulate(
        "What is full first as all rates grow",
        _list_bottlenecks(explanation.bottlenecks),
        note="Each row doubles the executors of the operator that was full in the row above,"
        " up to one for each task.",
    )
    yield _tabulate_sensitivities(explanation.sensitivities, prediction)


def _list_bottlenecks(bottlenecks: Sequence[Bottleneck]) -> Iterator[Row]:
    doubled: dict[str, int] = {}
    for bottleneck in bottlenecks:
        limit = bottleneck.limit
        changes = ", ".join(f"{executors} of {name}" for name, executors in doubled.items())
        yield {
            Column("with"): changes or "this plan",
            Column("fits up to", PER_SECOND): show_limit(limit.per_second, unit=""),
            Column("times the load"): estimate(limit.factor),
            Column("then full", words=True): limit.by,
        }
        operator, executors, tasks = bottleneck.operator, bottleneck.executors, bottleneck.tasks
        if operator is not None and executors is not None and tasks is not None:
            doubled[operator] = min(2 * executors, tasks)


def _tabulate_sensitivities(
    sensitivities: Mapping[str, Sensitivity], prediction: Prediction
) -> Table:
    return tabulate(
        "What a change of one operator would do to latency from source to sink",
        [
            {
                Column("operator"): name,
                Column("1 % longer service", "mean"): _show_growth(change.longer_service),
                Column("1 % longer service", "p99"): _show_growth(change.longer_service_p99),
                Column("one executor more", "mean"): _show_gain(change, prediction.latency.mean),
                Column("then fits up to", PER_SECOND): _show_new_limit(change),
            }
            for name, change in sensitivities.items()
        ],
        note=" ".join(
            [
                "An operator has at most one executor for each task.",
                *(
                    f"One more of {name} lowers the limit, as {DRAWBACKS[change.one_more_drawback]}"
                    f" ({change.one_more_full} is full first then)."
                    for name, change in sensitivities.items()
                    if change.one_more_drawback is not None
                ),
            ]
        ),
    )


def _show_new_limit(change: Sensitivity) -> Cell:
    limit = change.one_more_limit
    return None if limit is None else show_limit(limit, unit="")


def _show_growth(elasticity: float) -> Cell:
    """By how many per cent latency grows."""
    if math.isnan(elasticity):
        return None
    if math.isinf(elasticity):
        return "overloads"
    return "none" if abs(elasticity) < NO_CHANGE else share(elasticity / 100.0)


def _show_gain(change: Sensitivity, mean: float) -> Cell:
    gained = change.one_more
    if gained is None:
        return "no task left"
    if gained == -math.inf:
        return "fits then"
    if not math.isfinite(gained):
        return None
    if abs(gained) < NO_CHANGE * mean:
        return "none"
    return f"{'−' if gained < 0.0 else '+'}{show_duration(abs(gained))}"
