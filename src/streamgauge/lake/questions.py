"""What can be asked of a metric, and what an answer is.

What an answer is follows from the metric's kind. Of counts it is the total and the rate; counters
are turned into what they grew by first. Levels are weighted by time, means of an engine by their
observations, and histograms give quantiles of observations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.lake.definition import QUEUES, Kind, Level, Unit
from streamgauge.lake.metrics import METRICS, Metric

_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")

# What a question can be narrowed to, and split by.
SUBJECTS = (
    "cluster",
    "topology",
    "plan_id",
    "component",
    "task",
    "executor",
    "queue",
    "worker",
    "node",
    "machine",
    "stream",
    "source_component",
    "source_task",
)


class Measure(StrEnum):
    """What the value of an answer is."""

    RATE = "rate"
    RATE_QUANTILE = "quantile of the rates of buckets"
    PER_OBSERVATION = "mean per observation"
    MEAN = "mean"
    QUANTILE = "quantile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a metric.

    Attributes:
        where: Columns of samples with the values they must have.
        start: First time a bucket may begin; all where none is given.
        end: Time before which buckets begin.
        window_seconds: Length of the windows, from whole multiples of it; one window without.
        by: Columns of samples that have an answer for each of their values.
        mean: Whether the mean is asked for explicitly: for a sum, that of its observations.
        is_series: Whether to choose a length for the windows where none is given.
    """

    metric: Metric
    where: Mapping[str, str | int] = field(default_factory=dict)
    start: datetime | None = None
    end: datetime | None = None
    window_seconds: float | None = None
    by: tuple[str, ...] = ()
    mean: bool = False
    probability: float | None = None
    is_series: bool = False

    def __post_init__(self) -> None:
        findings = Findings()
        known = subjects_of(self.metric)
        for place, names in (("where", self.where), ("by", self.by)):
            for name in names:
                if name not in known:
                    findings.add(
                        place,
                        seen=f"{name!r}, which {self.metric} does not have",
                        expected=f"some of {', '.join(known)}",
                    )
        if len(set(self.by)) < len(self.by):
            findings.add("by", seen="a column named twice", expected="each once")
        if self.start is not None and self.end is not None and self.start >= self.end:
            findings.add(
                "end", seen=f"{self.end.isoformat()}, not after the start", expected="a later time"
            )
        if self.window_seconds is not None and not 1e-3 <= self.window_seconds < math.inf:
            findings.add("window", seen=f"{self.window_seconds:g} s", expected="at least 0.001 s")
        if self.probability is not None:
            self._check_quantile(findings)
        findings.raise_if_any()

    def _check_quantile(self, findings: Findings) -> None:
        if self.mean:
            findings.add("quantile", seen="a mean as well", expected="one of the two")
        if self.probability is None or not 0.0 <= self.probability <= 1.0:
            findings.add("quantile", seen=f"{self.probability}", expected="a number from 0 to 1")
        bins = _bins_of(self.metric)
        if bins is not None:
            findings.add(
                "metric",
                seen=f"{self.metric}, a sum, which has no quantiles",
                expected="a histogram",
                remedy=f"ask for {bins}",
            )

    @property
    def measure(self) -> Measure:
        """What the answer's value is."""
        kind = self.metric.kind
        if kind is Kind.HISTOGRAM_BIN:
            return Measure.MEAN if self.mean else Measure.QUANTILE
        if kind in (Kind.GAUGE, Kind.MEAN):
            return Measure.MEAN if self.probability is None else Measure.QUANTILE
        if self.mean and _bins_of(self.metric) is not None:
            return Measure.PER_OBSERVATION
        return Measure.RATE if self.probability is None else Measure.RATE_QUANTILE

    @property
    def is_binned(self) -> bool:
        """Whether the metric is a histogram."""
        return self.metric.kind is Kind.HISTOGRAM_BIN

    @property
    def is_added(self) -> bool:
        """Whether values are added up over time."""
        return self.metric.kind in (Kind.DELTA, Kind.CUMULATIVE)

    @property
    def is_rate(self) -> bool:
        """Whether the value is what was added in a second, or a quantile of that."""
        return self.measure in (Measure.RATE, Measure.RATE_QUANTILE)

    @property
    def unit(self) -> str:
        """Of the answer's value."""
        if self.is_rate:
            return f"{self.metric.unit}/s"
        return _observed_unit(self.metric) if self.is_binned else str(self.metric.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The answer for one window.

    Attributes:
        value: The answer, in its unit; nothing where nothing was observed.
        total: What was added in it, in the metric's unit, for counts and sums.
        seconds: Of how much time that is, gaps left out.
        observations: Observations really taken.
    """

    start: datetime
    value: float | None
    total: float | None
    seconds: float | None
    observations: int
    samples: int

    def to_dict(self) -> dict[str, object]:
        """A flat record."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"start": self.start.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The answer for one combination of the columns that were asked for."""

    by: Mapping[str, str | int | None]
    windows: tuple[Window, ...]

    def to_dict(self) -> dict[str, object]:
        """A record of records."""
        return {"by": dict(self.by), "windows": [window.to_dict() for window in self.windows]}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the lake says.

    Attributes:
        version: Of the table of samples.
        window_seconds: Length of the windows; nothing for one over all.
        series: One for each combination, those of equal names together.
    """

    question: Question
    version: int
    window_seconds: float | None
    first: datetime
    last: datetime
    series: tuple[Series, ...]

    @cached_property
    def samples(self) -> int:
        """Samples it rests on."""
        return sum(window.samples for one in self.series for window in one.windows)

    @cached_property
    def observations(self) -> int:
        """Observations really taken."""
        return sum(window.observations for one in self.series for window in one.windows)

    def to_dict(self) -> dict[str, Any]:
        """The answer as a document."""
        question = self.question
        return {
            "metric": question.metric.label,
            "kind": str(question.metric.kind),
            "measure": str(question.measure),
            "probability": question.probability,
            "unit": question.unit,
            "total_unit": str(question.metric.unit),
            "where": dict(question.where),
            "by": list(question.by),
            "window_seconds": self.window_seconds,
            "version": self.version,
            "first": self.first.isoformat(),
            "last": self.last.isoformat(),
            "samples": self.samples,
            "observations": self.observations,
            "series": [one.to_dict() for one in self.series],
        }


def read_length(text: str) -> float:
    """Seconds of a length of time such as ``5m``.

    Raises:
        InvalidInput: It is none.
    """
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise InvalidInput.single(
            ("window",), seen=repr(text), expected="a number and ms, s, m, h or d: 30s, 5m, 1h"
        )
    return float(found[1]) * _SECONDS_PER_UNIT[found[2]]


def metric_named(label: str) -> Metric:
    """The metric of a label.

    Raises:
        InvalidInput: There is none.
    """
    if label not in METRICS:
        raise InvalidInput.single(
            ("metric",),
            seen=f"unknown metric {label!r}",
            expected="one of docs/raw-format.md",
            remedy=did_you_mean(label, list(METRICS)),
        )
    return METRICS[label]


def subjects_of(metric: Metric) -> list[str]:
    """The columns that samples of a metric can have."""
    named = {"cluster", *metric.level.required, *metric.level.optional, *metric.keys}
    if metric.level is Level.QUEUE:
        for queue in QUEUES.values():
            named |= queue.required | queue.optional
    return [name for name in SUBJECTS if name in named]


def _observed_unit(metric: Metric) -> str:
    """What the observations of a histogram are counted in: as their sum or mean is."""
    stem = metric.label.removesuffix("_bin")
    alike = next(METRICS[stem + end] for end in ("_sum", "", "_mean") if stem + end in METRICS)
    return str(Unit.TUPLES if alike.unit is Unit.PER_LIST else alike.unit)


def _bins_of(metric: Metric) -> Metric | None:
    """The histogram of what a metric sums up, where there is one."""
    if metric.kind is not Kind.DELTA:
        return None
    stem = metric.label.removesuffix("_sum").removesuffix("_squares")
    return METRICS.get(f"{stem}_bin")
