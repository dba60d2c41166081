"""DS2 (Kalavri et al., OSDI 2018): every operator gets what its true rate says that it needs."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass
from statistics import median

from streamgauge.planning.sharing.demand import find_demand
from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen
from streamgauge.planning.sharing.policy import Decision

# So much of an executor above a whole number is the rounding of a quotient.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Ds2Parameters:
    """Settings of the published program.

    Attributes:
        interval_seconds: Between two decisions.
        warm_up_seconds: After a change, without a decision.
        activation: Intervals over which decisions are gathered; their median counts.
        target_rate_ratio: Nothing is done for a job that processes at least this part of what is
            due and has no backlog; 1 acts on any shortfall, and on executors that are not needed.
        scaling_factor: Part that every operator gets more than it needs.
    """

    interval_seconds: float = 60.0
    warm_up_seconds: float = 60.0
    activation: int = 1
    target_rate_ratio: float = 1.0
    scaling_factor: float = 0.0


class Ds2:
    """The published policy; it supposes that twice the executors do twice as much."""

    name = "ds2"
    settings = Ds2Parameters

    def __init__(self, parameters: Ds2Parameters | None = None) -> None:
        self.parameters = parameters or Ds2Parameters()
        self.period_seconds = self.parameters.interval_seconds
        self._changed: dict[str, float] = {}
        self._gathered: defaultdict[str, deque[dict[str, int]]] = defaultdict(
            lambda: deque(maxlen=self.parameters.activation)
        )

    def describe(self) -> str:
        """One sentence."""
        return "every operator gets its demand over the true rate of one executor, all at once"

    def decide(self, seen: ClusterSeen) -> Decision:
        """All operators of all jobs."""
        wanted = {}
        for name, job in seen.jobs.items():
            since = seen.at - self._changed.get(name, -math.inf)
            if seen.stale or since < self.parameters.warm_up_seconds:
                continue
            gathered = self._gathered[name]
            gathered.append(find_executors(job, self.parameters.scaling_factor))
            if len(gathered) < self.parameters.activation or self._is_on_target(job):
                continue
            wanted[name] = {
                operator: math.ceil(median(one[operator] for one in gathered))
                for operator in gathered[-1]
            }
        decision = Decision.of("true rates", seen, wanted, "demand over true rates")
        for name in decision.executors:
            self._changed[name] = seen.at
            self._gathered[name].clear()
        return decision

    def _is_on_target(self, job: JobSeen) -> bool:
        ratio = self.parameters.target_rate_ratio
        emitted = sum(one.sent_per_second for one in job.operators.values() if one.is_source)
        return ratio < 1.0 and emitted >= ratio * job.offered_per_second and job.lag_per_second <= 0


def find_executors(job: JobSeen, scaling_factor: float = 0.0) -> dict[str, int]:
    """⌈demand / true rate × (1 + factor)⌉ by operator; sources keep theirs."""
    demand = find_demand(job, job.offered_per_second)
    return {
        name: one.executors
        if one.is_source or math.isinf(one.per_executor)
        else max(1, math.ceil(demand[name] / one.per_executor * (1.0 + scaling_factor) - ROUNDING))
        for name, one in job.operators.items()
    }
