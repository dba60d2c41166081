"""Pairs of tuples of one root on their way through a plan: how many, and how far apart in time.

A pair begins where one execution emits two tuples, or one tuple goes to two subscribers. Forwards
over the topology, a pair is known by the two subscriptions that brought its tuples and by their
executors; who is nearer to the sources goes on first, until both are at one operator. There they
meet if they come to one executor (`meeting_again`), and go on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.arrival_variability import Bursts, Events, deal_events, emit_whole
from streamgauge.models.end_to_end_latency import list_onward
from streamgauge.models.meeting_again import (
    Apart,
    Clusters,
    Queues,
    answer_time,
    leave,
    meet,
    third_part,
)
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.routing import deals_in_turn
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Vector
from streamgauge.topology.topology import Operator, OperatorKind, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, as_slice

Matrix = NDArray[np.float64]
Onward = Sequence[tuple[ConnectionBlock, Vector]]
Key = tuple[Subscription, Subscription]

# Pairs that are so many times as far apart as others are another kind.
KINDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of a kind.

    Attributes:
        per_second: By the executors that the first and the second come to.
        apart: How much later the second comes than the first.
        batched: Whether those that come to one executor come in one batch.
        in_line: Whether one executor sends them, one after the other, on one stream.
    """

    per_second: Matrix
    apart: Apart
    batched: bool = False
    in_line: bool = False

    def swapped(self) -> Pairs:
        """The same with the second as the first."""
        return replace(
            self,
            per_second=self.per_second.T,
            apart=Apart(-self.apart.mean, self.apart.variance),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitsOnTheWay:
    """What tuples wait for in an engine.

    Attributes:
        find: Mean time from arrival to service without waking up, its variance, and the moments of
            what else an executor's tuples wait for there, where arrivals are like this.
        service: Of executors.
        send: In a sender's own queue, by executor.
        transfer: Between workers, by worker.
        release: See `meeting_again.Queues`.
        released: Likewise, by executor.
    """

    find: Callable[[Clusters], tuple[Moments, Moments]]
    service: Moments
    send: Moments
    transfer: Moments
    release: float
    released: Vector


def find_clusters(traffic: Traffic, bursts: Bursts, waits: WaitsOnTheWay) -> Clusters:
    """What siblings come to the executors of a plan besides those of their own batches."""
    if not _has_siblings(traffic):
        return Clusters.none(len(bursts.mean))
    return _PairFlow(traffic, bursts, waits).follow()


def _has_siblings(traffic: Traffic) -> bool:
    """Whether any root becomes two tuples that may meet behind where they parted."""
    topology = traffic.flow.plan.logical.topology
    for operator in topology.operators:
        out = list(_list_out(traffic, operator))
        several = any(float(np.max(mean, initial=0.0)) > 1.0 or _copies(one) for one, mean in out)
        if len(out) > 1 or several:
            return topology.cycle() is None
    return False


def _list_out(traffic: Traffic, operator: Operator) -> Iterator[tuple[ConnectionBlock, Vector]]:
    for _, onward in _list_origins(traffic, operator):
        yield from onward


def _list_origins(traffic: Traffic, operator: Operator) -> Iterator[tuple[Vector, Onward]]:
    """Executions that emit: how many a second by executor, and what each emits on the mean."""
    flow, rates = traffic.flow, traffic.rates
    size = len(flow.plan.logical.spans[operator.name])
    leaving = [one for one in flow.data_blocks if one.stream.source == operator.name]
    if operator.kind is OperatorKind.SOURCE:
        for key in dict.fromkeys(one.stream.key for one in leaving):
            blocks = [one for one in leaving if one.stream.key == key]
            yield rates.emitted[key], [(one, np.ones(size)) for one in blocks]
    elif operator.window is not None:
        counts = traffic.conversions[operator.name].per_trigger
        yield (
            rates.triggers[operator.name],
            [(one, np.full(size, counts.get(one.stream.name, 0.0))) for one in leaving],
        )
    else:
        for block in flow.data_blocks:
            if block.stream.target == operator.name:
                yield rates.arrived[block.stream.subscription], list_onward(traffic, block)


class _PairFlow:
    """Pairs on their way through a plan without cycles."""

    def __init__(self, traffic: Traffic, bursts: Bursts, waits: WaitsOnTheWay) -> None:
        self._traffic, self._bursts, self._waits = traffic, bursts, waits
        self._flow, self._logical = traffic.flow, traffic.flow.plan.logical
        self._pairs: dict[Key, list[Pairs]] = {}
        order = self._logical.topology.topological_order()
        self._rank = {one.name: rank for rank, one in enumerate(order)}
        self._worker = np.asarray(self._flow.plan.placement, dtype=np.intp)
        self._came = bursts.per_second * bursts.mean
        self._clusters = Clusters.none(len(bursts.mean))
        self._roots: dict[str, dict[str, float]] = {}
        self._hops = {
            one.stream.subscription: self._find_hop(one) for one in traffic.flow.data_blocks
        }

    def follow(self) -> Clusters:
        """What comes to every executor."""
        for operator in self._logical.topology.topological_order():
            self._find_roots(operator)
            here = {key: kinds for key, kinds in self._pairs.items() if self._is_at(key, operator)}
            if operator.kind is OperatorKind.PROCESSOR:
                self._meet(operator, here)
            for key in here:
                del self._pairs[key]
            if any(one.stream.source == operator.name for one in self._flow.data_blocks):
                # What a window emits is of all its tuples: a cluster of its own.
                if here and operator.window is None:
                    self._go_on(operator, here)
                self._begin(operator)
        return self._clusters

    def _is_at(self, key: Key, operator: Operator) -> bool:
        return any(_target(one) == operator.name for one in key)

    def _find_roots(self, operator: Operator) -> None:
        """What an operator's tuples come from, roots or windows, and how many of these a second."""
        found = self._roots_into(operator)
        if operator.kind is OperatorKind.SOURCE:
            emitted = self._traffic.rates.out_of(self._flow, operator.name, system=False)
            found = {operator.name: float(emitted.sum())}
        self._roots[operator.name] = found
        if operator.window is not None:
            fired = float(self._traffic.rates.triggers[operator.name].sum())
            self._roots[operator.name] = {operator.name: fired}

    def _meet(self, operator: Operator, here: dict[Key, list[Pairs]]) -> None:
        """Find how many siblings the operator's executors get, and how many of these are met."""
        kinds = [
            one
            for (first, second), found in here.items()
            if _target(first) == _target(second)
            for one in found
        ]
        if not kinds:
            return
        span = as_slice(self._logical.spans[operator.name])
        came, found = self._came[span], self._clusters
        # Those of a batch are at hand, and are counted with it.
        parts = np.ones((len(kinds), len(came)))
        strewn = [place for place, one in enumerate(kinds) if not one.batched]
        if strewn:
            # Each of a pair has the other.
            siblings = np.asarray(
                [
                    2.0 * divide_or(np.diagonal(kinds[place].per_second), came, 0.0)
                    for place in strewn
                ]
            )
            roots = sum(self._roots_into(operator).values())
            found.siblings[span] = siblings.sum(axis=0)
            found.per_root[span] = came / max(roots, 1e-300)
            apart = [kinds[place].apart for place in strewn]
            found.met[span], parts[strewn] = meet(
                siblings, apart, self._queues(span, self._find_waits(span)[0])
            )
            in_line = np.asarray([kinds[place].in_line for place in strewn])
            found.in_line[span] = (siblings * parts[strewn])[in_line].sum(axis=0)
        both = np.asarray([one.per_second + one.per_second.T for one in kinds])
        met = both * (parts[:, :, np.newaxis] + parts[:, np.newaxis, :]) / 2.0
        alike = self._compare_queues(span, met.sum(axis=0))
        batched = np.asarray([one.batched for one in kinds])
        found.together[span] = _share_of(met[~batched], both[~batched], alike)
        np.fill_diagonal(alike, 0.0)
        apart_ones = both[batched] * (1.0 - np.eye(len(came)))
        found.dealt[span] = _share_of(apart_ones, apart_ones, alike)

    def _compare_queues(self, span: slice, met: Matrix) -> Matrix:
        """Correlation of the work of two executors, by what comes to both of one root."""
        service, came = self._waits.service, self._came[span]
        scv = divide_or(service.variance[span], service.mean[span] ** 2, otherwise=0.0)
        varied = came * (1.0 + scv) + np.diagonal(met)
        whole = np.sqrt(varied[:, np.newaxis] * varied[np.newaxis])
        alike = np.minimum(divide_or(met, whole, otherwise=0.0), 1.0)
        np.fill_diagonal(alike, 1.0)
        return alike

    def _roots_into(self, operator: Operator) -> dict[str, float]:
        found: dict[str, float] = {}
        for stream in self._logical.topology.streams_into(operator.name):
            if not stream.is_system:
                found |= self._roots[stream.source]
        return found

    def _find_waits(self, span: slice) -> tuple[Moments, Moments]:
        """What tuples wait for there, with what they meet as far as that is known."""
        wait, rest = (
            Moments(mean=_finite(one.mean[span]), variance=_finite(one.variance[span]))
            for one in self._waits.find(self._clusters)
        )
        return wait, rest

    def _queues(self, span: slice, wait: Moments) -> Queues:
        service = self._waits.service
        return Queues(
            wait=wait.mean,
            service=Moments(mean=service.mean[span], variance=service.variance[span]),
            per_second=self._came[span],
            release=self._waits.release,
            released=self._waits.released[span],
            third=third_part(
                self._clusters.siblings[span] + self._bursts.dispersion[span] - 1.0,
                self._clusters.per_root[span],
            ),
        )

    def _go_on(self, operator: Operator, here: dict[Key, list[Pairs]]) -> None:
        """Take what came to an operator on to the next ones."""
        span = as_slice(self._logical.spans[operator.name])
        wait, rest = self._find_waits(span)
        queues = self._queues(span, wait)
        met = self._clusters.met[span] + self._bursts.dispersion[span] - 1.0
        answer = answer_time(queues, wait, met)
        answer = Moments(mean=answer.mean + rest.mean, variance=answer.variance + rest.variance)
        onward = {
            block.stream.subscription: list_onward(self._traffic, block)
            for block in self._flow.data_blocks
            if block.stream.target == operator.name
        }
        for (first, second), kinds in here.items():
            for one in kinds:
                if _target(first) == _target(second):
                    self._serve_together(onward[first], onward[second], one, queues, wait, met)
                    self._serve_apart(onward[first], onward[second], one, answer)
                elif _target(first) == operator.name:
                    self._move_first(onward[first], second, one, answer)
                else:
                    self._move_first(onward[second], first, one.swapped(), answer)

    def _serve_together(
        self,
        first: Onward,
        second: Onward,
        pairs: Pairs,
        queues: Queues,
        wait: Moments,
        met: Vector,
    ) -> None:
        """Both of a pair are served by one executor."""
        weights = np.diagonal(pairs.per_second)
        if not weights.any():
            return
        left = leave(pairs.apart, weights, queues, wait, met, alike=first is second)
        crowd = float(weights @ met) / float(weights.sum())
        for block, mean in first:
            for other, more in second:
                sent = other.shares * (more * weights)[:, np.newaxis]
                rates = (block.shares * mean[:, np.newaxis]).T @ sent
                if block is other and deals_in_turn(block.stream, self._traffic.mechanics):
                    rates = self._take_turns(block, rates, left.between, crowd)
                later = float(self._hop(other).mean - self._hop(block).mean)
                apart = Apart(left.apart.mean + later, left.apart.variance)
                self._add(block, other, rates, apart, in_line=block is other)

    def _serve_apart(self, first: Onward, second: Onward, pairs: Pairs, answer: Moments) -> None:
        """Each of a pair is served by an executor of its own."""
        weights = _with_diagonal(pairs.per_second, np.zeros(len(pairs.per_second)))
        if not weights.any():
            return
        times = [_mean_over(answer, weights.sum(axis=axis)) for axis in (1, 0)]
        for block, mean in first:
            for other, more in second:
                rates = (block.shares * mean[:, np.newaxis]).T @ weights
                rates = rates @ (other.shares * more[:, np.newaxis])
                parts = [*times, self._hop(block), self._hop(other)]
                later = times[1].mean + parts[3].mean - times[0].mean - parts[2].mean
                apart = Apart(
                    pairs.apart.mean + float(later),
                    pairs.apart.variance + float(sum(one.variance for one in parts)),
                )
                self._add(block, other, rates, apart)

    def _take_turns(
        self, block: ConnectionBlock, rates: Matrix, between: float, crowd: float
    ) -> Matrix:
        """Nobody gets a second one in a round: fewer pairs that meet, if few come in between."""
        emitted = self._traffic.rates.emitted[block.stream.key]
        reached = float((block.shares > 0.0).sum(axis=1).max())
        if reached <= 1.0:
            return rates
        tuples = float(np.mean(emitted)) * between + max(crowd - 1.0, 0.0) / 3.0
        again = -np.expm1(-2.0 * tuples / reached)
        return _with_diagonal(rates, again * np.diagonal(rates))

    def _move_first(
        self, onward: Onward, second: Subscription, pairs: Pairs, answer: Moments
    ) -> None:
        """The first of a pair goes on, the second is on another way, and further."""
        time = _mean_over(answer, pairs.per_second.sum(axis=1))
        for block, mean in onward:
            hop = self._hop(block)
            rates = (block.shares * mean[:, np.newaxis]).T @ pairs.per_second
            apart = Apart(
                pairs.apart.mean - float(time.mean + hop.mean),
                pairs.apart.variance + float(time.variance + hop.variance),
            )
            self._keep(block.stream.subscription, second, Pairs(per_second=rates, apart=apart))

    def _begin(self, operator: Operator) -> None:
        """Pairs that an operator's executions emit."""
        for rate, onward in _list_origins(self._traffic, operator):
            for place, (block, mean) in enumerate(onward):
                events = emit_whole(rate, mean)
                self._add_batch(block, events)
                for other, second_mean in onward[place + 1 :]:
                    both = mean * second_mean
                    if other.stream.key == block.stream.key:
                        # Each tuple and its copy, and those of the others.
                        both = events.second + mean
                    rates = block.shares.T @ (other.shares * (rate * both)[:, np.newaxis])
                    later = float(self._hop(other).mean - self._hop(block).mean)
                    self._add(block, other, rates, Apart(later, 0.0))

    def _add_batch(self, block: ConnectionBlock, events: Events) -> None:
        """Pairs of one stream: those that come to one executor are a batch already."""
        in_turn = deals_in_turn(block.stream, self._traffic.mechanics)
        counts = deal_events(events, block.shares, in_turn=in_turn)
        same = (counts.squares - counts.tuples).sum(axis=0) / 2.0
        chance, copies = np.minimum(block.shares, 1.0), np.maximum(block.shares, 1.0)
        several = events.second
        if _copies(block):
            # One tuple for each of many.
            several = several + events.mean
        each = chance * copies
        rates = each.T @ (each * (events.per_second * several / 2.0)[:, np.newaxis])
        total = float(rates.sum())
        rates = _with_diagonal(rates, np.zeros(len(rates)))
        apart = float(rates.sum())
        if in_turn and apart > 0.0:
            rates = rates * (max(total - float(same.sum()), 0.0) / apart)
        rates = _with_diagonal(rates, np.maximum(same, 0.0))
        key = block.stream.subscription
        if rates.any():
            self._keep(key, key, Pairs(per_second=rates, apart=Apart(0.0, 0.0), batched=True))

    def _add(
        self,
        block: ConnectionBlock,
        other: ConnectionBlock,
        rates: Matrix,
        apart: Apart,
        *,
        in_line: bool = False,
    ) -> None:
        pairs = Pairs(per_second=rates, apart=apart, in_line=in_line)
        self._keep(block.stream.subscription, other.stream.subscription, pairs)

    def _keep(self, first: Subscription, second: Subscription, pairs: Pairs) -> None:
        """Beside others of their kind."""
        if not pairs.per_second.any():
            return
        if (self._rank[_target(first)], first) > (self._rank[_target(second)], second):
            first, second, pairs = second, first, pairs.swapped()
        kept = self._pairs.setdefault((first, second), [])
        for place, one in enumerate(kept):
            if _alike(one, pairs):
                kept[place] = _mixed(one, pairs)
                return
        kept.append(pairs)

    def _hop(self, block: ConnectionBlock) -> Moments:
        return self._hops[block.stream.subscription]

    def _find_hop(self, block: ConnectionBlock) -> Moments:
        """From a sender's logic to a receiver's queue, over all that a block carries."""
        rows = as_slice(block.sources)
        weights = self._traffic.rates.emitted[block.stream.key][:, np.newaxis] * block.shares
        total = float(weights.sum())
        if total <= 0.0:
            return Moments(mean=np.zeros(()), variance=np.zeros(()))
        away = np.where(block.types > 0, weights, 0.0).sum(axis=1) / total
        here = weights.sum(axis=1) / total
        send, transfer = self._waits.send, self._waits.transfer
        worker = self._worker[rows]
        between = _finite(transfer.mean[worker])
        mean = here @ send.mean[rows] + away @ between
        square = away @ (_finite(transfer.variance[worker]) + between**2)
        variance = here @ send.variance[rows] + square - float(away @ between) ** 2
        return Moments(mean=np.asarray(mean), variance=np.asarray(max(float(variance), 0.0)))


def _copies(block: ConnectionBlock) -> bool:
    """Whether a tuple goes to several executors."""
    return bool(np.any(block.shares.sum(axis=1) > 1.0 + 1e-9))


def _target(subscription: Subscription) -> str:
    """Whose it is."""
    return subscription[2]


def _finite(values: Vector) -> Vector:
    """What overloaded elements make of it does not count: nothing is said of what they lead to."""
    return np.where(np.isfinite(values), values, 0.0)


def _mean_over(time: Moments, weights: Vector) -> Moments:
    """Of executors that count by their weights."""
    total = float(weights.sum())
    mean = float(weights @ time.mean) / total
    square = float(weights @ (time.variance + time.mean**2)) / total
    return Moments(mean=np.asarray(mean), variance=np.asarray(max(square - mean**2, 0.0)))


def _share_of(met: Matrix, both: Matrix, alike: Matrix) -> Vector:
    """What a tuple's wait has in common with that of its siblings, on the mean over these."""
    common, siblings = (met * alike).sum(axis=(0, 2)), both.sum(axis=(0, 2))
    return np.minimum(divide_or(common, siblings, otherwise=0.0), 1.0)


def _with_diagonal(rates: Matrix, diagonal: Vector) -> Matrix:
    changed = rates.copy()
    np.fill_diagonal(changed, diagonal)
    return changed


def _alike(one: Pairs, other: Pairs) -> bool:
    """Whether two kinds may be taken for one."""
    if one.batched or other.batched or one.in_line != other.in_line:
        return False
    squares = [part.apart.mean**2 + part.apart.variance for part in (one, other)]
    if min(squares) <= 0.0:
        return max(squares) <= 0.0
    if max(squares) > KINDS**2 * min(squares):
        return False
    signed = one.apart.mean * other.apart.mean
    return signed >= 0.0 or signed**2 < 0.01 * squares[0] * squares[1]


def _mixed(one: Pairs, other: Pairs) -> Pairs:
    weights = float(one.per_second.sum()), float(other.per_second.sum())
    part = weights[0] / sum(weights)
    mean = part * one.apart.mean + (1.0 - part) * other.apart.mean
    square = part * (one.apart.mean**2 + one.apart.variance) + (1.0 - part) * (
        other.apart.mean**2 + other.apart.variance
    )
    return Pairs(
        per_second=one.per_second + other.per_second,
        apart=Apart(mean, max(square - mean**2, 0.0)),
        in_line=one.in_line,
    )
