"""Whole numbers of columns at the least cost, by SCIP; it says how much less there might be.

Needs the extra ``planning``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamgauge.extras import require_extra

# Factors of the columns, and between which limits their sum lies.
Row = tuple[Sequence[float], float, float]


def minimise(
    costs: Sequence[float],
    rows: Sequence[Row],
    *,
    most: Sequence[int],
    hint: Sequence[int],
    nodes: int,
    gap: float = 0.0,
    seconds: float | None = None,
) -> tuple[list[int], float]:
    """The best numbers found, each from 0 to its most, and a bound on the cost of any.

    After so many nodes of the search tree, or with that part between cost and bound, it is the best
    so far, or nothing where there is none; a limit of time in addition makes the answer depend on
    the machine. Where no numbers keep the limits, the bound is infinite.
    """
    with require_extra("planning"):
        from ortools.linear_solver.python import model_builder
    model = model_builder.Model()  # type: ignore[no-untyped-call] # has no annotation there
    columns = [model.new_int_var(0, limit, "") for limit in most]
    for factors, least, limit in rows:
        used = [index for index, factor in enumerate(factors) if factor]
        total = model_builder.LinearExpr.weighted_sum(
            [columns[index] for index in used], [float(factors[index]) for index in used]
        )
        if math.isfinite(limit):
            model.add(total <= limit)
        if math.isfinite(least):
            model.add(total >= least)
    scale = 1000.0 / max(*map(abs, costs), 1e-300)
    model.minimize(model_builder.LinearExpr.weighted_sum(columns, [cost * scale for cost in costs]))
    for column, many in zip(columns, hint, strict=True):
        model.add_hint(column, many)
    solver = model_builder.Solver("scip")
    # Restarts would begin to count nodes anew, and may not end.
    limits = f"limits/gap = {gap}\nlimits/totalnodes = {nodes}"
    solver.set_solver_specific_parameters(f"{limits}\npresolving/maxrestarts = 0")
    if seconds is not None:
        solver.set_time_limit_in_seconds(seconds)
    status = solver.solve(model)
    if status == model_builder.SolveStatus.INFEASIBLE:
        return [], math.inf
    # A search that ended before its first relaxation was solved has no bound.
    known = solver.best_objective_bound
    bound = float(known) / scale if isinstance(known, int | float) else -math.inf
    if status not in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE):
        return [], bound
    return [round(solver.value(column)) for column in columns], bound
