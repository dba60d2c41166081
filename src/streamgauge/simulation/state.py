"""The event loop's memory: what stays (the program), what changes (the state), and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.cores import Cores
from streamgauge.simulation.draws import Draws
from streamgauge.simulation.emissions import Emissions
from streamgauge.simulation.records import NONE
from streamgauge.simulation.timers import Timers
from streamgauge.transport.mechanics import Mechanics

# An acknowledgement, an answer, a flush tuple and the like, beside what an event emits.
SPARE_MESSAGES = 8


class Rules(NamedTuple):
    """The transport's figures that the loop looks at; see `Mechanics`."""

    send_threads: int
    batch: int
    flush: float
    flushes: int
    overflow_limit: int
    bolt_spin: float
    bolt_sleep: float
    source_sleep: float
    transfer_sleep: float
    sleep_jitter: float
    sleeps: int
    polls: int
    send_work: float
    transfer_work: float
    widen: float
    narrow: float
    refresh: float
    refresh_jitter: float
    gossip: float
    pressure: float
    time_out: float


class Layout(NamedTuple):
    """Where each kind of thing begins in the arrays that several kinds share.

    Threads: executors, then `sends`, `transfers`, `receives` and `triggers`.
    Queues: receive queues by executor, then what is `due` at sources, `send` queues, the workers'
    `transfer` queues, what came `incoming` to be deserialised, `windows` and `joins`.
    Timers: emission processes, then those of `threads`, `machines`, `links`, `flushes`, of the
    workers' `loads`, of the executors' `time_outs` and of the `pressure` on their queues, and one
    for all threads that `poll`.
    Streams of random numbers: executors, emission processes, one for what is `looked` at, workers.
    Rows of latencies: `path_rows` of ways, by source complete and as the source sees it, and, from
    `due_rows` on, of ways again since tuples were due.
    """

    executors: int
    workers: int
    machines: int
    subscriptions: int
    streams: int
    sends: int
    transfers: int
    receives: int
    triggers: int
    due: int
    send: int
    transfer: int
    incoming: int
    windows: int
    joins: int
    queues: int
    thread_timers: int
    machine_timers: int
    link_timers: int
    flush_timers: int
    load_timers: int
    time_out_timers: int
    pressure_timers: int
    poll_timer: int
    timers: int
    look_stream: int
    worker_streams: int
    acker_first: int
    ackers: int
    sources: int
    path_rows: int
    due_rows: int
    reserve: int
    copies: int
    serialises: int
    deserialises: int
    keeps: int
    detailed: int
    labelled: int

    @property
    def latency_rows(self) -> int:
        """Rows of latencies in all."""
        return self.due_rows + self.path_rows


class Program(NamedTuple):
    """Everything that does not change while a simulation runs.

    Attributes:
        rules: The transport's figures.
        at: Where things begin.
        worker: Of each executor.
        max_pending: Roots that each executor may have open.
        operator: By number.
        task: By number, counted from the first.
        task_of_executor: Its lowest task, by executor; one entry more.
        first_task: Of each operator.
        source_row: Place of an operator among the sources, or NONE.
        stream: By number.
        subscriber: Subscriptions by stream.
        subscription: By number.
        target: Tasks that a route chooses from, the nearest first.
        target_share: Cumulative shares of them.
        key_task: Tasks by key, two for partial keys.
        join_key: A join's number of each key.
        service: Draws of CPU and waiting times by operator and subscription; the last of an
            operator's is a source's own.
        output_first: Where the outputs of (operator, subscription) begin; the last of an
            operator's are those of its window.
        output: All outputs.
        only_output: The stream, where (operator, subscription) always leads to one tuple on one
            stream, or NONE.
        latency: Seconds between two workers, on the mean, and
        jitter: how much of that is random.
        path_next: The path of a tuple that leaves on a subscription, by path.
        path_row: Row of the latencies of (path, operator), or NONE.
        process: Emission processes.
        transfer_first: Where the counts of (task, subscription) begin among the transfers.
    """

    rules: Rules
    at: Layout
    worker: NDArray[Any]
    max_pending: NDArray[Any]
    operator: NDArray[Any]
    task: NDArray[Any]
    task_of_executor: NDArray[Any]
    first_task: NDArray[Any]
    source_row: NDArray[Any]
    stream: NDArray[Any]
    subscriber: NDArray[Any]
    subscription: NDArray[Any]
    target: NDArray[Any]
    target_share: NDArray[Any]
    key_task: NDArray[Any]
    join_key: NDArray[Any]
    service: NDArray[Any]
    output_first: NDArray[Any]
    output: NDArray[Any]
    only_output: NDArray[Any]
    latency: NDArray[Any]
    jitter: NDArray[Any]
    path_next: NDArray[Any]
    path_row: NDArray[Any]
    process: NDArray[Any]
    transfer_first: NDArray[Any]


class State(NamedTuple):
    """Everything that changes while a simulation runs.

    Attributes:
        now: Simulated time, in an array of one.
        timers: Of all parts.
        cores: The machines.
        random: Streams of random numbers.
        draws: Distributions; they do not change.
        emissions: Emission processes.
        queue: All queues.
        message: The pool of messages.
        anchor: The pool of anchors.
        root: The pool of roots.
        thread: All threads.
        window: All windows.
        route: By executor and subscription.
        used: How often each target of a route was chosen, for partial keys.
        weight: Weight of each target of a route.
        choice: Tasks that load-aware routes choose in turn.
        load: Of each task, as each worker knows it.
        gossiped: When each worker told its loads.
        batch: Producer batches by executor and queue.
        link: Connections between workers.
        age: Oldest and youngest tuple of each join.
        free: First free message, root and anchor, and how many there are (`records`).
        counts: Counters of the whole job, each at its place (`records`).
        ready: Threads that go on at this very moment.
        disturbed: Whether each machine's timer is to be set anew, and a list of those machines.
        group: Lists being formed: first and last message and size for each executor or worker.
        touched: Which of them.
        latency: Counts by bin of each row of latencies.
        latency_sum: Sums of the same, in seconds.
        inputs: Counts by task and subscription.
        outputs: Counts by task and stream.
        wall_bin: Execution times of `inputs` by bin of the lake, and
        cpu_bin: times on a core,
        process_bin: times to the ack,
        wait_bin: times in the receive queue, by executor,
        emit_bin: times that a source took for a tuple, by `outputs`, and
        complete_bin: complete latencies of its roots.
        transferred: Tuples by sending task, subscription and receiving task.
        hops: Traced hops.
    """

    now: NDArray[Any]
    timers: Timers
    cores: Cores
    random: NDArray[Any]
    draws: Draws
    emissions: Emissions
    queue: NDArray[Any]
    message: NDArray[Any]
    anchor: NDArray[Any]
    root: NDArray[Any]
    thread: NDArray[Any]
    window: NDArray[Any]
    route: NDArray[Any]
    used: NDArray[Any]
    weight: NDArray[Any]
    choice: NDArray[Any]
    load: NDArray[Any]
    gossiped: NDArray[Any]
    batch: NDArray[Any]
    link: NDArray[Any]
    age: NDArray[Any]
    free: NDArray[Any]
    counts: NDArray[Any]
    ready: NDArray[Any]
    disturbed: NDArray[Any]
    group: NDArray[Any]
    touched: NDArray[Any]
    latency: NDArray[Any]
    latency_sum: NDArray[Any]
    inputs: NDArray[Any]
    outputs: NDArray[Any]
    wall_bin: NDArray[Any]
    cpu_bin: NDArray[Any]
    process_bin: NDArray[Any]
    wait_bin: NDArray[Any]
    emit_bin: NDArray[Any]
    complete_bin: NDArray[Any]
    transferred: NDArray[Any]
    hops: NDArray[Any]


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
        serialises: Whether that takes time anywhere, and
        deserialises: the same of deserialising.
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
    serialises: bool
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
        1,
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
        poll_timer=timers[8],
        timers=timers[9],
        look_stream=n.executors + n.processes,
        worker_streams=n.executors + n.processes + 1,
        acker_first=n.ackers.start if n.ackers else NONE,
        ackers=len(n.ackers),
        sources=n.sources,
        path_rows=n.path_rows,
        due_rows=n.path_rows + 2 * n.sources,
        reserve=n.most_messages + SPARE_MESSAGES,
        copies=n.most_messages,
        serialises=int(n.serialises),
        deserialises=int(n.deserialises),
        keeps=int(n.windows + n.join_queues > 0),
        detailed=int(n.detailed),
        labelled=int(n.windows + n.join_queues > 0 or n.detailed or n.serialises or n.deserialises),
    )


def rules_of(m: Mechanics) -> Rules:
    """A transport's figures as the kernel reads them."""
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
        sleep_jitter=m.sleep_jitter,
        sleeps=int(max(m.bolt_sleep, m.source_sleep, m.transfer_sleep) > 0.0),
        polls=int(m.poll_cores > 0.0),
        send_work=m.send_seconds,
        transfer_work=m.transfer_seconds,
        widen=m.widen_load,
        narrow=m.narrow_load,
        refresh=m.refresh_seconds,
        refresh_jitter=m.refresh_jitter,
        gossip=m.gossip_seconds,
        pressure=m.pressure_seconds,
        time_out=m.time_out_seconds,
    )


def _offsets(*sizes: int) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]
