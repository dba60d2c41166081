"""A job on a proposed plan, as the simulator takes it: plan and behaviours from a JobBehaviour.

What is known of routing and network is put where a job's description has it: shares from task to
task become the matrix of a custom grouping, latencies between nodes become links.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.distribution_fitting import fit_distribution
from streamgauge.models.job_behaviour import JobBehaviour, OperatorBehaviour, ServiceTime
from streamgauge.models.network import Network, find_network
from streamgauge.models.parameters import Parameters
from streamgauge.models.routing import KEYED, depends_on_keys, keyed_shares
from streamgauge.profile.behaviour import Behaviour, Costs, InputBehaviour, Service, WindowFunction
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.profile.keys import KeyDistribution
from streamgauge.topology.cluster import Cluster, Link
from streamgauge.topology.grouping import Custom
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, Stream, StreamKey
from streamgauge.topology.tuple_flow import Matrix, as_slice
from streamgauge.topology.workload import Poisson, Workload

# Executors that emit so much more or less than others of their operator deserve a word.
NOTEWORTHY = 0.05
MS_PER_SECOND = 1e3
# The simulator wants some of a machine to be free, however little.
FULLEST = 0.999


def build_simulation(
    parameters: Parameters, engine_cores: NDArray[np.float64]
) -> tuple[PhysicalPlan, dict[str, Behaviour], tuple[str, ...]]:
    """Plan, behaviours (ackers included) and notes on what was assumed, of the job to simulate.

    What the engine itself takes of each machine is background load there.
    """
    plan, behaviour = parameters.flow.plan, parameters.behaviour
    network = find_network(plan, behaviour)
    cluster = _linked(plan, network)
    balance = cluster.list_balance_ms(behaviour.balance_ms)
    machines = tuple(
        replace(
            one,
            balance_ms=evened,
            background_cores=min(one.background_cores + taken, FULLEST * one.cores)
            if taken > 0.0
            else one.background_cores,
        )
        for one, evened, taken in zip(cluster.machines, balance, engine_cores.tolist(), strict=True)
    )
    informed = replace(
        plan,
        logical=_routed(plan.logical, behaviour),
        cluster=replace(cluster, machines=machines),
    )
    return informed, _behaviours(parameters), (*network.notes, *_uneven(parameters))


def fill_in_rates(plan: PhysicalPlan, workload: Workload, behaviour: JobBehaviour) -> Workload:
    """The workload with a rate for all: as fast as a source can is as its service time allows."""
    if all(one.per_second is not None for one in workload.emissions):
        return workload
    workload.check_against(plan.logical.topology)
    emissions = []
    for one in workload.emissions:
        emit_ms = behaviour.operators[one.source].emit.mean_ms
        executors = len(plan.logical.executors_of(one.source))
        fastest = executors / emit_ms * MS_PER_SECOND if emit_ms > 0.0 else float(executors)
        limited = replace(one, shape=Poisson(), per_second=fastest)
        emissions.append(limited if one.per_second is None else one)
    return Workload(emissions=tuple(emissions))


def _routed(logical: LogicalPlan, behaviour: JobBehaviour) -> LogicalPlan:
    """The plan with the measured shares of streams whose keys decide."""
    streams = []
    for stream in logical.topology.streams:
        keyed = isinstance(stream.grouping, KEYED) and not stream.is_system
        shares = _task_shares(logical, stream, behaviour) if keyed else None
        streams.append(stream if shares is None else replace(stream, grouping=_custom(shares)))
    return replace(logical, topology=replace(logical.topology, streams=tuple(streams)))


def _task_shares(logical: LogicalPlan, stream: Stream, behaviour: JobBehaviour) -> Matrix | None:
    """Shares of sending × receiving tasks; tasks of one executor send alike, as the simulator asks.

    Nothing where they were not measured.
    """
    finest = _with_an_executor_a_task(logical, stream.target)
    shares = keyed_shares(finest, stream, behaviour)
    if shares is None:
        return None
    sizes = [len(executor.tasks) for executor in finest.executors_of(stream.source)]
    return np.repeat(shares, sizes, axis=0)


def _with_an_executor_a_task(logical: LogicalPlan, operator: str) -> LogicalPlan:
    executors: list[Executor] = []
    for one in logical.executors:
        split = one.operator == operator
        executors += [Executor(task, task, operator) for task in one.tasks] if split else [one]
    return replace(logical, executors=tuple(executors))


def _custom(shares: Matrix) -> Custom:
    even = shares / shares.sum(axis=1, keepdims=True)
    return Custom(matrix=tuple(tuple(row) for row in even.tolist()))


def _linked(plan: PhysicalPlan, network: Network) -> Cluster:
    """The cluster with the latencies between the plan's nodes; jitter is a part of them."""
    links = []
    for row, source in enumerate(plan.nodes):
        for column, target in enumerate(plan.nodes):
            if row != column:
                latency = float(network.seconds[row, column])
                jitter = min(math.sqrt(float(network.variance[row, column])), latency)
                links.append(
                    Link(
                        source=source,
                        target=target,
                        latency_ms=latency * MS_PER_SECOND,
                        jitter_ms=jitter * MS_PER_SECOND,
                    )
                )
    return replace(plan.cluster, links=tuple(links))


def _behaviours(parameters: Parameters) -> dict[str, Behaviour]:
    """Those of the job; where keys do not tell tasks apart, their differences are chance."""
    topology = parameters.flow.plan.logical.topology
    found = {
        name: one if depends_on_keys(topology, name) else replace(one, relative_service=None)
        for name, one in simulator_behaviours(parameters.behaviour).items()
    }
    if topology.has_ackers:
        found[ACKER] = Behaviour(costs=Costs(ack_ms=_acker_seconds(parameters) * MS_PER_SECOND))
    return found


def simulator_behaviours(behaviour: JobBehaviour) -> dict[str, Behaviour]:
    """By operator, distributions with the moments of a job's behaviour; ackers left out."""
    return {
        name: _behaviour(one, {key: k for key, k in behaviour.keys.items() if key.source == name})
        for name, one in behaviour.operators.items()
        if name != ACKER
    }


def _behaviour(operator: OperatorBehaviour, keys: Mapping[StreamKey, KeyDistribution]) -> Behaviour:
    window, relative = operator.window, operator.relative_service
    return Behaviour(
        service=_service(operator.emit),
        inputs={
            key: InputBehaviour(
                service=_service(one.service),
                # What a window gives comes with its trigger, not with a tuple.
                outputs={}
                if window is not None
                else {name: Fixed(mean=float(out.mean)) for name, out in one.outputs.items()},
            )
            for key, one in operator.inputs.items()
        },
        keys={key.name: distribution for key, distribution in keys.items()},
        bytes={name: Constant(value=float(size)) for name, size in operator.bytes.items()},
        window=None
        if window is None
        else WindowFunction(
            service=_service(window.service),
            per_tuple_ms=float(window.per_tuple_ms),
            outputs={name: Fixed(mean=float(mean)) for name, mean in window.outputs.items()},
        ),
        fails=float(operator.failed_share),
        relative_service=None if relative is None else tuple(relative.value.tolist()),
    )


def _service(service: ServiceTime) -> Service:
    return Service(cpu_ms=fit_distribution(service.cpu), wait_ms=fit_distribution(service.wait))


def _acker_seconds(parameters: Parameters) -> float:
    """Mean time on a core that an acker takes for a message."""
    span = as_slice(parameters.flow.plan.logical.spans[ACKER])
    tuples = parameters.works.tuples
    rates = tuples.per_second[span]
    return float(rates @ tuples.cpu[span] / rates.sum()) if rates.any() else 0.0


def _uneven(parameters: Parameters) -> list[str]:
    """Operators whose executors would emit differently for the same input."""
    names = [
        name
        for name, conversion in parameters.conversions.items()
        if any(np.ptp(one) > NOTEWORTHY * one.max() for one in conversion.per_input.values())
    ]
    return [
        f"executors of {name} would differ in what they emit for a tuple: the mean of all is"
        " simulated"
        for name in names
    ]
