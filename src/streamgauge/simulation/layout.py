"""Where things stand in the kernel's arrays, and the transport's figures as it reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.simulation.records import NONE
from streamgauge.simulation.state import Layout, Rules
from streamgauge.transport.mechanics import Mechanics

# An acknowledgement, an answer, a flush tuple and the like, beside what an event emits.
SPARE_MESSAGES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many there are of everything.

    Attributes:
        executors: Of the plan.
        workers: Of the plan.
        machines: Of the cluster.
        processes: Emission processes.
        subscriptions: Streams by subscriber.
        streams: Streams by source.
        sources: Operators that emit.
        windows: Tasks with a window.
        join_queues: Queues of all joins.
        ackers: Their tasks, counted from the first.
        path_rows: Rows of latencies by way.
        most_messages: That one event can emit.
        sends: Whether executors have send threads.
        deserialises: Whether that takes time anywhere.
        detailed: Whether everything an agent could measure is counted.
    """

    executors: int
    workers: int
    machines: int
    processes: int
    subscriptions: int
    streams: int
    sources: int
    windows: int
    join_queues: int
    ackers: range
    path_rows: int
    most_messages: int
    sends: bool
    deserialises: bool
    detailed: bool


def lay_out(n: Sizes) -> Layout:
    """One kind of thing after the other, in the order that `Layout` names."""
    sends = n.executors if n.sends else 0
    receives = n.workers if n.deserialises else 0
    threads = _offsets(n.executors, sends, n.workers, receives, n.windows)
    queues = _offsets(
        n.executors, n.executors, sends, n.workers, receives, n.windows, n.join_queues
    )
    flushes = queues[-1] if n.sends else n.workers
    links = n.workers * n.workers
    timers = _offsets(
        n.processes,
        threads[-1],
        n.machines,
        links,
        flushes,
        n.workers,
        n.executors,
        n.executors,
    )
    return Layout(
        executors=n.executors,
        workers=n.workers,
        machines=n.machines,
        subscriptions=n.subscriptions,
        streams=n.streams,
        sends=threads[1],
        transfers=threads[2],
        receives=threads[3],
        triggers=threads[4],
        due=queues[1],
        send=queues[2],
        transfer=queues[3],
        incoming=queues[4],
        windows=queues[5],
        joins=queues[6],
        queues=queues[7],
        thread_timers=timers[1],
        machine_timers=timers[2],
        link_timers=timers[3],
        flush_timers=timers[4],
        load_timers=timers[5],
        time_out_timers=timers[6],
        pressure_timers=timers[7],
        timers=timers[8],
        acker_first=n.ackers.start if n.ackers else NONE,
        ackers=len(n.ackers),
        sources=n.sources,
        path_rows=n.path_rows,
        reserve=n.most_messages + SPARE_MESSAGES,
        copies=n.most_messages,
        deserialises=int(n.deserialises),
        keeps=int(n.windows + n.join_queues > 0),
        detailed=int(n.detailed),
    )


def rules_of(m: Mechanics) -> Rules:
    """A transport's figures as the kernel reads them."""
    high, low = m.watermarks if m.watermarks is not None else (0.0, 0.0)
    return Rules(
        send_threads=int(m.send_threads),
        batch=m.batch,
        flush=m.flush_seconds,
        flushes=int(m.batch > 1 and not m.send_threads),
        overflow_limit=m.overflow_limit,
        bolt_spin=m.bolt_spin,
        bolt_sleep=m.bolt_sleep,
        source_sleep=m.source_sleep,
        transfer_sleep=m.transfer_sleep,
        polls=int(m.poll_cores > 0.0),
        send_work=m.send_seconds,
        transfer_work=m.transfer_seconds,
        widen=m.widen_load,
        narrow=m.narrow_load,
        refresh=m.refresh_seconds,
        refresh_jitter=m.refresh_jitter,
        gossip=m.gossip_seconds,
        pressure=m.pressure_seconds,
        high_water=high,
        low_water=low,
        time_out=m.time_out_seconds,
    )


def _offsets(*sizes: int) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]
