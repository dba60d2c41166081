"""Chained operators in a simulation: behaviours become those of chains, results are split again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import Behaviour, InputBehaviour, Service
from streamgauge.profile.distribution import (
    Constant,
    CountDistribution,
    Distribution,
    Fixed,
    Gamma,
    compute_scv,
)
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
from streamgauge.transport.chaining import Chaining, Member, chain_members

ONE, NO_OUTPUT = Fixed(mean=1.0), Fixed(mean=0.0)
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
        name: replace(
            one,
            inputs={chaining.rename_stream(key): special for key, special in one.inputs.items()},
        )
        for name, one in behaviours.items()
        if chaining.name_of.get(name, name) == name
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
        return outputs.get(key.name, NO_OUTPUT)

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
    scv = compute_scv(mean, variance)
    return Gamma(mean=mean, scv=scv) if scv > SMALLEST_SCV else Constant(value=mean)


def _compound(first: CountDistribution, each: CountDistribution) -> CountDistribution:
    """Outputs of an operator behind another; of two that are not one, the mean alone is kept."""
    if first == ONE:
        return each
    return first if each == ONE else Fixed(mean=first.mean * each.mean)


def find_members(
    chaining: Chaining, behaviours: Mapping[str, Behaviour]
) -> dict[str, tuple[Member, ...]]:
    """By chain: what its operators do for each tuple that comes to it."""
    found = {}
    for chain, names in chaining.chains.items():
        calls, services = [1.0], []
        for name in names:
            behaviour = behaviours.get(name, Behaviour())
            keys = [one.key for one in chaining.topology.streams_into(name)]
            services.append([behaviour.service_of(key) for key in keys])
            if name != names[-1]:
                stream = chaining.inner_stream(name).name
                counts = [behaviour.outputs_of(key).get(stream, NO_OUTPUT).mean for key in keys]
                calls.append(calls[-1] * fmean(counts))
        found[chain] = chain_members(
            names,
            calls,
            cpu=[fmean(one.cpu_ms.mean for one in each) for each in services],
            wait=[fmean(one.wait_ms.mean for one in each) for each in services],
        )
    return found


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
        for member in members[name]:
            operators[member.name] = _operator_part(figures, member)
            executors[member.name] = [_executor_part(one, member) for one in threads]
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
                since_due=way.since_due,
            )
            for way in result.ways
        ),
        timeline=replace(result.timeline, queued=queued),
    )


def _operator_part(chain: OperatorFigures, member: Member) -> OperatorFigures:
    """What an operator did: tuples wait before the first one, and are held back after the last.

    Its utilisation is its part of the threads' time; `busiest` stays that of a whole thread.
    """
    first, last = float(member.is_first), float(member.next_calls is None)
    return replace(
        chain,
        arrived_per_second=member.calls * chain.arrived_per_second,
        executed_per_second=member.calls * chain.executed_per_second,
        emitted_per_second=_emitted(chain, member),
        utilisation=member.share * chain.utilisation,
        cores=member.cpu_share * chain.cores,
        queue_length=first * chain.queue_length,
        wait_seconds=chain.wait_seconds if member.is_first else 0.0,
        blocked=last * chain.blocked,
        blocking=first * chain.blocking,
        dropped_per_second=first * chain.dropped_per_second,
        latency=chain.latency if member.next_calls is None else Latencies.none(),
    )


def _executor_part(chain: ExecutorFigures, member: Member) -> ExecutorFigures:
    """What an operator did in one thread, whose utilisation is that of the thread."""
    return replace(
        chain,
        executed_per_second=member.calls * chain.executed_per_second,
        emitted_per_second=_emitted(chain, member),
        cores=member.cpu_share * chain.cores,
        blocked=chain.blocked if member.next_calls is None else 0.0,
        receive=chain.receive if member.is_first else NO_QUEUE,
        send=chain.send if member.next_calls is None else None,
    )


def _emitted(chain: OperatorFigures | ExecutorFigures, member: Member) -> float:
    if member.next_calls is None:
        return chain.emitted_per_second
    return member.next_calls * chain.executed_per_second
