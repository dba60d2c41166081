"""CPU contention: how far the threads of a machine stretch each other's CPU time.

A thread's stretch is the time it is runnable over the CPU time it gets. It lies between two
limits, each of them processor sharing (`processor_sharing`):

* *joint cores*: a thread that wakes finds any free core, and all threads share all cores evenly;
* *own cores*: a thread stays on one core and shares it with the others there, even while another
  core is idle. For light threads the stretch is 1/(1 − load of the others on the core).

Linux is between the two (docs/contention.md): now and then, about every τ, a core with less to do
takes over a thread that waits elsewhere. Threads are dealt to their own cores the longest first;
what else a machine does is spread evenly. Threads are moved in time the more often the longer the
jobs of a core are (x their mean CPU time, weighted by load), and the more uneven the cores:

    stretch = b·joint + (1 − b)·own         b = b₀ + (1 − b₀)·(ρ_k − ρ)/(1 − ρ)
    b₀ = r/(r + 0.6(1 − ρ)(1 + (m − 1)⁻³))  r = (x/τ)^1.4

on core k of load ρ_k, of a machine of mean load ρ with as much to do as m like threads a core have.
A core which would be overloaded on its own is as good as joint. b₀ was found in simulations of 3 to
16 like threads on two cores, and is within 0.15 of them where x/τ is between 0.15 and 2.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.models.machine_threads import (
    Machines,
    MeasuredThreads,
    Threads,
    Truth,
    Vector,
    Whole,
    core_shares,
    multiply,
    number_alike,
    sum_by_machine,
)
from streamgauge.models.processor_sharing import TOLERANCE, SharedCores, settle_machines
from streamgauge.models.queueing import divide_or
from streamgauge.transport.mechanics import PLAIN, Mechanics

REACH_POWER = 1.4
SLACK = 0.6
# By less than this part a wall time that is too short is nothing to speak of.
NOTEWORTHY = 0.05
# Rounds in which CPU times are inferred from wall-clock times, and their precision.
MOST_ROUNDS = 200
INFERRED = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contention:
    """What sharing does to threads, and threads to machines.

    Attributes:
        stretch: By thread: wall time over CPU time while it is on a core or wants one; infinite on
            a machine that is overloaded.
        limits: With joint cores and with own ones: from where nearly the same is found sooner.
        used_cores: By thread: cores it keeps busy with its jobs.
        busy_cores: By machine: the sum of these.
        polling_cores: By machine: cores that idle threads burn.
        overloaded: By machine: whether threads want all free cores, or more.
        core: By thread: the one that it stays on with own cores, all machines' in one row.
    """

    stretch: Vector
    limits: tuple[SharedCores, SharedCores | None] | None
    used_cores: Vector
    busy_cores: Vector
    polling_cores: Vector
    overloaded: Truth
    core: Whole | None = None

    @property
    def overloaded_machines(self) -> tuple[int, ...]:
        """Indices of those that cannot do what is asked of them."""
        return tuple(int(machine) for machine in np.flatnonzero(self.overloaded))


def contention(
    threads: Threads,
    machines: Machines,
    mechanics: Mechanics = PLAIN,
    *,
    near: Contention | None = None,
    tolerance: float = TOLERANCE,
) -> Contention:
    """Stretch and use of cores for all threads of all machines.

    Machines without enough cores are listed, with infinite stretches; there the cores go to
    threads as evenly as these can use them. `near` is what was found for nearly the same threads:
    where to begin. Stretches may still change by the part `tolerance`.

    Raises:
        InvalidInput: A thread runs on a machine that is not there.
    """
    machines.check_threads(threads.machine)
    wanted = threads.wanted_cores
    overloaded = _overloaded(threads.machine, wanted, machines.free)
    begin_joint, begin_own = (near.limits if near else None) or (None, None)
    joint = settle_machines(
        threads, machines.free, overloaded, mechanics, near=begin_joint, tolerance=tolerance
    )
    dealt = _deal(threads, machines, overloaded)
    own = None
    stretch = joint.stretch
    if dealt is not None:
        own = settle_machines(
            replace(threads, machine=dealt.core),
            dealt.free,
            dealt.full,
            mechanics,
            near=begin_own,
            tolerance=tolerance,
            poll_scale=dealt.poll_scale(mechanics),
        )
        stretch = dealt.mix(joint.stretch, own.stretch)
    on_overloaded = overloaded[threads.machine]
    finite = np.where(on_overloaded, 1.0, stretch)
    cpu, wait = threads.cpu_seconds, threads.wait_seconds
    used = np.minimum(threads.rate * cpu, core_shares(cpu * finite, wait) / finite)
    for machine in np.flatnonzero(overloaded):
        here = threads.machine == machine
        used[here] = _evenly(wanted[here], max(float(machines.free[machine]), 0.0))
    return Contention(
        stretch=stretch,
        limits=(joint, own),
        used_cores=used,
        busy_cores=sum_by_machine(threads.machine, used, len(machines.cores)),
        polling_cores=joint.polling_cores,
        overloaded=overloaded,
        core=None if dealt is None else dealt.core,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Dealt:
    """Threads dealt to the cores of their machines; cores are numbered in one row.

    Attributes:
        core: By thread.
        free: By core: what others leave of it.
        full: By core: whether it cannot do what its threads want.
        cores: By core: how many its machine has.
        joint_part: By core: how much of a joint core it is.
        alike: By thread: the number of its kind; threads of one machine and load are one kind.
    """

    core: Whole
    free: Vector
    full: Truth
    cores: Whole
    joint_part: Vector
    alike: Whole

    def poll_scale(self, mechanics: Mechanics) -> Vector:
        """So that the polling threads of all cores together burn what they do on joint cores."""
        return np.asarray(self.cores ** (mechanics.poll_growth - 1.0))

    def mix(self, joint: Vector, own: Vector) -> Vector:
        """The stretch between that of joint and that of own cores.

        Threads that are alike change places now and then: each has the mean of all.
        """
        part = self.joint_part[self.core]
        mixed = multiply(part, joint) + multiply(1.0 - part, np.where(part < 1.0, own, 0.0))
        return np.asarray((np.bincount(self.alike, mixed) / np.bincount(self.alike))[self.alike])


def _deal(threads: Threads, machines: Machines, overloaded: Truth) -> _Dealt | None:
    """Threads on cores of their own; None where no machine is any different with these."""
    cores = np.ceil(machines.cores).astype(np.int64)
    apart = (cores > 1) & (machines.balance_seconds > 0.0) & ~overloaded
    if not apart[threads.machine].any():
        return None
    load = threads.wanted_cores
    core = deal_threads(threads.machine, load, cores)
    machine = np.repeat(np.arange(len(cores)), cores)
    free = machines.free / cores
    positive = np.where(free > 0.0, free, 1.0)
    total = sum_by_machine(core, load, len(machine))
    busy = total / positive[machine]
    mean = (sum_by_machine(threads.machine, load, len(cores)) / cores / positive)[machine]
    full = overloaded[machine] | (busy >= 1.0)
    uneven = np.clip((busy - mean) / np.maximum(1.0 - mean, 1e-9), 0.0, 1.0)
    burst = divide_or(sum_by_machine(core, load * threads.cpu_seconds, len(machine)), total, 0.0)
    reach = (burst / np.where(apart, machines.balance_seconds, 1.0)[machine]) ** REACH_POWER
    crowd = (_count_like(threads.machine, load, len(cores)) / cores)[machine]
    slack = SLACK * np.maximum(1.0 - mean, 1e-9) * (1.0 + np.maximum(crowd - 1.0, 1e-3) ** -3.0)
    in_time = reach / (reach + slack)
    moved = in_time + (1.0 - in_time) * uneven
    return _Dealt(
        core=core,
        free=free[machine],
        full=full,
        cores=cores[machine],
        joint_part=np.where(full | ~apart[machine], 1.0, moved),
        alike=number_alike(list(zip(threads.machine.tolist(), load.tolist(), strict=True))),
    )


def _count_like(machine: Whole, load: Vector, count: int) -> Vector:
    """How many threads of one load would load each machine as unevenly as its threads do."""
    squares = sum_by_machine(machine, load**2, count)
    return divide_or(sum_by_machine(machine, load, count) ** 2, squares, 0.0)


def deal_threads(machine: Whole, load: Vector, cores: Whole) -> Whole:
    """The core of each thread: the longest first, each to the core that has the least to do so far.

    Args:
        machine: Of each thread.
        load: Cores that each thread keeps busy.
        cores: How many each machine has; all are numbered in one row.
    """
    first = np.cumsum(cores) - cores
    least = [
        [(0.0, place) for place in range(begin, begin + count)]
        for begin, count in zip(first.tolist(), cores.tolist(), strict=True)
    ]
    core = np.zeros(len(machine), dtype=np.int64)
    machine_of, load_of = machine.tolist(), load.tolist()
    for thread in np.argsort(-load, kind="stable").tolist():
        here = least[machine_of[thread]]
        so_far, place = here[0]
        core[thread] = place
        heapq.heapreplace(here, (so_far + load_of[thread], place))
    return core


def measure_stretch(
    measured: MeasuredThreads, machines: Machines, mechanics: Mechanics = PLAIN
) -> tuple[Vector, tuple[str, ...]]:
    """By thread, what sharing did to CPU times when they were measured; and warnings.

    Infinite on a machine that was overloaded.

    Raises:
        InvalidInput: A thread ran on a machine that is not there.
    """
    machines.check_threads(measured.machine)
    inferred = np.isnan(measured.cpu_seconds)
    known = np.where(inferred, 0.0, measured.cpu_seconds)
    # CPU and waiting times follow from stretches, and these from them. CPU times that are not known
    # are first taken for the least they can be, so that no machine seems overloaded by them.
    threads = sum_by_machine(measured.machine, measured.rate > 0.0, len(machines.cores))
    crowd = np.maximum(threads / np.maximum(machines.free, 1e-9), 1.0)[measured.machine]
    stretch = np.where(inferred, crowd, 1.0)
    found: Contention | None = None
    for _ in range(MOST_ROUNDS):
        found = contention(measured.relax(stretch), machines, mechanics, near=found)
        finite = np.where(np.isfinite(found.stretch), found.stretch, stretch)
        change = np.abs(np.log(finite / stretch))
        # Half a step: a longer CPU time makes for a longer stretch, which makes for a shorter one.
        stretch = np.where(inferred, np.sqrt(finite * stretch), finite)
        if change.max(initial=0.0) <= INFERRED:
            break
    assert found is not None
    least = multiply(known, found.stretch) * (1.0 - NOTEWORTHY)
    short = ~inferred & ~found.overloaded[measured.machine] & (measured.wall_seconds < least)
    return found.stretch, tuple(_warnings(inferred, short, np.flatnonzero(found.overloaded)))


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


def _overloaded(machine: Whole, wanted: Vector, free: Vector) -> Truth:
    """Machines whose threads want all free cores; no more threads than cores never do."""
    total = sum_by_machine(machine, wanted, len(free))
    active = sum_by_machine(machine, wanted > 0.0, len(free))
    return np.asarray((free <= 0.0) | ((total >= free) & (active > free)))


def _evenly(wanted: Vector, free: float) -> Vector:
    """Cores for each: what it wants, or an even share of what those who want less leave over."""
    ordered = np.sort(wanted)
    left = free - np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
    share = np.max(left / np.arange(len(ordered), 0, -1), initial=0.0)
    return np.minimum(wanted, share)
