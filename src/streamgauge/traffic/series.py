"""A series of rates on a regular grid of UTC times, made of rows that need not be regular.

Rows may come in any order, with gaps and with times given twice. A cell of the grid holds the mean
of the values whose times fall into it, and NaN where nothing was observed or what was observed is
masked: minutes in back-pressure show what the job could take, not what came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput, NotEnoughData

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

MICROSECONDS = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# With fewer values not even the spread of the next step's errors is known.
LEAST_VALUES = 10
# A grid of so many cells is days of computing, and nearly always a time in the wrong unit.
MOST_CELLS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficSeries:
    """Values at equal distances in time.

    Attributes:
        name: Which series: ``topology/source`` or what a file calls it.
        start_us: Begin of the first cell, in microseconds since 1970, UTC.
        step_seconds: Length of a cell.
        values: One for each cell, none below zero; NaN where nothing is known.
        masked: Cells whose value was left out because the job held its sources back.
        warnings: What had to be repaired, in words.
    """

    name: str
    start_us: int
    step_seconds: float
    values: Vector
    masked: int = 0
    warnings: tuple[str, ...] = field(default=())

    @property
    def step_us(self) -> int:
        """Length of a cell in whole microseconds."""
        return round(self.step_seconds * MICROSECONDS)

    @property
    def observed(self) -> int:
        """Cells with a value."""
        return int(np.isfinite(self.values).sum())

    @property
    def end(self) -> datetime:
        """End of the last cell, which is the begin of the first that is forecast."""
        return self.time_of(len(self.values))

    def time_of(self, index: int) -> datetime:
        """Begin of a cell; those after the last one are in the future."""
        return EPOCH + timedelta(microseconds=self.start_us + index * self.step_us)

    def last(self, seconds: float) -> TrafficSeries:
        """Its last cells, as many as fit into a length of time."""
        kept = min(len(self.values), max(1, math.floor(seconds / self.step_seconds + 1e-9)))
        first = len(self.values) - kept
        return replace(
            self, start_us=self.start_us + first * self.step_us, values=self.values[first:]
        )


class SeriesRows(NamedTuple):
    """The rows of one series, in any order.

    Attributes:
        times_us: Microseconds since 1970, UTC.
        masked: Rows that say nothing of the traffic.
    """

    name: str
    times_us: Counts
    values: Vector
    masked: NDArray[np.bool_]

    def make_series(self, step_seconds: float | None = None) -> TrafficSeries:
        """The series on its grid."""
        return make_series(
            self.name, self.times_us, self.values, masked=self.masked, step_seconds=step_seconds
        )


def make_series(
    name: str,
    times_us: Sequence[int] | Counts,
    values: Sequence[float] | Vector,
    *,
    masked: Sequence[bool] | NDArray[np.bool_] | None = None,
    step_seconds: float | None = None,
) -> TrafficSeries:
    """A series on a regular grid, from rows in any order.

    Args:
        name: What the series is called.
        times_us: Microseconds since 1970, UTC.
        values: None below zero; NaN for what is missing.
        masked: Rows that say nothing of the traffic.
        step_seconds: Length of a cell; by default the most frequent distance of the times.

    Raises:
        NotEnoughData: There are too few values for any forecast.
        InvalidInput: A value is negative or infinite, or the step does not fit the times.
    """
    at = np.asarray(times_us, dtype=np.int64)
    given = np.array(values, dtype=np.float64)
    hidden = np.zeros(len(at), dtype=bool) if masked is None else np.asarray(masked, dtype=bool)
    _check_values(name, given)
    hidden = hidden & np.isfinite(given)
    given[hidden] = np.nan
    distinct = np.unique(at)
    if np.isfinite(given).sum() < LEAST_VALUES or len(distinct) < LEAST_VALUES:
        raise NotEnoughData(_describe_lack(name, int(np.isfinite(given).sum()), int(hidden.sum())))
    warnings: list[str] = []
    step_us = _choose_step(name, distinct, step_seconds, warnings)
    first = int(distinct[0] - distinct[0] % step_us)
    cells = (int(distinct[-1]) - first) // step_us + 1
    if cells > MOST_CELLS:
        raise InvalidInput.single(
            (name,),
            seen=f"{cells:,} steps of {step_us / MICROSECONDS:g} s between first and last time",
            expected=f"at most {MOST_CELLS:,}",
            remedy="check the times, or give a longer step",
        )
    twice = len(at) - len(distinct)
    if twice:
        warnings.append(f"{name}: {twice} rows have a time that another row has: took their mean")
    index = (at - first) // step_us
    known = np.isfinite(given)
    sums = np.bincount(index[known], weights=given[known], minlength=cells)
    counts = np.bincount(index[known], minlength=cells)
    with np.errstate(invalid="ignore"):
        grid = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    lost = len(np.unique(index[hidden])) if hidden.any() else 0
    gaps = int(cells - np.count_nonzero(counts)) - lost
    if gaps > 0:
        warnings.append(f"{name}: {gaps} of {cells} steps have no value: nothing is learnt there")
    return TrafficSeries(
        name=name,
        start_us=first,
        step_seconds=step_us / MICROSECONDS,
        values=grid,
        masked=lost,
        warnings=tuple(warnings),
    )


def _check_values(name: str, given: Vector) -> None:
    wrong = np.flatnonzero((given < 0.0) | np.isinf(given))
    if len(wrong):
        raise InvalidInput.single(
            (name, int(wrong[0])),
            seen=f"{given[wrong[0]]:g}, and {len(wrong) - 1} more such values",
            expected="rates: finite numbers from zero on",
            remedy="leave a value empty where it is not known",
        )


def _describe_lack(name: str, seen: int, masked: int) -> str:
    without = f" ({masked} more are masked: the job held its sources back)" if masked else ""
    return (
        f"{name}: {seen} values{without}; expected at least {LEAST_VALUES} at different times"
        " (measure for longer, or give a shorter step)"
    )


def _choose_step(
    name: str, distinct: Counts, step_seconds: float | None, warnings: list[str]
) -> int:
    """The step in microseconds: as given, else the most frequent distance of the times."""
    distances, frequency = np.unique(np.diff(distinct), return_counts=True)
    usual = int(distances[np.argmax(frequency)])
    if step_seconds is not None:
        step = round(step_seconds * MICROSECONDS)
        if step < usual:
            raise InvalidInput.single(
                ("step",),
                seen=f"{step_seconds:g} s, where values of {name} are {usual / MICROSECONDS:g} s"
                " apart",
                expected="a step no shorter than that",
            )
        return step
    off_grid = np.count_nonzero((distinct - distinct[0]) % usual)
    if off_grid:
        warnings.append(
            f"{name}: {off_grid} of {len(distinct)} times are not a multiple of"
            f" {usual / MICROSECONDS:g} s after the first: each counts in the step that holds it"
        )
    return usual


def summarise(
    values: Iterable[float], levels: Sequence[float] = (0.05, 0.25, 0.75, 0.95)
) -> dict[str, float]:
    """Mean, median, extremes and quantiles of what was observed, as Caladrius' summary has them.

    Quantiles are those of the distribution of all values, interpolated between neighbours.
    """
    known = np.asarray([value for value in values if math.isfinite(value)])
    if not len(known):
        raise NotEnoughData("no value to summarise")
    found = {
        "mean": float(known.mean()),
        "median": float(np.median(known)),
        "min": float(known.min()),
        "max": float(known.max()),
    }
    found |= {f"p{100 * level:g}": float(np.quantile(known, level)) for level in levels}
    return found
