"""Complete latency: how long it takes until the last tuple of a root's tree is acknowledged.

Cooper 2020, section 4.13.5, has the longest path; but a tree is complete when the slowest of its
tuples is, and the mean of a maximum is not the maximum of means. Backwards over the topology, with
distributions on a grid of times: what follows an execution is complete when its own acknowledgement
and everything that follows its outputs are; the distribution of the later of two is the product of
theirs, that of a sum the product of their Fourier transforms. Siblings that come to one executor
are done one after the other, those that come to different ones independently, as far as they do not
meet again: what they then wait for together makes neither of them later than the other.

A window's tuples are acknowledged when they leave it: those of a tumbling window one window after
the one they are in has fired.

By the clock of Storm's ackers (since 1.0.3, docs/storm-rules.md) a root is born when the acker
hears of it; the source sees the whole way, and the answer's way back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models import transforms
from streamgauge.models.arrival_variability import bursts_into
from streamgauge.models.delays import DelayLevels, Delays, Part
from streamgauge.models.end_to_end_latency import (
    ENDLESS,
    PROBABILITIES,
    Latency,
    list_onward,
    windows_per_tuple,
)
from streamgauge.models.machine_threads import multiply
from streamgauge.models.network import HopTransforms, Network
from streamgauge.models.queueing import Moments, asleep_probability, divide_or
from streamgauge.models.routing import deals_evenly, deals_in_turn
from streamgauge.models.service import ServiceTimes
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Complex, Vector
from streamgauge.models.windows import find_kept, turns
from streamgauge.topology.topology import (
    ACK_INIT,
    ACKER,
    Operator,
    OperatorKind,
    StreamKey,
    Subscription,
)
from streamgauge.topology.tuple_flow import ConnectionBlock, as_slice

Matrix = NDArray[np.float64]

TIMES = 512
# Atoms become normal distributions of so many steps of the grid, so that nothing rings,
WIDTH = 0.8
# which are moved by so many steps to lie on the grid whole.
SHIFT = 4
# Every element of a way may take its mean and so many standard deviations.
FAR = 5.0


class TimeGrid:
    """Distributions of times on an even grid, and their transforms.

    Args:
        span: The grid's length; what takes longer than that comes back at its beginning.

    Attributes:
        points: On the imaginary axis, where transforms are taken; a column.
    """

    def __init__(self, span: float) -> None:
        self.step = span / TIMES
        omega = 2.0 * math.pi / span * np.arange(TIMES // 2 + 1)
        # At nought every transform is one, but most formulas divide nought by nought there.
        omega[0] = 1e-9 * omega[1]
        self.points = np.asarray(1j * omega, dtype=np.complex128).reshape(-1, 1)
        self._smooth = np.exp(-0.5 * (WIDTH * self.step * omega) ** 2)
        self._there = (self._smooth * np.exp(-1j * omega * SHIFT * self.step)).reshape(-1, 1)
        self._back = np.exp(1j * omega * SHIFT * self.step).reshape(-1, 1)

    def distribution(self, transform: Complex) -> Matrix:
        """P(T ≤ t), times × cases."""
        density = np.fft.irfft(transform * self._there, TIMES, axis=0)
        rising = np.maximum.accumulate(np.cumsum(density, axis=0), axis=0)
        return np.clip(rising, 0.0, 1.0)

    def transform(self, distribution: Matrix) -> Complex:
        """The way back."""
        density = np.diff(distribution, axis=0, prepend=0.0)
        # What the grid does not hold is counted at its end.
        density[-1] += 1.0 - distribution[-1]
        return np.asarray(np.fft.rfft(density, axis=0) * self._back)

    @property
    def _times(self) -> Vector:
        return np.asarray(np.maximum(self.step * (np.arange(TIMES) - SHIFT), 0.0))

    def moments(self, distribution: Matrix) -> tuple[Vector, Vector]:
        """E[T] and E[T²] of each case; what the grid does not hold is counted at its end."""
        return _moments(distribution, self._times)

    def latency(self, transform: Complex, probabilities: Sequence[float]) -> Latency:
        """Moments and quantiles of one time."""
        rising = self.distribution(transform.reshape(-1, 1))
        return self._summarise(rising, self._times, probabilities)

    def distance(
        self, transform: Complex, earlier: float, probabilities: Sequence[float]
    ) -> Latency:
        """The same of how far apart two times are, whichever is later.

        `transform` is that of their difference: one's, times the conjugate of the other's; the one
        may be earlier than the other by up to `earlier`.
        """
        difference = np.fft.irfft(transform * self._smooth, TIMES)
        # Negative differences stand at the end of the grid, the smallest last.
        negative = min(math.ceil(earlier / self.step) + SHIFT, TIMES // 2 - 1)
        either = difference[: TIMES - negative]
        either[1 : negative + 1] += difference[: TIMES - negative - 1 : -1]
        rising = np.clip(np.maximum.accumulate(np.cumsum(either)), 0.0, 1.0)
        times = self.step * np.arange(float(len(either)))
        return self._summarise(rising[:, np.newaxis], times, probabilities)

    def _summarise(self, rising: Matrix, times: Vector, probabilities: Sequence[float]) -> Latency:
        mean, square = (float(one[0]) for one in _moments(rising, times))
        ends, rising = times + self.step / 2.0, rising[:, 0]
        return Latency(
            mean=mean,
            variance=max(square - mean**2, 0.0),
            quantiles={p: float(np.interp(p, rising, ends)) for p in probabilities},
            parts={},
        )


def _moments(distribution: Matrix, times: Vector) -> tuple[Vector, Vector]:
    """E[T] and E[T²] of each case; what the grid does not hold is counted at its end."""
    density = np.diff(distribution, axis=0, prepend=0.0)
    density[-1] += 1.0 - distribution[-1]
    return times @ density, times**2 @ density


class TupleTrees:
    """The trees of a plan's tuples; the plan has ackers."""

    def __init__(
        self,
        traffic: Traffic,
        delays: Delays | DelayLevels,
        network: Network,
        service: ServiceTimes,
    ) -> None:
        levels = delays if isinstance(delays, DelayLevels) else DelayLevels.single(delays)
        self._levels = [
            (probability, _TreesAtLevel(traffic, at_level, network, service))
            for probability, at_level in levels
        ]

    def latencies(self, probabilities: Sequence[float] = PROBABILITIES) -> tuple[Latency, Latency]:
        """By the ackers' clock, and as the sources see it."""
        announced = max(level.announced() for _, level in self._levels)
        span = max(level.span() for _, level in self._levels)
        if not math.isfinite(span):
            return ENDLESS, ENDLESS
        grid = TimeGrid(span)
        apart, answered = np.sum([p * level.transforms(grid) for p, level in self._levels], axis=0)
        return grid.distance(apart, announced, probabilities), grid.latency(answered, probabilities)

    def open_times(self) -> Moments:
        """From emission until the source knows of the end, by executor; nought for all but sources.

        At the likeliest level.
        """
        _, likeliest = max(self._levels, key=lambda level: level[0])
        return likeliest.open_times()


class Spread(NamedTuple):
    """How much the time varies that a tuple takes to the end of its way, by executor.

    Attributes:
        variance: Of all of it.
        shared: Of that, what siblings have in common, by the operator where they meet again.
    """

    variance: Vector
    shared: Mapping[str, Vector]

    def alike(self, other: Spread) -> Vector:
        """Part of the times of two tuples that is common to them."""
        both = np.zeros_like(self.variance)
        for name in self.shared.keys() & other.shared.keys():
            both += np.sqrt(self.shared[name] * other.shared[name])
        whole = np.sqrt(self.variance * other.variance)
        return np.minimum(divide_or(both, whole, otherwise=0.0), 1.0)

    def join(self, other: Spread) -> Spread:
        """Of the later of two."""
        names = self.shared.keys() | other.shared.keys()
        none = np.zeros_like(self.variance)
        shared = {
            name: np.maximum(self.shared.get(name, none), other.shared.get(name, none))
            for name in names
        }
        return Spread(np.maximum(self.variance, other.variance), shared)


class _TreesAtLevel:
    """The trees of a plan whose elements have these delays."""

    def __init__(
        self, traffic: Traffic, delays: Delays, network: Network, service: ServiceTimes
    ) -> None:
        self._traffic, self._service = traffic, service
        self._delays, self._network = delays, network
        flow = traffic.flow
        self._flow, self._rates = flow, traffic.rates
        self._conversions, self._mechanics = traffic.conversions, traffic.mechanics
        self._topology = flow.plan.logical.topology
        order = {one.name: rank for rank, one in enumerate(self._topology.topological_order())}
        self._backwards = sorted(
            flow.data_blocks, key=lambda block: order[block.stream.target], reverse=True
        )
        self._kept = find_kept(self._topology)
        self._to_acker = {
            (block.stream.source, block.stream.name): block
            for block in flow.blocks
            if block.stream.target == ACKER
        }

    def transforms(self, grid: TimeGrid) -> Complex:
        """Of the time between two acknowledgements by the ackers' clock; of what sources see."""
        hops = HopTransforms(self._flow, self._delays, self._network, grid.points)
        last, apart = self._roots(grid, hops, self._completions(grid, hops))
        return np.asarray([apart, last * self._answers(grid, hops)])

    def open_times(self) -> Moments:
        """From emission until the source knows of the end, by executor; nought for all but sources.

        The answers' way is as long as on the mean over all of them.
        """
        mean, square = (np.zeros(len(self._flow.plan.logical.executors)) for _ in range(2))
        span = self.span()
        if not math.isfinite(span):
            mean[self._of_sources()] = math.inf
            return Moments(mean=mean, variance=mean)
        grid = TimeGrid(span)
        hops = HopTransforms(self._flow, self._delays, self._network, grid.points)
        found = self._completions(grid, hops)
        answer = grid.latency(self._answers(grid, hops), ())
        for source in self._topology.sources:
            here = as_slice(self._flow.plan.logical.spans[source.name])
            begun = grid.distribution(self._begun(hops, source.name))
            acked = self._acked(grid, hops, found, source.name)
            ended = {key: begun * distribution for key, distribution in acked.items()}
            emitted = self._rates.out_of(self._flow, source.name, system=False)
            for key, distribution in ended.items():
                times, squares = grid.moments(distribution)
                part = divide_or(self._rates.emitted[key], emitted, 1.0 / len(ended))
                mean[here] += part * times
                square[here] += part * squares
        variance = np.maximum(square - mean**2, 0.0)
        mean[self._of_sources()] += answer.mean
        variance[self._of_sources()] += answer.variance
        return Moments(mean=mean, variance=variance)

    def _of_sources(self) -> list[int]:
        """Executors of sources, as places in the plan."""
        spans = self._flow.plan.logical.spans
        return [place for source in self._topology.sources for place in spans[source.name]]

    def _completions(self, grid: TimeGrid, hops: HopTransforms) -> dict[Subscription, Complex]:
        """From a tuple's arrival until it and all that follows it are acknowledged."""
        found: dict[Subscription, Complex] = {}
        for block in self._backwards:
            operator = self._topology.operator(block.stream.target)
            leaving, firing = self._after_firing(operator, grid.points)
            rest = grid.distribution(leaving * self._heard(hops, operator))
            last = Spread(np.zeros(len(block.targets)), {})
            for other, copies in list_onward(self._traffic, block):
                follows = grid.distribution(
                    firing * hops.carried(other, found[other.stream.subscription])
                )
                spread = self._spread_behind(other)
                dealt = self._dealt_behind(other, spread)
                all_done = all_of(follows, copies, self._apart(other), dealt.alike(dealt))
                rest = later_of(rest, all_done, last.alike(spread))
                last = last.join(spread)
            span = as_slice(block.targets)
            crowd = transforms.constant(grid.points, self._behind(block))
            found[block.stream.subscription] = (
                hops.executors[:, span] * crowd * grid.transform(rest)
            )
        return found

    @cached_property
    def _spreads(self) -> dict[Subscription, Spread]:
        """Of a tuple that comes to an executor, by subscription."""
        found: dict[Subscription, Spread] = {}
        if not (np.any(self._delays.shared) or np.any(self._delays.dealt)):
            return found
        shared = np.broadcast_to(self._delays.shared, self._delays.spread.shape)
        for block in self._backwards:
            span, name = as_slice(block.targets), block.stream.target
            variance, common = self._delays.spread[span].copy(), {name: shared[span].copy()}
            onward = list_onward(self._traffic, block)
            total = sum((copies for _, copies in onward), start=np.zeros(len(block.targets)))
            for other, copies in onward:
                weight = divide_or(copies, total, otherwise=0.0)
                behind = _spread_of(other, found)
                variance += weight * behind.variance
                for place, value in behind.shared.items():
                    common[place] = common.get(place, 0.0) + weight * value
            found[block.stream.subscription] = Spread(variance, common)
        return found

    def _spread_behind(self, block: ConnectionBlock) -> Spread:
        """Of what each sending executor of a block emits."""
        if not self._spreads:
            return Spread(np.zeros(len(block.sources)), {})
        return _spread_of(block, self._spreads)

    def _dealt_behind(self, block: ConnectionBlock, spread: Spread) -> Spread:
        """The same for siblings that come to different executors there first."""
        if not self._spreads:
            return spread
        dealt = np.broadcast_to(self._delays.dealt, self._delays.spread.shape)
        first = _parts_of(block) @ dealt[as_slice(block.targets)]
        return spread._replace(shared={**spread.shared, block.stream.target: first})

    def _heard(self, hops: HopTransforms, operator: Operator) -> Complex:
        """Way of an acknowledgement from an executor to its acker, and its turn there.

        An acker that polls has just heard of the root, and is awake, unless a window kept the tuple
        long; one that does not poll sleeps again after every message.
        """
        (block,) = [
            one
            for (source, name), one in self._to_acker.items()
            if source == operator.name and name != ACK_INIT
        ]
        dozes = self._mechanics.bolt_sleep > 0.0 and self._mechanics.bolt_spin <= 0.0
        sleeps = dozes or operator.name in self._kept
        acker = as_slice(block.targets)
        return hops.carried(block, hops.executors[:, acker] if sleeps else self._awake(hops.points))

    def _awake(self, points: Complex) -> Complex:
        """An acker's delay if it need not wake up, points × ackers."""
        span = as_slice(self._flow.plan.logical.spans[ACKER])
        parts = self._delays.executors
        mean = sum(
            (values[span] for part, values in parts.items() if part is not Part.WAKE_UP),
            start=np.zeros(span.stop - span.start),
        )
        return transforms.exponential(points, mean)

    def _woken(self, points: Complex) -> Complex:
        """An acker's delay for the first message of a root, points × ackers."""
        if self._mechanics.bolt_sleep <= 0.0:
            return self._awake(points)
        begun = sum(
            self._rates.arrived[block.stream.subscription]
            for (_, name), block in self._to_acker.items()
            if name == ACK_INIT
        )
        asleep = asleep_probability(np.asarray(begun), self._mechanics.bolt_spin)
        sleep = transforms.uniform(points, self._mechanics.bolt_sleep)
        return self._awake(points) * transforms.with_atom(sleep, asleep)

    def _after_firing(self, operator: Operator, points: Complex) -> tuple[Complex, Complex]:
        """From a window with a tuple until the tuple leaves, and until the last with it fires.

        Of k windows that hold a tuple, the one in the middle fires (k − 1)/2 slides before the
        last; the tuple leaves with the one after that.
        """
        size = len(self._flow.plan.logical.spans[operator.name])
        if operator.window is None:
            nothing = np.ones((len(points), size), dtype=np.complex128)
            return nothing, nothing
        slide = self._slide(operator)
        held = np.maximum(windows_per_tuple(self._traffic, operator), 1.0)
        span = as_slice(self._flow.plan.logical.spans[operator.name])
        varied = np.zeros(size)
        count = operator.window.slide_tuples
        if count is not None:
            dispersion = bursts_into(self._traffic).dispersion[span]
            varied = dispersion / turns(self._traffic, operator) / count
        # Tuples leave as the trigger begins, whose own time an executor's delay has in it.
        trigger, spread = self._service.trigger_mean[span], self._service.trigger_variance[span]
        until = np.maximum(slide * (held + 1.0) / 2.0 - trigger, 0.0)
        variance = np.maximum(varied * slide**2 * (held + 1.0) / 2.0 - spread, 0.0)
        return (
            transforms.gamma(points, until, divide_or(variance, until**2, otherwise=0.0)),
            transforms.constant(points, slide * (held - 1.0) / 2.0),
        )

    def _slide(self, operator: Operator) -> Vector:
        """Mean time from one window of a task to the next, by executor; zero where none fires."""
        assert operator.window is not None
        size = len(self._flow.plan.logical.spans[operator.name])
        if operator.window.slide_seconds is not None:
            return np.full(size, operator.window.slide_seconds)
        fired = self._rates.triggers[operator.name]
        tasks = self._conversions[operator.name].busy_tasks
        return np.divide(tasks, fired, out=np.zeros(size), where=fired > 0.0)

    def _apart(self, block: ConnectionBlock) -> Matrix:
        """Part of the outputs that each sending executor gives to each place where they wait.

        That is an executor; or a task, if it has windows. But windows by count that everybody
        deals to evenly fill up, and fire, together: one place for all siblings.
        """
        target = self._topology.operator(block.stream.target)
        if target.window is not None and target.window.slide_tuples is not None:
            streams = [s for s in self._topology.streams_into(target.name) if not s.is_system]
            if all(deals_evenly(stream, self._mechanics) for stream in streams):
                return np.ones((len(block.sources), 1))
        total = block.shares.sum(axis=1, keepdims=True)
        parts = np.divide(block.shares, total, out=np.zeros(block.shares.shape), where=total > 0.0)
        if target.window is not None:
            of_tasks = self._conversions[target.name].task_parts
            tasks = [len(one) for one in of_tasks]
            parts = np.repeat(parts, tasks, axis=1) * np.concatenate(of_tasks)
        if deals_in_turn(block.stream, self._mechanics):
            # Nobody gets a second one before everybody has one.
            return np.full((len(block.sources), 1), float(np.count_nonzero(parts.any(axis=0))))
        return np.asarray(parts)

    def _behind(self, block: ConnectionBlock) -> Vector:
        """How much longer than a random one the last of some siblings takes at an executor."""
        source = self._topology.operator(block.stream.source)
        if source.kind is OperatorKind.SOURCE:
            return np.zeros(len(block.targets))
        together = self._together(source, block)
        groups = distinct(np.full(len(block.sources), together), self._apart(block))
        weights = self._rates.emitted[block.stream.key]
        if not weights.any():
            return np.zeros(len(block.targets))
        group = together / max(float(weights @ groups / weights.sum()), 1e-9)
        span = as_slice(block.targets)
        behind = np.broadcast_to(self._delays.behind, self._delays.spread.shape)[span]
        behind = behind + max(group - 1.0, 0.0) / 2.0
        # Who comes alone waits for no sibling, also where a full machine never ends.
        return multiply(behind, self._service.mean[span])

    def _together(self, source: Operator, block: ConnectionBlock) -> float:
        """Tuples that an operator emits on a stream at once."""
        if source.window is not None:
            return self._conversions[source.name].per_trigger.get(block.stream.name, 0.0)
        came = float(self._rates.into(self._flow, source.name, system=False).sum())
        out = float(self._rates.emitted[block.stream.key].sum())
        return out / came if came > 0.0 else 0.0

    def _roots(
        self, grid: TimeGrid, hops: HopTransforms, found: Mapping[Subscription, Complex]
    ) -> tuple[Complex, Complex]:
        """From emission until the last message about a root is handled.

        And how much later the last acknowledgement is than the source's own message, which an
        acker may hear of after it.
        """
        last = np.zeros(len(grid.points), dtype=np.complex128)
        apart = np.zeros_like(last)
        total = 0.0
        for source in self._topology.sources:
            begun = self._begun(hops, source.name)
            announced = grid.distribution(begun)
            for key, acked in self._acked(grid, hops, found, source.name).items():
                weights = self._rates.emitted[key]
                last += grid.transform(announced * acked) @ weights
                apart += (grid.transform(acked) * np.conj(begun)) @ weights
                total += float(weights.sum())
        return last / total, apart / total

    def _begun(self, hops: HopTransforms, source: str) -> Complex:
        """From emission until an acker has handled the source's message, points × executors."""
        return hops.carried(self._to_acker[source, ACK_INIT], self._woken(hops.points))

    def _acked(
        self,
        grid: TimeGrid,
        hops: HopTransforms,
        found: Mapping[Subscription, Complex],
        source: str,
    ) -> dict[StreamKey, Matrix]:
        """P(the last acknowledgement of a root is handled by then), times × its source's executors.

        A tuple and its copies for further subscribers are one root.
        """
        by_stream: dict[StreamKey, Matrix] = {}
        spreads: dict[StreamKey, Spread] = {}
        for one in self._flow.data_blocks:
            if one.stream.source != source:
                continue
            key, spread = one.stream.key, self._spread_behind(one)
            done = grid.distribution(hops.carried(one, found[one.stream.subscription]))
            if key in by_stream:
                done = later_of(by_stream[key], done, spreads[key].alike(spread))
                spread = spreads[key].join(spread)
            by_stream[key], spreads[key] = done, spread
        return by_stream

    def _answers(self, grid: TimeGrid, hops: HopTransforms) -> Complex:
        """From an acker to the source that waits for its answer."""
        answer = np.zeros(len(grid.points), dtype=np.complex128)
        total = 0.0
        for block in self._flow.blocks:
            if block.stream.source != ACKER:
                continue
            span = as_slice(block.targets)
            notices = transforms.uniform(grid.points, self._mechanics.source_sleep)
            if self._mechanics.send_threads:
                notices = notices * hops.executors[:, span]
            onward = np.broadcast_to(notices, (len(grid.points), len(block.targets)))
            weights = self._rates.emitted[block.stream.key]
            answer = answer + hops.carried(block, onward) @ weights
            total += float(weights @ block.shares.sum(axis=1))
        return answer / total

    def announced(self) -> float:
        """A time that hardly any message takes from its sender to an acker's answer."""
        return self._hop() + self._own(as_slice(self._flow.plan.logical.spans[ACKER]))

    def _hop(self) -> float:
        """The same between two executors."""
        send, transfer, network = self._delays.send, self._delays.transfer, self._network
        return float(
            send.mean.max()
            + FAR * send.variance.max() ** 0.5
            + transfer.mean.max()
            + FAR * transfer.variance.max() ** 0.5
            + network.seconds.max()
            + FAR * network.variance.max() ** 0.5
        )

    def _own(self, executors: slice | NDArray[np.int64]) -> float:
        """The same of the slowest of some executors."""
        own = self._delays.executor_mean + FAR * np.sqrt(self._delays.spread)
        return float(own[executors].max(initial=0.0))

    def span(self) -> float:
        """A time that hardly any tree takes."""
        hop, announced = self._hop(), self.announced()
        found: dict[Subscription, float] = {}
        for block in self._backwards:
            operator = self._topology.operator(block.stream.target)
            came = self._rates.into(self._flow, operator.name, system=False) > 0.0
            here = self._own(np.asarray(block.targets)[came])
            if operator.window is not None:
                held = windows_per_tuple(self._traffic, operator)
                here += float((self._slide(operator) * (held + 1.0) / 2.0).max()) * 1.5
            here += float(FAR * self._behind(block).max())
            follows = [found[other.stream.subscription] for other in self._onward(block)]
            found[block.stream.subscription] = here + hop + max(follows, default=announced)
        return max(found.values(), default=0.0) + 2.0 * announced

    def _onward(self, block: ConnectionBlock) -> list[ConnectionBlock]:
        name = block.stream.target
        return [other for other in self._flow.data_blocks if other.stream.source == name]


def _spread_of(block: ConnectionBlock, found: Mapping[Subscription, Spread]) -> Spread:
    """The mean over the executors that a block's tuples come to."""
    behind, parts = found[block.stream.subscription], _parts_of(block)
    return Spread(
        parts @ behind.variance, {name: parts @ value for name, value in behind.shared.items()}
    )


def _parts_of(block: ConnectionBlock) -> Matrix:
    """Of what each sending executor emits, the part that goes to each receiver."""
    total = block.shares.sum(axis=1, keepdims=True)
    parts = np.divide(block.shares, total, out=np.zeros(block.shares.shape), where=total > 0.0)
    return np.asarray(parts)


def later_of(one: Matrix, other: Matrix, alike: Vector) -> Matrix:
    """P(both ≤ t) for two times of which a part is common to them.

    The product where they are independent, the smaller where they are one and the same.
    """
    if not alike.any():
        return one * other
    return np.asarray((one * other) ** (1.0 - alike) * np.minimum(one, other) ** alike)


def all_of(
    distribution: Matrix, copies: Vector, parts: Matrix, alike: Vector | float = 0.0
) -> Matrix:
    """P(all of some siblings ≤ t), times × sending executors.

    `copies` is how many there are on the mean: whole, with a chance of one more. Of so many that
    are `alike` by a part, only the others differ.
    """
    whole = np.floor(copies)
    more = copies - whole
    few, many = (
        np.where(count > 1.0, count - alike * (count - 1.0), count)
        for count in (distinct(whole, parts), distinct(whole + 1.0, parts))
    )
    another = distribution ** (many - few)
    return np.asarray(distribution**few * (1.0 - more + more * another))


def distinct(copies: Vector, parts: Matrix) -> Vector:
    """How many different executors some siblings come to.

    Args:
        copies: How many siblings, by sending executor.
        parts: The chance of each receiving executor, for each sending one; or one column with the
            number of those that take turns.
    """
    if parts.shape[1] == 1 and np.any(parts > 1.0):
        return np.minimum(copies, parts[:, 0])
    return np.asarray((1.0 - (1.0 - parts) ** copies[:, np.newaxis]).sum(axis=1))
