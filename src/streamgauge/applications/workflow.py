"""The workflow schema: an application by its depth, shape and totals, and how these are spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from streamgauge.applications.application import MAX_PROCESSING, Application, Routing, Task
from streamgauge.applications.data import Data
from streamgauge.applications.flow import Flow
from streamgauge.applications.series import (
    DEFAULT_VARIABILITY,
    Balancing,
    spread_load,
    spread_parallelism,
)
from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.topology import MAX_TASKS, Window

# No application has more levels; the time to compute a series grows with the square of its length.
MAX_DEPTH = 1000


class GraphShape(StrEnum):
    """How a workflow begins; after its shape it is linear."""

    LINEAR = "linear"
    DIAMOND = "diamond"
    STAR = "star"

    @property
    def first_levels(self) -> tuple[int, ...]:
        """How many components the first levels have, sources first."""
        return {"linear": (1, 1), "diamond": (1, 2, 1), "star": (2, 1, 2)}[self]


class RoutedEdges(StrEnum):
    """Which connections get the workflow's routing.

    On an engine that chains tasks which are connected directly, only those behind the sources do,
    so that chains survive (section 4.6.2: Flink); elsewhere all (Storm, Heron).
    """

    ALL = "all"
    FIRST_LEVEL = "first-level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalability:
    """Instances in all, sources included, and how they are distributed."""

    parallelism: int = 10
    balancing: Balancing = Balancing.BALANCED
    variability: float = DEFAULT_VARIABILITY

    def __post_init__(self) -> None:
        object.__setattr__(self, "balancing", Balancing(self.balancing))
        findings = Findings()
        check_whole(findings, self.parallelism, "parallelism", most=MAX_TASKS)
        check_number(findings, self.variability, "variability", most=1.0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How tasks are connected, and tuples divided over their instances."""

    shape: GraphShape = GraphShape.LINEAR
    routing: Routing = Routing.BALANCED

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", GraphShape(self.shape))
        object.__setattr__(self, "routing", Routing(self.routing))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The first task's load of a tuple, in thousands of cycles, and how it goes on from there."""

    processing: float = 10.0
    balancing: Balancing = Balancing.BALANCED

    def __post_init__(self) -> None:
        object.__setattr__(self, "balancing", Balancing(self.balancing))
        findings = Findings()
        check_number(findings, self.processing, "processing", most=MAX_PROCESSING)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A short description of an application; the default is NAMB's.

    Attributes:
        depth: Levels of the graph, the sources' included.
        scalability: Instances.
        connection: Edges.
        workload: Load of tasks.
        filtering: Part of its tuples that the task in the middle forwards; 1 where none filters.
        window: What the second task gathers, if it does.
        reliability: Whether the engine makes sure that every tuple is processed.
        data: What sources emit.
        flow: How fast each instance of a source emits it.
    """

    depth: int = 3
    scalability: Scalability = Scalability()
    connection: Connection = Connection()
    workload: Load = Load()
    filtering: float = 1.0
    window: Window | None = None
    reliability: bool = True
    data: Data = field(default_factory=Data)
    flow: Flow = field(default_factory=Flow)

    def __post_init__(self) -> None:
        findings = Findings()
        shape = self.connection.shape
        least = len(shape.first_levels) if shape is not GraphShape.LINEAR else 2
        if check_whole(findings, self.depth, "depth", least=2, most=MAX_DEPTH):
            if self.depth < least:
                findings.add(
                    "depth",
                    seen=f"depth {self.depth} of a {shape}",
                    expected=f"at least {least} levels for this shape",
                    remedy="use a larger depth, or the shape linear",
                )
            elif self.scalability.parallelism < self.components:
                findings.add(
                    "scalability",
                    "parallelism",
                    seen=f"{self.scalability.parallelism} instances for the {self.components} "
                    f"components of a {shape} workflow of depth {self.depth}",
                    expected=f"at least {self.components}, one for each, sources included",
                )
        check_number(findings, self.filtering, "filtering", above=0.0, most=1.0)
        findings.raise_if_any()

    @property
    def widths(self) -> tuple[int, ...]:
        """Components of each level, sources first (section 4.6.2)."""
        first = self.connection.shape.first_levels[: self.depth]
        return first + (1,) * (self.depth - len(first))

    @property
    def components(self) -> int:
        """Sources and tasks."""
        return sum(self.widths)

    @property
    def filter_level(self) -> int:
        """The level in the middle, counted from 1 for the sources, which do not filter."""
        return max(self.depth // 2, 2)


def expand_workflow(
    workflow: Workflow,
    *,
    name: str,
    about: str = "",
    routed: RoutedEdges = RoutedEdges.ALL,
) -> Application:
    """The tasks of a workflow, each with its part of the workflow's totals.

    Args:
        workflow: The description.
        name: Of the application.
        about: What it is.
        routed: Which connections get the workflow's routing; the others are direct.
    """
    levels = _name_levels(workflow.widths)
    scalability, load = workflow.scalability, workflow.workload
    parallelism = spread_parallelism(
        scalability.parallelism,
        workflow.components,
        scalability.balancing,
        scalability.variability,
    )
    instances = dict(zip((one for level in levels for one in level), parallelism, strict=True))
    names = [one for level in levels[1:] for one in level]
    loads = dict(zip(names, spread_load(load.processing, len(names), load.balancing), strict=True))
    # Section 4.6.2: the second task, or the only one.
    windowed = names[min(1, len(names) - 1)]
    tasks = [
        Task(name=one, parallelism=instances[one], data=workflow.data, flow=workflow.flow)
        for one in levels[0]
    ]
    for number, level in enumerate(levels[1:], start=2):
        is_routed = routed is RoutedEdges.ALL or number == 2
        tasks += [
            Task(
                name=one,
                parallelism=instances[one],
                parents=_list_parents(workflow.connection.shape, levels, number),
                routing=workflow.connection.routing if is_routed else Routing.NONE,
                processing=loads[one],
                filtering=workflow.filtering if number == workflow.filter_level else 1.0,
                window=workflow.window if one == windowed else None,
            )
            for one in level
        ]
    return Application(name=name, tasks=tuple(tasks), reliable=workflow.reliability, about=about)


def _name_levels(widths: tuple[int, ...]) -> list[list[str]]:
    """Sources and tasks by level, each numbered from 1 on in the order of levels."""
    levels = [[f"source-{number}" for number in range(1, widths[0] + 1)]]
    count = 0
    for width in widths[1:]:
        levels.append([f"task-{count + number}" for number in range(1, width + 1)])
        count += width
    return levels


def _list_parents(shape: GraphShape, levels: list[list[str]], number: int) -> tuple[str, ...]:
    """Who feeds the tasks of a level, counted from 1."""
    before = levels[number - 2]
    # Only the upper branch of a star goes on; the lower one is a sink.
    return tuple(before[:1] if shape is GraphShape.STAR and number == 4 else before)
