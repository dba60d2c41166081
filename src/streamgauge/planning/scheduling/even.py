"""The even scheduler: executors dealt round-robin over workers, workers over nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, zip_longest

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule, TaskNumbering
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan


class SlotOrder(StrEnum):
    """In which order slots are taken.

    BY_SLOT: every node's first slot, then every node's second, …; nodes as the cluster lists
        them (Pagliari 2020, section 2.2).
    MOST_FREE_FIRST: the same, but nodes with more free slots come first, equal ones by name
        (Storm 2.x).
    """

    BY_SLOT = "by-slot"
    MOST_FREE_FIRST = "most-free-first"

    def arrange(self, cluster: Cluster, taken: Iterable[Slot] = ()) -> tuple[Slot, ...]:
        """The free slots of `cluster`, interleaved over its nodes."""
        occupied = set(taken)
        by_node = [[slot for slot in node.slots if slot not in occupied] for node in cluster.nodes]
        if self is SlotOrder.MOST_FREE_FIRST:
            by_node = sorted(filter(None, by_node), key=lambda free: (-len(free), free[0].node))
            return _interleaved(by_node)
        free = set(chain.from_iterable(by_node))
        return tuple(
            slot for slot in _interleaved([node.slots for node in cluster.nodes]) if slot in free
        )


def _interleaved(by_node: Sequence[Sequence[Slot]]) -> tuple[Slot, ...]:
    """The first slots of all nodes, then the second slots of all, and so on."""
    rounds = zip_longest(*by_node)
    return tuple(slot for slot in chain.from_iterable(rounds) if slot is not None)


class Cursor(StrEnum):
    """Where the deal goes on with the next operator.

    CONTINUE: at the worker after the last one served (Storm).
    RESTART: at the first worker again.
    """

    CONTINUE = "continue"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvenScheduler(TaskNumbering):
    """Storm's default: deals executors in the order of their tasks, looks at nothing else.

    Attributes:
        slot_order: In which order slots become workers.
        cursor: Whether the deal continues from operator to operator.
    """

    slot_order: SlotOrder = SlotOrder.MOST_FREE_FIRST
    cursor: Cursor = Cursor.CONTINUE
    name: str = "even"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            f"deals executors round-robin over workers: tasks {self.task_order}, "
            f"slots {self.slot_order}, cursor {self.cursor}s"
        )

    def schedule(self, request: PlacementRequest) -> Schedule:
        """Every executor in the next worker of the round; what is expected is not looked at."""
        cluster, configuration = request.cluster, request.configuration
        logical = self.number_tasks(request)
        slots = self.slot_order.arrange(cluster, request.taken)
        if not slots:
            raise Infeasible(
                f"no free slot for {request.topology.name!r}: all {len(cluster.slots)} slots of "
                "the cluster are taken; add nodes or slots, or stop another job"
            )
        chosen = slots[: configuration.workers]
        plan = PhysicalPlan.from_slots(logical, cluster, chosen, self._deal(logical, len(chosen)))
        warnings = _warnings(configuration, len(slots), len(plan.workers))
        return Schedule(plan=plan, warnings=tuple(warnings))

    def _deal(self, logical: LogicalPlan, workers: int) -> list[int]:
        if self.cursor is Cursor.CONTINUE:
            return [index % workers for index in range(len(logical.executors))]
        spans = logical.spans
        return [
            (index - spans[executor.operator].start) % workers
            for index, executor in enumerate(logical.executors)
        ]


def _warnings(configuration: Configuration, slots: int, used: int) -> Iterable[str]:
    if slots < configuration.workers:
        yield (
            f"{configuration.workers} workers were asked for and {slots} slots are free: "
            f"using {slots}; add nodes or slots, or ask for fewer workers"
        )
    if used < min(slots, configuration.workers):
        yield (
            f"{used} of {min(slots, configuration.workers)} workers get an executor; "
            "the others would idle and are left out"
        )
