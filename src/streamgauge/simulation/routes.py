"""Where tuples may go, as the kernel's tables: routes of executors, and ways through the topology.

A route is where an executor may send a subscription's tuples. A way begins at a source and follows
streams; latencies are kept apart by ways. Where there are too many of them, or cycles, latencies
are kept apart by source and sink alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.records import (
    BY_KEY,
    BY_KEY_OF_TWO,
    BY_SHARE,
    EVERY,
    IN_TURN,
    NEAR_AND_FREE,
    NONE,
    ROUTE,
)
from streamgauge.topology.grouping import (
    All,
    Custom,
    Fields,
    Global,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Stream, Topology

# Storm's LoadAwareShuffleGrouping: at least so many choices, and so many for each target.
LEAST_CHOICES, CHOICES_PER_TARGET = 1000, 5
MAX_WAYS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Routes by executor and subscription, with the targets of all."""

    route: NDArray[Any]
    target: NDArray[Any]
    share: NDArray[Any]
    choices: int


def rule_of(stream: Stream, *, has_keys: bool, load_aware: bool) -> int:
    """How a subscription chooses tasks."""
    grouping = stream.grouping
    if isinstance(grouping, All):
        return EVERY
    if isinstance(grouping, Fields) and has_keys:
        return BY_KEY
    if isinstance(grouping, PartialKey) and has_keys:
        return BY_KEY_OF_TWO
    if isinstance(grouping, Shuffle) and load_aware:
        return NEAR_AND_FREE
    if isinstance(grouping, Shuffle | LocalOrShuffle | Global):
        return IN_TURN
    return BY_SHARE


def make_routes(plan: PhysicalPlan, streams: tuple[Stream, ...], rules: list[int]) -> Routes:
    """For each executor and subscription the tasks that it may choose, the nearest first."""
    executors = plan.logical.executors
    first_task = executors[0].first_task
    route = np.zeros(len(executors) * len(streams), dtype=ROUTE)
    tasks: list[int] = []
    shares: list[float] = []
    choices = 0
    for index, executor in enumerate(executors):
        for number, stream in enumerate(streams):
            if stream.source != executor.operator:
                continue
            found, sizes = _by_nearness(plan, index, stream, rules[number])
            r = route[index * len(streams) + number]
            r["first"], r["last"] = len(tasks), len(tasks) + len(found)
            r["worker_size"], r["host_size"], r["rack_size"] = sizes
            if rules[number] == NEAR_AND_FREE:
                r["choice"] = choices
                r["choices"] = max(LEAST_CHOICES, CHOICES_PER_TARGET * len(found))
                choices += int(r["choices"])
            shares += _shares(plan, index, stream, found)
            tasks += [task - first_task for task in found]
    return Routes(
        route=route,
        target=np.asarray(tasks, dtype=np.int64),
        share=np.asarray(shares, dtype=np.float64),
        choices=choices,
    )


def _by_nearness(
    plan: PhysicalPlan, executor: int, stream: Stream, rule: int
) -> tuple[list[int], tuple[int, int, int]]:
    """Targets, and how many of them are in the own worker, on the own host, in the own rack."""
    tasks = list(plan.logical.tasks_of(stream.target))
    if isinstance(stream.grouping, Global):
        return tasks[:1], (0, 0, 0)
    local_only = isinstance(stream.grouping, LocalOrShuffle)
    if rule != NEAR_AND_FREE and not local_only:
        return tasks, (0, 0, 0)
    own = plan.workers[plan.placement[executor]]
    rack = plan.cluster.node(own.node).rack
    distance = {}
    for task in tasks:
        home = plan.workers[plan.placement[plan.logical.index_of_task[task]]]
        near = (home == own, home.node == own.node, plan.cluster.node(home.node).rack == rack)
        distance[task] = 3 - sum(near)
    if local_only:
        inside = [task for task in tasks if distance[task] == 0]
        return inside or tasks, (0, 0, 0)
    tasks.sort(key=distance.__getitem__)
    sizes = tuple(sum(distance[task] <= most for task in tasks) for most in range(3))
    return tasks, (sizes[0], sizes[1], sizes[2])


def _shares(plan: PhysicalPlan, executor: int, stream: Stream, tasks: list[int]) -> list[float]:
    if isinstance(stream.grouping, Custom):
        matrix = np.asarray(stream.grouping.matrix)
        sending = plan.logical.tasks_of(stream.source)
        rows = np.broadcast_to(matrix, (len(sending), matrix.shape[1]))
        own = plan.logical.executors[executor].tasks
        mean = rows[own.start - sending.start : own.stop - sending.start].mean(axis=0)
        return [float(share) for share in np.cumsum(mean)]
    return [(index + 1) / len(tasks) for index in range(len(tasks))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """All ways, numbered; the first are the sources themselves.

    Attributes:
        following: The way of a tuple that leaves on a subscription, by way.
        row: Row of (way, operator) among the latencies, or NONE.
        rows: What each row is: the operators on the way, first to last; source and sink alone
            where ways are not told apart.
    """

    following: NDArray[Any]
    row: NDArray[Any]
    rows: tuple[tuple[str, ...], ...]


def find_ways(topology: Topology, streams: tuple[Stream, ...]) -> Ways:
    """Number the ways from every source to every sink."""
    sources = [operator.name for operator in topology.sources]
    names = list(topology.operator_names)
    sinks = [operator.name for operator in topology.sinks]
    ways: list[tuple[str, ...]] = [(source,) for source in sources]
    following: list[dict[int, int]] = [{} for _ in sources]
    at = 0
    while at < len(ways) and len(ways) <= MAX_WAYS:
        for number, stream in enumerate(streams):
            if stream.source == ways[at][-1]:
                following[at][number] = len(ways)
                following.append({})
                ways.append((*ways[at], stream.target))
        at += 1
    if len(ways) > MAX_WAYS:
        pairs = tuple((source, sink) for source in sources for sink in sinks)
        table = np.full((len(sources), len(names)), NONE, dtype=np.int64)
        for index, (source, sink) in enumerate(pairs):
            table[sources.index(source), names.index(sink)] = index
        own = np.arange(len(sources))
        return Ways(
            following=np.repeat(own[:, None], len(streams), axis=1),
            row=table,
            rows=pairs,
        )
    rows = tuple(dict.fromkeys(way for way in ways if way[-1] in sinks))
    numbers = {way: index for index, way in enumerate(rows)}
    table = np.full((len(ways), len(names)), NONE, dtype=np.int64)
    steps = np.full((len(ways), len(streams)), NONE, dtype=np.int64)
    for index, way in enumerate(ways):
        if way in numbers:
            table[index, names.index(way[-1])] = numbers[way]
        for number, target in following[index].items():
            steps[index, number] = target
    return Ways(
        following=steps,
        row=table,
        rows=rows,
    )
