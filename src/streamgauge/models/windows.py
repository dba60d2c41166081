"""Windows: how old a tuple is when the window that holds it fires.

Cooper 2020, section 4.13.1, for count windows that tumble, and beyond it. Tuples come as a Poisson
process to every task, or burstier or more regularly: what matters is the index of dispersion of
their number. A count window of C fires with its last tuple, so that the ages of its tuples
are 0, 1, … C − 1 gaps of mean 1/λ: (C − 1)/2λ on the mean, where the thesis has C/2λ. A time window
of T holds what came evenly over T. All tuples of a window make its outputs, so that windows that
slide count by their length, whatever their slide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.arrival_variability import Bursts, bursts_into
from streamgauge.models.dealt_in_turn import (
    count_senders,
    fires_together,
    strewn_tuples,
    uneven_slide,
)
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.routing import deals_in_turn
from streamgauge.models.service import ServiceTimes
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Complex, Transform, Vector
from streamgauge.models.trigger_waits import (
    Triggers,
    TriggerWaits,
    wait_at_random,
    wait_in_turn,
)
from streamgauge.topology.topology import Operator, Topology, Window
from streamgauge.topology.tuple_flow import as_slice

# Which part of the others a tuple meets at the least, so that there is something to divide by.
LEAST_MET = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Age:
    """How old the tuples of a window are when it fires, in seconds.

    Attributes:
        mean: Of all tuples of all windows; infinite where nothing comes.
        transform: E[e^(−sT)], points × tasks.
    """

    mean: Vector
    variance: Vector
    transform: Transform


def age_at_trigger(window: Window, per_second: Vector, dispersion: Vector | float = 1.0) -> Age:
    """The age of a tuple when its window fires, without the time that the trigger itself takes.

    Args:
        window: By count or time, tumbling or sliding, mixed or not.
        per_second: Tuples that come to a task.
        dispersion: Variance over mean of how many come in a time; one for a Poisson process.
    """
    with np.errstate(divide="ignore"):
        gap = 1.0 / np.asarray(per_second, dtype=np.float64)
    if window.length_tuples is not None:
        return _last_tuples(window, window.length_tuples, gap, dispersion)
    assert window.length_seconds is not None
    return _last_seconds(window, window.length_seconds, gap)


def _last_tuples(window: Window, count: int, gap: Vector, dispersion: Vector | float) -> Age:
    """Age of one of the last `count` tuples: n gaps, n from 0 to `count` − 1 with equal chances.

    The time of n gaps varies as `dispersion` says, which is what a gamma with that squared
    variation does. Where a clock fires, the last tuple itself is a gap old.
    """
    first = 0.0 if window.slide_seconds is None else 1.0
    gaps = first + (count - 1) / 2.0
    # n gaps have the variance n·dispersion·gap², and n itself varies evenly.
    spread = gaps * dispersion + (count * count - 1) / 12.0
    with np.errstate(invalid="ignore"):
        mean, variance = gaps * gap, spread * gap * gap

    def transform(s: Complex) -> Complex:
        # The mean of z^n over n, z being the transform of a gap.
        z = transforms.gamma(s, gap, dispersion)
        ladder = (1.0 - z**count) / (count * (1.0 - z))
        return np.asarray(ladder * z**first)

    return Age(
        mean=np.where(gaps > 0.0, mean, 0.0),
        variance=np.where(spread > 0.0, variance, 0.0),
        transform=transform,
    )


def _last_seconds(window: Window, seconds: float, gap: Vector) -> Age:
    """Age of one of the tuples of the last `seconds`: even, but for the one that fires.

    Where a count fires, one of the 1 + λT tuples is new.
    """
    mean, square = seconds / 2.0, seconds * seconds / 3.0
    older = np.ones_like(gap)
    if window.slide_tuples is not None:
        older = seconds / (seconds + gap)

    def transform(s: Complex) -> Complex:
        return transforms.with_atom(transforms.uniform(s, seconds), older)

    return Age(
        mean=older * mean, variance=older * square - (older * mean) ** 2, transform=transform
    )


def mixed_ages(
    window: Window, per_second: Vector, dispersion: Vector, task_parts: Sequence[Vector]
) -> Age:
    """Ages in the windows of executors, whose tasks get these parts of what comes."""
    owner = np.repeat(np.arange(len(task_parts)), [len(parts) for parts in task_parts])
    parts = np.concatenate(list(task_parts))
    used = parts > 0.0
    owner, parts = owner[used], parts[used]
    # What is dealt at random is as much nearer to a Poisson process as there is less of it.
    thinned = 1.0 + (dispersion[owner] - 1.0) * np.where(dispersion[owner] > 1.0, parts, 1.0)
    ages = age_at_trigger(window, per_second[owner] * parts, thinned)
    dealt = np.zeros((len(owner), len(task_parts)))
    dealt[np.arange(len(owner)), owner] = parts
    mean = ages.mean @ dealt
    square = (ages.variance + ages.mean**2) @ dealt
    return Age(
        mean=mean,
        variance=np.maximum(square - mean**2, 0.0),
        transform=lambda s: np.asarray(ages.transform(s) @ dealt),
    )


def delay_ages(age: Age, seconds: float, part: float) -> Age:
    """Ages where a part of the tuples is so much older.

    A source that waits for roots to end emits when a window has fired and let them go: what then
    comes to the same of n tasks waits for a whole slide, where others wait for half of one on the
    mean.
    """
    return Age(
        mean=age.mean + part * seconds,
        variance=age.variance + part * (1.0 - part) * seconds**2,
        transform=lambda s: np.asarray(
            age.transform(s) * (1.0 - part + part * transforms.constant(s, np.asarray(seconds)))
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowDelays:
    """From the end of a tuple's execution until its window has been dealt with, by executor.

    Attributes:
        mean: Age at the trigger, and the trigger's own time; zero where there is no window.
        waited: Where counts fire, for the windows before, beyond what tuples wait for tuples.
        variance: Of both together.
        transform: E[e^(−sT)] of both, points × executors.
        occupied_mean: How long a tuple occupies its executor: where counts fire, one tuple in each
            slide takes the trigger's time too. Clocks fire on a thread of their own.
    """

    mean: Vector
    waited: Vector
    variance: Vector
    transform: Transform
    occupied_mean: Vector


def window_delays(
    traffic: Traffic, service: ServiceTimes, bursts: Bursts, ahead: Vector
) -> WindowDelays:
    """What windows add to the delays of a plan's executors.

    Args:
        traffic: Of the plan.
        service: Of its executors.
        bursts: What comes to them together.
        ahead: How many tuples are before a random one among those that come together.
    """
    logical = traffic.flow.plan.logical
    mean, variance = np.zeros_like(service.mean), np.zeros_like(service.mean)
    waited, occupied = np.zeros_like(service.mean), service.mean.copy()
    factors: list[tuple[slice, Transform]] = []
    for operator in logical.topology.operators:
        if operator.window is None or not _came(traffic, operator).any():
            continue
        span = as_slice(logical.spans[operator.name])
        age = _find_ages(traffic, operator, bursts.dispersion[span])
        trigger, varied = service.trigger_mean[span], service.trigger_variance[span]
        mean[span], variance[span] = age.mean + trigger, age.variance + varied
        factors += [(span, age.transform), (span, _gamma(trigger, varied))]
        if operator.window.slide_tuples is not None:
            occupied[span] += trigger / operator.window.slide_tuples
            waits = _find_waits(traffic, service, operator, ahead[span])
            waited[span] = waits.mean
            variance[span] += waits.variance
            factors.append((span, waits.transform))

    def transform(s: Complex) -> Complex:
        value = np.ones((len(s), len(mean)), dtype=np.complex128)
        for span, factor in factors:
            value[:, span] *= factor(s)
        return value

    return WindowDelays(
        mean=mean, waited=waited, variance=variance, transform=transform, occupied_mean=occupied
    )


def _came(traffic: Traffic, operator: Operator) -> Vector:
    """Tuples a second into an operator's executors; where nothing comes nobody waits: any do."""
    came = traffic.rates.into(traffic.flow, operator.name, system=False)
    return np.where(came > 0.0, came, came.max())


def _gamma(mean: Vector, variance: Vector) -> Transform:
    scv = divide_or(variance, mean**2, otherwise=0.0)
    return lambda s: transforms.gamma(s, mean, scv)


def _find_ages(traffic: Traffic, operator: Operator, dispersion: Vector) -> Age:
    window, conversion = operator.window, traffic.conversions[operator.name]
    assert window is not None
    regular = dispersion / turns(traffic, operator)
    age = mixed_ages(window, _came(traffic, operator), regular, conversion.task_parts)
    if window.slide_seconds is None or not is_first(traffic.flow.plan.logical.topology, operator):
        return age
    tasks = float(np.sum(conversion.busy_tasks))
    return delay_ages(age, window.slide_seconds / (2.0 * tasks), traffic.paced)


def _find_waits(
    traffic: Traffic, service: ServiceTimes, operator: Operator, ahead: Vector
) -> TriggerWaits:
    """Of windows that fire by count; infinite where their executor is overloaded."""
    logical, window = traffic.flow.plan.logical, operator.window
    assert window is not None
    assert window.slide_tuples is not None
    span = as_slice(logical.spans[operator.name])
    met = np.broadcast_to(traffic.met, len(logical.executors))[span]
    per_second = _came(traffic, operator) * np.maximum(met, LEAST_MET)
    busy = service.mean[span] + service.trigger_mean[span] / window.slide_tuples
    stable = per_second * busy < 1.0
    parts = traffic.conversions[operator.name].task_parts
    triggers = Triggers(
        per_second=per_second,
        slide=float(window.slide_tuples),
        tasks=np.asarray([1.0 / float(np.sum(one**2)) for one in parts]),
        dispersion=bursts_into(traffic, gathered=False).dispersion[span],
        tuples=_where(stable, service.mean[span], service.variance[span]),
        windows=_where(stable, service.trigger_mean[span], service.trigger_variance[span]),
        ahead=ahead,
    )
    if fires_together(traffic, operator):
        waits = _wait_in_turn(traffic, operator, triggers)
    else:
        waits = wait_at_random(triggers)
    return replace(waits, mean=np.where(stable, waits.mean, np.inf))


def _where(stable: NDArray[np.bool_], mean: Vector, variance: Vector) -> Moments:
    return Moments(mean=np.where(stable, mean, 0.0), variance=np.where(stable, variance, 0.0))


def _wait_in_turn(traffic: Traffic, operator: Operator, triggers: Triggers) -> TriggerWaits:
    """Every sender goes round all tasks, so that they have nearly as many tuples at any time."""
    tasks, mechanics = float(operator.tasks), traffic.mechanics
    senders = count_senders(traffic, operator)
    uneven = uneven_slide(senders, triggers.slide)
    return wait_in_turn(
        replace(triggers, dispersion=triggers.dispersion / tasks + uneven),
        strewn=strewn_tuples(senders, triggers.tasks, tasks) / triggers.slide,
        gathered=mechanics.flush_seconds if mechanics.send_threads else 0.0,
    )


def turns(traffic: Traffic, operator: Operator) -> float:
    """How many tasks take turns: each then gets every so many-th tuple, which is as regular."""
    streams = traffic.flow.plan.logical.topology.streams_into(operator.name)
    in_turn = all(deals_in_turn(s, traffic.mechanics) for s in streams if not s.is_system)
    return float(operator.tasks) if in_turn else 1.0


def find_kept(topology: Topology) -> set[str]:
    """Operators with windows, and those behind them."""
    found = {one.name for one in topology.operators if one.window is not None}
    for operator in topology.topological_order():
        if any(s.source in found for s in topology.streams_into(operator.name) if not s.is_system):
            found.add(operator.name)
    return found


def is_first(topology: Topology, operator: Operator) -> bool:
    """Whether no tuple has been in a window before it comes to an operator."""
    kept = find_kept(topology)
    streams = topology.streams_into(operator.name)
    return not any(one.source in kept for one in streams if not one.is_system)
