"""The truth of a step: the median over its windows, with its spread and its floor.

The floor is the error of predicting a repetition by another one of the same step. No prediction can
be expected to come nearer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np

from streamgauge.experiments.experiment import Turn
from streamgauge.experiments.figures import TAIL, FigureKind, Figures, Key, Value

WINDOWS = "windows"
REPETITIONS = "repetitions"
# Of these, what did not happen has no line: a figure that is missing is zero.
_ADDING_UP = (
    *(FigureKind.THROUGHPUT, FigureKind.CPU),
    *(FigureKind.NETWORK, FigureKind.BACK_PRESSURE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTruth:
    """One window: when it was, why it is left out if it is, and its figures."""

    start: str
    seconds: float
    marks: tuple[str, ...]
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a repetition went, bucket by bucket.

    Attributes:
        latency_seconds: Mean latency since emission of what came to a sink; NaN without any.
        held: Executors that were held back, on the mean.
        since_due_seconds: Mean latency since tuples were due; empty or NaN where none were.
    """

    bucket_seconds: float
    latency_seconds: tuple[float, ...]
    emitted_per_second: tuple[float, ...]
    held: tuple[float, ...]
    since_due_seconds: tuple[float, ...] = ()

    @property
    def delay_seconds(self) -> tuple[float, ...]:
        """Since tuples were due where they were, so that a source held back hides nothing."""
        known = any(math.isfinite(value) for value in self.since_due_seconds)
        return self.since_due_seconds if known else self.latency_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionTruth:
    """One repetition.

    Attributes:
        began_at: When its plan was in place.
        pooled: Figures of all windows that count together.
        faults: What is missing of its lines: files read only in part, lines that are no records.
    """

    turn: Turn
    began_at: str
    windows: tuple[WindowTruth, ...]
    pooled: Figures
    course: Course
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def counted(self) -> list[WindowTruth]:
        """The windows that are not marked."""
        return [window for window in self.windows if not window.marks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a step.

    Attributes:
        value: Median over windows, or over repetitions where a window has too few tuples.
        spread: Half of the distance between the quartiles.
        number: How many of these.
        repetitions: How many repetitions they are of.
        count: Observations in all, where they can be counted.
        floor: Median error of predicting a repetition by another, as a part; None with one.
        floor_most: The largest such error.
    """

    kind: FigureKind
    subject: str
    quantity: str
    unit: str
    value: float
    spread: float
    least: float
    most: float
    over: str
    number: int
    repetitions: int
    count: int | None
    floor: float | None
    floor_most: float | None

    @property
    def key(self) -> Key:
        """What it is of."""
        return Key(self.kind, self.subject, self.quantity)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTruth:
    """A step: its repetitions and what they come to."""

    name: str
    repetitions: tuple[RepetitionTruth, ...]
    figures: tuple[Figure, ...]

    @property
    def windows(self) -> int:
        """Windows in all."""
        return sum(len(repetition.windows) for repetition in self.repetitions)

    @property
    def marked(self) -> int:
        """Windows that are left out."""
        return self.windows - sum(len(repetition.counted) for repetition in self.repetitions)

    def figure(self, kind: FigureKind, subject: str, quantity: str) -> Figure | None:
        """The figure of that key, where there is one."""
        wanted = Key(kind, subject, quantity)
        return next((figure for figure in self.figures if figure.key == wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What an experiment found.

    Attributes:
        steps: In the experiment's order; those with nothing measured left out.
        left: Repetitions that are not done.
    """

    experiment: str
    engine: str
    steps: tuple[StepTruth, ...]
    left: int

    def step(self, name: str) -> StepTruth | None:
        """The step of that name, where something of it was measured."""
        return next((step for step in self.steps if step.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """As one document."""
        return {
            "experiment": self.experiment,
            "engine": self.engine,
            "repetitions_left": self.left,
            "steps": {step.name: _step_to_dict(step) for step in self.steps},
        }


def summarise_step(name: str, repetitions: Sequence[RepetitionTruth]) -> StepTruth:
    """What the repetitions of a step come to; marked windows are left out."""
    keys = {
        key: None
        for repetition in repetitions
        for figures in (*(window.figures for window in repetition.counted), repetition.pooled)
        for key in figures
    }
    figures = (_summarise_figure(key, repetitions) for key in sorted(keys))
    return StepTruth(
        name=name,
        repetitions=tuple(repetitions),
        figures=tuple(figure for figure in figures if figure is not None),
    )


def find_floor(values: Sequence[float]) -> tuple[float, float] | None:
    """Median and largest error of predicting one value by another, as a part of the one.

    Nothing for less than two values, or where one is zero: there is no part of nothing.
    """
    if len(values) < 2 or not all(values):
        return None
    errors = [abs(by - value) / abs(value) for value, by in permutations(values, 2)]
    return float(np.median(errors)), max(errors)


def _summarise_figure(key: Key, repetitions: Sequence[RepetitionTruth]) -> Figure | None:
    missing = [Value(0.0)] if key.kind in _ADDING_UP else []
    by_window = [
        [window.figures.get(key) for window in repetition.counted] for repetition in repetitions
    ]
    present = [value is not None for values in by_window for value in values]
    if any(present) and (all(present) or key.quantity != TAIL):
        over = WINDOWS
        by_repetition = [
            [figure for value in values for figure in (missing if value is None else [value])]
            for values in by_window
        ]
    else:
        # A figure of repetitions, or windows with too few tuples for a tail, which together may
        # have enough.
        over = REPETITIONS
        by_repetition = [
            [repetition.pooled[key]] if key in repetition.pooled else []
            for repetition in repetitions
        ]
    filled = [values for values in by_repetition if values]
    values = np.asarray([figure.value for values in filled for figure in values])
    if not len(values):
        return None
    low, middle, high = (float(part) for part in np.quantile(values, (0.25, 0.5, 0.75)))
    medians = [float(np.median([figure.value for figure in values])) for values in filled]
    floor = find_floor(medians)
    return Figure(
        **key._asdict(),
        unit=key.unit,
        value=middle,
        spread=(high - low) / 2.0,
        least=float(values.min()),
        most=float(values.max()),
        over=over,
        number=len(values),
        repetitions=len(filled),
        count=_count_observations(filled),
        floor=None if floor is None else floor[0],
        floor_most=None if floor is None else floor[1],
    )


def _count_observations(filled: Sequence[Sequence[Value]]) -> int | None:
    counts = [figure.observed for values in filled for figure in values]
    return None if None in counts else sum(count or 0 for count in counts)


def _step_to_dict(step: StepTruth) -> dict[str, Any]:
    return {
        "windows": step.windows,
        "marked": step.marked,
        "figures": [asdict(figure) for figure in step.figures],
        "repetitions": [_repetition_to_dict(repetition) for repetition in step.repetitions],
    }


def _repetition_to_dict(repetition: RepetitionTruth) -> dict[str, Any]:
    course = repetition.course
    return {
        "repetition": repetition.turn.repetition,
        "began_at": repetition.began_at,
        "notes": list(repetition.notes),
        "windows": [
            {
                "start": window.start,
                "seconds": window.seconds,
                "marks": list(window.marks),
                "figures": _plain(window.figures),
            }
            for window in repetition.windows
        ],
        "course": {
            "bucket_seconds": course.bucket_seconds,
            "latency_seconds": [_finite(value) for value in course.latency_seconds],
            "since_due_seconds": [_finite(value) for value in course.since_due_seconds],
            "emitted_per_second": list(course.emitted_per_second),
            "held": list(course.held),
        },
    }


def _plain(figures: Mapping[Key, Value]) -> list[dict[str, Any]]:
    return [{**key._asdict(), **value._asdict()} for key, value in figures.items()]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
