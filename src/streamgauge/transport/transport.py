"""What an engine's transport is: how it moves tuples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.tuple_flow import Hops
from streamgauge.transport.hashing import KeyValue, task_index, two_choices
from streamgauge.transport.mechanics import Mechanics


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How one engine moves tuples.

    Attributes:
        hops: What lies on a connection of each type.
        task_order: How the engine numbers tasks.
        mechanics: The figures of its queues, threads, routing and limits under given settings.
        settings: The names of the settings that `mechanics` reads.
        task_of_key: From (key, number of tasks) to the task that gets the key with fields grouping.
        tasks_of_key: From (key, number of tasks) to the two tasks that partial-key grouping chooses
            between.
    """

    hops: Hops
    task_order: TaskOrder
    mechanics: Callable[[Mapping[str, Setting]], Mechanics]
    settings: Collection[str] = ()
    task_of_key: Callable[[Sequence[KeyValue], int], int] = task_index
    tasks_of_key: Callable[[Sequence[KeyValue], int], tuple[int, int]] = two_choices
