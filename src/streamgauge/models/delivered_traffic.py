"""Traffic that is not what is due: other rates of sources, other shares, tuples left undone.

The same equations as everywhere else (`traffic_equations`, `acks`, `service`, `worker_cpu`), for
sources that are held back and executors that serve only a part of what comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.parameters import Parameters
from streamgauge.models.service import find_work
from streamgauge.models.traffic_equations import Rates, Traffic, propagate
from streamgauge.models.worker_cpu import find_engine_load
from streamgauge.topology.topology import StreamKey
from streamgauge.topology.tuple_flow import TupleFlow, as_slice

Vector = NDArray[np.float64]


def deliver_part(
    parameters: Parameters, emitted: Vector, served: Vector, flow: TupleFlow | None = None
) -> Parameters:
    """A plan whose sources emit a part of what is due, and whose executors serve a part.

    What arrives is all that comes; what leaves, and is acknowledged, follows from what is served.

    Args:
        parameters: At the rates that are due.
        emitted: By executor: of a source, the part of what is due that it emits.
        served: By executor: the part of what comes to it that it serves.
        flow: The plan with other shares; as in `parameters` when not given.
    """
    flow = flow or parameters.flow
    logical = flow.plan.logical
    spans = logical.spans
    sources: dict[StreamKey, Vector] = {}
    for source in logical.topology.sources:
        for stream in logical.topology.streams_from(source.name):
            if not stream.is_system:
                due = parameters.rates.emitted[stream.key]
                sources[stream.key] = due * emitted[as_slice(spans[source.name])]
    conversions = {
        name: replace(one, served=served[as_slice(spans[name])])
        for name, one in parameters.conversions.items()
    }
    rates = propagate(flow, sources, conversions)
    traffic = Traffic(
        flow=flow, rates=rates, conversions=conversions, mechanics=parameters.mechanics
    )
    if logical.topology.has_ackers:
        traffic = _acknowledge(traffic, served)
    return replace(
        parameters,
        flow=traffic.flow,
        rates=traffic.rates,
        conversions=conversions,
        works=find_work(traffic, parameters.behaviour),
        engine=find_engine_load(traffic, parameters.behaviour.costs),
    )


def _acknowledge(traffic: Traffic, served: Vector) -> Traffic:
    """With the engine's messages, of tuples that are served alone."""
    arrived = traffic.rates.arrived
    spans = traffic.flow.plan.logical.spans
    done: Mapping[tuple[str, str, str], Vector] = {
        subscription: rate * served[as_slice(spans[subscription[-1]])]
        for subscription, rate in arrived.items()
    }
    acked = with_acks(
        replace(traffic, rates=replace(traffic.rates, arrived=done)), roots_per_tuple(traffic)
    )
    rates: Rates = replace(acked.rates, arrived={**acked.rates.arrived, **arrived})
    return replace(acked, rates=rates)
