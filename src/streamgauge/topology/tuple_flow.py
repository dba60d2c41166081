"""Tuple flow: every connection between executors and the elements a tuple meets on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.topology.grouping import All, Custom, Global, LocalOrShuffle
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan
from streamgauge.topology.topology import Stream, Subscription

# Connection types as array codes: the index in this tuple.
CONNECTION_TYPES = (ConnectionType.LOCAL, ConnectionType.INTER_LOCAL, ConnectionType.REMOTE)

Matrix = NDArray[np.float64]

# At up to nine bytes each: about a gigabyte.
MAX_CONNECTIONS = 100_000_000


class Element(StrEnum):
    """What a tuple meets between the logic of one executor and that of the next."""

    SEND = "send"  # the sender's own send queue and thread
    TRANSFER = "transfer"  # the transfer queue and thread of the sender's worker
    NETWORK = "network"  # between two nodes
    RECEIVE = "receive"  # the receiving worker's network logic
    QUEUE = "queue"  # the receiving executor's queue


# Which elements lie on a connection of each type; an engine's transport says.
Hops = Mapping[ConnectionType, tuple[Element, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One element and whose it is: an executor, a worker, or a pair of nodes."""

    element: Element
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One stream between two executors, by their indices in the logical plan."""

    stream: Stream
    source: int
    target: int
    type: ConnectionType


@dataclass(frozen=True, slots=True, eq=False)
class ConnectionBlock:
    """All connections of one stream, as matrices of sending × receiving executors.

    Attributes:
        sources: Indices of the sending executors in the logical plan.
        targets: Indices of the receiving executors.
        types: Code of each pair's connection type (index in `CONNECTION_TYPES`).
        shares: Part of what the row's executor emits on the stream that goes to the column's,
            as far as the declaration tells (see `derive_shares`). Zero: not connected.
    """

    stream: Stream
    sources: range
    targets: range
    types: NDArray[np.int8]
    shares: Matrix

    @property
    def exists(self) -> NDArray[np.bool_]:
        """Which pairs are connected at all."""
        return self.shares > 0.0


@dataclass(frozen=True, kw_only=True)
class TupleFlow:
    """A physical plan seen by a tuple: what it can meet, and in which order.

    Logical connections are kept as such. A graph of executors and workers alone would admit
    the path X → worker → Y for executors X and Y that share a worker's transfer thread but
    no stream.

    Attributes:
        hops: What lies on a connection of each type.
        blocks: One per subscription, in the order of the topology's streams.
    """

    plan: PhysicalPlan
    hops: Hops
    blocks: tuple[ConnectionBlock, ...]

    @classmethod
    def of(
        cls, plan: PhysicalPlan, hops: Hops, shares: Mapping[Subscription, Matrix] | None = None
    ) -> TupleFlow:
        """Classify every connection of `plan`.

        Args:
            plan: Where executors run.
            hops: What lies on a connection of each type.
            shares: Those that are known already, as `derive_shares` gives them.

        Raises:
            InvalidInput: There are more connections than fit into memory.
        """
        check_size(plan.logical)
        worker, node = np.asarray(plan.placement, dtype=np.intp), locate_nodes(plan)
        spans, known = plan.logical.spans, shares or {}
        blocks = []
        for stream in plan.logical.topology.streams:
            sources, targets = spans[stream.source], spans[stream.target]
            same_worker = np.equal.outer(worker[as_slice(sources)], worker[as_slice(targets)])
            same_node = np.equal.outer(node[as_slice(sources)], node[as_slice(targets)])
            types = 2 - same_node.view(np.int8) - same_worker.view(np.int8)
            part = known.get(stream.subscription)
            if part is None:
                part = derive_shares(plan.logical, stream, local=same_worker)
            blocks.append(
                ConnectionBlock(
                    stream=stream,
                    sources=sources,
                    targets=targets,
                    types=types,
                    shares=part,
                )
            )
        return cls(plan=plan, hops=hops, blocks=tuple(blocks))

    @cached_property
    def data_blocks(self) -> tuple[ConnectionBlock, ...]:
        """The blocks of the job's own streams."""
        return tuple(block for block in self.blocks if not block.stream.is_system)

    def connections(self) -> Iterator[Connection]:
        """Every connection, one at a time."""
        for block in self.blocks:
            for row, column in zip(*np.nonzero(block.exists), strict=True):
                yield Connection(
                    stream=block.stream,
                    source=block.sources[row],
                    target=block.targets[column],
                    type=CONNECTION_TYPES[block.types[row, column]],
                )

    def count_types(self, *, data_only: bool = True) -> dict[ConnectionType, int]:
        """How many connections there are of each type."""
        counts = np.zeros(len(CONNECTION_TYPES), dtype=np.int64)
        for block in self.data_blocks if data_only else self.blocks:
            counts += np.bincount(block.types[block.exists], minlength=len(CONNECTION_TYPES))
        return {kind: int(count) for kind, count in zip(CONNECTION_TYPES, counts, strict=True)}

    def elements(self, connection: Connection) -> tuple[Hop, ...]:
        """What a tuple meets from one executor's logic to the next, in order."""
        source = self.plan.logical.executors[connection.source]
        target = self.plan.logical.executors[connection.target]
        near, far = self.plan.worker_of(source), self.plan.worker_of(target)
        owners = {
            Element.SEND: source.label,
            Element.TRANSFER: str(near),
            Element.NETWORK: f"{near.node} → {far.node}",
            Element.RECEIVE: str(far),
            Element.QUEUE: target.label,
        }
        return tuple(
            Hop(element=element, owner=owners[element]) for element in self.hops[connection.type]
        )


def locate_nodes(plan: PhysicalPlan) -> NDArray[np.intp]:
    """The place of each executor's node among the plan's."""
    place = {name: index for index, name in enumerate(plan.nodes)}
    of_worker = np.asarray([place[worker.node] for worker in plan.workers], dtype=np.intp)
    return np.asarray(of_worker[np.asarray(plan.placement, dtype=np.intp)])


def check_size(logical: LogicalPlan) -> None:
    """Raise InvalidInput where a plan has more connections than fit into memory."""
    pairs = sum(
        len(logical.spans[stream.source]) * len(logical.spans[stream.target])
        for stream in logical.topology.streams
    )
    if pairs > MAX_CONNECTIONS:
        raise InvalidInput.single(
            ("configuration", "executors"),
            seen=f"{pairs:,} connections between executors",
            expected=f"at most {MAX_CONNECTIONS:,}",
            remedy="use fewer executors or ackers",
        )


def derive_shares(
    logical: LogicalPlan, stream: Stream, *, local: NDArray[np.bool_] | None = None
) -> Matrix:
    """Routing shares executor → executor that follow from the grouping alone.

    Shuffle, fields, partial-key and direct count as even over *tasks*, so an executor's share
    is its part of the tasks (Cooper 2020, eq. 4.3, for unequal executors); keys and measured
    routing refine this elsewhere. `all` gives a copy to each task, so rows sum to the number of
    tasks. `local` tells which pairs share a worker, for local-or-shuffle.
    """
    sources = logical.executors_of(stream.source)
    targets = logical.executors_of(stream.target)
    tasks = np.asarray([len(executor.tasks) for executor in targets], dtype=np.float64)
    shape = (len(sources), len(targets))
    grouping = stream.grouping
    if isinstance(grouping, All):
        return np.broadcast_to(tasks, shape)
    if isinstance(grouping, Global):
        return np.broadcast_to(np.eye(1, len(targets)), shape)
    if isinstance(grouping, Custom):
        return _custom_shares(logical, stream, grouping, sources, targets)
    if isinstance(grouping, LocalOrShuffle) and local is not None:
        weights = np.where(local.any(axis=1, keepdims=True), local * tasks, tasks)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    return np.broadcast_to(tasks / tasks.sum(), shape)


def _custom_shares(
    logical: LogicalPlan,
    stream: Stream,
    grouping: Custom,
    sources: tuple[Executor, ...],
    targets: tuple[Executor, ...],
) -> Matrix:
    from_tasks = logical.tasks_of(stream.source)
    to_tasks = logical.tasks_of(stream.target)
    task_shares = np.asarray(grouping.matrix, dtype=np.float64)
    matrix = np.broadcast_to(task_shares, (len(from_tasks), len(to_tasks)))
    row_starts = [executor.first_task - from_tasks.start for executor in sources]
    column_starts = [executor.first_task - to_tasks.start for executor in targets]
    pooled = np.add.reduceat(np.add.reduceat(matrix, row_starts, axis=0), column_starts, axis=1)
    sizes = np.asarray([len(executor.tasks) for executor in sources], dtype=np.float64)
    return np.asarray(pooled / sizes[:, np.newaxis])


def as_slice(indices: range) -> slice:
    """The part of an executor-indexed array that `indices` covers."""
    return slice(indices.start, indices.stop)
