"""Arrivals: how many tuples come to an executor together, and how regularly.

What one execution or one window emits comes at once; a source that slept emits all that was due
meanwhile. A transfer thread of Storm 2.x that slept hands over all that came meanwhile
(docs/storm-rules.md); in Storm 1.x queues gather tuples until they are flushed. Batches of
different origin are taken as independent Poisson processes.

A queue whose customers come more evenly than at random is shorter. Tuples dealt in turn to n
executors come to each after n gaps of the sender; a busy executor whose services vary little
emits evenly. The approximations are those of the Queueing Network Analyzer (Whitt 1983): thinned,
merged and served streams are renewal processes again, known by rate and variation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.dealt_in_turn import WaitFactors, factors_in_turn
from streamgauge.models.queueing import BatchArrivals, divide_or
from streamgauge.models.routing import deals_in_turn
from streamgauge.models.traffic_equations import Traffic, Vector
from streamgauge.topology.topology import Operator, OperatorKind, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, as_slice

Matrix = NDArray[np.float64]

# Of a service, as departures see it: even constant ones leave them uneven (Whitt 1983, 4.6).
LEAST_SERVICE_SCV = 0.2
# From so many tuples on, how many a source gathers in a sleep does not vary enough to matter.
MANY_GATHERED = 50.0
# Times that tuples are followed from sources to their end and back until that changes no more.
ROUNDS = 4


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

    def at(self, place: slice) -> Bursts:
        """Into some of the executors."""
        return Bursts(
            per_second=self.per_second[place], mean=self.mean[place], variance=self.variance[place]
        )


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


class Dealt(NamedTuple):
    """Events, and how many batches a second of them go from executor to executor."""

    events: Events
    batches: Matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gates:
    """Threads that sleep, and let all that came meanwhile through to executors.

    Attributes:
        seconds: How long they sleep.
        part: Of an executor's tuples, those that come through one.
        count: How many gates these come through; uneven ones count as fewer.
    """

    seconds: float
    part: Vector
    count: Vector

    @classmethod
    def of(cls, seconds: float, through: Matrix, came: Vector) -> Gates:
        """From the tuples a second through every gate (rows) to executors, and all that come."""
        total = through.sum(axis=0)
        return cls(
            seconds=seconds,
            part=np.minimum(divide_or(total, came, otherwise=0.0), 1.0),
            count=divide_or(total**2, (through**2).sum(axis=0), otherwise=1.0),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """How tuples come to the executors of a plan, whatever services these have.

    Attributes:
        bursts: Into every executor.
        gates: Through which they come.
        dealt: By subscription of the job's own streams, what their senders' events bring.
    """

    bursts: Bursts
    gates: Gates
    dealt: Mapping[Subscription, Sequence[Dealt]]


def bursts_into(traffic: Traffic, *, gathered: bool = True) -> Bursts:
    """How tuples come to the executors of a plan.

    Args:
        traffic: Of the plan.
        gathered: Whether what sleeping threads and flushes hold back until then counts as coming
            together. That makes batches which come as regularly as the timers go, so that over
            longer times arrivals vary no more than without.
    """
    return (traffic.arrivals if gathered else traffic.ungathered).bursts


def find_arrivals(traffic: Traffic, *, gathered: bool = True) -> Arrivals:
    """What is the same for all services that a plan is looked at with; as `bursts_into` has it."""
    flow, mechanics = traffic.flow, traffic.mechanics
    flushed = mechanics.flush_seconds if mechanics.send_threads and gathered else 0.0
    slept = (flushed or mechanics.transfer_sleep) if gathered else 0.0
    executors = len(flow.plan.logical.executors)
    workers = np.asarray(flow.plan.placement, dtype=np.intp)
    near = np.zeros((3, executors))
    far = np.zeros((3, len(flow.plan.workers), executors))
    through = np.zeros((executors, executors))
    dealt: dict[Subscription, list[Dealt]] = {}
    # One for the worker of each executor: sums by worker are products with this.
    of_worker = np.zeros((len(flow.plan.workers), executors))
    of_worker[workers, np.arange(executors)] = 1.0
    met = np.broadcast_to(traffic.met, executors)
    for block in flow.blocks:
        events = list(list_events(traffic, block, gathered=gathered))
        in_turn = deals_in_turn(block.stream, mechanics)
        parts = [deal_events(one, block.shares, in_turn=in_turn) for one in events]
        if not block.stream.is_system:
            dealt[block.stream.subscription] = [
                Dealt(one, part.batches) for one, part in zip(events, parts, strict=True)
            ]
        if not parts:
            continue
        sent = all_sent = _sum_up(parts)
        if any(one.gathered for one in events) and slept >= mechanics.source_sleep:
            # Who sleeps as long gathers what a source has gathered, and no more for that.
            bare = list_events(traffic, block, gathered=False)
            sent = _sum_up([deal_events(one, block.shares, in_turn=in_turn) for one in bare])
        is_local, targets = block.types == 0, as_slice(block.targets)
        here = _bundled(sent, flushed * met[targets]) if flushed else all_sent
        local = np.where(is_local, np.asarray(here), 0.0)
        near[:, targets] += local.sum(axis=1)
        if events[0].gathered and not flushed:
            through[as_slice(block.sources), targets] += local[1]
        rest = np.where(is_local, 0.0, np.asarray(sent))
        far[:, :, targets] += of_worker[:, as_slice(block.sources)] @ rest
    bundles = _bundled(Counts(*far), slept * traffic.met)
    batches, tuples, squares = near + np.asarray([one.sum(axis=0) for one in bundles])
    some = batches > 0.0
    safe = np.where(some, batches, 1.0)
    mean = np.where(some, tuples / safe, 1.0)
    variance = np.where(some, squares / safe, 1.0) - mean**2
    bursts = Bursts(
        per_second=batches, mean=np.maximum(mean, 1.0), variance=np.maximum(variance, 0.0)
    )
    gates = Gates.of(slept or mechanics.source_sleep, np.concatenate([through, far[1]]), tuples)
    return Arrivals(bursts=bursts, gates=gates, dealt=dealt)


def _sum_up(counts: Sequence[Counts]) -> Counts:
    return Counts(*(sum(same[1:], start=same[0]) for same in zip(*counts, strict=True)))


def siblings_into(traffic: Traffic, operator: str) -> float:
    """How many tuples of one execution, and so of one root, come to a task together.

    Every tuple of a source is a root of its own.
    """
    parts = traffic.conversions[operator].task_parts
    batches = tuples = 0.0
    for block in traffic.flow.data_blocks:
        if block.stream.target != operator:
            continue
        source = traffic.flow.plan.logical.topology.operator(block.stream.source)
        if source.kind is OperatorKind.SOURCE:
            came = float(traffic.rates.arrived[block.stream.subscription].sum())
            batches, tuples = batches + came, tuples + came
            continue
        in_turn = deals_in_turn(block.stream, traffic.mechanics)
        to_tasks = np.concatenate(
            [block.shares[:, [column]] * parts[column] for column in range(len(parts))], axis=1
        )
        for events in list_events(traffic, block):
            counts = deal_events(events, to_tasks, in_turn=in_turn)
            batches += float(counts.batches.sum())
            tuples += float(counts.tuples.sum())
    return max(tuples / batches, 1.0) if batches > 0.0 else 1.0


def list_events(
    traffic: Traffic, block: ConnectionBlock, *, gathered: bool = True
) -> Iterator[Events]:
    """When the executors of a block's source emit on its stream, by what made them emit."""
    stream, flow, rates = block.stream, traffic.flow, traffic.rates
    operator = flow.plan.logical.topology.operator(stream.source)
    emitted = rates.emitted[stream.key]
    if stream.is_system:
        yield Events(emitted, np.ones_like(emitted), np.zeros_like(emitted), gathered=False)
    elif operator.kind is OperatorKind.SOURCE:
        met = np.broadcast_to(traffic.met, len(flow.plan.logical.executors))
        sleep = traffic.mechanics.source_sleep if gathered else 0.0
        yield _clumps(emitted, sleep * met[as_slice(block.sources)])
    elif operator.window is not None:
        count = traffic.conversions[stream.source].per_trigger.get(stream.name, 0.0)
        yield emit_whole(rates.triggers[stream.source], np.full_like(emitted, count))
    else:
        per_input = traffic.conversions[stream.source].per_input
        for other in flow.data_blocks:
            coefficients = per_input.get((other.stream.key, stream.name))
            if other.stream.target == stream.source and coefficients is not None:
                yield emit_whole(rates.arrived[other.stream.subscription], coefficients)


def _clumps(per_second: Vector, sleep: Vector) -> Events:
    """All that a source finds due when it wakes: Poisson with mean λ·sleep, if there is any."""
    if np.any(sleep <= 0.0):
        return emit_whole(per_second, np.ones_like(per_second))
    return Events(
        per_second=1.0 / sleep,
        mean=per_second * sleep,
        second=(per_second * sleep) ** 2,
        gathered=True,
    )


def emit_whole(per_second: Vector, mean: Vector) -> Events:
    """A fixed number at once, whose fraction is the chance of one tuple more."""
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
    if events.gathered and in_turn:
        some, pairs = _deal_gathered(mean, chance)
        batches, pairs = rate * some, rate * pairs
    elif events.gathered:
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


def _deal_gathered(mean: Matrix, chance: Matrix) -> tuple[Matrix, Matrix]:
    """Of a Poisson number dealt in turn: the chance that a receiver gets any, and E[n(n − 1)].

    Of N tuples a receiver gets as many as are its due, give or take one; of very many N is hardly
    ever another than on the mean.
    """
    from scipy import special

    most = int(np.minimum(mean, MANY_GATHERED).max()) * 2 + 10
    number = np.arange(1.0, most + 1.0).reshape(-1, 1, 1)
    weight = np.exp(special.xlogy(number, mean) - mean - special.gammaln(number + 1.0))
    many = mean > MANY_GATHERED
    due = np.where(many, mean, number) * chance
    weight = np.where(many, number == 1.0, weight)
    low = np.floor(due)
    part = due - low
    some = (weight * np.where(low > 0.0, 1.0, part)).sum(axis=0)
    return some, (weight * (low * (low - 1.0) + 2.0 * low * part)).sum(axis=0)


def _bundled(bursts: Counts, sleep: Vector | float) -> Counts:
    """What is handed over after each sleep, or flush: the bursts that came meanwhile."""
    if not np.all(sleep):
        return bursts
    return Counts(
        batches=-np.expm1(-bursts.batches * sleep) / sleep,
        tuples=bursts.tuples,
        # A compound Poisson number has the variance rate·E[X²].
        squares=bursts.squares + bursts.tuples**2 * sleep,
    )


def wait_factors(traffic: Traffic, queue: BatchArrivals, busy: Vector) -> WaitFactors:
    """How long the queues of a plan's executors are in multiples of those at random.

    Args:
        traffic: Of the plan.
        queue: Of its executors.
        busy: Part of the time that these are, windows that fire included.
    """
    service_scv, size = np.asarray(queue.service_scv), queue.size
    came, left = _follow(traffic, queue.utilisation, service_scv)
    # Of a batch's work: services of a number that varies too.
    work = service_scv / size.mean + size.variance / size.mean**2
    factors = wait_factor(came, work, queue.utilisation)
    return factors_in_turn(traffic, queue, busy, left, otherwise=factors)


def arrival_scv(traffic: Traffic, *, utilisation: Vector, service_scv: Vector) -> Vector:
    """Squared coefficient of variation of the time between batches into every executor.

    One, as for arrivals at random, for sources and ackers: nobody follows single messages. But a
    source that waits for roots to end emits as evenly as these do.
    """
    return _follow(traffic, utilisation, service_scv)[0]


def _follow(traffic: Traffic, utilisation: Vector, service_scv: Vector) -> tuple[Vector, Vector]:
    """Variation of the time between batches into every executor, and between its emissions."""
    logical = traffic.flow.plan.logical
    came, left = np.ones(len(logical.executors)), np.ones(len(logical.executors))
    sources = [place for one in logical.topology.sources for place in logical.spans[one.name]]
    for _ in range(ROUNDS if traffic.paced > 0.0 else 1):
        _follow_streams(traffic, came, left, utilisation, service_scv)
        ended = thin_stream(_endings(traffic, left), np.asarray(1.0 / len(sources)))
        left[sources] = 1.0 + traffic.paced * (ended - 1.0)
    return came, left


def _endings(traffic: Traffic, left: Vector) -> Vector:
    """Variation of the time between tuples that are done, all of them together."""
    logical = traffic.flow.plan.logical
    total = weighted = 0.0
    for operator in logical.topology.operators:
        onward = logical.topology.streams_from(operator.name)
        if operator.kind is OperatorKind.PROCESSOR and all(one.is_system for one in onward):
            done = traffic.rates.into(traffic.flow, operator.name, system=False)
            total += float(done.sum())
            weighted += float(done @ left[as_slice(logical.spans[operator.name])])
    return np.asarray(weighted / total if total > 0.0 else 1.0)


def _follow_streams(
    traffic: Traffic, came: Vector, left: Vector, utilisation: Vector, service_scv: Vector
) -> None:
    """Fill in how unevenly batches come to and leave processors; of sources, `left` is known."""
    flow, logical = traffic.flow, traffic.flow.plan.logical
    bursts = bursts_into(traffic, gathered=False)
    for operator in logical.topology.topological_order():
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        here = as_slice(logical.spans[operator.name])
        streams = [
            stream
            for block in flow.data_blocks
            if block.stream.target == operator.name
            for stream in _streams(traffic, block, left)
        ]
        if not streams:
            continue
        came[here] = merge_streams(
            np.concatenate([per_second for per_second, _ in streams]),
            np.concatenate([scv for _, scv in streams]),
            utilisation[here],
        )
        tuples = bursts.at(here)
        left[here] = _emissions(operator, came[here], utilisation[here], service_scv[here], tuples)


def _streams(
    traffic: Traffic, block: ConnectionBlock, left: Vector
) -> Iterator[tuple[Matrix, Matrix]]:
    """Batches from executors to executors: how many a second, and how unevenly."""
    stream, flow, rates = block.stream, traffic.flow, traffic.rates
    sender = flow.plan.logical.topology.operator(stream.source)
    in_turn = deals_in_turn(stream, traffic.mechanics)
    emitted = left[as_slice(block.sources)]
    of_inputs = sender.kind is OperatorKind.PROCESSOR and sender.window is None
    for events, batches in traffic.arrivals.dealt[stream.subscription]:
        scv = emitted
        if of_inputs:
            # Ends of service of one input among several, as if drawn at random.
            scv = thin_stream(scv, divide_or(events.per_second, rates.into(flow, sender.name), 0.0))
        # An event that emits a tuple now and then.
        emitting = np.minimum(events.mean, 1.0)
        if not events.gathered:
            scv = thin_stream(scv, emitting)
        chance = divide_or(batches, (events.per_second * emitting)[:, np.newaxis], 0.0)
        yield batches, thin_stream(scv[:, np.newaxis], chance, in_turn=in_turn)


def _emissions(
    operator: Operator, came: Vector, utilisation: Vector, service_scv: Vector, bursts: Bursts
) -> Vector:
    """Variation of the time between emissions: ends of service, or windows that fire."""
    if operator.window is None:
        return departures(came, utilisation, service_scv)
    slide = operator.window.slide_tuples
    # The sum of as many gaps of tuples; timers of several tasks are taken as at random.
    tuples = bursts.mean * came + bursts.variance / bursts.mean
    return np.ones_like(came) if slide is None else tuples / slide


def thin_stream(scv: Vector, part: Vector, *, in_turn: bool = False) -> Vector:
    """Variation of what is left of a stream of which a part is taken, at random or in turn.

    At random: a geometric number of gaps makes one (Whitt 1983, 4.4); in turn: 1/part of them.
    """
    return np.asarray(part * scv + (0.0 if in_turn else 1.0 - part))


def merge_streams(per_second: Matrix, scv: Matrix, utilisation: Vector) -> Vector:
    """Variation of the sum of streams, a row each, as a queue of that utilisation sees it.

    Whitt 1983, 4.10: the mean of theirs where queues are long; many streams at a short queue are as
    arrivals at random.
    """
    parts = divide_or(per_second, per_second.sum(axis=0), 0.0)
    count = divide_or(np.ones_like(utilisation), (parts**2).sum(axis=0), 1.0)
    idle = np.clip(1.0 - utilisation, 0.0, 1.0)
    weight = 1.0 / (1.0 + 4.0 * idle**2 * (count - 1.0))
    mean = np.where(per_second.sum(axis=0) > 0.0, (parts * scv).sum(axis=0), 1.0)
    return np.asarray(1.0 + weight * (mean - 1.0))


def departures(scv: Vector, utilisation: Vector, service_scv: Vector) -> Vector:
    """Variation of the time between ends of service: that of services as far as it is busy.

    Whitt 1983, 4.6 for one server.
    """
    busy = np.minimum(utilisation, 1.0) ** 2
    return np.asarray((1.0 - busy) * scv + busy * np.maximum(service_scv, LEAST_SERVICE_SCV))


def wait_factor(arrival: Vector, work: Vector, utilisation: Vector) -> Vector:
    """How long a queue is in multiples of the one that arrivals at random would make.

    Kraemer and Langenbach-Belz 1976: (c²_a + c²_s)/2 for the mean wait of a GI/G/1 queue, and less
    where arrivals are regular and queues short.

    Args:
        arrival: Squared coefficient of variation of the time between arrivals.
        work: That of what each brings.
        utilisation: Of the server.
    """
    load = np.clip(utilisation, 1e-9, 1.0)
    both = np.maximum(arrival + work, 1e-9)
    regular = -2.0 * (1.0 - load) * (1.0 - arrival) ** 2 / (3.0 * load * both)
    bursty = -(1.0 - load) * (arrival - 1.0) / (arrival + 4.0 * work + 1e-9)
    return np.asarray(both / (1.0 + work) * np.exp(np.where(arrival < 1.0, regular, bursty)))
