"""Behaviour for a plan whose operators have another number of tasks than were measured.

Storm fixes tasks when a topology is submitted, so such a plan is that of a topology submitted anew.
What differs from task to task was seen for tasks that will not be: it is left out. Tasks are then
alike, and tuples go to them as groupings say: keys that were traced by the engine's hash, others
evenly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamgauge.models.job_behaviour import (
    Coefficient,
    Estimate,
    InputBehaviour,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
)
from streamgauge.topology.topology import OperatorKind, Topology


def find_changed_tasks(known: Topology, planned: Topology) -> dict[str, tuple[int, int]]:
    """By operator of both, how many tasks it had, and will have, where that differs."""
    tasks = {one.name: one.tasks for one in known.operators if one.kind is not OperatorKind.ACKER}
    return {
        one.name: (tasks[one.name], one.tasks)
        for one in planned.operators
        if one.name in tasks and one.tasks != tasks[one.name]
    }


def fit_tasks(behaviour: JobBehaviour, planned: Topology) -> JobBehaviour:
    """The behaviour with as many tasks as a plan's topology has; the same where that is so."""
    changed = find_changed_tasks(behaviour.topology, planned)
    if not changed:
        return behaviour
    counts = {name: after for name, (_, after) in changed.items()}
    topology = replace(
        behaviour.topology,
        operators=tuple(
            replace(one, tasks=counts.get(one.name, one.tasks))
            for one in behaviour.topology.operators
        ),
    )
    return replace(
        behaviour,
        topology=topology,
        operators={
            name: _make_alike(one, counts[name]) if name in counts else one
            for name, one in behaviour.operators.items()
        },
        shares={
            (source, stream, target): shares
            for (source, stream, target), shares in behaviour.shares.items()
            if source not in counts and target not in counts
        },
        configuration=replace(behaviour.configuration, executors=_fit(behaviour, counts)),
    )


def _fit(behaviour: JobBehaviour, counts: Mapping[str, int]) -> dict[str, int]:
    """Executors as measured, but no more than there are tasks."""
    executors = behaviour.configuration.executors
    return {name: min(number, counts.get(name, number)) for name, number in executors.items()}


def _make_alike(operator: OperatorBehaviour, tasks: int) -> OperatorBehaviour:
    return replace(
        operator,
        inputs={key: _pool(one, tasks) for key, one in operator.inputs.items()},
        relative_service=None,
        task_weights=_zeros(tasks),
    )


def _pool(one: InputBehaviour, tasks: int) -> InputBehaviour:
    outputs = {
        name: Coefficient(
            mean=coefficient.mean,
            by_task=Estimate.of([float(coefficient.mean)] * tasks, Origin.ASSUMED),
        )
        for name, coefficient in one.outputs.items()
    }
    return replace(one, outputs=outputs, task_weights=_zeros(tasks))


def _zeros(tasks: int) -> Estimate:
    return Estimate.of(np.zeros(tasks).tolist(), Origin.ASSUMED)
