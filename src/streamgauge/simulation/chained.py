"""Chained operators in a simulation: behaviours become those of chains, results are split again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import Behaviour, InputBehaviour, Service
from streamgauge.profile.counts import CountDistribution, Fixed
from streamgauge.profile.distribution import Constant, Distribution, Gamma, squared_variation
from streamgauge.simulation.latencies import Latencies
from streamgauge.simulation.results import (
    ExecutorFigures,
    OperatorFigures,
    QueueFigures,
    SimulationResult,
    WayFigures,
)
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.chaining import Chaining, Member, work_shares

ONE = Fixed(mean=1.0)
# What varies less than this is constant: the rest is rounding.
SMALLEST_SCV = 1e-9
NO_QUEUE = QueueFigures(
    arrived_per_second=0.0,
    length=0.0,
    peak=0,
    limit=None,
    wait_seconds=0.0,
    tuples_per_object=1.0,
    dropped_per_second=0.0,
    blocking=0.0,
)


def chain_behaviours(
    chaining: Chaining, behaviours: Mapping[str, Behaviour]
) -> dict[str, Behaviour]:
    """The behaviours of the chained topology.

    Raises:
        InvalidInput: An operator of a chain joins streams, so that its outputs have no one input.
    """
    chained = {
        name: one for name, one in behaviours.items() if chaining.name_of.get(name, name) == name
    }
    for chain, names in chaining.chains.items():
        known = [behaviours.get(name, Behaviour()) for name in names]
        for name, one in zip(names, known, strict=True):
            if one.join is not None:
                raise InvalidInput.single(
                    ("behaviours", name, "join"),
                    seen="a join in a chain",
                    expected="operators in chains that handle tuples one by one",
                )
        chained[chain] = _chain(known, [chaining.inner_stream(name) for name in names[:-1]])
    return chained


def _chain(behaviours: Sequence[Behaviour], inner: Sequence[StreamKey]) -> Behaviour:
    """The behaviour of a chain; `inner` are the streams from each operator to the next."""
    *others, last = behaviours
    if not others:
        return last
    head, key, rest = behaviours[0], inner[0], _chain(behaviours[1:], inner[1:])

    def outputs_behind(count: CountDistribution) -> dict[str, CountDistribution]:
        return {name: _compound(count, one) for name, one in rest.outputs_of(key).items()}

    def count_in(outputs: Mapping[str, CountDistribution]) -> CountDistribution:
        return outputs.get(key.name, Fixed(mean=0.0))

    count = count_in(head.outputs)
    return replace(
        last,
        service=_add_services(head.service, count, rest.service_of(key)),
        outputs=outputs_behind(count),
        exclusive=rest.exclusive and count == ONE,
        inputs={
            special: InputBehaviour(
                service=_add_services(
                    head.service_of(special),
                    count_in(head.outputs_of(special)),
                    rest.service_of(key),
                ),
                outputs=outputs_behind(count_in(head.outputs_of(special))),
            )
            for special in head.inputs
        },
        relative_service=head.relative_service,
        fails=1.0 - (1.0 - head.fails) * (1.0 - rest.fails),
        costs=replace(
            rest.costs,
            deserialise_ms=head.costs.deserialise_ms,
            deserialise_ms_per_byte=head.costs.deserialise_ms_per_byte,
        ),
    )


def _add_services(first: Service, count: CountDistribution, second: Service) -> Service:
    return Service(
        cpu_ms=_add_times(first.cpu_ms, count, second.cpu_ms),
        wait_ms=_add_times(first.wait_ms, count, second.wait_ms),
    )


def _add_times(first: Distribution, count: CountDistribution, each: Distribution) -> Distribution:
    """A time and so many others: exact in mean and variance, with the shape of a gamma."""
    mean = first.mean + count.mean * each.mean
    if mean == first.mean:
        return first
    if first.mean == 0.0 and count == ONE:
        return each
    variance = first.variance + count.mean * each.variance + count.variance * each.mean**2
    scv = squared_variation(mean, variance)
    return Gamma(mean=mean, scv=scv) if scv > SMALLEST_SCV else Constant(value=mean)


def _compound(first: CountDistribution, each: CountDistribution) -> CountDistribution:
    """Outputs of an operator behind another; of two that are not one, the mean alone is kept."""
    if first == ONE:
        return each
    return first if each == ONE else Fixed(mean=first.mean * each.mean)


def chain_members(
    chaining: Chaining, behaviours: Mapping[str, Behaviour]
) -> dict[str, tuple[Member, ...]]:
    """By chain: what its operators do for each tuple that comes to it."""
    return {
        chain: tuple(_members(chaining, behaviours, names))
        for chain, names in chaining.chains.items()
    }


def _members(
    chaining: Chaining, behaviours: Mapping[str, Behaviour], names: Sequence[str]
) -> Iterator[Member]:
    calls = 1.0
    for name in names:
        behaviour = behaviours.get(name, Behaviour())
        keys = [one.key for one in chaining.topology.streams_into(name)]
        services = [behaviour.service_of(key) for key in keys]
        yield Member(
            name=name,
            calls=calls,
            cpu_ms=fmean(one.cpu_ms.mean for one in services),
            wait_ms=fmean(one.wait_ms.mean for one in services),
        )
        if name != names[-1]:
            stream = chaining.inner_stream(name).name
            counts = [behaviour.outputs_of(key).get(stream) for key in keys]
            calls *= fmean(0.0 if one is None else one.mean for one in counts)


def split_result(
    result: SimulationResult,
    chaining: Chaining,
    logical: LogicalPlan,
    members: Mapping[str, tuple[Member, ...]],
) -> SimulationResult:
    """What a simulation of chains found, by the job's own operators.

    Args:
        result: By chains.
        chaining: Of the job.
        logical: The executors of the job's own operators.
        members: Of the chains.
    """
    operators: dict[str, OperatorFigures] = {}
    executors: dict[str, list[ExecutorFigures]] = {}
    for name, figures in result.operators.items():
        threads = [one for one in result.executors if one.operator == name]
        if name not in members:
            operators[name], executors[name] = figures, threads
            continue
        for part in _parts(members[name]):
            operators[part.name] = part.of_operator(figures)
            executors[part.name] = [part.of_executor(one) for one in threads]
    queued = {
        name: waiting if name == names[0] else np.zeros_like(waiting)
        for chain, waiting in result.timeline.queued.items()
        for names in [chaining.members_of(chain)]
        for name in names
    }
    return replace(
        result,
        operators={name: operators[name] for name in logical.topology.operator_names},
        executors=tuple(
            replace(figures, name=logical.executors[index].label, operator=name)
            for name, span in logical.spans.items()
            for index, figures in zip(span, executors[name], strict=True)
        ),
        ways=tuple(
            WayFigures(
                operators=tuple(one for name in way.operators for one in chaining.members_of(name)),
                latency=way.latency,
            )
            for way in result.ways
        ),
        timeline=replace(result.timeline, queued=queued),
    )


def _parts(members: Sequence[Member]) -> Iterator[_Part]:
    cpu_ms = sum(one.calls * one.cpu_ms for one in members)
    following = [*(one.calls for one in members[1:]), None]
    for member, share, calls in zip(members, work_shares(members), following, strict=True):
        yield _Part(
            name=member.name,
            calls=member.calls,
            next_calls=calls,
            share=share,
            cpu_share=member.calls * member.cpu_ms / cpu_ms if cpu_ms > 0.0 else share,
            is_first=member is members[0],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One operator's part of what a chain did.

    Attributes:
        name: Of the operator.
        calls: Tuples that come to it for each that comes to the chain.
        next_calls: The same of the next operator; None for the last.
        share: Its part of the chain's work.
        cpu_share: Its part of the chain's CPU time.
        is_first: Whether the chain's queue is in front of it.
    """

    name: str
    calls: float
    next_calls: float | None
    share: float
    cpu_share: float
    is_first: bool

    def of_operator(self, chain: OperatorFigures) -> OperatorFigures:
        """Its figures: tuples wait before the first operator, and are held back after the last."""
        first, last = float(self.is_first), float(self.next_calls is None)
        return replace(
            chain,
            arrived_per_second=self.calls * chain.arrived_per_second,
            executed_per_second=self.calls * chain.executed_per_second,
            emitted_per_second=self._emitted(chain),
            utilisation=self.share * chain.utilisation,
            busiest=self.share * chain.busiest,
            cores=self.cpu_share * chain.cores,
            queue_length=first * chain.queue_length,
            wait_seconds=chain.wait_seconds if self.is_first else 0.0,
            blocked=last * chain.blocked,
            blocking=first * chain.blocking,
            dropped_per_second=first * chain.dropped_per_second,
            latency=chain.latency if self.next_calls is None else Latencies.none(),
        )

    def of_executor(self, chain: ExecutorFigures) -> ExecutorFigures:
        """The figures of its part of one thread."""
        return replace(
            chain,
            executed_per_second=self.calls * chain.executed_per_second,
            emitted_per_second=self._emitted(chain),
            utilisation=self.share * chain.utilisation,
            cores=self.cpu_share * chain.cores,
            blocked=chain.blocked if self.next_calls is None else 0.0,
            receive=chain.receive if self.is_first else NO_QUEUE,
            send=chain.send if self.next_calls is None else None,
        )

    def _emitted(self, chain: OperatorFigures | ExecutorFigures) -> float:
        if self.next_calls is None:
            return chain.emitted_per_second
        return self.next_calls * chain.executed_per_second
