"""What a job's description says, in the shape of a profile: for jobs that do not exist yet.

The way back from `derive_behaviours`: means and variabilities of declared behaviours, task by
task, so that every model that predicts from a profile predicts from a description too. Shapes are
left out, as formulas take moments only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.models.flow import window_tuples
from streamgauge.models.parameters import Parameters, parameters_of
from streamgauge.profile.behaviour import (
    Behaviour,
    Costs,
    JoinByParity,
    JoinOnKey,
    Service,
    WindowFunction,
)
from streamgauge.profile.distribution import squared_variation
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.job import Job
from streamgauge.profile.profile import DECLARED, Profile
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, Operator, OperatorKind, StreamKey, Topology
from streamgauge.transport.engine import load_engine

Vector = NDArray[np.float64]

# A window's counts are even about as often as they are odd.
EITHER = 0.5


def declared_profile(job: Job) -> Profile:
    """A profile with what `job` declares; no figure has samples.

    Rates are those of the workload, where it has any.

    Raises:
        InvalidInput: A processor has no behaviour.
    """
    check_described(job)
    acked = job.topology.acked and job.configuration.acker_count > 0
    tasks: dict[TaskId, TaskProfile] = {}
    for operator in job.topology.operators:
        behaviour = job.behaviours.get(operator.name, Behaviour())
        # Whoever measures finds an acknowledgement's sending in the time that a tuple takes.
        ack_ms = behaviour.costs.ack_ms if acked else 0.0
        for place in range(operator.tasks):
            tasks[TaskId(operator.name, place)] = _task(
                job.topology, operator, behaviour, place, ack_ms
            )
    profile = Profile(
        topology=job.topology,
        configuration=job.configuration,
        cluster=job.cluster,
        tasks={**tasks, **_acker_tasks(job)},
        keys={
            StreamKey(name, stream): keys
            for name, one in job.behaviours.items()
            for stream, keys in one.keys.items()
        },
        notes=(DECLARED, *_left_out(job)),
    )
    return profile if job.workload is None else _rated(profile, job)


def check_described(job: Job) -> None:
    """Raise InvalidInput where a processor has no behaviour, so that nothing can be predicted."""
    findings = Findings()
    for operator in job.topology.operators:
        if operator.kind is OperatorKind.PROCESSOR and operator.name not in job.behaviours:
            findings.add(
                "behaviours",
                seen=f"nothing on {operator.name!r}",
                expected="a behaviour for every processor",
                remedy="describe it, or give a profile that was measured",
            )
    findings.raise_if_any()


def _left_out(job: Job) -> list[str]:
    """What a profile has no figure for."""
    notes = []
    bare = {name: replace(one.costs, ack_ms=0.0) for name, one in job.behaviours.items()}
    costly = [name for name, costs in bare.items() if costs != Costs()]
    if costly:
        notes.append(f"what serialising costs is left out: {', '.join(costly)}")
    joins = [name for name, one in job.behaviours.items() if isinstance(one.join, JoinOnKey)]
    if joins:
        notes.append(f"every tuple is taken to find its partners: {', '.join(joins)}")
    if any(one.replays for one in job.behaviours.values()):
        notes.append("no tuple is taken to be emitted again")
    return notes


def _task(
    topology: Topology, operator: Operator, behaviour: Behaviour, place: int, ack_ms: float
) -> TaskProfile:
    speed = 1.0 if behaviour.relative_service is None else behaviour.relative_service[place]
    received = dict.fromkeys(stream.key for stream in topology.streams_into(operator.name))
    emitted = dict.fromkeys(stream.name for stream in topology.streams_from(operator.name))
    window = behaviour.window
    return TaskProfile(
        inputs={
            key: replace(
                _input(_times(behaviour.service_of(key), speed, ack_ms)),
                failed_share=Figure(value=behaviour.fails) if behaviour.fails else None,
            )
            for key in received
        },
        outputs={
            name: _output(operator, behaviour, name, list(received), speed) for name in emitted
        },
        window=None if window is None else _times(window.service).wall,
        window_cpu=None if window is None else _times(window.service).cpu,
    )


def _output(
    operator: Operator, behaviour: Behaviour, name: str, received: list[StreamKey], speed: float
) -> OutputFigures:
    size = behaviour.bytes.get(name)
    known = OutputFigures(bytes=None if size is None else Figure(value=size.mean))
    if operator.kind is OperatorKind.SOURCE:
        times = _times(behaviour.service, speed)
        return replace(known, wall=times.wall, cpu=times.cpu)
    if behaviour.window is not None:
        return replace(known, per_trigger=_per_trigger(behaviour, behaviour.window, name))
    # Of a join's inputs each has an equal part in what comes out.
    inputs = len(received) if isinstance(behaviour.join, JoinOnKey) else 1
    return replace(
        known,
        coefficients={
            key: Figure(value=counts[name].mean / inputs)
            for key in received
            if name in (counts := behaviour.outputs_of(key))
        },
    )


def _per_trigger(behaviour: Behaviour, window: WindowFunction, name: str) -> Figure:
    if isinstance(behaviour.join, JoinByParity):
        return Figure(
            value=EITHER if name in (behaviour.join.equal, behaviour.join.different) else 0
        )
    return Figure(value=window.outputs[name].mean if name in window.outputs else 0.0)


def _acker_tasks(job: Job) -> dict[TaskId, TaskProfile]:
    """What ackers take for a message, where that is declared."""
    tracked = job.topology.with_ackers(job.configuration.acker_count)
    if not tracked.has_ackers or ACKER not in job.behaviours:
        return {}
    behaviour = job.behaviours[ACKER]
    figures = _input(_times(behaviour.service, 1.0, behaviour.costs.ack_ms))
    keys = {stream.key for stream in tracked.streams_into(ACKER)}
    task = TaskProfile(inputs=dict.fromkeys(sorted(keys), figures))
    return {TaskId(ACKER, place): task for place in range(tracked.operator(ACKER).tasks)}


class _Times(NamedTuple):
    """What a tuple or a trigger takes by the clock and on a core."""

    wall: TimeFigures
    cpu: TimeFigures


def _times(service: Service, speed: float = 1.0, more_ms: float = 0.0) -> _Times:
    """Of a task so many times as slow, with that much on top."""
    cpu, wait = service.cpu_ms, service.wait_ms
    square = speed * speed
    return _Times(
        wall=_time(speed * service.mean_ms + more_ms, square * (cpu.variance + wait.variance)),
        cpu=_time(speed * cpu.mean + more_ms, square * cpu.variance),
    )


def _input(times: _Times) -> InputFigures:
    return InputFigures(wall=times.wall, cpu=times.cpu)


def _time(mean_ms: float, variance: float) -> TimeFigures:
    scv = squared_variation(mean_ms, variance)
    return TimeFigures(mean_ms=Figure(value=mean_ms), scv=Figure(value=scv))


def _rated(profile: Profile, job: Job) -> Profile:
    """The profile with the rates of the job's workload, and what windows of that size cost."""
    assert job.workload is not None
    if any(one.per_second is None for one in job.workload.emissions):
        return profile
    found = parameters_of(profile, _task_by_task(profile), job.workload)
    seen = _Seen(parameters=found)
    tasks = {
        one: task if one.operator == ACKER else seen.task(one, task, job.behaviours)
        for one, task in profile.tasks.items()
    }
    return replace(profile, tasks=tasks)


def _task_by_task(profile: Profile) -> PhysicalPlan:
    """A plan whose executors are tasks, all at one place."""
    configuration = Configuration(
        engine=profile.configuration.engine,
        executors={one.name: one.tasks for one in profile.topology.operators},
        ackers=0,
        settings=profile.configuration.settings,
    )
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(profile.topology, configuration, task_order=order)
    cluster = Cluster.uniform(nodes=1)
    return PhysicalPlan.dealt(logical, cluster, cluster.slots, [0] * len(logical.executors))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What each task would be seen to get and give."""

    parameters: Parameters

    def task(
        self, one: TaskId, task: TaskProfile, behaviours: Mapping[str, Behaviour]
    ) -> TaskProfile:
        """The figures of a task with its rates."""
        topology, rates = self.parameters.flow.plan.logical.topology, self.parameters.rates
        arrived = {
            stream.key: rates.arrived[stream.subscription]
            for stream in topology.streams_into(one.operator)
        }
        inputs = {
            key: replace(
                figures,
                per_second=Figure(value=float(arrived[key][one.place])),
                share=_part(arrived[key], one.place),
            )
            for key, figures in task.inputs.items()
        }
        outputs = {}
        for name, figures in task.outputs.items():
            emitted = rates.emitted[StreamKey(one.operator, name)]
            outputs[name] = replace(
                figures,
                per_second=Figure(value=float(emitted[one.place])),
                share=_part(emitted, one.place),
            )
        rated = replace(task, inputs=inputs, outputs=outputs)
        if one.operator not in rates.triggers:
            return rated
        window = behaviours[one.operator].window
        assert window is not None
        return self._windowed(one, rated, window)

    def _windowed(self, one: TaskId, task: TaskProfile, window: WindowFunction) -> TaskProfile:
        """With the tuples of a window, and what they add to its trigger."""
        parameters = self.parameters
        size = window_tuples(
            parameters.flow,
            parameters.flow.plan.logical.topology.operator(one.operator),
            parameters.rates.arrived,
            parameters.conversions[one.operator],
        )[one.place]
        times = _times(window.service, 1.0, float(size) * window.per_tuple_ms)
        triggers = parameters.rates.triggers[one.operator][one.place]
        return replace(
            task,
            window=times.wall,
            window_cpu=times.cpu,
            window_tuples=Figure(value=float(size)),
            triggers_per_second=Figure(value=float(triggers)),
        )


def _part(rates: Vector, place: int) -> Figure | None:
    total = float(rates.sum())
    return Figure(value=float(rates[place]) / total) if total > 0.0 else None
