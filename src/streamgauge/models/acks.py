"""Acknowledgements: the engine's own messages, as many as follow from the job's tuples.

A source announces every root to an acker, the executor of a tuple acknowledges it once for each
of its roots, and the acker answers the source once a root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamgauge.models.arrival_variability import siblings_into
from streamgauge.models.traffic_equations import Traffic, Vector, data_keys, gain
from streamgauge.topology.topology import (
    ACK_ACK,
    ACK_INIT,
    ACKER,
    Operator,
    OperatorKind,
    StreamKey,
)
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow


def roots_per_tuple(traffic: Traffic) -> dict[StreamKey, float]:
    """Mean roots of a tuple: what a window gives belongs to all roots of its tuples.

    On a cycle a tuple is taken to have one, unless windows are passed before it.
    """
    flow, topology = traffic.flow, traffic.flow.plan.logical.topology
    roots = {stream.key: 1.0 for stream in topology.data_streams}
    if topology.cycle() is not None:
        return roots
    for operator in topology.topological_order():
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        blocks = [block for block in flow.data_blocks if block.stream.target == operator.name]
        for key in data_keys(flow, operator.name):
            weights = {block.stream.key: _weight(traffic, block, key) for block in blocks}
            total = sum(weights.values())
            if total <= 0.0:
                continue
            mean = sum(roots[source] * weight for source, weight in weights.items()) / total
            if operator.window is not None:
                mean *= _count_distinct(traffic, operator)
            roots[key] = mean
    return roots


def _weight(traffic: Traffic, block: ConnectionBlock, key: StreamKey) -> float:
    """How much a block's tuples count among what a stream's are made of."""
    came = traffic.rates.arrived[block.stream.subscription]
    if traffic.flow.plan.logical.topology.operator(key.source).window is not None:
        return float(came.sum())
    factor = gain(traffic.flow, block, key.name, traffic.conversions[key.source])
    return float(np.sum(factor * came))


def _count_distinct(traffic: Traffic, operator: Operator) -> float:
    """Different roots among the tuples of a window: those that came together share theirs."""
    fired = traffic.rates.triggers[operator.name]
    if not fired.any():
        return 1.0
    sizes = traffic.window_tuples(operator)
    size = max(float(sizes @ fired / fired.sum()), 1.0)
    return 1.0 + (size - 1.0) / siblings_into(traffic, operator.name)


def with_acks(traffic: Traffic, roots: Mapping[StreamKey, float]) -> Traffic:
    """The engine's messages beside the job's tuples (`storm-tracer` 2.4.5).

    Ackers answer each root to where it began.
    """
    flow, rates = traffic.flow, traffic.rates
    logical = flow.plan.logical
    emitted, arrived = dict(rates.emitted), dict(rates.arrived)
    began = {
        source.name: rates.out_of(flow, source.name, system=False)
        for source in logical.topology.sources
    }
    for stream in logical.topology.streams_into(ACKER):
        if stream.name == ACK_INIT:
            emitted[stream.key] = began[stream.source]
        else:
            emitted[stream.key] = sum(
                (
                    roots[one.key] * rates.arrived[one.subscription]
                    for one in logical.topology.streams_into(stream.source)
                    if not one.is_system
                ),
                start=np.zeros(len(logical.spans[stream.source])),
            )
    for block in flow.blocks:
        if block.stream.target == ACKER:
            arrived[block.stream.subscription] = emitted[block.stream.key] @ block.shares
    inits = [s for s in logical.topology.streams_into(ACKER) if s.name == ACK_INIT]
    emitted[StreamKey(ACKER, ACK_ACK)] = sum(
        (arrived[stream.subscription] for stream in inits),
        start=np.zeros(len(logical.spans[ACKER])),
    )
    for name, rate in began.items():
        arrived[ACKER, ACK_ACK, name] = rate
    return replace(
        traffic,
        flow=_share_answers(flow, began),
        rates=replace(rates, emitted=emitted, arrived=arrived),
    )


def _share_answers(flow: TupleFlow, began: Mapping[str, Vector]) -> TupleFlow:
    """The flow with the shares of the ackers' answers, by the roots that began at each source."""
    answers = [s.target for s in flow.plan.logical.topology.streams if s.source == ACKER]
    total = sum(float(began[source].sum()) for source in answers)
    if total <= 0.0:
        return flow
    blocks = [
        replace(
            block, shares=np.broadcast_to(began[block.stream.target] / total, block.types.shape)
        )
        if block.stream.source == ACKER
        else block
        for block in flow.blocks
    ]
    return replace(flow, blocks=tuple(blocks))
