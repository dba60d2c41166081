"""A simulation's tables: latencies, operators, executors, queues, workers, machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import duration, duration_within, number, share
from streamgauge.reports.content import Column, Row, Table, tabulate, tabulate_groups
from streamgauge.reports.simulation_verdict import SourceRate
from streamgauge.reports.wording import name_percentile, show_received

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import QueueFigures, SimulationResult

QUANTILES = (0.5, 0.9, 0.95, 0.99)
PER_SECOND = "tuples/s"
OF_THE_TIME = "of the time"
MEAN_TUPLES = "tuples, mean"
# More paths than this belong into `--json`.
MOST_PATHS = 20
# A smaller part of the time would be shown as `<0.1 %`.
VISIBLE_PART = 0.0005


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
                else number(rate.asked_per_second),
                Column("delivered", PER_SECOND): number(rate.emitted_per_second),
                Column("of what was asked"): share(
                    rate.emitted_per_second / (rate.asked_per_second or math.nan)
                ),
                Column("blocked", OF_THE_TIME): share(rate.blocked),
                Column("throttled", OF_THE_TIME): share(rate.throttled),
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
        "± is half a 95 % confidence interval; percentiles are right to 1.1 % beside it.",
    ]
    # The only path to a sink has what the sink has.
    if len(result.ways) > len(job.topology.sinks):
        shown = {" → ".join(way.operators): way.latency for way in paths[:MOST_PATHS]}
        groups["By path"] = _list_latency_rows(shown)
        if len(paths) > MOST_PATHS:
            notes.append(f"{len(paths) - MOST_PATHS} paths with fewer tuples are left out.")
    if job.topology.acked:
        notes.append(
            "Complete latency is of whole tuple trees, as the acker measures it or as the source "
            "sees it."
        )
    return tabulate_groups("Latency", groups, note=" ".join(notes))


def _list_latency_rows(named: Mapping[str, Latencies]) -> list[Row]:
    rows: list[Row] = []
    for name, latencies in named.items():
        mean, tail = latencies.mean_estimate(), latencies.quantile_estimate(QUANTILES[-1])
        rows.append(
            {
                Column("from, to"): name,
                Column("sample"): f"{latencies.count:,}",
                Column("mean"): duration_within(mean.mean, mean.half_width),
                **{
                    Column(name_percentile(level)): duration(latencies.quantile(level))
                    for level in QUANTILES[:-1]
                },
                Column(name_percentile(QUANTILES[-1])): duration_within(tail.mean, tail.half_width),
            }
        )
    return rows


def build_operator_table(job: Job, result: SimulationResult) -> Table:
    """Operators in the topology's order."""
    sources = {operator.name for operator in job.topology.sources}
    return tabulate(
        "Operators",
        [
            {
                Column("operator"): name,
                Column("executors"): operator.executors,
                Column("arrived", PER_SECOND, page_only=True): show_received(
                    operator.arrived_per_second, is_source=name in sources
                ),
                Column("served", PER_SECOND): show_received(
                    operator.executed_per_second, is_source=name in sources
                ),
                Column("emitted", PER_SECOND): number(operator.emitted_per_second),
                Column("busy", "mean"): share(operator.utilisation),
                Column("busiest", "executor"): share(operator.busiest),
                Column("CPU", "cores", page_only=True): number(operator.cores),
                Column("waiting", MEAN_TUPLES): number(operator.queue_length),
                Column("wait", "mean"): duration(operator.wait_seconds),
                Column("blocked", OF_THE_TIME, page_only=True): share(operator.blocked),
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
        return share(value) if value >= VISIBLE_PART else None
    return number(value) if value > 0.0 else None


def build_executor_table(job: Job, result: SimulationResult) -> Table:
    """Executors, the busiest first."""
    sources = {operator.name for operator in job.topology.sources}
    return tabulate(
        "Executors, the busiest first",
        [
            {
                Column("executor"): executor.name,
                Column("worker", words=True): executor.worker,
                Column("served", PER_SECOND): show_received(
                    executor.executed_per_second, is_source=executor.operator in sources
                ),
                Column("emitted", PER_SECOND): number(executor.emitted_per_second),
                Column("busy", OF_THE_TIME): share(executor.utilisation),
                Column("CPU", "cores"): number(executor.cores),
                Column("blocked", OF_THE_TIME): share(executor.blocked),
                Column("throttled", OF_THE_TIME): share(executor.throttled),
                Column("waiting", MEAN_TUPLES): number(executor.receive.length),
                Column("peak / limit", "tuples"): _show_peak(executor.receive),
                Column("wait", "mean"): duration(executor.receive.wait_seconds),
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
                Column("threads waiting", "mean"): number(queue.blocking),
                Column("dropped", PER_SECOND): number(queue.dropped_per_second),
                Column("arrived", PER_SECOND): number(queue.arrived_per_second),
                Column("waiting", MEAN_TUPLES): number(queue.length),
                Column("peak / limit", "tuples"): _show_peak(queue),
                Column("wait", "mean"): duration(queue.wait_seconds),
                Column("at a time", MEAN_TUPLES): number(queue.tuples_per_object),
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


def build_worker_table(result: SimulationResult) -> Table:
    """Workers with their transfer threads."""
    return tabulate(
        "Workers",
        [
            {
                Column("worker"): worker.name,
                Column("node", words=True): worker.node,
                Column("CPU", "cores"): number(worker.cores),
                Column("transfer thread", "busy"): share(worker.transfer_utilisation),
                Column("transferred", PER_SECOND): number(worker.transfer.arrived_per_second),
                Column("waiting", MEAN_TUPLES): number(worker.transfer.length),
                Column("peak / limit", "tuples"): _show_peak(worker.transfer),
                Column("wait", "mean"): duration(worker.transfer.wait_seconds),
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
                Column("the job's work", "cores"): number(machine.busy),
                Column("its idle threads", "cores"): number(machine.polling),
                Column("others", "cores"): number(machine.background),
                Column("in use"): share(
                    (machine.busy + machine.polling + machine.background) / machine.cores
                ),
            }
            for machine in result.machines
        ],
    )


def _show_peak(queue: QueueFigures) -> str:
    limit = "no limit" if queue.limit is None else f"{queue.limit:,}"
    return f"{queue.peak:,} / {limit}"
