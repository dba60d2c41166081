"""What a profile says of queues, workers, nodes, machines, links, and of the time before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import number, plain_number
from streamgauge.reports.content import Column, Row, Table, tabulate
from streamgauge.reports.measured import (
    show_figure,
    show_level,
    show_mean_time,
    show_part,
    show_quantile,
    show_samples,
    show_value,
)
from streamgauge.reports.profile_tables import name_stream
from streamgauge.topology.field_checks import natural_key

if TYPE_CHECKING:
    from streamgauge.profile.figures import ExecutorFigures, QueueFigures
    from streamgauge.profile.profile import Profile

MILLION = 1e-6


def tabulate_queues(profile: Profile, labels: Sequence[str]) -> Table:
    """The receive queues of those executors, the longest first."""
    known: list[tuple[str, ExecutorFigures, QueueFigures]] = []
    for label in sorted(labels, key=natural_key):
        executor = profile.executors[label]
        if executor.receive is not None:
            known.append((label, executor, executor.receive))
    known.sort(key=lambda row: -_measure_length(row[2]))
    return tabulate(
        "Receive queues, the longest first",
        [
            {
                Column("executor"): label,
                Column("busy"): show_part(executor.capacity),
                Column("idle"): show_part(executor.idle),
                Column("held back"): show_part(executor.held),
                Column("waiting", "tuples"): show_figure(queue.length),
                Column("limit", "tuples"): show_level(queue.limit),
                Column("overflow", "tuples"): show_value(queue.overflow),
                Column("batch", "tuples"): show_value(queue.tuples_per_list),
                Column("wait", "ms"): show_mean_time(queue.sojourn),
            }
            for label, executor, queue in known
        ],
    )


def _measure_length(queue: QueueFigures) -> float:
    parts = (queue.length, queue.overflow)
    return sum(figure.value for figure in parts if figure is not None)


def tabulate_hosts(profile: Profile) -> Table:
    """Workers, nodes and machines."""
    rows: list[Row] = [
        {
            Column("worker or host"): name,
            Column("cores"): show_figure(worker.cores),
            Column("of"): None,
            Column("threads"): show_level(worker.threads),
            Column("transfer", "cores"): show_value(worker.transfer_cores),
            Column("network", "cores"): show_value(worker.network_cores),
            Column("gc", "cores"): show_value(worker.gc_cores),
            Column("heap", "MB"): show_value(worker.heap_bytes, MILLION),
            Column("sent", "MB/s"): show_value(worker.bytes_per_second, MILLION),
        }
        for name, worker in sorted(profile.workers.items(), key=lambda item: natural_key(item[0]))
    ]
    for kind, hosts in (("node", profile.nodes), ("machine", profile.machines)):
        rows += [
            {
                Column("worker or host"): f"{kind} {name}",
                Column("cores"): show_figure(host.cores),
                Column("of"): show_level(host.available),
                Column("threads"): show_level(host.threads),
            }
            for name, host in sorted(hosts.items(), key=lambda item: natural_key(item[0]))
        ]
    return tabulate("Cores in use", rows, note="Threads: those of executors.")


def tabulate_links(profile: Profile) -> Table:
    """Latency between nodes."""
    return tabulate(
        "Latency between nodes, one way",
        [
            {
                Column("from → to"): f"{link.source} → {link.target}",
                Column("mean", "ms"): show_mean_time(link.latency),
                Column("median", "ms"): show_quantile(link.latency, 0.5),
                Column("p99", "ms"): show_quantile(link.latency, 0.99),
                Column("probes"): show_samples(link.latency),
            }
            for link in profile.links
        ],
    )


def tabulate_saturation(profile: Profile) -> Table:
    """Between which rates operators began to hold their senders back."""
    rows: list[Row] = []
    for name, stretches in profile.saturation.items():
        free = [one.input_per_second for one in stretches if one.backpressure == 0.0]
        held = [one.input_per_second for one in stretches if one.backpressure > 0.0]
        rows.append(
            {
                Column("operator"): name,
                Column("stretches of time"): len(stretches),
                Column("plans"): len({one.plan_id for one in stretches}),
                Column("highest rate without", "tuples/s"): number(max(free)) if free else None,
                Column("lowest rate with", "tuples/s"): number(min(held)) if held else None,
            }
        )
    return tabulate("Back-pressure in all that was ever measured", rows)


def tabulate_series(profile: Profile) -> Table:
    """What sources emitted over time."""
    rows: list[Row] = []
    for key, series in sorted(profile.sources.items()):
        known = [rate for rate in series.per_second if rate is not None]
        rows.append(
            {
                Column("source"): name_stream(key),
                Column("from", words=True): series.start,
                Column("step", "s"): plain_number(series.step_seconds),
                Column("steps"): f"{len(series.per_second):,}",
                Column("missing"): f"{len(series.per_second) - len(known):,}",
                Column("lowest", "tuples/s"): number(min(known)) if known else None,
                Column("highest", "tuples/s"): number(max(known)) if known else None,
            }
        )
    return tabulate("Rates over time, for forecasts", rows)
