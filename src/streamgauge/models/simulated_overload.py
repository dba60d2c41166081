"""What a simulation showed of a plan's executors: who is overloaded, how busy and slow they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.load_limit import Loaded, is_bolt, mark_bolts
from streamgauge.models.parameters import Parameters
from streamgauge.models.prediction import ExecutorPrediction, OperatorPrediction, Swing
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Topology
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.transport.mechanics import NO_LIMIT

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Who works for a larger part of the time than this has none to spare.
ALL_THE_TIME = 0.95
# Part of what comes, or is due, that may be left undone, and how many standard deviations of a
# Poisson count.
LEFT_UNDONE, CHANCE = 0.01, 5.0
# A source that may not emit for a larger part of the time than this is held back.
HELD_BACK = 0.05
# Where waiting takes a larger part of the busy time than this, the rest is not known well enough.
MOSTLY_WAITING = 0.5
# Parts of the range that a line has to fall below and to rise above between two crests.
LOW, HIGH = 0.4, 0.6
FEWEST_CRESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """The executors of a plan, in its order, on the mean over all runs.

    Attributes:
        seconds: Simulated time of all runs together.
        arrived: Tuples and messages that came, per second.
        executed: Those that were served.
        emitted: Tuples that left, before copies, those of windows' own threads left out.
        utilisation: Part of the time that the thread worked, or waited inside a service.
        cores: CPU time that it asked for, per second.
        held: Part of the time that it could not deliver, or was not allowed to emit.
        length: Tuples waiting.
        due: Tuples that a source should emit, per second; zero without a rate.
        by_operator: Tuples that left each operator, windows' own threads included.
    """

    seconds: float
    arrived: Vector
    executed: Vector
    emitted: Vector
    utilisation: Vector
    cores: Vector
    held: Vector
    length: Vector
    due: Vector
    by_operator: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overload:
    """What is too much for whom.

    Attributes:
        growing: Executors whose queues grow without bound.
        late: Sources that emit less than is due.
        loads: Offered load of executors, by place: of those that grow, that hold sources back, and
            of sources that are late on their own account.
    """

    growing: Flags
    late: Flags
    loads: Mapping[int, float]


def find_overload(
    observed: Observed, bolts: Flags, *, bounded: Flags, outgrown: bool = False
) -> Overload:
    """Who gets more than can be served.

    Where a queue grows, the load is what comes over what is served. Where queues are full, or roots
    limited, sources emit less than is due: by that factor the executors that work all the time
    would have to be faster.

    Args:
        observed: What was simulated.
        bolts: Which executors are fed by others.
        bounded: Executors whose queues are known not to grow without bound.
        outgrown: Whether more waited in the end than could be simulated.
    """
    busy = observed.utilisation > ALL_THE_TIME
    growing = bolts & busy & _left_undone(observed.arrived, observed.executed, observed.seconds)
    growing &= ~bounded
    if outgrown and not growing.any():
        growing[np.argmax(observed.length)] = True
    late = ~bolts & _left_undone(observed.due, observed.emitted, observed.seconds)
    late &= busy | (observed.held > HELD_BACK)
    loads = {
        place: max(_ratio(observed.arrived[place], observed.executed[place]), 1.0)
        for place in np.flatnonzero(growing).tolist()
    }
    if late.any():
        blamed = np.flatnonzero(busy & (bolts | late) & ~growing)
        blamed = blamed if len(blamed) or loads else np.flatnonzero(late)
        factor = _ratio(observed.due[late].sum(), observed.emitted[late].sum())
        loads |= dict.fromkeys(blamed.tolist(), factor)
    return Overload(growing=growing, late=late, loads=loads)


def _left_undone(wanted: Vector, done: Vector, seconds: float) -> Flags:
    """Whether more was left undone than chance would have it."""
    lag = wanted - done
    return np.asarray(
        (lag > LEFT_UNDONE * wanted) & (lag * seconds > CHANCE * (wanted * seconds) ** 0.5)
    )


def _ratio(part: float, whole: float, otherwise: float = math.inf) -> float:
    return float(part / whole) if whole > 0.0 else otherwise


def named_loads(plan: PhysicalPlan, overload: Overload, loaded: Loaded) -> dict[str, float]:
    """Overloaded executors and machines by name, the worst first.

    Executors of a machine that is asked for more cores than it has say nothing of themselves. What
    machines are asked for is by formula.
    """
    asked = loaded.overloaded
    loads: dict[str, float] = {}
    for place, one in overload.loads.items():
        machine = plan.cluster.machine_of(plan.workers[plan.placement[place]].node).name
        if machine in asked:
            loads[machine] = asked[machine]
        else:
            loads[plan.logical.executors[place].label] = one
    return dict(sorted(loads.items(), key=lambda one: -one[1]))


def holds_back(parameters: Parameters) -> bool:
    """Whether sources wait for room in queues or for their roots, so that no queue grows on."""
    mechanics = parameters.mechanics
    limited = mechanics.max_pending < NO_LIMIT and parameters.flow.plan.logical.topology.has_ackers
    return limited or not mechanics.send_threads or mechanics.stops_sources


def reached_from(topology: Topology, operators: Sequence[str]) -> set[str]:
    """Operators that tuples of those come to, those included."""
    reached, waiting = set(operators), list(operators)
    while waiting:
        name = waiting.pop()
        new = {one.target for one in topology.streams_from(name) if not one.is_system} - reached
        reached |= new
        waiting += new
    return reached


def executor_predictions(
    parameters: Parameters, observed: Observed, overload: Overload
) -> tuple[ExecutorPrediction, ...]:
    """Every executor, in the plan's order."""
    plan = parameters.flow.plan
    served, delay = _service(parameters, observed), _delay(parameters, observed, overload)
    stretch, emitted = _stretch(parameters, observed), _emitted(parameters, observed)
    return tuple(
        ExecutorPrediction(
            name=one.label,
            operator=one.operator,
            worker=str(plan.workers[plan.placement[place]]),
            arrived_per_second=float(observed.arrived[place]),
            emitted_per_second=float(emitted[place]),
            tuples_out_per_second=float(emitted[place]),
            utilisation=overload.loads.get(place, float(observed.utilisation[place])),
            stretch=float(stretch[place]),
            service_seconds=float(served[place]),
            delay_seconds=float(delay[place]),
            queue_length=math.inf if overload.growing[place] else float(observed.length[place]),
        )
        for place, one in enumerate(plan.logical.executors)
    )


def operator_predictions(
    parameters: Parameters, observed: Observed, overload: Overload
) -> dict[str, OperatorPrediction]:
    """Every operator, over its executors; what a tuple's time is made up of is not known."""
    operators = {}
    work = _work(parameters, observed)
    delay = _delay(parameters, observed, overload)
    loads = observed.utilisation.copy()
    for place, one in overload.loads.items():
        loads[place] = one
    for name, span in parameters.flow.plan.logical.spans.items():
        here = as_slice(span)
        came = observed.arrived[here]
        weights = work[here]
        used = weights > 0.0
        operators[name] = OperatorPrediction(
            executors=len(span),
            idle=int(np.count_nonzero(came <= 0.0)) if is_bolt(parameters.flow, name) else 0,
            arrived_per_second=float(came.sum()),
            emitted_per_second=observed.by_operator[name],
            tuples_out_per_second=observed.by_operator[name],
            utilisation=float(loads[here].mean()),
            busiest=float(loads[here].max()),
            service_seconds=_ratio(observed.utilisation[here].sum(), weights.sum(), math.nan),
            delay_seconds=_ratio(float(weights[used] @ delay[here][used]), weights.sum(), math.nan),
            parts={},
        )
    return operators


def _work(parameters: Parameters, observed: Observed) -> Vector:
    """What an executor is busy with, per second: tuples in; of a source, tuples out."""
    return np.where(mark_bolts(parameters.flow), observed.executed, observed.emitted)


def _service(parameters: Parameters, observed: Observed) -> Vector:
    """Busy time of a tuple; what fires on the executor's own thread is shared by its tuples."""
    return _divided(observed.utilisation, _work(parameters, observed))


def _delay(parameters: Parameters, observed: Observed, overload: Overload) -> Vector:
    """Waiting, by Little's law, and service; not known where tuples then wait for their window."""
    plan = parameters.flow.plan
    bolts = mark_bolts(parameters.flow)
    waiting = np.where(bolts, _divided(observed.length, observed.arrived), 0.0)
    delay = np.where(overload.growing, math.inf, waiting + _service(parameters, observed))
    for operator in plan.logical.topology.operators:
        if operator.window is not None:
            delay[as_slice(plan.logical.spans[operator.name])] = math.nan
    return delay


def _stretch(parameters: Parameters, observed: Observed) -> Vector:
    """Busy time less what is expected to be waiting, over CPU time; NaN where that says little."""
    waiting = _work(parameters, observed) * parameters.works.tuples.wait
    stretch = np.maximum(_divided(observed.utilisation - waiting, observed.cores), 1.0)
    return np.where(waiting > MOSTLY_WAITING * observed.utilisation, math.nan, stretch)


def _emitted(parameters: Parameters, observed: Observed) -> Vector:
    """What leaves each executor; what windows' own threads emit by how often they would fire."""
    emitted = observed.emitted.copy()
    for name, fired in parameters.rates.triggers.items():
        here = as_slice(parameters.flow.plan.logical.spans[name])
        rest = max(observed.by_operator[name] - float(emitted[here].sum()), 0.0)
        emitted[here] += rest * fired / fired.sum() if fired.any() else 0.0
    return emitted


def _divided(parts: Vector, whole: Vector) -> Vector:
    return np.divide(parts, whole, out=np.full_like(whole, math.nan), where=whole > 0.0)


def find_swing(times: Vector, waiting: Vector, latency: Vector) -> Swing:
    """The swing of a run.

    Args:
        times: End of each stretch of time, in seconds.
        waiting: Tuples that wait then, where it swings.
        latency: Mean latency in seconds in each stretch; NaN where nothing came to its end.
    """
    known = latency[~np.isnan(latency)].tolist()
    return Swing(
        lowest=min(known, default=math.nan),
        highest=max(known, default=math.nan),
        period=period_of(times, waiting),
    )


def period_of(times: Vector, line: Vector) -> float | None:
    """Mean seconds from one crest to the next; nothing with fewer than two whole ones."""
    crests = find_crests(line)
    if len(crests) < FEWEST_CRESTS:
        return None
    return float(np.mean([times[other] - times[one] for one, other in pairwise(crests)]))


def find_crests(line: Vector) -> list[int]:
    """Where a line is highest between two valleys.

    What begins or ends with the line may be higher still before or after, and is no crest.
    """
    low, high = (line.min() + part * np.ptp(line) for part in (LOW, HIGH))
    crests: list[int] = []
    best: int | None = None
    seen_valley = False
    for place, value in enumerate(line.tolist()):
        if value < low:
            if best is not None:
                crests.append(best)
            best, seen_valley = None, True
        elif value > high and seen_valley and (best is None or value > line[best]):
            best = place
    return crests
