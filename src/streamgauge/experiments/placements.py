"""Who ran where in a repetition, and which tasks have one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from streamgauge.lake.records import PlacedExecutor
from streamgauge.topology.topology import Topology


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Executors where they were found.

    Attributes:
        executors: Who runs where.
        sources: Operators that emit on their own.
        sinks: Operators at the end.
    """

    executors: tuple[PlacedExecutor, ...]
    sources: tuple[str, ...]
    sinks: tuple[str, ...]

    @classmethod
    def of(cls, topology: Topology, executors: Sequence[PlacedExecutor]) -> Placement:
        """The placement of a topology's executors."""
        return cls(
            executors=tuple(executors),
            sources=tuple(operator.name for operator in topology.sources),
            sinks=tuple(operator.name for operator in topology.sinks),
        )

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """All worker processes."""
        return tuple(dict.fromkeys(one.worker for one in self.executors))

    def tasks_share_clock(self, source: int, sink: int) -> bool:
        """Whether two tasks read the time from one clock: that of their machine."""
        clock = self._clocks.get(source)
        return clock is not None and clock == self._clocks.get(sink)

    def operator_shares_clock(self, operator: str, task: int) -> bool:
        """Whether all tasks of an operator read the time from the clock of a task."""
        return self._clocks_of_operators.get(operator) == {self._clocks.get(task)}

    @cached_property
    def _clocks_of_operators(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for one in self.executors:
            found.setdefault(one.component, set()).add(self._clocks[one.first_task])
        return found

    @cached_property
    def _clocks(self) -> dict[int, str]:
        # Nodes on one machine share its clock; where machines are not known, a node has its own.
        return {
            task: one.machine or one.node
            for one in self.executors
            for task in range(one.first_task, one.last_task + 1)
        }
