"""What a profile says of executors' queues, workers, nodes, machines and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.cli.figure_tables import (
    MANY,
    level,
    measured,
    part,
    plain,
    print_figures,
    quantile,
    size,
)
from streamgauge.drawing.quantities import MISSING
from streamgauge.profile.ordering import natural

if TYPE_CHECKING:
    from streamgauge.profile.figures import ExecutorFigures, HostFigures, QueueFigures
    from streamgauge.profile.profile import Profile


def print_queues(profile: Profile, labels: Sequence[str]) -> None:
    """The receive queues of those executors."""
    known: list[tuple[str, ExecutorFigures, QueueFigures]] = []
    for label in sorted(labels, key=natural):
        one = profile.executors[label]
        if one.receive is not None:
            known.append((label, one, one.receive))
    known.sort(key=lambda row: -_length(row[2]))
    rows = [
        (
            label,
            part(one.capacity),
            part(one.idle),
            part(one.held),
            measured(queue.length),
            level(queue.limit),
            plain(queue.overflow),
            plain(queue.tuples_per_list),
            measured(None if queue.sojourn is None else queue.sojourn.mean_ms),
        )
        for label, one, queue in known[:MANY]
    ]
    columns = (
        "executor",
        "busy",
        "idle",
        "held",
        "waiting",
        "of",
        "overflow",
        "a list",
        "wait ms",
    )
    rest = known[MANY:]
    more = f"; {len(rest)} shorter ones left out" if rest else ""
    print_figures(f"Receive queues in tuples, the longest first{more}", columns, rows)


def _length(queue: QueueFigures) -> float:
    inside = 0.0 if queue.length is None else queue.length.value
    return inside + (0.0 if queue.overflow is None else queue.overflow.value)


def print_hosts(profile: Profile) -> None:
    """Workers, nodes and machines."""
    workers = [
        (
            name,
            measured(one.cores),
            MISSING,
            level(one.threads),
            plain(one.transfer_cores),
            plain(one.network_cores),
            plain(one.gc_cores),
            plain(one.heap_bytes, 1e-6),
            plain(one.bytes_per_second, 1e-6),
        )
        for name, one in sorted(profile.workers.items(), key=lambda item: natural(item[0]))
    ]
    hosts = [
        (f"{kind} {name}", *_host(one), *[MISSING] * 5)
        for kind, found in (("node", profile.nodes), ("machine", profile.machines))
        for name, one in sorted(found.items(), key=lambda item: natural(item[0]))
    ]
    columns = (
        "worker or host",
        "cores",
        "of",
        "threads",
        "transfer",
        "network",
        "gc",
        "heap MB",
        "MB/s",
    )
    shown = [*workers[:MANY], *hosts[:MANY]]
    left_out = len(workers) + len(hosts) - len(shown)
    more = f"; {left_out} more left out" if left_out else ""
    print_figures(f"Cores in use, ± standard error; executor threads{more}", columns, shown)


def _host(one: HostFigures) -> tuple[str, str, str]:
    return measured(one.cores), level(one.available), level(one.threads)


def print_links(profile: Profile) -> None:
    """Latency between nodes."""
    rows = [
        (
            f"{link.source} → {link.target}",
            measured(link.latency.mean_ms),
            quantile(link.latency, 0.5),
            quantile(link.latency, 0.99),
            size(link.latency.mean_ms),
        )
        for link in profile.links
    ]
    columns = ("from → to", "mean ms", "median ms", "p99 ms", "probes")
    more = f"; {len(rows) - MANY} more left out" if len(rows) > MANY else ""
    print_figures(f"Latency between nodes, one way{more}", columns, rows[:MANY])
