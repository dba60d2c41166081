"""What tasks do: tuples that come and go, roots, times of executions, windows, latency at sinks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.readings import (
    MILLISECONDS,
    NANOSECONDS,
    SQUARE_NANOSECONDS,
    Bucket,
)
from streamgauge.engines.emulator.subjects import Rows, Subject, Subjects
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.binning import BINS, COARSE_BINS
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.trees import SAMPLING

# Eight of the simulator's bins make one of the lake's; the first is the same.
_COARSE = (np.arange(BINS) + 7) >> 3
# Metric, the simulator's sum, its unit, and the count that goes with it.
_INPUT_SUMS = (
    (Metric.EXECUTE_LATENCY_SUM, "wall", NANOSECONDS, "executed"),
    (Metric.EXECUTE_LATENCY_SQUARES, "wall_squares", SQUARE_NANOSECONDS, "executed"),
    (Metric.EXECUTE_CPU_SUM, "cpu", NANOSECONDS, "executed"),
    (Metric.EXECUTE_CPU_SQUARES, "cpu_squares", SQUARE_NANOSECONDS, "executed"),
    (Metric.PROCESS_LATENCY_SUM, "process", NANOSECONDS, "acked"),
    (Metric.PROCESS_LATENCY_SQUARES, "process_squares", SQUARE_NANOSECONDS, "acked"),
)
# The same by the emissions of sources.
_EMIT_SUMS = (
    (Metric.EMIT_LATENCY_SUM, "wall", NANOSECONDS),
    (Metric.EMIT_LATENCY_SQUARES, "wall_squares", SQUARE_NANOSECONDS),
    (Metric.EMIT_CPU_SUM, "cpu", NANOSECONDS),
    (Metric.EMIT_CPU_SQUARES, "cpu_squares", SQUARE_NANOSECONDS),
)
# And by windows.
_WINDOW_SUMS = (
    (Metric.WINDOW_LATENCY_SUM, "wall", NANOSECONDS),
    (Metric.WINDOW_LATENCY_SQUARES, "wall_squares", SQUARE_NANOSECONDS),
    (Metric.WINDOW_CPU_SUM, "cpu", NANOSECONDS),
    (Metric.WINDOW_CPU_SQUARES, "cpu_squares", SQUARE_NANOSECONDS),
)
_COMPLETE_SUMS = (
    (Metric.COMPLETE_LATENCY_SUM, "complete", NANOSECONDS),
    (Metric.COMPLETE_LATENCY_SQUARES, "complete_squares", SQUARE_NANOSECONDS),
)
_ROOT_SUMS = (
    (Metric.ROOT_LATENCY_SUM, "seen", NANOSECONDS),
    (Metric.ROOT_LATENCY_SQUARES, "seen_squares", SQUARE_NANOSECONDS),
)
# Sums and histograms of what the simulator keeps as `latency` and as `due`.
_SINCE_EMISSION = (Metric.END_TO_END_LATENCY_SUM, Metric.END_TO_END_LATENCY_BIN)
_SINCE_DUE = (Metric.SINCE_DUE_LATENCY_SUM, Metric.SINCE_DUE_LATENCY_BIN)
_ROOT_COUNTS = (
    Metric.ROOTS_ACKED,
    Metric.ROOTS_FAILED,
    Metric.ROOTS_TIMED_OUT,
    Metric.ROOTS_REPLAYED,
)


class EvenSampler:
    """How Storm counts: one tuple in twenty, and that twenty times; for many counters.

    Storm's samplers look at exactly one tuple in each window of twenty, at a place drawn anew for
    each window (`ConfigUtils.evenSampler`). A total that such a sampler counts is never further
    than one window from the truth.
    """

    def __init__(self, random: np.random.Generator, counters: int) -> None:
        self._random = random
        self._window = np.full(counters, -1)
        self._place = np.zeros(counters, dtype=np.int64)

    def taken(self, counts: NDArray[Any]) -> NDArray[Any]:
        """How many each one has looked at when so many have come; counts never fall.

        Of a window that is over exactly one was looked at, wherever it stood; so only the place in
        the window at hand has to be drawn.
        """
        window, passed = np.divmod(counts, SAMPLING)
        entered = np.flatnonzero(window != self._window)
        self._place[entered] = self._random.integers(0, SAMPLING, len(entered))
        self._window = window
        return np.asarray(window + (passed > self._place))


class TaskSamples:
    """Samples of tasks; the engine's own counters, which sample, make it remember."""

    def __init__(
        self, subjects: Subjects, compiled: Compiled, rows: Rows, random: np.random.Generator
    ) -> None:
        self._subjects = subjects
        self._rows = rows
        self._acked = compiled.program.at.ackers > 0
        self._windows = [subjects.tasks[task] for task, _ in compiled.windows]
        self._emitted = EvenSampler(random, len(rows.outputs))
        self._failed = EvenSampler(random, len(rows.inputs))
        self._roots_acked = EvenSampler(random, len(rows.emissions))
        self._roots_failed = EvenSampler(random, len(rows.emissions))

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
            yield from bucket.counted(metric, who, grown[metric.label])
        for metric, field, scale, count in _INPUT_SUMS:
            sums = bucket.grown_whole("inputs", scale, field)
            yield from bucket.summed(metric, who, sums, grown[count])
        yield from bucket.binned(Metric.EXECUTE_LATENCY_BIN, who, bucket.grown("wall_bin"))
        yield from bucket.binned(Metric.EXECUTE_CPU_BIN, who, bucket.grown("cpu_bin"))
        yield from bucket.binned(Metric.PROCESS_LATENCY_BIN, who, bucket.grown("process_bin"))

    def _engine_inputs(self, bucket: Bucket) -> Iterator[Sample]:
        """What the engine says of inputs by its own counters, which sample."""
        who, now = self._rows.input_subjects, bucket.after["inputs"]
        failed = self._failed.taken(now["failed"])
        yield from bucket.totals(Metric.EXECUTED_TOTAL, who, now["sampled"], SAMPLING)
        yield from bucket.totals(Metric.ACKED_TOTAL, who, now["sampled_processes"], SAMPLING)
        yield from bucket.totals(Metric.FAILED_TOTAL, who, failed, SAMPLING)
        for metric, sums, counts in (
            (Metric.EXECUTE_LATENCY_MEAN, "sampled_wall", "sampled"),
            (Metric.PROCESS_LATENCY_MEAN, "sampled_process", "sampled_processes"),
        ):
            yield from bucket.averaged(
                metric, who, bucket.grown("inputs", sums), bucket.grown("inputs", counts)
            )

    def _outputs(self, bucket: Bucket) -> Iterator[Sample]:
        rows, who, now = self._rows, self._rows.output_subjects, bucket.after["outputs"]
        emitted = bucket.grown("outputs", "emitted")
        yield from bucket.counted(Metric.EMITTED, who, emitted)
        yield from bucket.counted(Metric.SENT, who, bucket.grown("outputs", "sent"))
        sizes = bucket.grown_whole("outputs", 1.0, "size")
        sized = np.where(rows.sized, emitted, 0)
        yield from bucket.summed(Metric.EMITTED_BYTES, who, sizes, sized)
        taken = self._emitted.taken(now["emitted"])
        # Every tuple of a task's stream has as many copies as the others.
        copies = now["sent"] // np.maximum(now["emitted"], 1)
        yield from bucket.totals(Metric.EMITTED_TOTAL, who, taken, SAMPLING)
        yield from bucket.totals(Metric.SENT_TOTAL, who, copies * taken, SAMPLING)

    def _transfers(self, bucket: Bucket) -> Iterator[Sample]:
        grown = bucket.grown("transferred")
        places = np.flatnonzero(grown)
        who = [self._rows.transfer(place) for place in places.tolist()]
        yield from bucket.counted(Metric.TRANSFERRED, who, grown[places])

    def _emissions(self, bucket: Bucket) -> Iterator[Sample]:
        mine, who = self._rows.emissions, self._rows.emission_subjects
        yield from self._sums(bucket, _EMIT_SUMS, bucket.grown("outputs", "emitted")[mine])
        yield from bucket.binned(Metric.EMIT_LATENCY_BIN, who, bucket.grown("emit_bin")[mine])

    def _sums(
        self, bucket: Bucket, sums: Iterable[tuple[Metric, str, float]], counts: NDArray[Any]
    ) -> Iterator[Sample]:
        """Sums by the emissions of sources, over so many observations."""
        for metric, field, scale in sums:
            grown = bucket.grown_whole("outputs", scale, field)[self._rows.emissions]
            yield from bucket.summed(metric, self._rows.emission_subjects, grown, counts)

    def _roots(self, bucket: Bucket) -> Iterator[Sample]:
        who = self._rows.emission_subjects
        before, after = (
            reading["outputs"][self._rows.emissions] for reading in (bucket.before, bucket.after)
        )
        bins = bucket.grown("complete_bin")[self._rows.emissions]
        for metric in _ROOT_COUNTS:
            yield from bucket.counted(metric, who, after[metric.label] - before[metric.label])
        for metric, sampler, field in (
            (Metric.ROOTS_ACKED_TOTAL, self._roots_acked, "roots_acked"),
            (Metric.ROOTS_FAILED_TOTAL, self._roots_failed, "roots_failed"),
        ):
            yield from bucket.totals(metric, who, sampler.taken(after[field]), SAMPLING)
        yield from self._sums(bucket, _COMPLETE_SUMS, bins.sum(axis=1))
        yield from self._sums(bucket, _ROOT_SUMS, after["roots_acked"] - before["roots_acked"])
        yield from bucket.binned(Metric.COMPLETE_LATENCY_BIN, who, bins)
        yield from bucket.averaged(
            Metric.COMPLETE_LATENCY_MEAN,
            who,
            after["sampled_complete"] - before["sampled_complete"],
            after["sampled_roots"] - before["sampled_roots"],
        )
        yield from self._pending(bucket)

    def _pending(self, bucket: Bucket) -> Iterator[Sample]:
        """Roots that every task of a source has open now: begun and not ended."""
        now = bucket.after["outputs"]
        pending: dict[int, int] = {}
        for place in self._rows.emissions.tolist():
            row = now[place]
            left = int(row["emitted"]) - int(row["roots_acked"]) - int(row["roots_failed"])
            task = self._rows.output_tasks[place]
            pending[task] = pending.get(task, 0) + left
        who = [self._subjects.tasks[task] for task in pending]
        yield from bucket.gauged(Metric.ROOTS_PENDING, who, np.asarray([*pending.values()]))

    def _triggers(self, bucket: Bucket) -> Iterator[Sample]:
        who = self._windows
        triggers = bucket.grown("window", "triggers")
        means = bucket.grown("window", "wall") * MILLISECONDS
        yield from bucket.counted(Metric.WINDOW_TRIGGERS, who, triggers)
        yield from bucket.counted(Metric.WINDOW_TUPLES, who, bucket.grown("window", "tuples"))
        for metric, field, scale in _WINDOW_SUMS:
            yield from bucket.summed(
                metric, who, bucket.grown_whole("window", scale, field), triggers
            )
        yield from bucket.averaged(Metric.WINDOW_LATENCY_MEAN, who, means, triggers)


class SinkSamples:
    """Samples of the latency from every source to every sink of one task, since emission and due.

    The simulator keeps it by the way that a tuple came, not by task: it is written for sinks that
    have one task. Tuples of a source that emits as fast as it can are never due.
    """

    def __init__(self, subjects: Subjects, compiled: Compiled) -> None:
        logical = subjects.plan.logical
        first_task = logical.executors[0].first_task
        ways: dict[tuple[str, str], list[int]] = {}
        for row, way in enumerate(compiled.ways.rows):
            if len(logical.tasks_of(way[-1])) == 1:
                ways.setdefault((way[0], way[-1]), []).append(row)
        self._ways = list(ways.values())
        self._who: list[Subject] = [
            {
                **subjects.tasks[logical.tasks_of(sink).start - first_task],
                "source_component": source,
            }
            for source, sink in ways
        ]
        self._paced = [
            place for place, (source, _) in enumerate(ways) if source not in compiled.eager_sources
        ]

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        if not self._ways:
            return
        yield from self._times(bucket, "latency", _SINCE_EMISSION, range(len(self._ways)))
        yield from self._times(bucket, "due", _SINCE_DUE, self._paced)

    def _times(
        self, bucket: Bucket, what: str, metrics: tuple[Metric, Metric], places: Sequence[int]
    ) -> Iterator[Sample]:
        sums = bucket.grown_whole(f"{what}_sum", NANOSECONDS)
        fine = bucket.grown(what)
        histograms = np.zeros((len(places), COARSE_BINS), dtype=np.int64)
        totals = np.zeros(len(places))
        for row, place in enumerate(places):
            np.add.at(histograms[row], _COARSE, fine[self._ways[place]].sum(axis=0))
            totals[row] = sums[self._ways[place]].sum()
        who = [self._who[place] for place in places]
        summed, binned = metrics
        yield from bucket.summed(summed, who, totals, histograms.sum(axis=1))
        yield from bucket.binned(binned, who, histograms)
