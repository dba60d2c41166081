"""Behaviour without the crowd: service times as they would be with cores to spare.

What the clock shows beyond a tuple's time on a core is waiting only where cores were to be had. On
a crowded source plan part of it is the crowd's, which another plan may not have (Cooper 2020,
section 5.5: errors of 20 to 300 %). The stretch of every thread of that plan is computed and taken
off; where the time on a core was not measured, it is what the clock shows without the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.contention import unstretched
from streamgauge.models.source_plan import measured_plan
from streamgauge.models.threads import Machines, MeasuredThreads, Polling
from streamgauge.profile.behaviour import NOTHING, Behaviour, Service
from streamgauge.profile.derive import derive_behaviours, from_moments
from streamgauge.profile.figures import InputFigures, OutputFigures, TaskProfile
from streamgauge.profile.profile import DECLARED, Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind
from streamgauge.transport.engine import load_engine

# Less than this is not worth a word.
NOTEWORTHY = 1.05
# The stretch is known to about this part of it: less waiting than that may be none.
UNCERTAIN = 0.1
# What is left of a variance after a larger one was taken off says little beyond this.
WIDEST = 4.0
_MS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncrowded:
    """Behaviours as they would be with cores to spare.

    Attributes:
        behaviours: By operator.
        notes: What was taken off, and what could not be.
    """

    behaviours: Mapping[str, Behaviour]
    notes: tuple[str, ...]


_latest: list[tuple[Profile, Uncrowded]] = []


def behaviours_of(profile: Profile) -> Uncrowded:
    """How the operators of a profile would behave with cores to spare.

    What was found for the latest profile is kept: from one, many plans are predicted.

    Raises:
        NotEnoughData: A processor has no measured service time at all.
    """
    for known, found in _latest:
        if known is profile:
            return found
    found = uncrowded(profile, derive_behaviours(profile))
    _latest[:] = [(profile, found)]
    return found


def uncrowded(profile: Profile, behaviours: Mapping[str, Behaviour]) -> Uncrowded:
    """The behaviours of a profile without what its plan's other threads did to them.

    Args:
        profile: What was measured, on which plan.
        behaviours: Derived from that.
    """
    if DECLARED in profile.notes:
        return Uncrowded(behaviours=behaviours, notes=profile.notes)
    plan = _plan(profile)
    if plan is None:
        note = "on which machines the profile was measured is not known: nothing was taken off"
        return Uncrowded(behaviours=behaviours, notes=(note,))
    stretches, warnings = _stretches(profile, plan)
    made = {
        name: _relieved(profile, name, behaviour, stretches.get(name, 1.0))
        for name, behaviour in behaviours.items()
    }
    crowded = {name: by for name, by in stretches.items() if by > NOTEWORTHY and name in made}
    notes = list(warnings)
    if crowded:
        listed = ", ".join(f"{name} {by:.2f}" for name, by in crowded.items())
        notes.append(
            f"time on a core took longer where it was measured, and is put right: {listed}"
        )
    return Uncrowded(behaviours=made, notes=tuple(notes))


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
    machine, rate, wall, cpu, polls, owner = [], [], [], [], [], []
    for executor in plan.logical.executors:
        kind = plan.logical.topology.operator(executor.operator).kind
        start = plan.logical.tasks_of(executor.operator).start
        tasks = profile.tasks_of(executor.operator)
        seen = [tasks[task - start] for task in executor.tasks if task - start in tasks]
        load = _load(seen, is_source=kind is OperatorKind.SOURCE)
        machine.append(place[plan.cluster.machine_of(plan.worker_of(executor).node).name])
        rate.append(load.per_second)
        wall.append(load.wall)
        cpu.append(load.cpu)
        polls.append(kind is not OperatorKind.SOURCE)
        owner.append(executor.operator)
    mechanics = load_engine(plan.logical.configuration.engine).mechanics(
        plan.logical.configuration.settings
    )
    found = unstretched(
        MeasuredThreads(
            machine=np.asarray(machine, dtype=np.int64),
            rate=np.asarray(rate),
            wall_seconds=np.asarray(wall),
            cpu_seconds=np.asarray(cpu),
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
            weights = np.asarray([rate[index] for index in known])
            stretches[name] = float(weights @ found.stretch[known] / weights.sum())
    return stretches, found.warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """What an executor was seen to do: jobs a second, and seconds of each; NaN: not measured."""

    per_second: float
    wall: float
    cpu: float


def _load(tasks: list[TaskProfile], *, is_source: bool) -> _Load:
    figures: list[InputFigures | OutputFigures] = []
    for task in tasks:
        figures += task.outputs.values() if is_source else task.inputs.values()
    rates = [0.0 if one.per_second is None else one.per_second.value for one in figures]
    total = math.fsum(rates)
    if total <= 0.0:
        return _Load(per_second=0.0, wall=0.0, cpu=0.0)
    walls, cpus = 0.0, 0.0
    for one, rate in zip(figures, rates, strict=True):
        cpu = math.nan if one.cpu is None else one.cpu.mean_ms.value * _MS
        wall = cpu if one.wall is None else one.wall.mean_ms.value * _MS
        # What has no time at all, as the engine's own messages, takes none.
        if one.wall is None and one.cpu is None:
            continue
        walls += rate * wall
        cpus += rate * cpu
    return _Load(per_second=total, wall=walls / total, cpu=cpus / total)


def _relieved(profile: Profile, name: str, behaviour: Behaviour, stretch: float) -> Behaviour:
    """The behaviour with the stretch taken off."""
    if stretch <= 1.0:
        return behaviour
    tasks = list(profile.tasks_of(name).values())
    inputs = {
        key: one
        if one.service is None
        else replace(
            one,
            service=_without(
                one.service,
                stretch,
                measured=any(key in task.inputs and task.inputs[key].cpu for task in tasks),
            ),
        )
        for key, one in behaviour.inputs.items()
    }
    emits = any(one.cpu for task in tasks for one in task.outputs.values())
    window = behaviour.window
    if window is not None:
        measured = any(task.window_cpu for task in tasks)
        window = replace(window, service=_without(window.service, stretch, measured=measured))
    return replace(
        behaviour,
        service=_without(behaviour.service, stretch, measured=emits),
        inputs=inputs,
        window=window,
    )


def _without(service: Service, stretch: float, *, measured: bool) -> Service:
    """Waiting less what the crowd added; where time on a core was not measured, that shortened."""
    if not measured:
        return replace(service, cpu_ms=service.cpu_ms.scaled(1.0 / stretch))
    cpu, wait = service.cpu_ms, service.wait_ms
    mean = wait.mean - (stretch - 1.0) * cpu.mean
    if mean < UNCERTAIN * stretch * cpu.mean:
        return replace(service, wait_ms=NOTHING)
    variance = wait.variance - (stretch * stretch - 1.0) * cpu.variance
    return replace(
        service, wait_ms=from_moments(mean, min(max(variance, 0.0), WIDEST * mean * mean))
    )
