"""Traffic: tuples per second between executors, and how far they travel under a plan.

The *even split* divides every stream as its grouping declares, whatever the placement: shuffle and
local-or-shuffle evenly over tasks, fields by the frequency of keys where that is known. It is what
Storm 1.x does, and what a scheduler can reckon with before there is a plan. The *nearest split*
needs one: local-or-shuffle keeps to the worker, and so does shuffle where the engine looks for
near targets (Storm 2.x). Of what a sender emits no more goes to other nodes by the second than by
the first, where receivers have as many tasks each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.load_aware_shuffle import nearest_shares
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.topology.grouping import LocalOrShuffle, Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import (
    ACK_ACK,
    ACK_INIT,
    ACKER,
    OperatorKind,
    Stream,
    StreamKey,
    Subscription,
    Topology,
)
from streamgauge.topology.tuple_flow import Matrix, as_slice, derive_shares, locate_nodes
from streamgauge.transport.engine import load_engine

Vector = NDArray[np.float64]

# Sweeps over a cyclic topology until parts of executors stand still; what goes round dies out.
SWEEPS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamTraffic:
    """Tuples of one subscription between executors.

    Attributes:
        sent: Tuples per second that each sending executor emits.
        shares: Part of them that goes to each receiving executor; one row for all where they
            deal alike.
    """

    stream: Stream
    sources: range
    targets: range
    sent: Vector
    shares: Matrix

    @property
    def received(self) -> Vector:
        """Tuples per second that come to each receiving executor."""
        if len(self.shares) == 1:
            return np.asarray(self.sent.sum() * self.shares[0])
        return np.asarray(self.sent @ self.shares)

    @property
    def per_second(self) -> Matrix:
        """Tuples per second of sending × receiving executors."""
        return np.asarray(self.sent[:, np.newaxis] * self.shares)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic:
    """All that executors send each other.

    Attributes:
        parts: By operator, the part of its input (of a source: output) that each executor has.
    """

    logical: LogicalPlan
    streams: tuple[StreamTraffic, ...]
    parts: Mapping[str, Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficSplit:
    """Tuples per second inside workers, between workers of one node, and between nodes."""

    local: float = 0.0
    inter_worker: float = 0.0
    remote: float = 0.0

    @property
    def total(self) -> float:
        """All of them."""
        return self.local + self.inter_worker + self.remote


def even_traffic(logical: LogicalPlan, expected: Expected, *, acks: bool = True) -> Traffic:
    """Traffic by the even split, whatever the placement.

    A stream without a rate carries nothing. The engine's own messages may count too; where no rate
    of theirs is given, a source announces what it emits and a processor acknowledges what it gets.
    """
    shares = {
        stream.subscription: _even_shares(logical, stream, expected)
        for stream in logical.topology.streams
    }
    return _traffic(logical, expected, shares, acks=acks)


def nearest_traffic(plan: PhysicalPlan, expected: Expected, *, acks: bool = True) -> Traffic:
    """Traffic of a plan by the nearest split, as long as no queue fills up."""
    logical = plan.logical
    configuration = logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    worker = np.asarray(plan.placement, dtype=np.intp)
    shares = {}
    for stream in logical.topology.streams:
        if isinstance(stream.grouping, Shuffle) and mechanics.load_aware:
            by_target = nearest_shares(plan, stream, mechanics.widen_load)[0]
        elif isinstance(stream.grouping, LocalOrShuffle):
            senders = worker[as_slice(logical.spans[stream.source])]
            receivers = worker[as_slice(logical.spans[stream.target])]
            near = np.equal.outer(senders, receivers)
            by_target = derive_shares(logical, stream, local=near)
        else:
            by_target = _even_shares(logical, stream, expected)
        shares[stream.subscription] = by_target
    return _traffic(logical, expected, shares, acks=acks)


def split_traffic(
    plan: PhysicalPlan, expected: Expected, *, acks: bool = True, nearest: bool = False
) -> TrafficSplit:
    """How far the tuples of a plan travel, by the even or the nearest split."""
    if nearest:
        return split_of(plan, nearest_traffic(plan, expected, acks=acks).streams)
    return split_of(plan, even_traffic(plan.logical, expected, acks=acks).streams)


def split_of(plan: PhysicalPlan, streams: Iterable[StreamTraffic]) -> TrafficSplit:
    """How far the tuples of some streams travel under a plan."""
    worker, node = np.asarray(plan.placement, dtype=np.intp), locate_nodes(plan)
    total = in_worker = in_node = 0.0
    for carried in streams:
        total += float(carried.received.sum())
        in_worker += _staying(carried, worker, len(plan.workers))
        in_node += _staying(carried, node, len(plan.nodes))
    # Differences of sums can miss zero by a rounding.
    return TrafficSplit(
        local=in_worker,
        inter_worker=max(in_node - in_worker, 0.0),
        remote=max(total - in_node, 0.0) if len(plan.nodes) > 1 else 0.0,
    )


def _staying(carried: StreamTraffic, place: NDArray[np.intp], places: int) -> float:
    """Tuples per second whose sender and receiver are at one place."""
    senders, receivers = place[as_slice(carried.sources)], place[as_slice(carried.targets)]
    if len(carried.shares) == 1:
        sent = np.bincount(senders, weights=carried.sent, minlength=places)
        return float(sent @ np.bincount(receivers, weights=carried.shares[0], minlength=places))
    return float((carried.per_second * np.equal.outer(senders, receivers)).sum())


def _even_shares(logical: LogicalPlan, stream: Stream, expected: Expected) -> Matrix:
    """Shares by the grouping; a single row where it is the same for all senders."""
    by_task = expected.task_shares.get(stream.subscription)
    if by_task is not None:
        first = logical.tasks_of(stream.target).start
        executors = logical.executors_of(stream.target)
        starts = [executor.first_task - first for executor in executors]
        return np.add.reduceat(np.asarray(by_task), starts)[np.newaxis, :]
    shares = derive_shares(logical, stream)
    return shares[:1] if shares.strides[0] == 0 else shares


def _traffic(
    logical: LogicalPlan, expected: Expected, shares: Mapping[Subscription, Matrix], *, acks: bool
) -> Traffic:
    """Who sends how much: an executor emits as its part of its operator's input says."""
    topology = logical.topology
    tasks = [len(executor.tasks) for executor in logical.executors]
    sizes = np.asarray(tasks, dtype=np.float64)
    parts = {
        name: sizes[as_slice(span)] / sizes[as_slice(span)].sum()
        for name, span in logical.spans.items()
    }
    cyclic = topology.cycle() is not None
    order = topology.operators if cyclic else topology.topological_order()
    processors = [operator.name for operator in order if operator.kind is OperatorKind.PROCESSOR]

    def carry(stream: Stream, rate: float, by_target: Matrix | None = None) -> StreamTraffic:
        return StreamTraffic(
            stream=stream,
            sources=logical.spans[stream.source],
            targets=logical.spans[stream.target],
            sent=rate * parts[stream.source],
            shares=shares[stream.subscription] if by_target is None else by_target,
        )

    def add_up_input(operator: str) -> Vector:
        received = np.zeros(len(logical.spans[operator]))
        for stream in topology.streams_into(operator):
            if not stream.is_system:
                received = received + carry(stream, expected.rates.get(stream.key, 0.0)).received
        return received

    for _ in range(SWEEPS if cyclic else 1):
        before = dict(parts)
        for name in processors:
            received = add_up_input(name)
            if received.sum() > 0.0:
                parts[name] = received / received.sum()
        if all(np.allclose(parts[name], before[name], rtol=1e-9, atol=0.0) for name in parts):
            break
    streams = [carry(s, expected.rates.get(s.key, 0.0)) for s in topology.data_streams]
    if acks and topology.has_ackers:
        handled = {name: float(add_up_input(name).sum()) for name in processors}
        rates = _ack_rates(topology, expected, handled)
        streams += [carry(stream, rates[stream.key]) for stream in topology.streams_into(ACKER)]
        began = {s.source: rates[s.key] for s in topology.streams_into(ACKER) if s.name == ACK_INIT}
        total = sum(began.values())
        answers = expected.rates.get(StreamKey(ACKER, ACK_ACK), total)
        for stream in topology.streams_from(ACKER):
            share = began[stream.target] / total if total > 0.0 else 0.0
            streams.append(carry(stream, answers, (share * parts[stream.target])[np.newaxis, :]))
    return Traffic(logical=logical, streams=tuple(streams), parts=parts)


def _ack_rates(
    topology: Topology, expected: Expected, handled: Mapping[str, float]
) -> dict[StreamKey, float]:
    """Inits and acknowledgements per second; those without a rate follow from the job's tuples."""
    rates = {}
    for stream in topology.streams_into(ACKER):
        due = handled.get(stream.source, 0.0)
        if stream.name == ACK_INIT:
            emitted = {
                key for s in topology.streams_from(stream.source) if (key := s.key).name != ACK_INIT
            }
            due = sum(expected.rates.get(key, 0.0) for key in emitted)
        rates[stream.key] = expected.rates.get(stream.key, due)
    return rates
