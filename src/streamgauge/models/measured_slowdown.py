"""Crowding taken off: service times as they would be with cores to spare.

The wall-clock time beyond a tuple's time on a core is waiting only where cores were to be had. On a
crowded source plan part of it is the crowd's, which another plan may not have (Cooper 2020,
section 5.5: errors of 20 to 300 %). The stretch of every thread of that plan is computed and taken
off; where the time on a core was not measured, it is the wall-clock time without the stretch.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.cpu_contention import remove_contention
from streamgauge.models.job_behaviour import (
    NO_TIME,
    Estimate,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
    ServiceTime,
    TimeMoments,
)
from streamgauge.models.source_plan import measured_plan
from streamgauge.models.threads import Machines, MeasuredThreads, Polling
from streamgauge.profile.figures import InputFigures, OutputFigures, TaskProfile
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind
from streamgauge.transport.engine import load_engine

# Less than this is not worth a word.
NOTEWORTHY = 1.05
# The stretch is known to about this part of it: less waiting than that may be none.
UNCERTAIN = 0.1
# What is left of a variance after a larger one was taken off says little beyond this.
WIDEST = 4.0
SECONDS_PER_MS = 1e-3


def take_off_crowding(behaviour: JobBehaviour, profile: Profile) -> JobBehaviour:
    """The behaviour without what other threads of the measured plan did to it.

    Args:
        behaviour: As measured.
        profile: What it was built from.
    """
    plan = _plan(profile)
    if plan is None:
        note = (
            "the profile does not say on which machines it was measured: slowdown by sharing is"
            " not corrected"
        )
        return replace(behaviour, notes=(note,))
    stretches, warnings = _stretches(profile, plan)
    operators = {
        name: _relieve(one, stretches.get(name, 1.0)) for name, one in behaviour.operators.items()
    }
    crowded = [f"{name} {by:.2f}" for name, by in stretches.items() if by > NOTEWORTHY]
    notes = list(warnings)
    if crowded:
        notes.append(
            "CPU times were measured on crowded machines and are corrected for it; the measured"
            f" times were longer by a factor: {', '.join(crowded)}"
        )
    return replace(
        behaviour,
        operators=operators,
        stretch={name: Estimate.of(by, Origin.MEASURED) for name, by in stretches.items()},
        notes=tuple(notes),
    )


def _plan(profile: Profile) -> PhysicalPlan | None:
    """Where the profile was measured, if it says so and its cluster has such nodes."""
    if profile.cluster is None or not profile.placement:
        return None
    try:
        return measured_plan(profile)
    except (InvalidInput, NotEnoughData):
        return None


def _stretches(profile: Profile, plan: PhysicalPlan) -> tuple[dict[str, float], tuple[str, ...]]:
    """By operator, how many times as long its time on a core took, its executors by their load."""
    place = {one.name: index for index, one in enumerate(plan.cluster.machines)}
    machine, loads, polls, owner = [], [], [], []
    for executor in plan.logical.executors:
        kind = plan.logical.topology.operator(executor.operator).kind
        start = plan.logical.tasks_of(executor.operator).start
        tasks = profile.tasks_of(executor.operator)
        own = [tasks[task - start] for task in executor.tasks if task - start in tasks]
        loads.append(_load(own, is_source=kind is OperatorKind.SOURCE))
        machine.append(place[plan.cluster.machine_of(plan.worker_of(executor).node).name])
        polls.append(kind is not OperatorKind.SOURCE)
        owner.append(executor.operator)
    rate, wall, cpu = np.asarray(loads).T
    mechanics = load_engine(plan.logical.configuration.engine).mechanics(
        plan.logical.configuration.settings
    )
    found = remove_contention(
        MeasuredThreads(
            machine=np.asarray(machine, dtype=np.int64),
            rate=rate,
            wall_seconds=wall,
            cpu_seconds=cpu,
            polls=np.asarray(polls),
        ),
        Machines(
            cores=np.asarray([one.cores for one in plan.cluster.machines]),
            background_cores=np.asarray([one.background_cores for one in plan.cluster.machines]),
        ),
        Polling(
            poll_cores=mechanics.poll_cores,
            poll_growth=mechanics.poll_growth,
            bolt_spin=mechanics.bolt_spin,
            bolt_sleep=mechanics.bolt_sleep,
        ),
    )
    stretches = {}
    for name in dict.fromkeys(owner):
        mine = [index for index, one in enumerate(owner) if one == name and rate[index] > 0.0]
        known = [index for index in mine if math.isfinite(found.stretch[index])]
        if known and name != ACKER:
            weights = rate[known]
            stretches[name] = float(weights @ found.stretch[known] / weights.sum())
    return stretches, found.warnings


def _load(tasks: list[TaskProfile], *, is_source: bool) -> tuple[float, float, float]:
    """Jobs a second of an executor, and wall-clock and CPU seconds of each; NaN: not measured."""
    figures: list[InputFigures | OutputFigures] = []
    for task in tasks:
        figures += task.outputs.values() if is_source else task.inputs.values()
    rates = [0.0 if one.per_second is None else one.per_second.value for one in figures]
    total = math.fsum(rates)
    if total <= 0.0:
        return 0.0, 0.0, 0.0
    walls, cpus = 0.0, 0.0
    for one, rate in zip(figures, rates, strict=True):
        cpu = math.nan if one.cpu is None else one.cpu.mean_ms.value * SECONDS_PER_MS
        wall = cpu if one.wall is None else one.wall.mean_ms.value * SECONDS_PER_MS
        # What has no time at all, as the engine's own messages, takes none.
        if one.wall is None and one.cpu is None:
            continue
        walls += rate * wall
        cpus += rate * cpu
    return total, walls / total, cpus / total


def _relieve(operator: OperatorBehaviour, stretch: float) -> OperatorBehaviour:
    """The operator with the stretch taken off all its times."""
    if stretch <= 1.0:
        return operator
    window = operator.window
    if window is not None:
        window = replace(window, service=_without(window.service, stretch))
    return replace(
        operator,
        inputs={
            key: replace(one, service=_without(one.service, stretch))
            for key, one in operator.inputs.items()
        },
        emit=_without(operator.emit, stretch),
        window=window,
    )


def _without(service: ServiceTime, stretch: float) -> ServiceTime:
    """Waiting less what the crowd added; where time on a core was not measured, that shortened."""
    cpu, wait = service.cpu, service.wait
    if cpu.mean_ms.origin is not Origin.MEASURED:
        return replace(service, cpu=_scaled(cpu, 1.0 / stretch))
    added = stretch - 1.0
    mean = float(wait.mean_ms) - added * float(cpu.mean_ms)
    if mean < UNCERTAIN * stretch * float(cpu.mean_ms):
        return replace(service, wait=NO_TIME)
    variance = float(wait.variance) - (stretch * stretch - 1.0) * float(cpu.variance)
    relieved = TimeMoments.of(
        mean,
        min(max(variance, 0.0), WIDEST * mean * mean),
        Origin.MEASURED,
        mean_error=math.hypot(wait.mean_ms.error, added * cpu.mean_ms.error),
    )
    return replace(service, wait=relieved)


def _scaled(time: TimeMoments, factor: float) -> TimeMoments:
    return replace(
        time,
        mean_ms=_multiplied(time.mean_ms, factor),
        variance=_multiplied(time.variance, factor * factor),
    )


def _multiplied(estimate: Estimate, factor: float) -> Estimate:
    return replace(
        estimate,
        value=estimate.value * factor,
        standard_error=estimate.standard_error * factor,
    )
