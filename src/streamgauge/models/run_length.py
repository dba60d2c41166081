"""How long to simulate: until a 99th percentile is known, windows have fired, rates have repeated.

Work is bounded: what takes too many hops of tuples is simulated for a shorter time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streamgauge.models.parameters import Parameters
from streamgauge.models.regimes import Regimes
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import (
    Burst,
    Modulated,
    Recorded,
    Sawtooth,
    Seasonal,
    Shape,
    Workload,
)

# Of these, 500 take longer than the 99th percentile.
ENOUGH_TUPLES = 50_000
# Tuples and messages that executors get, in all: a few seconds of computing.
MOST_HOPS = 3_000_000
SHORTEST, LONGEST = 1.0, 10_000.0
# A quarter of a run may be left out as its beginning: more than one window of these.
WINDOWS = 10.0
PERIODS = 4.0
# Part of a run, more, that is left out where its beginning is not seen to be over.
FORGOTTEN = 0.25
# A time line of a hundred entries has twenty for each of these.
CYCLES = 5.0
LONGEST_CYCLES = 50_000.0
# Shuffle widens step by step, and forgets what is full in ten: so many looks at the loads pass
# beside filling and draining.
LOOKS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLength:
    """How often and how long to simulate.

    Attributes:
        runs: Independent ones.
        seconds: Simulated time of each.
        wanted: Seconds that one would have to take to see all that repeats.
        warmup: Seconds before that; None: until it is seen to have settled.
    """

    runs: int
    seconds: float
    wanted: float
    warmup: float | None = None

    def lasting(self, seconds: float, runs: int) -> RunLength:
        """So many runs of another length; what goes before them grows and shrinks with it."""
        warmup = self.warmup
        if warmup is not None:
            warmup *= seconds / self.seconds
        return RunLength(runs=runs, seconds=seconds, wanted=seconds, warmup=warmup)

    @property
    def enough(self) -> bool:
        """Whether a run sees what it should."""
        return self.seconds >= self.wanted * (1.0 - 1e-9)


def sensible_length(
    workload: Workload,
    *,
    runs: int = 1,
    window_seconds: float = 0.0,
    arrived_per_second: float | None = None,
    hops_per_second: float | None = None,
    longest: float = LONGEST,
) -> RunLength:
    """How long to simulate a job that runs steadily.

    Args:
        workload: What sources emit.
        runs: Independent ones that would be best; fewer where they would be too short.
        window_seconds: How long the longest window is.
        arrived_per_second: Tuples that come to sinks; as many as sources emit when not given.
        hops_per_second: Tuples and messages that executors get; not bounded when not given.
        longest: Seconds, all runs together, that only windows and periods of rates exceed.
    """
    emitted = sum(one.per_second or 0.0 for one in workload.emissions)
    arrived = emitted if arrived_per_second is None else arrived_per_second
    period = max((period_of(one.shape) for one in workload.emissions), default=0.0)
    wanted = max(SHORTEST, WINDOWS * window_seconds, PERIODS * period)
    total = max(min(ENOUGH_TUPLES / max(arrived, 1e-9), longest), runs * wanted)
    if hops_per_second:
        total = min(total, MOST_HOPS / hops_per_second)
    runs = min(runs, max(int(total / wanted), 1))
    return RunLength(runs=runs, seconds=total / runs, wanted=wanted)


def sensible_seconds(topology: Topology, workload: Workload, *, longest: float = LONGEST) -> float:
    """How long to simulate a job of which only the sources' rates are known."""
    emitted = sum(one.per_second or 0.0 for one in workload.emissions)
    windows = []
    for operator in topology.operators:
        window = operator.window
        if window is not None:
            tuples = max(window.length_tuples or 0, window.slide_tuples or 0)
            by_count = tuples * operator.tasks / emitted if emitted > 0.0 else 0.0
            windows += [by_count, window.length_seconds or 0.0, window.slide_seconds or 0.0]
    return sensible_length(
        workload,
        window_seconds=max(windows, default=0.0),
        hops_per_second=emitted * len(topology.streams),
        longest=longest,
    ).seconds


def steady_length(
    parameters: Parameters, workload: Workload, *, runs: int, part: float = 1.0
) -> RunLength:
    """How long to simulate a plan whose rates are known.

    `part` of the rates gets through: less than one, where sources emit what they can.
    """
    flow, rates = parameters.flow, parameters.rates
    topology = flow.plan.logical.topology
    sinks = [rates.into(flow, sink.name, system=False) for sink in topology.sinks]
    backlog = _backlog_seconds(parameters) if part < 1.0 else 0.0
    windows = [_window_seconds(parameters, one.name) for one in topology.operators]
    found = sensible_length(
        workload,
        runs=runs,
        window_seconds=max(backlog, *windows),
        arrived_per_second=part * sum(float(one.sum()) for one in sinks),
        hops_per_second=part * _hops_per_second(parameters),
    )
    return replace(found, warmup=found.seconds * FORGOTTEN) if _forgets(parameters) else found


def _forgets(parameters: Parameters) -> bool:
    """Whether shuffle leaves tuples behind in windows of tasks that it soon sends nothing more.

    Of several tasks of an executor that is so of all but the first. Queues do not show it.
    """
    logical = parameters.flow.plan.logical
    return any(
        logical.topology.operator(target).window is not None
        and any(len(executor.tasks) > 1 for executor in logical.executors_of(target))
        for _, _, target in parameters.routing.scopes
    )


def transient_length(parameters: Parameters, workload: Workload, regimes: Regimes) -> RunLength:
    """How long to simulate a plan on which shuffle fills queues before it widens, if it does.

    First until that has happened; then for several cycles, or where nothing repeats as long as a
    steady plan, or until what waits has been served several times.
    """
    looks = LOOKS * parameters.mechanics.refresh_seconds
    swinging, settling, blocked = regimes.swinging, regimes.settling, regimes.blocked
    filling = [one.filling_seconds for one in (*swinging, *blocked)]
    filling += [one.filling_seconds + one.draining_seconds for one in settling]
    if swinging:
        wanted = CYCLES * max(looks + one.cycle_seconds for one in swinging)
    else:
        waiting = [one.most_waiting / one.served_per_second for one in blocked]
        steady = steady_length(parameters, workload, runs=1)
        wanted = max(CYCLES * max(waiting, default=0.0), steady.seconds)
    most = min(MOST_HOPS / _hops_per_second(parameters), LONGEST_CYCLES)
    warmup = min(looks + max(filling), most / 2.0)
    return RunLength(runs=1, seconds=min(wanted, most - warmup), wanted=wanted, warmup=warmup)


def _backlog_seconds(parameters: Parameters) -> float:
    """How long tuples wait in the queue that is full when sources emit as fast as they can.

    No more wait than it has room for, and than open roots may lead to.
    """
    flow, works, mechanics = parameters.flow, parameters.works.tuples, parameters.mechanics
    room = float(mechanics.receive_limit)
    topology = flow.plan.logical.topology
    if topology.has_ackers:
        tasks = sum(source.tasks for source in topology.sources)
        room = min(room, float(mechanics.max_pending) * tasks)
    seconds = works.cpu + works.wait
    busiest = int(np.argmax(works.per_second * seconds))
    return room * float(seconds[busiest])


def _hops_per_second(parameters: Parameters) -> float:
    """Tuples and messages that come to all executors."""
    flow = parameters.flow
    return sum(float(parameters.rates.into(flow, name).sum()) for name in flow.plan.logical.spans)


def _window_seconds(parameters: Parameters, operator: str) -> float:
    """How long an operator's window is, or takes to slide; of those by count on the mean."""
    window = parameters.flow.plan.logical.topology.operator(operator).window
    if window is None:
        return 0.0
    came = float(parameters.rates.into(parameters.flow, operator, system=False).sum())
    tasks = float(parameters.conversions[operator].busy_tasks.sum())
    tuples = max(window.length_tuples or 0, window.slide_tuples or 0)
    by_count = tuples * tasks / came if came > 0.0 else 0.0
    return max(by_count, window.length_seconds or 0.0, window.slide_seconds or 0.0)


def period_of(shape: Shape) -> float:
    """Seconds after which a rate repeats, a mean where that is random; zero where it is steady."""
    match shape:
        case Burst():
            return shape.on_seconds + shape.off_seconds
        case Modulated():
            return sum(shape.mean_seconds)
        case Seasonal() | Sawtooth():
            return shape.period_seconds
        case Recorded():
            return shape.bucket_seconds * len(shape.values)
    return 0.0
