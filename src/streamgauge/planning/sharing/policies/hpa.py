"""The horizontal pod autoscaler of Kubernetes: as many executors as bring CPU use to its target."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass

from streamgauge.planning.sharing.observation import ClusterSeen
from streamgauge.planning.sharing.policy import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaParameters:
    """Kubernetes' defaults; the target is what users set.

    Attributes:
        interval_seconds: Between two decisions.
        target: Part of its core that an executor is to use.
        tolerance: Nothing is done within this part of the target.
        scale_down_seconds: Of the recommendations of that time the largest one counts.
    """

    interval_seconds: float = 15.0
    target: float = 0.7
    tolerance: float = 0.1
    scale_down_seconds: float = 300.0


class Hpa:
    """Knows CPU use alone, of each operator apart."""

    name = "hpa"
    settings = HpaParameters

    def __init__(self, parameters: HpaParameters | None = None) -> None:
        self.parameters = parameters or HpaParameters()
        self.period_seconds = self.parameters.interval_seconds
        self._recommended: defaultdict[tuple[str, str], deque[tuple[float, int]]] = defaultdict(
            deque
        )

    def describe(self) -> str:
        """One sentence."""
        return "executors × CPU use / target of every operator, down only after five quiet minutes"

    def decide(self, seen: ClusterSeen) -> Decision:
        """Every operator by itself."""
        if seen.stale:
            return Decision(rule="outage")
        wanted = {
            name: {
                operator: self._stabilise((name, operator), seen.at, self._recommend(one))
                for operator, one in (
                    (operator, (seen_one.executors, seen_one.cores))
                    for operator, seen_one in job.operators.items()
                    if not seen_one.is_source
                )
            }
            for name, job in seen.jobs.items()
        }
        return Decision.of("CPU", seen, wanted, "CPU use off its target")

    def _recommend(self, operator: tuple[int, float]) -> int:
        """⌈current × use / target⌉."""
        executors, cores = operator
        ratio = cores / executors / self.parameters.target
        if abs(ratio - 1.0) <= self.parameters.tolerance:
            return executors
        return max(1, math.ceil(executors * ratio))

    def _stabilise(self, key: tuple[str, str], at: float, count: int) -> int:
        """The largest recommendation of the last minutes, this one included."""
        past = self._recommended[key]
        past.append((at, count))
        while past[0][0] <= at - self.parameters.scale_down_seconds:
            past.popleft()
        return max(one for _, one in past)
