"""Throughput of a plan with chains, told by the job's own operators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from streamgauge.topology.topology import StreamKey
from streamgauge.transport.chaining import Member

if TYPE_CHECKING:
    from streamgauge.models.chained import ChainedJob
    from streamgauge.models.throughput import ExecutorThroughput, OperatorThroughput, Throughput

    Figures = TypeVar("Figures", OperatorThroughput, ExecutorThroughput)


def split_throughput(found: Throughput, chained: ChainedJob) -> Throughput:
    """What a plan whose chains are single operators does, by the job's own operators.

    What fills is named after the operator of a chain that has most of its work.
    """
    own, members = chained.own_plan.logical, chained.members
    chain_of = {one.name: chain for chain, parts in members.items() for one in parts}
    labels, heaviest = chained.heaviest_labels, chained.heaviest_operators
    operators: dict[str, OperatorThroughput] = {}
    executors: dict[str, tuple[ExecutorThroughput, ...]] = {}
    for name in own.spans:
        chain = chain_of.get(name, name)
        member = next((one for one in members.get(chain, ()) if one.name == name), None)
        whole = found.operators[chain]
        wanted = whole.wanted_per_second * (1.0 if member is None else member.calls)
        operators[name] = replace(_of_member(whole, member), wanted_per_second=wanted)
        executors[name] = tuple(
            replace(_of_member(one, member), name=executor.label, operator=name)
            for one, executor in zip(
                (one for one in found.executors if one.operator == chain),
                own.executors_of(name),
                strict=True,
            )
        )
    keys = {stream.key for stream in own.topology.data_streams}
    by = found.saturation.by
    return replace(
        found,
        saturation=replace(found.saturation, by=labels.get(by, by)),
        bottlenecks=tuple(
            replace(
                one,
                name=labels.get(one.name, one.name),
                operator=one.operator and heaviest.get(one.operator, one.operator),
            )
            for one in found.bottlenecks
        ),
        paths=tuple(
            replace(
                one,
                operators=tuple(
                    name
                    for each in one.operators
                    for name in ([part.name for part in members.get(each, ())] or [each])
                ),
                by=labels.get(one.by, one.by),
            )
            for one in found.paths
        ),
        backlogs=tuple(
            replace(
                one,
                name=labels.get(one.name, heaviest.get(one.name, one.name)),
                operator=heaviest.get(one.operator, one.operator),
            )
            for one in found.backlogs
        ),
        operators=operators,
        executors=tuple(each for name in own.spans for each in executors[name]),
        streams={
            key: found.streams.get(
                StreamKey(chain_of.get(key.source, key.source), key.name),
                operators[key.source].emitted_per_second,
            )
            for key in keys
        },
        sinks={one.name: operators[one.name].processed_per_second for one in own.topology.sinks},
    )


def _of_member(one: Figures, member: Member | None) -> Figures:
    """The figures of one operator of a chain, which hands on what the next one is called with."""
    if member is None:
        return one
    handed_on = member.next_calls
    return replace(
        one,
        arrived_per_second=member.calls * one.arrived_per_second,
        processed_per_second=member.calls * one.processed_per_second,
        emitted_per_second=one.emitted_per_second
        if handed_on is None
        else handed_on * one.processed_per_second,
    )
