"""How regular arrivals are: squared coefficients of variation through a plan.

A queue whose customers come more evenly than at random is shorter. Tuples dealt in turn to n
executors come to each after n gaps of the sender; a busy executor whose services vary little
emits evenly. The approximations are those of the Queueing Network Analyzer (Whitt 1983): thinned,
merged and served streams are renewal processes again, known by rate and variation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.bursts import deal_events, events_of
from streamgauge.models.conversion import Conversion
from streamgauge.models.flow import Rates
from streamgauge.models.queueing import BulkQueue, FlushedQueue, divide_or
from streamgauge.models.routing import deals_in_turn
from streamgauge.topology.topology import Operator, OperatorKind
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow, as_slice
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Of a service, as departures see it: even constant ones leave them uneven (Whitt 1983, 4.6).
LEAST_SERVICE_SCV = 0.2


class _Stream(NamedTuple):
    """Batches from executors to executors: how many a second, and how unevenly."""

    per_second: Matrix
    scv: Matrix


def wait_factors(
    flow: TupleFlow,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    mechanics: Mechanics,
    queue: BulkQueue | FlushedQueue,
) -> Vector:
    """How long the queues of a plan's executors are in multiples of those at random."""
    service_scv, size = np.asarray(queue.service_scv), queue.size
    arrival = arrival_scv(
        flow,
        rates,
        conversions,
        mechanics,
        utilisation=queue.utilisation,
        service_scv=service_scv,
    )
    # Of a batch's work: services of a number that varies too.
    work = service_scv / size.mean + size.variance / size.mean**2
    return wait_factor(arrival, work, queue.utilisation)


def arrival_scv(
    flow: TupleFlow,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    mechanics: Mechanics,
    *,
    utilisation: Vector,
    service_scv: Vector,
) -> Vector:
    """Squared coefficient of variation of the time between batches into every executor.

    One, as for arrivals at random, for sources and ackers: nobody follows single messages.

    Args:
        flow: The plan, with routing shares.
        rates: Of its tuples.
        conversions: What its processors emit.
        mechanics: Of its engine.
        utilisation: Of every executor.
        service_scv: Squared coefficient of variation of its service.
    """
    logical = flow.plan.logical
    came, left = np.ones(len(logical.executors)), np.ones(len(logical.executors))
    for operator in logical.topology.topological_order():
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        here = as_slice(logical.spans[operator.name])
        streams = [
            stream
            for block in flow.data_blocks
            if block.stream.target == operator.name
            for stream in _streams(flow, block, rates, conversions, mechanics, left)
        ]
        if not streams:
            continue
        came[here] = merge_streams(
            np.concatenate([one.per_second for one in streams]),
            np.concatenate([one.scv for one in streams]),
            utilisation[here],
        )
        left[here] = _emissions(operator, came[here], utilisation[here], service_scv[here])
    return came


def _streams(
    flow: TupleFlow,
    block: ConnectionBlock,
    rates: Rates,
    conversions: Mapping[str, Conversion],
    mechanics: Mechanics,
    left: Vector,
) -> Iterator[_Stream]:
    stream = block.stream
    sender = flow.plan.logical.topology.operator(stream.source)
    in_turn = deals_in_turn(stream, mechanics)
    emitted = left[as_slice(block.sources)]
    of_inputs = sender.kind is OperatorKind.PROCESSOR and sender.window is None
    for events in events_of(flow, block, rates, conversions, mechanics.source_sleep):
        scv = emitted
        if of_inputs:
            # Ends of service of one input among several, as if drawn at random.
            scv = thin_stream(scv, divide_or(events.per_second, rates.into(flow, sender.name), 0.0))
        # An event that emits a tuple now and then.
        emitting = np.minimum(events.mean, 1.0)
        if not events.gathered:
            scv = thin_stream(scv, emitting)
        batches = deal_events(events, block.shares, in_turn=in_turn).batches
        chance = divide_or(batches, (events.per_second * emitting)[:, np.newaxis], 0.0)
        yield _Stream(batches, thin_stream(scv[:, np.newaxis], chance, in_turn=in_turn))


def _emissions(
    operator: Operator, came: Vector, utilisation: Vector, service_scv: Vector
) -> Vector:
    """Variation of the time between emissions: ends of service, or windows that fire."""
    if operator.window is None:
        return departures(came, utilisation, service_scv)
    slide = operator.window.slide_tuples
    # The sum of as many gaps; timers of several tasks are taken as at random.
    return np.ones_like(came) if slide is None else came / slide


def thin_stream(scv: Vector, part: Vector, *, in_turn: bool = False) -> Vector:
    """Variation of what is left of a stream of which a part is taken, at random or in turn.

    At random: a geometric number of gaps makes one (Whitt 1983, 4.4); in turn: 1/part of them.
    """
    return np.asarray(part * scv + (0.0 if in_turn else 1.0 - part))


def merge_streams(per_second: Matrix, scv: Matrix, utilisation: Vector) -> Vector:
    """Variation of the sum of streams, a row each, as a queue of that utilisation sees it.

    Whitt 1983, 4.10: the mean of theirs where queues are long; many streams at a short queue are as
    arrivals at random.
    """
    parts = divide_or(per_second, per_second.sum(axis=0), 0.0)
    count = divide_or(np.ones_like(utilisation), (parts**2).sum(axis=0), 1.0)
    idle = np.clip(1.0 - utilisation, 0.0, 1.0)
    weight = 1.0 / (1.0 + 4.0 * idle**2 * (count - 1.0))
    mean = np.where(per_second.sum(axis=0) > 0.0, (parts * scv).sum(axis=0), 1.0)
    return np.asarray(1.0 + weight * (mean - 1.0))


def departures(scv: Vector, utilisation: Vector, service_scv: Vector) -> Vector:
    """Variation of the time between ends of service: that of services as far as it is busy.

    Whitt 1983, 4.6 for one server.
    """
    busy = np.minimum(utilisation, 1.0) ** 2
    return np.asarray((1.0 - busy) * scv + busy * np.maximum(service_scv, LEAST_SERVICE_SCV))


def wait_factor(arrival: Vector, work: Vector, utilisation: Vector) -> Vector:
    """How long a queue is in multiples of the one that arrivals at random would make.

    Kraemer and Langenbach-Belz 1976: (c²_a + c²_s)/2 for the mean wait of a GI/G/1 queue, and less
    where arrivals are regular and queues short.

    Args:
        arrival: Squared coefficient of variation of the time between arrivals.
        work: That of what each brings.
        utilisation: Of the server.
    """
    load = np.clip(utilisation, 1e-9, 1.0)
    both = np.maximum(arrival + work, 1e-9)
    regular = -2.0 * (1.0 - load) * (1.0 - arrival) ** 2 / (3.0 * load * both)
    bursty = -(1.0 - load) * (arrival - 1.0) / (arrival + 4.0 * work + 1e-9)
    return np.asarray(both / (1.0 + work) * np.exp(np.where(arrival < 1.0, regular, bursty)))
