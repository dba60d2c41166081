"""A prediction's figures as tables, and as rows of a long table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import number
from streamgauge.reports.content import Column, FigureRow, Row, Table, tabulate
from streamgauge.reports.latency import (
    build_latency_table,
    build_parts_table,
    name_parts,
    show_latency,
    show_mean,
)
from streamgauge.reports.long_table import list_figures
from streamgauge.reports.prediction_verdict import (
    find_bottleneck,
    find_busiest,
    judge_prediction,
)
from streamgauge.reports.wording import (
    INFINITE,
    name_percentile,
    show_change,
    show_duration,
    show_limit,
    show_received,
    show_utilisation,
)

if TYPE_CHECKING:
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.prediction import (
        OperatorPrediction,
        Prediction,
    )
    from streamgauge.reports.prediction import PredictedPlan

PER_SECOND = "tuples/s"
COMPLETE = (
    "Complete: until the whole tree of a tuple is processed, as the engine reports it and as the"
    " source sees it."
)
# Percentiles of the model table that a terminal has room for.
FEW_LEVELS = (0.5, 0.99)


def tabulate_latency(before: PredictedPlan | None, after: PredictedPlan) -> Table:
    """Latency of all tuples, by source, and of whole trees where they are tracked."""
    table = build_latency_table(_group_by_plan(before, after))
    if after.prediction.complete is None:
        return table
    return replace(table, note=COMPLETE)


def tabulate_latency_parts(before: PredictedPlan | None, after: PredictedPlan) -> Table:
    """What mean latencies are made up of, where that is known."""
    groups = {
        heading: {name: (name_parts(latency), latency.mean) for name, latency in group.items()}
        for heading, group in _group_by_plan(before, after).items()
    }
    return build_parts_table("What mean latency is made up of", "latency", groups)


def _group_by_plan(
    before: PredictedPlan | None, after: PredictedPlan
) -> dict[str, dict[str, Latency]]:
    if before is None:
        return {"": _name_latencies(after.prediction)}
    return {
        "before": _name_latencies(before.prediction),
        "after": _name_latencies(after.prediction),
    }


def _name_latencies(prediction: Prediction) -> dict[str, Latency]:
    """Everything that is known of a plan's latency, by what it is of."""
    latencies = {"source to sink": prediction.latency}
    if len(prediction.by_source) > 1:
        latencies |= {f"from {name}": latency for name, latency in prediction.by_source.items()}
    if prediction.complete is not None:
        latencies["complete (engine)"] = prediction.complete
    if prediction.seen_by_source is not None:
        latencies["complete (source)"] = prediction.seen_by_source
    return latencies


def tabulate_delay_parts(predicted: PredictedPlan) -> Table:
    """What the delays at operators are made up of."""
    delays = {
        name: (operator.parts, operator.delay_seconds)
        for name, operator in predicted.prediction.operators.items()
        if name not in predicted.sources
    }
    return build_parts_table(
        "What mean delays at operators are made up of", "operator", {"": delays}
    )


def tabulate_models(predictions: Sequence[Prediction]) -> Table:
    """What each model says of one plan."""
    levels = sorted({level for each in predictions for level in each.latency.quantiles})
    return tabulate(
        "Models",
        [
            {
                Column("model"): prediction.model,
                Column("verdict", words=True): judge_prediction(prediction).word,
                **show_latency(prediction.latency, levels, few=FEW_LEVELS),
                Column("complete", "mean", page_only=True): None
                if prediction.complete is None
                else show_mean(prediction.complete),
                Column("busiest", "executor"): show_utilisation(find_busiest(prediction)),
                Column("fits up to", PER_SECOND): show_limit(prediction.limit.per_second, unit=""),
                Column("then full", words=True): find_bottleneck(prediction) or None,
            }
            for prediction in predictions
        ],
    )


def tabulate_operators(before: PredictedPlan | None, after: PredictedPlan) -> Table:
    """Operators in the plan's order, with what their figures were before."""
    now = after.prediction.operators
    was = before.prediction.operators if before else now
    note = "Rates without acknowledgements, which ackers alone receive."
    if before:
        note += " Arrows: from the figure before to the figure after."
    rows = [
        _describe_operator(name, was.get(name, operator), operator, name in after.sources)
        for name, operator in now.items()
    ]
    return tabulate("Operators", rows, note=note)


def _describe_operator(
    name: str, was: OperatorPrediction, now: OperatorPrediction, is_source: bool
) -> Row:
    idle = f" ({now.idle} idle)" if now.idle else ""
    executors = show_change(was.executors, now.executors, "{:.0f}".format)
    arrived = show_change(was.arrived_per_second, now.arrived_per_second, number)
    emitted = show_change(was.tuples_out_per_second, now.tuples_out_per_second, number)
    service = show_change(was.service_seconds, now.service_seconds, show_duration)
    delay = show_change(was.delay_seconds, now.delay_seconds, show_duration)
    return {
        Column("operator"): name,
        Column("executors"): f"{executors}{idle}",
        # A source receives acknowledgements only, and their delay delays no tuple.
        Column("in", PER_SECOND): None if is_source else arrived,
        Column("out", PER_SECOND): emitted,
        Column("busy", "mean"): show_change(was.utilisation, now.utilisation, show_utilisation),
        Column("busiest", "executor"): show_change(was.busiest, now.busiest, show_utilisation),
        Column("service", "mean"): service,
        Column("delay", "mean"): None if is_source else delay,
    }


def tabulate_executors(predicted: PredictedPlan) -> Table:
    """Executors, the busiest first."""
    busiest = sorted(predicted.prediction.executors, key=lambda executor: -executor.utilisation)
    rows: list[Row] = []
    for executor in busiest:
        is_source = executor.operator in predicted.sources
        arrived = show_received(executor.arrived_per_second, is_source=is_source)
        delay = None if is_source else show_duration(executor.delay_seconds)
        rows.append(
            {
                Column("executor"): executor.name,
                Column("worker", words=True): executor.worker,
                Column("in", PER_SECOND): arrived,
                Column("out", PER_SECOND): number(executor.tuples_out_per_second),
                Column("busy", "of the time"): show_utilisation(executor.utilisation),
                Column("slowed down", "times"): _show_number(executor.stretch),
                Column("service", "mean"): show_duration(executor.service_seconds),
                Column("delay", "mean"): delay,
                Column("waiting", "tuples, mean"): _show_number(executor.queue_length),
                Column("state", words=True): "overloaded" if executor.utilisation >= 1.0 else "",
            }
        )
    return tabulate(
        "Executors, the busiest first",
        rows,
        note="Slowed down: how many times as long the same work takes on its crowded machine.",
        page_only=True,
    )


def _show_number(value: float) -> str:
    return INFINITE if math.isinf(value) else number(value)


def tabulate_workers(prediction: Prediction) -> Table:
    """Workers in the plan's order."""
    return tabulate(
        "Workers",
        [
            {
                Column("worker"): worker.name,
                Column("executors"): worker.executors,
                Column("CPU", "cores"): number(worker.cores),
                Column("sends to other workers", PER_SECOND): number(worker.sent_per_second),
            }
            for worker in prediction.workers
        ],
        page_only=True,
    )


def tabulate_machines(prediction: Prediction) -> Table:
    """Machines and what keeps their cores busy."""
    return tabulate(
        "Machines",
        [
            {
                Column("machine"): machine.name,
                Column("cores"): f"{machine.cores:g}",
                Column("the job's work", "cores"): number(machine.busy),
                Column("its idle threads", "cores"): number(machine.polling),
                Column("others", "cores"): number(machine.background),
                Column("in use"): show_utilisation(
                    (machine.busy + machine.polling + machine.background) / machine.cores
                ),
                Column("state", words=True): "overloaded" if machine.overloaded else "",
            }
            for machine in prediction.machines
        ],
    )


def list_prediction_figures(prediction: Prediction, plan: str = "") -> Iterator[FigureRow]:
    """Every figure of a prediction.

    Args:
        prediction: What a model says.
        plan: Stands before every name where there are several plans.
    """
    limit = prediction.limit
    yield from list_figures("job", plan, {"highest_rate": limit.per_second}, unit="1/s")
    yield from list_figures("job", plan, {"headroom": limit.factor})
    before = f"{plan}: " if plan else ""
    for name, latency in _name_latencies(prediction).items():
        quantiles = {name_percentile(level): value for level, value in latency.quantiles.items()}
        figures = {"mean": latency.mean} | quantiles | name_parts(latency)
        yield from list_figures("latency", f"{before}{name}", figures, unit="s")
    for name, operator in prediction.operators.items():
        yield from list_figures("operator", f"{before}{name}", operator)
    for executor in prediction.executors:
        yield from list_figures("executor", f"{before}{executor.name}", executor)
    for worker in prediction.workers:
        yield from list_figures("worker", f"{before}{worker.name}", worker)
    for machine in prediction.machines:
        yield from list_figures("machine", f"{before}{machine.name}", machine)
