"""Profiles that say what a job file declares, as if somebody had measured exactly that."""

from dataclasses import replace

import numpy as np

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.profile.behaviour import Behaviour
from streamgauge.profile.distribution import compute_scv
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.profile import Profile
from streamgauge.topology import Cluster, Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, StreamKey


def described_profile(job) -> Profile:
    """A profile of a job without joins and acknowledgements that cost time."""
    rates = _rates(job)
    tasks = {}
    for operator in job.topology.operators:
        behaviour = job.behaviours.get(operator.name, Behaviour())
        for place in range(operator.tasks):
            tasks[TaskId(operator.name, place)] = _task(job, operator, behaviour, place, rates)
    return Profile(
        topology=job.topology,
        configuration=job.configuration,
        cluster=job.cluster,
        tasks=tasks,
        keys={
            StreamKey(name, stream): keys
            for name, one in job.behaviours.items()
            for stream, keys in one.keys.items()
        },
    )


def _rates(job):
    """What comes to tasks and leaves them, an executor a task."""
    configuration = Configuration(
        engine=job.configuration.engine,
        executors={one.name: one.tasks for one in job.topology.operators},
        ackers=0,
        settings=job.configuration.settings,
    )
    logical = LogicalPlan.of(job.topology, configuration)
    cluster = Cluster.uniform(nodes=1)
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))
    return find_parameters(JobBehaviour.from_job(job), plan, job.workload).rates


def _task(job, operator, behaviour, place, rates):
    inputs, outputs = {}, {}
    slow = 1.0 if behaviour.relative_service is None else behaviour.relative_service[place]
    for stream in job.topology.streams_into(operator.name):
        came = rates.arrived[stream.subscription]
        figures = _figures(behaviour.service_of(stream.key), slow)
        inputs[stream.key] = replace(figures, **_rate(came, place))
    for stream in job.topology.streams_from(operator.name):
        size = behaviour.bytes.get(stream.name)
        output = OutputFigures(
            bytes=None if size is None else Figure(value=size.mean),
            **_rate(rates.emitted[stream.key], place),
        )
        if operator.kind is OperatorKind.SOURCE:
            times = _figures(behaviour.service, slow)
            output = replace(output, wall=times.wall, cpu=times.cpu)
        elif behaviour.window is None:
            means = {
                key: counts[stream.name].mean
                for key in inputs
                if stream.name in (counts := behaviour.outputs_of(key))
            }
            coefficients = {key: Figure(value=mean) for key, mean in means.items()}
            output = replace(output, coefficients=coefficients)
        else:
            counts = behaviour.window.outputs
            mean = counts[stream.name].mean if stream.name in counts else 0.0
            output = replace(output, per_trigger=Figure(value=mean))
        outputs[stream.name] = output
    trigger = None if behaviour.window is None else _figures(behaviour.window.service, 1.0)
    return TaskProfile(
        inputs=inputs,
        outputs=outputs,
        window=None if trigger is None else trigger.wall,
        window_cpu=None if trigger is None else trigger.cpu,
    )


def _figures(service, slow):
    cpu, wait = service.cpu_ms, service.wait_ms
    return InputFigures(
        wall=_time(slow * service.mean_ms, slow**2 * (cpu.variance + wait.variance)),
        cpu=_time(slow * cpu.mean, slow**2 * cpu.variance),
    )


def _time(mean, variance):
    scv = compute_scv(mean, variance)
    return TimeFigures(mean_ms=Figure(value=mean), scv=Figure(value=scv))


def _rate(rates, place):
    total = float(np.sum(rates))
    share = Figure(value=float(rates[place]) / total) if total > 0.0 else None
    return {"per_second": Figure(value=float(rates[place])), "share": share}
