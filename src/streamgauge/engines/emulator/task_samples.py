"""What tasks do: tuples that come and go, roots, times of executions, windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamgauge.engines.emulator.readings import (
    MILLISECONDS,
    NANOSECONDS,
    SQUARE_NANOSECONDS,
    Bucket,
)
from streamgauge.engines.emulator.sampling import EvenSampler
from streamgauge.engines.emulator.series import averaged, binned, counted, gauged, summed, totals
from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.trees import SAMPLING

# Metric, the simulator's sum, its unit, and the count that goes with it.
_INPUT_SUMS = (
    (Metric.EXECUTE_LATENCY_SUM, "wall", NANOSECONDS, "executed"),
    (Metric.EXECUTE_LATENCY_SQUARES, "wall_squares", SQUARE_NANOSECONDS, "executed"),
    (Metric.EXECUTE_CPU_SUM, "cpu", NANOSECONDS, "executed"),
    (Metric.EXECUTE_CPU_SQUARES, "cpu_squares", SQUARE_NANOSECONDS, "executed"),
    (Metric.PROCESS_LATENCY_SUM, "process", NANOSECONDS, "acked"),
    (Metric.PROCESS_LATENCY_SQUARES, "process_squares", SQUARE_NANOSECONDS, "acked"),
)
_EMISSION_SUMS = (
    (Metric.EMIT_LATENCY_SUM, "wall", NANOSECONDS),
    (Metric.EMIT_LATENCY_SQUARES, "wall_squares", SQUARE_NANOSECONDS),
    (Metric.EMIT_CPU_SUM, "cpu", NANOSECONDS),
    (Metric.EMIT_CPU_SQUARES, "cpu_squares", SQUARE_NANOSECONDS),
)


class TaskSamples:
    """Samples of tasks; the engine's own counters make it remember.

    Args:
        subjects: Who there is.
        compiled: What the simulator's numbers mean.
        rows: Which of its rows count.
        random: For the engine's sampling.
    """

    def __init__(
        self, subjects: Subjects, compiled: Compiled, rows: Rows, random: np.random.Generator
    ) -> None:
        self._subjects = subjects
        self._rows = rows
        self._acked = compiled.program.at.ackers > 0
        self._windows = [subjects.tasks[task] for task, _ in compiled.windows]
        outputs, sources = len(rows.outputs), len(rows.emissions)
        self._emitted = EvenSampler(random, outputs)
        self._failed = EvenSampler(random, len(rows.inputs))
        self._roots_acked = EvenSampler(random, sources)
        self._roots_failed = EvenSampler(random, sources)

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        yield from self._inputs(bucket)
        yield from self._engine_inputs(bucket)
        yield from self._outputs(bucket)
        yield from self._transfers(bucket)
        yield from self._emissions(bucket)
        if self._acked:
            yield from self._roots(bucket)
        if self._windows:
            yield from self._triggers(bucket)

    def _inputs(self, bucket: Bucket) -> Iterator[Sample]:
        who = self._rows.input_subjects
        grown = {field: bucket.grown("inputs", field) for field in ("executed", "acked", "failed")}
        for metric in (Metric.EXECUTED, Metric.ACKED, Metric.FAILED):
            yield from counted(bucket, metric, who, grown[metric.label])
        for metric, field, scale, count in _INPUT_SUMS:
            sums = bucket.grown_whole("inputs", scale, field)
            yield from summed(bucket, metric, who, sums, grown[count])
        yield from binned(bucket, Metric.EXECUTE_LATENCY_BIN, who, bucket.grown("wall_bin"))
        yield from binned(bucket, Metric.EXECUTE_CPU_BIN, who, bucket.grown("cpu_bin"))
        yield from binned(bucket, Metric.PROCESS_LATENCY_BIN, who, bucket.grown("process_bin"))

    def _engine_inputs(self, bucket: Bucket) -> Iterator[Sample]:
        """What the engine says of inputs by its own counters, which sample."""
        who, now = self._rows.input_subjects, bucket.after.inputs
        failed = self._failed.taken(now["failed"])
        yield from totals(bucket, Metric.EXECUTED_TOTAL, who, now["sampled"], SAMPLING)
        yield from totals(bucket, Metric.ACKED_TOTAL, who, now["sampled_processes"], SAMPLING)
        yield from totals(bucket, Metric.FAILED_TOTAL, who, failed, SAMPLING)
        for metric, sums, counts in (
            (Metric.EXECUTE_LATENCY_MEAN, "sampled_wall", "sampled"),
            (Metric.PROCESS_LATENCY_MEAN, "sampled_process", "sampled_processes"),
        ):
            yield from averaged(
                bucket, metric, who, bucket.grown("inputs", sums), bucket.grown("inputs", counts)
            )

    def _outputs(self, bucket: Bucket) -> Iterator[Sample]:
        rows, who, now = self._rows, self._rows.output_subjects, bucket.after.outputs
        emitted = bucket.grown("outputs", "emitted")
        yield from counted(bucket, Metric.EMITTED, who, emitted)
        yield from counted(bucket, Metric.SENT, who, bucket.grown("outputs", "sent"))
        sizes = bucket.grown_whole("outputs", 1.0, "size")
        sized = np.where(rows.sized, emitted, 0)
        yield from summed(bucket, Metric.EMITTED_BYTES, who, sizes, sized)
        taken = self._emitted.taken(now["emitted"])
        # Every tuple of a task's stream has as many copies as the others.
        copies = now["sent"] // np.maximum(now["emitted"], 1)
        yield from totals(bucket, Metric.EMITTED_TOTAL, who, taken, SAMPLING)
        yield from totals(bucket, Metric.SENT_TOTAL, who, copies * taken, SAMPLING)

    def _transfers(self, bucket: Bucket) -> Iterator[Sample]:
        grown = bucket.grown("transferred")
        places = np.flatnonzero(grown)
        who = [self._rows.transfer(place) for place in places.tolist()]
        yield from counted(bucket, Metric.TRANSFERRED, who, grown[places])

    def _emissions(self, bucket: Bucket) -> Iterator[Sample]:
        mine = self._rows.emissions
        who = [self._rows.output_subjects[place] for place in mine.tolist()]
        emitted = bucket.grown("outputs", "emitted")[mine]
        for metric, field, scale in _EMISSION_SUMS:
            sums = bucket.grown_whole("outputs", scale, field)[mine]
            yield from summed(bucket, metric, who, sums, emitted)
        yield from binned(bucket, Metric.EMIT_LATENCY_BIN, who, bucket.grown("emit_bin")[mine])

    def _roots(self, bucket: Bucket) -> Iterator[Sample]:
        mine = self._rows.emissions
        who = [self._rows.output_subjects[place] for place in mine.tolist()]
        now = bucket.after.outputs[mine]
        for metric in (
            Metric.ROOTS_ACKED,
            Metric.ROOTS_FAILED,
            Metric.ROOTS_TIMED_OUT,
            Metric.ROOTS_REPLAYED,
        ):
            yield from counted(bucket, metric, who, bucket.grown("outputs", metric.label)[mine])
        for metric, sampler, field in (
            (Metric.ROOTS_ACKED_TOTAL, self._roots_acked, "roots_acked"),
            (Metric.ROOTS_FAILED_TOTAL, self._roots_failed, "roots_failed"),
        ):
            yield from totals(bucket, metric, who, sampler.taken(now[field]), SAMPLING)
        yield from self._root_latencies(bucket)
        yield from self._pending(bucket)

    def _root_latencies(self, bucket: Bucket) -> Iterator[Sample]:
        mine = self._rows.emissions
        who = [self._rows.output_subjects[place] for place in mine.tolist()]
        seen, bins = bucket.grown("outputs", "roots_acked"), bucket.grown("complete_bin")
        for metric, field, scale, counts in (
            (Metric.COMPLETE_LATENCY_SUM, "complete", NANOSECONDS, bins.sum(axis=1)),
            (
                Metric.COMPLETE_LATENCY_SQUARES,
                "complete_squares",
                SQUARE_NANOSECONDS,
                bins.sum(axis=1),
            ),
            (Metric.ROOT_LATENCY_SUM, "seen", NANOSECONDS, seen),
            (Metric.ROOT_LATENCY_SQUARES, "seen_squares", SQUARE_NANOSECONDS, seen),
        ):
            sums = bucket.grown_whole("outputs", scale, field)[mine]
            yield from summed(bucket, metric, who, sums, counts[mine])
        yield from binned(bucket, Metric.COMPLETE_LATENCY_BIN, who, bins[mine])
        yield from averaged(
            bucket,
            Metric.COMPLETE_LATENCY_MEAN,
            who,
            bucket.grown("outputs", "sampled_complete")[mine],
            bucket.grown("outputs", "sampled_roots")[mine],
        )

    def _pending(self, bucket: Bucket) -> Iterator[Sample]:
        """Roots that every task of a source has open now: begun and not ended."""
        now = bucket.after.outputs
        pending: dict[int, int] = {}
        for place in self._rows.emissions.tolist():
            row = now[place]
            left = int(row["emitted"]) - int(row["roots_acked"]) - int(row["roots_failed"])
            task = self._rows.output_tasks[place]
            pending[task] = pending.get(task, 0) + left
        who = [self._subjects.tasks[task] for task in pending]
        yield from gauged(bucket, Metric.ROOTS_PENDING, who, np.asarray([*pending.values()]))

    def _triggers(self, bucket: Bucket) -> Iterator[Sample]:
        who = self._windows
        triggers = bucket.grown("window", "triggers")
        service = bucket.grown_whole("window", NANOSECONDS, "service")
        means = bucket.grown("window", "service") * MILLISECONDS
        yield from counted(bucket, Metric.WINDOW_TRIGGERS, who, triggers)
        yield from counted(bucket, Metric.WINDOW_TUPLES, who, bucket.grown("window", "tuples"))
        yield from summed(bucket, Metric.WINDOW_LATENCY_SUM, who, service, triggers)
        yield from averaged(bucket, Metric.WINDOW_LATENCY_MEAN, who, means, triggers)
