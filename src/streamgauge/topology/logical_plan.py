"""Logical plans: the executors of a topology and the tasks each runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from streamgauge.errors import Findings, InvalidInput
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import check_known, check_whole
from streamgauge.topology.frozen import freeze
from streamgauge.topology.topology import ACKER, Operator, Topology

_LABEL = re.compile(r"(?P<operator>.+)\[(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?\]")


class TaskOrder(StrEnum):
    """How an engine numbers the tasks of a topology.

    DECLARED: operators as declared, ackers last (the thesis's figures).
    ALPHABETICAL: operators by name as Java compares text (Storm 2.x), so that ``__acker``
        comes before lower-case names and after upper-case ones.
    """

    DECLARED = "declared"
    ALPHABETICAL = "alphabetical"

    def arrange(self, topology: Topology) -> tuple[str, ...]:
        """The operator names of `topology` in this order."""
        names = topology.operator_names
        if self is TaskOrder.ALPHABETICAL:
            return tuple(sorted(names, key=lambda name: name.encode("utf-16-be")))
        return tuple(sorted(names, key=lambda name: name == ACKER))


@dataclass(frozen=True, slots=True, order=True)
class Executor:
    """A thread that runs a contiguous range of one operator's tasks."""

    first_task: int
    last_task: int
    operator: str

    @property
    def tasks(self) -> range:
        """The ids of its tasks."""
        return range(self.first_task, self.last_task + 1)

    @property
    def label(self) -> str:
        """``splitter[7-8]``, or ``splitter[7]`` for a single task."""
        if self.first_task == self.last_task:
            return f"{self.operator}[{self.first_task}]"
        return f"{self.operator}[{self.first_task}-{self.last_task}]"

    def __str__(self) -> str:
        return self.label

    @classmethod
    def parse(cls, label: str) -> Executor:
        """The executor that `label` names; the inverse of `label`."""
        match = _LABEL.fullmatch(label)
        if match is None:
            raise InvalidInput.single(
                (),
                seen=f"executor {label!r}",
                expected="OPERATOR[FIRST-LAST] or OPERATOR[TASK], such as splitter[7-8]",
            )
        first = int(match["first"])
        return cls(first, int(match["last"] or first), match["operator"])


@dataclass(frozen=True, kw_only=True)
class LogicalPlan:
    """The executors of a configured topology, in the order of their task ids.

    Attributes:
        topology: With its ackers, where it is acked.
        executors: Sorted by first task; those of one operator stand together.
    """

    topology: Topology
    configuration: Configuration
    executors: tuple[Executor, ...]

    def __post_init__(self) -> None:
        freeze(self, "executors")
        with Findings() as findings:
            _check_executors(findings, self)

    @classmethod
    def of(
        cls,
        topology: Topology,
        configuration: Configuration,
        *,
        task_order: TaskOrder = TaskOrder.DECLARED,
        first_task: int = 1,
    ) -> LogicalPlan:
        """Split every operator's tasks into contiguous, even ranges.

        Ackers are added as the configuration says. Where the division leaves a remainder, the
        first executors get one task more, as Storm does.
        """
        configuration.check_against(topology)
        with Findings() as findings:
            check_whole(findings, first_task, "first_task")
        deployed = topology.with_ackers(configuration.acker_count)
        executors: list[Executor] = []
        task = first_task
        for name in task_order.arrange(deployed):
            tasks = deployed.operator(name).tasks
            count = tasks if name == ACKER else configuration.executors_of(name)
            for size in even_sizes(tasks, count):
                executors.append(Executor(task, task + size - 1, name))
                task += size
        return cls(topology=deployed, configuration=configuration, executors=tuple(executors))

    @cached_property
    def spans(self) -> Mapping[str, range]:
        """For each operator the indices of its executors in `executors`."""
        spans: dict[str, range] = {}
        for index, executor in enumerate(self.executors):
            start = spans[executor.operator].start if executor.operator in spans else index
            spans[executor.operator] = range(start, index + 1)
        return spans

    @cached_property
    def operators_by_executor(self) -> tuple[Operator, ...]:
        """The operator of each executor."""
        return tuple(self.topology.operator(one.operator) for one in self.executors)

    @cached_property
    def index_of_task(self) -> Mapping[int, int]:
        """For each task id the index of the executor that runs it."""
        return {
            task: index for index, executor in enumerate(self.executors) for task in executor.tasks
        }

    def executors_of(self, operator: str) -> tuple[Executor, ...]:
        """The executors of one operator, in the order of their tasks."""
        self.topology.operator(operator)
        span = self.spans[operator]
        return self.executors[span.start : span.stop]

    def tasks_of(self, operator: str) -> range:
        """The task ids of one operator: contiguous, however the executors divide them."""
        executors = self.executors_of(operator)
        return range(executors[0].first_task, executors[-1].last_task + 1)


def even_sizes(total: int, parts: int) -> tuple[int, ...]:
    """`total` in `parts` whole parts that differ by at most one, larger ones first."""
    size, remainder = divmod(total, parts)
    return (size + 1,) * remainder + (size,) * (parts - remainder)


def _check_executors(findings: Findings, plan: LogicalPlan) -> None:
    tasks = {operator.name: operator.tasks for operator in plan.topology.operators}
    previous: Executor | None = None
    finished: set[str] = set()
    counted: dict[str, int] = {}
    for index, executor in enumerate(plan.executors):
        name = executor.operator
        seen = f"an executor of unknown operator {name!r}"
        expected = f"an operator of topology {plan.topology.name!r}"
        check_known(findings, name, tasks, "executors", index, seen=seen, expected=expected)
        if executor.last_task < executor.first_task:
            findings.add("executors", index, seen=f"{executor}", expected="an ascending range")
        if previous is not None:
            if executor.first_task != previous.last_task + 1:
                findings.add(
                    "executors",
                    index,
                    seen=f"{executor} after {previous}",
                    expected=f"task {previous.last_task + 1} next, so that each task runs once",
                )
            if name != previous.operator:
                finished.add(previous.operator)
        if name in finished:
            findings.add(
                "executors",
                index,
                seen=f"{executor} separated from the other executors of {name!r}",
                expected="the tasks of an operator in one contiguous range",
            )
        counted[name] = counted.get(name, 0) + len(executor.tasks)
        previous = executor
    for name, count in tasks.items():
        if counted.get(name, 0) != count:
            findings.add(
                "executors",
                seen=f"{counted.get(name, 0)} tasks of {name!r} in executors",
                expected=f"its {count} tasks, each once",
            )
