"""What a profile says of queues, workers, nodes, machines, links, and of the time before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import number, plain_number
from streamgauge.profile.ordering import natural_key
from streamgauge.reports.content import Cell, Column, Table
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

if TYPE_CHECKING:
    from streamgauge.profile.figures import ExecutorFigures, HostFigures, QueueFigures
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
    return Table(
        caption="Receive queues, the longest first",
        columns=(
            Column(name="executor", words=True),
            Column(name="busy"),
            Column(name="idle"),
            Column(name="held back"),
            Column(name="waiting", unit="tuples"),
            Column(name="limit", unit="tuples"),
            Column(name="overflow", unit="tuples"),
            Column(name="batch", unit="tuples"),
            Column(name="wait", unit="ms"),
        ),
        rows=[
            [
                label,
                show_part(executor.capacity),
                show_part(executor.idle),
                show_part(executor.held),
                show_figure(queue.length),
                show_level(queue.limit),
                show_value(queue.overflow),
                show_value(queue.tuples_per_list),
                show_mean_time(queue.sojourn),
            ]
            for label, executor, queue in known
        ],
    )


def _measure_length(queue: QueueFigures) -> float:
    parts = (queue.length, queue.overflow)
    return sum(figure.value for figure in parts if figure is not None)


def tabulate_hosts(profile: Profile) -> Table:
    """Workers, nodes and machines."""
    rows: list[list[Cell]] = [
        [
            name,
            show_figure(worker.cores),
            None,
            show_level(worker.threads),
            show_value(worker.transfer_cores),
            show_value(worker.network_cores),
            show_value(worker.gc_cores),
            show_value(worker.heap_bytes, MILLION),
            show_value(worker.bytes_per_second, MILLION),
        ]
        for name, worker in sorted(profile.workers.items(), key=lambda item: natural_key(item[0]))
    ]
    for kind, hosts in (("node", profile.nodes), ("machine", profile.machines)):
        for name, host in sorted(hosts.items(), key=lambda item: natural_key(item[0])):
            rows.append([f"{kind} {name}", *_show_host(host), *[None] * 5])
    return Table(
        caption="Cores in use",
        columns=(
            Column(name="worker or host", words=True),
            Column(name="cores"),
            Column(name="of"),
            Column(name="threads"),
            Column(name="transfer", unit="cores"),
            Column(name="network", unit="cores"),
            Column(name="gc", unit="cores"),
            Column(name="heap", unit="MB"),
            Column(name="sent", unit="MB/s"),
        ),
        rows=rows,
        note="Threads: those of executors.",
    )


def _show_host(host: HostFigures) -> list[Cell]:
    return [show_figure(host.cores), show_level(host.available), show_level(host.threads)]


def tabulate_links(profile: Profile) -> Table:
    """Latency between nodes."""
    return Table(
        caption="Latency between nodes, one way",
        columns=(
            Column(name="from → to", words=True),
            Column(name="mean", unit="ms"),
            Column(name="median", unit="ms"),
            Column(name="p99", unit="ms"),
            Column(name="probes"),
        ),
        rows=[
            [
                f"{link.source} → {link.target}",
                show_mean_time(link.latency),
                show_quantile(link.latency, 0.5),
                show_quantile(link.latency, 0.99),
                show_samples(link.latency),
            ]
            for link in profile.links
        ],
    )


def tabulate_saturation(profile: Profile) -> Table:
    """Between which rates operators began to hold their senders back."""
    rows: list[list[Cell]] = []
    for name, stretches in profile.saturation.items():
        free = [one.input_per_second for one in stretches if one.backpressure == 0.0]
        held = [one.input_per_second for one in stretches if one.backpressure > 0.0]
        rows.append(
            [
                name,
                len(stretches),
                len({one.plan_id for one in stretches}),
                number(max(free)) if free else None,
                number(min(held)) if held else None,
            ]
        )
    return Table(
        caption="Back-pressure in all that was ever measured",
        columns=(
            Column(name="operator", words=True),
            Column(name="stretches of time"),
            Column(name="plans"),
            Column(name="highest rate without", unit="tuples/s"),
            Column(name="lowest rate with", unit="tuples/s"),
        ),
        rows=rows,
    )


def tabulate_series(profile: Profile) -> Table:
    """What sources emitted over time."""
    rows: list[list[Cell]] = []
    for key, series in sorted(profile.sources.items()):
        known = [rate for rate in series.per_second if rate is not None]
        rows.append(
            [
                name_stream(key),
                series.start,
                plain_number(series.step_seconds),
                f"{len(series.per_second):,}",
                f"{len(series.per_second) - len(known):,}",
                number(min(known)) if known else None,
                number(max(known)) if known else None,
            ]
        )
    return Table(
        caption="Rates over time, for forecasts",
        columns=(
            Column(name="source", words=True),
            Column(name="from", words=True),
            Column(name="step", unit="s"),
            Column(name="steps"),
            Column(name="missing"),
            Column(name="lowest", unit="tuples/s"),
            Column(name="highest", unit="tuples/s"),
        ),
        rows=rows,
    )
