"""What the sources of a topology emitted, window by window, read from the lake without Spark.

A source is an operator that emits and executes nothing but the engine's own streams. Windows in
which any task held its senders back are marked: they show what the job could take, not what came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamgauge.errors import NotEnoughData
from streamgauge.lake.metrics import Metric
from streamgauge.lake.queries import ask
from streamgauge.lake.questions import Answer, Question
from streamgauge.lake.tables import Lake
from streamgauge.topology.topology import SYSTEM_PREFIX

# Windows of a minute, of ten seconds where there is little, longer where there would be too many.
SHORT_WINDOW = 10.0
WINDOWS = (60.0, 300.0, 900.0, 3600.0)
FEW_MINUTES = 100
MANY_WINDOWS = 7 * 24 * 60
# A window that is known for less than this part says too little.
LEAST_KNOWN = 0.5


class SplitBy(StrEnum):
    """What a series is of."""

    SOURCE = "source"
    STREAM = "stream"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRates:
    """One series of rates.

    Attributes:
        name: Source, or source and stream or task, with a slash between.
        starts: Begins of the windows, ascending.
        per_second: Tuples emitted in a second, by window.
        pressed: Whether any task of the topology held its senders back in the window.
    """

    name: str
    window_seconds: float
    starts: tuple[datetime, ...]
    per_second: tuple[float, ...]
    pressed: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateQuestion:
    """Whose rates are asked for.

    Attributes:
        start: First time a window may begin.
        end: Time before which windows begin.
        window_seconds: Length of the windows; chosen by how long was measured where none is given.
    """

    topology: str
    cluster: str | None = None
    by: SplitBy = SplitBy.SOURCE
    start: datetime | None = None
    end: datetime | None = None
    window_seconds: float | None = None

    def ask(
        self, lake: Lake, metrics: Iterable[Metric], by: tuple[str, ...], window: float | None
    ) -> Answer | None:
        """The answer by the first metric of which the lake has samples."""
        where = {"topology": self.topology}
        if self.cluster is not None:
            where["cluster"] = self.cluster
        for metric in metrics:
            question = Question(
                metric=metric,
                where=where,
                start=self.start,
                end=self.end,
                by=by,
                window_seconds=window,
            )
            try:
                return ask(lake, question)
            except NotEnoughData:
                continue
        return None


EMITTED = (Metric.EMITTED, Metric.EMITTED_TOTAL)
EXECUTED = (Metric.EXECUTED, Metric.EXECUTED_TOTAL)


def source_rates(lake: Lake, wanted: RateQuestion) -> list[SourceRates]:
    """The rates of all sources of a topology, by name.

    Raises:
        NotEnoughData: The lake has no emitted tuples of any source of the topology.
    """
    overall = wanted.ask(lake, EMITTED, ("component",), None)
    if overall is None:
        raise NotEnoughData(
            f"{lake.uri}: no emitted tuples of topology {wanted.topology!r}; expected samples of"
            f" {Metric.EMITTED.label} (`streamgauge lake info` lists topologies)"
        )
    window = wanted.window_seconds or choose_window((overall.last - overall.first).total_seconds())
    columns = ("component", "stream", *(["task"] if wanted.by is SplitBy.TASK else []))
    emitted = wanted.ask(lake, EMITTED, columns, window)
    executing = _executing(wanted.ask(lake, EXECUTED, ("component", "stream"), None))
    pressed = _pressed(wanted.ask(lake, [Metric.BACKPRESSURE_CAUSED], (), window))
    totals: dict[str, dict[datetime, float]] = {}
    for series in () if emitted is None else emitted.series:
        source, stream = str(series.by["component"]), str(series.by["stream"])
        if source in executing or stream.startswith(SYSTEM_PREFIX):
            continue
        own = {SplitBy.SOURCE: "", SplitBy.STREAM: f"/{stream}"}.get(
            wanted.by, f"/{series.by.get('task')}"
        )
        rates = totals.setdefault(f"{source}{own}", {})
        for one in series.windows:
            if one.value is not None and (one.seconds or window) >= LEAST_KNOWN * window:
                rates[one.start] = rates.get(one.start, 0.0) + one.value
    found = [
        _collect(name, rates, pressed, window) for name, rates in sorted(totals.items()) if rates
    ]
    if not found:
        raise NotEnoughData(
            f"{lake.uri}: topology {wanted.topology!r} has no source that emits; every operator"
            " that emits also executes"
        )
    return found


def choose_window(span_seconds: float) -> float:
    """A length of windows for so long a history."""
    if span_seconds < FEW_MINUTES * 60.0:
        return SHORT_WINDOW
    fitting = (window for window in WINDOWS if span_seconds / window <= MANY_WINDOWS)
    return next(fitting, WINDOWS[-1])


def _collect(
    name: str, rates: dict[datetime, float], pressed: set[datetime], window: float
) -> SourceRates:
    starts = tuple(sorted(rates))
    return SourceRates(
        name=name,
        window_seconds=window,
        starts=starts,
        per_second=tuple(rates[start] for start in starts),
        pressed=tuple(start in pressed for start in starts),
    )


def _executing(answer: Answer | None) -> set[str]:
    """Operators that executed tuples of others."""
    return {
        str(series.by["component"])
        for series in ([] if answer is None else answer.series)
        if not str(series.by["stream"]).startswith(SYSTEM_PREFIX)
        and any(window.total for window in series.windows)
    }


def _pressed(answer: Answer | None) -> set[datetime]:
    """Windows in which somebody held others back; the rule of Caladrius is yes or no."""
    windows = [] if answer is None else [one for series in answer.series for one in series.windows]
    return {one.start for one in windows if one.total}
