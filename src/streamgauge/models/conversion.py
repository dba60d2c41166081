"""What goes out for what comes in: coefficients of every proposed executor.

Cooper 2020, sections 4.6 and 4.7. A task's outputs are linear in its inputs (eq. 4.9). Tasks that
differ, because keys decide what they get, are weighted by their part of their executor's input
(eq. 4.10 and 4.11), which is exact; the others share the mean of all. A window's outputs come with
its triggers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.routing import depends_on_keys, task_parts
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
    logical: LogicalPlan, operator: str, behaviour: JobBehaviour, mechanics: Mechanics
) -> Conversion:
    """The coefficients of an operator's executors in a proposed plan.

    Args:
        logical: The proposed executors.
        operator: A processor.
        behaviour: Of the job.
        mechanics: Of the proposed plan's engine.
    """
    own = behaviour.operators[operator]
    if own.window is not None:
        return Conversion(
            per_input={},
            per_trigger={name: float(mean) for name, mean in own.window.outputs.items()},
            task_parts=task_parts(logical, operator, behaviour, mechanics),
        )
    weights = input_weights(logical, operator, behaviour)
    count = len(logical.executors_of(operator))
    found: dict[tuple[StreamKey, str], Vector] = {}
    for key, one in own.inputs.items():
        for name, coefficient in one.outputs.items():
            found[key, name] = (
                sum_by_executor(logical, operator, weights[key] * coefficient.by_task.value)
                if key in weights
                else np.full(count, float(coefficient.mean))
            )
    return Conversion(per_input=found)


def input_weights(
    logical: LogicalPlan, operator: str, behaviour: JobBehaviour
) -> dict[StreamKey, Vector]:
    """By input stream, the weight of each task in its executor: ETIP (eq. 4.11).

    Those of an executor sum to one. Nothing for an operator whose tasks are alike.
    """
    if not depends_on_keys(logical.topology, operator):
        return {}
    sizes = [len(executor.tasks) for executor in logical.executors_of(operator)]
    found = {}
    for key, one in behaviour.operators[operator].inputs.items():
        parts = one.task_weights.value
        totals = np.repeat(sum_by_executor(logical, operator, parts), sizes)
        # Even where nothing is known to come (0/0).
        even = 1.0 / np.repeat(np.asarray(sizes, dtype=np.float64), sizes)
        found[key] = np.divide(parts, totals, out=even, where=totals > 0.0)
    return found


def sum_by_executor(logical: LogicalPlan, operator: str, by_task: Vector) -> Vector:
    """The sum over the tasks of each executor of an operator."""
    start = logical.tasks_of(operator).start
    first = [executor.first_task - start for executor in logical.executors_of(operator)]
    return np.asarray(np.add.reduceat(by_task, first))
