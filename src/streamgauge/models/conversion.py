"""What goes out for what comes in: coefficients of every proposed executor.

Cooper 2020, sections 4.6 and 4.7. A task's outputs are linear in its inputs (eq. 4.9). Tasks that
differ, because keys decide what they get, are weighted by their part of their executor's input
(eq. 4.10 and 4.11), which is exact; the others share the mean of all. A window's outputs come with
its triggers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.routing import depends_on_keys, task_parts
from streamgauge.profile.behaviour import Behaviour
from streamgauge.profile.figures import Figure, TaskProfile
from streamgauge.profile.pooling import mean_of
from streamgauge.profile.profile import Profile
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conversion:
    """What the executors of one operator emit.

    Attributes:
        per_input: Tuples out per tuple in, by input stream and name of the output: a number for
            each executor.
        per_trigger: Tuples out per window that fires, by name of the output.
        task_parts: Of an operator with windows, which belong to tasks: for each executor the part
            of its input that each of its tasks gets.
    """

    per_input: Mapping[tuple[StreamKey, str], Vector]
    per_trigger: Mapping[str, float] = field(default_factory=FrozenDict)
    task_parts: tuple[Vector, ...] = ()

    @property
    def busy_tasks(self) -> Vector:
        """How many tasks of each executor get anything."""
        return np.asarray([float(np.count_nonzero(parts)) for parts in self.task_parts])


def conversion_of(
    logical: LogicalPlan,
    operator: str,
    profile: Profile,
    behaviour: Behaviour,
    mechanics: Mechanics,
) -> Conversion:
    """The coefficients of an operator's executors in a proposed plan.

    Args:
        logical: The proposed executors.
        operator: A processor.
        profile: What was measured.
        behaviour: The operator's, derived from that; its windows are taken from here.
        mechanics: Of the proposed plan's engine.
    """
    if behaviour.window is not None:
        outputs = behaviour.window.outputs
        return Conversion(
            per_input={},
            per_trigger={name: counts.mean for name, counts in outputs.items()},
            task_parts=task_parts(logical, operator, profile, mechanics),
        )
    tasks = profile.tasks_of(operator)
    weights = input_weights(logical, operator, profile)
    found: dict[tuple[StreamKey, str], Vector] = {}
    for key in dict.fromkeys(stream.key for stream in logical.topology.streams_into(operator)):
        for name in dict.fromkeys(one.name for one in logical.topology.streams_from(operator)):
            by_task = _coefficients(tasks, key, name)
            if by_task:
                found[key, name] = _weighted(by_task, weights.get(key), logical, operator)
    return Conversion(per_input=found)


def input_weights(
    logical: LogicalPlan, operator: str, profile: Profile
) -> dict[StreamKey, list[dict[int, float]]]:
    """By input stream and executor, the weight of each of its tasks: ETIP (eq. 4.11).

    Nothing for an operator whose tasks are alike.
    """
    if not depends_on_keys(logical.topology, operator):
        return {}
    tasks, start = profile.tasks_of(operator), logical.tasks_of(operator).start
    found = {}
    for key in dict.fromkeys(stream.key for stream in logical.topology.streams_into(operator)):
        parts = {place: _part(task, key) for place, task in tasks.items()}
        found[key] = [
            _shared({task - start: parts.get(task - start, 0.0) for task in executor.tasks})
            for executor in logical.executors_of(operator)
        ]
    return found


def _part(task: TaskProfile, key: StreamKey) -> float:
    """The task's part of its operator's input, or what is proportional to it."""
    figures = task.inputs.get(key)
    if figures is None:
        return 0.0
    known = figures.share if figures.share is not None else figures.per_second
    return 0.0 if known is None else known.value


def _shared(parts: dict[int, float]) -> dict[int, float]:
    """Parts of one; even where nothing is known to come (0/0)."""
    total = math.fsum(parts.values())
    if total <= 0.0:
        return dict.fromkeys(parts, 1.0 / len(parts))
    return {place: part / total for place, part in parts.items()}


def _coefficients(tasks: Mapping[int, TaskProfile], key: StreamKey, name: str) -> dict[int, Figure]:
    found = {}
    for place, task in tasks.items():
        figures = task.outputs.get(name)
        if figures is not None and key in figures.coefficients:
            found[place] = figures.coefficients[key]
    return found


def _weighted(
    by_task: Mapping[int, Figure],
    weights: list[dict[int, float]] | None,
    logical: LogicalPlan,
    operator: str,
) -> Vector:
    mean = _mean(by_task.values())
    executors = logical.executors_of(operator)
    if weights is None:
        return np.full(len(executors), mean)
    return np.asarray(
        [
            math.fsum(
                weight * (by_task[place].value if place in by_task else mean)
                for place, weight in one.items()
            )
            for one in weights
        ]
    )


def _mean(figures: Iterable[Figure]) -> float:
    pooled = mean_of(list(figures))
    assert pooled is not None
    return pooled.value
