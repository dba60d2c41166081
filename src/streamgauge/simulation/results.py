"""What a simulation found: figures of operators, executors, queues, workers and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.latencies import Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """A queue over the measured time.

    Attributes:
        arrived_per_second: Tuples that came.
        length: Mean tuples waiting.
        peak: Most tuples waiting.
        limit: Tuples that find room; None without a limit.
        wait_seconds: Mean time from arrival until the consumer took a tuple; NaN without any.
        tuples_per_object: Mean tuples that came together.
        dropped_per_second: Tuples that were thrown away for want of room.
        blocking: Threads that waited for room here, on the mean over time.
    """

    arrived_per_second: float
    length: float
    peak: int
    limit: int | None
    wait_seconds: float
    tuples_per_object: float
    dropped_per_second: float
    blocking: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorFigures:
    """One executor.

    Attributes:
        name: ``OPERATOR[FIRST-LAST]`` by its tasks.
        operator: Whose tasks it runs.
        worker: Where it runs.
        executed_per_second: Tuples and messages served.
        emitted_per_second: Tuples emitted, before copies to several subscribers.
        utilisation: Part of the time its thread worked or waited inside a service.
        cores: CPU time its thread asked for, per second.
        blocked: Part of the time its thread could not deliver.
        throttled: Part of the time a source had a tuple due that it was not allowed to emit.
        receive: Its receive queue.
        send: Its send queue, where there is one.
    """

    name: str
    operator: str
    worker: str
    executed_per_second: float
    emitted_per_second: float
    utilisation: float
    cores: float
    blocked: float
    throttled: float
    receive: QueueFigures
    send: QueueFigures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFigures:
    """What one operator did, over all its executors.

    Attributes:
        executors: How many.
        arrived_per_second: Tuples that came to its receive queues.
        executed_per_second: Tuples served.
        emitted_per_second: Tuples emitted, before copies to several subscribers.
        utilisation: Part of the time its executors were not idle; mean over them.
        busiest: The same of the busiest.
        cores: CPU time they asked for, per second.
        queue_length: Mean tuples waiting, all its receive queues together.
        wait_seconds: Mean time of a tuple in a receive queue; NaN without any.
        blocked: Part of the time its executors could not deliver; mean over them.
        blocking: Threads that waited for room in its queues, on the mean over time.
        throttled: Part of the time a source held back; mean over its executors.
        triggers_per_second: Windows that fired.
        window_tuples: Mean tuples in one; NaN without any.
        failed_per_second: Roots of a source that failed,
        timed_out_per_second: of which so many ran out of time, and
        replayed_per_second: so many were emitted again.
        dropped_per_second: Tuples thrown away before its queues.
        saturated: Whether more comes than it can serve.
        latency: From emission at the source to the end of service here; recorded at sinks.
    """

    executors: int
    arrived_per_second: float
    executed_per_second: float
    emitted_per_second: float
    utilisation: float
    busiest: float
    cores: float
    queue_length: float
    wait_seconds: float
    blocked: float
    blocking: float
    throttled: float
    triggers_per_second: float
    window_tuples: float
    failed_per_second: float
    timed_out_per_second: float
    replayed_per_second: float
    dropped_per_second: float
    saturated: bool
    latency: Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFigures:
    """One worker process.

    Attributes:
        name: ``NODE:PORT``.
        node: Where it runs.
        cores: CPU time that its threads asked for, per second.
        transfer_utilisation: Part of the time its transfer thread was not idle.
        transfer: Its transfer queue.
    """

    name: str
    node: str
    cores: float
    transfer_utilisation: float
    transfer: QueueFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFigures:
    """One machine.

    Attributes:
        name: Of the machine.
        cores: How many it has.
        background: Cores that something else keeps busy.
        busy: Cores that the job's work keeps busy.
        polling: Cores that its idle threads keep busy.
    """

    name: str
    cores: float
    background: float
    busy: float
    polling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WayFigures:
    """Latency along one way: the operators from a source to a sink.

    Attributes:
        latency: Since emission.
        since_due: Since tuples were due; none where the source emits as fast as it can.
    """

    operators: tuple[str, ...]
    latency: Latencies
    since_due: Latencies


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """How it went, in buckets from the beginning on, the warm-up included.

    Attributes:
        ends: End of each bucket in seconds.
        emitted_per_second: Tuples that sources emitted.
        arrived_per_second: Tuples that came to the end of their way.
        mean_seconds: Mean latency of these; NaN without any.
        median_seconds: Their median, and
        p99_seconds: their 99th percentile.
        queued: Tuples waiting in the receive queues of each operator at the end of a bucket.
        cores: Cores that each machine's work keeps busy.
    """

    ends: NDArray[np.float64]
    emitted_per_second: NDArray[np.float64]
    arrived_per_second: NDArray[np.float64]
    mean_seconds: NDArray[np.float64]
    median_seconds: NDArray[np.float64]
    p99_seconds: NDArray[np.float64]
    queued: Mapping[str, NDArray[np.float64]]
    cores: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """What happened after the warm-up.

    Attributes:
        seconds: Simulated time that the figures rest on.
        warmup: Simulated time that was left out before.
        settled: Whether the beginning that was left out was found to be enough.
        overloaded: Whether queues outgrew all bounds, so that the run ended early.
        hops: Deliveries into receive queues after the warm-up, acknowledgements included.
        operators: By name.
        executors: In the plan's order.
        workers: In the plan's order.
        machines: In the cluster's order.
        latency: From emission to the end of service at a sink, of all tuples.
        since_due: The same from when tuples were due: a source that is late hides nothing. None
            where a source emits as fast as it can, as no tuple of it is ever due.
        by_source: The first by source.
        ways: Both by way.
        complete: Complete latency by the ackers' clock, as Storm 2.8 reports it.
        seen_by_source: From emission until the source learned that the tree was complete.
        open_roots: Tuple trees that were not complete at the end.
        roots_emitted: Trees that were begun from the very beginning on, and how they ended:
        roots_acked: complete,
        roots_failed: failed or out of time.
        timeline: How it went.
    """

    seconds: float
    warmup: float
    settled: bool
    overloaded: bool
    hops: int
    operators: Mapping[str, OperatorFigures]
    executors: tuple[ExecutorFigures, ...]
    workers: tuple[WorkerFigures, ...]
    machines: tuple[MachineFigures, ...]
    latency: Latencies
    since_due: Latencies
    by_source: Mapping[str, Latencies]
    ways: tuple[WayFigures, ...]
    complete: Latencies
    seen_by_source: Latencies
    open_roots: int
    roots_emitted: int
    roots_acked: int
    roots_failed: int
    timeline: Timeline

    @property
    def saturated(self) -> tuple[str, ...]:
        """Operators to which more comes than they can serve."""
        return tuple(name for name, one in self.operators.items() if one.saturated)
