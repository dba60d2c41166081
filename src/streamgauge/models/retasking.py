"""The behaviour of a job that is submitted anew, with other numbers of tasks.

What one task did differently from another says nothing about tasks that never ran: operators whose
number of tasks changes behave in all tasks as they did on the mean. Keys stay known, and where an
engine hashes them follows from the new number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamgauge.models.job_behaviour import (
    Coefficient,
    Estimate,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
)


def with_tasks(behaviour: JobBehaviour, tasks: Mapping[str, int]) -> JobBehaviour:
    """The behaviour with so many tasks of the operators named; others keep theirs."""
    topology = behaviour.topology
    changed = {
        one.name: tasks[one.name]
        for one in topology.operators
        if tasks.get(one.name, one.tasks) != one.tasks
    }
    if not changed:
        return behaviour
    operators = tuple(
        replace(one, tasks=changed.get(one.name, one.tasks)) for one in topology.operators
    )
    return replace(
        behaviour,
        topology=replace(topology, operators=operators),
        operators={
            name: _pool(own, changed[name]) if name in changed else own
            for name, own in behaviour.operators.items()
        },
        shares={
            key: shares
            for key, shares in behaviour.shares.items()
            if key[0] not in changed and key[2] not in changed
        },
        notes=(
            *behaviour.notes,
            f"with other numbers of tasks, those of {', '.join(changed)} are taken to be alike",
        ),
    )


def _pool(own: OperatorBehaviour, tasks: int) -> OperatorBehaviour:
    even = Estimate.of(np.zeros(tasks), Origin.ASSUMED)
    return replace(
        own,
        inputs={
            key: replace(
                one,
                outputs={name: _spread(count, tasks) for name, count in one.outputs.items()},
                task_weights=even,
            )
            for key, one in own.inputs.items()
        },
        relative_service=None,
        task_weights=even,
    )


def _spread(count: Coefficient, tasks: int) -> Coefficient:
    """The mean for every task."""
    mean = count.mean
    value = np.repeat(mean.value[..., np.newaxis], tasks, axis=-1)
    error = np.repeat(mean.standard_error[..., np.newaxis], tasks, axis=-1)
    return replace(count, by_task=Estimate(value=value, standard_error=error, origin=mean.origin))
