"""The simulator's counters at one moment, and what two moments say of the bucket between them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.subjects import Rows, Subject
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.snapshots import machine_accounts, queue_accounts, thread_accounts
from streamgauge.simulation.state import State

MILLISECONDS = 1e3
MICROSECONDS = 1e6
NANOSECONDS = 1e9
SQUARE_NANOSECONDS = 1e18


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Everything that is added up from the beginning on, at one moment; times in seconds.

    Attributes:
        time: Simulated time, in an array of one.
        inputs: Counts by input, and histograms of
        wall_bin: their execution times,
        cpu_bin: times on a core, and
        process_bin: times to the ack.
        outputs: Counts by output, and histograms of
        emit_bin: what a source took for a tuple, and
        complete_bin: complete latencies.
        wait_bin: Times in the receive queue, by executor.
        transferred: By sending task, subscription and receiving task.
        arrived: Tuples that came to each queue,
        objects: lists of them,
        sojourn: their time in it,
        area: its length over time,
        dropped: tuples that it threw away, and
        caused: how long threads waited for room in it.
        length: Tuples in each queue now, and
        overflow: how many of them are behind it.
        cpu: Spent by each thread on a core,
        idle: with nothing to do,
        blocked: waiting for room, and
        throttled: of a source that was not allowed to emit.
        busy: Core-seconds of work on each machine, and
        polled: of its idle threads.
        window: Counts of each window.
        carried: Messages on each connection.
        latency: Latencies by way and bin, and
        latency_sum: their sums.
    """

    time: NDArray[Any]
    inputs: NDArray[Any]
    wall_bin: NDArray[Any]
    cpu_bin: NDArray[Any]
    process_bin: NDArray[Any]
    outputs: NDArray[Any]
    emit_bin: NDArray[Any]
    complete_bin: NDArray[Any]
    wait_bin: NDArray[Any]
    transferred: NDArray[Any]
    arrived: NDArray[Any]
    objects: NDArray[Any]
    sojourn: NDArray[Any]
    area: NDArray[Any]
    dropped: NDArray[Any]
    caused: NDArray[Any]
    length: NDArray[Any]
    overflow: NDArray[Any]
    cpu: NDArray[Any]
    idle: NDArray[Any]
    blocked: NDArray[Any]
    throttled: NDArray[Any]
    busy: NDArray[Any]
    polled: NDArray[Any]
    window: NDArray[Any]
    carried: NDArray[Any]
    latency: NDArray[Any]
    latency_sum: NDArray[Any]

    def beginning(self) -> Reading:
        """The same before anything happened."""
        nothing = {one.name: np.zeros_like(getattr(self, one.name)) for one in fields(self)}
        return replace(self, **nothing)


def take_reading(s: State, compiled: Compiled, rows: Rows) -> Reading:
    """Read everything now; what lasts is counted up to now."""
    at = compiled.program.at
    # Windows and joins are not queues of the engine.
    queue, thread = s.queue[: at.windows], thread_accounts(s)
    spent, machine = queue_accounts(s, at.windows), machine_accounts(s, thread["cpu"])
    return Reading(
        time=s.now.copy(),
        inputs=s.inputs[rows.inputs],
        wall_bin=s.wall_bin[rows.inputs],
        cpu_bin=s.cpu_bin[rows.inputs],
        process_bin=s.process_bin[rows.inputs],
        outputs=s.outputs[rows.outputs],
        emit_bin=s.emit_bin[rows.outputs],
        complete_bin=s.complete_bin[rows.outputs],
        wait_bin=s.wait_bin.copy(),
        transferred=s.transferred.copy(),
        arrived=queue["arrived"].copy(),
        objects=queue["objects"].copy(),
        sojourn=queue["sojourn"].copy(),
        area=spent["area"],
        dropped=queue["dropped"].copy(),
        caused=spent["caused"],
        length=spent["length"],
        overflow=_overflow(queue, batched=compiled.mechanics.send_threads),
        cpu=thread["cpu"],
        idle=float(s.now[0]) - thread["busy"] - thread["blocked"],
        blocked=thread["blocked"],
        throttled=thread["throttled"],
        busy=machine["busy"],
        polled=machine["polled"],
        window=s.window.copy(),
        carried=s.link["carried"].copy(),
        latency=s.latency[: at.path_rows].copy(),
        latency_sum=s.latency_sum[: at.path_rows].copy(),
    )


def _overflow(queue: NDArray[Any], *, batched: bool) -> NDArray[Any]:
    """Tuples behind each queue: batches that found no room, or what came when it was full."""
    if batched:
        inside = queue["taken"] + queue["ring_tuples"] + queue["batch_tuples"]
        return np.asarray(queue["length"] - inside)
    return np.asarray(queue["overflow"].copy())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bucket:
    """A stretch of simulated time between two readings.

    Attributes:
        before: At its beginning.
        after: At its end.
        start_us: When it began, in microseconds since 1970.
        seconds: How long it lasted, by whole microseconds.
    """

    before: Reading
    after: Reading
    start_us: int
    seconds: float

    def grown(self, what: str, field: str | None = None) -> NDArray[Any]:
        """What was added during the bucket."""
        before, after = getattr(self.before, what), getattr(self.after, what)
        return np.asarray(after - before if field is None else after[field] - before[field])

    def grown_whole(self, what: str, scale: float, field: str | None = None) -> NDArray[Any]:
        """The same in whole units: rounding is done on totals, so that buckets add up to them."""
        before, after = getattr(self.before, what), getattr(self.after, what)
        if field is not None:
            before, after = before[field], after[field]
        return np.asarray(np.rint(after * scale) - np.rint(before * scale))

    def sample(
        self,
        metric: Metric,
        subject: Subject,
        value: float,
        count: int,
        in_bin: int | None = None,
    ) -> Sample:
        """A sample of this bucket."""
        return Sample(
            **subject,
            metric=metric.label,
            bin=in_bin,
            bucket_start_us=self.start_us,
            bucket_seconds=self.seconds,
            value=value,
            count=count,
        )
