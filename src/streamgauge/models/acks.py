"""Acknowledgements: the engine's own messages, as many as follow from the job's tuples.

A source announces every root to an acker, the executor of a tuple acknowledges it once for each
of its roots, and the acker answers the source once a root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamgauge.models.arrivals import siblings_into
from streamgauge.models.flow import Conversion, Rates, data_keys, gain, window_tuples
from streamgauge.topology.topology import (
    ACK_ACK,
    ACK_INIT,
    ACKER,
    Operator,
    OperatorKind,
    Stream,
    StreamKey,
)
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow
from streamgauge.transport.mechanics import Mechanics


def roots_per_tuple(
    flow: TupleFlow,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    mechanics: Mechanics,
) -> dict[StreamKey, float]:
    """Mean roots of a tuple: what a window gives belongs to all roots of its tuples.

    On a cycle a tuple is taken to have one, unless windows are passed before it.
    """
    topology = flow.plan.logical.topology
    roots = {stream.key: 1.0 for stream in topology.data_streams}
    if topology.cycle() is not None:
        return roots
    for operator in topology.topological_order():
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        blocks = [block for block in flow.data_blocks if block.stream.target == operator.name]
        conversion = conversions[operator.name]
        for key in data_keys(flow, operator.name):
            weights = {
                block.stream.key: _weight(flow, block, key, rates, conversion) for block in blocks
            }
            total = sum(weights.values())
            if total <= 0.0:
                continue
            mean = sum(roots[one] * weight for one, weight in weights.items()) / total
            if operator.window is not None:
                together = siblings_into(flow, rates, conversions, mechanics, operator.name)
                mean *= _distinct(flow, operator, rates, conversion, together)
            roots[key] = mean
    return roots


def _weight(
    flow: TupleFlow, block: ConnectionBlock, key: StreamKey, rates: Rates, conversion: Conversion
) -> float:
    """How much a block's tuples count among what a stream's are made of."""
    came = rates.arrived[block.stream.subscription]
    if flow.plan.logical.topology.operator(key.source).window is not None:
        return float(came.sum())
    return float(np.sum(gain(flow, block, key.name, conversion) * came))


def _distinct(
    flow: TupleFlow, operator: Operator, rates: Rates, conversion: Conversion, together: float
) -> float:
    """Different roots among the tuples of a window: those that came together share theirs."""
    fired = rates.triggers[operator.name]
    if not fired.any():
        return 1.0
    sizes = window_tuples(flow, operator, rates.arrived, conversion)
    size = max(float(sizes @ fired / fired.sum()), 1.0)
    return 1.0 + (size - 1.0) / together


def with_acks(flow: TupleFlow, rates: Rates, roots: Mapping[StreamKey, float]) -> Rates:
    """The engine's messages beside the job's tuples (`storm-tracer` 2.4.5).

    Args:
        flow: A plan with ackers.
        rates: Of the job's tuples.
        roots: By stream, of a tuple.
    """
    logical = flow.plan.logical
    emitted, arrived = dict(rates.emitted), dict(rates.arrived)
    began = {
        source.name: sum(
            (rates.emitted[key] for key in data_keys(flow, source.name)),
            start=np.zeros(len(logical.spans[source.name])),
        )
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
    return replace(rates, emitted=emitted, arrived=arrived)


def with_answers(flow: TupleFlow, rates: Rates) -> TupleFlow:
    """The flow with the shares of the ackers' answers: each goes to where its root began."""
    answers = {s.target: rates.arrived[s.subscription] for s in _answers(flow)}
    total = sum(float(rate.sum()) for rate in answers.values())
    if total <= 0.0:
        return flow
    blocks = [
        replace(
            block,
            shares=np.broadcast_to(answers[block.stream.target] / total, block.types.shape),
        )
        if block.stream.source == ACKER
        else block
        for block in flow.blocks
    ]
    return replace(flow, blocks=tuple(blocks))


def _answers(flow: TupleFlow) -> list[Stream]:
    topology = flow.plan.logical.topology
    return [stream for stream in topology.streams if stream.source == ACKER]
