"""Predictions as pictures: plans with their operators, and latency with what makes it up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamgauge.cli.html_page import figure, paragraph
from streamgauge.cli.output import counted, printable
from streamgauge.cli.prediction_verdict import verdict_of
from streamgauge.cli.seen import (
    Seen,
    any_duration,
    any_share,
    bottleneck,
    changed,
    emission,
    mean_of,
    percentile,
    quantile_of,
)
from streamgauge.cli.simulation_charts import MANY_OPERATORS
from streamgauge.drawing.bar_charts import Bar, bar_chart
from streamgauge.drawing.quantities import number
from streamgauge.drawing.side_by_side import Panel, draw_side_by_side
from streamgauge.drawing.topology_picture import OperatorMark, parallelism, without_ackers
from streamgauge.topology.topology import Operator, OperatorKind

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import Prediction

# More bars are no picture any more; tables have the rest.
MOST_BARS = 12


def plans_picture(before: Seen | None, after: Seen, *, embedded: bool = False) -> str:
    """Operators by how busy they are, as an SVG: the plan before, and what becomes of it.

    Args:
        before: The plan as it is; None draws one plan only.
        after: The plan in question.
        embedded: Whether the page that the picture stands in brings the style.
    """
    panels = [_panel(f"before: {before.name}", before, before)] if before else []
    title = f"after: {after.name}" if before else after.name
    panels.append(_panel(title, after, before or after))
    name = after.plan.logical.topology.name
    plans = " and ".join(one.name for one in (before, after) if one)
    shown = printable(f"operators of {name} and how busy they are: {plans}")
    return draw_side_by_side(panels, title=shown, embedded=embedded)


def plans_figure(before: Seen | None, after: Seen) -> str:
    """The same for a page, where it can be read."""
    operators = without_ackers(after.plan.logical.topology).operators
    if len(operators) > MANY_OPERATORS:
        many = counted(len(operators), "operator")
        return paragraph(f"{many} are too many to draw; the tables below list them.")
    caption = (
        "Busy: the mean over an operator's executors. Colours and gauges: its busiest executor."
    )
    if before:
        caption += " Arrows: what becomes of the figure before."
    return figure(plans_picture(before, after, embedded=True), caption, wide=True)


def _panel(title: str, seen: Seen, former: Seen) -> Panel:
    prediction = seen.prediction
    topology = without_ackers(seen.plan.logical.topology)
    drawn = {operator.name for operator in topology.operators}
    lines = [seen.about, verdict_of(prediction)]
    ackers = [one for name, one in prediction.operators.items() if name not in drawn]
    if ackers:
        busiest = max(one.busiest for one in ackers)
        lines.append(f"Ackers are not drawn: busy at most {any_share(busiest)}.")
    return Panel(
        title=printable(title),
        lines=[printable(line) for line in lines],
        flag=_flag(prediction),
        topology=topology,
        executors=seen.executors,
        marks={op.name: _mark(op, seen, former) for op in topology.operators},
    )


def _flag(prediction: Prediction) -> str:
    """What is full first, in a few words."""
    found = bottleneck(prediction)
    if not found:
        return ""
    is_machine = any(one.name == found for one in prediction.machines)
    return f"Bottleneck: {'machine ' if is_machine else ''}{found}"


def _mark(operator: Operator, seen: Seen, former: Seen) -> OperatorMark:
    """What the picture says of an operator, and of what it was."""
    name = operator.name
    one = seen.prediction.operators[name]
    was = former.prediction.operators.get(name, one)
    if operator.kind is OperatorKind.SOURCE:
        # What comes to a source is acknowledgements: how long they take delays no tuple.
        lines = [f"emits {changed(former.emits(name), seen.emits(name), emission)} tuples/s"]
    else:
        arrived = changed(was.arrived_per_second, one.arrived_per_second, number)
        delay = changed(was.delay_seconds, one.delay_seconds, any_duration)
        lines = [f"gets {arrived} tuples/s", f"delay {delay}"]
    lines.append(f"busy {changed(was.utilisation, one.utilisation, any_share)}")
    if one.idle:
        lines.append(f"{one.idle} of {one.executors} get nothing")
    return OperatorMark(
        level=1.0 if math.isinf(one.busiest) else one.busiest,
        level_text=f"{'busiest ' if one.executors > 1 else ''}{any_share(one.busiest)}",
        parallelism=_parallelism(operator, was.executors, one.executors),
        line=lines[0],
        more=tuple(lines[1:]),
        flag="bottleneck: full first" if _is_bottleneck(operator, seen.prediction) else "",
        alarm=_alarm(operator, seen.prediction),
    )


def _parallelism(operator: Operator, before: int, after: int) -> str:
    now = parallelism(operator, {operator.name: after})
    return now if before == after else f"{before} → {now}"


def _is_bottleneck(operator: Operator, prediction: Prediction) -> bool:
    found = bottleneck(prediction)
    return any(one.name == found and one.operator == operator.name for one in prediction.executors)


def _alarm(operator: Operator, prediction: Prediction) -> str:
    """Whether executors are overloaded, by their own work or with their machine."""
    own = [one for one in prediction.executors if one.operator == operator.name]
    full = [one for one in own if one.name in prediction.overloaded]
    if full:
        return f"overloaded: {len(full)} of {len(own)}" if len(own) > 1 else "overloaded"
    slowed = sum(one.utilisation >= 1.0 for one in own)
    if slowed:
        return f"on an overloaded machine: {slowed} of {len(own)}"
    return ""


def latency_pictures(latencies: Mapping[str, Latency]) -> str:
    """Mean latencies with what makes them up, and percentiles: of plans, models or sources.

    Args:
        latencies: By what they are of.
    """
    known = [(printable(name), one) for name, one in latencies.items() if not math.isnan(one.mean)]
    if not known:
        return paragraph("No tuple would come to a sink: there is no latency to show.")
    if all(math.isinf(one.mean) for _, one in known):
        return paragraph("Latency would grow without bound: there is nothing to draw.")
    shown = dict(known[:MOST_BARS])
    pictures = figure(_parts_chart(shown)) + figure(_quantiles_chart(shown))
    left_out = len(known) - len(shown)
    note = paragraph(f"{left_out} more are not drawn; the tables list them.") if left_out else ""
    return f'<div class="charts">{pictures}</div>{note}'


def _parts_chart(latencies: Mapping[str, Latency]) -> str:
    bars = [
        Bar(name=name, parts=_parts(one), label=mean_of(one)) for name, one in latencies.items()
    ]
    return bar_chart(
        bars,
        title="Mean latency and what it is made up of",
        x_title="mean time from emission to the end of service at a sink",
        embedded=True,
    )


def _parts(latency: Latency) -> dict[str, float]:
    """By name, the whole where they are not known."""
    known = {str(part): seconds for part, seconds in latency.parts.items() if seconds > 0.0}
    return known or {"not told apart": latency.mean}


def _quantiles_chart(latencies: Mapping[str, Latency]) -> str:
    levels = sorted({level for one in latencies.values() for level in one.quantiles})
    bars = [
        Bar(
            name=name,
            parts={name: quantile_of(one, level)},
            label=any_duration(quantile_of(one, level)),
            group=percentile(level),
        )
        for level in levels
        for name, one in latencies.items()
    ]
    return bar_chart(
        bars,
        title="Percentiles of latency",
        x_title="time from emission to the end of service at a sink",
        embedded=True,
    )
