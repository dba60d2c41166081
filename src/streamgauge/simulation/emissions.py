"""When a source's tuples are due: one emission process for each task and stream.

Every process keeps the mean rate it was given. Rates that change in a known way are Poisson,
thinned from their highest rate (Lewis and Shedler 1979); bursts and modulated processes switch
between Poisson rates at random times. `unlimited` sources have no process: they emit when asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.simulation.compiling import compiled
from streamgauge.simulation.random_streams import exponential, uniform
from streamgauge.topology.workload import (
    Burst,
    Emission,
    Modulated,
    Poisson,
    Recorded,
    Regular,
    Sawtooth,
    Seasonal,
)

# What kind a process is.
REGULAR, CYCLIC, SEASONAL, SWITCHING = range(4)
TWO_PI = 2.0 * np.pi


class Emissions(NamedTuple):
    """All processes as arrays that compiled code can share.

    A cyclic process repeats a table of rates; a switching one visits the rows of its table in
    turn, each for an exponential time.

    Attributes:
        kind: REGULAR, CYCLIC, SEASONAL or SWITCHING.
        rate: Mean tuples per second.
        peak: Highest rate as a multiple of the mean.
        period: Length of a cycle, in seconds.
        shape: Amplitude and phase of a seasonal process.
        first: Where each process's part of the table begins; one entry more than processes.
        factor: Table: rate as a multiple of the mean; straight to `slope` at the entry's end.
        slope: Table: the multiple at the end of the entry.
        lasting: Table: seconds, or their mean, that the entry lasts.
        entry: Where a switching process is, and
        until: until when.
    """

    kind: NDArray[Any]
    rate: NDArray[Any]
    peak: NDArray[Any]
    period: NDArray[Any]
    shape: NDArray[Any]
    first: NDArray[Any]
    factor: NDArray[Any]
    slope: NDArray[Any]
    lasting: NDArray[Any]
    entry: NDArray[Any]
    until: NDArray[Any]


def make_emissions(emissions: Sequence[Emission], rates: Sequence[float]) -> Emissions:
    """A process for each emission at its own mean rate, such as one task's share.

    Raises:
        InvalidInput: A shape has no due times, or a rate is not above zero.
    """
    kinds, periods, shapes, tables = [], [], [], []
    for index, (emission, rate) in enumerate(zip(emissions, rates, strict=True)):
        if not rate > 0.0:
            raise InvalidInput.single(
                (index, "per_second"), seen=f"{rate:g}", expected="a rate above zero"
            )
        kind, period, shape, table = _describe(index, emission)
        kinds.append(kind)
        periods.append(period)
        shapes.append(shape)
        tables.append(table)
    sizes = [len(table) for table in tables]
    rows = [row for table in tables for row in table]
    joined = np.asarray(rows, dtype=np.float64).reshape(len(rows), 3)
    count = len(kinds)
    return Emissions(
        kind=np.asarray(kinds, dtype=np.int64),
        rate=np.asarray(rates, dtype=np.float64),
        peak=np.asarray([max(max(row[:2]) for row in table) for table in tables]),
        period=np.asarray(periods, dtype=np.float64),
        shape=np.asarray(shapes, dtype=np.float64).reshape(count, 2),
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        factor=joined[:, 0].copy(),
        slope=joined[:, 1].copy(),
        lasting=joined[:, 2].copy(),
        entry=np.asarray(sizes, dtype=np.int64) - 1,
        until=np.zeros(count),
    )


Row = tuple[float, float, float]


def _describe(index: int, emission: Emission) -> tuple[int, float, tuple[float, float], list[Row]]:
    """Kind, period, amplitude and phase, and the table (from, to, seconds) of a shape."""
    shape = emission.shape
    nothing = (0.0, 0.0)
    if isinstance(shape, Regular | Poisson):
        kind = REGULAR if isinstance(shape, Regular) else CYCLIC
        return kind, 1.0, nothing, [(1.0, 1.0, 1.0)]
    if isinstance(shape, Seasonal):
        table = [(1.0 + shape.amplitude, 1.0 + shape.amplitude, shape.period_seconds)]
        return SEASONAL, shape.period_seconds, (shape.amplitude, shape.phase_seconds), table
    if isinstance(shape, Sawtooth):
        ends = (2.0, 0.0) if shape.reverse else (0.0, 2.0)
        return CYCLIC, shape.period_seconds, nothing, [(*ends, shape.period_seconds)]
    if isinstance(shape, Recorded):
        steps = [
            shape.factor_at((n + 0.5) * shape.bucket_seconds) for n in range(len(shape.values))
        ]
        table = [(factor, factor, shape.bucket_seconds) for factor in steps]
        return CYCLIC, shape.bucket_seconds * len(steps), nothing, table
    if isinstance(shape, Burst):
        cycle = shape.on_seconds + shape.off_seconds
        high = cycle / shape.on_seconds
        table = [(high, high, shape.on_seconds), (0.0, 0.0, shape.off_seconds)]
        return SWITCHING if shape.random else CYCLIC, cycle, nothing, table
    if isinstance(shape, Modulated):
        states = zip(shape.scaled_factors, shape.mean_seconds, strict=True)
        table = [(factor, factor, seconds) for factor, seconds in states]
        return SWITCHING, 1.0, nothing, table
    raise InvalidInput.single(
        (index, "shape"),
        seen=f"the shape {shape.kind}",
        expected="a shape whose tuples are due at set times",
    )


@compiled
def next_due(
    emissions: Emissions, process: int, now: float, streams: NDArray[Any], row: int
) -> Any:
    """When the next tuple of a process is due, strictly after `now` but for rounding."""
    rate = emissions.rate[process]
    kind = emissions.kind[process]
    if kind == REGULAR:
        # A random phase for the first tuple, so that tasks do not emit in step.
        gap = 1.0 / rate
        return float(now + (gap if now > 0.0 else gap * uniform(streams, row)))
    if kind == SWITCHING:
        return _next_switching(emissions, process, now, streams, row)
    peak = emissions.peak[process]
    due = now
    while True:
        due += exponential(streams, row) / (rate * peak)
        if uniform(streams, row) * peak < _factor_at(emissions, process, due):
            return float(due)


@compiled
def _factor_at(emissions: Emissions, process: int, time: float) -> float:
    """The rate at that time as a multiple of the mean."""
    period = emissions.period[process]
    if emissions.kind[process] == SEASONAL:
        amplitude, phase = emissions.shape[process, 0], emissions.shape[process, 1]
        return float(1.0 + amplitude * np.sin(TWO_PI * (time - phase) / period))
    first, last = emissions.first[process], emissions.first[process + 1] - 1
    if first == last and emissions.factor[first] == emissions.slope[first]:
        return float(emissions.factor[first])
    left = time % period
    for row in range(first, last + 1):
        lasting = emissions.lasting[row]
        if left < lasting or row == last:
            part = min(left / lasting, 1.0)
            begin = emissions.factor[row]
            return float(begin + part * (emissions.slope[row] - begin))
        left -= lasting
    return 1.0


@compiled
def _next_switching(
    emissions: Emissions, process: int, now: float, streams: NDArray[Any], row: int
) -> float:
    first = emissions.first[process]
    size = emissions.first[process + 1] - first
    while True:
        factor = emissions.factor[first + emissions.entry[process]]
        if factor > 0.0:
            due = now + exponential(streams, row) / (emissions.rate[process] * factor)
            if due < emissions.until[process]:
                return float(due)
        now = max(now, emissions.until[process])
        emissions.entry[process] = (emissions.entry[process] + 1) % size
        lasting = emissions.lasting[first + emissions.entry[process]]
        emissions.until[process] = now + exponential(streams, row) * lasting
