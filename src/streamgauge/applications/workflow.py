"""The workflow schema: an application by its depth, shape and totals, and how these are spread."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from streamgauge.applications.application import MAX_PROCESSING, Application, Routing, Task
from streamgauge.applications.datastream import Data, Flow
from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.topology import MAX_TASKS, Window

# No application has more levels; the time to compute a series grows with the square of its length.
MAX_DEPTH = 1000
DEFAULT_VARIABILITY = 0.5
# With each component of a series, the variability of those after it falls to this part.
FADING = 0.7
# Section 4.6.2: each load is 20 % above, or below, that of the task before.
GROWTH, DECAY = 1.2, 0.8


class Balancing(StrEnum):
    """How something is distributed over tasks in their order."""

    BALANCED = "balanced"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    PYRAMID = "pyramid"


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
        filtering: Part of its tuples that the task in the middle forwards; 1 where none filters.
        window: What the second task gathers, if it does.
        reliability: Whether the engine makes sure that every tuple is processed.
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
    workflow: Workflow, *, name: str, about: str = "", routed: RoutedEdges = RoutedEdges.ALL
) -> Application:
    """The tasks of a workflow, each with its part of the workflow's totals.

    Connections that do not get the workflow's routing are direct.
    """
    levels = _name_levels(workflow.widths)
    scalability, load = workflow.scalability, workflow.workload
    parallelism = spread_parallelism(
        scalability.parallelism, workflow.components, scalability.balancing, scalability.variability
    )
    instances = dict(zip(chain.from_iterable(levels), parallelism, strict=True))
    names = list(chain.from_iterable(levels[1:]))
    loads = dict(zip(names, spread_load(load.processing, len(names), load.balancing), strict=True))
    # Section 4.6.2: the second task, or the only one.
    windowed = names[min(1, len(names) - 1)]
    tasks = [
        Task(name=source, parallelism=instances[source], data=workflow.data, flow=workflow.flow)
        for source in levels[0]
    ]
    for number, level in enumerate(levels[1:], start=2):
        is_routed = routed is RoutedEdges.ALL or number == 2
        tasks += [
            Task(
                name=task,
                parallelism=instances[task],
                parents=_list_parents(workflow.connection.shape, levels, number),
                routing=workflow.connection.routing if is_routed else Routing.NONE,
                processing=loads[task],
                filtering=workflow.filtering if number == workflow.filter_level else 1.0,
                window=workflow.window if task == windowed else None,
            )
            for task in level
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


def spread_parallelism(
    total: int,
    components: int,
    balancing: Balancing = Balancing.BALANCED,
    variability: float = DEFAULT_VARIABILITY,
) -> tuple[int, ...]:
    """Instances of every component, sources first: each at least one, `total` in all.

    The variability, from 0 to 1, is how steep the series is. The thesis shows the increasing series
    only in a picture (Figure 4.11); its numbers are those of the author's own software.
    """
    findings = Findings()
    if check_whole(findings, components, "components"):
        check_whole(findings, total, "total", least=components)
    check_number(findings, variability, "variability", most=1.0)
    findings.raise_if_any()
    match balancing:
        case Balancing.BALANCED:
            base, rest = divmod(total, components)
            return (base + 1,) * rest + (base,) * (components - rest)
        case Balancing.INCREASING:
            return tuple(_increase(total, components, variability))
        case Balancing.DECREASING:
            return tuple(reversed(_increase(total, components, variability)))
        case Balancing.PYRAMID:
            return tuple(_build_pyramid(total, components, variability))


def spread_load(
    first: float, tasks: int, balancing: Balancing = Balancing.BALANCED
) -> tuple[float, ...]:
    """The load of every task in order; `first` is that of the first, not a total (section 4.6.2).

    The highest load of a pyramid is in the middle, the earlier of two middles.
    """
    rising = {
        Balancing.BALANCED: None,
        Balancing.INCREASING: tasks,
        Balancing.DECREASING: 0,
        Balancing.PYRAMID: (tasks - 1) // 2,
    }[balancing]
    if rising is None:
        return (first,) * tasks
    return tuple(
        first * GROWTH ** min(index, rising) * DECAY ** max(index - rising, 0)
        for index in range(tasks)
    )


def _increase(total: int, components: int, variability: float) -> list[int]:
    """From equal shares, each component in turn gives a part of its share to those after it."""
    series = [total // components] * components
    share = 0
    for place in range(components):
        for index in range(place, components):
            series[index] = max(1, math.ceil((series[index] + share) * (1.0 - variability)))
        left = components - place - 1
        share = math.trunc((total - sum(series)) / left) if left else 0
        variability *= FADING
    series[-1] += max(total - sum(series), 0)
    return series


def _build_pyramid(total: int, components: int, variability: float) -> list[int]:
    """An increasing series up to the middle, followed by the mirror image of another one."""
    middle = components // 2
    before, after = middle + 1, components - middle - 1
    if after == 0:
        return _increase(total, components, variability)
    rising = total // components * before
    falling = total - rising
    if falling > rising:
        rising, falling = falling, rising
    elif falling == rising:
        rising, falling = rising + 1, falling - 1
    tail = reversed(_increase(falling, after, variability))
    series = [*_increase(rising, before, variability), *tail]
    # The tail's highest may top the middle's: it changes places until the series falls.
    for index in range(middle, components - 1):
        if series[index] >= series[index + 1]:
            break
        series[index], series[index + 1] = series[index + 1], series[index]
    return series
