"""Bursts: how many tuples come to an executor together.

What one execution or one window emits comes at once; a source that slept emits all that was due
meanwhile. A transfer thread of Storm 2.x that slept hands over all that came meanwhile
(docs/storm-rules.md); in Storm 1.x queues gather tuples until they are flushed. Batches of
different origin are taken as independent Poisson processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.conversion import Conversion
from streamgauge.models.flow import Rates
from streamgauge.models.routing import deals_in_turn
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow, as_slice
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bursts:
    """Batches into every executor of a plan.

    Attributes:
        per_second: How many come.
        mean: Tuples in one, at least one.
        variance: Of that.
    """

    per_second: Vector
    mean: Vector
    variance: Vector

    @property
    def dispersion(self) -> Vector:
        """Index of dispersion of what comes: E[X²]/E[X], one where tuples come by themselves."""
        return self.mean + self.variance / self.mean


class Events(NamedTuple):
    """Moments at which executors emit on a stream.

    Attributes:
        per_second: By executor.
        mean: Tuples emitted at once.
        second: Factorial moment E[N(N − 1)] of these.
        gathered: Whether their number is Poisson, as of what was due during a sleep; else it is
            whole, with a chance of one more.
    """

    per_second: Vector
    mean: Vector
    second: Vector
    gathered: bool


class Counts(NamedTuple):
    """Sums over batches: of one, of their tuples, and of the squares of these, per second."""

    batches: Vector
    tuples: Vector
    squares: Vector


def bursts_into(
    flow: TupleFlow, rates: Rates, conversions: Mapping[str, Conversion], mechanics: Mechanics
) -> Bursts:
    """How tuples come to the executors of a plan.

    Args:
        flow: The plan, with routing shares.
        rates: Of its tuples and messages.
        conversions: What its processors emit.
        mechanics: Of its engine: how long threads sleep, how often queues are flushed.
    """
    flushed = mechanics.flush_seconds if mechanics.send_threads else 0.0
    executors = len(flow.plan.logical.executors)
    workers = np.asarray(flow.plan.placement, dtype=np.intp)
    near = np.zeros((3, executors))
    far = np.zeros((3, len(flow.plan.workers), executors))
    for block in flow.blocks:
        # One for the worker of each sending executor: sums by worker are products with this.
        of_worker = np.zeros((len(flow.plan.workers), len(block.sources)))
        of_worker[workers[as_slice(block.sources)], np.arange(len(block.sources))] = 1.0
        is_local = block.types == 0
        parts = [
            deal_events(events, block.shares, in_turn=deals_in_turn(block.stream, mechanics))
            for events in events_of(flow, block, rates, conversions, mechanics.source_sleep)
        ]
        if not parts:
            continue
        sent = Counts(*(sum(same[1:], start=same[0]) for same in zip(*parts, strict=True)))
        for place, counts in enumerate(_bundled(sent, flushed)):
            near[place, as_slice(block.targets)] += np.where(is_local, counts, 0.0).sum(axis=0)
        for place, counts in enumerate(sent):
            rest = np.where(is_local, 0.0, counts)
            far[place][:, as_slice(block.targets)] += of_worker @ rest
    bundles = _bundled(Counts(*far), flushed or mechanics.transfer_sleep)
    batches, tuples, squares = near + np.asarray([one.sum(axis=0) for one in bundles])
    some = batches > 0.0
    safe = np.where(some, batches, 1.0)
    mean = np.where(some, tuples / safe, 1.0)
    variance = np.where(some, squares / safe, 1.0) - mean**2
    return Bursts(
        per_second=batches, mean=np.maximum(mean, 1.0), variance=np.maximum(variance, 0.0)
    )


def siblings_into(
    flow: TupleFlow,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    mechanics: Mechanics,
    operator: str,
) -> float:
    """How many tuples of one execution, and so of one root, come to a task together.

    Every tuple of a source is a root of its own.
    """
    parts = [np.asarray(one) for one in conversions[operator].task_parts]
    batches = tuples = 0.0
    for block in flow.data_blocks:
        if block.stream.target != operator:
            continue
        source = flow.plan.logical.topology.operator(block.stream.source)
        if source.kind is OperatorKind.SOURCE:
            came = float(rates.arrived[block.stream.subscription].sum())
            batches, tuples = batches + came, tuples + came
            continue
        in_turn = deals_in_turn(block.stream, mechanics)
        to_tasks = np.concatenate(
            [block.shares[:, [column]] * parts[column] for column in range(len(parts))], axis=1
        )
        for events in events_of(flow, block, rates, conversions, mechanics.source_sleep):
            counts = deal_events(events, to_tasks, in_turn=in_turn)
            batches += float(counts.batches.sum())
            tuples += float(counts.tuples.sum())
    return max(tuples / batches, 1.0) if batches > 0.0 else 1.0


def events_of(
    flow: TupleFlow,
    block: ConnectionBlock,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    source_sleep: float,
) -> Iterator[Events]:
    """When the executors of a block's source emit on its stream, by what made them emit."""
    stream = block.stream
    operator = flow.plan.logical.topology.operator(stream.source)
    emitted = rates.emitted[stream.key]
    if stream.is_system:
        one = np.ones_like(emitted)
        yield Events(emitted, one, np.zeros_like(emitted), gathered=False)
    elif operator.kind is OperatorKind.SOURCE:
        yield _clumps(emitted, source_sleep)
    elif operator.window is not None:
        count = conversions[stream.source].per_trigger.get(stream.name, 0.0)
        yield _whole(rates.triggers[stream.source], np.full_like(emitted, count))
    else:
        for other in flow.data_blocks:
            if other.stream.target == stream.source:
                found = conversions[stream.source].per_input.get((other.stream.key, stream.name))
                if found is not None:
                    yield _whole(rates.arrived[other.stream.subscription], found)


def _clumps(per_second: Vector, sleep: float) -> Events:
    """All that a source finds due when it wakes: Poisson with mean λ·sleep, if there is any."""
    if sleep <= 0.0:
        return _whole(per_second, np.ones_like(per_second))
    return Events(
        per_second=np.full_like(per_second, 1.0 / sleep),
        mean=per_second * sleep,
        second=(per_second * sleep) ** 2,
        gathered=True,
    )


def _whole(per_second: Vector, mean: Vector) -> Events:
    """A fixed number, whose fraction is the chance of one tuple more."""
    mean = np.broadcast_to(mean, per_second.shape)
    low = np.floor(mean)
    part = mean - low
    return Events(per_second, mean, low * (low - 1.0) + 2.0 * low * part, gathered=False)


def deal_events(events: Events, shares: NDArray[np.float64], *, in_turn: bool) -> Counts:
    """What of each event goes to each receiving executor.

    Every tuple is dealt by itself, or one after the other in turn: then an executor gets as many of
    an event's tuples as are its due, give or take one. A share above one is a copy for each of
    several tasks.
    """
    rate, mean, second = (one[:, np.newaxis] for one in events[:3])
    chance, copies = np.minimum(shares, 1.0), np.maximum(shares, 1.0)
    tuples = rate * mean * chance
    if events.gathered:
        batches = rate * -np.expm1(-mean * chance)
        pairs = rate * second * chance**2
    elif in_turn:
        low = np.floor(mean * chance)
        part = mean * chance - low
        batches = rate * np.where(low > 0.0, 1.0, part)
        pairs = rate * (low * (low - 1.0) + 2.0 * low * part)
    else:
        low = np.floor(mean)
        # (1 − R)^N for N = n or n + 1.
        batches = rate * (1.0 - (1.0 - chance) ** low * (1.0 - (mean - low) * chance))
        pairs = rate * second * chance**2
    return Counts(batches=batches, tuples=tuples * copies, squares=(pairs + tuples) * copies**2)


def _bundled(bursts: Counts, sleep: float) -> Counts:
    """What is handed over after each sleep, or flush: the bursts that came meanwhile."""
    if sleep <= 0.0:
        return bursts
    return Counts(
        batches=-np.expm1(-bursts.batches * sleep) / sleep,
        tuples=bursts.tuples,
        # A compound Poisson number has the variance rate·E[X²].
        squares=bursts.squares + bursts.tuples**2 * sleep,
    )
