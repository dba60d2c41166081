"""From the folder of an experiment to its truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamgauge.experiments.figures import (
    ALL,
    FigureKind,
    Figures,
    Key,
    Value,
    clean_ground_truth,
    compute_figures,
    compute_latencies,
    find_covered_seconds,
    list_marks,
)
from streamgauge.experiments.journal import VERSION as JOURNAL_VERSION
from streamgauge.experiments.journal import Journal, Repetition
from streamgauge.experiments.phases import list_phases
from streamgauge.experiments.readings import Readings
from streamgauge.experiments.stages import compute_stages
from streamgauge.experiments.studies import EventRule
from streamgauge.experiments.study_results import find_events
from streamgauge.experiments.truth import (
    Course,
    RepetitionTruth,
    Truth,
    WindowTruth,
    summarise_step,
)
from streamgauge.experiments.windows import NANOSECONDS, Placement, Span, WindowReadings
from streamgauge.models.engine_costs import Seen
from streamgauge.profile.job import Job
from streamgauge.topology.files.document import dump_json, write_whole

Vector = NDArray[np.float64]

NAME = "truth.json"
# Version 2: `latency` counts from emission on every engine, and there is `latency-since-due`.
VERSION = 2
EARLIER = (
    "measured by an earlier version of Streamgauge: there is no latency since due, and on Storm"
    " what is called latency counts from when tuples were due"
)
# Executors held back on the mean over a bucket: below this, none were.
HELD = 1e-9


def observe(journal: Journal, folder: Path) -> Truth:
    """What the raw lines of all repetitions that are done come to."""
    return gather_truth(journal, lambda one: observe_repetition(journal, one, folder))


def gather_truth(journal: Journal, observe_one: Callable[[Repetition], RepetitionTruth]) -> Truth:
    """The truth of all repetitions that are done, each observed in a way of its own."""
    steps = []
    for step in journal.experiment.steps:
        repetitions = [observe_one(repetition) for repetition in journal.of_step(step.name)]
        if repetitions:
            steps.append(summarise_step(step.name, repetitions))
    return Truth(
        experiment=journal.experiment.name,
        engine=journal.engine,
        steps=tuple(steps),
        left=len(journal.left),
    )


def observe_and_keep(journal: Journal, folder: Path) -> Truth:
    """The same, written beside the raw lines."""
    truth = observe(journal, folder)
    document = {"streamgauge_truth": VERSION, **truth.to_dict()}
    write_whole(folder / NAME, dump_json(document))
    return truth


def observe_repetition(
    journal: Journal, repetition: Repetition, folder: Path, *, stages: bool = False
) -> RepetitionTruth:
    """What the raw lines of one repetition come to; stage by stage where asked."""
    experiment, is_earlier = journal.experiment, journal.version < JOURNAL_VERSION
    job = experiment.step(repetition.turn.step).job
    placement, span = _find_span(journal, repetition)
    readings = Readings(
        placement, span, stages=stages, engine_statistics=experiment.engine_statistics
    )
    readings.read(folder / repetition.folder)
    windows = []
    for place, window in enumerate(readings.windows):
        start = repetition.measured_from + timedelta(seconds=place * span.window_seconds)
        windows.append(
            WindowTruth(
                start=start.isoformat(),
                seconds=span.window_seconds,
                marks=list_marks(window, placement, span, experiment.marking),
                figures=compute_figures(window, placement, span)
                | _list_engine_statistics(readings, place),
            )
        )
    good = [place for place, truth in enumerate(windows) if not truth.marks]
    pooled = _pool_windows([readings.windows[place] for place in good])
    course = _compute_course(readings)
    return RepetitionTruth(
        turn=repetition.turn,
        began_at=repetition.began_at.isoformat(),
        windows=tuple(windows),
        pooled={
            **dict(compute_latencies(pooled)),
            **_find_held_back(course),
            **_compute_stages(readings, pooled, good, job),
        },
        course=course,
        notes=(
            *repetition.notes,
            *([EARLIER] if is_earlier else []),
            *_list_holes(readings),
            *_list_repeats(readings),
        ),
        faults=tuple(_list_holes(readings)),
    )


def observe_phases(journal: Journal, repetition: Repetition, folder: Path) -> list[Seen]:
    """What executors and workers used in the windows of a repetition that count, and for what."""
    placement, span = _find_span(journal, repetition)
    readings = Readings(placement, span, phases=True)
    readings.read(folder / repetition.folder)
    assert readings.phases is not None
    good = [
        place
        for place, window in enumerate(readings.windows)
        if not list_marks(window, placement, span, journal.experiment.marking)
    ]
    return list_phases(
        readings.phases.pool(good),
        journal.experiment.step(repetition.turn.step).job,
        placement,
        math.fsum(find_covered_seconds(readings.windows[place], placement, span) for place in good),
    )


def _find_span(journal: Journal, repetition: Repetition) -> tuple[Placement, Span]:
    """Who ran where in a repetition, and its windows."""
    experiment = journal.experiment
    job = experiment.step(repetition.turn.step).job
    workload = None if journal.version < JOURNAL_VERSION else job.workload
    span = Span.of(
        repetition.measured_from,
        windows=experiment.windows,
        window_seconds=experiment.window_seconds,
        bucket_seconds=experiment.bucket_seconds,
    )
    return Placement.of(job.topology, repetition.executors, workload), span


def _list_engine_statistics(readings: Readings, place: int) -> Figures:
    if readings.engine is None:
        return {}
    span = readings.span
    seconds = find_covered_seconds(readings.windows[place], readings.placement, span)
    return readings.engine.list_figures(place, seconds, span.bucket_seconds)


def _compute_stages(
    readings: Readings, pooled: WindowReadings, good: list[int], job: Job
) -> Figures:
    """Figures of stages in the windows that count; none where they were not asked for."""
    if readings.stages is None or job.workload is None:
        return {}
    windows = [readings.windows[place] for place in good]
    rates = [emission.per_second for emission in job.workload.emissions]
    return {
        **compute_stages(
            readings.stages.pool(good),
            job.topology,
            readings.placement,
            seconds=math.fsum(
                find_covered_seconds(window, readings.placement, readings.span)
                for window in windows
            ),
            due_per_second=math.fsum(math.nan if rate is None else rate for rate in rates),
        ),
        **dict(clean_ground_truth(pooled)),
    }


def _pool_windows(windows: list[WindowReadings]) -> WindowReadings:
    """Latencies of several windows together."""
    together = WindowReadings()
    for window in windows:
        for ends, times in window.to_sinks.items():
            together.to_sinks[ends].merge(times)
        for way, times in window.on_paths.items():
            together.on_paths[way].merge(times)
        for source, times in window.trees.items():
            together.trees[source].merge(times)
    return together


def _find_held_back(course: Course) -> Figures:
    """How often executors were held back, and how long; marked windows included."""
    events = find_events(
        course.held, course.bucket_seconds, enter=0.0, leave=HELD, rule=EventRule()
    )
    seconds = math.fsum(event.seconds for event in events)
    return {
        Key(FigureKind.BACK_PRESSURE, ALL, "events"): Value(float(len(events)), len(events)),
        Key(FigureKind.BACK_PRESSURE, ALL, "event_seconds"): Value(seconds, len(events)),
    }


def _compute_course(readings: Readings) -> Course:
    series, span = readings.series, readings.span
    told = series if series.arrived.any() else readings.traced_series
    return Course(
        bucket_seconds=span.bucket_seconds,
        latency_seconds=_divide_latency(told.latency_ns, told.arrived),
        since_due_seconds=_divide_latency(told.due_ns, told.due_arrived),
        emitted_per_second=tuple((series.emitted / span.bucket_seconds).tolist()),
        held=tuple((series.held_ns / (span.bucket_seconds * NANOSECONDS)).tolist()),
    )


def _divide_latency(total_ns: Vector, arrived: Vector) -> tuple[float, ...]:
    mean = np.full(len(arrived), np.nan)
    some = arrived > 0.0
    mean[some] = total_ns[some] / arrived[some] / NANOSECONDS
    return tuple(mean.tolist())


def _list_holes(readings: Readings) -> list[str]:
    holes = [f"read only in part: {fault}" for fault in readings.faults]
    if readings.rejected:
        holes.append(f"{readings.rejected:,} of {readings.lines:,} lines are not valid records")
    return holes


def _list_repeats(readings: Readings) -> list[str]:
    if not readings.repeated:
        return []
    return [f"{readings.repeated:,} of {readings.lines:,} lines are duplicates; each counts once"]
