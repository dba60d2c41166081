"""Placement of many executors: grow nodes about heavy streams, then improve step by step.

Growing follows the two-level scheduler of the literature (the heaviest pair first, then whoever
has most traffic with what is there already, until the node is full). Improving moves one executor
or exchanges two, always the best of those looked at, as T-Storm moves executors by their net
traffic. Nodes that were emptied at random, from a seed, and grown again lead out of dead ends.
Nothing depends on a clock: effort is counted in steps. A node's executors are divided over several
workers, where heaps ask for that, by the same search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.scheduling.placement_problem import (
    Counts,
    Limit,
    PlacementProblem,
    Vector,
)

# Gains below this part of all traffic are rounding.
NEGLIGIBLE = 1e-9
# Executors that are looked at for an exchange, those with most to gain first.
EXCHANGES = 24
# Nodes that are emptied together.
EMPTIED = 3
# Effort for the workers of all nodes: what goes between workers of a node counts second.
WORKER_STEPS = 600
WORKER_ROUNDS = 40


class Placement:
    """Counts that are changed step by step, with what every further step would gain."""

    def __init__(self, problem: PlacementProblem, counts: Counts) -> None:
        self.problem = problem
        self.counts = counts.copy()
        self.pull = problem.pairs @ self.counts
        self.loads = [limit.loads(self.counts) for limit in problem.limits]
        self.own = np.diagonal(problem.pairs)
        self.filled = self.counts.sum(axis=0)
        self.used = int(np.count_nonzero(self.filled))

    @property
    def together(self) -> float:
        """Tuples per second that stay inside nodes."""
        return self.problem.together(self.counts)

    def room(self, node: int) -> NDArray[np.bool_]:
        """Which classes could have one executor more on a node."""
        fits = np.ones(len(self.own), dtype=bool)
        if not self.filled[node] and self.used >= self.problem.most_nodes:
            return ~fits
        for limit, loads in zip(self.problem.limits, self.loads, strict=True):
            group = limit.group[node]
            fits &= loads[group] + limit.load <= limit.allowed[group]
        return fits

    def add(self, kind: int, node: int, times: int = 1) -> None:
        """So many executors of a class more on a node; fewer if negative."""
        self.used -= int(self.filled[node] > 0)
        self.counts[kind, node] += times
        self.filled[node] += times
        self.used += int(self.filled[node] > 0)
        self.pull[:, node] += times * self.problem.pairs[:, kind]
        for limit, loads in zip(self.problem.limits, self.loads, strict=True):
            loads[limit.group[node]] += times * limit.load[kind]

    def clear(self, nodes: Iterable[int]) -> Counts:
        """Empty nodes; gives how many executors of each class were there."""
        removed = np.zeros(len(self.own), dtype=np.int64)
        for node in nodes:
            removed += self.counts[:, node]
            for kind in np.flatnonzero(self.counts[:, node]).tolist():
                self.add(kind, node, -int(self.counts[kind, node]))
        return removed


def empty(problem: PlacementProblem) -> Placement:
    """Nothing placed yet."""
    return Placement(problem, np.zeros((len(problem.sizes), problem.nodes), dtype=np.int64))


def grow(placement: Placement, nodes: Sequence[int], waiting: Counts) -> bool:
    """Fill nodes one after the other; whether all that waited found a place."""
    waiting = waiting.copy()
    for node in nodes:
        _fill(placement, node, waiting)
        if not waiting.any():
            return True
    return False


def _fill(placement: Placement, node: int, waiting: Counts) -> None:
    pairs = placement.problem.pairs
    while True:
        fits = placement.room(node) & (waiting > 0)
        if not fits.any():
            return
        pull = np.where(fits, placement.pull[:, node], -1.0)
        kind = int(pull.argmax())
        if pull[kind] <= 0.0:
            # Nobody here talks to those who wait: the heaviest pair among them begins anew.
            heaviest = (pairs * (waiting > 0)).max(axis=1)
            kind = int(np.where(fits, heaviest, -1.0).argmax())
        placement.add(kind, node)
        waiting[kind] -= 1


def spread(placement: Placement, waiting: Counts) -> Counts:
    """The largest load first, always where the fullest place stays emptiest; traffic counts not.

    Graham's rule of the longest processing time; finds room where growing does not. Gives how
    many executors of each class found no place.
    """
    problem, left = placement.problem, waiting.copy()
    weight = np.zeros(len(waiting))
    for limit in problem.limits:
        weight = np.maximum(weight, limit.load / max(float(limit.most.max()), 1e-300))
    for kind in np.argsort(-weight, kind="stable").tolist():
        for _ in range(int(waiting[kind])):
            level = np.zeros(problem.nodes)
            for limit, loads in zip(problem.limits, placement.loads, strict=True):
                most = np.maximum(limit.most[limit.group], 1e-300)
                level = np.maximum(level, (loads[limit.group] + limit.load[kind]) / most)
            if placement.used >= problem.most_nodes:
                level[placement.filled == 0] = np.inf
            node = int(level.argmin())
            if not placement.room(node)[kind]:
                break
            placement.add(kind, node)
            left[kind] -= 1
    return left


def improve(placement: Placement, steps: int) -> int:
    """Move and exchange executors while that keeps more tuples in nodes; gives steps left."""
    least = NEGLIGIBLE * max(placement.problem.total, 1e-300)
    if steps <= 0:
        return 0
    gains = _Gains(placement)
    while steps > 0:
        steps -= 1
        gain, move = gains.best_move()
        moves = [move] if gain > least else gains.best_exchange(least)
        if not moves:
            return steps
        gains.carry_out(moves)
    return steps


# A class, and the nodes that one executor of it leaves and enters.
_Move = tuple[int, int, int]


class _Gains:
    """What moves gain, renewed only where something changed."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.entering = np.empty_like(placement.pull)
        self.leaving = np.empty_like(placement.pull)
        self._renew(range(placement.problem.nodes))

    def _renew(self, nodes: Iterable[int]) -> None:
        placement = self.placement
        for node in nodes:
            pull = placement.pull[:, node]
            self.entering[:, node] = np.where(placement.room(node), pull, -np.inf)
            self.leaving[:, node] = np.where(placement.counts[:, node] > 0, pull, np.inf)

    def best_move(self) -> tuple[float, _Move]:
        """The move that gains most, and how much; minus infinity where there is none."""
        own = self.placement.own
        target = self.entering.argmax(axis=1)
        source = self.leaving.argmin(axis=1)
        rows = np.arange(len(own))
        gain = self.entering[rows, target] - self.leaving[rows, source] + own
        gain[(target == source) | ~np.isfinite(gain)] = -np.inf
        kind = int(gain.argmax())
        return float(gain[kind]), (kind, int(source[kind]), int(target[kind]))

    def carry_out(self, moves: Sequence[_Move]) -> None:
        """Make a move, or both moves of an exchange."""
        used = self.placement.used
        for kind, source, _ in moves:
            self.placement.add(kind, source, -1)
        for kind, _, target in moves:
            self.placement.add(kind, target)
        self._renew(self._touched(source, target, used))

    def _touched(self, source: int, target: int, used: int) -> Iterable[int]:
        """Nodes whose room or traffic changed: those that share a place with one of the two."""
        if self.placement.used != used:
            return range(self.placement.problem.nodes)
        touched = {source, target}
        for limit in self.placement.problem.limits:
            shared = (limit.group == limit.group[source]) | (limit.group == limit.group[target])
            touched.update(np.flatnonzero(shared).tolist())
        return touched

    def best_exchange(self, least: float) -> list[_Move]:
        """Both moves of the first exchange found that gains something; nothing where none does.

        Executors are looked at in the order of what they would gain at the node that pulls them
        most; there the partner is the best one.
        """
        placement = self.placement
        pull, counts = placement.pull, placement.counts
        here = counts > 0
        wish = np.where(placement.filled > 0, pull, -np.inf)
        target = wish.argmax(axis=1)
        rows = np.arange(len(target))
        gain = np.where(here, wish[rows, target][:, np.newaxis] - pull, -np.inf)
        gain += placement.own[:, np.newaxis]
        gain[rows, target] = -np.inf
        order = np.argsort(-gain, axis=None, kind="stable")[:EXCHANGES]
        for flat in order.tolist():
            kind, source = divmod(int(flat), counts.shape[1])
            if not gain[kind, source] > least:
                break
            there = int(target[kind])
            back, partner = self._partner(kind, source, there)
            if gain[kind, source] + back > least:
                return [(kind, source, there), (partner, there, source)]
        return []

    def _partner(self, kind: int, source: int, target: int) -> tuple[float, int]:
        """What going back in exchange for a class adds to the gain, and who goes."""
        placement = self.placement
        pairs = placement.problem.pairs
        fits = placement.counts[:, target] > 0
        fits[kind] = False
        for limit, loads in zip(placement.problem.limits, placement.loads, strict=True):
            near, far = limit.group[source], limit.group[target]
            if near == far:
                continue
            change = limit.load - limit.load[kind]
            fits &= loads[near] + change <= limit.allowed[near]
            fits &= loads[far] - change <= limit.allowed[far]
        back = placement.pull[:, source] - placement.pull[:, target] + placement.own
        back = np.where(fits, back - 2.0 * pairs[:, kind], -np.inf)
        best = int(back.argmax())
        return float(back[best]), best


def search(
    problem: PlacementProblem, starts: Sequence[Counts], *, steps: int, rounds: int, seed: int
) -> Counts:
    """The best placement found from several starts.

    The result is never worse than the best start, and of equal ones it is that on the fewest nodes.
    Moves and exchanges are counted in steps; in each round nodes, drawn by the seed, are emptied
    and grown again.
    """
    candidates = list(starts)
    for counts in sorted(starts, key=problem.remote):
        placement = Placement(problem, counts)
        steps = improve(placement, steps)
        # Sums that were kept up step by step collect roundings.
        if problem.allows(placement.counts):
            candidates.append(placement.counts)
    most = max(problem.together(counts) for counts in candidates) - NEGLIGIBLE * problem.total
    as_good = (counts for counts in candidates if problem.together(counts) >= most)
    best = min(as_good, key=lambda counts: int(counts.any(axis=0).sum()))
    return _regrown(problem, best, steps=steps, rounds=rounds, seed=seed)


def _regrown(
    problem: PlacementProblem, best: Counts, *, steps: int, rounds: int, seed: int
) -> Counts:
    generator = np.random.default_rng(seed)
    most = problem.together(best)
    least = NEGLIGIBLE * max(problem.total, 1e-300)
    for _ in range(rounds):
        used = np.flatnonzero(best.any(axis=0))
        if len(used) < 2 or steps <= 0:
            break
        emptied = generator.choice(used, size=min(EMPTIED, len(used)), replace=False).tolist()
        placement = Placement(problem, best)
        waiting = placement.clear(emptied)
        if not grow(placement, emptied, waiting):
            continue
        steps = improve(placement, steps)
        staying = placement.together
        if staying > most + least and problem.allows(placement.counts):
            best, most = placement.counts, staying
    return best


def grow_placement(problem: PlacementProblem) -> Counts | None:
    """A placement grown node by node, the largest first; nothing where that leaves some over."""
    placement = empty(problem)
    return placement.counts if grow(placement, _largest_first(problem), problem.sizes) else None


def balance_placement(problem: PlacementProblem) -> Counts | None:
    """A placement by loads alone; nothing where that leaves some over."""
    placement = empty(problem)
    return None if spread(placement, problem.sizes).any() else placement.counts


def spread_evenly(problem: PlacementProblem) -> Counts | None:
    """Every class dealt evenly over as few nodes as can take it so; nothing where none can."""
    order = np.asarray(_largest_first(problem))
    for used in range(_fewest_nodes(problem, order), problem.most_nodes + 1):
        each, more = np.divmod(problem.sizes, used)
        # What is left over goes to the next nodes of the round.
        begin = (np.cumsum(more) - more)[:, np.newaxis]
        extra = (np.arange(used) - begin) % used < more[:, np.newaxis]
        counts = np.zeros((len(problem.sizes), problem.nodes), dtype=np.int64)
        counts[:, order[:used]] = each[:, np.newaxis] + extra
        if problem.allows(counts):
            return counts
    return None


def _fewest_nodes(problem: PlacementProblem, order: NDArray[np.intp]) -> int:
    """So many nodes are needed at least, the largest taken first."""
    fewest = 1
    for limit in problem.limits:
        most = np.cumsum(limit.allowed[limit.group[order]])
        fewest = max(fewest, 1 + int(np.searchsorted(most, float(limit.load @ problem.sizes))))
    return fewest


def _largest_first(problem: PlacementProblem) -> list[int]:
    size: Vector = np.full(problem.nodes, np.inf)
    for limit in problem.limits:
        size = np.minimum(size, limit.most[limit.group] / max(float(limit.most.max()), 1e-300))
    return [int(node) for node in np.argsort(-size, kind="stable")]


def split_workers(
    problem: PlacementProblem, counts: Counts, workers: Sequence[int], *, load: Vector, heap: float
) -> list[tuple[int, int]] | None:
    """For each executor its node and its worker there; nothing where heaps do not hold a node.

    Each node may have so many workers. One executor of each class takes `load` of the `heap` that a
    worker has.
    """
    places = [(0, 0)] * int(problem.sizes.sum())
    begin = np.cumsum(counts, axis=1) - counts
    used = max(int(counts.any(axis=0).sum()), 1)
    for node in range(problem.nodes):
        here = np.flatnonzero(counts[:, node]).tolist()
        members = tuple(
            problem.members[kind][begin[kind, node] : begin[kind, node] + counts[kind, node]]
            for kind in here
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
        split = _split(part, steps=WORKER_STEPS // used, rounds=WORKER_ROUNDS // used)
        if split is None:
            return None
        for group, row in zip(members, split, strict=True):
            workers_of_group = np.repeat(np.arange(part.nodes), row).tolist()
            for executor, worker in zip(group, workers_of_group, strict=True):
                places[executor] = (node, worker)
    return places


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
