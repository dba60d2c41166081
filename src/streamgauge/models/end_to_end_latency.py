"""Latency of a plan: delays of elements added up along all ways of a tuple.

Ways are not listed: what holds for all ways from an executor follows from what holds for those from
the executors it sends to, backwards over the topology. A tuple is followed by the subscription that
brought it, since what an operator makes of a tuple depends on its stream. Ways count by the tuples
that take them: routing shares times tuples out per tuple in, the product along the way (Cooper's
sum of probabilities is no probability). What a window emits stands for all of its tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.delays import DelayLevels, Delays, Part
from streamgauge.models.lateness import Lateness
from streamgauge.models.network import Distances, HopTransforms, Network
from streamgauge.models.traffic_equations import Traffic, gain
from streamgauge.models.transforms import Complex, Vector
from streamgauge.topology.topology import Operator, OperatorKind, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, Matrix, as_slice

PROBABILITIES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long tuples, or trees of them, take, in seconds.

    Attributes:
        parts: What the mean is made up of; empty where that is not known.
        halfwidth: Of the mean's 95 % interval, where it was sampled.
    """

    mean: float
    variance: float
    quantiles: Mapping[float, float]
    parts: Mapping[Part, float]
    halfwidth: float | None = None


# Of what is never done.
ENDLESS = Latency(mean=math.inf, variance=math.inf, quantiles={}, parts={})


def list_onward(traffic: Traffic, block: ConnectionBlock) -> list[tuple[ConnectionBlock, Vector]]:
    """Where a block's tuples go on to, and how many of them, for each receiving executor."""
    flow = traffic.flow
    operator = flow.plan.logical.topology.operator(block.stream.target)
    copies = windows_per_tuple(traffic, operator)
    onward = []
    for other in flow.data_blocks:
        if other.stream.source != operator.name:
            continue
        conversion = traffic.conversions[operator.name]
        factor: Vector | float
        if operator.window is not None:
            factor = copies * conversion.per_trigger.get(other.stream.name, 0.0)
        else:
            factor = gain(flow, block, other.stream.name, conversion)
        onward.append((other, np.broadcast_to(factor, (len(block.targets),))))
    return onward


def windows_per_tuple(traffic: Traffic, operator: Operator) -> Vector:
    """How many windows a tuple is in, for each executor of an operator; one without windows."""
    if operator.window is None:
        return np.ones(len(traffic.flow.plan.logical.spans[operator.name]))
    tuples, fired = traffic.window_tuples(operator), traffic.rates.triggers[operator.name]
    came = traffic.rates.into(traffic.flow, operator.name, system=False)
    return np.divide(tuples * fired, came, out=np.zeros_like(came), where=came > 0)


class Ways:
    """All ways of a plan's tuples, and how long they take.

    The data streams have no cycle.

    Args:
        traffic: Of the plan.
        delays: In its elements; at several levels, whole ways are taken at each of them.
        network: Between nodes.
    """

    def __init__(self, traffic: Traffic, delays: Delays | DelayLevels, network: Network) -> None:
        levels = delays if isinstance(delays, DelayLevels) else DelayLevels.single(delays)
        self._flow = traffic.flow
        ways = _WaysAtLevel(traffic, levels.delays[0], network)
        self._levels = [
            (probability, ways.with_delays(at_level)) for probability, at_level in levels
        ]

    def latency(
        self, probabilities: Sequence[float] = PROBABILITIES, *, since_due: bool = False
    ) -> Latency:
        """Of all tuples of all sources: since emission, or since they were due."""
        return self._of(self._first_blocks(), probabilities, since_due)

    def by_source(
        self,
        whole: Latency,
        probabilities: Sequence[float] = PROBABILITIES,
        *,
        since_due: bool = False,
    ) -> dict[str, Latency]:
        """Of the tuples of each source; `whole` is that of all of them."""
        sources = [one.name for one in self._flow.plan.logical.topology.sources]
        if len(sources) == 1:
            return {sources[0]: whole}
        first = self._first_blocks()
        return {
            name: self._of(
                [one for one in first if one.stream.source == name], probabilities, since_due
            )
            for name in sources
        }

    def measure_connections(self, block: ConnectionBlock) -> Matrix:
        """Mean seconds from leaving a sender's logic until the receiver is done, for each pair."""
        return np.asarray(self._mean(lambda level: level.measure_connections(block)))

    def _first_blocks(self) -> list[ConnectionBlock]:
        topology = self._flow.plan.logical.topology
        return [
            block
            for block in self._flow.data_blocks
            if topology.operator(block.stream.source).kind is OperatorKind.SOURCE
        ]

    def _of(
        self, first: list[ConnectionBlock], probabilities: Sequence[float], since_due: bool
    ) -> Latency:
        """Moments and transforms are means over levels."""
        weight = self._levels[0][1].weight(first)
        if weight <= 0.0:
            return Latency(mean=math.nan, variance=math.nan, quantiles={}, parts={})
        if any(level.is_infinite(first, since_due) for _, level in self._levels):
            parts = {Part.QUEUEING: math.inf}
            return Latency(mean=math.inf, variance=math.inf, quantiles={}, parts=parts)
        seconds = self._mean(lambda level: level.parts(first, since_due)) / weight
        parts = dict(zip(Part, seconds.tolist(), strict=True))
        if not since_due:
            # Tuples are not under way yet.
            del parts[Part.SOURCE]
        mean = sum(parts.values())
        square = self._mean(lambda level: np.asarray(level.squares(first, since_due))) / weight
        variance = max(float(square) - mean**2, 0.0)
        values = transforms.quantiles(
            lambda s: self._mean(lambda level: level.transform(first, s, since_due)) / weight,
            list(probabilities),
            np.asarray([mean]),
            np.asarray([variance**0.5]),
        ).ravel()
        found = {p: float(value) for p, value in zip(probabilities, values, strict=True)}
        return Latency(mean=mean, variance=variance, quantiles=found, parts=parts)

    def _mean(self, figure: Callable[[_WaysAtLevel], Any]) -> Any:
        """Over levels, each as likely as it is."""
        if len(self._levels) == 1:
            return figure(self._levels[0][1])
        return np.sum([p * figure(level) for p, level in self._levels], axis=0)


class _WaysAtLevel:
    """The ways of a plan whose elements have these delays."""

    def __init__(self, traffic: Traffic, delays: Delays, network: Network) -> None:
        self._traffic, self._network = traffic, network
        self._flow, self._rates = traffic.flow, traffic.rates
        self._delays, self._mean = delays, delays.executor_mean
        flow, plan = traffic.flow, traffic.flow.plan
        self._distances = Distances(flow, network)
        self._worker, self._node = self._distances.worker, self._distances.node
        self._onward_of: dict[Subscription, list[tuple[ConnectionBlock, Vector]]] = {}
        order = {
            one.name: rank for rank, one in enumerate(plan.logical.topology.topological_order())
        }
        self._backwards = sorted(
            flow.data_blocks, key=lambda block: order[block.stream.target], reverse=True
        )
        self._weights = self._reaching()

    def with_delays(self, delays: Delays) -> _WaysAtLevel:
        """The same ways with other delays in their elements; where they lead is not found anew."""
        other = copy(self)
        other._delays, other._mean = delays, delays.executor_mean
        return other

    def measure_connections(self, block: ConnectionBlock) -> Matrix:
        """Mean seconds from leaving a sender's logic until the receiver is done, for each pair."""
        hops = sum(self._hops(block).values(), start=np.zeros((1, 1)))
        return np.asarray(hops + self._mean[as_slice(block.targets)])

    def is_infinite(self, first: list[ConnectionBlock], since_due: bool) -> bool:
        """Whether tuples that begin there come to a thread that cannot serve all it gets."""
        late = self._lateness(since_due)
        if late is not None and any(
            np.isinf(late.mean[as_slice(block.sources)][self._leaving(block) > 0.0]).any()
            for block in first
        ):
            return True
        if any(self._overflows(block) for block in self._back_to(first)):
            return True
        for name in {block.stream.target for block in self._back_to(first)}:
            span = as_slice(self._flow.plan.logical.spans[name])
            used = self._rates.into(self._flow, name, system=False) > 0.0
            if np.any(np.isinf(self._mean[span]) & used):
                return True
        return False

    def _overflows(self, block: ConnectionBlock) -> bool:
        """Whether a transfer queue that tuples of a block go through is overloaded."""
        full = np.isinf(self._delays.transfer.mean[self._worker[as_slice(block.sources)]])
        sent = full & (self._rates.emitted[block.stream.key] > 0.0)
        return bool(np.any((block.types > 0)[sent] & (block.shares > 0.0)[sent]))

    def _back_to(self, first: list[ConnectionBlock]) -> list[ConnectionBlock]:
        """Blocks that tuples take which begin there, those nearest to sinks first."""
        begun = {block.stream.subscription for block in first}
        reached: set[str] = set()
        found = []
        for block in reversed(self._backwards):
            if block.stream.subscription in begun or block.stream.source in reached:
                reached.add(block.stream.target)
                found.append(block)
        return found[::-1]

    def _onward(self, block: ConnectionBlock) -> list[tuple[ConnectionBlock, Vector]]:
        key = block.stream.subscription
        if key not in self._onward_of:
            self._onward_of[key] = list_onward(self._traffic, block)
        return self._onward_of[key]

    def _reaching(self) -> dict[Subscription, Vector]:
        """Tuples that come to a sink for each that comes to an executor."""
        found: dict[Subscription, Vector] = {}
        for block in self._backwards:
            onward = self._onward(block)
            total = np.zeros(len(block.targets))
            for other, factor in onward:
                total = total + factor * (other.shares @ found[other.stream.subscription])
            found[block.stream.subscription] = total if onward else np.ones(len(block.targets))
        return found

    def _leaving(self, block: ConnectionBlock) -> Vector:
        """Tuples that come to a sink for what each sending executor emits in a second."""
        weights = self._weights[block.stream.subscription]
        return np.asarray(self._rates.emitted[block.stream.key] * (block.shares @ weights))

    def _waited(self, first: list[ConnectionBlock], late: Lateness) -> float:
        """Σ over tuples at sinks of how late they left their source."""
        return float(
            sum(
                _times(self._leaving(block), late.mean[as_slice(block.sources)]).sum()
                for block in first
            )
        )

    def _lateness(self, since_due: bool) -> Lateness | None:
        return self._delays.lateness if since_due else None

    def weight(self, first: list[ConnectionBlock]) -> float:
        """Tuples that come to sinks in a second, of those that begin there."""
        return float(sum(self._leaving(block).sum() for block in first))

    def _hops(self, block: ConnectionBlock) -> Mapping[Part, Matrix]:
        """Mean delays between two executors' logic, without the receiving executor's."""
        rows = as_slice(block.sources)
        transfer = self._delays.transfer.mean[self._worker[rows], np.newaxis]
        return {
            Part.BATCHING: self._delays.send.mean[rows, np.newaxis],
            Part.TRANSFER: np.where(block.types > 0, transfer, 0.0),
            Part.NETWORK: self._between(block, self._network.seconds),
        }

    def _hop_variance(self, block: ConnectionBlock) -> Matrix:
        rows = as_slice(block.sources)
        transfer = self._delays.transfer.variance[self._worker[rows], np.newaxis]
        return np.asarray(
            self._delays.send.variance[rows, np.newaxis]
            + np.where(block.types > 0, transfer, 0.0)
            + self._between(block, self._network.variance)
        )

    def _between(self, block: ConnectionBlock, matrix: Matrix) -> Matrix:
        senders, receivers = (
            self._node[as_slice(block.sources)],
            self._node[as_slice(block.targets)],
        )
        return np.asarray(matrix[np.ix_(senders, receivers)])

    def parts(self, first: list[ConnectionBlock], since_due: bool) -> Vector:
        """Σ over tuples at sinks of the time that they spent on each part."""
        nothing = np.zeros_like(self._mean)
        own = np.asarray([self._delays.executors.get(part, nothing) for part in Part])
        found: dict[Subscription, Matrix] = {}
        for block in self._back_to(first):
            weight = self._weights[block.stream.subscription]
            total = _times(
                np.broadcast_to(weight, (len(Part), len(weight))), own[:, as_slice(block.targets)]
            )
            for other, factor in self._onward(block):
                total = total + factor * self._step(other, found)
            found[block.stream.subscription] = total
        seconds = sum(
            (self._step(block, found) @ self._rates.emitted[block.stream.key] for block in first),
            start=np.zeros(len(Part)),
        )
        late = self._lateness(since_due)
        if late is not None:
            seconds[list(Part).index(Part.SOURCE)] = self._waited(first, late)
        return seconds

    def _step(self, block: ConnectionBlock, found: Mapping[Subscription, Matrix]) -> Matrix:
        """Times on each part, parts × sending executors, from those of receiving ones."""
        weight = self._weights[block.stream.subscription]
        total = found[block.stream.subscription] @ block.shares.T
        hops = self._hops(block)
        for place, part in enumerate(Part):
            if part in hops:
                total[place] += (block.shares * hops[part]) @ weight
        return total

    def squares(self, first: list[ConnectionBlock], since_due: bool) -> float:
        """Σ over tuples at sinks of the square of their latency, elements being independent."""
        late = self._lateness(since_due)
        means: dict[Subscription, Vector] = {}
        squares: dict[Subscription, Vector] = {}
        mean, spread = self._mean, self._delays.spread

        def step(block: ConnectionBlock) -> tuple[Vector, Vector]:
            key = block.stream.subscription
            weight, one, two = self._weights[key], means[key], squares[key]
            hop = sum(self._hops(block).values(), start=np.zeros((1, 1)))
            share = block.shares
            first_moment = (share * hop) @ weight + share @ one
            second = (share * (self._hop_variance(block) + hop**2)) @ weight
            return first_moment, second + 2.0 * (share * hop) @ one + share @ two

        for block in self._back_to(first):
            span = as_slice(block.targets)
            onward = self._onward(block)
            weight = self._weights[block.stream.subscription]
            one, two = np.zeros(len(block.targets)), np.zeros(len(block.targets))
            for other, factor in onward:
                a, b = step(other)
                one, two = one + factor * a, two + factor * b
            own, varied = mean[span], spread[span]
            means[block.stream.subscription] = one + _times(weight, own)
            squares[block.stream.subscription] = (
                two + 2.0 * _times(one, own) + _times(weight, varied + own**2)
            )
        total = 0.0
        for block in first:
            one, two = step(block)
            total += float(self._rates.emitted[block.stream.key] @ two)
            if late is not None:
                span = as_slice(block.sources)
                own, varied = late.mean[span], late.variance[span]
                total += float(self._rates.emitted[block.stream.key] @ (2.0 * own * one))
                total += float(self._leaving(block) @ (varied + own**2))
        return total

    def transform(self, first: list[ConnectionBlock], s: Complex, since_due: bool) -> Complex:
        """Σ over tuples at sinks of e^(−sT)."""
        late = self._lateness(since_due)
        points = s.reshape(-1, 1)
        hops = HopTransforms(self._flow, self._delays, self._network, points, self._distances)
        found: dict[Subscription, Complex] = {}

        def step(block: ConnectionBlock) -> Complex:
            return hops.carried(block, found[block.stream.subscription])

        for block in self._back_to(first):
            onward = self._onward(block)
            value = np.ones((len(points), len(block.targets)), dtype=np.complex128)
            if onward:
                value = np.zeros_like(value)
                for other, factor in onward:
                    value = value + factor * step(other)
            found[block.stream.subscription] = value * hops.executors[:, as_slice(block.targets)]
        total = np.zeros(len(points), dtype=np.complex128)
        before = None if late is None else late.transform(points)
        for block in first:
            value = step(block)
            if before is not None:
                value = value * before[:, as_slice(block.sources)]
            total = total + value @ self._rates.emitted[block.stream.key]
        return total.reshape(s.shape)


def _times(weight: Vector, time: Vector) -> Vector:
    """The product, nothing where there is no weight: who gets nothing may be overloaded."""
    return np.multiply(weight, time, out=np.zeros_like(weight), where=weight > 0.0)
