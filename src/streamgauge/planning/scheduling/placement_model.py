"""Placement of few executors: the optimum, or how far from it one can be, by CP-SAT.

Variables are counts of classes on nodes, so that neither executors nor, where they are equal,
nodes can be exchanged without changing the solution. What stays inside nodes is a sum of products
of two such counts. Rates become whole numbers by rounding up: what stays is never
underestimated, and so the bound holds.

The solver has one thread, a fixed seed and a limit that counts its own work, not time: the same
problem has the same answer anywhere.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.planning.scheduling.placement_problem import Counts, Limit, PlacementProblem

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar, LinearExpr

# The largest rate, and the largest capacity, as a whole number.
SCALE = 10**9


def is_available() -> bool:
    """Whether the solver is installed."""
    return find_spec("ortools") is not None


def products(problem: PlacementProblem) -> int:
    """How many products of two counts a model of the problem has: its size, by and large."""
    return int(np.count_nonzero(np.triu(problem.pairs))) * problem.nodes


def solve(
    problem: PlacementProblem, *, start: Counts, least_remote: float, effort: float
) -> tuple[Counts | None, float]:
    """The placement with the fewest tuples between nodes, if there is one, and a proven least.

    A bound that is known already need not be proven again. Effort is the solver's own measure of
    work, about seconds.
    """
    from ortools.sat.python import cp_model

    if problem.total <= 0.0:
        return start, 0.0
    model = cp_model.CpModel()
    counts = _counts(model, problem)
    _keep_limits(model, problem, counts)
    _break_symmetry(model, problem, counts)
    staying, scale = _staying(model, problem, counts)
    # A bound that is known need not be proven again; rounding adds less than one a pair.
    most = (problem.total - least_remote) * (1.0 + 1e-6) * scale
    model.add(staying <= math.ceil(most) + int(problem.sizes.sum()) ** 2)
    _hint(model, problem, counts, start)
    model.maximize(staying)
    solver = _solver(effort)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, least_remote
    solution = _values(solver, counts)
    proven = problem.total - solver.best_objective_bound / scale
    return solution if problem.allows(solution) else None, max(least_remote, proven)


def least_loaded(problem: PlacementProblem, limit: Limit, *, effort: float) -> Counts | None:
    """A placement whose fullest place of a limit is as little above its `most` as can be.

    The other limits, those of the problem, are kept.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    counts = _counts(model, problem)
    _keep_limits(model, problem, counts)
    rooms = np.maximum(limit.most, 1e-3)
    # Everything in the smallest place is the largest level there can be.
    largest = max(float(limit.load @ problem.sizes) / float(rooms.min()), 1e-300)
    level = model.new_int_var(0, SCALE + int(problem.sizes.sum()), "level")
    for group, room in enumerate(rooms.tolist()):
        nodes = np.flatnonzero(limit.group == group).tolist()
        loads = [math.ceil(load / room / largest * SCALE) for load in limit.load.tolist()]
        model.add(_weighted(counts, loads, nodes) <= level)
    model.minimize(level)
    solver = _solver(effort)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return _values(solver, counts)


def _solver(effort: float) -> CpSolver:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = effort
    return solver


def _values(solver: CpSolver, counts: list[list[IntVar]]) -> Counts:
    return np.asarray([[solver.value(count) for count in row] for row in counts], dtype=np.int64)


def _counts(model: CpModel, problem: PlacementProblem) -> list[list[IntVar]]:
    counts = []
    for kind, size in enumerate(problem.sizes.tolist()):
        row = [model.new_int_var(0, size, f"x{kind},{node}") for node in range(problem.nodes)]
        model.add(sum(row) == size)
        counts.append(row)
    return counts


def _keep_limits(model: CpModel, problem: PlacementProblem, counts: list[list[IntVar]]) -> None:
    if problem.most_nodes < problem.nodes:
        total = int(problem.sizes.sum())
        used = [model.new_bool_var(f"used{node}") for node in range(problem.nodes)]
        for node, in_use in enumerate(used):
            model.add(sum(row[node] for row in counts) <= total * in_use)
        model.add(sum(used) <= problem.most_nodes)
    for limit in problem.limits:
        # As wide as elsewhere, so that the bound holds for all that counts as allowed.
        largest = max(float(limit.allowed.max()), 1e-300)
        loads = [math.floor(load / largest * SCALE) for load in limit.load.tolist()]
        for group, most in enumerate(limit.allowed.tolist()):
            nodes = np.flatnonzero(limit.group == group).tolist()
            model.add(_weighted(counts, loads, nodes) <= math.ceil(most / largest * SCALE))


def _weighted(counts: list[list[IntVar]], loads: list[int], nodes: list[int]) -> LinearExpr | int:
    return sum(load * row[node] for row, load in zip(counts, loads, strict=True) for node in nodes)


def _break_symmetry(model: CpModel, problem: PlacementProblem, counts: list[list[IntVar]]) -> None:
    """Equal nodes in the order of how many they have of the largest class."""
    lead = counts[int(problem.sizes.argmax())]
    alike: dict[tuple[float, ...], list[int]] = {}
    for node in range(problem.nodes):
        if not any((limit.group == limit.group[node]).sum() > 1 for limit in problem.limits):
            most = tuple(float(limit.most[limit.group[node]]) for limit in problem.limits)
            alike.setdefault(most, []).append(node)
    for nodes in alike.values():
        for before, after in pairwise(nodes):
            model.add(lead[before] >= lead[after])


def _staying(
    model: CpModel, problem: PlacementProblem, counts: list[list[IntVar]]
) -> tuple[LinearExpr | int, float]:
    """What stays inside nodes, in whole numbers, and how many of these are a tuple a second.

    Of one class, x·(x − 1)/2 pairs of executors are on a node.
    """
    scale = SCALE / float(problem.pairs.max())
    terms = []
    for kind, other in np.argwhere(np.triu(problem.pairs) > 0.0).tolist():
        weight = math.ceil(problem.pairs[kind, other] * scale)
        size, partners = int(problem.sizes[kind]), int(problem.sizes[other])
        if kind == other and size < 2:
            continue
        for node in range(problem.nodes):
            x, y = counts[kind][node], counts[other][node]
            most = size * (size - 1) // 2 if kind == other else size * partners
            both = model.new_int_var(0, most, f"{kind},{other},{node}")
            if kind == other:
                pairs = [(n, n * (n - 1) // 2) for n in range(size + 1)]
                model.add_allowed_assignments([x, both], pairs)
            elif size == 1 and partners == 1:
                model.add(both <= x)
                model.add(both <= y)
            else:
                model.add_multiplication_equality(both, [x, y])
                # What the product's own rule does not see: neither side has more than it has.
                model.add(both <= partners * x)
                model.add(both <= size * y)
            terms.append(weight * both)
    return sum(terms), scale


def _hint(
    model: CpModel, problem: PlacementProblem, counts: list[list[IntVar]], start: Counts
) -> None:
    """Begin with a placement known, its equal nodes in the order that the model asks for."""
    lead = int(problem.sizes.argmax())
    order = np.argsort(-start[lead], kind="stable").tolist()
    equal = all(np.ptp(limit.most) == 0.0 for limit in problem.limits)
    columns = order if equal else list(range(problem.nodes))
    for row, values in zip(counts, start[:, columns].tolist(), strict=True):
        for variable, value in zip(row, values, strict=True):
            model.add_hint(variable, value)
