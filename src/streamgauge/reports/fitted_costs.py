"""What phases of a tuple cost an engine: each cost with its error, and each step left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.drawing.wording import MISSING, count, format_number, format_share
from streamgauge.models.phase_fit import BYTE_COSTS, CORE_COSTS, FittedCosts
from streamgauge.reports.content import (
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report

MICRO, KILO = 1e6, 1e3
# Steps predicted from the others that are off by more do not speak for the costs.
LARGE_ERROR = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCostsReport(Report):
    """The costs that an experiment tells."""

    experiment: str
    engine: str
    costs: FittedCosts

    @property
    def title(self) -> str:
        """Experiment and engine."""
        return f"{self.experiment} on {self.engine}, costs of phases"

    @property
    def about(self) -> str:
        """What they were fitted to."""
        return f"{self.title}: fitted to CPU of {count(self.costs.figures, 'thread')}"

    @property
    def verdict(self) -> Verdict:
        """How far steps are predicted from the others."""
        costs = self.costs
        if not costs.left_out:
            return Verdict(
                grade=Grade.WARNING,
                word="Fitted",
                sentence=", but no step could be left out: errors are not known.",
            )
        worst = max(abs(one.error) for one in costs.left_out)
        return Verdict(
            grade=Grade.FINE if worst <= LARGE_ERROR else Grade.WARNING,
            word="Fitted",
            sentence=f". Steps predicted from the others are off by {format_share(worst)} at"
            " worst.",
        )

    @property
    def headline(self) -> Sequence[Term]:
        """How well single figures are explained."""
        return [Term("median error of a figure", format_share(self.costs.median_error))]

    def sections(self) -> Sequence[Section]:
        """Costs, then steps."""
        needed = [
            f"Without the step {name} some cost would not be known." for name in self.costs.needed
        ]
        return [
            Section("costs", "Costs", [self._tabulate_costs()]),
            Section("steps", "Each step from the others", [self._tabulate_steps(), Text(needed)]),
        ]

    def _tabulate_costs(self) -> Table:
        rows: list[Row] = [
            {
                Column("cost"): name,
                Column("value"): format_number(value),
                Column("error", "±"): format_number(error) if math.isfinite(error) else None,
                Column("of", words=True): unit,
            }
            for name, value, error, unit in self._list_costs()
        ]
        return tabulate(
            "Costs",
            rows,
            note="None is below zero. Errors by leaving steps out (jackknife). Grouping contains"
            " emitting; reading all that is done once for a tuple beside the job's own code.",
        )

    def _tabulate_steps(self) -> Table:
        rows: list[Row] = [
            {
                Column("step"): one.step,
                Column("measured", "cores"): format_number(one.measured),
                Column("predicted", "cores"): format_number(one.predicted),
                Column("error"): f"{100 * one.error:+.1f} %" if one.measured else MISSING,
            }
            for one in self.costs.left_out
        ]
        return tabulate(
            "Each step from the others",
            rows,
            note="CPU of all executors and threads that move messages, without the job's own code"
            " and idle time of executors.",
        )

    def _list_costs(self) -> Iterator[tuple[str, float, float, str]]:
        for name, value, error in zip(
            self.costs.names, self.costs.values.tolist(), self.costs.errors.tolist(), strict=True
        ):
            if name in CORE_COSTS:
                yield name, value, error, "cores"
            elif name in BYTE_COSTS:
                # Per byte in seconds: shown by the kilobyte.
                scale = MICRO * KILO
                yield name.replace("a byte", "a kB"), scale * value, scale * error, "µs a kB"
            else:
                yield name, MICRO * value, MICRO * error, "µs"

    def document(self) -> Mapping[str, Any]:
        """Costs in seconds, bytes and cores."""
        costs = self.costs
        return {
            "verdict": str(self.verdict),
            "experiment": self.experiment,
            "engine": self.engine,
            "median_error": costs.median_error,
            "costs": [
                {
                    "name": name,
                    "value": value,
                    "standard_error": error,
                    "unit": "cores" if name in CORE_COSTS else "seconds",
                }
                for name, value, error in zip(
                    costs.names, costs.values.tolist(), costs.errors.tolist(), strict=True
                )
            ],
            "steps": [{**one._asdict(), "error": one.error} for one in costs.left_out],
            "needed": list(costs.needed),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Every cost with its error."""
        for name, value, error in zip(
            self.costs.names, self.costs.values.tolist(), self.costs.errors.tolist(), strict=True
        ):
            unit = "cores" if name in CORE_COSTS else "s"
            for figure, number in (("value", value), ("standard_error", error)):
                yield FigureRow(subject="cost", name=name, figure=figure, value=number, unit=unit)
