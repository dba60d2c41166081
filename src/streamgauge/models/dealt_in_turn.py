"""Queues of executors that are dealt to in turn, by one sender or by several.

A sender goes round K tasks; an executor has m of them, one after the other, so that it gets m
tuples of each round. Over a whole round that is as regular as the sender; within a round it
depends on where the sender is: tuples of one sender come in a row, those of several at any time.
A renewal process, which knows one variation for all times, is neither (Whitt 1983 says so of
merged streams). Here the variance of how many tuples come is known for every time, and the wait
follows from the walk of services less the times that tuples came in (`random_walks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streamgauge.models.queueing import BatchArrivals, Moments, as_vector, divide_or
from streamgauge.models.random_walks import SINGLE_TERMS, Cumulants, find_maximum
from streamgauge.models.routing import deals_in_turn
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Vector
from streamgauge.models.trigger_waits import (
    LEAST_VARIANCE,
    Triggers,
    gamma_cumulants,
    wait_inside,
)
from streamgauge.topology.topology import Operator, OperatorKind, StreamKey
from streamgauge.topology.tuple_flow import ConnectionBlock, as_slice


def count_variance(emitted: Vector, tasks: Vector, round_tasks: Vector) -> Vector:
    """Variance of how many of so many tuples in a row go to m tasks in a row of a round of K.

    Where in its round the sender is, is not known. m tasks and e tuples overlap evenly over the
    phases: with b the smaller and c the larger of both, as far as they are not whole rounds, E[n²]
    is (b²c − b(b² − 1)/3)/K. The rest of a round is as good as itself.
    """
    left = np.mod(emitted, round_tasks)
    tuples = np.minimum(left, round_tasks - left)
    part = np.minimum(tasks, round_tasks - tasks)
    less, more = np.minimum(tuples, part), np.maximum(tuples, part)
    # Less than one tuple is one or none.
    whole = np.where(less < 1.0, less * more, less**2 * more - less * (less**2 - 1.0) / 3.0)
    return np.maximum(whole / round_tasks - (less * more / round_tasks) ** 2, 0.0)


def strewn_tuples(senders: float, tasks: Vector, round_tasks: float) -> Vector:
    """How far tasks that are dealt to in turn are apart, in tuples of one of them.

    Between two tasks that are a part p of a round apart, each sender has passed the one and not
    the other with the probability p, now and when it began: (2·senders − 1)·p(1 − p) is the
    variance of how many tuples the one is ahead. Places even over a width w differ by w²/6.

    Args:
        senders: Who go round.
        tasks: In a row.
        round_tasks: In a round.
    """
    # Means over the pairs of tasks in a row.
    apart = (tasks + 1.0) / (3.0 * round_tasks)
    square = tasks * (tasks + 1.0) / (6.0 * round_tasks**2)
    return np.sqrt(6.0 * (2.0 * senders - 1.0) * np.maximum(apart - square, 0.0))


def uneven_slide(senders: float, slide: float) -> float:
    """Variance over mean of tuples that a task gets from senders that go round: one or none each.

    Beyond whole rounds.
    """
    part = (slide / senders) % 1.0
    return senders * part * (1.0 - part) / slide


def count_senders(traffic: Traffic, operator: Operator) -> float:
    """Executors that send to an operator."""
    logical = traffic.flow.plan.logical
    streams = [one for one in logical.topology.streams_into(operator.name) if not one.is_system]
    return float(sum(len(logical.spans[one.source]) for one in streams))


def fires_together(traffic: Traffic, operator: Operator) -> bool:
    """Whether the tasks of an operator have windows by count, and are dealt to in turn."""
    if operator.window is None or operator.window.slide_tuples is None:
        return False
    streams = traffic.flow.plan.logical.topology.streams_into(operator.name)
    return all(deals_in_turn(one, traffic.mechanics) for one in streams if not one.is_system)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phases:
    """Windows by count of tasks that are full to different parts.

    Of N tuples of a task N/n windows fire, give or take one: one more with the probability f, the
    part of a window that is left over. So their number varies by f(1 − f) more than N/n does,
    (n² − 1)/(6n²) where N may be anything, and by (n − 1)/n² a tuple where it is small. Windows
    that one execution fires come at the same moment, as it sends to many tasks at once.

    Attributes:
        per_second: Tuples a second of every task.
        slide: Tuples from one window of a task to its next, n.
        sent: Of what a task's windows emit, which part goes to each executor: tasks × executors.
    """

    per_second: Vector
    slide: float
    sent: Vector

    def uneven(self, seconds: Vector) -> Vector:
        """Variance of how many come to an executor in a time, beyond that of long times.

        Seen from a window that fires: its own task has just begun to fill up.
        """
        if self._highest <= 0.0:
            return np.zeros(np.shape(seconds))
        tuples = seconds[..., np.newaxis] * self.per_second
        risen = -np.expm1(-tuples * (self.slide - 1.0) / (self.slide**2 * self._highest))
        return np.asarray(self._highest * (risen * self._weights.T).sum(axis=-1))

    @property
    def most(self) -> Vector:
        """The same after a long time."""
        return np.asarray(self._highest * self._weights.sum(axis=0))

    @property
    def _highest(self) -> float:
        return (self.slide**2 - 1.0) / (6.0 * self.slide**2)

    @property
    def _weights(self) -> Vector:
        came = self.sent * self.per_second[:, np.newaxis]
        own = divide_or(came, came.sum(axis=0)[np.newaxis], otherwise=0.0)
        return np.asarray(self.sent**2 * (1.0 - own))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """What executors of an operator get from a block, all of its senders being alike.

    Attributes:
        senders: How many send to each of them.
        emitted: Tuples a second of a sender.
        per_second: Tuples a second to each of them, from all senders.
        tasks: Of each of them.
        round_tasks: Tasks that a sender goes round; as many as an executor has where there is no
            other, or tuples are dealt at random: then turns change nothing.
        noise: Variance over mean of how many come from a sender over a long time.
        windows: What fires at the senders, where that are windows whose tasks are at any place.
    """

    senders: Vector
    emitted: float
    per_second: Vector
    tasks: Vector
    round_tasks: Vector
    noise: Vector
    windows: Phases | None = None

    def uneven(self, seconds: Vector) -> Vector:
        """Variance of how many come in a time, beyond that of long times.

        Seen from a tuple that comes: its own sender's are as regular as they are, the others' are
        anywhere. Of N periodic streams i of N gaps vary as spacings on a circle do, i(N − i)/(N +
        1), where counts have i(N − i)/N. Of other streams the variance of counts begins as at
        random and ends (1 − c⁴)/6 above c² a tuple, which is exact for Erlang gaps (Cox 1962).
        """
        others, alone = self.senders - 1.0, self.round_tasks <= self.tasks
        by_turns = count_variance(self.emitted * seconds, self.tasks, self.round_tasks)
        if self.windows is not None:
            turns = np.where(alone, 0.0, self.senders * by_turns)
            return np.asarray(self.windows.uneven(seconds) + turns)
        tuples = seconds * divide_or(self.per_second, self.senders, otherwise=0.0)
        merged = (1.0 - self.noise) * tuples / (1.0 + 6.0 * tuples / (1.0 + self.noise))
        single = (others > 0.0) & (self.tasks == 1.0)
        seen = np.where(single, self.senders**2 / (self.senders + 1.0), self.senders)
        return np.where(alone, np.maximum(others, 0.0) * merged, seen * by_turns)

    @property
    def most_uneven(self) -> Vector:
        """The most that can be, at half a round or after a long time."""
        half = count_variance(self.round_tasks / 2.0, self.tasks, self.round_tasks)
        if self.windows is not None:
            return self.windows.most + self.senders * half
        return self.senders * np.maximum(half, np.abs(1.0 - self.noise**2) / 6.0)


class WaitFactors(NamedTuple):
    """How queues differ from those that tuples at random make.

    Attributes:
        mean: Of waits, in multiples.
        scv: Squared variation of waits; NaN where it is that of a queue at random.
    """

    mean: Vector
    scv: Vector


def factors_in_turn(
    traffic: Traffic, queue: BatchArrivals, busy: Vector, left: Vector, otherwise: Vector
) -> WaitFactors:
    """How long queues are in multiples of those at random, where tuples are dealt in turn.

    Args:
        traffic: Of the plan.
        queue: Of its executors.
        busy: Part of the time that these are, windows that fire included.
        left: Variation of the time between two emissions of executors.
        otherwise: What is given back for executors that no tuple comes to in turn, or several at
            once.
    """
    logical = traffic.flow.plan.logical
    factors = WaitFactors(otherwise.copy(), np.full(len(otherwise), np.nan))
    totals: dict[StreamKey, Dispersion] = {}
    for operator in logical.topology.topological_order():
        blocks = [one for one in traffic.flow.data_blocks if one.stream.target == operator.name]
        here = as_slice(logical.spans[operator.name])
        totals |= _find_totals(traffic, operator, blocks, totals, left[here])
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        followed = [_is_followed(traffic, one) for one in blocks]
        if not any(followed) or not all(_emits_singly(traffic, one) for one in blocks):
            continue
        streams = list(_list_streams(traffic, operator, blocks, left, totals))
        if not streams:
            continue
        mean = np.broadcast_to(as_vector(queue.service_seconds), otherwise.shape)[here]
        scv = np.broadcast_to(as_vector(queue.service_scv), otherwise.shape)[here]
        service = Moments(mean=mean, variance=mean**2 * scv)
        waits = None
        if len(blocks) == 1:
            waits = _wait_for_clump(traffic, blocks[0], service, busy)
        if waits is not None:
            factors.scv[here] = divide_or(waits.variance, waits.mean**2, otherwise=np.nan)
        factors.mean[here] = compare_waits(
            streams,
            service,
            None if waits is None else waits.mean,
            otherwise=otherwise[here],
        )
    return factors


def _is_followed(traffic: Traffic, block: ConnectionBlock) -> bool:
    """Whether more is known of what comes than how unevenly: turns, or windows by count."""
    sender = traffic.flow.plan.logical.topology.operator(block.stream.source)
    by_count = sender.window is not None and sender.window.slide_tuples is not None
    return by_count or deals_in_turn(block.stream, traffic.mechanics)


def _find_phases(traffic: Traffic, block: ConnectionBlock) -> Phases | None:
    """Of windows by count at the senders, where these do not fire together."""
    sender = traffic.flow.plan.logical.topology.operator(block.stream.source)
    if sender.window is None or sender.window.slide_tuples is None:
        return None
    if fires_together(traffic, sender):
        return None
    came = traffic.rates.into(traffic.flow, sender.name, system=False)
    parts = traffic.conversions[sender.name].task_parts
    by_task = np.concatenate([rate * part for rate, part in zip(came, parts, strict=True)])
    owner = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    used = by_task > 0.0
    return Phases(
        per_second=by_task[used],
        slide=float(sender.window.slide_tuples),
        sent=block.shares[owner[used]],
    )


def _emits_singly(traffic: Traffic, block: ConnectionBlock) -> bool:
    """Whether a sender emits at most a tuple at a time."""
    sender = traffic.flow.plan.logical.topology.operator(block.stream.source)
    if sender.kind is OperatorKind.SOURCE:
        return True
    conversion = traffic.conversions[sender.name]
    if sender.window is not None:
        return conversion.per_trigger.get(block.stream.name, 0.0) <= 1.0
    return all(
        bool(np.all(coefficients <= 1.0))
        for (_, name), coefficients in conversion.per_input.items()
        if name == block.stream.name
    )


class Dispersion(NamedTuple):
    """Variance over mean of how many tuples all executors of an operator emit in a long time.

    Attributes:
        tuples: Of all of them.
        heads: Of the first ones of those that come of one root, or window, as if it never became
            several: how long siblings wait for each other is found apart (`meeting_again`).
    """

    tuples: float
    heads: float


def _find_totals(
    traffic: Traffic,
    operator: Operator,
    blocks: list[ConnectionBlock],
    totals: Mapping[StreamKey, Dispersion],
    left: Vector,
) -> dict[StreamKey, Dispersion]:
    """How many tuples all executors of an operator emit in a long time, by stream.

    Neither queues nor turns change it: as many leave as come. What emits c tuples for each makes it
    c times as large, and 1 − c more of those that are left out at random.
    """
    emitted = {
        stream.key
        for stream in traffic.flow.plan.logical.topology.streams_from(operator.name)
        if not stream.is_system
    }
    if not blocks:
        mean = float(np.mean(left))
        return dict.fromkeys(emitted, Dispersion(mean, mean))
    conversion = traffic.conversions[operator.name]
    came = [float(traffic.rates.arrived[one.stream.subscription].sum()) for one in blocks]
    known = [totals.get(one.stream.key, Dispersion(1.0, 1.0)) for one in blocks]
    if operator.window is not None:
        slide = operator.window.slide_tuples
        fired = 1.0 if slide is None else _mean([one.tuples for one in known], came) / slide
        once = Dispersion(fired, fired)
        return {key: _compound(once, conversion.per_trigger.get(key.name, 0.0)) for key in emitted}
    found = {}
    for key in emitted:
        counts = [
            float(np.mean(conversion.per_input.get((one.stream.key, key.name), np.zeros(1))))
            for one in blocks
        ]
        each = [_compound(one, count) for one, count in zip(known, counts, strict=True)]
        sent = [rate * count for rate, count in zip(came, counts, strict=True)]
        found[key] = Dispersion(
            _mean([one.tuples for one in each], sent), _mean([one.heads for one in each], sent)
        )
    return found


def _compound(varied: Dispersion, count: float) -> Dispersion:
    """Of what is emitted, so many for each, a fraction being a chance."""
    part = count % 1.0
    left_out = part * (1.0 - part) / count if count > 0.0 else 1.0
    first = varied.heads if count >= 1.0 else count * varied.heads + 1.0 - count
    return Dispersion(count * varied.tuples + left_out, first)


def _mean(values: list[float], weights: list[float]) -> float:
    total = sum(weights)
    if total <= 0.0:
        return 1.0
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total


def _list_streams(
    traffic: Traffic,
    operator: Operator,
    blocks: list[ConnectionBlock],
    left: Vector,
    totals: Mapping[StreamKey, Dispersion],
) -> Iterator[Stream]:
    executors = traffic.flow.plan.logical.executors_of(operator.name)
    tasks = np.asarray([float(len(one.tasks)) for one in executors])
    for block in blocks:
        emitted = traffic.rates.emitted[block.stream.key]
        sends = emitted > 0.0
        if not sends.any():
            continue
        shares, reached = block.shares[sends], block.shares[sends] > 0.0
        per_second = emitted @ block.shares
        whole = totals.get(block.stream.key, Dispersion(1.0, 1.0)).heads
        part = divide_or(shares.sum(axis=0), reached.sum(axis=0).astype(float), otherwise=0.0)
        in_turn = deals_in_turn(block.stream, traffic.mechanics)
        rounds = np.round(divide_or(tasks, part, otherwise=1.0)) if in_turn else tasks
        phases = _find_phases(traffic, block)
        variation = np.full(len(part), float(np.mean(left[as_slice(block.sources)][sends])))
        if phases is not None and sends.sum() > 1:
            # Executions that send to several of them make these vary together.
            together = (reached.sum(axis=0) - 1.0) / (float(sends.sum()) - 1.0)
            variation += np.maximum(together, 0.0) * (whole - variation)
        yield Stream(
            senders=reached.sum(axis=0).astype(float),
            emitted=float(np.mean(emitted[sends])),
            per_second=per_second,
            tasks=tasks,
            round_tasks=rounds,
            noise=whole * per_second / float(per_second.sum())
            if in_turn
            else part * variation + 1.0 - part,
            windows=phases,
        )


def _wait_for_clump(
    traffic: Traffic, block: ConnectionBlock, service: Moments, busy: Vector
) -> Moments | None:
    """Waits of what windows emit that fire together; None where they do not.

    They are strewn over as much of a cycle as their tasks are apart, or as their executors need.
    How many of a clump come to an executor varies: each sender goes on where it stopped in its
    round, so that a row of tasks gets all that it emits, or nothing.
    """
    logical = traffic.flow.plan.logical
    sender = logical.topology.operator(block.stream.source)
    if not fires_together(traffic, sender):
        return None
    assert sender.window is not None
    assert sender.window.slide_tuples is not None
    slide, tasks = float(sender.window.slide_tuples), float(sender.tasks)
    came = float(traffic.rates.into(traffic.flow, sender.name, system=False).sum())
    cycle = slide * tasks / came
    per_second = traffic.rates.arrived[block.stream.subscription]
    senders = count_senders(traffic, sender)
    apart = strewn_tuples(senders, np.asarray(tasks), tasks) / slide
    longest = np.minimum(np.maximum(apart, busy[as_slice(logical.spans[sender.name])].max()), 1.0)
    stable = (per_second > 0.0) & (per_second * service.mean < 1.0)
    clumps = Clumps(
        cycle=cycle,
        size=np.where(stable, per_second * cycle, 1.0),
        varied=_count_clumps(traffic, block, cycle),
        dispersion=1.0 / (slide * tasks) + uneven_slide(senders, slide) / slide,
        service=Moments(
            mean=np.where(stable, service.mean, 0.0),
            variance=np.where(stable, service.variance, 0.0),
        ),
    )
    return wait_in_clumps(clumps, longest=float(longest) * cycle)


def _count_clumps(
    traffic: Traffic, block: ConnectionBlock, cycle: float
) -> Callable[[Vector], Vector]:
    """Variance of how many tuples of so many clumps come to each executor."""
    emitted = traffic.rates.emitted[block.stream.key]
    sends = emitted > 0.0
    of_clump = float(np.mean(emitted[sends])) * cycle
    senders = (block.shares[sends] > 0.0).sum(axis=0).astype(float)
    share = divide_or(block.shares[sends].sum(axis=0), senders, otherwise=0.0)
    if not deals_in_turn(block.stream, traffic.mechanics):
        return lambda count: count * senders * of_clump * share * (1.0 - share)
    executors = traffic.flow.plan.logical.executors_of(block.stream.target)
    tasks = np.asarray([float(len(one.tasks)) for one in executors])
    rounds = np.maximum(np.round(divide_or(tasks, share, otherwise=1.0)), tasks)
    return lambda count: senders * count_variance(of_clump * count, tasks, rounds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clumps:
    """Tuples that come many at a time, a cycle apart.

    Attributes:
        cycle: Seconds from clump to clump.
        size: Tuples of a clump for each executor, on the mean.
        varied: Variance of how many those of so many clumps are.
        dispersion: Squared variation of the time between clumps.
        service: Of a tuple.
    """

    cycle: float
    size: Vector
    varied: Callable[[Vector], Vector]
    dispersion: float
    service: Moments


def wait_in_clumps(clumps: Clumps, longest: float) -> Moments:
    """Wait of a tuple: for what is left of earlier clumps, and for its own clump.

    The first is the maximum of a walk of i clumps less i cycles. In its own clump a tuple finds
    E[N(N − 1)]/(2E[N]) others before it, strewn over `longest` seconds at the most.
    """
    service, size = clumps.service, clumps.size
    work = gamma_cumulants(service).times(size)
    noise = clumps.cycle**2 * clumps.dispersion

    def position(count: Vector) -> Cumulants:
        varied = service.mean**2 * clumps.varied(count)
        time = count * clumps.cycle
        return (
            work.times(count)
            ._replace(variance=count * work.variance + varied)
            .less_time(time, count * noise)
        )

    left = find_maximum(
        position,
        drift=clumps.cycle - work.mean,
        spread=work.variance + noise + LEAST_VARIANCE * clumps.cycle**2,
    )
    met = size + clumps.varied(np.ones_like(size)) / size
    inside = Triggers(
        per_second=size / clumps.cycle,
        slide=1.0,
        tasks=np.maximum(np.round(met), 1.0),
        dispersion=np.zeros_like(size),
        tuples=Moments(mean=np.zeros_like(size), variance=np.zeros_like(size)),
        windows=service,
    )
    own = wait_inside(inside, np.full(len(size), longest))
    return Moments(mean=left.mean + own.mean, variance=left.variance + own.variance)


def compare_waits(
    streams: list[Stream], service: Moments, waits: Vector | None, otherwise: Vector
) -> Vector:
    """Waits of tuples that come like this, over those of as many that come at random.

    `waits` are known already, or follow from the streams.
    """
    mean, scv = service.mean, divide_or(service.variance, service.mean**2, otherwise=0.0)
    rate = np.sum([one.per_second for one in streams], axis=0)
    stable = (rate > 0.0) & (rate * mean < 1.0) & (mean > 0.0)
    rate, mean = np.where(stable, rate, 1.0), np.where(stable, mean, 0.5)
    noise = np.sum([one.per_second * one.noise for one in streams], axis=0) / rate
    most = np.sum([one.most_uneven for one in streams], axis=0)

    def uneven(count: Vector) -> Vector:
        return np.asarray(np.sum([one.uneven(count / rate) for one in streams], axis=0))

    def rise(noise: Vector, uneven: Callable[[Vector], Vector], most: Vector) -> Vector:
        spread = mean**2 * scv + noise / rate**2
        work = Cumulants(mean, mean**2 * scv, 2.0 * mean**3 * scv**2)

        def position(count: Vector) -> Cumulants:
            varied = (count * noise + uneven(count)) / rate**2
            return work.times(count).less_time(count / rate, varied)

        found = find_maximum(
            position,
            drift=1.0 / rate - mean,
            # At least as much as at any place of the sum beyond its first terms.
            spread=spread + most / rate**2 / SINGLE_TERMS + 1e-9 / rate**2,
        )
        return found.mean

    like_this = rise(np.where(stable, noise, 1.0), uneven, most) if waits is None else waits
    at_random = rise(np.ones_like(rate), np.zeros_like, np.zeros_like(rate))
    return np.where(stable, divide_or(like_this, at_random, otherwise=1.0), otherwise)
