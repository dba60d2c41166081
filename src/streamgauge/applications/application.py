"""The application: tasks, how they are fed, and what they do; what every description expands to."""

from __future__ import annotations

import graphlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial

from streamgauge.applications.datastream import Data, Flow
from streamgauge.errors import Findings, did_you_mean
from streamgauge.topology.field_checks import check_name, check_number, check_whole
from streamgauge.topology.topology import MAX_TASKS, SYSTEM_PREFIX, Window

CYCLES_PER_PROCESSING = 1000
# A load of days per tuple is a typing error.
MAX_PROCESSING = 1e12


class Routing(StrEnum):
    """How a task is fed from its parents."""

    NONE = "none"
    BALANCED = "balanced"
    HASH = "hash"
    BROADCAST = "broadcast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task; a source has data and a flow, every other task has parents.

    Attributes:
        flow: How fast each instance of a source emits it.
        processing: Load of a tuple, in thousands of busy-wait cycles.
        filtering: Part of its tuples that it forwards.
        resized_bytes: Size of what it emits, where that is less than what it gets.
        window: What it gathers before it works; one tuple comes out of a window.
    """

    name: str
    parallelism: int = 1
    data: Data | None = None
    flow: Flow | None = None
    parents: tuple[str, ...] = ()
    routing: Routing = Routing.NONE
    processing: float = 0.0
    filtering: float = 1.0
    resized_bytes: int | None = None
    window: Window | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        object.__setattr__(self, "routing", Routing(self.routing))
        findings = Findings()
        if check_name(findings, self.name, "name") and self.name.startswith(SYSTEM_PREFIX):
            findings.add(
                "name",
                seen=f"{self.name!r}",
                expected=f"a name that does not begin with {SYSTEM_PREFIX}, which engines reserve",
            )
        check_whole(findings, self.parallelism, "parallelism", most=MAX_TASKS)
        check_number(findings, self.processing, "processing", most=MAX_PROCESSING)
        check_number(findings, self.filtering, "filtering", above=0.0, most=1.0)
        if self.resized_bytes is not None:
            check_whole(findings, self.resized_bytes, "resizeddata")
        if (self.data is None) != (self.flow is None):
            findings.add(
                seen="data without a flow" if self.flow is None else "a flow without data",
                expected="both data and flow, for a source",
            )
        elif self.parents and self.flow is not None:
            findings.add(
                "parents",
                seen="parents of a task with data and flow, which is a source",
                expected="either parents, or data and flow",
            )
        elif not self.parents and self.flow is None:
            findings.add(
                seen=f"task {self.name!r} with neither parents nor data and flow",
                expected="parents, or data and flow for a source",
            )
        elif self.flow is not None:
            self._check_source(findings)
        findings.raise_if_any()

    def _check_source(self, findings: Findings) -> None:
        """Report keys that only make sense for tasks that receive tuples."""
        given = {
            "routing": self.routing is not Routing.NONE,
            "processing": self.processing > 0.0,
            "filtering": self.filtering < 1.0,
            "resizeddata": self.resized_bytes is not None,
            "windowing": self.window is not None,
        }
        for key in (key for key, is_given in given.items() if is_given):
            findings.add(
                key, seen=f"{key} on a source", expected=f"{key} on tasks with parents only"
            )

    @property
    def is_source(self) -> bool:
        """Whether tuples begin here."""
        return self.flow is not None

    @property
    def cycles(self) -> int:
        """Cycles of an empty loop that a tuple takes."""
        return round(self.processing * CYCLES_PER_PROCESSING)


@dataclass(frozen=True, kw_only=True)
class Application:
    """A directed acyclic graph of tasks.

    Attributes:
        tasks: In the order of their description.
        reliable: Whether the engine makes sure that every tuple is processed.
    """

    name: str
    tasks: tuple[Task, ...]
    reliable: bool = True
    about: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", tuple(self.tasks))
        findings = Findings()
        check_name(findings, self.name, "name")
        _check_tasks(findings, self.tasks)
        findings.raise_if_any()

    @cached_property
    def by_name(self) -> dict[str, Task]:
        """The tasks by their names."""
        return {task.name: task for task in self.tasks}

    @property
    def sources(self) -> tuple[Task, ...]:
        """Tasks that produce tuples."""
        return tuple(task for task in self.tasks if task.is_source)

    @property
    def edges(self) -> tuple[tuple[Task, Task], ...]:
        """Parent and child of every connection."""
        return tuple((self.by_name[parent], task) for task in self.tasks for parent in task.parents)

    @cached_property
    def children(self) -> dict[str, tuple[Task, ...]]:
        """By name of a task: the tasks that get its output."""
        children: dict[str, list[Task]] = {task.name: [] for task in self.tasks}
        for parent, child in self.edges:
            children[parent.name].append(child)
        return {name: tuple(tasks) for name, tasks in children.items()}

    def in_order(self) -> tuple[Task, ...]:
        """The tasks, parents before children."""
        graph = {task.name: task.parents for task in self.tasks}
        return tuple(
            self.by_name[name] for name in graphlib.TopologicalSorter(graph).static_order()
        )


def _check_tasks(findings: Findings, tasks: tuple[Task, ...]) -> None:
    names = list(dict.fromkeys(task.name for task in tasks))
    known, seen = set(names), set[str]()
    if not any(task.is_source for task in tasks):
        findings.add("tasks", seen="no source", expected="a task with data and flow")
    for index, task in enumerate(tasks):
        add = partial(findings.add, "tasks", index)
        if task.name in seen:
            add("name", seen=f"{task.name!r} twice", expected="each name once")
        seen.add(task.name)
        for place, parent in enumerate(task.parents):
            if parent not in known:
                add(
                    "parents",
                    place,
                    seen=f"parent {parent!r}",
                    expected="the name of a task",
                    remedy=did_you_mean(parent, names),
                )
            elif parent in task.parents[:place]:
                add("parents", place, seen=f"parent {parent!r} twice", expected="each parent once")
    if not findings:
        _check_used(findings, tasks)
        _check_acyclic(findings, tasks)


def _check_used(findings: Findings, tasks: tuple[Task, ...]) -> None:
    parents = {parent for task in tasks for parent in task.parents}
    for index, task in enumerate(tasks):
        if task.is_source and task.name not in parents:
            findings.add(
                "tasks",
                index,
                seen=f"source {task.name!r}, which is the parent of no task",
                expected="at least one task with this source as its parent",
            )


def _check_acyclic(findings: Findings, tasks: tuple[Task, ...]) -> None:
    graph = {task.name: task.parents for task in tasks}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        cycle = error.args[1]
        names = [task.name for task in tasks]
        findings.add(
            "tasks",
            names.index(cycle[0]),
            "parents",
            seen=f"a cycle: {' → '.join(cycle)}",
            expected="tasks without cycles",
            remedy="remove one of these parents",
        )
