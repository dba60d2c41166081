"""From what a job file declares to how operators behave: Job → JobBehaviour.

Means and variances of declared behaviours; shapes are left out, as formulas take moments only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from streamgauge.errors import Findings
from streamgauge.models.job_behaviour import (
    NONE,
    Array,
    Coefficient,
    Estimate,
    InputBehaviour,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
    ServiceTime,
    TimeMoments,
    WindowBehaviour,
)
from streamgauge.models.parameters import find_parameters
from streamgauge.profile.behaviour import (
    Behaviour,
    Costs,
    JoinByParity,
    JoinOnKey,
    Service,
    WindowFunction,
)
from streamgauge.profile.distribution import Distribution
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, Operator, OperatorKind, StreamKey, Topology
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine

DECLARED_NOTE = "figures are declared, not measured"
# A window's counts are even about as often as they are odd.
EITHER = 0.5


def describe_job(job: Job) -> JobBehaviour:
    """As `JobBehaviour.from_job`.

    How keys divide a stream over tasks follows from the workload, where that has rates.
    """
    _check_described(job)
    acked = job.topology.acked and job.configuration.acker_count > 0
    operators = {
        one.name: _operator(
            job.topology, one, job.behaviours.get(one.name, Behaviour()), acked=acked
        )
        for one in job.topology.operators
    }
    if acked and ACKER in job.behaviours:
        operators[ACKER] = _acker(job)
    declared = JobBehaviour(
        topology=job.topology,
        configuration=job.configuration,
        origin=Origin.DECLARED,
        operators=operators,
        keys={
            StreamKey(name, stream): keys
            for name, behaviour in job.behaviours.items()
            for stream, keys in behaviour.keys.items()
        },
        notes=(DECLARED_NOTE, *_left_out(job)),
        provenance={},
    )
    workload = job.workload
    if workload is None or any(one.per_second is None for one in workload.emissions):
        return declared
    return _with_task_weights(declared, workload)


def _check_described(job: Job) -> None:
    """Raise InvalidInput where a processor has no behaviour, so that nothing can be predicted."""
    findings = Findings()
    for operator in job.topology.operators:
        if operator.kind is OperatorKind.PROCESSOR and operator.name not in job.behaviours:
            findings.add(
                "behaviours",
                seen=f"no behaviour of {operator.name!r}",
                expected="a behaviour for every processor",
                remedy="describe it, or give a measured profile",
            )
    findings.raise_if_any()


def _left_out(job: Job) -> list[str]:
    """What models have no figure for."""
    notes = []
    bare = {name: replace(one.costs, ack_ms=0.0) for name, one in job.behaviours.items()}
    costly = [name for name, costs in bare.items() if costs != Costs()]
    if costly:
        notes.append(f"the cost of serialising is left out: {', '.join(costly)}")
    joins = [name for name, one in job.behaviours.items() if isinstance(one.join, JoinOnKey)]
    if joins:
        notes.append(f"every tuple is assumed to find its partners: {', '.join(joins)}")
    if any(one.replays for one in job.behaviours.values()):
        notes.append("replays of failed tuples are left out")
    return notes


def _estimate(value: float | Sequence[float] | Array) -> Estimate:
    return Estimate.of(value, Origin.DECLARED)


def _operator(
    topology: Topology, operator: Operator, behaviour: Behaviour, *, acked: bool
) -> OperatorBehaviour:
    keys = list(dict.fromkeys(stream.key for stream in topology.streams_into(operator.name)))
    emitted = list(dict.fromkeys(one.name for one in topology.streams_from(operator.name)))
    relative = behaviour.relative_service
    slowness = np.ones(operator.tasks) if relative is None else np.asarray(relative)
    # Sending an acknowledgement is part of the time that a tuple takes.
    ack_ms = behaviour.costs.ack_ms if acked else 0.0
    services = {key: behaviour.service_of(key) for key in keys}
    by_task = _relative_service(slowness, services.values(), ack_ms)
    # Tasks that take s times as long as all together, times the pooled time, have the declared
    # moments on the mean.
    spread = float(np.mean(slowness**2) / np.mean(by_task**2))
    even = Estimate.of(np.zeros(operator.tasks), Origin.ASSUMED)
    pool = {"factor": float(np.mean(slowness)), "more_ms": ack_ms, "variance_factor": spread}
    window = behaviour.window
    return OperatorBehaviour(
        inputs={
            key: InputBehaviour(
                service=_service(service, **pool),
                outputs={} if window else _coefficients(operator, behaviour, key, keys, emitted),
                task_weights=even,
            )
            for key, service in services.items()
        },
        emit=_service(
            behaviour.service,
            factor=float(np.mean(slowness)),
            variance_factor=float(np.mean(slowness**2)),
        )
        if operator.kind is OperatorKind.SOURCE
        else ServiceTime(),
        window=None if window is None else _window(behaviour, window, emitted),
        relative_service=None if np.allclose(by_task, 1.0, rtol=1e-9) else _estimate(by_task),
        task_weights=even,
        bytes={
            name: _estimate(behaviour.bytes[name].mean)
            for name in emitted
            if name in behaviour.bytes
        },
        failed_share=_estimate(behaviour.fails),
    )


def _relative_service(slowness: Array, services: Iterable[Service], ack_ms: float) -> Array:
    """Time of each task's tuples over that of all tasks, as if all its streams came alike."""
    took = sum((slowness * one.mean_ms + ack_ms for one in services), start=np.zeros_like(slowness))
    return took / took.mean() if took.all() else np.ones_like(slowness)


def _service(
    service: Service, *, factor: float = 1.0, more_ms: float = 0.0, variance_factor: float = 1.0
) -> ServiceTime:
    """The moments of a service so many times as long, with that much on a core on top."""
    return ServiceTime(
        cpu=_time(service.cpu_ms, factor, variance_factor, more_ms),
        wait=_time(service.wait_ms, factor, variance_factor),
    )


def _time(
    time: Distribution, factor: float, variance_factor: float, more_ms: float = 0.0
) -> TimeMoments:
    return TimeMoments.of(
        factor * time.mean + more_ms, variance_factor * time.variance, Origin.DECLARED
    )


def _coefficients(
    operator: Operator,
    behaviour: Behaviour,
    key: StreamKey,
    keys: Sequence[StreamKey],
    emitted: Sequence[str],
) -> dict[str, Coefficient]:
    # Of a join's inputs each has an equal part in what comes out.
    inputs = len(keys) if isinstance(behaviour.join, JoinOnKey) else 1
    counts = behaviour.outputs_of(key)
    means = {name: counts[name].mean / inputs for name in emitted if name in counts}
    return {
        name: Coefficient(mean=_estimate(mean), by_task=_estimate([mean] * operator.tasks))
        for name, mean in means.items()
    }


def _window(
    behaviour: Behaviour, window: WindowFunction, emitted: Sequence[str]
) -> WindowBehaviour:
    if isinstance(behaviour.join, JoinByParity):
        either = (behaviour.join.equal, behaviour.join.different)
        outputs = {name: EITHER if name in either else 0.0 for name in emitted}
    else:
        declared = {name: counts.mean for name, counts in window.outputs.items()}
        outputs = {name: declared.get(name, 0.0) for name in emitted}
    return WindowBehaviour(
        service=_service(window.service),
        per_tuple_ms=_estimate(window.per_tuple_ms),
        outputs={name: _estimate(mean) for name, mean in outputs.items()},
    )


def _acker(job: Job) -> OperatorBehaviour:
    """What ackers take for a message, all on a core."""
    behaviour = job.behaviours[ACKER]
    time = _time(behaviour.service.cpu_ms, 1.0, 1.0, behaviour.costs.ack_ms)
    message = InputBehaviour(service=ServiceTime(cpu=time), task_weights=NONE)
    streams = job.topology.with_ackers(job.configuration.acker_count).streams_into(ACKER)
    return OperatorBehaviour(inputs={stream.key: message for stream in streams}, task_weights=NONE)


def _with_task_weights(behaviour: JobBehaviour, workload: Workload) -> JobBehaviour:
    """The behaviour with what would come to each task under a workload."""
    rates = find_parameters(behaviour, _task_by_task(behaviour), workload).rates
    operators = dict(behaviour.operators)
    for operator in behaviour.topology.operators:
        if operator.kind is not OperatorKind.PROCESSOR:
            continue
        streams = behaviour.topology.streams_into(operator.name)
        arrived = {stream.key: rates.arrived[stream.subscription] for stream in streams}
        declared = operators[operator.name]
        operators[operator.name] = replace(
            declared,
            inputs={
                key: replace(one, task_weights=_estimate(_shares(arrived[key])))
                for key, one in declared.inputs.items()
            },
            task_weights=_estimate(sum(arrived.values(), start=np.zeros(operator.tasks))),
        )
    return replace(behaviour, operators=operators)


def _shares(rates: Array) -> Array:
    total = float(rates.sum())
    return rates / total if total > 0.0 else rates


def _task_by_task(behaviour: JobBehaviour) -> PhysicalPlan:
    """A plan whose executors are tasks, all in one worker."""
    configuration = Configuration(
        engine=behaviour.configuration.engine,
        executors={one.name: one.tasks for one in behaviour.topology.operators},
        ackers=0,
        settings=behaviour.configuration.settings,
    )
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(behaviour.topology, configuration, task_order=order)
    cluster = Cluster.uniform(nodes=1)
    return PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))
