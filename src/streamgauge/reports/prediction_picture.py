"""The picture of a prediction: a plan's operators, how busy they are, and what changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamgauge.drawing.side_by_side import Panel
from streamgauge.drawing.topology_picture import OperatorMark, parallelism, without_ackers
from streamgauge.drawing.wording import (
    MIDDLE_LEVEL,
    format_change,
    format_duration,
    format_emission,
    format_number,
    format_utilisation,
    printable,
)
from streamgauge.reports.prediction_verdict import find_bottleneck, judge_prediction
from streamgauge.topology.topology import Operator, OperatorKind

if TYPE_CHECKING:
    from streamgauge.models.prediction import Prediction
    from streamgauge.reports.prediction import PredictedPlan


def build_panels(before: PredictedPlan | None, after: PredictedPlan) -> list[Panel]:
    """The plan before, if any, and the one after with what differs."""
    panels = [_build_panel(f"before: {before.name}", before, before)] if before else []
    panels.append(
        _build_panel(f"after: {after.name}" if before else after.name, after, before or after)
    )
    return panels


def _build_panel(title: str, plan: PredictedPlan, former: PredictedPlan) -> Panel:
    prediction = plan.prediction
    topology = without_ackers(plan.plan.logical.topology)
    drawn = {operator.name for operator in topology.operators}
    lines = [plan.about, str(judge_prediction(prediction))]
    ackers = [acker.busiest for name, acker in prediction.operators.items() if name not in drawn]
    if ackers:
        busiest = max(ackers)
        lines.append(f"Ackers are not drawn: busy at most {format_utilisation(busiest)}.")
    return Panel(
        title=printable(title),
        lines=[printable(line) for line in lines],
        flag=printable(_name_bottleneck(prediction)),
        topology=topology,
        executors={name: len(span) for name, span in plan.plan.logical.spans.items()},
        marks={
            operator.name: _mark_operator(operator, plan, former) for operator in topology.operators
        },
    )


def _name_bottleneck(prediction: Prediction) -> str:
    """What is full first, where it is busy enough to matter."""
    bottleneck = find_bottleneck(prediction)
    if not bottleneck or not _is_near_limit(prediction):
        return ""
    is_machine = any(machine.name == bottleneck for machine in prediction.machines)
    return f"Bottleneck: {'machine ' if is_machine else ''}{bottleneck}"


def _is_near_limit(prediction: Prediction) -> bool:
    """Whether a bottleneck deserves attention: most of what it can do is used."""
    return bool(prediction.overloaded) or prediction.limit.factor * MIDDLE_LEVEL <= 1.0


def _mark_operator(operator: Operator, plan: PredictedPlan, former: PredictedPlan) -> OperatorMark:
    """What the picture says of an operator, and what it was before."""
    name = operator.name
    now = plan.prediction.operators[name]
    was = former.prediction.operators.get(name, now)
    if operator.kind is OperatorKind.SOURCE:
        # A source receives acknowledgements only: their delay delays no tuple.
        lines = [
            f"emits {format_change(former.emits(name), plan.emits(name), format_emission)} tuples/s"
        ]
    else:
        arrived = format_change(was.arrived_per_second, now.arrived_per_second, format_number)
        delay = format_change(was.delay_seconds, now.delay_seconds, format_duration)
        lines = [f"gets {arrived} tuples/s", f"delay {delay}"]
    lines.append(f"busy {format_change(was.utilisation, now.utilisation, format_utilisation)}")
    if now.idle:
        lines.append(f"{now.idle} of {now.executors} get nothing")
    return OperatorMark(
        level=1.0 if math.isinf(now.busiest) else now.busiest,
        level_text=f"{'busiest ' if now.executors > 1 else ''}{format_utilisation(now.busiest)}",
        parallelism=_show_parallelism(operator, was.executors, now.executors),
        line=lines[0],
        more=tuple(lines[1:]),
        flag="bottleneck: full first" if _is_bottleneck(operator, plan.prediction) else "",
        alarm=_find_alarm(operator, plan.prediction),
    )


def _show_parallelism(operator: Operator, before: int, after: int) -> str:
    now = parallelism(operator, {operator.name: after})
    return now if before == after else f"{before} → {now}"


def _is_bottleneck(operator: Operator, prediction: Prediction) -> bool:
    """Whether one of its executors is full first, and near enough to its limit to matter."""
    bottleneck = find_bottleneck(prediction)
    return _is_near_limit(prediction) and any(
        executor.name == bottleneck and executor.operator == operator.name
        for executor in prediction.executors
    )


def _find_alarm(operator: Operator, prediction: Prediction) -> str:
    """Whether executors are overloaded, by their own work or with their machine."""
    own = [executor for executor in prediction.executors if executor.operator == operator.name]
    full = sum(executor.name in prediction.overloaded for executor in own)
    if full:
        return f"overloaded: {full} of {len(own)}" if len(own) > 1 else "overloaded"
    slowed = sum(executor.utilisation >= 1.0 for executor in own)
    return f"on an overloaded machine: {slowed} of {len(own)}" if slowed else ""
