"""How much the crowd on a machine varies: all of its threads are slow at the same time.

A stretch is a mean. Queues grow while a machine is crowded, so a mean stretch makes them too short,
and the time along a path, whose elements are slow together, too even. So the stretch of a machine
is multiplied by a random factor of mean one that has three levels, and paths are computed at each.

How much the factor varies follows from what sharing cores cannot change: the work in hand. Of jobs
with exponential times x_i and rates λ_i, N_i of which are queued or served,

    one core:        Σ x_i·N_i = Σ λ_i·x_i²/(1 − ρ)           whatever the order (work is conserved)
    several cores:   Σ N_i = d log G/d log ρ,   G = Σ_k C(n, k) ∏_{m ≤ k} m·a/(min(m, c) − m·a)

The second is balanced fairness (Bonald, Proutière 2003; Bonald, Comte, Mathieu 2017) for n threads
of load a = ρ/n each on c cores. Queues by the mean stretch hold N_i = ρ_i·s_i/(1 − ρ_i·s_i); the
factor's variation is such that they hold as much more as work in hand asks for.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.models.cpu_contention import Contention
from streamgauge.models.machine_threads import Machines, Threads, Truth, Vector, sum_by_machine

# Three levels of a lognormal factor (Gauss and Hermite).
PROBABILITIES = np.asarray([1.0, 4.0, 1.0]) / 6.0
_NODES = np.sqrt(3.0) * np.asarray([-1.0, 0.0, 1.0])
# A factor varies no more than this: its squared coefficient of variation.
MOST_VARIATION = 2.0
# Less of it changes nothing that can be seen.
LEAST_VARIATION = 1e-3
# Precision of the variation, in halvings of its range.
HALVINGS = 24


def level_factors(variation: Vector) -> Vector:
    """The factor of each machine at each level, levels × machines; its mean is one."""
    width = np.sqrt(np.log1p(variation))
    factors = np.exp(_NODES[:, np.newaxis] * width)
    return np.asarray(factors / (PROBABILITIES @ factors))


def find_variation(threads: Threads, machines: Machines, found: Contention) -> Vector:
    """The squared coefficient of variation of each machine's factor.

    Zero on machines that are overloaded.
    """
    count = len(machines.cores)
    stretch = np.where(np.isfinite(found.stretch), found.stretch, 1.0)
    load, cpu = found.used_cores, threads.cpu_seconds
    more = _missing_work(threads, machines, found)
    # Threads that are busy without end hold no finite work in any case.
    steady = load * stretch < 1.0 - 1e-6
    weight = np.where(steady, cpu, 0.0)
    busy = np.where(steady, load * stretch, 0.0)
    target = (1.0 + more) * sum_by_machine(threads.machine, weight * busy / (1.0 - busy), count)

    def is_enough(variation: Vector) -> Truth:
        factor = level_factors(variation)[:, threads.machine] * busy
        with np.errstate(divide="ignore"):
            number = np.where(factor < 1.0, factor / (1.0 - factor), np.inf)
        held = np.where(weight > 0.0, weight, 0.0) * (PROBABILITIES @ np.minimum(number, 1e9))
        return np.asarray(sum_by_machine(threads.machine, held, count) >= target)

    # Most plans have no crowded machine: one look tells.
    steady_crowd = found.overloaded | (more <= 0.0) | is_enough(np.full(count, LEAST_VARIATION))
    low, high = np.zeros(count), np.full(count, MOST_VARIATION)
    if not steady_crowd.all():
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            enough = is_enough(middle)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    varied = np.where(steady_crowd, 0.0, low)
    return np.where(varied < LEAST_VARIATION, 0.0, varied)


def _missing_work(threads: Threads, machines: Machines, found: Contention) -> Vector:
    """By machine, the part by which queues of mean stretches hold too little work."""
    count = len(machines.cores)
    missing = np.zeros(count)
    cores = np.ceil(machines.cores).astype(np.int64)
    joint, own = found.limits or (None, None)
    for machine in np.flatnonzero(~found.overloaded & (machines.free > 0.0)):
        here = (threads.machine == machine) & (found.used_cores > 0.0)
        load, cpu = found.used_cores[here], threads.cpu_seconds[here]
        if joint is None or np.count_nonzero(here) < 2:
            continue
        free = float(machines.free[machine])
        shared = _excess_joint(load, joint.stretch[here], free, int(cores[machine]))
        if own is None or found.core is None:
            missing[machine] = shared
            continue
        alone = _excess_own(load, cpu, own.stretch[here], found.core[here], free / cores[machine])
        # As stretches are mixed, so is what they leave out.
        apart = own.stretch[here] - joint.stretch[here]
        mixed = found.stretch[here] - joint.stretch[here]
        part = float(np.clip(mixed.sum() / apart.sum(), 0.0, 1.0)) if apart.sum() > 0.0 else 0.0
        missing[machine] = part * alone + (1.0 - part) * shared
    return missing


def _excess_own(load: Vector, cpu: Vector, stretch: Vector, core: Vector, free: float) -> float:
    """The part of work that is missing where threads stay on cores."""
    _, place = np.unique(core, return_inverse=True)
    busy = np.bincount(place, load)[place] / free
    steady = (busy < 1.0) & (load * stretch < 1.0)
    if not steady.any():
        return 0.0
    conserved = (load * cpu / free / np.where(steady, 1.0 - busy, 1.0))[steady].sum()
    held = (load * stretch * cpu / np.where(steady, 1.0 - load * stretch, 1.0))[steady].sum()
    return max(float(conserved / held) - 1.0, 0.0)


def _excess_joint(load: Vector, stretch: Vector, free: float, cores: int) -> float:
    """The same where threads share all cores, for as many like threads as vary the same.

    These are not always a whole number: then it lies between its neighbours.
    """
    total = float(load.sum())
    if total >= free:
        return 0.0
    like = total**2 / float((load**2).sum())
    busy = float(load @ stretch)
    fewer = math.floor(like)
    # Cores that others use in part are as good as slower ones.
    neighbours = [
        _excess_alike(threads, cores, total * cores / free, busy) for threads in (fewer, fewer + 1)
    ]
    return float(np.interp(like, (fewer, fewer + 1), neighbours))


def _excess_alike(threads: int, cores: int, load: float, busy: float) -> float:
    """The same of so many like threads, of which that many are busy by the mean stretch."""
    # A thread with a core to itself meets no crowd.
    if threads <= cores or busy >= threads:
        return 0.0
    held = busy / (1.0 - busy / threads)
    return max(fair_number(threads, cores, load) / held - 1.0, 0.0)


def fair_number(threads: int, cores: int, load: float) -> float:
    """Mean jobs in hand of like threads that share cores in balanced fairness.

    Args:
        threads: How many.
        cores: How many.
        load: Of all threads together, in cores.
    """
    number = np.arange(1.0, threads + 1.0)
    choices = np.cumsum(np.log((threads - number + 1.0) / number))

    def log_total(scale: float) -> float:
        each = scale * load / threads
        left = np.minimum(number, cores) - number * each
        weights = choices + np.cumsum(np.log(number * each) - np.log(left))
        top = max(float(weights.max()), 0.0)
        return top + math.log(math.exp(-top) + float(np.exp(weights - top).sum()))

    step = 1e-4 * min(1.0, min(threads, cores) / load - 1.0)
    return (log_total(1.0 + step) - log_total(1.0 - step)) / (2.0 * step)
