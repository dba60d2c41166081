"""The simulator's counters at one moment, and samples of the bucket between two moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.subjects import Rows, Subject
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.records import ON_CORE, WAITING
from streamgauge.simulation.snapshots import machine_accounts, queue_accounts, thread_accounts
from streamgauge.simulation.state import State
from streamgauge.simulation.timers import times_of

MILLISECONDS = 1e3
MICROSECONDS = 1e6
NANOSECONDS = 1e9
SQUARE_NANOSECONDS = 1e18


# Everything that is added up from the beginning on, at one moment; times in seconds.
Reading = Mapping[str, NDArray[Any]]


def take_reading(s: State, compiled: Compiled, rows: Rows) -> Reading:
    """Read everything now; what lasts is counted up to now."""
    at = compiled.program.at
    # Windows and joins are not queues of the engine.
    queue, thread = s.queue[: at.windows], thread_accounts(s)
    spent, machine = queue_accounts(s, at.windows), machine_accounts(s, thread["cpu"])
    return {
        # Simulated time, in an array of one.
        "time": s.now.copy(),
        # Counts by input; histograms of times of execution, on a core and to the ack.
        "inputs": s.inputs[rows.inputs],
        "wall_bin": s.wall_bin[rows.inputs],
        "cpu_bin": s.cpu_bin[rows.inputs],
        "process_bin": s.process_bin[rows.inputs],
        # Counts by output; histograms of what a source took for a tuple, and complete latencies.
        "outputs": s.outputs[rows.outputs],
        "emit_bin": s.emit_bin[rows.outputs],
        "complete_bin": s.complete_bin[rows.outputs],
        # By sending task, subscription and receiving task.
        "transferred": s.transferred.copy(),
        # Times in the receive queue, by executor.
        "wait_bin": s.wait_bin.copy(),
        # Of each queue: tuples that came, and lists of them; their time in it; its length over
        # time; tuples that it threw away; how long threads waited for room in it.
        "arrived": queue["arrived"].copy(),
        "objects": queue["objects"].copy(),
        "sojourn": queue["sojourn"].copy(),
        "area": spent["area"],
        "dropped": queue["dropped"].copy(),
        "caused": spent["caused"],
        # Tuples in each queue now, and how many of them are behind it.
        "length": spent["length"],
        "overflow": _overflow(queue, batched=compiled.mechanics.send_threads),
        # Time of each thread: on a core, without one that it wanted, without work, waiting for
        # room, or not allowed to emit.
        "cpu": thread["cpu"],
        "run_delay": _run_delays(s, at.thread_timers, thread),
        "idle": float(s.now[0]) - thread["busy"] - thread["blocked"],
        "blocked": thread["blocked"],
        "throttled": thread["throttled"],
        # Core-seconds of each machine: of work, and of idle threads that poll.
        "busy": machine["busy"],
        "polled": machine["polled"],
        "window": s.window.copy(),
        # Messages on each connection.
        "carried": s.link["carried"].copy(),
        # Latencies by way and bin, and their sums by way: since emission, and since due.
        "latency": s.latency[: at.path_rows].copy(),
        "latency_sum": s.latency_sum[: at.path_rows].copy(),
        "due": s.latency[at.due_rows :].copy(),
        "due_sum": s.latency_sum[at.due_rows :].copy(),
    }


def _run_delays(s: State, first_timer: int, thread: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """How long each thread wanted a core and had none: busy, but neither on one nor waiting."""
    t, now = s.thread, float(s.now[0])
    ends = times_of(s.timers, slice(first_timer, first_timer + len(t)))
    yet_to_rest = np.where(t["phase"] == ON_CORE, t["rest"], 0.0)
    yet_to_rest = np.where(t["phase"] == WAITING, ends - now, yet_to_rest)
    return np.asarray(thread["busy"] - thread["cpu"] - (t["rested"] - yet_to_rest))


def _overflow(queue: NDArray[Any], *, batched: bool) -> NDArray[Any]:
    """Tuples behind each queue: batches that found no room, or what came when it was full."""
    if batched:
        inside = queue["taken"] + queue["ring_tuples"] + queue["batch_tuples"]
        return np.asarray(queue["length"] - inside)
    return np.asarray(queue["overflow"].copy())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bucket:
    """A stretch of simulated time between two readings, and samples of it.

    Samples are of one metric for many subjects, from arrays in the order of the subjects. What did
    not change is not written: where a worker's heartbeat is, a missing delta means zero.

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
        before, after = self.before[what], self.after[what]
        return np.asarray(after - before if field is None else after[field] - before[field])

    def grown_whole(self, what: str, scale: float, field: str | None = None) -> NDArray[Any]:
        """The same in whole units: rounding is done on totals, so that buckets add up to them."""
        before, after = self.before[what], self.after[what]
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
        """One sample of this bucket."""
        return Sample(
            **subject,
            metric=metric.label,
            bin=in_bin,
            bucket_start_us=self.start_us,
            bucket_seconds=self.seconds,
            value=value,
            count=count,
        )

    def summed(
        self,
        metric: Metric,
        subjects: Sequence[Subject],
        sums: NDArray[Any],
        counts: NDArray[Any],
    ) -> Iterator[Sample]:
        """Sums over so many observations of the bucket."""
        for place in np.flatnonzero(counts).tolist():
            yield self.sample(metric, subjects[place], float(sums[place]), int(counts[place]))

    def counted(
        self, metric: Metric, subjects: Sequence[Subject], counts: NDArray[Any]
    ) -> Iterator[Sample]:
        """Exact counts of what happened during the bucket."""
        return self.summed(metric, subjects, counts, counts)

    def averaged(
        self,
        metric: Metric,
        subjects: Sequence[Subject],
        sums: NDArray[Any],
        counts: NDArray[Any],
    ) -> Iterator[Sample]:
        """Means over so many observations of the bucket."""
        return self.summed(metric, subjects, sums / np.maximum(counts, 1), counts)

    def totals(
        self, metric: Metric, subjects: Sequence[Subject], taken: NDArray[Any], each: int
    ) -> Iterator[Sample]:
        """Counts since the beginning by an engine that counts `each` for every one it looks at.

        An engine's counter is there once it has counted something.
        """
        return self.summed(metric, subjects, each * taken, taken)

    def binned(
        self, metric: Metric, subjects: Sequence[Subject], histograms: NDArray[Any]
    ) -> Iterator[Sample]:
        """Observations of the bucket by bin; a row for each subject."""
        for place, number in np.argwhere(histograms).tolist():
            count = int(histograms[place, number])
            yield self.sample(metric, subjects[place], float(count), count, number)

    def gauged(
        self, metric: Metric, subjects: Sequence[Subject], levels: NDArray[Any]
    ) -> Iterator[Sample]:
        """Levels, each read once."""
        for subject, level in zip(subjects, levels.tolist(), strict=True):
            yield self.sample(metric, subject, float(level), 1)

    def spent(
        self, metric: Metric, subjects: Sequence[Subject], nanoseconds: NDArray[Any]
    ) -> Iterator[Sample]:
        """Time on an account that is read once a bucket, and never runs backwards."""
        for subject, time in zip(subjects, nanoseconds.tolist(), strict=True):
            yield self.sample(metric, subject, max(float(time), 0.0), 1)
