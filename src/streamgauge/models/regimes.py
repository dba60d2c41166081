"""Regimes of Storm 2.x's shuffle: near queues fill up before tuples go further.

The rules are in docs/storm-rules.md, "Shuffle in Storm 2.x".

Shuffle stays in the nearest scope while its queues are nearly empty. Where the executors there
cannot serve what they get, while all of the operator's together could, it depends on what stops
the filling. The scope widens when its queues are full to `widen_load` on the mean and narrows when
they have drained to `narrow_load`: the job *swings*. With several tasks an executor the scope never
looks drained, and stays wide: it *settles*. Where the sources' limit on open roots keeps the
queues from getting there, nothing is ever sent further: it is *blocked*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.load_aware_shuffle import SCOPES
from streamgauge.models.load_limit import Loaded, load
from streamgauge.models.parameters import Parameters
from streamgauge.topology.tuple_flow import ConnectionBlock, as_slice
from streamgauge.transport.mechanics import NO_LIMIT

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overfull:
    """A scope of shuffle whose executors get more than they can serve.

    Attributes:
        executors: In scope, as places in the plan.
        arrived_per_second: What comes to them.
        served_per_second: What they can serve at most.
        widens_at: Tuples waiting in scope that make it wider.
        narrows_at: Tuples that make it narrower again; below zero: it never is.
        most_waiting: Tuples that can wait there at all.
    """

    operator: str
    executors: tuple[int, ...]
    arrived_per_second: float
    served_per_second: float
    widens_at: float
    narrows_at: float
    most_waiting: float

    @property
    def filling_seconds(self) -> float:
        """Time until it first widens, or can hold no more."""
        return min(self.widens_at, self.most_waiting) / self._excess

    @property
    def draining_seconds(self) -> float:
        """Time until it is ready to narrow, or empty, after that: what is full gets nothing."""
        return (self.widens_at - max(self.narrows_at, 0.0)) / self.served_per_second

    @property
    def cycle_seconds(self) -> float:
        """Time to fill from one bound to the other, and to drain again."""
        return (self.widens_at - self.narrows_at) / self._excess + self.draining_seconds

    @property
    def _excess(self) -> float:
        return self.arrived_per_second - self.served_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Regimes:
    """Scopes that cannot serve what they get, though all of their operator's executors could.

    Attributes:
        swinging: Those that are widened and narrowed again and again.
        settling: Those that are widened once, and stay so.
        blocked: Those that can never be full enough to be widened.
    """

    swinging: tuple[Overfull, ...] = ()
    settling: tuple[Overfull, ...] = ()
    blocked: tuple[Overfull, ...] = ()

    def notes(self) -> Iterator[str]:
        """What they come to, in words."""
        for name in _named(self.swinging):
            yield (
                f"shuffle to {name} goes to the nearest executors until their queues fill up, then"
                " further until they have drained: latency swings"
            )
        for name in _named(self.settling):
            yield (
                f"shuffle to {name} goes to the nearest executors until their queues fill up, and"
                " from then on further"
            )
        for name in _named(self.blocked):
            yield (
                f"shuffle to {name} never goes beyond the nearest executors, though they are"
                " overloaded: the limit on open roots keeps their queues too short for that"
            )


def swinging_operators(parameters: Parameters, loaded: Loaded | None = None) -> tuple[str, ...]:
    """Operators to which shuffle would widen and narrow again and again."""
    return _named(find_regimes(parameters, loaded).swinging)


def _named(scopes: Iterable[Overfull]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.operator for one in scopes))


def find_regimes(parameters: Parameters, loaded: Loaded | None = None) -> Regimes:
    """The scopes of a plan's shuffle that cannot serve what they get, by what becomes of them."""
    scopes = _overfull(parameters, loaded)
    wide = [one for one in scopes if one.most_waiting >= one.widens_at]
    return Regimes(
        swinging=tuple(one for one in wide if one.narrows_at > 0.0),
        settling=tuple(one for one in wide if one.narrows_at <= 0.0),
        blocked=tuple(one for one in scopes if one.most_waiting < one.widens_at),
    )


def _overfull(parameters: Parameters, loaded: Loaded | None) -> list[Overfull]:
    blocks = [
        block
        for block in parameters.flow.data_blocks
        if block.stream.subscription in parameters.routing.scopes
    ]
    if not blocks:
        return []
    loads = _loads(parameters, loaded or load(parameters))
    overfull: dict[tuple[int, ...], Overfull] = {}
    for block in blocks:
        if not np.any(loads[as_slice(block.targets)] >= 1.0) or not _fits_evenly(parameters, block):
            continue
        for members in _scopes(parameters, block):
            scope = _scope(parameters, block, members, loads)
            # Inside a scope tuples go to executors that have less to do.
            if scope.arrived_per_second > scope.served_per_second:
                overfull[members] = scope
    return list(overfull.values())


def _loads(parameters: Parameters, loaded: Loaded) -> Vector:
    """Load of every executor; on a machine that has too few cores, the machine's."""
    plan = parameters.flow.plan
    machines = [
        plan.cluster.machine_of(plan.workers[worker].node).name for worker in plan.placement
    ]
    of_machine = np.asarray([loaded.overloaded.get(name, 0.0) for name in machines])
    return np.where(np.isinf(loaded.utilisation), of_machine, loaded.utilisation)


def _scopes(parameters: Parameters, block: ConnectionBlock) -> Iterator[tuple[int, ...]]:
    """The executors in scope of each sender whose scope could be wider, each scope once."""
    scopes = parameters.routing.scopes[block.stream.subscription]
    rows = np.unique(block.shares[scopes < len(SCOPES) - 1] > 0.0, axis=0)
    for row in rows:
        if not row.all():
            yield tuple((block.targets.start + np.flatnonzero(row)).tolist())


def _scope(
    parameters: Parameters, block: ConnectionBlock, members: tuple[int, ...], loads: Vector
) -> Overfull:
    plan, mechanics = parameters.flow.plan, parameters.mechanics
    place = list(members)
    operator = block.stream.target
    came = parameters.rates.into(parameters.flow, operator, system=False)
    came = came[[index - block.targets.start for index in place]]
    busy = loads[place]
    served = np.divide(came, busy, out=np.full_like(came, np.inf), where=busy > 0.0)
    tasks = sum(len(plan.logical.executors[index].tasks) for index in place)
    # The mean is over tasks. Nobody reports those beyond an executor's lowest: they count as full.
    silent = tasks - len(place)
    capacity = float(served.sum())
    most = _most_waiting(parameters, operator, members)
    # Roots that run out of time while their tuples wait make room for others.
    if most > 2.0 * mechanics.time_out_seconds * capacity:
        most = math.inf
    return Overfull(
        operator=operator,
        executors=members,
        arrived_per_second=float(came.sum()),
        served_per_second=capacity,
        widens_at=(mechanics.widen_load * tasks - silent) * mechanics.receive_limit,
        narrows_at=(mechanics.narrow_load * tasks - silent) * mechanics.receive_limit,
        most_waiting=most,
    )


def _fits_evenly(parameters: Parameters, block: ConnectionBlock) -> bool:
    """Whether all executors of the operator could serve what comes, each an even part of it."""
    here = as_slice(block.targets)
    tuples = parameters.works.tuples
    total = float(tuples.per_second[here].sum())
    changed = {"per_second": tuples.per_second.copy()}
    changed["per_second"][here] = total / len(block.targets)
    for name in ("cpu", "wait"):
        values = getattr(tuples, name).copy()
        # Who gets nothing now would be as fast as the others.
        values[here] = tuples.per_second[here] @ values[here] / total
        changed[name] = values
    works = replace(parameters.works, tuples=replace(tuples, **changed))
    return bool(np.all(load(replace(parameters, works=works)).utilisation[here] < 1.0))


def _most_waiting(parameters: Parameters, operator: str, members: tuple[int, ...]) -> float:
    """Tuples that the sources' open roots can have at once in a scope.

    Each task of a source may have so many roots open; those whose tuples can come to the scope
    count, with as many tuples as a root leads to at the operator on the mean.
    """
    flow, rates = parameters.flow, parameters.rates
    topology, executors = flow.plan.logical.topology, flow.plan.logical.executors
    limit = parameters.mechanics.max_pending
    if limit >= NO_LIMIT or not topology.has_ackers:
        return math.inf
    sources = {source.name for source in topology.sources}
    emitted = sum(
        float(rates.emitted[key].sum())
        for key in {stream.key for stream in topology.data_streams if stream.source in sources}
    )
    tasks = sum(
        len(executors[place].tasks)
        for place in _senders(parameters, members)
        if executors[place].operator in sources
    )
    came = float(rates.into(flow, operator, system=False).sum())
    return limit * tasks * came / emitted


def _senders(parameters: Parameters, members: tuple[int, ...]) -> set[int]:
    """Executors whose tuples, or what they lead to, can come to some executors."""
    reached, waiting = set(members), list(members)
    while waiting:
        target = waiting.pop()
        for block in parameters.flow.data_blocks:
            if target not in block.targets:
                continue
            column = block.shares[:, target - block.targets.start]
            new = {block.sources.start + row for row in np.flatnonzero(column > 0.0).tolist()}
            waiting += new - reached
            reached |= new
    return reached
