"""Admission of new jobs: one joins while those that run meet their objectives, and waits otherwise.

As published (Henge, section 2.5), with two additions: a job of which cores are known to be needed
waits until so many are free, and somebody may release a job in spite of all that. Pure rules: what
waits is given in and comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamgauge.planning.sharing.observation import ClusterSeen
from streamgauge.topology.frozen import FrozenDict, freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A job that wants to join.

    Attributes:
        since: When it asked.
        max_utility: What it would be worth: its priority.
        cores: That it is expected to use; None where nobody knows.
    """

    since: float
    max_utility: float = 1.0
    cores: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a job waits, and what would let it in."""

    since: float
    reason: str
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionState:
    """Who waits, and who was released by hand."""

    asking: Mapping[str, Asking] = field(default_factory=FrozenDict)
    released: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        freeze(self, "asking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What came of it.

    Attributes:
        jobs: Those that join now, in order.
        waiting: All others, with the reason.
    """

    jobs: tuple[str, ...] = ()
    waiting: Mapping[str, Waiting] = field(default_factory=FrozenDict)


def ask(state: AdmissionState, name: str, asking: Asking) -> AdmissionState:
    """A new job wants to join."""
    return replace(state, asking={**state.asking, name: asking})


def withdraw(state: AdmissionState, name: str) -> AdmissionState:
    """A job no longer wants to."""
    left = {one: asking for one, asking in state.asking.items() if one != name}
    return AdmissionState(asking=left, released=state.released - {name})


def release(state: AdmissionState, name: str) -> AdmissionState:
    """Let a job in whatever the others do."""
    return replace(state, released=state.released | {name})


def release_command(name: str) -> str:
    """What somebody types to let a job in."""
    return f"streamgauge storm release {name}"


def admit(state: AdmissionState, seen: ClusterSeen) -> tuple[AdmissionState, Admitted]:
    """Who may join now: those of the highest priority first, then those that wait longest."""
    refusal = find_refusal(seen)
    used = sum(one.cores for job in seen.jobs.values() for one in job.operators.values())
    free = sum(one.cores for one in seen.machines) - used
    joining: list[str] = []
    waiting: dict[str, Waiting] = {}
    for name, asking in sorted(state.asking.items(), key=_urgency):
        reason = refusal
        if not reason and asking.cores is not None and seen.machines and asking.cores > free:
            reason = f"it needs {asking.cores:.3g} cores, and {max(free, 0.0):.3g} are free"
        if name in state.released or not reason:
            joining.append(name)
            free -= asking.cores or 0.0
        else:
            waiting[name] = Waiting(
                since=asking.since, reason=reason, release=release_command(name)
            )
    left = AdmissionState(
        asking={name: state.asking[name] for name in waiting},
        released=state.released - set(joining),
    )
    return left, Admitted(jobs=tuple(joining), waiting=FrozenDict(waiting))


def find_refusal(seen: ClusterSeen) -> str:
    """Why no job may join now; empty where one may."""
    missed = [name for name, job in seen.jobs.items() if job.meets_slo is False]
    unknown = [name for name, job in seen.jobs.items() if job.meets_slo is None]
    if missed:
        return f"{_list(missed)} {'miss' if len(missed) > 1 else 'misses'} the objective"
    if unknown:
        return f"of {_list(unknown)} it is not known"
    return "there are no new metrics" if seen.stale else ""


def _list(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _urgency(one: tuple[str, Asking]) -> tuple[float, float, str]:
    name, asking = one
    return (-asking.max_utility, asking.since, name)
