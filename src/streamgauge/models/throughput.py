"""Throughput: what a plan really processes, where it saturates, and what piles up beyond that.

Caladrius (Kalim 2020, section 3) asked this of one path of instances that each saturate on their
own. Here it is asked of a whole plan: routing is the engine's, capacities are those of threads that
share machines (`load_limit`), and what happens beyond saturation is the engine's back-pressure
(`held_back`). Below saturation output is linear in input (eq. 3.1); the saturation rate of the
topology is min over k of SP_k/g_k, g_k being what comes to k per tuple of the sources (eq. 3.13 as
it has to read); the risk is high at and above it, not below (eq. 3.14 is printed the wrong way
round).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.chained import chain_job
from streamgauge.models.chained_throughput import split_throughput
from streamgauge.models.held_back import ALL_OF_IT, Delivery, Holding, deliver
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import (
    Limit,
    Loaded,
    find_limit,
    load,
    mark_bolts,
)
from streamgauge.models.network import find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.pending_limit import HeldBack, hold_back, is_limited
from streamgauge.models.plan_check import check_case
from streamgauge.models.plan_family import PlanFamily
from streamgauge.models.saturation import (
    Filling,
    PathSaturation,
    find_saturation,
    order_bottlenecks,
    order_paths,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, StreamKey
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]

# Part of the saturation rate from which the risk of back-pressure is called high.
MARGIN = 0.95
# Growth of a backlog below this part of what comes is none.
NOTEWORTHY = 2e-3


class Risk(StrEnum):
    """Of back-pressure, or of queues that grow, at the load that is due."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Where tuples pile up.

    Attributes:
        name: A source, or an executor whose queue grows.
        operator: The source, or the executor's operator.
        at_source: Whether they wait to be emitted, outside the job.
        per_second: How fast they become more.
    """

    name: str
    operator: str
    at_source: bool
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorThroughput:
    """What an executor really does; tuples of the job, of ackers their messages.

    Attributes:
        name: ``OPERATOR[FIRST-LAST]``.
        arrived_per_second: What comes; of a source, what is due.
        processed_per_second: What it serves of that; of a source, what it emits.
        emitted_per_second: What leaves it, before copies.
        utilisation: Part of the time that it is busy.
        is_full: Whether it can do no more.
    """

    name: str
    operator: str
    arrived_per_second: float
    processed_per_second: float
    emitted_per_second: float
    utilisation: float
    is_full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorThroughput:
    """What an operator really does, all its executors together; as `ExecutorThroughput`.

    Attributes:
        wanted_per_second: What it would process if nothing held tuples back anywhere.
    """

    wanted_per_second: float
    arrived_per_second: float
    processed_per_second: float
    emitted_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What a plan really does under a load.

    Attributes:
        holding: What happens to tuples that somebody cannot take.
        due_per_second: What all sources should emit together.
        emitted_per_second: What they do emit.
        processed_part: Of what sinks would process if nothing held tuples back, what they do.
        saturation: The factor by which all rates may grow, or must shrink, and the rate of all
            sources at which the plan processes all that is due, in a long run; and what is full.
        margin: Part of the saturation rate from which the risk is high.
        bottlenecks: What fills, in order.
        paths: Ways from sources to sinks, those that saturate first.
        backlogs: Where tuples pile up, the fastest first; empty where all is processed.
        operators: By name.
        executors: In the plan's order.
        streams: Tuples a second that are emitted on each stream.
        sinks: Tuples a second that each sink processes.
    """

    holding: Holding
    due_per_second: float
    emitted_per_second: float
    processed_part: float
    saturation: Limit
    margin: float
    bottlenecks: tuple[Filling, ...]
    paths: tuple[PathSaturation, ...]
    backlogs: tuple[Backlog, ...]
    operators: Mapping[str, OperatorThroughput]
    executors: tuple[ExecutorThroughput, ...]
    streams: Mapping[StreamKey, float]
    sinks: Mapping[str, float]

    @property
    def processed_per_second(self) -> float:
        """Tuples of the sources that are processed to the end, as a rate of all sources."""
        return self.processed_part * self.due_per_second

    @property
    def headroom(self) -> float:
        """How many times the load the plan processes; infinite where nothing limits it."""
        return self.saturation.factor

    @property
    def is_held_back(self) -> bool:
        """Whether less is processed than is due."""
        return self.processed_part < ALL_OF_IT or bool(self.backlogs)

    @property
    def risk(self) -> Risk:
        """Whether the load is near the saturation rate or beyond (eq. 3.14, repaired)."""
        return Risk.HIGH if self.headroom * self.margin <= 1.0 else Risk.LOW

    @property
    def backlog_per_second(self) -> float:
        """How many tuples pile up in a second, wherever they do."""
        return math.fsum(one.per_second for one in self.backlogs)

    def drain_seconds(self, backlog: float, per_second: float) -> float:
        """How long it takes until a backlog at the sources is gone.

        Args:
            backlog: Tuples that wait there.
            per_second: What is due from now on, of all sources in the same proportions; infinite
                where that alone is as much as the plan can process.
        """
        spare = self.saturation.per_second - per_second
        if backlog <= 0.0:
            return 0.0
        return backlog / spare if spare > 0.0 else math.inf


def predict_throughput(
    behaviour: JobBehaviour,
    plan: PhysicalPlan,
    workload: Workload,
    *,
    margin: float = MARGIN,
    family: PlanFamily | None = None,
) -> Throughput:
    """What a plan really does under a load.

    Args:
        behaviour: Of the job's operators.
        plan: Any plan of the job.
        workload: What sources should emit.
        margin: Part of the saturation rate from which the risk is high.
        family: Of another plan; where it is of the same one, that is not found anew.

    Raises:
        InvalidInput: The plan or the workload is of another job, or a source has no rate.
    """
    check_case(behaviour, plan, workload)
    chained = chain_job(behaviour, plan)
    if chained is not None:
        found = predict_throughput(chained.behaviour, chained.plan, workload, margin=margin)
        return split_throughput(found, chained)
    parameters = find_parameters(behaviour, plan, workload, family)
    loaded = load(parameters)
    limit = find_limit(parameters, workload, loaded)
    held = None
    if is_limited(parameters):
        network = find_network(plan, behaviour)
        held = hold_back(parameters, workload, loaded, limit, network, finds_fitting=False)
    return find_throughput(parameters, loaded, limit, held, margin=margin)


def find_throughput(
    parameters: Parameters,
    loaded: Loaded,
    limit: Limit,
    held: HeldBack | None = None,
    *,
    margin: float = MARGIN,
) -> Throughput:
    """The same, of what has been found already.

    Args:
        parameters: At the rates that are due.
        loaded: What these do to threads.
        limit: The highest rate at which no thread, machine or transfer queue is full.
        held: What a limit on open roots does, where there is one.
        margin: Part of the saturation rate from which the risk is high.
    """
    delivery = _deliver(parameters, loaded, held)
    saturation = held.limit if held is not None else find_saturation(parameters, limit)
    bottlenecks = tuple(order_bottlenecks(parameters, saturation))
    return Throughput(
        holding=delivery.holding,
        due_per_second=_emitted_by_sources(parameters),
        emitted_per_second=_emitted_by_sources(delivery.parameters),
        processed_part=_processed_part(parameters, delivery),
        saturation=saturation,
        margin=margin,
        bottlenecks=bottlenecks,
        paths=tuple(order_paths(parameters, bottlenecks)),
        backlogs=tuple(_find_backlogs(parameters, delivery)),
        operators=dict(_operators(parameters, delivery)),
        executors=tuple(_executors(parameters, delivery)),
        streams={
            stream.key: float(delivery.parameters.rates.emitted[stream.key].sum())
            for stream in parameters.flow.plan.logical.topology.data_streams
        },
        sinks={
            one.name: float(_processed(delivery, one.name).sum())
            for one in parameters.flow.plan.logical.topology.sinks
        },
    )


def _deliver(parameters: Parameters, loaded: Loaded, held: HeldBack | None) -> Delivery:
    size = len(parameters.flow.plan.logical.executors)
    everything, nobody = np.ones(size), np.zeros(size, dtype=bool)
    if held is None:
        return deliver(parameters, loaded)
    due, got = (_by_executor(one) for one in (parameters, held.parameters))
    sources = ~mark_bolts(parameters.flow)
    emitted = np.divide(got, due, out=everything.copy(), where=sources & (due > 0.0))
    if held.pending.emitted_per_second <= 0.0:
        emitted = np.where(sources, 0.0, 1.0)
    return Delivery(
        holding=Holding.OPEN_ROOTS,
        parameters=held.parameters,
        loaded=held.loaded,
        emitted=emitted,
        served=everything,
        full=nobody,
    )


def _by_executor(parameters: Parameters) -> Vector:
    """What leaves every executor, engine's messages left out but for those of ackers."""
    flow = parameters.flow
    return np.concatenate(
        [
            parameters.rates.out_of(flow, name, system=name == ACKER)
            for name in flow.plan.logical.spans
        ]
    )


def _emitted_by_sources(parameters: Parameters) -> float:
    return float(_by_executor(parameters)[~mark_bolts(parameters.flow)].sum())


def _processed(delivery: Delivery, operator: str) -> Vector:
    """Tuples that the executors of an operator serve; of a source, that they emit."""
    now = delivery.parameters
    span = now.flow.plan.logical.spans[operator]
    if operator in {one.name for one in now.flow.plan.logical.topology.sources}:
        return now.rates.out_of(now.flow, operator, system=False)
    came = now.rates.into(now.flow, operator, system=operator == ACKER)
    return came * delivery.served[as_slice(span)]


def _processed_part(parameters: Parameters, delivery: Delivery) -> float:
    """Of what sinks would process if nothing held tuples back, what they do."""
    sinks = [one.name for one in parameters.flow.plan.logical.topology.sinks]
    wanted = sum(
        float(parameters.rates.into(parameters.flow, name, system=False).sum()) for name in sinks
    )
    done = sum(float(_processed(delivery, name).sum()) for name in sinks)
    if wanted > 0.0:
        return min(done / wanted, 1.0)
    due = _emitted_by_sources(parameters)
    return _emitted_by_sources(delivery.parameters) / due if due > 0.0 else 1.0


def _operators(
    parameters: Parameters, delivery: Delivery
) -> Iterator[tuple[str, OperatorThroughput]]:
    now, sources = delivery.parameters, ~mark_bolts(parameters.flow)
    due, left = _by_executor(parameters), _by_executor(now)
    for name, span in parameters.flow.plan.logical.spans.items():
        here = as_slice(span)
        is_source = bool(sources[here].all())
        wanted = (
            due[here] if is_source else parameters.rates.into(parameters.flow, name, system=False)
        )
        arrived = due[here] if is_source else now.rates.into(now.flow, name, system=False)
        yield (
            name,
            OperatorThroughput(
                wanted_per_second=float(wanted.sum()),
                arrived_per_second=float(arrived.sum()),
                processed_per_second=float(_processed(delivery, name).sum()),
                emitted_per_second=float(left[here].sum()),
            ),
        )


def _executors(parameters: Parameters, delivery: Delivery) -> Iterator[ExecutorThroughput]:
    now, sources = delivery.parameters, ~mark_bolts(parameters.flow)
    due, left = _by_executor(parameters), _by_executor(now)
    for name, span in parameters.flow.plan.logical.spans.items():
        processed = _processed(delivery, name)
        arrived = now.rates.into(now.flow, name, system=name == ACKER)
        for index, place in enumerate(span):
            yield ExecutorThroughput(
                name=parameters.flow.plan.logical.executors[place].label,
                operator=name,
                arrived_per_second=float(due[place] if sources[place] else arrived[index]),
                processed_per_second=float(processed[index]),
                emitted_per_second=float(left[place]),
                utilisation=float(min(delivery.loaded.utilisation[place], 1.0)),
                is_full=bool(delivery.full[place]),
            )


def _find_backlogs(parameters: Parameters, delivery: Delivery) -> Iterator[Backlog]:
    """Tuples that are due and not emitted, and those that are not served, the fastest first."""
    found = []
    sources = {one.name for one in parameters.flow.plan.logical.topology.sources}
    for name, one in _operators(parameters, delivery):
        if name in sources:
            grows = one.wanted_per_second - one.emitted_per_second
            if grows > NOTEWORTHY * one.wanted_per_second:
                found.append(Backlog(name=name, operator=name, at_source=True, per_second=grows))
    for each in _executors(parameters, delivery):
        grows = each.arrived_per_second - each.processed_per_second
        if each.operator not in sources and grows > NOTEWORTHY * each.arrived_per_second:
            found.append(
                Backlog(name=each.name, operator=each.operator, at_source=False, per_second=grows)
            )
    yield from sorted(found, key=lambda one: -one.per_second)
