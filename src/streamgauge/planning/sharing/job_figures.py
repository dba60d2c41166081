"""Figures of one job over one window: juice and operators, from what its samples add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from streamgauge.models.juice import juice_of
from streamgauge.planning.sharing.observation import OperatorSeen
from streamgauge.planning.sharing.slo import Quality, Slo
from streamgauge.planning.sharing.totals import Pair, Totals
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import OperatorKind, Topology

NANOSECONDS = 1e9


class Placed(Protocol):
    """An executor of a plan."""

    @property
    def component(self) -> str:
        """Its operator."""

    @property
    def worker(self) -> str:
        """Where it runs."""

    @property
    def node(self) -> str:
        """Where that runs."""

    @property
    def machine(self) -> str | None:
        """What the node runs on."""


class PlanRecord(Protocol):
    """A version of a job's placement, as the lake has it."""

    @property
    def topology(self) -> str:
        """The job."""

    @property
    def valid_from_us(self) -> int:
        """When it took effect."""

    @property
    def valid_to_us(self) -> int | None:
        """When it ended."""

    @property
    def executors(self) -> Sequence[Placed]:
        """Who runs where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedJob:
    """A job that has an objective.

    Attributes:
        topology: What metrics call it is its name.
    """

    slo: Slo
    topology: Topology
    configuration: Configuration


def find_juice(job: WatchedJob, totals: Totals) -> float | None:
    """Juice of a window (eq. 2.5 to 2.7); None where sources sent nothing.

    With weights of sinks it is over what it would be if all that was sent had been executed, so
    that a job that loses nothing has one.
    """
    operators = [one for one in job.topology.operators if one.kind is not OperatorKind.ACKER]
    names = [one.name for one in operators]
    place = {name: index for index, name in enumerate(names)}
    sent = np.asarray([totals.sent.get(name, 0.0) for name in names])
    sources = np.asarray([one.kind is OperatorKind.SOURCE for one in operators])
    if not (sent * sources).any():
        return None
    sinks = {one.name for one in job.topology.sinks}
    shape = {"sources": sources, "sinks": np.asarray([name in sinks for name in names])}
    acked = None
    if job.topology.acked:
        acked = np.asarray(totals.roots_acked / max(count_emitted(job, totals), 1e-12))
    weights = np.asarray([job.slo.sink_weights.get(name, 1.0) for name in names])
    executed = _by_edge(totals.executed, place)
    found = juice_of(executed, sent, **shape, acked=acked, weights=weights)
    if not job.slo.sink_weights:
        return float(found.topology)
    whole = juice_of(_by_edge(totals.transferred, place), sent, **shape, weights=weights)
    return float(found.topology / whole.topology) if whole.topology > 0.0 else None


def _by_edge(counts: Mapping[Pair, float], place: Mapping[str, int]) -> np.ndarray:
    edges = np.zeros((len(place), len(place)))
    for (parent, child), value in counts.items():
        if parent in place and child in place:
            edges[place[parent], place[child]] = value
    return edges


def count_emitted(job: WatchedJob, totals: Totals) -> float:
    """Tuples that sources emitted, each once."""
    return sum(totals.emitted.get(one.name, 0.0) for one in job.topology.sources)


def explain_unknown(job: WatchedJob, quality: Quality, totals: Totals) -> str:
    """Why a whole window does not say what the objective asks for; empty where it does."""
    if job.slo.find_utility(quality) is not None:
        return ""
    if job.slo.juice is not None and quality.juice is None:
        emitted = count_emitted(job, totals)
        if emitted > 0.0:
            return "nobody counts which tuples are sent"
        return "its sources emitted nothing that was counted"
    wanted = job.slo.statistic
    latency = quality.latency_seconds.get(wanted)
    if latency is not None:
        return f"its {wanted} latency is {latency:.3g} s: clocks of nodes differ"
    return f"no sink measures {wanted} latency"


def find_operators(
    job: WatchedJob, plan: PlanRecord | None, totals: Totals, seconds: float
) -> dict[str, OperatorSeen]:
    """Operators over a window, in topological order."""
    found = {}
    for operator in job.topology.topological_order():
        if operator.kind is OperatorKind.ACKER:
            continue
        name = operator.name
        is_source = operator.kind is OperatorKind.SOURCE
        executors = _count_executors(job, plan, totals, name)
        inputs = {
            parent: value for (parent, child), value in totals.executed.items() if child == name
        }
        arrived = sum(value for (_, child), value in totals.transferred.items() if child == name)
        out = totals.emitted if is_source else totals.sent
        queues = [level for (one, _), level in totals.queues.items() if one == name]
        behind = [level for (one, _), level in totals.overflows.items() if one == name]
        held = [value for (one, _), value in totals.held.items() if one == name]
        found[name] = OperatorSeen(
            executors=executors,
            tasks=max(operator.tasks, executors),
            is_source=is_source,
            executed=FrozenDict({parent: value / seconds for parent, value in inputs.items()}),
            sent_per_second=out.get(name, 0.0) / seconds,
            capacity=_find_capacity(totals, name, seconds),
            cores=_sum_of(totals.cores, name) / NANOSECONDS / seconds,
            queue=sum(one.mean for one in (*queues, *behind)),
            queue_per_second=sum(one.per_second for one in (*queues, *behind)),
            held_back=min(1.0, max(held, default=0.0) / NANOSECONDS / seconds),
            arrived_per_second=None if is_source or not arrived else arrived / seconds,
        )
    return found


def _find_capacity(totals: Totals, name: str, seconds: float) -> float:
    """Of the busiest executor (eq. 2.3): time in execute, or what the engine says of it."""
    busy = [value for (one, _), value in totals.busy.items() if one == name]
    if busy:
        return max(busy) / NANOSECONDS / seconds
    return max(
        (one.mean for (own, _), one in totals.engine_busy.items() if own == name), default=0.0
    )


def _sum_of(values: Mapping[Pair, float], name: str) -> float:
    return sum(value for (one, _), value in values.items() if one == name)


def _count_executors(job: WatchedJob, plan: PlanRecord | None, totals: Totals, name: str) -> int:
    """By the plan, else as many as were heard of, else as configured."""
    if plan is not None:
        planned = sum(one.component == name for one in plan.executors)
        if planned:
            return planned
    return len(totals.executors.get(name, ())) or job.configuration.executors_of(name)
