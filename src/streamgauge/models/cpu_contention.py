"""CPU contention: how far the threads of a machine stretch each other's CPU time.

With n runnable threads on c free cores each runs at the speed min(1, c/n); idle threads that poll
count as the cores they burn. A thread's stretch is the time it is runnable over the CPU time it
gets, and so exactly the inverse of its mean speed while it is runnable. What must be known is how
many others are runnable then, and they are not independent of it: whoever is slowed down stays
longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.errors import Findings
from streamgauge.models.processor_sharing import (
    TOLERANCE,
    MachineThreads,
    Truth,
    Vector,
    Whole,
    core_shares,
    multiply,
    settle_machines,
)
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import format_value
from streamgauge.transport.mechanics import PLAIN, Mechanics

# By less than this part a wall time that is too short is nothing to speak of.
NOTEWORTHY = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Threads(MachineThreads):
    """Threads and what they have to do.

    Attributes:
        cpu_seconds: Mean time on a core that nobody shares, for one job.
        wait_seconds: Mean time off core for one job.
    """

    cpu_seconds: Vector
    wait_seconds: Vector

    def __post_init__(self) -> None:
        _check_threads(self, ("rate", "cpu_seconds", "wait_seconds"))

    def split_jobs(self, stretch: Vector, which: Any) -> tuple[Vector, Vector]:
        """As given, whatever the stretch."""
        return self.cpu_seconds[which], self.wait_seconds[which]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredThreads(MachineThreads):
    """Threads as they were seen on a crowded plan.

    Attributes:
        wall_seconds: Mean time of one job by the clock on the wall, without its time in a queue.
        cpu_seconds: Mean CPU time of one job; NaN where it was not measured.
    """

    wall_seconds: Vector
    cpu_seconds: Vector

    def __post_init__(self) -> None:
        _check_threads(self, ("rate", "wall_seconds"), unknown=("cpu_seconds",))

    @property
    def infers_cpu_times(self) -> bool:
        """Whether a CPU time was not measured."""
        return bool(np.isnan(self.cpu_seconds).any())

    def split_jobs(self, stretch: Vector, which: Any) -> tuple[Vector, Vector]:
        """With a known CPU time, waiting is what the wall time has beyond its stretch.

        Without one, all of the wall time is taken for stretched CPU time.
        """
        wall, known = self.wall_seconds[which], self.cpu_seconds[which]
        cpu = np.where(np.isnan(known), wall / stretch, known)
        return cpu, np.maximum(wall - multiply(cpu, stretch), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machines:
    """Machines; arrays of one entry each.

    Attributes:
        cores: That it has.
        background_cores: That something else keeps busy.
        engine_cores: That the job's engine itself keeps busy, beside its executors' work; none
            where not given. It grows with the load.
    """

    cores: Vector
    background_cores: Vector
    engine_cores: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        findings = Findings()
        object.__setattr__(self, "cores", np.asarray(self.cores, dtype=np.float64))
        _check_amounts(findings, self.cores, "cores")
        if not len(self.engine_cores):
            object.__setattr__(self, "engine_cores", np.zeros(len(self.cores)))
        for name in ("background_cores", "engine_cores"):
            used = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, used)
            if _check_length(findings, used, len(self.cores), name):
                _check_amounts(findings, used, name)
        findings.raise_if_any()

    @classmethod
    def of(cls, cluster: Cluster) -> Machines:
        """Those of a cluster, in its order."""
        return cls(
            cores=np.asarray([one.cores for one in cluster.machines]),
            background_cores=np.asarray([one.background_cores for one in cluster.machines]),
        )

    @property
    def free(self) -> Vector:
        """Cores that are left for threads."""
        return self.cores - self.background_cores - self.engine_cores


def _check_threads(
    threads: MachineThreads, amounts: tuple[str, ...], unknown: tuple[str, ...] = ()
) -> None:
    findings = Findings()
    machine = np.asarray(threads.machine, dtype=np.int64)
    polls = np.asarray(threads.polls, dtype=np.bool_)
    object.__setattr__(threads, "machine", machine)
    object.__setattr__(threads, "polls", polls)
    _check_length(findings, polls, len(machine), "polls")
    for name in (*amounts, *unknown):
        values = np.asarray(getattr(threads, name), dtype=np.float64)
        object.__setattr__(threads, name, values)
        if _check_length(findings, values, len(machine), name):
            _check_amounts(findings, values, name, may_be_unknown=name in unknown)
    findings.raise_if_any()


def _check_length(findings: Findings, values: Vector | Truth, length: int, name: str) -> bool:
    if values.shape != (length,):
        findings.add(name, seen=f"shape {values.shape}", expected=f"one row of {length}")
    return values.shape == (length,)


def _check_amounts(
    findings: Findings, values: Vector, name: str, *, may_be_unknown: bool = False
) -> None:
    fine = np.isfinite(values) & (values >= 0.0)
    if may_be_unknown:
        fine |= np.isnan(values)
    for at in np.flatnonzero(~fine)[:3]:
        findings.add(
            name,
            int(at),
            seen=format_value(float(values[at])),
            expected="a finite number of at least 0",
        )


def check_machines(machine: Whole, machines: Machines) -> None:
    """Raise InvalidInput where a thread runs on a machine that is not there."""
    findings = Findings()
    count = len(machines.cores)
    for at in np.flatnonzero((machine < 0) | (machine >= count))[:3]:
        findings.add(
            "machine", int(at), seen=f"machine {machine[at]}", expected=f"one of 0 to {count - 1}"
        )
    findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contention:
    """What sharing does to threads, and threads to machines.

    Attributes:
        stretch: By thread: wall time over CPU time while it is on a core or wants one; infinite on
            a machine that is overloaded.
        tilt: By thread: how many times as likely sharing makes it to be runnable.
        used_cores: By thread: cores it keeps busy with its jobs.
        busy_cores: By machine: the sum of these.
        polling_cores: By machine: cores that idle threads burn.
        overloaded: By machine: whether threads want all free cores, or more.
    """

    stretch: Vector
    tilt: Vector
    used_cores: Vector
    busy_cores: Vector
    polling_cores: Vector
    overloaded: Truth

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
    check_machines(threads.machine, machines)
    cpu, wait, rate = threads.cpu_seconds, threads.wait_seconds, threads.rate
    most = np.minimum(rate * cpu, core_shares(cpu, wait))
    overloaded = _overloaded(threads.machine, most, machines.free)
    shared = settle_machines(
        threads,
        machines.free,
        overloaded,
        mechanics,
        near=None if near is None else (near.stretch, near.tilt),
        tolerance=tolerance,
    )
    on_overloaded = overloaded[threads.machine]
    used = np.where(on_overloaded, 0.0, shared.runnable / shared.stretch)
    for machine in np.flatnonzero(overloaded):
        here = threads.machine == machine
        used[here] = _evenly(most[here], max(float(machines.free[machine]), 0.0))
    count = len(machines.cores)
    return Contention(
        stretch=shared.stretch,
        tilt=shared.tilt,
        used_cores=used,
        busy_cores=_summed(threads.machine, used, count),
        polling_cores=shared.polling_cores,
        overloaded=overloaded,
    )


def measure_stretch(
    measured: MeasuredThreads, machines: Machines, mechanics: Mechanics = PLAIN
) -> tuple[Vector, tuple[str, ...]]:
    """By thread, what sharing did to CPU times when they were measured; and warnings.

    Infinite on a machine that was overloaded.

    Raises:
        InvalidInput: A thread ran on a machine that is not there.
    """
    check_machines(measured.machine, machines)
    inferred = np.isnan(measured.cpu_seconds)
    known = np.where(inferred, 0.0, measured.cpu_seconds)
    most = np.minimum(measured.rate * known, 1.0)
    overloaded = _overloaded(measured.machine, most, machines.free)
    stretch = settle_machines(measured, machines.free, overloaded, mechanics).stretch
    least = multiply(known, stretch) * (1.0 - NOTEWORTHY)
    short = ~inferred & ~overloaded[measured.machine] & (measured.wall_seconds < least)
    return stretch, tuple(_warnings(inferred, short, np.flatnonzero(overloaded)))


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
