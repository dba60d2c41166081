"""A simulation's figures: as tables, as a JSON document and as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.drawing.charts import Series, TickLabel, draw_distribution_chart, draw_line_chart
from streamgauge.drawing.svg import SERIES
from streamgauge.drawing.topology_picture import OperatorMark, draw_topology, without_ackers
from streamgauge.drawing.wording import (
    count,
    format_duration,
    format_duration_within,
    format_number,
    format_plain_duration,
    format_plain_number,
    format_share,
    name_percentile,
)
from streamgauge.reports.content import (
    Chart,
    ChartRow,
    Column,
    Row,
    Table,
    Text,
    tabulate,
    tabulate_groups,
)
from streamgauge.topology.topology import OperatorKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.profile.job import Job
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.replications import Estimate
    from streamgauge.simulation.results import QueueFigures, SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

QUANTILES = (0.5, 0.9, 0.95, 0.99)
# A source that cannot emit for a larger part of the time than this is held back.
HELD_BACK = 0.05
# A source that emits so much less than it is asked for, as a part of it, cannot keep up.
SHORTFALL = 0.1
PER_SECOND = "tuples/s"
OF_THE_TIME = "of the time"
MEAN_TUPLES = "tuples, mean"
# More paths than this belong into `--json`.
MOST_PATHS = 20
# A smaller part of the time would be shown as `<0.1 %`.
VISIBLE_PART = 0.0005
MS_PER_SECOND = 1000.0
# Bars of the distribution of latency; rows of it in characters, and the length of the longest.
BARS = 80
TEXT_ROWS, LONGEST_ROW = 16, 50
# A larger graph cannot be read as a picture.
MANY_OPERATORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRate:
    """What a source was asked for and what it delivered.

    Attributes:
        asked_per_second: Tuples that it should emit; None where it emits as many as it can.
        blocked: Part of the time that it waited for room in a queue.
        throttled: Part of the time that it had a tuple due and was not allowed to emit it.
    """

    name: str
    asked_per_second: float | None
    emitted_per_second: float
    blocked: float
    throttled: float

    @property
    def is_held_back(self) -> bool:
        """Whether a source with a rate of its own often could not emit."""
        return self.asked_per_second is not None and self.blocked + self.throttled > HELD_BACK

    @property
    def falls_short(self) -> bool:
        """Whether it is held back so much that it emits visibly less than it should."""
        asked = self.asked_per_second
        return (
            asked is not None
            and self.is_held_back
            and self.emitted_per_second < (1.0 - SHORTFALL) * asked
        )


def list_source_rates(job: Job, result: SimulationResult) -> list[SourceRate]:
    """Asked and delivered rates of all sources."""
    emissions = job.workload.emissions if job.workload is not None else ()
    rates = []
    for source in job.topology.sources:
        asked = [emission.per_second for emission in emissions if emission.source == source.name]
        operator = result.operators[source.name]
        rates.append(
            SourceRate(
                name=source.name,
                asked_per_second=None if None in asked else sum(rate or 0.0 for rate in asked),
                emitted_per_second=operator.emitted_per_second,
                blocked=operator.blocked,
                throttled=operator.throttled,
            )
        )
    return rates


def name_latencies(job: Job, result: SimulationResult) -> dict[str, Latencies]:
    """The latencies that were measured, by what they span; those without a tuple are left out."""
    named = {"source to sink": result.latency, "since it was due": result.since_due}
    if len(job.topology.sinks) > 1:
        named |= {f"to {op.name}": result.operators[op.name].latency for op in job.topology.sinks}
    if len(result.by_source) > 1:
        named |= {f"from {name}": latencies for name, latencies in result.by_source.items()}
    named["complete (acker)"] = result.complete
    named["complete (source)"] = result.seen_by_source
    return {name: latencies for name, latencies in named.items() if latencies.count}


def build_source_table(rates: Sequence[SourceRate]) -> Table:
    """What sources were asked for and what they delivered."""
    return tabulate(
        "Sources: asked and delivered",
        [
            {
                Column("source"): rate.name,
                Column("asked", PER_SECOND): "unlimited"
                if rate.asked_per_second is None
                else format_number(rate.asked_per_second),
                Column("delivered", PER_SECOND): format_number(rate.emitted_per_second),
                Column("of what was asked"): format_share(
                    rate.emitted_per_second / (rate.asked_per_second or math.nan)
                ),
                Column("blocked", OF_THE_TIME): format_share(rate.blocked),
                Column("throttled", OF_THE_TIME): format_share(rate.throttled),
            }
            for rate in rates
        ],
        note="Blocked: waiting for room in a queue. Throttled: not allowed to emit, as too many "
        "tuples are pending or a receiver asked to slow down.",
    )


def build_latency_table(job: Job, result: SimulationResult) -> Table:
    """Latency of all tuples, by source, sink and path; complete latency; latency since due."""
    groups = {"": _list_latency_rows(name_latencies(job, result))}
    paths = sorted(
        (way for way in result.ways if way.latency.count), key=lambda way: -way.latency.count
    )
    notes = [
        "Latency counts from emission to the end of service at a sink; since it was due: from when"
        " the tuple should have been emitted. ± is half a 95 % confidence interval; percentiles are"
        " right to 1.1 % beside it."
    ]
    # The only path to a sink has what the sink has.
    if len(result.ways) > len(job.topology.sinks):
        shown = {" → ".join(way.operators): way.latency for way in paths[:MOST_PATHS]}
        groups["By path"] = _list_latency_rows(shown)
        if len(paths) > MOST_PATHS:
            notes.append(f"{len(paths) - MOST_PATHS} paths with fewer tuples are left out.")
    if job.topology.acked:
        trees = (
            "Complete latency is of whole tuple trees, as the acker measures it or as the source"
        )
        notes.append(f"{trees} sees it.")
    return tabulate_groups("Latency", groups, note=" ".join(notes))


def _list_latency_rows(named: Mapping[str, Latencies]) -> list[Row]:
    *levels, highest = QUANTILES
    return [
        {
            Column("from, to"): name,
            Column("sample"): f"{latencies.count:,}",
            Column("mean"): show_estimate(latencies.mean_estimate()),
            **{
                Column(name_percentile(level)): format_duration(latencies.quantile(level))
                for level in levels
            },
            Column(name_percentile(highest)): show_estimate(latencies.quantile_estimate(highest)),
        }
        for name, latencies in named.items()
    ]


def show_estimate(estimate: Estimate) -> str:
    """A time within its confidence interval."""
    return format_duration_within(estimate.mean, estimate.half_width)


def build_operator_table(job: Job, result: SimulationResult) -> Table:
    """Operators in the topology's order."""
    sources = {operator.name for operator in job.topology.sources}
    return tabulate(
        "Operators",
        [
            {
                Column("operator"): name,
                Column("executors"): operator.executors,
                Column("arrived", PER_SECOND, page_only=True): None
                if name in sources
                else format_number(operator.arrived_per_second),
                Column("served", PER_SECOND): None
                if name in sources
                else format_number(operator.executed_per_second),
                Column("emitted", PER_SECOND): format_number(operator.emitted_per_second),
                Column("busy", "mean"): format_share(operator.utilisation),
                Column("busiest", "executor"): format_share(operator.busiest),
                Column("CPU", "cores", page_only=True): format_number(operator.cores),
                Column("waiting", MEAN_TUPLES): format_number(operator.queue_length),
                Column("wait", "mean"): format_duration(operator.wait_seconds),
                Column("blocked", OF_THE_TIME, page_only=True): format_share(operator.blocked),
                Column("state", words=True): "saturated" if operator.saturated else "",
            }
            for name, operator in result.operators.items()
        ],
    )


# By column, the attribute of an operator's figures.
_RARE = {
    Column("blocked", OF_THE_TIME): "blocked",
    Column("throttled", OF_THE_TIME): "throttled",
    Column("blocking", "threads, mean"): "blocking",
    Column("windows", "fired/s"): "triggers_per_second",
    Column("window", MEAN_TUPLES): "window_tuples",
    Column("failed", "trees/s"): "failed_per_second",
    Column("timed out", "trees/s"): "timed_out_per_second",
    Column("replayed", "trees/s"): "replayed_per_second",
    Column("dropped", PER_SECOND): "dropped_per_second",
}
_PARTS = {"blocked", "throttled"}


def build_rare_table(result: SimulationResult) -> Table:
    """What only some operators do, as far as any does; empty where none does."""
    rows: list[Row] = []
    for name, operator in result.operators.items():
        figures = {column: _show_rare(operator, attribute) for column, attribute in _RARE.items()}
        if any(figure is not None for figure in figures.values()):
            rows.append({Column("operator"): name, **figures})
    return tabulate("Operators: back-pressure, windows, failures and drops", rows)


def _show_rare(operator: object, attribute: str) -> str | None:
    value = float(getattr(operator, attribute))
    if attribute in _PARTS:
        return format_share(value) if value >= VISIBLE_PART else None
    return format_number(value) if value > 0.0 else None


def build_executor_table(job: Job, result: SimulationResult) -> Table:
    """Executors, the busiest first."""
    sources = {operator.name for operator in job.topology.sources}
    return tabulate(
        "Executors, the busiest first",
        [
            {
                Column("executor"): executor.name,
                Column("worker", words=True): executor.worker,
                Column("served", PER_SECOND): None
                if executor.operator in sources
                else format_number(executor.executed_per_second),
                Column("emitted", PER_SECOND): format_number(executor.emitted_per_second),
                Column("busy", OF_THE_TIME): format_share(executor.utilisation),
                Column("CPU", "cores"): format_number(executor.cores),
                Column("blocked", OF_THE_TIME): format_share(executor.blocked),
                Column("throttled", OF_THE_TIME): format_share(executor.throttled),
                **_show_queue(executor.receive),
            }
            for executor in sorted(result.executors, key=lambda executor: -executor.utilisation)
        ],
        page_only=True,
    )


def build_queue_table(result: SimulationResult) -> Table:
    """Queues that had no room: those that made threads wait, and those that dropped tuples."""
    full = [
        (name, queue)
        for name, queue in _list_queues(result)
        if queue.blocking > 0.0 or queue.dropped_per_second > 0.0
    ]
    full.sort(key=lambda named: (-named[1].dropped_per_second, -named[1].blocking))
    return tabulate(
        "Queues that were full",
        [
            {
                Column("queue"): name,
                Column("threads waiting", "mean"): format_number(queue.blocking),
                Column("dropped", PER_SECOND): format_number(queue.dropped_per_second),
                Column("arrived", PER_SECOND): format_number(queue.arrived_per_second),
                **_show_queue(queue),
                Column("at a time", MEAN_TUPLES): format_number(queue.tuples_per_object),
            }
            for name, queue in full
        ],
        page_only=True,
    )


def _list_queues(result: SimulationResult) -> Iterator[tuple[str, QueueFigures]]:
    for executor in result.executors:
        yield f"{executor.name} receives", executor.receive
        if executor.send is not None:
            yield f"{executor.name} sends", executor.send
    for worker in result.workers:
        yield f"{worker.name} transfers", worker.transfer


def _show_queue(queue: QueueFigures) -> Row:
    limit = "no limit" if queue.limit is None else f"{queue.limit:,}"
    return {
        Column("waiting", MEAN_TUPLES): format_number(queue.length),
        Column("peak / limit", "tuples"): f"{queue.peak:,} / {limit}",
        Column("wait", "mean"): format_duration(queue.wait_seconds),
    }


def build_worker_table(result: SimulationResult) -> Table:
    """Workers with their transfer threads."""
    return tabulate(
        "Workers",
        [
            {
                Column("worker"): worker.name,
                Column("node", words=True): worker.node,
                Column("CPU", "cores"): format_number(worker.cores),
                Column("transfer thread", "busy"): format_share(worker.transfer_utilisation),
                Column("transferred", PER_SECOND): format_number(
                    worker.transfer.arrived_per_second
                ),
                **_show_queue(worker.transfer),
            }
            for worker in result.workers
        ],
        page_only=True,
    )


def build_machine_table(result: SimulationResult) -> Table:
    """Machines and what keeps their cores busy."""
    return tabulate(
        "Machines",
        [
            {
                Column("machine"): machine.name,
                Column("has", "cores"): f"{machine.cores:g}",
                Column("the job's work", "cores"): format_number(machine.busy),
                Column("its idle threads", "cores"): format_number(machine.polling),
                Column("others", "cores"): format_number(machine.background),
                Column("in use"): format_share(
                    (machine.busy + machine.polling + machine.background) / machine.cores
                ),
            }
            for machine in result.machines
        ],
    )


def write_result(job: Job, result: SimulationResult) -> dict[str, Any]:
    """All figures of one run."""
    return {
        "topology": job.topology.name,
        "seconds": result.seconds,
        "warmup": result.warmup,
        "settled": result.settled,
        "overloaded": result.overloaded,
        "hops": result.hops,
        "roots": {
            "emitted": result.roots_emitted,
            "acked": result.roots_acked,
            "failed": result.roots_failed,
            "open": result.open_roots,
        },
        "operators": {
            name: _write_figures(operator) for name, operator in result.operators.items()
        },
        "latencies": {
            name: _write_latencies(latencies)
            for name, latencies in name_latencies(job, result).items()
        },
        "ways": [
            {"operators": list(way.operators), **_write_latencies(way.latency)}
            for way in result.ways
            if way.latency.count
        ],
        "executors": [_write_figures(executor) for executor in result.executors],
        "workers": [_write_figures(worker) for worker in result.workers],
        "machines": [_write_figures(machine) for machine in result.machines],
        "timeline": _write_timeline(result),
    }


def _write_figures(figures: Any) -> dict[str, Any]:
    """A record of figures, with its queues; latencies are written elsewhere."""
    written = {}
    for field in fields(figures):
        value = getattr(figures, field.name)
        if field.name in ("receive", "send", "transfer"):
            if value is not None:
                written[field.name] = _write_figures(value)
        elif field.name != "latency":
            written[field.name] = value
    return written


def _write_latencies(latencies: Latencies) -> dict[str, Any]:
    estimates = {"mean": latencies.mean_estimate()}
    estimates |= {name_percentile(level): latencies.quantile_estimate(level) for level in QUANTILES}
    document: dict[str, Any] = {"tuples": latencies.count}
    for name, estimate in estimates.items():
        document[f"{name}_ms"] = MS_PER_SECOND * estimate.mean
        document[f"{name}_half_width_95_ms"] = MS_PER_SECOND * estimate.half_width
    return document


def _write_timeline(result: SimulationResult) -> dict[str, Any]:
    line = result.timeline
    return {
        "ends": line.ends.tolist(),
        "emitted_per_second": line.emitted_per_second.tolist(),
        "arrived_per_second": line.arrived_per_second.tolist(),
        "mean_ms": (MS_PER_SECOND * line.mean_seconds).tolist(),
        "p50_ms": (MS_PER_SECOND * line.median_seconds).tolist(),
        "p99_ms": (MS_PER_SECOND * line.p99_seconds).tolist(),
        "queued": {name: queued.tolist() for name, queued in line.queued.items()},
        "cores": {name: cores.tolist() for name, cores in line.cores.items()},
    }


def chart_latency(latency: Latencies) -> Chart | Text:
    """How often which latency was seen, with percentiles."""
    if not latency.count:
        return Text(["No tuple reached a sink: there is no latency to show."])
    from streamgauge.simulation.binning import bin_edges

    occupied = np.flatnonzero(latency.counts)
    first, last = int(occupied[0]), int(occupied[-1]) + 1
    # Whole bins to a bar: parts of them would make teeth where there are none.
    width = -(-(last - first) // BARS)
    counts = [int(latency.counts[at : at + width].sum()) for at in range(first, last, width)]
    bins = [first + width * bar for bar in range(len(counts) + 1)]
    edges = _list_edges(bin_edges(), bins)
    marks = [
        (
            f"{name_percentile(level)} {format_duration(latency.quantile(level))}",
            latency.quantile(level),
        )
        for level in QUANTILES
    ]
    draw = partial(
        draw_distribution_chart,
        edges,
        counts,
        title="How many tuples took how long",
        x_title="latency from emission to the end of service at a sink, logarithmic",
        bars="tuples, left",
        curve="part of all that took no longer, right",
        marks=marks,
    )
    return Chart(
        title="latency",
        draw=draw,
        caption=f"{latency.count:,} tuples in classes of equal ratio.",
        wide=True,
        draw_text=lambda _: _draw_histogram(latency),
    )


def _draw_histogram(latency: Latencies) -> str:
    """How many tuples took how long, in ranges of equal ratio, in characters."""
    lines = [f"From source to sink, since emission, {latency.count:,} tuples", ""]
    low, high = latency.quantile(0.005), latency.quantile(0.995)
    if not high > low:
        return "\n".join([*lines, f" all about {format_duration(low)}"])
    edges = [low * (high / low) ** (row / TEXT_ROWS) for row in range(TEXT_ROWS + 1)]
    counts = latency.between(edges)
    for begin, end, tuples in zip(edges, edges[1:], counts, strict=False):
        bar = "█" * math.ceil(LONGEST_ROW * tuples / max(*counts, 1))
        lines.append(f" {format_duration(begin):>7} – {format_duration(end):>7} {bar} {tuples:,}")
    return "\n".join(lines)


def _list_edges(edges: NDArray[np.float64], bins: Sequence[int]) -> list[float]:
    """Lower edges of bins, and of one after the last; above zero, as logarithms need them."""
    ratio = float(edges[-1] / edges[-2])
    beyond = len(edges) - 1
    lower = [float(edges[min(at, beyond)]) * ratio ** max(at - beyond, 0) for at in bins]
    return [max(lower[0], lower[1] / ratio), *lower[1:]]


def chart_topology(plan: PhysicalPlan, result: SimulationResult) -> Chart | Text:
    """The operators with how busy each is."""
    topology = without_ackers(plan.logical.topology)
    if len(topology.operators) > MANY_OPERATORS:
        many = count(len(topology.operators), "operator")
        sentence = f"{many} are too many to draw; the tables below list them."
        return Text([sentence], page_only=True)
    marks = {}
    for operator in topology.operators:
        figures = result.operators[operator.name]
        is_source = operator.kind is OperatorKind.SOURCE
        rate = figures.emitted_per_second if is_source else figures.executed_per_second
        marks[operator.name] = OperatorMark(
            level=figures.busiest,
            line=f"{'emits' if is_source else 'serves'} {format_number(rate)} tuples/s",
            alarm="saturated" if figures.saturated else "",
        )
    caption = "Gauges: part of the time that an operator's busiest executor is busy."
    ackers = [figures for name, figures in result.operators.items() if name not in marks]
    if ackers:
        most = format_share(max(figures.busiest for figures in ackers))
        saturated = ", saturated" if any(figures.saturated for figures in ackers) else ""
        caption += f" Ackers are not drawn: busy at most {most}{saturated}."
    executors = {name: len(span) for name, span in plan.logical.spans.items()}
    draw = partial(draw_topology, topology, executors, marks=marks)
    return Chart(title="topology", draw=draw, caption=caption, wide=True)


def chart_time(result: SimulationResult) -> ChartRow:
    """Throughput, latency, queues and cores over simulated time."""
    line = result.timeline
    # What was counted in a stretch of time stands in its middle.
    middles = (np.concatenate([[0.0], line.ends[:-1]]) + line.ends) / 2.0
    chart = partial(_chart_lines, warmup=result.warmup, end=float(line.ends.max(initial=0.0)))
    rates = {
        "emitted by sources": line.emitted_per_second,
        "arrived at sinks": line.arrived_per_second,
    }
    latencies = {
        "p99": line.p99_seconds,
        "mean": line.mean_seconds,
        "median": line.median_seconds,
    }
    queued = dict(sorted(line.queued.items(), key=lambda item: -float(item[1].max(initial=0.0))))
    return ChartRow(
        charts=[
            chart("Throughput, tuples/s", middles, rates, unit="tuples/s"),
            chart(
                "Latency since emission of tuples that arrived at sinks, logarithmic",
                middles,
                latencies,
                unit="s",
                tick_label=format_plain_duration,
                log=True,
            ),
            chart("Tuples waiting at operators", line.ends, queued, unit="tuples"),
            chart("Cores that the job's work keeps busy", middles, line.cores, unit="cores"),
        ]
    )


def _chart_lines(
    title: str,
    times: NDArray[np.float64],
    named: Mapping[str, NDArray[np.float64]],
    *,
    warmup: float,
    end: float,
    unit: str,
    tick_label: TickLabel = format_plain_number,
    log: bool = False,
) -> Chart:
    """A chart of the largest of many series."""
    peaks = {name: float(np.nanmax(line, initial=0.0)) for name, line in named.items()}
    largest = sorted(peaks, key=lambda name: -peaks[name])
    # A line along the bottom says less than a word below.
    shown = [name for name in largest[:SERIES] if peaks[name] > 0.0]
    if len(shown) == len(named):
        shown = list(named)
    rest = largest[len(shown) :]
    caption = ""
    if rest:
        peak = peaks[rest[0]]
        most = f"at most {format_plain_number(peak)} {unit}" if peak > 0.0 else "always 0"
        caption = f"Not drawn: {len(rest)} more, {most}."
    draw = partial(
        draw_line_chart,
        times.tolist(),
        [Series(name=name, values=named[name].tolist()) for name in shown],
        title=title,
        x_title="simulated time, s",
        x_end=end,
        log=log,
        shaded_until=warmup,
        shaded="warm-up, left out",
        tick_label=tick_label,
    )
    return Chart(title=title, draw=draw, caption=caption)
