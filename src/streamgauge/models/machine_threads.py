"""Machines and the threads on them, as arrays: what processor sharing and contention are given."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.frozen import FrozenDict

SECONDS_PER_MS = 1e-3
NOTHING_LEARNED: Mapping[str, float] = FrozenDict()

Vector = NDArray[np.float64]
Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Threads:
    """Threads and what they have to do; arrays of one entry a thread.

    Attributes:
        machine: Index of the machine it runs on.
        rate: Jobs per second.
        cpu_seconds: Mean time on a core that nobody shares, for one job.
        wait_seconds: Mean time off core for one job.
        polls: Whether it polls when it is idle.
    """

    machine: Whole
    rate: Vector
    cpu_seconds: Vector
    wait_seconds: Vector
    polls: Truth

    def __post_init__(self) -> None:
        _check_threads(self, ("rate", "cpu_seconds", "wait_seconds"))

    @property
    def wanted_cores(self) -> Vector:
        """Cores that each would keep busy if nobody were in its way."""
        on_core = core_shares(self.cpu_seconds, self.wait_seconds)
        return np.minimum(self.rate * self.cpu_seconds, on_core)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredThreads:
    """Threads as they were seen on a crowded plan; arrays of one entry a thread.

    Attributes:
        machine: Index of the machine it ran on.
        rate: Jobs per second.
        wall_seconds: Mean time of one job by the clock on the wall, without its time in a queue.
        cpu_seconds: Mean CPU time of one job; NaN where it was not measured.
        polls: Whether it polls when it is idle.
    """

    machine: Whole
    rate: Vector
    wall_seconds: Vector
    cpu_seconds: Vector
    polls: Truth

    def __post_init__(self) -> None:
        _check_threads(self, ("rate", "wall_seconds"), unknown=("cpu_seconds",))

    def relax(self, stretch: Vector) -> Threads:
        """What they would have to do on cores that nobody shares, if they were stretched so.

        With a known CPU time, waiting is what the wall time has beyond its stretch. Without one,
        all of the wall time is taken for stretched CPU time.
        """
        cpu = np.where(np.isnan(self.cpu_seconds), self.wall_seconds / stretch, self.cpu_seconds)
        return Threads(
            machine=self.machine,
            rate=self.rate,
            cpu_seconds=cpu,
            wait_seconds=np.maximum(self.wall_seconds - multiply(cpu, stretch), 0.0),
            polls=self.polls,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machines:
    """Machines; arrays of one entry each.

    Attributes:
        cores: That it has.
        background_cores: That something else keeps busy.
        balance_seconds: How often a core with less to do takes over a thread that waits elsewhere;
            zero where threads find any free core at once, infinite where they stay where they are.
        engine_cores: That the job's engine itself keeps busy, beside its executors' work; none
            where not given. It grows with the load.
    """

    cores: Vector
    background_cores: Vector
    balance_seconds: Vector
    engine_cores: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        findings = Findings()
        if not len(self.engine_cores):
            object.__setattr__(self, "engine_cores", np.zeros(len(self.cores)))
        for name in ("cores", "background_cores", "balance_seconds", "engine_cores"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, values)
            if _check_length(findings, values, len(self.cores), name) and name.endswith("cores"):
                _check_amounts(findings, values, name)
        findings.raise_if_any()

    @classmethod
    def of(cls, cluster: Cluster, balance_ms: Mapping[str, float] = NOTHING_LEARNED) -> Machines:
        """Those of a cluster, in its order, with what was learned of their balance."""
        return cls(
            cores=np.asarray([machine.cores for machine in cluster.machines]),
            background_cores=np.asarray([machine.background_cores for machine in cluster.machines]),
            balance_seconds=np.asarray(cluster.list_balance_ms(balance_ms)) * SECONDS_PER_MS,
        )

    @property
    def free(self) -> Vector:
        """Cores that are left for threads."""
        return self.cores - self.background_cores - self.engine_cores

    def check_threads(self, machine: Whole) -> None:
        """Raise InvalidInput where a thread runs on a machine that is not there."""
        findings = Findings()
        count = len(self.cores)
        for at in np.flatnonzero((machine < 0) | (machine >= count))[:3]:
            findings.add(
                "machine",
                int(at),
                seen=f"machine {machine[at]}",
                expected=f"one of 0 to {count - 1}",
            )
        findings.raise_if_any()


def core_shares(cpu: Vector, wait: Vector) -> Vector:
    """The part of a job that is CPU time."""
    total = cpu + wait
    return np.asarray(cpu / np.where(total > 0.0, total, 1.0))


def multiply(one: Vector, other: Vector) -> Vector:
    """The product, where nothing of infinity is nothing."""
    alike = one.shape == other.shape
    result = np.zeros(one.shape if alike else np.broadcast_shapes(one.shape, other.shape))
    np.multiply(one, other, out=result, where=(one > 0.0) & (other > 0.0))
    return result


def number_alike(figures: Sequence[Hashable]) -> Whole:
    """For each of several figures the number of its kind, in the order in which they appear."""
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(one, len(numbers)) for one in figures]
    return np.asarray(places, dtype=np.int64)


def sum_by_machine(machine: Whole, values: Vector | Truth, count: int) -> Vector:
    """Sums of what threads have, for each of so many machines."""
    return np.asarray(np.bincount(machine, weights=values, minlength=count), dtype=np.float64)


def _check_threads(
    threads: Threads | MeasuredThreads, amounts: tuple[str, ...], unknown: tuple[str, ...] = ()
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
