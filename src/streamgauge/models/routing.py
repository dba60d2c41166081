"""Routing: which part of a stream goes to each executor of a plan that has never run.

Cooper 2020, section 4.4, and what its reviewers found (`derive_shares` has the groupings that
need no measurement). Keys stay with their task whatever the plan, so what was measured from task
to task is summed up over the tasks of the proposed executors. Storm 2.x's shuffle is a matter of
the placement alone, as long as no queue fills up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import JobBehaviour, TaskShares
from streamgauge.models.load_aware_shuffle import nearest_shares
from streamgauge.topology.grouping import (
    Custom,
    Direct,
    Fields,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import Stream, Subscription, Topology
from streamgauge.topology.tuple_flow import ConnectionBlock, Matrix, TupleFlow, as_slice
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]

# Where these deal tuples to tasks is in the data.
KEYED = (Fields, PartialKey, Direct)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routing:
    """How tuples would be dealt.

    Attributes:
        scopes: For each subscription by load-aware shuffle, the scope of every sending executor,
            as a place in `SCOPES`.
        idle: Executors that would get no tuples, by label.
    """

    flow: TupleFlow
    scopes: Mapping[Subscription, NDArray[np.int8]]
    idle: tuple[str, ...]
    notes: tuple[str, ...]


def route(
    flow: TupleFlow,
    behaviour: JobBehaviour,
    mechanics: Mechanics,
    known: Mapping[Subscription, Matrix | None] | None = None,
) -> Routing:
    """The routing of a plan that has never run.

    `known` are shares of streams whose keys decide, as `keyed_shares` gives them.
    """
    plan, known = flow.plan, known or {}
    blocks: list[ConnectionBlock] = []
    scopes: dict[Subscription, NDArray[np.int8]] = {}
    notes: list[str] = []
    for block in flow.blocks:
        stream = block.stream
        if stream.is_system:
            blocks.append(block)
        elif isinstance(stream.grouping, Shuffle) and mechanics.load_aware:
            shares, scope = nearest_shares(plan, stream, mechanics.widen_load)
            scopes[stream.subscription] = scope
            blocks.append(replace(block, shares=shares))
        elif isinstance(stream.grouping, KEYED):
            keyed = (
                known[stream.subscription]
                if stream.subscription in known
                else keyed_shares(plan.logical, stream, behaviour)
            )
            if keyed is None:
                notes.append(
                    f"how keys divide {stream.key} over the tasks of {stream.target} was not"
                    " measured: even shares are assumed"
                )
            blocks.append(block if keyed is None else replace(block, shares=keyed))
        else:
            blocks.append(block)
    routed = replace(flow, blocks=tuple(blocks))
    return Routing(
        flow=routed, scopes=scopes, idle=tuple(_without_input(routed)), notes=tuple(notes)
    )


def keyed_shares(
    logical: LogicalPlan, stream: Stream, behaviour: JobBehaviour, *, as_measured: bool = False
) -> Matrix | None:
    """Shares of a stream whose keys decide, from what was measured from task to task.

    Where the sending tasks see the same keys, one vector serves for all of them (fields after
    shuffle). Where keys decided what they got, each keeps its own, weighted by its part of what
    its executor emits (fields after fields; eq. 4.4 to 4.6). Without figures, traced keys are put
    where the engine's hash puts them. `as_measured` lets every sending task keep its own anyway.

    Returns:
        Shares of sending × receiving executors; nothing where neither was measured.
    """
    targets = [executor.first_task for executor in logical.executors_of(stream.target)]
    columns = [first - logical.tasks_of(stream.target).start for first in targets]
    measured = behaviour.shares.get(stream.subscription)
    pooled = (
        behaviour.share_by_hash(logical.configuration.engine, stream)
        if measured is None
        else _pooled(measured)
    )
    if pooled is None:
        return None
    sources = logical.executors_of(stream.source)
    start = logical.tasks_of(stream.source).start
    differ = as_measured or depends_on_keys(logical.topology, stream.source)
    rows = [
        pooled
        if measured is None or not differ
        else _of_executor(measured, [task - start for task in executor.tasks], pooled)
        for executor in sources
    ]
    return np.add.reduceat(np.asarray(rows), columns, axis=1)


def depends_on_keys(topology: Topology, operator: str) -> bool:
    """Whether what a task of `operator` gets is in the data, so that its tasks differ."""
    groupings = (stream.grouping for stream in topology.streams_into(operator))
    return any(isinstance(one, (*KEYED, Custom)) for one in groupings)


def _pooled(measured: TaskShares) -> Vector:
    """P(u) = Σ_t σ_tu / Σ_t σ_t, over all sending tasks."""
    parts = measured.parts.value
    sent = ~np.isnan(parts).any(axis=1)
    return _weighted(measured.weights.value[sent], parts[sent])


def _of_executor(measured: TaskShares, places: list[int], pooled: Vector) -> Vector:
    """Shares to tasks of one sending executor: its tasks' own, by ETOP weights (eq. 4.5)."""
    parts = measured.parts.value[places]
    sent = ~np.isnan(parts).any(axis=1)
    if not sent.any():
        return pooled
    return _weighted(measured.output_shares.value[places][sent], parts[sent])


def _weighted(weights: Vector, parts: Matrix) -> Vector:
    """The mean of rows by their weights; all alike where none has any."""
    if not weights.any():
        weights = np.ones(len(weights))
    return np.asarray(weights @ parts / weights.sum())


def deals_in_turn(stream: Stream, mechanics: Mechanics) -> bool:
    """Whether tuples that follow each other go to different tasks, one after the other."""
    if isinstance(stream.grouping, LocalOrShuffle):
        return True
    return isinstance(stream.grouping, Shuffle) and not mechanics.load_aware


def deals_evenly(stream: Stream, mechanics: Mechanics) -> bool:
    """Whether tasks that are dealt to have nearly as many tuples at any time.

    Load-aware shuffle goes round a shuffled list in which every target has as many entries.
    """
    return isinstance(stream.grouping, Shuffle) or deals_in_turn(stream, mechanics)


def task_parts(
    logical: LogicalPlan, operator: str, behaviour: JobBehaviour, mechanics: Mechanics
) -> tuple[Vector, ...]:
    """Which part of an executor's input each of its tasks gets, all its streams together.

    Storm 2.x's shuffle leaves all to the first; keys give each task its own part; the other
    groupings are even.
    """
    keyed = behaviour.operators[operator].task_weights.value
    start = logical.tasks_of(operator).start
    streams = [one for one in logical.topology.streams_into(operator) if not one.is_system]
    by_executor = []
    for executor in logical.executors_of(operator):
        count = len(executor.tasks)
        total = np.zeros(count)
        for stream in streams:
            part = np.full(count, 1.0 / count)
            if isinstance(stream.grouping, Shuffle) and mechanics.load_aware:
                part = np.eye(1, count)[0]
            elif isinstance(stream.grouping, KEYED):
                known = keyed[[task - start for task in executor.tasks]]
                part = known / known.sum() if known.any() else part
            total = total + part / len(streams)
        by_executor.append(total)
    return tuple(by_executor)


def _without_input(flow: TupleFlow) -> Iterator[str]:
    """Executors that have subscribed, and that no share leads to."""
    executors = flow.plan.logical.executors
    reached = np.zeros(len(executors), dtype=bool)
    subscribed = np.zeros(len(executors), dtype=bool)
    for block in flow.data_blocks:
        subscribed[as_slice(block.targets)] = True
        reached[as_slice(block.targets)] |= block.exists.any(axis=0)
    for index in np.flatnonzero(subscribed & ~reached).tolist():
        yield executors[index].label
