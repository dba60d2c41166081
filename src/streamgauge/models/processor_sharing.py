"""Processor sharing: how many threads of a machine are runnable, and how fast each then runs.

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

The number of runnable threads is Poisson-binomial: a product of polynomials, taken in pairs, pairs
of pairs and so on up to the whole. What a set is worth to one thread follows on the way back down,
where each half learns what the numbers in the other half are worth to it. Nothing is subtracted or
divided, so that no digits are lost, and all machines of like size are computed at once: they are
the last index. Only mean CPU times matter: what their distributions change was found to be 3 % of a
stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streamgauge.models.machine_threads import Threads, Truth, Vector, Whole, core_shares
from streamgauge.transport.mechanics import Mechanics

# How much of a slow crowd there is in queues with Poisson arrivals: 0 if it changed fast, 1 if
# slowly. Found against simulations of 2 to 32 threads on 1 to 4 cores.
PERSISTENCE = 0.6
TOLERANCE = 1e-7
MAX_ITERATIONS = 500
# Whole steps before they become smaller.
PATIENCE = 15
# Steps that one extrapolation may save.
LONGEST_LEAP = 100.0
# A thread without end of work is runnable always, or nearly so.
_ALWAYS = 1.0 - 1e-9
_LEAST_LEAVING = 1e-9
# Numbers of threads less likely than about exp(−this) are left out.
_TAIL = 25.0
_LARGEST_EXPONENT = 600.0
_LARGEST_TABLE = 2_000_000
# Tables up to this size take as long as the calls that compute them.
_SMALL_TABLE = 1 << 13


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCores:
    """Stretch and tilt by thread, cores burnt by machine.

    Tilt is how many times as likely sharing makes it that a thread is runnable.
    """

    stretch: Vector
    tilt: Vector
    polling_cores: Vector


def settle_machines(
    threads: Threads,
    free: Vector,
    overloaded: Truth,
    mechanics: Mechanics,
    *,
    near: SharedCores | None = None,
    tolerance: float = TOLERANCE,
    poll_scale: Vector | None = None,
) -> SharedCores:
    """The fixed point of all machines that are not overloaded, those of like size together.

    `near` has stretches and tilts to begin with. `poll_scale` is by machine how many times as much
    threads that poll burn as the mechanics say.
    """
    start = np.zeros((2, len(threads.machine)))
    if near is not None:
        np.log([near.stretch, near.tilt], out=start, where=np.isfinite(near.stretch))
    scale = np.ones(len(free)) if poll_scale is None else poll_scale
    shared = SharedCores(
        stretch=np.where(overloaded[threads.machine], np.inf, 1.0),
        tilt=np.ones(len(threads.machine)),
        polling_cores=np.zeros(len(free)),
    )
    order = np.argsort(threads.machine, kind="stable")
    sizes = np.bincount(threads.machine, minlength=len(free))
    first = np.cumsum(sizes) - sizes
    for machines in _alike(np.where(overloaded, 0, sizes)):
        places = np.arange(sizes[machines].max())
        there = places < sizes[machines, np.newaxis]
        seats = np.minimum(first[machines, np.newaxis] + places, len(order) - 1)
        seats = order[seats]
        rate = np.where(there, threads.rate[seats], 0.0)
        group = _Group(
            machines=machines,
            seats=seats,
            there=there,
            rate=rate,
            cpu=threads.cpu_seconds[seats],
            wait=threads.wait_seconds[seats],
            free=free[machines],
            polling=_polling_parts(rate, threads.polls[seats] & there, mechanics),
            most_burnt=mechanics.poll_cores * scale[machines, np.newaxis],
            others=np.maximum(sizes[machines, np.newaxis] - np.arange(there.shape[1] + 1.0), 0.0),
        )
        began = np.where(there, start[:, seats], 0.0)
        _settle(group, mechanics.poll_growth, began, tolerance, shared)
    return shared


def _alike(sizes: Whole) -> Iterator[Whole]:
    """Machines with any threads, in groups of like size whose tables fit in memory.

    Small machines go with larger ones where all of them together are little work: a group takes
    as many steps as its slowest machine, and a step hardly less for few of them than for many.
    """
    classes = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    joined, largest = np.zeros(0, dtype=np.int64), 0
    for size in sorted(set(classes[sizes > 0].tolist()), reverse=True):
        members = np.flatnonzero((classes == size) & (sizes > 0))
        if len(joined) and len(joined) + len(members) <= _SMALL_TABLE >> 2 * largest:
            joined = np.concatenate([joined, members])
            continue
        if len(joined):
            yield joined
        at_once = max(_LARGEST_TABLE >> 2 * size, 1)
        for begin in range(0, len(members) - at_once, at_once):
            yield members[begin : begin + at_once]
        joined, largest = members[(len(members) - 1) // at_once * at_once :], size
    if len(joined):
        yield joined


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Machines that are computed at once, and their threads, by machine and seat.

    Attributes:
        machines: Which they are.
        seats: Which threads.
        there: Whether somebody sits there.
        polling: Part of its idle time that a thread polls.
        most_burnt: By machine, cores that a polling thread burns if it is alone.
        others: By machine, how many threads are left if 0, 1, 2 … run.
    """

    machines: Whole
    seats: Whole
    there: Truth
    rate: Vector
    cpu: Vector
    wait: Vector
    free: Vector
    polling: Vector
    most_burnt: Vector
    others: Vector

    def choose(self, which: Truth) -> _Group:
        """Some of the machines."""
        return _Group(**{name: getattr(self, name)[which] for name in self.__slots__})


def _settle(
    group: _Group, poll_growth: float, start: Vector, tolerance: float, shared: SharedCores
) -> None:
    """Repeat until stretches change by no more than the part `tolerance`.

    `shared` takes the results. `start` has logarithms of stretches and tilts.
    """
    # Logarithms of stretches and tilts, now and before, and where a step led from before.
    now = before = led = start
    for iteration in range(MAX_ITERATIONS):
        stretch, tilt = np.exp(now)
        state = _runnable(group, stretch)
        step = _step(group, state, tilt, _burn(group, state, poll_growth))
        leads = np.where(group.there, np.log([step.stretch, step.tilt]), now)
        change = np.abs(leads - now).max(axis=(0, 2))
        # Smaller and smaller steps damp oscillations.
        leads = now + min(1.0, PATIENCE / (iteration + 1)) * (leads - now)
        left = change > tolerance
        if iteration == MAX_ITERATIONS - 1:
            left[:] = False
        following = leads if iteration == 0 else _onwards(before, led, now, leads)
        before, led, now = now, leads, following
        if left.all():
            continue
        _keep_results(group, step, ~left, shared)
        if not left.any():
            return
        group = group.choose(left)
        before, led, now = before[:, left], led[:, left], now[:, left]


def _keep_results(group: _Group, step: _Step, settled: Truth, shared: SharedCores) -> None:
    """Put what was found for machines that have settled where it belongs."""
    there = group.there & settled[:, np.newaxis]
    seats = group.seats[there]
    shared.stretch[seats] = step.stretch[there]
    shared.tilt[seats] = step.tilt[there]
    shared.polling_cores[group.machines[settled]] = step.polling_cores[settled]


def _onwards(before: Vector, led: Vector, now: Vector, leads: Vector) -> Vector:
    """Where two steps together point to (Anderson 1965, with a memory of one)."""
    last, this = led - before, leads - now
    turn = this - last
    length = (turn * turn).sum(axis=(0, 2))
    part = (this * turn).sum(axis=(0, 2)) / np.where(length > 0.0, length, 1.0)
    astray = (this * this).sum(axis=(0, 2)) > (last * last).sum(axis=(0, 2))
    part = np.where(astray, 0.0, np.minimum(np.maximum(part, -LONGEST_LEAP), 0.5))
    following = leads - part[:, np.newaxis] * (leads - led)
    following[0] = np.maximum(following[0], 0.0)
    return np.asarray(following)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Threads by machine and seat: how much they run, work and have in hand.

    Attributes:
        runnable: Part of time that a thread is on a core or wants one.
        number: By machine: the mean number of runnable threads.
        load: Cores it keeps busy.
        total: By machine: the sum of loads.
        busy: Part of time that it has a job in hand.
        persistence: By machine: the exponent of θ.
    """

    runnable: Vector
    number: Vector
    load: Vector
    total: Vector
    busy: Vector
    persistence: Vector


def _runnable(group: _Group, stretch: Vector) -> _State:
    """What threads do under given stretches; none does more than one job at a time."""
    rate, wait, stretched = group.rate, group.wait, group.cpu * stretch
    on_core = core_shares(stretched, wait)
    runnable = np.minimum(rate * group.cpu * stretch, on_core * _ALWAYS)
    load = runnable / stretch
    total = load.sum(axis=1)
    share = (load * on_core).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return _State(
        runnable=runnable,
        number=runnable.sum(axis=1),
        load=load,
        total=total,
        busy=np.minimum(rate * (stretched + wait), 1.0),
        persistence=PERSISTENCE * share,
    )


def _polling_parts(rate: Vector, polls: Truth, mechanics: Mechanics) -> Vector:
    """Part of its idle time that each thread polls before it falls asleep."""
    if mechanics.poll_cores <= 0.0 or mechanics.bolt_spin <= 0.0:
        return np.zeros_like(rate)
    patient = -np.expm1(-rate * mechanics.bolt_spin) if mechanics.bolt_sleep > 0.0 else 1.0
    return np.where(polls, patient, 0.0)


def _burn(group: _Group, state: _State, growth: float) -> Vector:
    """Cores that idle threads burn while 0, 1, 2 … others run, by machine.

    Whoever is not runnable polls with the same probability: their number N is binomial. Its
    moment E[N^g] is expanded to the second order about the mean of N given that it is not zero.
    """
    others = group.others
    if not group.polling.any():
        return np.zeros_like(others)
    polling_time = ((1.0 - state.busy) * group.polling).sum(axis=1)
    away = (group.there - state.runnable).sum(axis=1)
    part = np.minimum(polling_time / np.maximum(away, 1e-9), 1.0)[:, np.newaxis]
    idle = 1.0 - part
    mean = others * part
    some = 1.0 - idle**others
    some = np.where(some > 0.0, some, 1.0)
    about = np.maximum(mean / some, 1e-9)
    spread = np.maximum((mean * idle + mean**2) / some / about**2 - 1.0, 0.0)
    moment = about**growth * np.maximum(1.0 + growth * (growth - 1.0) / 2.0 * spread, 0.0)
    # No thread burns more than a core.
    return np.asarray(np.minimum(group.most_burnt * some * moment, mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """New stretches; how much likelier sharing makes it to be runnable; cores burnt."""

    stretch: Vector
    tilt: Vector
    polling_cores: Vector


def _step(group: _Group, state: _State, tilt: Vector, burn: Vector) -> _Step:
    """Stretches if threads are runnable so much of the time.

    Weights of sets are written relative to a mean tilt per thread, which keeps them in the range
    of numbers and the sums near to what is likely.
    """
    free, total = group.free, state.number
    usual = (state.runnable * np.log(tilt)).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    as_usual = np.exp(usual[:, np.newaxis])
    odds = state.runnable / (1.0 - state.runnable) * as_usual / tilt
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
    weight = np.exp(np.minimum(np.maximum(weight, -_LARGEST_EXPONENT), _LARGEST_EXPONENT))
    worth, served = sets.worth(np.array([weight, weight * speed]))
    rests, runs, works = worth[:, 0].T, worth[:, 1].T, served[:, 1].T
    likely = sets.number * weight
    burnt = (likely * burn * speed).sum(axis=0) / likely.sum(axis=0)
    return _Step(
        stretch=np.maximum(runs / works, 1.0),
        tilt=runs / rests * as_usual,
        polling_cores=burnt,
    )


def _most_runnable(state: _State, free: Vector) -> int:
    """The largest number of runnable threads that can matter, on any of some machines.

    Beyond the cores, the number falls off like (load/cores)ⁿ or faster.
    """
    full = np.minimum(np.maximum(state.total / free, 1e-3), 1.0 - 1e-3)
    number = state.number
    enough = np.maximum(free, number) - _TAIL / np.log(full) + 8.0 * np.sqrt(number)
    return int(min(np.ceil(enough.max()), state.load.shape[1]))


class RunnableSets:
    """The threads of some machines, as many on each.

    Args:
        chance: To run, by thread and machine; zero where there is no such thread.
        load: By thread and machine.
        most: The largest number of runnable threads that matters.
    """

    def __init__(self, chance: Vector, load: Vector, most: int) -> None:
        self._threads = len(chance)
        depth = (len(chance) - 1).bit_length()
        # Whoever never runs changes nothing: with them halves are equal all the way up.
        numbers, loads = np.zeros((2, 1 << depth, 2, chance.shape[1]))
        numbers[:, 0] = 1.0
        numbers[: len(chance), 0] -= chance
        numbers[: len(chance), 1] = chance
        np.multiply(chance, load, out=loads[: len(chance), 1])
        self._levels = [numbers]
        for _ in range(depth):
            # The load of both halves is that of one whatever the other's number, and vice versa.
            left = np.array([numbers[::2], loads[::2], loads[1::2]])
            right = np.array([numbers[1::2], numbers[1::2], numbers[::2]])
            product = _products(left, right)[:, :, : most + 1]
            numbers, loads = product[0], product[1] + product[2]
            self._levels.append(numbers)
        self._loads = loads[0]

    @property
    def number(self) -> Vector:
        """Probability of 0, 1, 2 … runnable threads, by machine."""
        return np.asarray(self._levels[-1][0])

    @property
    def loads(self) -> Vector:
        """Mean sum of the loads of those that run, by their number.

        Numbers so unlikely that they vanish have no mean, and matter to nothing.
        """
        return np.asarray(self._loads / np.maximum(self.number, np.finfo(np.float64).tiny))

    def worth(self, weights: Vector) -> Vector:
        """Mean weight of the set, for each thread if it does not run and if it does.

        Args:
            weights: Several weights of sets, by the number of their members and machine.

        Returns:
            By weight, thread, whether it runs (0 or 1), and machine.
        """
        worth = weights[:, np.newaxis]
        for numbers in self._levels[-2::-1]:
            worth = _seen_by_halves(worth, numbers)
        return worth[:, : self._threads]


def _products(left: Vector, right: Vector) -> Vector:
    """Products of polynomials; their coefficients are the last index but one."""
    degree = left.shape[2] - 1
    padded = np.zeros((*left.shape[:2], 3 * degree + 1, left.shape[3]))
    padded[:, :, degree : 2 * degree + 1] = left
    products: Vector = np.einsum(
        "pknim,pkim->pknm", _windows(padded, degree + 1), right[:, :, ::-1]
    )
    return products


def _seen_by_halves(worth: Vector, halves: Vector) -> Vector:
    """What numbers in one half are worth on the mean over those in the other.

    Args:
        worth: By weight, whole, number and machine.
        halves: Distributions by half (those of all wholes in a row), number and machine.

    Returns:
        By weight, half, number and machine.
    """
    size, machines = halves.shape[1:]
    padded = np.zeros((*worth.shape[:2], 2 * size - 1, machines))
    padded[:, :, : worth.shape[2]] = worth[:, :, : 2 * size - 1]
    other = halves.reshape(-1, 2, size, machines)[:, ::-1]
    seen: Vector = np.einsum("vknjm,kcjm->vkcnm", _windows(padded, size), other)
    return seen.reshape(len(worth), -1, size, machines)


def _windows(padded: Vector, width: int) -> Vector:
    """Views of `width` entries in a row along the last index but one; made by hand for speed."""
    first, second, length, machines = padded.shape
    a, b, c, d = padded.strides
    shape = (first, second, length - width + 1, width, machines)
    return np.ndarray(shape, np.float64, padded, 0, (a, b, c, c, d))
