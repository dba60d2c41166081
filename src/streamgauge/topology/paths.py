"""Paths of a tuple from source to sink: one at a time, or summed without listing them.

A plan with four operators of sixteen executors has 65,536 paths for each acker, so counts,
weights, means and extremes are computed backwards over executors, in time linear in the
number of connections: what holds for all paths from an executor follows from what holds for
all paths from the executors it sends to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import CyclicTopology, InvalidInput, did_you_mean
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import ACKER, OperatorKind, Stream, Topology
from streamgauge.topology.tuple_flow import (
    CONNECTION_TYPES,
    Connection,
    ConnectionBlock,
    Hop,
    Matrix,
    TupleFlow,
    as_slice,
)

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.sparse.linalg import SuperLU

Vector = NDArray[np.float64]
Step = TypeVar("Step")
# A tuple that passes an executor more often than this never dies out, up to rounding.
MAX_PASSES = 1e12
# Numbers on edges: for each block a matrix of sending × receiving executors.
EdgeValues = Callable[[ConnectionBlock], Matrix]


def get_shares(block: ConnectionBlock) -> Matrix:
    """Edge weights that follow from the declaration: the block's own routing shares."""
    return block.shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One way of a tuple: executors by index, and the connections between them."""

    executors: tuple[int, ...]
    connections: tuple[Connection, ...]

    def describe(self, flow: TupleFlow) -> str:
        """``S[1-4] → A[7-8] → B[11]``."""
        return " → ".join(flow.plan.logical.executors[index].label for index in self.executors)

    def elements(self, flow: TupleFlow) -> tuple[Hop, ...]:
        """Every element between the logic of the first executor and that of the last."""
        return tuple(hop for connection in self.connections for hop in flow.elements(connection))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathSums:
    """Sums over all paths that begin at each executor, by index in the logical plan.

    Attributes:
        weight: Σ over paths of the product of their edge weights.
        weighted_length: Σ over paths of that product × the sum of their edge lengths.
    """

    weight: Vector
    weighted_length: Vector


def iter_logical_paths(
    topology: Topology, *, to_acker: bool = False
) -> Iterator[tuple[Stream, ...]]:
    """Sequences of streams from each source to each sink, one at a time.

    Args:
        topology: Without cycles among its data streams.
        to_acker: Whether to append the sink's acknowledgement, where there are ackers.
    """
    topology.topological_order()
    outgoing: dict[str, list[Stream]] = {}
    for stream in _path_streams(topology, to_acker=to_acker):
        outgoing.setdefault(stream.source, []).append(stream)

    def follow(walked: list[Stream]) -> Iterator[Stream] | None:
        target = walked[-1].target
        return iter(outgoing[target]) if target in outgoing else None

    for source in topology.sources:
        yield from map(tuple, _walk(iter(outgoing.get(source.name, ())), follow))


def iter_paths(
    flow: TupleFlow,
    *,
    source: str | None = None,
    sink: str | None = None,
    to_acker: bool = False,
) -> Iterator[Path]:
    """Physical paths, one at a time: only along connections that exist.

    Args:
        flow: The tuple flow; its topology must have no cycle among its data streams.
        source: Only paths from this source operator.
        sink: Only paths that reach this sink operator.
        to_acker: Whether paths go on from the sink to an acker.
    """
    topology = flow.plan.logical.topology
    _check_end(topology, source, [op.name for op in topology.sources], "a source")
    _check_end(topology, sink, [op.name for op in topology.sinks], "a sink")
    blocks = {block.stream.subscription: block for block in flow.blocks}
    for streams in iter_logical_paths(topology, to_acker=to_acker):
        last = next((s.target for s in reversed(streams) if not s.is_system), None)
        if source is not None and streams and streams[0].source != source:
            continue
        if sink is not None and last != sink:
            continue
        yield from _physical_paths([blocks[stream.subscription] for stream in streams])


def count_paths(flow: TupleFlow, *, to_acker: bool = False) -> dict[Executor, int]:
    """Exact number of paths from each source executor to the sinks (or on to the ackers).

    Raises:
        CyclicTopology: There are infinitely many.
    """
    counts = np.zeros(len(flow.plan.logical.executors), dtype=object)
    counts[_ends(flow, to_acker=to_acker)] = 1
    for block in _blocks_backwards(flow, to_acker=to_acker):
        # Whole-number arithmetic of any size: sixteen executors over forty stages overflow.
        reached = block.exists.astype(object) @ counts[as_slice(block.targets)]
        counts[as_slice(block.sources)] += reached
    return {executor: int(counts[index]) for index, executor in _source_executors(flow)}


def sum_paths(
    flow: TupleFlow,
    *,
    weights: EdgeValues = get_shares,
    lengths: EdgeValues | None = None,
    to_acker: bool = False,
) -> PathSums:
    """Weights, and weighted lengths, of all paths from each executor to the sinks.

    Without cycles by dynamic programming; with cycles as the solution of the linear system
    x = e + A·x, which exists when the tuples on each cycle die out.

    Args:
        flow: The tuple flow.
        weights: Weight of each edge; a path's weight is their product (the thesis's sum of
            probabilities is not one).
        lengths: Length of each edge, such as its mean delay; none means zero.
        to_acker: Whether paths go on from the sinks to the ackers.

    Raises:
        CyclicTopology: Tuples on a cycle do not die out.
    """
    if flow.plan.logical.topology.cycle() is not None:
        return _solve_cyclic(flow, weights, lengths, to_acker=to_acker)
    size = len(flow.plan.logical.executors)
    weight, weighted_length = np.zeros(size), np.zeros(size)
    weight[_ends(flow, to_acker=to_acker)] = 1.0
    for block in _blocks_backwards(flow, to_acker=to_acker):
        share = weights(block)
        onward = as_slice(block.targets)
        weight[as_slice(block.sources)] += share @ weight[onward]
        gain = share @ weighted_length[onward]
        if lengths is not None:
            gain += (share * lengths(block)) @ weight[onward]
        weighted_length[as_slice(block.sources)] += gain
    return PathSums(weight=weight, weighted_length=weighted_length)


def longest_paths(flow: TupleFlow, *, lengths: EdgeValues, to_acker: bool = False) -> Vector:
    """Length of the longest path from each executor; −∞ where none begins.

    Raises:
        CyclicTopology: There is no longest one.
    """
    longest = np.full(len(flow.plan.logical.executors), -np.inf)
    longest[_ends(flow, to_acker=to_acker)] = 0.0
    for block in _blocks_backwards(flow, to_acker=to_acker):
        reach = np.where(block.exists, lengths(block) + longest[as_slice(block.targets)], -np.inf)
        span = as_slice(block.sources)
        longest[span] = np.maximum(longest[span], reach.max(axis=1))
    return longest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogicalPathSums(PathSums):
    """Sums over the physical paths along one logical path, by executor of its source.

    Attributes:
        longest: Length of the longest; −∞ where there is none.
    """

    count: NDArray[np.object_]
    longest: Vector


def sum_along(
    flow: TupleFlow,
    streams: tuple[Stream, ...],
    *,
    weights: EdgeValues = get_shares,
    lengths: EdgeValues | None = None,
) -> LogicalPathSums:
    """Number, weights and lengths of all physical paths along one logical path."""
    blocks = {block.stream.subscription: block for block in flow.blocks}
    ends = len(blocks[streams[-1].subscription].targets)
    weight, weighted, longest = np.ones(ends), np.zeros(ends), np.zeros(ends)
    number = np.ones(ends, dtype=object)
    for stream in reversed(streams):
        block = blocks[stream.subscription]
        share = weights(block)
        length = np.zeros(block.exists.shape) if lengths is None else lengths(block)
        weighted = share @ weighted + (share * length) @ weight
        weight = share @ weight
        longest = np.where(block.exists, length + longest, -np.inf).max(axis=1)
        # Whole-number arithmetic of any size: sixteen executors over forty stages overflow.
        number = block.exists.astype(object) @ number
    return LogicalPathSums(weight=weight, weighted_length=weighted, count=number, longest=longest)


def _path_streams(topology: Topology, *, to_acker: bool) -> tuple[Stream, ...]:
    if not to_acker:
        return topology.data_streams
    if not topology.has_ackers:
        raise InvalidInput.single(
            ("acked",),
            seen=f"no ackers in topology {topology.name!r}",
            expected="an acked topology with at least one acker",
        )
    sinks = {operator.name for operator in topology.sinks}
    acks = tuple(s for s in topology.streams if s.target == ACKER and s.source in sinks)
    return (*topology.data_streams, *acks)


def _walk(
    starts: Iterator[Step], follow: Callable[[list[Step]], Iterator[Step] | None]
) -> Iterator[list[Step]]:
    """Every way from a start to its end, depth first; `follow` gives None where a way ends.

    A way is valid until the next one is asked for. An explicit stack, as a chain of operators may
    be longer than Python's recursion limit.
    """
    walked: list[Step] = []
    pending = [starts]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            del walked[-1:]
            continue
        walked.append(step)
        onward = follow(walked)
        if onward is None:
            yield walked
            walked.pop()
        else:
            pending.append(onward)


def _physical_paths(blocks: list[ConnectionBlock]) -> Iterator[Path]:
    """Paths along one logical path: the row of the first block, then a column of each."""

    def follow(rows: list[int]) -> Iterator[int] | None:
        if len(rows) > len(blocks):
            return None
        connected = blocks[len(rows) - 1].exists[rows[-1]]
        return iter(np.flatnonzero(connected).tolist())

    for rows in _walk(iter(range(len(blocks[0].sources))), follow):
        yield _make_path(blocks, rows)


def _make_path(blocks: list[ConnectionBlock], rows: list[int]) -> Path:
    connections = tuple(
        Connection(
            stream=block.stream,
            source=block.sources[row],
            target=block.targets[column],
            type=CONNECTION_TYPES[block.types[row, column]],
        )
        for block, row, column in zip(blocks, rows, rows[1:], strict=False)
    )
    return Path(
        executors=(connections[0].source, *(connection.target for connection in connections)),
        connections=connections,
    )


def _blocks_backwards(flow: TupleFlow, *, to_acker: bool) -> list[ConnectionBlock]:
    topology = flow.plan.logical.topology
    rank = {op.name: place for place, op in enumerate(topology.topological_order())}
    wanted = {stream.subscription for stream in _path_streams(topology, to_acker=to_acker)}
    blocks = [block for block in flow.blocks if block.stream.subscription in wanted]
    return sorted(blocks, key=lambda block: rank[block.stream.source], reverse=True)


def _ends(flow: TupleFlow, *, to_acker: bool) -> NDArray[np.intp]:
    """Indices of the executors at which a path is complete."""
    logical = flow.plan.logical
    if to_acker:
        _path_streams(logical.topology, to_acker=True)
        names = [ACKER]
    else:
        names = [operator.name for operator in logical.topology.sinks]
    return np.asarray([index for name in names for index in logical.spans[name]], dtype=np.intp)


def _source_executors(flow: TupleFlow) -> Iterator[tuple[int, Executor]]:
    kinds = {operator.name: operator.kind for operator in flow.plan.logical.topology.operators}
    for index, executor in enumerate(flow.plan.logical.executors):
        if kinds[executor.operator] is OperatorKind.SOURCE:
            yield index, executor


def _solve_cyclic(
    flow: TupleFlow, weights: EdgeValues, lengths: EdgeValues | None, *, to_acker: bool
) -> PathSums:
    from scipy import sparse

    topology = flow.plan.logical.topology
    wanted = {stream.subscription for stream in _path_streams(topology, to_acker=to_acker)}
    blocks = [block for block in flow.blocks if block.stream.subscription in wanted]
    size = len(flow.plan.logical.executors)
    onward = _assemble(blocks, weights, size)
    solver = factorise_convergent(sparse.eye_array(size, format="csc") - onward)
    if solver is None:
        raise CyclicTopology.single(
            ("streams",),
            seen=f"the cycle {' → '.join(topology.cycle() or ())}, on which tuples never die out",
            expected="a product of edge weights below one around the cycle",
            remedy="give the feedback stream a share below one",
        )
    ends = np.zeros(size)
    ends[_ends(flow, to_acker=to_acker)] = 1.0
    weight = solver.solve(ends)
    weighted_length = np.zeros(size)
    if lengths is not None:
        given = lengths
        weighted = _assemble(blocks, lambda block: weights(block) * given(block), size)
        weighted_length = solver.solve(weighted @ weight)
    return PathSums(weight=weight, weighted_length=weighted_length)


def factorise_convergent(matrix: sparse.csc_array) -> SuperLU | None:
    """The LU factors of I − A, or None where tuples on a cycle do not become fewer.

    A matrix A ≥ 0 has a convergent sum I + A + A² + … exactly when x − A·x = 1 has a solution
    x ≥ 1 (Berman and Plemmons 1994, theorem 6.2.3); x is how often a tuple passes on.
    """
    from scipy.sparse.linalg import splu

    try:
        solver = splu(matrix)
    except RuntimeError:
        # Exactly singular: the number of tuples on the cycle stays the same.
        return None
    passes = solver.solve(np.ones(matrix.shape[0]))
    converges = (passes >= 1.0 - 1e-9) & (passes < MAX_PASSES)
    return solver if bool(np.all(converges)) else None


def _assemble(blocks: list[ConnectionBlock], values: EdgeValues, size: int) -> sparse.csc_array:
    from scipy import sparse

    rows, columns, data = [], [], []
    for block in blocks:
        row, column = np.meshgrid(block.sources, block.targets, indexing="ij")
        rows.append(row.ravel())
        columns.append(column.ravel())
        data.append(np.asarray(values(block)).ravel())
    entries = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csc_array(entries, shape=(size, size))


def _check_end(topology: Topology, name: str | None, known: list[str], what: str) -> None:
    if name is not None and name not in known:
        raise InvalidInput.single(
            (),
            seen=f"{name!r}",
            expected=f"{what} of topology {topology.name!r}",
            remedy=did_you_mean(name, known),
        )
