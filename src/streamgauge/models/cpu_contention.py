"""CPU contention: how far the threads of a machine stretch each other's CPU time.

With n runnable threads on c free cores each runs at the speed min(1, c/n); idle threads that poll
count as the cores they burn. A thread's stretch is the time it is runnable over the CPU time it
gets, and so exactly the inverse of its mean speed while it is runnable. What must be known is how
many others are runnable then, and they are not independent of it: whoever is slowed down stays
longer.

If threads only alternated between a core and elsewhere, the set S of runnable threads would
have the product form P(S) ∝ ∏ aᵢ · ∏ 1/speed(m), m = 1 … |S|, whatever the distributions of their
times (Baskett, Chandy, Muntz and Palacios 1975). But threads have queues: in crowded times queues
grow, and then threads do not leave the set after one job. Where the crowd changes slowly, a
runnable thread has no further job with the probability θ(m) = 1 − load(S)/(m · speed(m)), as in the
balanced sharing of Bonald and Proutière (2003); where it changes fast, θ does not depend on m.
Reality lies between the two: the tilt is ∏ 1/(speed(m) · θ(m)^h) with h measured (`PERSISTENCE`),
less where threads spend part of their jobs off core. The odds aᵢ are such that every thread gets
just the CPU time that it needs, so that work is conserved, thread by thread.

In the limit of many threads with little load each, this is exactly the M/M/c queue with processor
sharing: stretch = 1 + C(c, ρ)/(c(1 − ρ)), C Erlang's formula for having to wait.

Sums over sets (`runnable_sets`) are taken for all machines of like size at once.
Only mean CPU times matter here: what their distributions change was found to be 3 % of a stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.models.runnable_sets import RunnableSets
from streamgauge.models.threads import (
    NO_POLLING,
    Machines,
    MeasuredThreads,
    Polling,
    Threads,
    Truth,
    Vector,
    Whole,
    check_machines,
)

# How much of a slow crowd there is in queues with Poisson arrivals: 0 if it changed fast, 1 if
# slowly. Found against simulations of 2 to 32 threads on 1 to 4 cores.
PERSISTENCE = 0.6
TOLERANCE = 1e-7
MAX_ITERATIONS = 500
# Whole steps before they become smaller.
PATIENCE = 15
# By less than this part a wall time that is too short is nothing to speak of.
NOTEWORTHY = 0.05
# Steps that one extrapolation may save.
LONGEST_LEAP = 100.0
# A thread without end of work is runnable always, or nearly so.
_ALWAYS = 1.0 - 1e-9
_LEAST_LEAVING = 1e-9
# Numbers of threads less likely than about exp(−this) are left out.
_TAIL = 25.0
_LARGEST_EXPONENT = 600.0
_LARGEST_TABLE = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contention:
    """What sharing does to threads, and threads to machines.

    Attributes:
        stretch: By thread: wall time over CPU time while it is on a core or wants one; infinite on
            a machine that is overloaded.
        tilt: By thread: how many times as likely sharing makes it to be runnable.
        wall_seconds: By thread: mean time of one job, stretched CPU time and waiting.
        utilisation: By thread: part of time that it has a job in hand, at most one.
        saturated: By thread: whether it is offered as much as it can do, or more.
        used_cores: By thread: cores it keeps busy with its jobs.
        busy_cores: By machine: the sum of these.
        polling_cores: By machine: cores that idle threads burn.
        run_queue: By machine: mean number of threads with a job that are on a core or want one.
        overloaded: By machine: whether threads want all free cores, or more.
    """

    stretch: Vector
    tilt: Vector
    wall_seconds: Vector
    utilisation: Vector
    saturated: Truth
    used_cores: Vector
    busy_cores: Vector
    polling_cores: Vector
    run_queue: Vector
    overloaded: Truth

    @property
    def overloaded_machines(self) -> tuple[int, ...]:
        """Indices of those that cannot do what is asked of them."""
        return tuple(int(machine) for machine in np.flatnonzero(self.overloaded))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UncontendedTimes:
    """Service times as they would be with cores to spare; arrays of one entry a thread.

    Attributes:
        cpu_seconds: Mean time on a core for one job.
        wait_seconds: Mean time off core for one job; NaN where the machine was overloaded.
        stretch: What sharing did to the CPU time when it was measured.
        inferred: Whether the CPU time was not measured but follows from the wall time.
        warnings: What to know before these times are used.
    """

    cpu_seconds: Vector
    wait_seconds: Vector
    stretch: Vector
    inferred: Truth
    warnings: tuple[str, ...]


def contention(
    threads: Threads,
    machines: Machines,
    polling: Polling = NO_POLLING,
    *,
    near: Contention | None = None,
    tolerance: float = TOLERANCE,
) -> Contention:
    """Stretch, wall time and use of cores for all threads of all machines.

    Machines without enough cores are listed, with infinite stretches; there the cores go to
    threads as evenly as these can use them.

    Args:
        threads: What they have to do, and where.
        machines: Their cores.
        polling: What idle threads burn.
        near: What was found for nearly the same threads: where to begin.
        tolerance: By which part stretches may still change.

    Raises:
        InvalidInput: A thread runs on a machine that is not there.
    """
    check_machines(threads.machine, machines)
    cpu, wait, rate = threads.cpu_seconds, threads.wait_seconds, threads.rate
    able = _shares(cpu, wait)
    most = np.minimum(rate * cpu, able)
    overloaded = _overloaded(threads.machine, most, machines.free)
    found = _settled(
        _Work(
            machine=threads.machine,
            rate=rate,
            polls=threads.polls,
            parts=lambda stretch, which: (cpu[which], wait[which]),
        ),
        machines.free,
        overloaded,
        polling,
        near=near,
        tolerance=tolerance,
    )
    on_overloaded = overloaded[threads.machine]
    wall = wait + np.where(cpu > 0.0, _times(cpu, found.stretch), 0.0)
    offered = _times(rate, wall)
    used = np.where(on_overloaded, 0.0, found.runnable / found.stretch)
    for machine in np.flatnonzero(overloaded):
        here = threads.machine == machine
        used[here] = _evenly(most[here], max(float(machines.free[machine]), 0.0))
    count = len(machines.cores)
    runnable = np.where(on_overloaded, most > 0.0, found.runnable)
    return Contention(
        stretch=found.stretch,
        tilt=found.tilt,
        wall_seconds=wall,
        utilisation=np.minimum(offered, 1.0),
        saturated=offered >= 1.0,
        used_cores=used,
        busy_cores=_summed(threads.machine, used, count),
        polling_cores=found.polling_cores,
        run_queue=_summed(threads.machine, runnable, count),
        overloaded=overloaded,
    )


def remove_contention(
    measured: MeasuredThreads, machines: Machines, polling: Polling = NO_POLLING
) -> UncontendedTimes:
    """CPU and waiting time of jobs from what they took on a crowded plan.

    With a known CPU time, waiting is what the wall time has beyond its stretch. Without one, all
    of the wall time is taken for stretched CPU time.

    Raises:
        InvalidInput: A thread ran on a machine that is not there.
    """
    check_machines(measured.machine, machines)
    inferred = np.isnan(measured.cpu_seconds)
    wall = measured.wall_seconds
    known = np.where(inferred, 0.0, measured.cpu_seconds)

    def parts(stretch: Vector, which: Any) -> tuple[Vector, Vector]:
        cpu = np.where(inferred[which], wall[which] / stretch, known[which])
        return cpu, np.maximum(wall[which] - _times(cpu, stretch), 0.0)

    most = np.minimum(measured.rate * known, 1.0)
    overloaded = _overloaded(measured.machine, most, machines.free)
    work = _Work(
        machine=measured.machine,
        rate=measured.rate,
        polls=measured.polls,
        parts=parts,
        inferring=bool(inferred.any()),
    )
    stretch = _settled(work, machines.free, overloaded, polling).stretch
    lost = overloaded[measured.machine]
    cpu, wait = parts(np.where(lost, 1.0, stretch), slice(None))
    short = ~inferred & ~lost & (wall < _times(known, stretch) * (1.0 - NOTEWORTHY))
    return UncontendedTimes(
        cpu_seconds=np.where(lost & inferred, np.nan, cpu),
        wait_seconds=np.where(lost, np.nan, wait),
        stretch=stretch,
        inferred=inferred,
        warnings=tuple(_warnings(inferred, short, np.flatnonzero(overloaded))),
    )


def _warnings(inferred: Truth, short: Truth, overloaded: Whole) -> Iterator[str]:
    if inferred.any():
        yield (
            f"CPU time of {int(inferred.sum())} of {len(inferred)} threads was inferred from "
            "wall-clock time: this assumes that their jobs wait for nothing but a core"
        )
    if short.any():
        yield (
            f"{int(short.sum())} of {len(short)} threads took less wall-clock time than their "
            "CPU time needs on cores shared like this: sharing is overestimated there, and waiting "
            "was set to zero"
        )
    for machine in overloaded:
        yield (
            f"machine {machine}: CPU times measured there need more cores than it had free: "
            "waiting times cannot be estimated"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """Threads, and the CPU and waiting time of some of them under given stretches.

    Attributes:
        machine: By thread.
        rate: By thread.
        polls: By thread.
        parts: CPU and waiting time from the stretches of some threads and their indices.
        inferring: Whether CPU times depend on stretches: smaller steps are safer then.
    """

    machine: Whole
    rate: Vector
    polls: Truth
    parts: Callable[[Vector, Any], tuple[Vector, Vector]]
    inferring: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Stretch, tilt and time spent runnable by thread, cores burnt by machine."""

    stretch: Vector
    tilt: Vector
    runnable: Vector
    polling_cores: Vector


def _settled(
    work: _Work,
    free: Vector,
    overloaded: Truth,
    polling: Polling,
    *,
    near: Contention | None = None,
    tolerance: float = TOLERANCE,
) -> _Found:
    """The fixed point of all machines that are not overloaded, those of like size together."""
    start = np.zeros((2, len(work.machine)))
    if near is not None:
        known = np.isfinite(near.stretch)
        np.log([near.stretch, near.tilt], out=start, where=known)
    found = _Found(
        stretch=np.where(overloaded[work.machine], np.inf, 1.0),
        tilt=np.ones(len(work.machine)),
        runnable=np.zeros(len(work.machine)),
        polling_cores=np.zeros(len(free)),
    )
    order = np.argsort(work.machine, kind="stable")
    sizes = np.bincount(work.machine, minlength=len(free))
    first = np.cumsum(sizes) - sizes
    for machines in _alike(np.where(overloaded, 0, sizes)):
        places = np.arange(sizes[machines].max())
        there = places < sizes[machines, np.newaxis]
        seats = np.minimum(first[machines, np.newaxis] + places, len(order) - 1)
        seats = order[seats]
        began = np.where(there, start[:, seats], 0.0)
        _settle(work, seats, there, free[machines], machines, polling, began, tolerance, found)
    return found


def _alike(sizes: Whole) -> Iterator[Whole]:
    """Machines with any threads, in groups of like size whose tables fit in memory."""
    classes = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    for size in np.unique(classes[sizes > 0]):
        members = np.flatnonzero((classes == size) & (sizes > 0))
        at_once = max(_LARGEST_TABLE >> int(2 * size), 1)
        for begin in range(0, len(members), at_once):
            yield members[begin : begin + at_once]


def _settle(
    work: _Work,
    which: Whole,
    there: Truth,
    free: Vector,
    machines: Whole,
    polling: Polling,
    start: Vector,
    tolerance: float,
    found: _Found,
) -> None:
    """Repeat until stretches change no more.

    Args:
        work: Of all threads.
        which: Threads by machine and seat.
        there: Whether somebody sits there.
        free: Cores by machine.
        machines: Where results of machines go.
        polling: What idle threads burn.
        start: Logarithms of stretches and tilts to begin with.
        tolerance: By which part these may still change.
        found: Takes the results.
    """
    rate = np.where(there, work.rate[which], 0.0)
    polls = work.polls[which] & there
    going = np.arange(len(free))
    # Logarithms of stretches and tilts, now and before, and where a step led from before.
    now = before = led = start
    if work.inferring:
        # CPU times that follow from stretches are first taken for the least they can be.
        now = now + np.log(np.maximum(there.sum(axis=1) / free, 1.0))[:, np.newaxis]
        now[1] = 0.0
    for iteration in range(MAX_ITERATIONS):
        seats, seated = which[going], there[going]
        stretch, tilt = np.exp(now)
        cpu, wait = work.parts(stretch, seats)
        state = _runnable(rate[going], cpu, wait, stretch)
        burn = _burn(polling, state, rate[going], polls[going], seated)
        step = _step(state, tilt, free[going], burn)
        leads = np.where(seated, np.log([step.stretch, step.tilt]), now)
        change = np.abs(leads - now).max(axis=(0, 2))
        # Smaller and smaller steps damp oscillations.
        least = 0.5 if work.inferring else 1.0
        leads = now + min(least, PATIENCE / (iteration + 1)) * (leads - now)
        found.stretch[seats[seated]] = step.stretch[seated]
        found.tilt[seats[seated]] = step.tilt[seated]
        found.runnable[seats[seated]] = state.runnable[seated]
        found.polling_cores[machines[going]] = step.polling_cores
        left = change > tolerance
        if not left.any():
            return
        following = leads if iteration == 0 else _onwards(before, led, now, leads)
        going = going[left]
        before, led, now = now[:, left], leads[:, left], following[:, left]


def _onwards(before: Vector, led: Vector, now: Vector, leads: Vector) -> Vector:
    """Where two steps together point to (Anderson 1965, with a memory of one)."""
    last, this = led - before, leads - now
    turn = this - last
    length = (turn * turn).sum(axis=(0, 2))
    part = (this * turn).sum(axis=(0, 2)) / np.where(length > 0.0, length, 1.0)
    astray = (this * this).sum(axis=(0, 2)) > (last * last).sum(axis=(0, 2))
    part = np.where(astray, 0.0, np.clip(part, -LONGEST_LEAP, 0.5))
    following = leads - part[:, np.newaxis] * (leads - led)
    following[0] = np.maximum(following[0], 0.0)
    return np.asarray(following)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Threads by machine and seat: how much they run, work and have in hand.

    Attributes:
        runnable: Part of time that a thread is on a core or wants one.
        load: Cores it keeps busy.
        busy: Part of time that it has a job in hand.
        persistence: By machine: the exponent of θ.
    """

    runnable: Vector
    load: Vector
    busy: Vector
    persistence: Vector


def _runnable(rate: Vector, cpu: Vector, wait: Vector, stretch: Vector) -> _State:
    """What threads do under given stretches; none does more than one job at a time."""
    on_core = _shares(cpu * stretch, wait)
    runnable = np.minimum(rate * cpu * stretch, on_core * _ALWAYS)
    load = runnable / stretch
    total = load.sum(axis=1)
    share = (load * on_core).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return _State(
        runnable=runnable,
        load=load,
        busy=np.minimum(rate * (cpu * stretch + wait), 1.0),
        persistence=PERSISTENCE * share,
    )


def _burn(polling: Polling, state: _State, rate: Vector, polls: Truth, there: Truth) -> Vector:
    """Cores that idle threads burn while 0, 1, 2 … others run, by machine.

    Whoever is not runnable polls with the same probability: their number N is binomial. Its
    moment E[N^g] is expanded to the second order about the mean of N given that it is not zero.
    """
    seats = rate.shape[1]
    if not polling.burns:
        return np.zeros((len(rate), seats + 1))
    patient = -np.expm1(-rate * polling.bolt_spin) if polling.bolt_sleep > 0.0 else 1.0
    polling_time = np.where(polls, (1.0 - state.busy) * patient, 0.0).sum(axis=1)
    away = (there - state.runnable).sum(axis=1)
    part = np.clip(polling_time / np.maximum(away, 1e-9), 0.0, 1.0)[:, np.newaxis]
    others = np.maximum(there.sum(axis=1)[:, np.newaxis] - np.arange(seats + 1.0), 0.0)
    mean = others * part
    some = 1.0 - (1.0 - part) ** others
    some = np.where(some > 0.0, some, 1.0)
    about = np.maximum(mean / some, 1e-9)
    spread = np.maximum((mean * (1.0 - part) + mean**2) / some / about**2 - 1.0, 0.0)
    growth = polling.poll_growth
    moment = about**growth * np.maximum(1.0 + growth * (growth - 1.0) / 2.0 * spread, 0.0)
    # No thread burns more than a core.
    burnt = np.minimum(polling.poll_cores * some * moment, mean)
    return np.asarray(burnt, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """New stretches; how much likelier sharing makes it to be runnable; cores burnt."""

    stretch: Vector
    tilt: Vector
    polling_cores: Vector


def _step(state: _State, tilt: Vector, free: Vector, burn: Vector) -> _Step:
    """Stretches if threads are runnable so much of the time.

    Weights of sets are written relative to a mean tilt per thread, which keeps them in the range
    of numbers and the sums near to what is likely.
    """
    total = state.runnable.sum(axis=1)
    usual = (state.runnable * np.log(tilt)).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    odds = state.runnable / (1.0 - state.runnable) * np.exp(usual[:, np.newaxis]) / tilt
    chance = odds / (1.0 + odds)
    most = _most_runnable(state, free)
    burn = burn[:, : most + 1].T
    number = np.arange(most + 1.0)[:, np.newaxis]
    speed = 1.0 / np.maximum((number + burn) / free, 1.0)
    sets = RunnableSets(chance.T, state.load.T, most)
    leaving = np.maximum(1.0 - sets.loads[1:] / (number[1:] * speed[1:]), _LEAST_LEAVING)
    weight = np.zeros(speed.shape)
    growth = -np.log(speed[1:]) - state.persistence * np.log(leaving) - usual
    np.cumsum(growth, axis=0, out=weight[1:])
    middle = np.minimum(np.rint(total), most).astype(np.int64)
    weight -= weight[middle, np.arange(len(free))]
    weight = np.exp(np.clip(weight, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
    worth, served = sets.worth(np.array([weight, weight * speed]))
    rests, runs, works = worth[:, 0].T, worth[:, 1].T, served[:, 1].T
    likely = sets.number * weight
    burnt = (likely * burn * speed).sum(axis=0) / likely.sum(axis=0)
    return _Step(
        stretch=np.maximum(runs / works, 1.0),
        tilt=runs / rests * np.exp(usual[:, np.newaxis]),
        polling_cores=burnt,
    )


def _most_runnable(state: _State, free: Vector) -> int:
    """The largest number of runnable threads that can matter, on any of some machines.

    Beyond the cores, the number falls off like (load/cores)ⁿ or faster.
    """
    full = np.clip(state.load.sum(axis=1) / free, 1e-3, 1.0 - 1e-3)
    total = state.runnable.sum(axis=1)
    enough = np.maximum(free, total) - _TAIL / np.log(full) + 8.0 * np.sqrt(total)
    return int(min(np.ceil(enough.max()), state.load.shape[1]))


def _overloaded(machine: Whole, most: Vector, free: Vector) -> Truth:
    """Machines whose threads want all free cores; no more threads than cores never do."""
    count = len(free)
    wanted = _summed(machine, most, count)
    active = _summed(machine, most > 0.0, count)
    return np.asarray((free <= 0.0) | ((wanted >= free) & (active > free)))


def _summed(machine: Whole, values: Vector | Truth, count: int) -> Vector:
    """Sums by machine."""
    return np.asarray(np.bincount(machine, weights=values, minlength=count), dtype=np.float64)


def _evenly(wanted: Vector, free: float) -> Vector:
    """Cores for each: what it wants, or an even share of what those who want less leave over."""
    ordered = np.sort(wanted)
    left = free - np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
    share = np.max(left / np.arange(len(ordered), 0, -1), initial=0.0)
    return np.minimum(wanted, share)


def _shares(cpu: Vector, wait: Vector) -> Vector:
    """The part of a job that is CPU time."""
    total = cpu + wait
    return np.asarray(cpu / np.where(total > 0.0, total, 1.0))


def _times(one: Vector, other: Vector) -> Vector:
    """The product, where nothing of infinity is nothing."""
    result = np.zeros(np.broadcast_shapes(one.shape, other.shape))
    np.multiply(one, other, out=result, where=(one > 0.0) & (other > 0.0))
    return result
