"""Dhalion, as in Heron's health manager: the operator that holds others back gets more."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen
from streamgauge.planning.sharing.policy import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class DhalionParameters:
    """Settings of the public program, and of the version in published comparisons.

    Attributes:
        interval_seconds: Between two decisions.
        stabilisation_seconds: After a change of a job, until the next of it.
        held_back: Part of the time for which an operator must hold others back to count.
        most_growth: An operator grows at most to so many times its size, and once more.
        scale_down: Part of the executors that are taken from a job without backlog or
            back-pressure; the public program has none of that (0).
        idle: Part of the time that an operator may be busy to give executors away.
        quiet_seconds: For how long a job must have been without both.
    """

    interval_seconds: float = 60.0
    stabilisation_seconds: float = 120.0
    held_back: float = 0.02
    most_growth: float = 4.0
    scale_down: float = 0.1
    idle: float = 0.5
    quiet_seconds: float = 300.0


class Dhalion:
    """One operator of a job in a round; what did not help is not tried again."""

    name = "dhalion"
    settings = DhalionParameters

    def __init__(self, parameters: DhalionParameters | None = None) -> None:
        self.parameters = parameters or DhalionParameters()
        self.period_seconds = self.parameters.interval_seconds
        self._changed: dict[str, float] = {}
        self._quiet: dict[str, float] = {}
        # By job: the operator that grew last, and for which part of the time it held others back.
        self._tried: dict[str, tuple[str, float]] = {}
        self._useless: set[tuple[str, str]] = set()

    def describe(self) -> str:
        """One sentence."""
        return "the operator of a job that holds others back longest grows by how long it does"

    def decide(self, seen: ClusterSeen) -> Decision:
        """At most one operator of every job grows; or all of a quiet job shrink."""
        wanted = {}
        for name, job in seen.jobs.items():
            changed = self._changed.get(name, -math.inf)
            if seen.stale or seen.at - changed < self.parameters.stabilisation_seconds:
                continue
            wanted[name] = self._resolve(name, job, seen.at)
        decision = Decision.of("back-pressure", seen, wanted, "held others back, or idle")
        for name in decision.executors:
            self._changed[name] = seen.at
        return decision

    def _resolve(self, name: str, job: JobSeen, at: float) -> dict[str, int]:
        held = {
            operator: one.held_back
            for operator, one in job.operators.items()
            if one.held_back > self.parameters.held_back
        }
        self._judge(name, held)
        if not held and job.lag_per_second <= 0.0:
            since = self._quiet.setdefault(name, at)
            if at - since >= self.parameters.quiet_seconds:
                return self._shrink(job)
            return {}
        self._quiet.pop(name, None)
        held = {one: part for one, part in held.items() if (name, one) not in self._useless}
        if not held:
            return {}
        worst = max(held, key=lambda one: held[one])
        self._tried[name] = (worst, held[worst])
        return {worst: self._grow(job.operators[worst].executors, held[worst])}

    def _judge(self, name: str, held: dict[str, float]) -> None:
        """Remember an operator that grew without holding others back any less."""
        operator, before = self._tried.pop(name, ("", 0.0))
        if operator and held.get(operator, 0.0) >= before:
            self._useless.add((name, operator))

    def _grow(self, executors: int, part: float) -> int:
        """⌈n × (1 + min(4, bp / (1000 − bp)))⌉ with bp milliseconds in a second."""
        ratio = part / (1.0 - part) if part < 1.0 else math.inf
        return math.ceil(executors * (1.0 + min(self.parameters.most_growth, ratio)))

    def _shrink(self, job: JobSeen) -> dict[str, int]:
        kept = 1.0 - self.parameters.scale_down
        return {
            operator: max(1, math.floor(one.executors * kept))
            for operator, one in job.operators.items()
            if not one.is_source and one.capacity <= self.parameters.idle
        }
