"""Rates: how many tuples a second come to every executor and leave it.

Cooper 2020, section 4.8, in topological order, since breadth first is wrong where ways have
different lengths; with cycles, as the solution of x = b + A·x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import CyclicTopology, InvalidInput
from streamgauge.models.conversion import Conversion
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.paths import factorise_convergent
from streamgauge.topology.topology import (
    Operator,
    OperatorKind,
    StreamKey,
    Subscription,
)
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Tuples per second, by executors in the order of their operator.

    Attributes:
        emitted: What each executor emits on a stream, before copies to several subscribers.
        arrived: What comes to each executor from a subscription.
        triggers: Windows that fire, of windowed operators.
    """

    emitted: Mapping[StreamKey, Vector]
    arrived: Mapping[Subscription, Vector]
    triggers: Mapping[str, Vector]

    def into(self, flow: TupleFlow, operator: str) -> Vector:
        """All that comes to each executor of an operator, the engine's messages included."""
        streams = flow.plan.logical.topology.streams_into(operator)
        zero = np.zeros(len(flow.plan.logical.spans[operator]))
        return sum((self.arrived[stream.subscription] for stream in streams), start=zero)

    def out_of(self, flow: TupleFlow, operator: str, *, system: bool = True) -> Vector:
        """What each executor of an operator emits, with or without the engine's own messages."""
        streams = flow.plan.logical.topology.streams_from(operator)
        keys = {stream.key for stream in streams if system or not stream.is_system}
        zero = np.zeros(len(flow.plan.logical.spans[operator]))
        return sum((self.emitted[key] for key in sorted(keys)), start=zero)


def source_rates(logical: LogicalPlan, workload: Workload) -> dict[StreamKey, Vector]:
    """What every executor of a source emits on each of its streams.

    Raises:
        InvalidInput: A source emits as fast as it can, so that there is no rate.
    """
    workload.check_against(logical.topology)
    rates = {
        stream.key: np.zeros(len(logical.spans[source.name]))
        for source in logical.topology.sources
        for stream in logical.topology.streams_from(source.name)
        if not stream.is_system
    }
    for emission in workload.emissions:
        if emission.per_second is None:
            raise InvalidInput.single(
                ("workload", str(emission.key)),
                seen="a source that emits as fast as it can",
                expected="a rate",
                remedy="give one, or take the model that simulates",
            )
        tasks = logical.tasks_of(emission.source)
        shares = emission.task_shares(len(tasks))
        rates[emission.key] = emission.per_second * np.asarray(
            [
                sum(shares[task - tasks.start] for task in executor.tasks)
                for executor in logical.executors_of(emission.source)
            ]
        )
    return rates


def propagate(
    flow: TupleFlow, sources: Mapping[StreamKey, Vector], conversions: Mapping[str, Conversion]
) -> Rates:
    """The rates of the job's tuples in steady state, if no executor is overloaded.

    Args:
        flow: The plan, with routing shares.
        sources: What the sources' executors emit.
        conversions: What every processor's executors make of their input.

    Raises:
        CyclicTopology: Tuples multiply on their way round a cycle.
    """
    topology = flow.plan.logical.topology
    emitted = dict(sources)
    if topology.cycle() is None:
        for operator in topology.topological_order():
            if operator.kind is OperatorKind.PROCESSOR:
                emitted |= _outputs(flow, operator.name, emitted, conversions[operator.name])
    else:
        emitted |= _solved(flow, emitted, conversions)
    arrived = {
        block.stream.subscription: emitted[block.stream.key] @ block.shares
        for block in flow.data_blocks
    }
    triggers = {
        operator.name: _triggers(
            operator, came_to(flow, operator.name, arrived), conversions[operator.name]
        )
        for operator in topology.operators
        if operator.window is not None
    }
    return Rates(emitted=emitted, arrived=arrived, triggers=triggers)


def gain(
    flow: TupleFlow, block: ConnectionBlock, name: str, conversion: Conversion
) -> Vector | float:
    """Tuples out on a stream per tuple of a block, of each receiving executor (eq. 4.9)."""
    window = flow.plan.logical.topology.operator(block.stream.target).window
    if window is None:
        return conversion.per_input.get((block.stream.key, name), 0.0)
    if window.slide_tuples is None:
        return 0.0
    return conversion.per_trigger.get(name, 0.0) / window.slide_tuples


def _emitted_by_timers(flow: TupleFlow, operator: str, name: str, conversion: Conversion) -> Vector:
    """Tuples out a second on a stream that come whatever comes in: of windows by time."""
    window = flow.plan.logical.topology.operator(operator).window
    if window is None or window.slide_seconds is None:
        return np.zeros(len(flow.plan.logical.spans[operator]))
    fired = conversion.busy_tasks / window.slide_seconds
    return conversion.per_trigger.get(name, 0.0) * fired


def _outputs(
    flow: TupleFlow, operator: str, emitted: Mapping[StreamKey, Vector], conversion: Conversion
) -> dict[StreamKey, Vector]:
    """σ_o = Σ_S β_So·λ_S (eq. 4.9), and what windows give."""
    found = {}
    for key in data_keys(flow, operator):
        found[key] = _emitted_by_timers(flow, operator, key.name, conversion)
        for block in flow.data_blocks:
            if block.stream.target == operator:
                came = emitted[block.stream.key] @ block.shares
                found[key] = found[key] + gain(flow, block, key.name, conversion) * came
    return found


def data_keys(flow: TupleFlow, operator: str) -> list[StreamKey]:
    """The job's own streams that an operator emits on."""
    streams = flow.plan.logical.topology.streams_from(operator)
    return sorted({stream.key for stream in streams if not stream.is_system})


def _solved(
    flow: TupleFlow, sources: Mapping[StreamKey, Vector], conversions: Mapping[str, Conversion]
) -> dict[StreamKey, Vector]:
    """Emissions of all processors at once: x = b + A·x."""
    from scipy import sparse

    logical = flow.plan.logical
    keys = [key for name in sorted(conversions) for key in data_keys(flow, name)]
    ends = np.cumsum([0, *(len(logical.spans[key.source]) for key in keys)]).tolist()
    place = {key: slice(*pair) for key, pair in zip(keys, pairwise(ends), strict=True)}
    given = np.zeros(ends[-1])
    parts: dict[tuple[StreamKey, StreamKey], sparse.coo_array] = {}
    for key in keys:
        conversion = conversions[key.source]
        given[place[key]] += _emitted_by_timers(flow, key.source, key.name, conversion)
        for block in flow.data_blocks:
            if block.stream.target != key.source:
                continue
            factor = gain(flow, block, key.name, conversion)
            if block.stream.key in sources:
                given[place[key]] += factor * (sources[block.stream.key] @ block.shares)
            else:
                step = sparse.coo_array(np.asarray(block.shares * factor).T)
                pair = (key, block.stream.key)
                parts[pair] = parts[pair] + step if pair in parts else step
    sizes = [part.stop - part.start for part in place.values()]
    empty = [
        [
            parts.get((row, column), sparse.coo_array((n, m)))
            for column, m in zip(keys, sizes, strict=True)
        ]
        for row, n in zip(keys, sizes, strict=True)
    ]
    system = sparse.eye_array(ends[-1], format="csc") - sparse.block_array(empty, format="csc")
    factors = factorise_convergent(system)
    if factors is None:
        cycle = " → ".join(logical.topology.cycle() or ())
        raise CyclicTopology.single(
            ("streams",),
            seen=f"the cycle {cycle}, on which tuples do not die out",
            expected="fewer tuples after a round than before",
            remedy="give the feedback stream a share below one",
        )
    found = np.maximum(factors.solve(given), 0.0)
    return {key: found[part] for key, part in place.items()}


def _triggers(operator: Operator, came: Vector, conversion: Conversion) -> Vector:
    """Windows that fire a second: one per slide of tuples, or per slide of time and busy task."""
    window = operator.window
    assert window is not None
    if window.slide_seconds is not None:
        return conversion.busy_tasks / window.slide_seconds
    assert window.slide_tuples is not None
    return came / window.slide_tuples


def came_to(flow: TupleFlow, operator: str, arrived: Mapping[Subscription, Vector]) -> Vector:
    """Tuples of the job that come to each executor of an operator."""
    zero = np.zeros(len(flow.plan.logical.spans[operator]))
    streams = flow.plan.logical.topology.streams_into(operator)
    return sum((arrived[s.subscription] for s in streams if not s.is_system), start=zero)


def window_tuples(
    flow: TupleFlow,
    operator: Operator,
    arrived: Mapping[Subscription, Vector],
    conversion: Conversion,
) -> Vector:
    """Mean tuples in a window that fires, of each executor's tasks."""
    window, came = operator.window, came_to(flow, operator.name, arrived)
    assert window is not None
    if window.length_tuples is not None:
        return np.full(len(came), float(window.length_tuples))
    assert window.length_seconds is not None
    return came / conversion.busy_tasks * window.length_seconds
