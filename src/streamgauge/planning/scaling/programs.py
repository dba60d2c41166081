"""Mixed-integer linear programs, solved to proven optimality by SCIP.

Rates are floating-point numbers, and so is SCIP's arithmetic; CP-SAT would need them scaled to
whole ones. Its tolerances are relative where columns and gains are of the order of one. Needs the
extra ``planning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import InvalidInput

# By which SCIP's bound may be too low, as a part of the largest gain that columns allow.
TOLERANCE = 1e-9


@dataclass(slots=True)
class Program:
    """Columns from 0 on and rows that limit their sums, to gain as much as can be."""

    most: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    rows: list[tuple[Mapping[int, float], float]] = field(default_factory=list)

    def column(self, most: float, *, whole: bool = False, gain: float = 0.0) -> int:
        """A variable from 0 to `most`; what one of it gains."""
        self.most.append(most)
        self.whole.append(whole)
        self.gains.append(gain)
        return len(self.most) - 1

    def row(self, terms: Mapping[int, float], limit: float) -> None:
        """Columns times factors are at most `limit` together."""
        self.rows.append((terms, limit))

    def solve(self, nodes: int) -> tuple[list[float], float]:
        """The columns of the best solution, and what none gains more than.

        After so many nodes of the search tree it is the best so far, or nothing where there is
        none yet. A limit of time would give another answer on another machine.

        Raises:
            InvalidInput: The solver is not installed.
        """
        try:
            from ortools.linear_solver.python import model_builder
        except ModuleNotFoundError as error:
            raise InvalidInput.single(
                (),
                seen=f"no module {error.name!r}",
                expected="the extra that finds exact optima",
                remedy="pip install 'streamgauge[planning]'",
            ) from None
        model = model_builder.Model()  # type: ignore[no-untyped-call] # has no annotation there
        columns = [
            model.new_var(0.0, most, whole, "")
            for most, whole in zip(self.most, self.whole, strict=True)
        ]
        for terms, limit in self.rows:
            parts = [columns[column] for column in terms]
            model.add(model_builder.LinearExpr.weighted_sum(parts, list(terms.values())) <= limit)
        # A total near a thousand, where SCIP's tolerances of 1e-6 and less are far below it.
        total = sum(gain * most for gain, most in zip(self.gains, self.most, strict=True))
        scale = 1000.0 / total if total > 0.0 else 1.0
        gains = [gain * scale for gain in self.gains]
        model.maximize(model_builder.LinearExpr.weighted_sum(columns, gains))
        solver = model_builder.Solver("scip")
        solver.set_solver_specific_parameters(
            f"limits/gap = 0\nlimits/absgap = 0\nlimits/nodes = {nodes}"
        )
        status = solver.solve(model)
        solved = (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE)
        if status not in solved:
            return [], total
        bound = float(solver.best_objective_bound) / scale + TOLERANCE * total
        return [float(solver.value(column)) for column in columns], min(total, bound)
