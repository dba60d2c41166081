"""How few tuples must cross nodes whatever the placement: lower bounds that hold for all plans.

Two arguments; the larger of their results counts. Both need only the limits of the nodes, so they
hold for every plan within these.

*By partners.* An executor keeps inside its node at most its traffic with the heaviest partners
that fit beside it. Half the sum over all executors bounds what stays, as every pair is seen twice.

*By eigenvalues* (Donath and Hoffman 1973, for nodes of unequal size and weighted executors). Let A
be the traffic between executors, w their weights, u any numbers, and y_n the vector of √w over the
executors of node n. Those vectors are orthogonal, and |y_n|² is the node's weight. Every executor
is in one node, so

    2·staying + Σu = Σ_n y_nᵀ M y_n,  M = W^-½ (A + diag u) W^-½,

and for orthogonal vectors of given lengths that is at most Σ |y_n|² λ_n, both sorted from the
largest (Ky Fan). What a node can weigh is bounded by its limits; the sum is largest where the
first nodes are full. Interchangeable executors make M as small as the number of classes: vectors
that are alike within classes see the quotient, all others have the eigenvalue (u − a)/w, with a
the traffic between two of the class. Any u gives a bound; the best of a few steps of subgradients
is taken, from u = −degree, which is the graph's Laplacian.
"""

from __future__ import annotations

import numpy as np

from streamgauge.planning.scheduling.placement_problem import PlacementProblem, Vector

# Above so many classes eigenvalues take long, and partners say more unless nodes are few.
FEW_CLASSES, FEW_NODES = 100, 16
MOST_CLASSES = 400
# Floating-point operations, by and large, that are spent on steps; a step costs classes³.
EFFORT = 2e7
MOST_STEPS = 200
# What rounding may have added to a bound, as part of all traffic.
ROUNDING = 1e-9


def least_remote(problem: PlacementProblem) -> float:
    """Tuples per second between nodes that no placement within the limits goes below."""
    staying = [_partners(problem)]
    classes = len(problem.sizes)
    if classes <= (MOST_CLASSES if problem.most_nodes <= FEW_NODES else FEW_CLASSES):
        staying += [_eigenvalues(problem, weights) for weights in _weightings(problem)]
    lost = problem.total - min(staying) - ROUNDING * problem.total
    return max(lost, 0.0)


def _partners(problem: PlacementProblem) -> float:
    """At most so many tuples a second stay, by the heaviest partners that fit."""
    staying = np.full(len(problem.sizes), np.inf)
    for limit in problem.limits:
        most = float(limit.allowed.max())
        for kind in range(len(staying)):
            others = problem.sizes.copy()
            others[kind] -= 1
            room = max(most - float(limit.load[kind]), 0.0)
            value = _knapsack(problem.pairs[kind], others.astype(np.float64), limit.load, room)
            staying[kind] = min(staying[kind], value)
    if not problem.limits:
        return problem.total
    return 0.5 * float(problem.sizes @ staying)


def _knapsack(value: Vector, sizes: Vector, load: Vector, room: float) -> float:
    """The most value of so many items of each kind, parts of them allowed, that fit in a room."""
    free = load <= 0.0
    total = float(value[free] @ sizes[free])
    worth = np.divide(value, load, out=np.zeros_like(value), where=~free)
    order = np.argsort(-worth, kind="stable")
    order = order[~free[order]]
    used = np.cumsum(sizes[order] * load[order])
    before = np.concatenate(([0.0], used[:-1])) if len(order) else used
    taken = np.clip(room - before, 0.0, sizes[order] * load[order])
    return total + float(taken @ worth[order])


def _weightings(problem: PlacementProblem) -> list[Vector]:
    """Weights of executors to try: alike, by what limits them, by their traffic."""
    weightings = [np.ones(len(problem.sizes))]
    candidates = [limit.load for limit in problem.limits]
    candidates.append(_degrees(problem))
    for raw in candidates:
        mean = float(problem.sizes @ raw) / float(problem.sizes.sum())
        if mean > 0.0 and np.ptp(raw) > 0.0:
            # Weights must be above zero.
            weightings.append(np.maximum(raw, 0.05 * mean))
    return weightings


def _degrees(problem: PlacementProblem) -> Vector:
    """Traffic of one executor of each class with all others."""
    return np.asarray(problem.pairs @ problem.sizes - np.diagonal(problem.pairs))


def _node_weights(problem: PlacementProblem, weights: Vector) -> Vector:
    """What every node can weigh at most, the heaviest first; only those that may be used."""
    sizes = problem.sizes.astype(np.float64)
    most = np.full(problem.nodes, float(weights @ sizes))
    for limit in problem.limits:
        by_room = {
            room: _knapsack(weights, sizes, limit.load, room)
            for room in np.unique(limit.allowed).tolist()
        }
        by_group = np.asarray([by_room[room] for room in limit.allowed.tolist()])
        most = np.minimum(most, by_group[limit.group])
    return np.sort(most)[::-1][: problem.most_nodes]


def _filled(most: Vector, total: float) -> Vector:
    """The weights of nodes of which the first are full."""
    before = np.concatenate(([0.0], np.cumsum(most)[:-1]))
    return np.clip(total - before, 0.0, most)


def _eigenvalues(problem: PlacementProblem, weights: Vector) -> float:
    """At most so many tuples a second stay, by the best shift of the diagonal found."""
    sizes = problem.sizes.astype(np.float64)
    lengths = _filled(_node_weights(problem, weights), float(weights @ sizes))
    lengths = lengths[lengths > 0.0]
    steps = int(min(MOST_STEPS, max(1.0, EFFORT / float(len(sizes)) ** 3)))
    shift = -_degrees(problem)
    best = np.inf
    for step in range(steps):
        value, slope = _shifted(problem, weights, lengths, shift)
        best = min(best, value)
        length = float(np.sqrt(slope @ slope))
        if length <= 0.0:
            break
        scale = max(float(np.abs(_degrees(problem)).max()), 1e-300)
        shift = shift - slope / length * scale * 0.5 / (1.0 + step)
    return best


def _shifted(
    problem: PlacementProblem, weights: Vector, lengths: Vector, shift: Vector
) -> tuple[float, Vector]:
    """The bound for one shift of the diagonal, and how it changes with the shift."""
    sizes = problem.sizes.astype(np.float64)
    root = np.sqrt(sizes / weights)
    quotient = problem.pairs * np.outer(root, root)
    own = np.diagonal(problem.pairs)
    np.fill_diagonal(quotient, ((sizes - 1.0) * own + shift) / weights)
    values, vectors = np.linalg.eigh(quotient)
    others = np.repeat((shift - own) / weights, problem.sizes - 1)
    owner = np.repeat(np.arange(len(sizes)), problem.sizes - 1)
    together = np.concatenate((values, others))
    order = np.argsort(-together, kind="stable")[: len(lengths)]
    # Fewer executors than nodes: the other nodes stay empty.
    lengths = lengths[: len(order)]
    bound = 0.5 * (float(lengths @ together[order]) - float(sizes @ shift))
    mass = np.zeros(len(sizes))
    for place, length in zip(order.tolist(), lengths.tolist(), strict=True):
        if place < len(values):
            mass += length * vectors[:, place] ** 2
        else:
            mass[owner[place - len(values)]] += length
    return bound, 0.5 * (mass / weights - sizes)
