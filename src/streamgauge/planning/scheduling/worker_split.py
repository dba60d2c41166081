"""The workers of a node: one, or as many as the heap asks for, with little traffic between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamgauge.planning.scheduling.local_search import balance_placement, grow_placement, search
from streamgauge.planning.scheduling.placement_problem import (
    Counts,
    Limit,
    PlacementProblem,
    Vector,
)

# Effort in all, shared by the nodes: what goes between workers of a node counts second.
STEPS = 600
ROUNDS = 40


def split_workers(
    problem: PlacementProblem,
    counts: Counts,
    workers: Sequence[int],
    *,
    load: Vector,
    heap: float,
) -> list[tuple[int, int]] | None:
    """For each executor its node and its worker there; nothing where heaps do not hold a node.

    Args:
        problem: What was placed.
        counts: Where.
        workers: How many each node may have.
        load: What one executor of each class takes of a heap.
        heap: What a worker has.
    """
    found = [(0, 0)] * int(problem.sizes.sum())
    begin = np.cumsum(counts, axis=1) - counts
    used = max(int(counts.any(axis=0).sum()), 1)
    for node in range(problem.nodes):
        here = np.flatnonzero(counts[:, node]).tolist()
        members = tuple(
            problem.members[one][begin[one, node] : begin[one, node] + counts[one, node]]
            for one in here
        )
        limit = Limit(
            load=load[here],
            group=np.arange(workers[node], dtype=np.intp),
            most=np.full(workers[node], heap),
        )
        part = PlacementProblem(
            members=members,
            pairs=problem.pairs[np.ix_(here, here)],
            nodes=workers[node],
            most_nodes=workers[node],
            limits=(limit,),
        )
        split = _split(part, steps=STEPS // used, rounds=ROUNDS // used)
        if split is None:
            return None
        for group, row in zip(members, split, strict=True):
            places = np.repeat(np.arange(part.nodes), row).tolist()
            for executor, worker in zip(group, places, strict=True):
                found[executor] = (node, worker)
    return found


def _split(part: PlacementProblem, *, steps: int, rounds: int) -> Counts | None:
    """One worker if it holds them all, else the best split found."""
    alone = np.zeros((len(part.members), part.nodes), dtype=np.int64)
    alone[:, 0] = part.sizes
    if part.allows(alone):
        return alone
    start = grow_placement(part)
    if start is None:
        start = balance_placement(part)
    return None if start is None else search(part, [start], steps=steps, rounds=rounds, seed=0)
