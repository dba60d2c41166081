"""CPU time of whole workers: the job's work, the engine itself, and threads without work.

The one account of cores: models feed it into contention, predictions show it.

    engine  = network + worker + sent·s + received·r + executed·e + Σ handled·n
    waking  = Σ asleep·w/sleep·A^(g − 1)   asleep = (1 − busy)·exp(−rate·spin)

s and r are messages a second that a worker sends to and gets from others, e what its executors
execute, n what each of them handles; A is the number of threads asleep on a machine, at least one.
Idle bolts first poll for a while (that is part of contention, as polling takes cores from others),
then sleep a little at a time and use CPU time whenever they wake up; sources sleep at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import CostEstimates
from streamgauge.models.service import Works
from streamgauge.models.traffic_equations import Traffic
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.transport.mechanics import Mechanics

if TYPE_CHECKING:
    from streamgauge.models.parameters import Parameters

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineLoad:
    """How much of every cost of an engine each worker of a plan has.

    Attributes:
        costs: What each costs.
        fixed: By worker and cost: what does not depend on rates.
        growing: By worker and cost: what grows with them.
    """

    costs: CostEstimates
    fixed: Matrix
    growing: Matrix

    def cores(self, factor: float = 1.0) -> Vector:
        """Cores of the engine by worker, with rates so many times as high."""
        return np.asarray((self.fixed + factor * self.growing) @ self.costs.values.value)

    def errors(self) -> Vector:
        """Standard errors of these."""
        amounts = self.fixed + self.growing
        variances = np.einsum("wi,ij,wj->w", amounts, self.costs.covariance, amounts)
        return np.asarray(np.sqrt(variances))


def find_engine_load(traffic: Traffic, costs: CostEstimates) -> EngineLoad:
    """What the engine has to do on a plan with these rates."""
    flow, workers = traffic.flow, len(traffic.flow.plan.workers)
    fixed, growing = np.zeros((2, workers, len(costs.names)))
    if not costs.names:
        return EngineLoad(costs=costs, fixed=fixed, growing=growing)
    place = {name: index for index, name in enumerate(costs.names)}
    fixed[:, [place["network_cores"], place["worker_cores"]]] = 1.0
    sent, received = traffic.crossing_workers
    growing[:, place["sent_seconds"]] = sent
    growing[:, place["received_seconds"]] = received
    handled = count_handled(traffic)
    for name, span in flow.plan.logical.spans.items():
        where = np.asarray(flow.plan.placement[as_slice(span)], dtype=np.intp)
        came = sum_at(where, handled[as_slice(span)], workers)
        growing[:, place[costs.name_handling(name)]] += came
        if flow.plan.logical.topology.operator(name).kind is not OperatorKind.SOURCE:
            growing[:, place["executed_seconds"]] += came
    return EngineLoad(costs=costs, fixed=fixed, growing=growing)


def count_handled(traffic: Traffic) -> Vector:
    """Tuples and messages a second that come to each executor; of sources, that it emits."""
    flow, rates = traffic.flow, traffic.rates
    topology = flow.plan.logical.topology
    return np.concatenate(
        [
            rates.out_of(flow, name, system=False)
            if topology.operator(name).kind is OperatorKind.SOURCE
            else rates.into(flow, name)
            for name in flow.plan.logical.spans
        ]
    )


def find_handling_cores(traffic: Traffic, costs: CostEstimates) -> Vector:
    """Cores by executor that the engine takes for tuples there, wherever they come from."""
    handled = count_handled(traffic)
    if not costs.names:
        return np.zeros_like(handled)
    for name, span in traffic.flow.plan.logical.spans.items():
        each = costs.value(costs.name_handling(name))
        if traffic.flow.plan.logical.topology.operator(name).kind is not OperatorKind.SOURCE:
            each += costs.value("executed_seconds")
        handled[as_slice(span)] *= each
    return handled


def sum_at(place: Sequence[int] | NDArray[Any], amounts: Vector, count: int) -> Vector:
    """Sums of what has the same place, of so many places."""
    return np.bincount(place, weights=amounts, minlength=count).astype(np.float64, copy=False)


def scale_polling(mechanics: Mechanics, costs: CostEstimates) -> Mechanics:
    """The mechanics with idle threads that use as much as was learned."""
    if not costs.names:
        return replace(mechanics, wake_seconds=0.0)
    return replace(
        mechanics,
        poll_cores=costs.value("polling") * mechanics.poll_cores,
        wake_seconds=costs.value("waking") * mechanics.wake_seconds,
    )


def wake_sleepers(
    works: Works,
    mechanics: Mechanics,
    is_bolt: NDArray[np.bool_],
    machine: NDArray[np.int64],
    factor: float = 1.0,
) -> Vector:
    """Cores by executor that it uses to wake up and find nothing, with rates so many times as high.

    How long it is busy is taken without what others on its machine do to it.
    """
    tuples = works.tuples
    idle = np.maximum(1.0 - factor * tuples.per_second * (tuples.cpu + tuples.wait), 0.0)
    asleep = idle * np.exp(-factor * tuples.per_second * is_bolt * mechanics.bolt_spin)
    sleep = np.where(is_bolt, mechanics.bolt_sleep, mechanics.source_sleep)
    wakes = np.divide(asleep, sleep, out=np.zeros_like(asleep), where=sleep > 0.0)
    together = np.maximum(np.bincount(machine, weights=np.where(sleep > 0.0, asleep, 0.0)), 1.0)
    each = mechanics.wake_seconds * together ** (mechanics.wake_growth - 1.0)
    return np.asarray(wakes * each[machine])


def machine_of_worker(plan: PhysicalPlan) -> NDArray[np.int64]:
    """The place of each worker's machine in the cluster."""
    place = {one.name: index for index, one in enumerate(plan.cluster.machines)}
    machines = [place[plan.cluster.machine_of(worker.node).name] for worker in plan.workers]
    return np.asarray(machines, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkerCores:
    """Cores that each worker of a plan keeps busy, by what for.

    Attributes:
        work: With tuples and windows, in the job's own code.
        engine: With what the engine itself does.
        engine_error: Standard error of that.
        polling: With threads that have no work: polling, and waking up from sleeps.
    """

    work: Vector
    engine: Vector
    engine_error: Vector
    polling: Vector

    @property
    def total(self) -> Vector:
        """All together."""
        return self.work + self.engine + self.polling


def share_polling(
    parameters: Parameters,
    utilisation: Vector,
    polling_cores: Vector,
    is_bolt: NDArray[np.bool_],
) -> Vector:
    """Cores by executor: what its machine's idle bolts poll, by the time that each does."""
    plan, mechanics = parameters.flow.plan, parameters.mechanics
    machine = machine_of_worker(plan)[np.asarray(plan.placement, dtype=np.intp)]
    polls = np.where(is_bolt, np.maximum(1.0 - utilisation, 0.0), 0.0)
    if mechanics.bolt_sleep > 0.0:
        polls = polls * -np.expm1(-parameters.works.tuples.per_second * mechanics.bolt_spin)
    of_machine = sum_at(machine, polls, len(polling_cores))
    each = np.divide(
        polling_cores, of_machine, out=np.zeros_like(polling_cores), where=of_machine > 0.0
    )
    return np.asarray(polls * each[machine])


def divide_cores(parameters: Parameters, *, work: Vector, idle: Vector) -> WorkerCores:
    """What workers use, by their cores for tuples and windows and those of each idle executor."""
    plan = parameters.flow.plan
    return WorkerCores(
        work=work,
        engine=parameters.engine.cores(),
        engine_error=parameters.engine.errors(),
        polling=sum_at(plan.placement, idle, len(plan.workers)),
    )
