"""What a plan really processes when it is asked for more than it can: who is held back, and how.

What holds tuples back is the engine's mechanics, never its name:

* *blocking* (bounded queues): who sends to a full queue stands still until there is room, and so
  do, one after the other, those who send to it, up to the sources. Senders in the receiver's own
  worker are let in in turn, so that each gets an equal part (max-min fair); senders in other
  workers get what these leave, in proportion to how fast they can send: all are told to go on at
  the same moment, when the queue has run empty. On a cycle, all sources are held back alike;
* *water marks*: the first queue over its high mark stops all sources until all are below their low
  mark. What waits at sources is then emitted as fast as each can: parts are as their speeds;
* *growing queues*: nobody is held back. Each executor serves what it can, what comes beyond that
  waits without end, and those behind it get only what was served.

Where shuffle looks at loads, tuples that nearer executors cannot serve go further before anybody is
held back (`spilled_shares`).

All figures are of a long run. Capacities, and what threads of a machine leave each other, are those
of `load_limit.load` at the very rates that are found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.delivered_traffic import deliver_part
from streamgauge.models.load_limit import (
    Loaded,
    find_machines,
    fires_on_thread,
    load,
    machine_of_executor,
)
from streamgauge.models.parameters import Parameters
from streamgauge.models.spilled_shares import spill
from streamgauge.models.worker_cpu import sum_at
from streamgauge.topology.topology import OperatorKind

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

# Rates are found to this part of them, in so many rounds at most.
PRECISION, MOST_ROUNDS = 3e-4, 80
# Who has more than this part of its room left is not full.
NEARLY_FULL = 2e-3
# Who emits, or is emitted, such a part of what is due is not held back.
ALL_OF_IT = 1.0 - NEARLY_FULL
# Nobody is given more than so many times what it had, or less than that part, in one round.
MOST_GROWTH, LEAST_PART = 2.0, 1e-3
# What is left of a step when its direction changes.
DAMPING = 0.7
# A source that takes no time for a tuple is taken to take this long, to say how fast it can be.
LEAST_SECONDS = 1e-9


class Holding(StrEnum):
    """What an engine does with tuples that somebody cannot take.

    BLOCKING: Senders to a full queue stand still.
    WATER_MARKS: A full queue stops all sources.
    OPEN_ROOTS: Sources wait until roots of theirs have ended.
    NOTHING: Queues grow without bound.
    """

    BLOCKING = "blocking"
    WATER_MARKS = "water-marks"
    OPEN_ROOTS = "open-roots"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True, eq=False)
class Delivery:
    """What gets through a plan.

    Attributes:
        holding: What held tuples back.
        parameters: At the rates that get through; what comes to an executor may be more than it
            serves, where queues grow.
        loaded: What they do to threads.
        emitted: By executor: of a source, the part of what is due that it emits; one of others.
        served: By executor: the part of what comes to it that it serves.
        full: Which executors can do no more.
    """

    holding: Holding
    parameters: Parameters
    loaded: Loaded
    emitted: Vector
    served: Vector
    full: NDArray[np.bool_]


def find_holding(parameters: Parameters) -> Holding:
    """What a plan's engine does under its settings; limits on open roots are left aside."""
    mechanics = parameters.mechanics
    if mechanics.stops_sources:
        return Holding.WATER_MARKS
    return Holding.NOTHING if mechanics.send_threads else Holding.BLOCKING


def deliver(parameters: Parameters, loaded: Loaded | None = None) -> Delivery:
    """What a plan really processes of what is due, without a limit on open roots.

    Args:
        parameters: At the rates that are due.
        loaded: What these do to threads, where that is known.
    """
    return _Rounds(parameters).run(loaded or load(parameters))


class _Rounds:
    """Rates that get through, found in rounds: what comes, who is full, who has to send less."""

    def __init__(self, parameters: Parameters) -> None:
        self._due, self._flow = parameters, parameters.flow
        self._is_cyclic = parameters.flow.plan.logical.topology.cycle() is not None
        self._holding = find_holding(parameters)
        executors = parameters.flow.plan.logical.executors
        self._emitted, self._served = np.ones(len(executors)), np.ones(len(executors))
        kinds = [one.kind for one in parameters.flow.plan.logical.operators_by_executor]
        self._is_source = np.asarray([one is OperatorKind.SOURCE for one in kinds])
        self._levels = _Levels.unlimited(len(executors), len(parameters.flow.plan.workers))
        self._step, self._rose = np.ones(len(executors)), np.zeros(len(executors))
        self._scopes = {key: scope.copy() for key, scope in parameters.routing.scopes.items()}

    def run(self, loaded: Loaded) -> Delivery:
        """Rounds until rates no longer change."""
        now = self._due
        for _ in range(MOST_ROUNDS):
            room, transfer_room = find_room(now, loaded)
            spilled = spill(now, room, self._scopes) if self._due.mechanics.load_aware else None
            change = self._hold(now, loaded, room, transfer_room)
            if spilled is not None:
                self._flow, moved = spilled
                change = max(change, moved)
            if change <= PRECISION:
                break
            now = deliver_part(self._due, self._emitted, self._served, self._flow)
            loaded = load(now, near=loaded)
        room, _ = find_room(now, loaded)
        return Delivery(
            holding=self._holding,
            parameters=now,
            loaded=loaded,
            emitted=self._emitted,
            served=self._served,
            full=room <= 1.0 + NEARLY_FULL,
        )

    def _hold(self, now: Parameters, loaded: Loaded, room: Vector, transfer_room: Vector) -> float:
        """Let sources emit, and executors serve, what they can; by which part that changed."""
        before = np.concatenate([self._emitted, self._served])
        if self._holding is Holding.NOTHING:
            part = np.minimum(room, 1.0)
            self._emitted = np.where(self._is_source, np.minimum(self._emitted * room, 1.0), 1.0)
            self._served = np.where(self._is_source, 1.0, part)
        else:
            if self._holding is Holding.WATER_MARKS:
                allowed = self._level_of_sources(room)
            elif self._is_cyclic:
                # Who is full on a cycle holds itself back, and nobody is before another.
                least = min(room.min(), transfer_room.min(initial=np.inf))
                allowed = np.full_like(room, least)
            else:
                allowed = self._levels.tighten(_Sent.of(now), room, transfer_room)
            grown = self._damp(np.clip(allowed, LEAST_PART, MOST_GROWTH)) * self._emitted
            self._emitted = np.where(self._is_source, np.minimum(grown, 1.0), 1.0)
        after = np.concatenate([self._emitted, self._served])
        return float(np.max(np.abs(after / before - 1.0), initial=0.0))

    def _damp(self, factor: Vector) -> Vector:
        """A step that is the shorter, the more often its direction has changed.

        A source whose tuples go to several full queues would else swing around its rate.
        """
        rises = np.sign(factor - 1.0)
        self._step = np.where(rises * self._rose < 0.0, DAMPING * self._step, self._step)
        self._rose = rises
        return np.asarray(factor**self._step)

    def _level_of_sources(self, room: Vector) -> Vector:
        """How much more each source may emit where all are stopped and go on together.

        The part of the time in which they may emit is x; each then emits as much as it can, until
        nothing waits there any more: min(due, x·speed).
        """
        most = float(room[~self._is_source].min(initial=np.inf))
        works = self._due.works.tuples
        speed = 1.0 / np.maximum(works.cpu + works.wait, LEAST_SECONDS)
        due = np.where(self._is_source, works.per_second, 0.0)
        now = self._emitted * due
        held = self._is_source & (now < due * (1.0 - PRECISION))
        reach = float((now[held] / speed[held]).max()) if held.any() else np.inf
        if not held.any() and most < 1.0:
            reach = float((now / speed).max())
        wanted = np.minimum(due, reach * min(most, MOST_GROWTH) * speed)
        return np.divide(wanted, now, out=np.ones_like(due), where=now > 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sent:
    """Who sends how much to whom; one entry for each pair of executors.

    Attributes:
        sender: Place in the plan.
        receiver: Likewise; sources, which get answers alone, are left out.
        per_second: Tuples and messages.
        is_local: Whether both are in one worker.
        speed: Tuples a second that the sender could send there if nothing held it back.
        came: By executor: all that comes.
        worker: By executor: its worker.
        order: Operators' executors, from sinks to sources.
    """

    sender: Places
    receiver: Places
    per_second: Vector
    is_local: NDArray[np.bool_]
    speed: Vector
    came: Vector
    worker: Places
    order: tuple[range, ...]

    @classmethod
    def of(cls, now: Parameters) -> _Sent:
        """Of a plan at some rates."""
        flow = now.flow
        logical = flow.plan.logical
        size = len(logical.executors)
        topology = logical.topology
        sources = {one.name for one in topology.sources}
        pairs, rates, local = [], [], []
        for block in flow.blocks:
            if block.stream.target in sources:
                continue
            sent = now.rates.emitted[block.stream.key][:, np.newaxis] * block.shares
            row, column = np.nonzero(sent > 0.0)
            pairs.append((row + block.sources.start) * size + column + block.targets.start)
            rates.append(sent[row, column])
            local.append(block.types[row, column] == 0)
        known, first, inverse = np.unique(
            np.concatenate(pairs), return_index=True, return_inverse=True
        )
        per_second = sum_at(inverse, np.concatenate(rates), len(known))
        sender, receiver = known // size, known % size
        works = now.works.tuples
        busy = works.per_second * (works.cpu + works.wait)
        return cls(
            sender=sender,
            receiver=receiver,
            per_second=per_second,
            is_local=np.concatenate(local)[first],
            speed=per_second / np.maximum(busy[sender], LEAST_SECONDS),
            came=sum_at(receiver, per_second, size),
            worker=np.asarray(flow.plan.placement, dtype=np.intp),
            order=tuple(logical.spans[one.name] for one in reversed(topology.topological_order())),
        )


@dataclass(slots=True, kw_only=True, eq=False)
class _Levels:
    """What receivers let in, of those that are or were full.

    Attributes:
        near: By executor: tuples a second of each sender in its own worker.
        far: By executor: part of its speed at which each sender in another worker may send.
        away: By worker: tuples a second that each of its executors may send to other workers.
    """

    near: Vector
    far: Vector
    away: Vector

    @classmethod
    def unlimited(cls, executors: int, workers: int) -> _Levels:
        """Nobody is full."""
        return cls(
            near=np.full(executors, np.inf),
            far=np.full(executors, np.inf),
            away=np.full(workers, np.inf),
        )

    def tighten(self, sent: _Sent, room: Vector, transfer_room: Vector) -> Vector:
        """Levels at which nobody gets more than it can take; and what senders then may send.

        From sinks to sources, as who may not send all that it makes can take in no more.

        Args:
            sent: Who sends how much now.
            room: By executor: how many times as much it could do.
            transfer_room: By worker: how many times as much its transfer queue could take.

        Returns:
            By executor, how many times as much it may handle.
        """
        allowed = room.copy()
        self._divide_transfers(sent, transfer_room, allowed)
        for span in sent.order:
            here = np.flatnonzero((sent.sender >= span.start) & (sent.sender < span.stop))
            may = self._may_send(sent, here) / sent.per_second[here]
            np.minimum.at(allowed, sent.sender[here], may)
            for place in span:
                is_limited = math.isfinite(min(self.near[place], self.far[place]))
                if allowed[place] < 1.0 or is_limited:
                    self._divide(sent, place, sent.came[place] * allowed[place])
        return allowed

    def _may_send(self, sent: _Sent, edges: Places) -> Vector:
        """Tuples a second that go along those edges at most."""
        to = sent.receiver[edges]
        return np.where(sent.is_local[edges], self.near[to], self.far[to] * sent.speed[edges])

    def _divide(self, sent: _Sent, place: int, capacity: float) -> None:
        """Divide what an executor can take among its senders: near ones first."""
        edges = np.flatnonzero(sent.receiver == place)
        near, far = edges[sent.is_local[edges]], edges[~sent.is_local[edges]]
        rates = sent.per_second
        ones = np.ones(len(near))
        self.near[place] = share_capacity(rates[near], ones, capacity, self.near[place])
        left = max(capacity - float(rates[near].sum()), LEAST_PART * capacity)
        self.far[place] = share_capacity(rates[far], sent.speed[far], left, self.far[place])

    def _divide_transfers(self, sent: _Sent, transfer_room: Vector, allowed: Vector) -> None:
        """Divide what transfer queues can take among the executors of their workers."""
        away = np.where(sent.is_local, 0.0, sent.per_second)
        leaving = sum_at(sent.sender, away, len(sent.came))
        for worker, room in enumerate(transfer_room.tolist()):
            if room >= 1.0 and np.isinf(self.away[worker]):
                continue
            own = np.flatnonzero((sent.worker == worker) & (leaving > 0.0))
            capacity = room * float(leaving[own].sum())
            ones = np.ones(len(own))
            self.away[worker] = share_capacity(leaving[own], ones, capacity, self.away[worker])
            allowed[own] = np.minimum(allowed[own], self.away[worker] / leaving[own])


def share_capacity(demands: Vector, weights: Vector, capacity: float, level: float) -> float:
    """The level at which demands fill a capacity, each limited to its weight times the level.

    Max-min fair: who wants less than its part gets all that it wants, and leaves the rest to the
    others. Where all fits, those at the level before may have what is left over.

    Args:
        demands: What each takes now.
        weights: Their parts are in these proportions.
        capacity: What there is.
        level: The one before, which limits some of the demands.
    """
    if not len(demands):
        return level
    ratio = demands / weights
    total = float(demands.sum())
    if total > capacity:
        order = np.argsort(ratio)
        wanted, weight = demands[order], weights[order]
        satisfied = np.concatenate([[0.0], np.cumsum(wanted)[:-1]])
        levels = (capacity - satisfied) / np.cumsum(weight[::-1])[::-1]
        # Of all numbers that may be satisfied, the one that leaves the others the most.
        return float(levels.max())
    limited = ratio >= level * (1.0 - NEARLY_FULL)
    if not limited.any():
        return level * MOST_GROWTH
    spare = capacity - total
    return level * min(1.0 + spare / float(demands[limited].sum()), MOST_GROWTH)


def find_room(parameters: Parameters, loaded: Loaded) -> tuple[Vector, Vector]:
    """How many times as much every executor, and every worker's transfer queue, could do.

    On a machine that is asked for more than it has, what its threads get of what they want; on one
    that is not, no more than it has left for all of them.
    """
    plan = parameters.flow.plan
    size = len(plan.placement)
    machine = machine_of_executor(plan)
    works = parameters.works
    wanted = works.tuples.per_second * works.tuples.cpu
    wanted += fires_on_thread(parameters.flow) * works.triggers.per_second * works.triggers.cpu
    with np.errstate(divide="ignore", invalid="ignore"):
        own = 1.0 / loaded.utilisation
        got = loaded.contention.used_cores[:size] / wanted
        free = find_machines(parameters)[0].free
        left = free / sum_at(machine, wanted, len(free))
        transfer = 1.0 / loaded.transfer_load
    crowded = sum_at(machine, (wanted > 0.0).astype(np.float64), len(free)) > free
    within = np.where(crowded, np.maximum(left, 1.0), np.inf)[machine]
    room = np.where(loaded.contention.overloaded[machine], got, np.minimum(own, within))
    return np.where(wanted > 0.0, room, own), transfer
