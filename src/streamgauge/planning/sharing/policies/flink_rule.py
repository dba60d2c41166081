"""The rules of Flink's autoscaler (FLIP-271), with the defaults of its options."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from streamgauge.planning.sharing.demand import find_demand
from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen, OperatorSeen
from streamgauge.planning.sharing.policy import Decision

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkParameters:
    """Options with the prefix `job.autoscaler.`, in its units and with its defaults.

    Attributes:
        interval_seconds: Between two decisions.
        window_seconds: `metrics.window`, over which figures are averaged.
        stabilisation_seconds: `stabilization.interval`: after a change, without a decision.
        utilisation: `utilization.target`.
        band: Above and below it.
        scale_down_seconds: `scale-down.interval`: the largest recommendation of that time counts.
        scale_down_most: `scale-down.max-factor`.
        scale_up_most: `scale-up.max-factor`.
        catch_up_seconds: `catch-up.duration`: within which a backlog is to be gone.
        restart_seconds: `restart.time`.
        lag_seconds: `backlog-processing.lag-threshold`: with more than that, no scale-down.
    """

    interval_seconds: float = 60.0
    window_seconds: float = 900.0
    stabilisation_seconds: float = 300.0
    utilisation: float = 0.7
    band: float = 0.3
    scale_down_seconds: float = 3600.0
    scale_down_most: float = 0.6
    scale_up_most: float = 100_000.0
    catch_up_seconds: float = 1800.0
    restart_seconds: float = 300.0
    lag_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """Averages of one operator over the metrics' window.

    Attributes:
        target: Tuples per second that come to it where nothing is held back.
        catch_up: Tuples per second more that empty the backlog in time.
        capacity: Tuples per second that it could do.
    """

    executors: int
    target: float
    catch_up: float
    capacity: float

    def required(self, utilisation: float, rules: FlinkParameters, *, restart: bool) -> float:
        """Tuples per second that it must be able to do, with a restart in between or not."""
        restarted = self.target * rules.restart_seconds / rules.catch_up_seconds if restart else 0.0
        steady = self.target / utilisation if utilisation > 0.0 else math.inf
        return self.catch_up + restarted + steady


class FlinkRule:
    """Acts where an operator is outside of its band; then all computed changes at once."""

    name = "flink-rule"
    settings = FlinkParameters

    def __init__(self, parameters: FlinkParameters | None = None) -> None:
        self.parameters = parameters or FlinkParameters()
        self.period_seconds = self.parameters.interval_seconds
        self._seen: defaultdict[str, deque[tuple[float, JobSeen]]] = defaultdict(deque)
        self._changed: dict[str, float] = {}
        self._recommended: defaultdict[tuple[str, str], deque[tuple[float, int]]] = defaultdict(
            deque
        )

    def describe(self) -> str:
        """One sentence."""
        return "busy time against a band around 70 %, backlog and restarts counted, down hourly"

    def decide(self, seen: ClusterSeen) -> Decision:
        """All jobs."""
        rules = self.parameters
        wanted = {}
        for name, job in seen.jobs.items():
            past = self._seen[name]
            if seen.stale or (past and past[-1][1].executors != job.executors):
                past.clear()
            if seen.stale:
                continue
            past.append((seen.at, job))
            while past[0][0] <= seen.at - rules.window_seconds:
                past.popleft()
            if seen.at - self._changed.get(name, past[0][0]) >= rules.stabilisation_seconds:
                wanted[name] = self._evaluate(name, seen.at, [one for _, one in past])
        decision = Decision.of("busy time", seen, wanted, "outside of the band of utilisation")
        for name in decision.executors:
            self._changed[name] = seen.at
            self._seen[name].clear()
        return decision

    def _evaluate(self, name: str, at: float, past: list[JobSeen]) -> dict[str, int]:
        rules = self.parameters
        vertices = find_vertices(past, rules)
        input_per_second = max(past[-1].offered_per_second, ROUNDING)
        is_behind = past[-1].lag / input_per_second > rules.lag_seconds
        least = 0.0 if is_behind else rules.utilisation - rules.band
        most = 1.0 if is_behind else min(1.0, rules.utilisation + rules.band)
        recommended: dict[str, int] = {}
        is_outside = False
        for operator, one in vertices.items():
            new = self._recommend(one)
            grows = one.capacity < one.required(most, rules, restart=False)
            shrinks = one.capacity > one.required(least, rules, restart=True)
            if new < one.executors:
                new = self._delay((name, operator), at, new, one.executors)
                shrinks = shrinks and new < one.executors
            else:
                self._recommended.pop((name, operator), None)
            is_outside |= grows or shrinks
            recommended[operator] = new
        return recommended if is_outside else {}

    def _recommend(self, one: Vertex) -> int:
        """⌈factor × current⌉ with the factor within its limits."""
        rules = self.parameters
        if not 0.0 < one.capacity < math.inf:
            return one.executors
        factor = one.required(rules.utilisation, rules, restart=True) / one.capacity
        factor = min(max(factor, 1.0 - rules.scale_down_most), 1.0 + rules.scale_up_most)
        return max(1, math.ceil(factor * one.executors - ROUNDING))

    def _delay(self, key: tuple[str, str], at: float, count: int, now: int) -> int:
        """The largest recommendation to shrink, once there were some for long enough."""
        past = self._recommended[key]
        past.append((at, count))
        if at - past[0][0] < self.parameters.scale_down_seconds:
            return now
        while past[0][0] < at - self.parameters.scale_down_seconds:
            past.popleft()
        return max(one for _, one in past)


def find_vertices(past: list[JobSeen], rules: FlinkParameters) -> dict[str, Vertex]:
    """Averages of all operators but sources, whose parallelism is left alone."""
    job = past[-1]
    offered = float(np.mean([one.offered_per_second for one in past]))
    target = find_demand(job, offered)
    catch_up = find_demand(job, job.lag / rules.catch_up_seconds)
    return {
        name: Vertex(
            executors=one.executors,
            target=target[name],
            catch_up=catch_up[name],
            capacity=_average([was.operators[name] for was in past]),
        )
        for name, one in job.operators.items()
        if not one.is_source
    }


def _average(seen: list[OperatorSeen]) -> float:
    """Input over busy share; infinite where nothing came."""
    busy = float(np.mean([one.capacity for one in seen]))
    came = float(np.mean([one.input_per_second for one in seen]))
    return came / busy if busy > 0.0 and came > 0.0 else math.inf
