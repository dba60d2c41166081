"""Waits of windows that fire by count: for the windows before them, on their executor's own thread.

A tuple that is in a window waits for no queue of its own: its window fires when the last tuple of
it is served. So what matters is the work that this tuple finds. Every n-th tuple of a task brings
the work of a window, which is another queue than one in which every tuple brings it with the
probability 1/n: the next such tuple comes only after n gaps, in which most of the work is done.

The work found is the maximum of a random walk that looks back from one window to those before it
(`random_walks`): i windows take i·(T + nS), and that they came in takes i·n gaps. What the tuples'
own services make of it, T being none, is the queue of the tuples, which others know; the rest is
what windows add:

    wait = M(T + nS − n gaps) − M(nS − n gaps)

It is the wait of an M/G/1 queue with mixed services for n = 1, that of GI/G/1 for S = 0, and
nothing for T = 0. Windows of other tasks of the executor fire in between, somewhere on a circle of
m tasks; tasks that are dealt to in turn fill up, and fire, together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.random_walks import (
    SINGLE_TERMS,
    Cumulants,
    Maximum,
    find_excess,
    find_maximum,
)
from streamgauge.models.transforms import Complex, Transform, Vector

# Of a mean, squared: nothing is more regular, so that there is something to divide by.
LEAST_VARIANCE = 1e-9
# A wait that hardly any window meets is as rare as this.
LEAST_CHANCE = 1e-6

# How high the walk rises of which this is the work of a step.
Rise = Callable[[Cumulants], Maximum]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Triggers:
    """Windows that fire by count on the threads of executors.

    Attributes:
        per_second: Tuples that come to an executor.
        slide: Tuples of a task from one window that fires to the next.
        tasks: How many tasks of the executor get any.
        dispersion: Variance over mean of how many tuples come, over the time that a window takes.
        tuples: Service of a tuple.
        windows: Service of a window.
        ahead: Tuples before a random one among those that come at the same moment.
    """

    per_second: Vector
    slide: float
    tasks: Vector
    dispersion: Vector
    tuples: Moments
    windows: Moments
    ahead: Vector | float = 0.0

    @property
    def work(self) -> Cumulants:
        """Of a window and the tuples since the one before it."""
        windows, tuples = gamma_cumulants(self.windows), self.tuple_work
        return Cumulants(*(one + other for one, other in zip(windows, tuples, strict=True)))

    @property
    def tuple_work(self) -> Cumulants:
        """Of the tuples since the window before."""
        return gamma_cumulants(self.tuples).times(self.slide)

    @property
    def free(self) -> Vector:
        """Part of the time that tuples' own services leave."""
        return np.maximum(1.0 - self.per_second * self.tuples.mean, 0.0)

    @property
    def cycle(self) -> Vector:
        """Seconds from one window of a task to the next."""
        return np.asarray(self.slide * self.tasks / self.per_second)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TriggerWaits:
    """How long windows wait for those before them, beyond the wait of their tuples."""

    mean: Vector
    variance: Vector
    transform: Transform


def wait_at_random(triggers: Triggers) -> TriggerWaits:
    """Waits where the windows of different tasks have nothing to do with each other."""
    gap = 1.0 / triggers.per_second
    tasks, span = triggers.tasks, triggers.slide * gap
    noise = triggers.slide * triggers.dispersion * gap**2

    def rise(work: Cumulants) -> Maximum:
        def position(count: Vector) -> Cumulants:
            # Where on the circle as many of its m even spacings end, whose variance is known.
            turn = np.mod(count, tasks)
            exact = turn * (tasks - turn) / (tasks**2 * (tasks + 1.0))
            usual = np.maximum(tasks - 1.0, 0.0) / (6.0 * tasks**2)
            circle = np.where(count <= SINGLE_TERMS, exact, usual)
            varied = count * noise + (triggers.cycle * triggers.free) ** 2 * circle
            return work.times(count).less_time(count * span, varied)

        drift, spread = span - work.mean, work.variance + noise
        return find_maximum(position, drift=drift, spread=spread + LEAST_VARIANCE * span**2)

    # Windows that come at the same moment: the first of them, after half a slide, waits for none.
    together = np.maximum(triggers.ahead / triggers.slide - 0.5, 0.0) * triggers.windows.mean
    inside = TriggerWaits(
        mean=together,
        variance=together**2 / 3.0,
        transform=lambda s: transforms.uniform(s, 2.0 * together),
    )
    return _add_up(triggers, inside, rise)


def wait_in_turn(triggers: Triggers, *, strewn: Vector, gathered: float = 0.0) -> TriggerWaits:
    """Waits where the windows of an executor's tasks fire together.

    Args:
        triggers: Of executors whose tasks are dealt to in turn.
        strewn: Part of a cycle that the windows of the executor are strewn over.
        gathered: Seconds over which what comes is released at once.
    """
    cycle, tasks = triggers.cycle, triggers.tasks
    noise = cycle**2 * triggers.dispersion / triggers.slide

    def rise(work: Cumulants) -> Maximum:
        whole = work.times(tasks)
        drift, spread = cycle - whole.mean, whole.variance + noise

        def position(count: Vector) -> Cumulants:
            return whole.times(count).less_time(count * cycle, count * noise)

        return find_maximum(position, drift=drift, spread=spread + LEAST_VARIANCE * cycle**2)

    longest = np.maximum(np.minimum(strewn, 1.0) * cycle - gathered, 0.0) * triggers.free
    inside = wait_inside(triggers, longest)
    return _add_up(triggers, inside, rise)


def wait_inside(triggers: Triggers, longest: Vector) -> TriggerWaits:
    """Waits of m windows that come somewhere in a time, for those of them that came before.

    The j-th of them finds the maximum of a walk of j − 1 steps: Σ E[S_i⁺]/i, i below j.
    """
    tasks, windows = triggers.tasks, gamma_cumulants(triggers.windows)
    count = np.arange(1.0, max(float(tasks.max()), 2.0)).reshape(-1, 1)
    between = np.maximum(count * (tasks - count), 0.0) / (tasks**2 * (tasks + 1.0))
    # Where all come at once there is no time between them.
    apart = longest**2 * between + LEAST_VARIANCE * windows.mean**2
    excess = find_excess(windows.times(count).less_time(count * longest / tasks, apart))
    # The first waits for none; the others a row each, as far as an executor has as many tasks.
    weight = np.where(count < tasks, 1.0 / tasks, 0.0)
    found = np.cumsum(excess.mean / count, axis=0)
    varied = count * windows.variance
    mean = (weight * found).sum(axis=0)
    square = (weight * (found**2 + varied)).sum(axis=0)
    scv = divide_or(varied, found**2, otherwise=0.0)

    def transform(s: Complex) -> Complex:
        value = np.ones((len(s), len(tasks)), dtype=np.complex128)
        for place, one in enumerate(weight):
            value += one * (transforms.gamma(s, found[place], scv[place]) - 1.0)
        return value

    return TriggerWaits(mean=mean, variance=square - mean**2, transform=transform)


def gamma_cumulants(service: Moments) -> Cumulants:
    """Of a gamma variable."""
    third = divide_or(2.0 * service.variance**2, service.mean, otherwise=0.0)
    return Cumulants(service.mean, service.variance, third)


def _add_up(triggers: Triggers, inside: TriggerWaits, rise: Rise) -> TriggerWaits:
    """Waits for windows that come together, and for what windows add to the work of tuples."""
    with_windows, tuples = rise(triggers.work), rise(triggers.tuple_work)
    mean = np.maximum(with_windows.mean - tuples.mean, 0.0)
    variance = np.maximum(with_windows.variance - tuples.variance, 0.0)
    chance = np.where(mean > 0.0, np.maximum(with_windows.chance, LEAST_CHANCE), 1.0)
    met = mean / chance
    square = np.maximum((variance + mean**2) / chance - met**2, 0.0)
    scv = divide_or(square, met**2, otherwise=0.0)

    def transform(s: Complex) -> Complex:
        left = transforms.with_atom(transforms.gamma(s, met, scv), chance)
        return np.asarray(inside.transform(s) * left)

    return TriggerWaits(
        mean=inside.mean + mean, variance=inside.variance + variance, transform=transform
    )
