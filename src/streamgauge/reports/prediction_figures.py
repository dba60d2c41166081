"""A prediction in figures: tables, reasons, and rows of a long table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    INFINITE,
    format_change,
    format_duration,
    format_estimate,
    format_limit,
    format_number,
    format_share,
    format_utilisation,
    name_percentile,
)
from streamgauge.models.load_limit import TRANSFER_QUEUE
from streamgauge.models.prediction import FULL, Drawback
from streamgauge.reports.content import (
    Cell,
    Column,
    FigureRow,
    Row,
    Table,
    tabulate,
)
from streamgauge.reports.intervals import list_ends, show_reach, show_utilisation, show_within
from streamgauge.reports.latency import (
    build_latency_table,
    build_parts_table,
    name_parts,
    show_latency,
    show_mean,
)
from streamgauge.reports.prediction_verdict import (
    find_bottleneck,
    find_busiest,
    judge_prediction,
    name_limit,
    say_what_limit_fits,
)
from streamgauge.reports.report import list_figures, list_parts_figures
from streamgauge.reports.throughput_tables import list_throughput_figures

if TYPE_CHECKING:
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.intervals import Interval, Intervals
    from streamgauge.models.pending_limit import Pending
    from streamgauge.models.prediction import (
        Bottleneck,
        ExecutorPrediction,
        MachinePrediction,
        OperatorPrediction,
        Prediction,
        Sensitivity,
        WorkerPrediction,
    )
    from streamgauge.reports.prediction import PredictedPlan

PER_SECOND = "tuples/s"
BEFORE = "before"
EMISSION = "Source to sink: from emission to the end of service at a sink"
DUE = f"{EMISSION}; since due: from when the tuple was due, which is earlier."
COMPLETE = (
    "Complete: until the whole tree of a tuple is processed, as the engine reports it and as the"
    " source sees it."
)
# A limit on open roots that a smaller part of the tuples waits for needs no table.
SOME_WAIT = 1e-3
# Percentiles of the model table that a terminal has room for.
FEW_LEVELS = (0.5, 0.99)
DRAWBACKS = {
    Drawback.CROWDS_MACHINE: "its thread takes time from others of its machine",
    Drawback.NARROWS_SHUFFLE: "shuffle would keep to fewer executors, those that are nearer",
    Drawback.REGROUPS_TASKS: "tasks are divided anew, and busy ones would share an executor",
}
# Changes by a smaller part of the latency are noise of the formulas.
NO_CHANGE = 1e-3


def tabulate_latency(
    before: PredictedPlan | None, after: PredictedPlan, intervals: Intervals | None = None
) -> Table:
    """Latency of all tuples, by source, and of whole trees where they are tracked."""

    def list_rows(heading: str, name: str, latency: Latency) -> Iterable[Row]:
        return () if heading == BEFORE else list_ends(name, latency, intervals)

    table = build_latency_table(_group_by_plan(before, after), list_rows)
    notes = [f"{EMISSION}." if after.prediction.since_due is None else DUE]
    if after.prediction.complete is not None:
        notes.append(COMPLETE)
    return replace(table, note=" ".join(notes))


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
    plans = {"": after} if before is None else {BEFORE: before, "after": after}
    return {heading: name_latencies(plan.prediction) for heading, plan in plans.items()}


def name_latencies(prediction: Prediction) -> dict[str, Latency]:
    """Everything that is known of a plan's latency, by what it is of."""
    latencies = {"source to sink": prediction.latency}
    if prediction.since_due is not None:
        latencies["since due"] = prediction.since_due
    if len(prediction.by_source) > 1:
        for name, latency in prediction.by_source.items():
            latencies[f"from {name}"] = latency
            if name in prediction.since_due_by_source:
                latencies[f"from {name}, since due"] = prediction.since_due_by_source[name]
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
                Column("since due", "mean", page_only=True): None
                if prediction.since_due is None
                else show_mean(prediction.since_due),
                Column("complete", "mean", page_only=True): None
                if prediction.complete is None
                else show_mean(prediction.complete),
                Column("busiest", "executor"): format_utilisation(find_busiest(prediction)),
                Column("fits up to", PER_SECOND): format_limit(
                    prediction.limit.per_second, unit=""
                ),
                Column("then full", words=True): find_bottleneck(prediction) or None,
            }
            for prediction in predictions
        ],
        note="Latency: from source to sink, since emission.",
    )


def tabulate_operators(
    before: PredictedPlan | None, after: PredictedPlan, intervals: Intervals | None = None
) -> Table:
    """Operators in the plan's order, with what their figures were before."""
    now = after.prediction.operators
    was = before.prediction.operators if before else now
    note = "Rates without acknowledgements, which ackers alone receive."
    real = after.prediction.throughput
    if real is not None and real.is_held_back:
        note += " Rates are what gets through; busy is what would be asked for if all did."
    if before:
        note += " Arrows: from the figure before to the figure after."
    rows = [
        {
            **_describe_operator(name, was.get(name, operator), operator, name in after.sources),
            **_show_operator_ends(name, name in after.sources, intervals),
        }
        for name, operator in now.items()
    ]
    return tabulate("Operators", rows, note=note)


def _show_operator_ends(name: str, is_source: bool, intervals: Intervals | None) -> Row:
    """Half-widths of an operator's intervals, as parts of its figures."""
    columns = {
        "tuples_out_per_second" if is_source else "arrived_per_second": "rates",
        "busiest": "busy",
        "service_seconds": "service",
        "delay_seconds": "delay",
    }
    return {
        Column(f"{word} within", page_only=figure != "busiest"): show_reach(
            _find(intervals, "operator", name, figure)
        )
        for figure, word in columns.items()
        if not (is_source and figure == "delay_seconds")
    }


def _describe_operator(
    name: str, was: OperatorPrediction, now: OperatorPrediction, is_source: bool
) -> Row:
    def change(figure: str, show: Callable[[float], str]) -> str:
        return format_change(getattr(was, figure), getattr(now, figure), show)

    idle = f" ({now.idle} idle)" if now.idle else ""
    return {
        Column("operator"): name,
        Column("executors"): f"{change('executors', '{:.0f}'.format)}{idle}",
        # A source receives acknowledgements only, and their delay delays no tuple.
        Column("in", PER_SECOND): None
        if is_source
        else change("arrived_per_second", format_number),
        Column("out", PER_SECOND): change("tuples_out_per_second", format_number),
        Column("busy", "mean"): change("utilisation", format_utilisation),
        Column("busiest", "executor"): change("busiest", format_utilisation),
        Column("service", "mean"): change("service_seconds", format_duration),
        Column("delay", "mean"): None if is_source else change("delay_seconds", format_duration),
    }


def tabulate_executors(predicted: PredictedPlan) -> Table:
    """Executors, the busiest first."""
    busiest = sorted(predicted.prediction.executors, key=lambda executor: -executor.utilisation)
    return tabulate(
        "Executors, the busiest first",
        [
            _describe_executor(executor, executor.operator in predicted.sources)
            for executor in busiest
        ],
        note="Slowed down: how many times as long the same work takes on its crowded machine.",
        page_only=True,
    )


def _describe_executor(executor: ExecutorPrediction, is_source: bool) -> Row:
    return {
        Column("executor"): executor.name,
        Column("worker", words=True): executor.worker,
        Column("in", PER_SECOND): None if is_source else format_number(executor.arrived_per_second),
        Column("out", PER_SECOND): format_number(executor.tuples_out_per_second),
        Column("busy", "of the time"): format_utilisation(executor.utilisation),
        Column("slowed down", "times"): _show_number(executor.stretch),
        Column("service", "mean"): format_duration(executor.service_seconds),
        Column("delay", "mean"): None if is_source else format_duration(executor.delay_seconds),
        Column("waiting", "tuples, mean"): _show_number(executor.queue_length),
        Column("state", words=True): "overloaded" if executor.utilisation >= 1.0 else "",
    }


def _show_number(value: float) -> str:
    return INFINITE if math.isinf(value) else format_number(value)


def tabulate_workers(prediction: Prediction, intervals: Intervals | None = None) -> Table:
    """Workers in the plan's order, and what keeps their cores busy."""
    return tabulate(
        "Workers",
        [
            {
                Column("worker"): worker.name,
                Column("executors"): worker.executors,
                Column("CPU", "cores"): show_within(
                    format_number(worker.cores), _find(intervals, "worker", worker.name, "cores")
                ),
                Column("the job's work", "cores"): format_number(worker.work),
                Column("the engine", "cores"): _show_engine(worker),
                Column("idle threads", "cores"): format_number(worker.polling),
                Column("sends to other workers", PER_SECOND): format_number(worker.sent_per_second),
            }
            for worker in prediction.workers
        ],
        note="CPU is made up of the three that follow. ± one standard error"
        + ("; in brackets: 90 % interval." if intervals is not None else "."),
    )


def _find(intervals: Intervals | None, subject: str, name: str, figure: str) -> Interval | None:
    return None if intervals is None else intervals.of(subject, name, figure)


def _show_engine(worker: WorkerPrediction) -> str:
    shown = format_number(worker.engine)
    return f"{shown} ± {format_number(worker.engine_error)}" if worker.engine_error > 0.0 else shown


def tabulate_machines(prediction: Prediction, intervals: Intervals | None = None) -> Table:
    """Machines and what keeps their cores busy."""
    return tabulate(
        "Machines",
        [
            {
                Column("machine"): machine.name,
                Column("cores"): f"{machine.cores:g}",
                Column("the job's work", "cores"): format_number(machine.busy),
                Column("its engine", "cores"): format_number(machine.engine),
                Column("its idle threads", "cores"): format_number(machine.polling),
                Column("others", "cores"): format_number(machine.background),
                Column("in use"): show_utilisation(
                    machine.in_use, _find(intervals, "machine", machine.name, "in_use")
                ),
                Column("state", words=True): _judge_machine(machine),
            }
            for machine in prediction.machines
        ],
    )


def _judge_machine(machine: MachinePrediction) -> str:
    if machine.overloaded:
        return "overloaded"
    return "nearly full" if machine.in_use >= FULL else ""


def list_prediction_figures(
    prediction: Prediction, plan: str = "", intervals: Intervals | None = None
) -> Iterator[FigureRow]:
    """Every figure of a prediction; the plan's name, if given, stands before every name."""
    before = f"{plan}: " if plan else ""
    for row in _list_figures(prediction):
        found = _find(intervals, row.subject, row.name, row.figure)
        named = replace(row, name=f"{before}{row.name}" if row.name else plan)
        yield named if found is None else replace(named, low=found.low, high=found.high)


def _list_figures(prediction: Prediction) -> Iterator[FigureRow]:
    limit = prediction.limit
    yield from list_figures("job", "", {"highest_rate": limit.per_second}, unit="1/s")
    yield from list_figures("job", "", {"headroom": limit.factor})
    if prediction.throughput is not None:
        yield from list_throughput_figures(prediction.throughput)
    if prediction.pending is not None:
        yield from _list_pending_figures(prediction.pending)
    for name, latency in name_latencies(prediction).items():
        quantiles = {name_percentile(level): value for level, value in latency.quantiles.items()}
        figures = {"mean": latency.mean} | quantiles | name_parts(latency)
        yield from list_figures("latency", name, figures, unit="s")
    yield from list_parts_figures(prediction)
    for machine in prediction.machines:
        yield from list_figures("machine", machine.name, {"in_use": machine.in_use})


def _list_pending_figures(pending: Pending) -> Iterator[FigureRow]:
    figures = {
        "pending_limit": pending.limit,
        "smallest_pending_limit": pending.smallest,
        "ample_pending_limit": pending.ample,
    }
    known = {name: float(value) for name, value in figures.items() if value is not None}
    yield from list_figures("job", "", known)
    yield from list_figures("job", "", {"emitted": pending.emitted_per_second}, unit="1/s")
    for name, source in pending.sources.items():
        waits = {"waits": source.waits, "open_roots": source.open_roots}
        yield from list_figures("source", name, waits)
        times = {"wait": source.wait_seconds, "wait_p99": source.wait_p99_seconds}
        yield from list_figures("source", name, times, unit="s")


def tabulate_reasons(prediction: Prediction) -> Iterator[Table]:
    """What is full first, and what would help; nothing where the model explains nothing."""
    pending = prediction.pending
    if pending is not None and (pending.waits > SOME_WAIT or pending.holds_back is not None):
        yield _tabulate_sources(pending)
    explanation = prediction.explanation
    if explanation is None:
        return
    setting = "" if pending is None else pending.setting
    yield tabulate(
        "What is full first as all rates grow",
        _list_bottlenecks(explanation.bottlenecks, setting),
        note="Each row doubles the executors of the operator that was full in the row above,"
        " up to one for each task"
        + (
            f", or leaves {setting} out."
            if any(bottleneck.unlimited for bottleneck in explanation.bottlenecks)
            else "."
        )
        + (
            " A transfer queue holds what a worker sends to others while its thread sleeps:"
            " topology.transfer.buffer.size enlarges it, more workers share the sending."
            if any(one.limit.by.startswith(TRANSFER_QUEUE) for one in explanation.bottlenecks)
            else ""
        ),
    )
    yield _tabulate_sensitivities(explanation.sensitivities, prediction)


def _tabulate_sources(pending: Pending) -> Table:
    """How sources are held back by a limit on open roots."""
    fitting = say_what_limit_fits(pending)
    return tabulate(
        f"What {name_limit(pending)} does",
        [
            {
                Column("source"): name,
                Column("due", PER_SECOND): format_number(source.due_per_second),
                Column("emitted", PER_SECOND): format_number(source.emitted_per_second),
                Column("open", "roots a task"): format_number(source.open_roots),
                Column("wait for it", "of its tuples"): format_share(source.waits),
                Column("wait", "mean of all"): format_duration(source.wait_seconds),
                Column("wait", "p99"): format_duration(source.wait_p99_seconds),
            }
            for name, source in pending.sources.items()
        ],
        note="A task of a source may have so many tuple trees open; what is due then waits at the"
        " source until one ends. "
        + (f"{fitting[0].upper()}{fitting[1:]}." if fitting else "No limit would fit."),
    )


def _list_bottlenecks(bottlenecks: Sequence[Bottleneck], setting: str) -> Iterator[Row]:
    doubled: dict[str, int] = {}
    for bottleneck in bottlenecks:
        limit = bottleneck.limit
        changes = [f"no {setting}"] if bottleneck.unlimited else []
        changes += [f"{executors} of {name}" for name, executors in doubled.items()]
        yield {
            Column("with"): ", ".join(changes) or "this plan",
            Column("fits up to", PER_SECOND): format_limit(limit.per_second, unit=""),
            Column("times the load"): format_estimate(limit.factor),
            Column("then full", words=True): limit.by,
        }
        operator, executors, tasks = bottleneck.operator, bottleneck.executors, bottleneck.tasks
        if operator is not None and executors is not None and tasks is not None:
            doubled[operator] = min(2 * executors, tasks)


def _tabulate_sensitivities(
    sensitivities: Mapping[str, Sensitivity], prediction: Prediction
) -> Table:
    return tabulate(
        "What a change of one operator would do to latency since emission",
        [
            {
                Column("operator"): name,
                Column("1 % longer service", "mean"): _show_growth(change.longer_service),
                Column("1 % longer service", "p99"): _show_growth(change.longer_service_p99),
                Column("one executor more", "mean"): _show_gain(change, prediction.latency.mean),
                Column("then fits up to", PER_SECOND): None
                if change.one_more_limit is None
                else format_limit(change.one_more_limit, unit=""),
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


def _show_growth(elasticity: float) -> Cell:
    """By how many per cent latency grows."""
    if math.isnan(elasticity):
        return None
    if math.isinf(elasticity):
        return "overloads"
    return "none" if abs(elasticity) < NO_CHANGE else format_share(elasticity / 100.0)


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
    return f"{'−' if gained < 0.0 else '+'}{format_duration(abs(gained))}"
