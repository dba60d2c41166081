"""Threads and the machines they share: what contention is computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, format_value

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machines:
    """Machines; arrays of one entry each.

    Attributes:
        cores: That it has.
        background_cores: That something else keeps busy.
    """

    cores: Vector
    background_cores: Vector

    def __post_init__(self) -> None:
        findings = Findings()
        object.__setattr__(self, "cores", np.asarray(self.cores, dtype=np.float64))
        background = np.asarray(self.background_cores, dtype=np.float64)
        object.__setattr__(self, "background_cores", background)
        _check_amounts(findings, self.cores, "cores")
        if _check_length(findings, background, len(self.cores), "background_cores"):
            _check_amounts(findings, background, "background_cores")
        findings.raise_if_any()

    @property
    def free(self) -> Vector:
        """Cores that are left for threads."""
        return self.cores - self.background_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """What idle threads burn; figures as in the transport's mechanics.

    Attributes:
        poll_cores: Cores that one polling thread of a machine keeps busy if nobody else wants them.
        poll_growth: The power of their number by which several do.
        bolt_spin: Seconds that an idle thread polls before it sleeps.
        bolt_sleep: Seconds that it then sleeps at a time; zero: it polls on.
    """

    poll_cores: float = 0.0
    poll_growth: float = 1.0
    bolt_spin: float = 0.0
    bolt_sleep: float = 0.0

    def __post_init__(self) -> None:
        findings = Findings()
        for name in ("poll_cores", "poll_growth", "bolt_spin", "bolt_sleep"):
            check_number(findings, getattr(self, name), name)
        findings.raise_if_any()

    @property
    def burns(self) -> bool:
        """Whether idle threads cost anything."""
        return self.poll_cores > 0.0 and self.bolt_spin > 0.0


NO_POLLING = Polling()


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


def check_machines(machine: Whole, machines: Machines) -> None:
    """Raise InvalidInput where a thread runs on a machine that is not there."""
    findings = Findings()
    count = len(machines.cores)
    for at in np.flatnonzero((machine < 0) | (machine >= count))[:3]:
        findings.add(
            "machine", int(at), seen=f"machine {machine[at]}", expected=f"one of 0 to {count - 1}"
        )
    findings.raise_if_any()
