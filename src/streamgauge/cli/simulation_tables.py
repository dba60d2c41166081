"""A simulation's figures as tables of an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from streamgauge.cli.html_page import Column, Rows, paragraph, table
from streamgauge.cli.simulation_report import QUANTILES
from streamgauge.drawing.quantities import MISSING, duration, duration_within, number, share

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import (
        QueueFigures,
        SimulationResult,
    )

MOST_ROWS = 200
MOST_WAYS = 20
PER_SECOND = "tuples/s"


def latency_table(job: Job, result: SimulationResult) -> str:
    """Latency of all tuples, by way, source and sink; complete latency; latency since due."""
    ways = {" → ".join(way.operators): way.latency for way in result.ways}
    many = sorted(ways, key=lambda name: -ways[name].count)
    sinks = {op.name: result.operators[op.name].latency for op in job.topology.sinks}
    groups = [_latencies("From emission to the end of service at a sink", {"all": result.latency})]
    # The only source or sink has what all have.
    if len(result.by_source) > 1:
        groups.append(_latencies("By source", result.by_source))
    if len(sinks) > 1:
        groups.append(_latencies("By sink", sinks))
    if job.topology.acked:
        complete = {
            "by the acker's clock": result.complete,
            "as seen by the source": result.seen_by_source,
        }
        groups.append(_latencies("Complete latency, of whole tuple trees", complete))
    groups.append(_latencies("From when a tuple was due", {"all, since due": result.since_due}))
    groups.append(_latencies("By way", {name: ways[name] for name in many[:MOST_WAYS]}))
    columns = (
        Column(name="latency", words=True),
        Column(name="sample", unit="tuples or trees"),
        Column(name="mean"),
        *(Column(name=f"p{100 * probability:g}") for probability in QUANTILES),
    )
    notes = [
        "± is half a 95 % confidence interval, by the scatter over stretches of equal length; "
        "percentiles are right to 1.1 % beside it."
    ]
    if len(ways) > MOST_WAYS:
        notes.append(f"{len(ways) - MOST_WAYS} more ways, with fewer tuples, are left out.")
    return table("Latency by way, source and sink", columns, groups, " ".join(notes))


def _latencies(heading: str, named: Mapping[str, Latencies]) -> Rows:
    rows = []
    for name, one in named.items():
        mean = one.mean_estimate()
        row = [name, f"{one.count:,}", duration_within(mean.mean, mean.half_width)]
        for probability in QUANTILES:
            found = one.quantile_estimate(probability)
            row.append(duration_within(found.mean, found.half_width))
        rows.append(row)
    return Rows(heading=heading, rows=rows)


def operator_table(job: Job, result: SimulationResult) -> str:
    """Operators in the topology's order."""
    sources = {operator.name for operator in job.topology.sources}
    columns = (
        Column(name="operator", words=True),
        Column(name="executors"),
        Column(name="arrived", unit=PER_SECOND),
        Column(name="served", unit=PER_SECOND),
        Column(name="emitted", unit=PER_SECOND),
        Column(name="busy", unit="mean"),
        Column(name="busiest", unit="executor"),
        Column(name="CPU", unit="cores"),
        Column(name="waiting", unit="tuples, mean"),
        Column(name="wait", unit="mean"),
        Column(name="blocked", unit="of the time"),
        *([Column(name="state", words=True)] if result.saturated else []),
    )
    rows = []
    for name, one in list(result.operators.items())[:MOST_ROWS]:
        is_source = name in sources
        rows.append(
            [
                name,
                str(one.executors),
                # What comes to a source is acknowledgements, not tuples to serve.
                MISSING if is_source else number(one.arrived_per_second),
                MISSING if is_source else number(one.executed_per_second),
                number(one.emitted_per_second),
                share(one.utilisation),
                share(one.busiest),
                number(one.cores),
                number(one.queue_length),
                duration(one.wait_seconds),
                share(one.blocked),
                *(["saturated" if one.saturated else ""] if result.saturated else []),
            ]
        )
    return table("Operators", columns, [Rows(rows=rows)], _more(len(result.operators)))


_RARE = {
    "blocking": ("blocking", "threads, mean"),
    "throttled": ("throttled", "of the time"),
    "windows": ("triggers_per_second", "fired/s"),
    "window": ("window_tuples", "tuples, mean"),
    "failed": ("failed_per_second", "roots/s"),
    "timed out": ("timed_out_per_second", "roots/s"),
    "replayed": ("replayed_per_second", "roots/s"),
    "dropped": ("dropped_per_second", PER_SECOND),
}


def rare_table(result: SimulationResult) -> str:
    """What only some operators do, as far as any did; nothing where none did."""
    found = {
        name: {column: getattr(one, attribute) for column, (attribute, _) in _RARE.items()}
        for name, one in result.operators.items()
    }
    shown = [name for name in _RARE if any(one[name] > 0.0 for one in found.values())]
    if not shown:
        return ""
    columns = [
        Column(name="operator", words=True),
        *(Column(name=name, unit=_RARE[name][1]) for name in shown),
    ]
    rows = [
        [name, *(_rare_figure(column, one[column]) for column in shown)]
        for name, one in found.items()
        if any(one[column] > 0.0 for column in shown)
    ]
    caption = "Operators: back-pressure, windows, failures and drops"
    return table(caption, columns, [Rows(rows=rows[:MOST_ROWS])], _more(len(rows)))


def _rare_figure(column: str, value: float) -> str:
    if not value > 0.0:
        return MISSING
    return share(value) if column == "throttled" else number(value)


def executor_table(job: Job, result: SimulationResult) -> str:
    """Executors, the busiest first."""
    sources = {operator.name for operator in job.topology.sources}
    columns = (
        Column(name="executor", words=True),
        Column(name="worker", words=True),
        Column(name="served", unit=PER_SECOND),
        Column(name="emitted", unit=PER_SECOND),
        Column(name="busy", unit="of the time"),
        Column(name="CPU", unit="cores"),
        Column(name="blocked", unit="of the time"),
        Column(name="throttled", unit="of the time"),
        Column(name="waiting", unit="tuples, mean"),
        Column(name="peak / limit", unit="tuples"),
        Column(name="wait", unit="mean"),
    )
    busiest = sorted(result.executors, key=lambda one: -one.utilisation)
    rows = [
        [
            one.name,
            one.worker,
            MISSING if one.operator in sources else number(one.executed_per_second),
            number(one.emitted_per_second),
            share(one.utilisation),
            number(one.cores),
            share(one.blocked),
            share(one.throttled),
            number(one.receive.length),
            _peak(one.receive),
            duration(one.receive.wait_seconds),
        ]
        for one in busiest[:MOST_ROWS]
    ]
    more = _more(len(busiest), "less busy")
    return table("Executors, the busiest first", columns, [Rows(rows=rows)], more)


def queue_table(result: SimulationResult) -> str:
    """Queues that had no room: those that made threads wait, and those that dropped tuples."""
    full = [
        (name, queue)
        for name, queue in _queues(result)
        if queue.blocking > 0.0 or queue.dropped_per_second > 0.0
    ]
    if not full:
        return paragraph("No queue was ever too full: none made a thread wait or dropped a tuple.")
    full.sort(key=lambda one: (-one[1].dropped_per_second, -one[1].blocking))
    columns = (
        Column(name="queue", words=True),
        Column(name="threads waiting", unit="mean"),
        Column(name="dropped", unit=PER_SECOND),
        Column(name="arrived", unit=PER_SECOND),
        Column(name="waiting", unit="tuples, mean"),
        Column(name="peak / limit", unit="tuples"),
        Column(name="wait", unit="mean"),
        Column(name="at a time", unit="tuples, mean"),
    )
    rows = [
        [
            name,
            number(queue.blocking),
            number(queue.dropped_per_second),
            number(queue.arrived_per_second),
            number(queue.length),
            _peak(queue),
            duration(queue.wait_seconds),
            number(queue.tuples_per_object),
        ]
        for name, queue in full[:MOST_ROWS]
    ]
    return table("Queues that were too full", columns, [Rows(rows=rows)], _more(len(full)))


def _queues(result: SimulationResult) -> Iterator[tuple[str, QueueFigures]]:
    for executor in result.executors:
        yield f"{executor.name} receives", executor.receive
        if executor.send is not None:
            yield f"{executor.name} sends", executor.send
    for worker in result.workers:
        yield f"{worker.name} transfers", worker.transfer


def worker_table(result: SimulationResult) -> str:
    """Workers with their transfer threads."""
    columns = (
        Column(name="worker", words=True),
        Column(name="node", words=True),
        Column(name="CPU", unit="cores"),
        Column(name="transfer thread", unit="busy"),
        Column(name="transferred", unit=PER_SECOND),
        Column(name="waiting", unit="tuples, mean"),
        Column(name="peak / limit", unit="tuples"),
        Column(name="wait", unit="mean"),
    )
    rows = [
        [
            one.name,
            one.node,
            number(one.cores),
            share(one.transfer_utilisation),
            number(one.transfer.arrived_per_second),
            number(one.transfer.length),
            _peak(one.transfer),
            duration(one.transfer.wait_seconds),
        ]
        for one in result.workers[:MOST_ROWS]
    ]
    return table("Workers", columns, [Rows(rows=rows)], _more(len(result.workers)))


def machine_table(result: SimulationResult) -> str:
    """Machines and what keeps their cores busy."""
    columns = (
        Column(name="machine", words=True),
        Column(name="has", unit="cores"),
        Column(name="the job's work", unit="cores"),
        Column(name="its idle threads", unit="cores"),
        Column(name="others", unit="cores"),
        Column(name="in use"),
    )
    rows = [
        [
            one.name,
            f"{one.cores:g}",
            number(one.busy),
            number(one.polling),
            number(one.background),
            share((one.busy + one.polling + one.background) / one.cores),
        ]
        for one in result.machines[:MOST_ROWS]
    ]
    return table("Machines", columns, [Rows(rows=rows)], _more(len(result.machines)))


def _peak(queue: QueueFigures) -> str:
    limit = "no limit" if queue.limit is None else f"{queue.limit:,}"
    return f"{queue.peak:,} / {limit}"


def _more(count: int, what: str = "") -> str:
    """How many rows a table leaves out."""
    if count <= MOST_ROWS:
        return ""
    return f"{count - MOST_ROWS:,} more{f', {what},' if what else ''} are left out."
