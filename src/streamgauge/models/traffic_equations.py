"""Rates: how many tuples a second come to every executor and leave it.

Cooper 2020, sections 4.6 to 4.8. A task's outputs are linear in its inputs (eq. 4.9). Tasks that
differ, because keys decide what they get, are weighted by their part of their executor's input
(eq. 4.10 and 4.11), which is exact; the others share the mean of all. A window's outputs come with
its triggers. Rates follow in topological order, since breadth first is wrong where ways have
different lengths; with cycles, as the solution of x = b + A·x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import CyclicTopology, InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.routing import depends_on_keys, task_parts
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.paths import factorise_convergent
from streamgauge.topology.topology import Operator, OperatorKind, StreamKey, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, TupleFlow, as_slice
from streamgauge.topology.workload import Workload
from streamgauge.transport.mechanics import Mechanics

if TYPE_CHECKING:
    from streamgauge.models.arrival_variability import Arrivals

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conversion:
    """What the executors of one operator emit.

    Attributes:
        per_input: Tuples out per tuple in, by input stream and name of the output: a number for
            each executor.
        per_trigger: Tuples out per window that fires, by name of the output.
        task_parts: Of an operator with windows, which belong to tasks: for each executor the part
            of its input that each of its tasks gets.
        served: Part of what comes that is served at all; less than one where queues grow.
    """

    per_input: Mapping[tuple[StreamKey, str], Vector]
    per_trigger: Mapping[str, float] = field(default_factory=FrozenDict)
    task_parts: tuple[Vector, ...] = ()
    served: Vector | float = 1.0

    @property
    def busy_tasks(self) -> Vector:
        """How many tasks of each executor get anything."""
        return np.asarray([float(np.count_nonzero(parts)) for parts in self.task_parts])


def find_conversion(
    logical: LogicalPlan, operator: str, behaviour: JobBehaviour, mechanics: Mechanics
) -> Conversion:
    """The coefficients of an operator's executors in a proposed plan."""
    own = behaviour.operators[operator]
    if own.window is not None:
        return Conversion(
            per_input={},
            per_trigger={name: float(mean) for name, mean in own.window.outputs.items()},
            task_parts=task_parts(logical, operator, behaviour, mechanics),
        )
    weights = input_weights(logical, operator, behaviour)
    count = len(logical.executors_of(operator))
    per_input: dict[tuple[StreamKey, str], Vector] = {}
    for key, one in own.inputs.items():
        for name, coefficient in one.outputs.items():
            per_input[key, name] = (
                sum_by_executor(logical, operator, weights[key] * coefficient.by_task.value)
                if key in weights
                else np.full(count, float(coefficient.mean))
            )
    return Conversion(per_input=per_input)


def input_weights(
    logical: LogicalPlan, operator: str, behaviour: JobBehaviour
) -> dict[StreamKey, Vector]:
    """By input stream, the weight of each task in its executor: ETIP (eq. 4.11).

    Those of an executor sum to one. Nothing for an operator whose tasks are alike.
    """
    if not depends_on_keys(logical.topology, operator):
        return {}
    sizes = [len(executor.tasks) for executor in logical.executors_of(operator)]
    weights = {}
    for key, one in behaviour.operators[operator].inputs.items():
        parts = one.task_weights.value
        totals = np.repeat(sum_by_executor(logical, operator, parts), sizes)
        # Even where nothing is known to come (0/0).
        even = 1.0 / np.repeat(np.asarray(sizes, dtype=np.float64), sizes)
        weights[key] = np.divide(parts, totals, out=even, where=totals > 0.0)
    return weights


def sum_by_executor(logical: LogicalPlan, operator: str, by_task: Vector) -> Vector:
    """The sum over the tasks of each executor of an operator."""
    start = logical.tasks_of(operator).start
    first = [executor.first_task - start for executor in logical.executors_of(operator)]
    return np.asarray(np.add.reduceat(by_task, first))


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

    def into(self, flow: TupleFlow, operator: str, *, system: bool = True) -> Vector:
        """What comes to each executor of an operator, with or without the engine's own messages."""
        return _sum_arrived(flow, operator, self.arrived, system=system)

    def out_of(self, flow: TupleFlow, operator: str, *, system: bool = True) -> Vector:
        """What each executor of an operator emits, with or without the engine's own messages."""
        streams = flow.plan.logical.topology.streams_from(operator)
        keys = {stream.key for stream in streams if system or not stream.is_system}
        zero = np.zeros(len(flow.plan.logical.spans[operator]))
        return sum((self.emitted[key] for key in sorted(keys)), start=zero)


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """Tuples on their way through a plan.

    Attributes:
        flow: The plan, with routing shares.
        rates: Of tuples and messages.
        conversions: What processors make of tuples.
        mechanics: Of the plan's engine.
        met: Which part of the other tuples one meets where it comes to, by executor: all of them,
            unless a limit on open roots closes the network (`closed_network`).
        paced: Part of the sources' tuples that are emitted as soon as others of theirs have ended,
            as a limit on open roots has it.
    """

    flow: TupleFlow
    rates: Rates
    conversions: Mapping[str, Conversion]
    mechanics: Mechanics
    met: Vector | float = 1.0
    paced: float = 0.0

    @cached_property
    def arrivals(self) -> Arrivals:
        """How its tuples come to executors."""
        from streamgauge.models.arrival_variability import find_arrivals

        return find_arrivals(self)

    def leaving_workers(self) -> Vector:
        """Tuples and messages a second that each worker sends to others."""
        return self.crossing_workers[0]

    @cached_property
    def crossing_workers(self) -> tuple[Vector, Vector]:
        """Tuples and messages a second that each worker sends to others, and gets from others."""
        workers = np.asarray(self.flow.plan.placement, dtype=np.intp)
        sent, received = np.zeros((2, len(self.flow.plan.workers)))
        for block in self.flow.blocks:
            away = np.where(block.types > 0, block.shares, 0.0)
            emitted = self.rates.emitted[block.stream.key]
            np.add.at(sent, workers[as_slice(block.sources)], emitted * away.sum(axis=1))
            np.add.at(received, workers[as_slice(block.targets)], emitted @ away)
        return sent, received

    def transfer_load(self) -> Vector:
        """Part of what each worker's transfer queue can take; one and more: it is overloaded."""
        return self.leaving_workers() * self.mechanics.transfer_tuple_seconds

    def window_tuples(self, operator: Operator) -> Vector:
        """Mean tuples in a window that fires, of each executor's tasks."""
        window, came = operator.window, self.rates.into(self.flow, operator.name, system=False)
        assert window is not None
        if window.length_tuples is not None:
            return np.full(len(came), float(window.length_tuples))
        assert window.length_seconds is not None
        return came / self.conversions[operator.name].busy_tasks * window.length_seconds


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
            operator,
            _sum_arrived(flow, operator.name, arrived, system=False),
            conversions[operator.name],
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
        return conversion.served * conversion.per_input.get((block.stream.key, name), 0.0)
    if window.slide_tuples is None:
        return 0.0
    return conversion.served * conversion.per_trigger.get(name, 0.0) / window.slide_tuples


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
    outputs = {}
    for key in data_keys(flow, operator):
        outputs[key] = _emitted_by_timers(flow, operator, key.name, conversion)
        for block in flow.data_blocks:
            if block.stream.target == operator:
                came = emitted[block.stream.key] @ block.shares
                outputs[key] = outputs[key] + gain(flow, block, key.name, conversion) * came
    return outputs


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
    emissions = np.maximum(factors.solve(given), 0.0)
    return {key: emissions[part] for key, part in place.items()}


def _triggers(operator: Operator, came: Vector, conversion: Conversion) -> Vector:
    """Windows that fire a second: one per slide of tuples, or per slide of time and busy task."""
    window = operator.window
    assert window is not None
    if window.slide_seconds is not None:
        return conversion.busy_tasks / window.slide_seconds
    assert window.slide_tuples is not None
    return conversion.served * came / window.slide_tuples


def _sum_arrived(
    flow: TupleFlow, operator: str, arrived: Mapping[Subscription, Vector], *, system: bool
) -> Vector:
    zero = np.zeros(len(flow.plan.logical.spans[operator]))
    streams = flow.plan.logical.topology.streams_into(operator)
    return sum((arrived[s.subscription] for s in streams if system or not s.is_system), start=zero)
