"""What a judgement says: how near predictions came to what was measured, and where they did not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.heat_maps import HeatCell, draw_heat_map
from streamgauge.drawing.wording import (
    INFINITE,
    MISSING,
    count,
    format_difference,
    format_duration,
    format_number,
    format_share,
    list_names,
)
from streamgauge.experiments.cross_prediction import STAGES
from streamgauge.experiments.quantities import (
    MEAN_SINCE_DUE,
    MEAN_SINCE_EMISSION,
    ROUTING,
    Quantity,
    Scope,
)
from streamgauge.reports.content import (
    Cell,
    Chart,
    ChartRow,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
    tabulate,
    tabulate_groups,
)
from streamgauge.reports.report import Report, list_figures

if TYPE_CHECKING:
    from streamgauge.experiments.judgement import Cell as JudgedCell
    from streamgauge.experiments.judgement import Judgement, Summary

SCOPES = {
    Scope.STAGE: "Stage by stage",
    Scope.WHOLE: "The whole job",
    Scope.THESIS: "As Cooper 2020 judges",
}
# A quantity without a target has these limits of colours.
LIMITS = (0.05, 0.12, 0.3)
WORST_CELLS = 12
MEANING = (
    "An error is (predicted − measured) / measured. The floor is the median error of predicting a"
    " repetition by another of the same step. A cell whose floor exceeds half of the target is not"
    " measurable: it does not count. Steps that did not keep up are judged apart. How:"
    " docs/experiments.md."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementReport(Report):
    """How near predictions of an experiment's steps came, each step predicted from each."""

    judgement: Judgement
    folder: str = ""

    @property
    def title(self) -> str:
        """Experiment and engine."""
        return f"{self.judgement.experiment} on {self.judgement.engine}, judged"

    @property
    def about(self) -> str:
        """What was predicted from what."""
        judged = self.judgement
        return (
            f"{self.title}: {count(len(judged.proposed), 'step')} predicted from"
            f" {count(len(judged.sources), 'profile')}, {list_names(list(judged.models), 8)}"
        )

    @property
    def verdict(self) -> Verdict:
        """Mean latency first; what missed its target, and what was left out."""
        main = self._find_main()
        missed = [one for one in self._list_decisive() if one.is_met is False]
        left_out = [step.name for step in self.judgement.steps if step.no_truth or step.no_source]
        return Verdict(
            grade=Grade.WARNING if missed or left_out else Grade.FINE,
            word="Judged",
            sentence=f": {'nothing can be judged' if main is None else _say_summary(main)}.",
            cautions=tuple(self._list_cautions(missed, left_out)),
        )

    @property
    def warnings(self) -> Sequence[str]:
        """What was assumed, and which models said nothing."""
        return (*self.judgement.warnings, *self._list_refusals())

    def sections(self) -> list[Section]:
        """Summary, matrices, the worst cells, overloaded steps, and how it was made."""
        return [
            Section("summary", "Errors by quantity", [self._tabulate_summaries()]),
            Section("matrices", "From step to step", [*self._tabulate_matrices()]),
            Section("maps", "Heat maps", [ChartRow(charts=list(self._chart_matrices()))]),
            Section("thesis", "Routing by stream", [self._tabulate_routing()]),
            Section("worst", "Where predictions are furthest off", [self._tabulate_worst()]),
            Section("intervals", "Intervals", [*self._tabulate_intervals()]),
            Section("apart", "Steps that did not keep up", [*self._tabulate_apart()]),
            Section("steps", "Steps", [self._tabulate_steps()]),
            Section("made", "How this was made", [Terms(self._list_making()), Text([MEANING])]),
        ]

    def document(self) -> Mapping[str, Any]:
        """Steps, summaries, matrices and all cells."""
        judged = self.judgement
        return {
            "experiment": judged.experiment,
            "engine": judged.engine,
            "models": list(judged.models),
            "steps": [
                {
                    "name": step.name,
                    "no_truth": step.no_truth or None,
                    "no_source": step.no_source or None,
                    "overloads": list(step.overloads),
                    "left_out": list(step.left_out),
                    "carried_per_second": step.carried_per_second,
                }
                for step in judged.steps
            ],
            "summaries": [_write_summary(one) for one in judged.summarise()],
            "overloaded": [_write_summary(one) for one in judged.summarise(apart=True)],
            "matrices": [
                {
                    "quantity": quantity.name,
                    "model": model,
                    "cells": [
                        {"source": source, "proposed": proposed, **_write_errors(one)}
                        for (source, proposed), one in judged.matrix(quantity, model).items()
                    ],
                }
                for quantity, model in self._list_quantities()
            ],
            "cells": [_write_cell(cell) for cell in judged.cells],
            "verdicts": [
                {"source": source, "proposed": proposed, "model": model, "fits": fits}
                for (source, proposed, model), fits in judged.verdicts.items()
            ],
            "refusals": [
                {"source": source, "proposed": proposed, "model": model, "reason": reason}
                for source, proposed, model, reason in judged.refusals
            ],
            "verdict": [str(self.verdict), *self.verdict.cautions],
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Errors by quantity and model, then every cell."""
        for summary in self.judgement.summarise():
            name = f"{summary.quantity.name}, {summary.model}"
            errors = {
                "median_error": summary.median,
                "mean_error": summary.mean,
                "worst_error": summary.worst,
                "bias": summary.bias,
                "median_floor": math.nan if summary.floor is None else summary.floor,
                "cells": float(summary.cells),
            }
            yield from list_figures("summary", name, errors, unit="")
        for cell in self.judgement.cells:
            name = f"{cell.source} → {cell.proposed}: {cell.subject}, {cell.model}"
            yield FigureRow(subject="error", name=name, figure=cell.quantity.name, value=cell.error)

    def _find_main(self) -> Summary | None:
        """Mean latency since due by the first model, else since emission, else anything."""
        summaries = self.judgement.summarise()
        for quantity in (MEAN_SINCE_DUE, MEAN_SINCE_EMISSION):
            for one in summaries:
                if one.quantity == quantity and one.cells:
                    return one
        return next((one for one in summaries if one.cells), None)

    def _list_cautions(self, missed: Sequence[Summary], left_out: Sequence[str]) -> Iterator[str]:
        with_target = [one for one in self._list_decisive() if one.is_met is not None]
        who = self._name_model(self.judgement.models[0])
        if missed:
            named = list_names([one.quantity.name for one in missed], 6)
            total = f"{len(missed)} of {count(len(with_target), 'target')}"
            yield f"Missed{who}: {named} ({total})."
        elif with_target:
            yield f"All {count(len(with_target), 'target')} are met{who}."
        if left_out:
            yield f"Left out: {list_names(list(left_out), 6)}."
        held = [one for one in self.judgement.summarise() if one.with_intervals]
        if held:
            known = sum(one.with_intervals for one in held)
            within = sum(one.within for one in held)
            yield f"{within:,} of {known:,} intervals of 90 % hold what another step measured."
        apart = [step.name for step in self.judgement.steps if step.overloads]
        if apart:
            yield f"Did not keep up, and are judged apart: {list_names(apart, 6)}."

    def _list_decisive(self) -> list[Summary]:
        """Of the stages, and of the model that was named first."""
        decisive = (STAGES, self.judgement.models[0])
        return [one for one in self.judgement.summarise() if one.model in decisive]

    def _name_model(self, model: str) -> str:
        return f" by {model}" if len(self.judgement.models) > 1 and model != STAGES else ""

    def _list_refusals(self) -> Iterator[str]:
        reasons: dict[tuple[str, str], int] = {}
        for _, _, model, reason in self.judgement.refusals:
            reasons[model, reason] = reasons.get((model, reason), 0) + 1
        for (model, reason), times in reasons.items():
            yield f"{model} said nothing in {count(times, 'case')}: {reason}"

    def _list_quantities(self) -> list[tuple[Quantity, str]]:
        """Every quantity and model that has cells, in the order of the summary."""
        both = [*self.judgement.summarise(), *self.judgement.summarise(apart=True)]
        return list(dict.fromkeys((one.quantity, one.model) for one in both))

    def _tabulate_summaries(self) -> Table:
        return tabulate_groups(
            "Absolute errors of predictions",
            self._group_summaries(self.judgement.summarise()),
            note="Bias: median of signed errors. Target: of the median, and of the worst cell where"
            " there is one. Other cells: their floor exceeds half of the target.",
        )

    def _group_summaries(self, summaries: Sequence[Summary]) -> dict[str, list[Row]]:
        groups: dict[str, list[Row]] = {}
        for scope, heading in SCOPES.items():
            for model in (STAGES, *self.judgement.models):
                rows = [
                    _describe_summary(one)
                    for one in summaries
                    if one.quantity.scope is scope and one.model == model
                ]
                if rows:
                    groups[f"{heading}{self._name_model(model)}"] = rows
        return groups

    def _tabulate_matrices(self) -> Iterator[Table]:
        """Of mean latencies and what the thesis compares; heat maps have the rest."""
        for quantity, model in self._list_quantities():
            is_main = quantity in (MEAN_SINCE_DUE, MEAN_SINCE_EMISSION)
            if is_main or quantity.scope is Scope.THESIS:
                yield self._tabulate_matrix(quantity, model)

    def _tabulate_matrix(self, quantity: Quantity, model: str) -> Table:
        found = self.judgement.matrix(quantity, model)
        proposed = [name for name in self.judgement.proposed if any(p == name for _, p in found)]
        overloaded = {step.name for step in self.judgement.steps if step.overloads}
        brackets = any(not one.cells for one in found.values())
        rows: list[Row] = [
            {
                Column("from the profile of"): source,
                **{
                    Column(name, "overloaded" if name in overloaded else ""): _show_pair(
                        found.get((source, name))
                    )
                    for name in proposed
                },
            }
            for source in self.judgement.sources
            if any(one == source for one, _ in found)
        ]
        title = f"{quantity.name[0].upper()}{quantity.name[1:]}{self._name_model(model)}: error"
        note = "In brackets: the floor exceeds half of the target." if brackets else ""
        return tabulate(title, rows, note=note)

    def _chart_matrices(self) -> Iterator[Chart]:
        for quantity, model in self._list_quantities():
            found = self.judgement.matrix(quantity, model)
            title = f"{quantity.name}{self._name_model(model)}"
            target = quantity.target
            limits = LIMITS if target is None else (target, 2.0 * target, 5.0 * target)
            draw = partial(
                draw_heat_map,
                self.judgement.sources,
                self.judgement.proposed,
                {pair: self._heat_cell(pair, one) for pair, one in found.items()},
                title=title,
                row_title="profile of",
                column_title="predicted step",
                limits=limits,
            )
            yield Chart(title=title, draw=draw)

    def _heat_cell(self, pair: tuple[str, str], summary: Summary) -> HeatCell:
        overloaded = {step.name for step in self.judgement.steps if step.overloads}
        title = (
            f"{pair[0]} → {pair[1]}: {_show_pair(summary)}, worst {_show_error(summary.worst)},"
            f" {count(summary.cells, 'cell')}, {summary.not_measurable} not measurable"
        )
        if summary.floor is not None:
            title += f", floor {format_share(summary.floor)}"
        return HeatCell(
            value=summary.bias,
            label=_show_pair(summary),
            title=title,
            is_apart=not summary.cells or not overloaded.isdisjoint(pair),
        )

    def _tabulate_routing(self) -> Table:
        by_stream: dict[str, list[float]] = {}
        for cell in self.judgement.cells:
            if cell.quantity == ROUTING and not cell.is_apart:
                stream = cell.subject.partition(":")[0]
                by_stream.setdefault(stream, []).append(abs(cell.error))
        return tabulate(
            "Routing shares: absolute errors by stream",
            [
                {
                    Column("stream"): stream,
                    Column("median"): _show_error(sorted(errors)[len(errors) // 2]),
                    Column("worst"): _show_error(max(errors)),
                    Column("cells"): len(errors),
                }
                for stream, errors in by_stream.items()
            ],
        )

    def _tabulate_worst(self) -> Table:
        counted = [
            cell
            for cell in self.judgement.cells
            if not cell.is_apart and cell.is_measurable and cell.quantity.scope is Scope.WHOLE
        ]
        furthest = sorted(counted, key=lambda cell: -abs(cell.error))[:WORST_CELLS]
        return tabulate(
            "Cells of the whole job that are furthest off",
            [
                {
                    Column("quantity"): cell.quantity.name + self._name_model(cell.model),
                    Column("from → to", words=True): f"{cell.source} → {cell.proposed}",
                    Column("of", words=True): cell.subject,
                    Column("predicted"): _show_value(cell.predicted, cell.unit),
                    Column("measured"): _show_value(cell.measured, cell.unit),
                    Column("error"): _show_signed(cell.error),
                    Column("floor"): None if cell.floor is None else format_share(cell.floor),
                }
                for cell in furthest
            ],
        )

    def _tabulate_intervals(self) -> Iterator[Table]:
        """Those that do not hold what was measured; on pages, all of the whole job."""
        bounded = [
            cell
            for cell in self.judgement.cells
            if not cell.is_apart and cell.source != cell.proposed and cell.is_within is not None
        ]
        outside = sorted(
            (cell for cell in bounded if not cell.is_within), key=lambda cell: -abs(cell.error)
        )
        note = (
            "Errors of models are those of other jobs"
            f" ({self.judgement.model_errors or 'origin not known'}). The profile's own step does"
            " not count: it owes to the same chance."
        )
        yield tabulate(
            f"Measured outside of its 90 % interval: {len(outside)} of {len(bounded)}",
            [_describe_interval(cell) for cell in outside[:WORST_CELLS]],
            note=note,
        )
        rows = [_describe_interval(cell) for cell in bounded]
        yield tabulate("All intervals", rows, page_only=True)

    def _tabulate_apart(self) -> Iterator[Table]:
        judged = self.judgement
        rows: list[Row] = []
        for step in judged.steps:
            for model in judged.models if step.overloads else ():
                said = [
                    fits
                    for (_, proposed, one), fits in judged.verdicts.items()
                    if proposed == step.name and one == model
                ]
                rows.append(
                    {
                        Column("step"): step.name,
                        Column("what did not keep up", words=True): list_names(
                            list(step.overloads), 2
                        ),
                        Column("carried", "tuples/s"): format_number(step.carried_per_second),
                        Column("model", words=True): model,
                        Column("said so"): f"{said.count(False)} of {len(said)}",
                    }
                )
        yield tabulate("Overloaded steps", rows)
        yield tabulate_groups(
            "Absolute errors where a step was overloaded",
            self._group_summaries(judged.summarise(apart=True)),
            page_only=True,
        )

    def _tabulate_steps(self) -> Table:
        return tabulate(
            "Steps",
            [
                {
                    Column("step"): step.name,
                    Column("as truth", words=True): step.no_truth or "used",
                    Column("as source", words=True): step.no_source or "used",
                    Column("carried", "tuples/s"): None
                    if math.isnan(step.carried_per_second)
                    else format_number(step.carried_per_second),
                    Column("kept up", words=True): None
                    if step.no_truth
                    else "no"
                    if step.overloads
                    else "yes",
                }
                for step in self.judgement.steps
            ],
        )

    def _list_making(self) -> list[Term]:
        judged = self.judgement
        terms = {
            "folder": self.folder,
            "engine": judged.engine,
            "models": ", ".join(judged.models),
            "cells": f"{len(judged.cells):,}",
        }
        return [Term(name, value) for name, value in terms.items() if value]


def _say_summary(summary: Summary) -> str:
    floor = "" if summary.floor is None else f"; floor {format_share(summary.floor)}"
    return (
        f"{summary.quantity.name} by {summary.model} is within {_show_error(summary.median)}"
        f" (median of {count(summary.cells, 'cell')}), at worst {_show_error(summary.worst)}{floor}"
    )


def _describe_summary(summary: Summary) -> Row:
    target, worst = summary.quantity.target, summary.quantity.worst_target
    aimed = None if target is None else f"{100 * target:g}{f', {100 * worst:g}' if worst else ''}"
    met: Cell = None if summary.is_met is None else "yes" if summary.is_met else "no"
    return {
        Column("quantity"): summary.quantity.name,
        Column("median"): _show_error(summary.median),
        Column("worst"): _show_error(summary.worst),
        Column("mean", page_only=True): _show_error(summary.mean),
        Column("bias"): _show_signed(summary.bias),
        Column("other steps", "median", page_only=True): _show_error(summary.other_median),
        Column("floor", "median"): None if summary.floor is None else format_share(summary.floor),
        Column("within 90 %"): _show_within(summary),
        Column("half-width", "median", page_only=True): _show_error(summary.half_width),
        Column("cells"): summary.cells,
        Column("others", "not measurable"): summary.not_measurable or None,
        Column("target", "≤ %"): aimed,
        Column("met"): met,
    }


def _describe_interval(cell: JudgedCell) -> Row:
    return {
        Column("quantity"): cell.quantity.name,
        Column("from → to", words=True): f"{cell.source} → {cell.proposed}",
        Column("of", words=True): cell.subject,
        Column("predicted"): _show_value(cell.predicted, cell.unit),
        Column("from"): _show_value(cell.low, cell.unit),
        Column("to"): _show_value(cell.high, cell.unit),
        Column("measured"): _show_value(cell.measured, cell.unit),
        Column("within"): "yes" if cell.is_within else "no",
    }


def _show_within(summary: Summary) -> str | None:
    """How many intervals hold what was measured; nothing where none is known."""
    known = summary.with_intervals
    return f"{summary.within} of {known}" if known else None


def _show_error(part: float) -> str:
    if math.isnan(part):
        return MISSING
    return INFINITE if math.isinf(part) else format_share(part)


def _show_signed(part: float) -> str:
    if math.isnan(part):
        return MISSING
    return INFINITE if math.isinf(part) else format_difference(part)


def _show_pair(summary: Summary | None) -> str:
    """The signed error of a source and a proposed step; in brackets where none is measurable."""
    if summary is None:
        return MISSING
    shown = _show_signed(summary.rough_bias)
    return shown if summary.cells else f"({shown})"


def _show_value(value: float, unit: str) -> str:
    if unit == "s":
        return format_duration(value)
    return INFINITE if math.isinf(value) else format_number(value)


def _write_errors(summary: Summary) -> dict[str, Any]:
    return {
        "median": summary.median,
        "mean": summary.mean,
        "worst": summary.worst,
        "bias": summary.bias,
        "bias_of_all_cells": summary.rough_bias,
        "other_steps_median": summary.other_median,
        "floor": summary.floor,
        "cells": summary.cells,
        "not_measurable": summary.not_measurable,
        "with_intervals": summary.with_intervals,
        "within": summary.within,
        "half_width": None if math.isnan(summary.half_width) else summary.half_width,
    }


def _write_summary(summary: Summary) -> dict[str, Any]:
    quantity, worst = summary.quantity, summary.worst_cell
    return {
        "quantity": quantity.name,
        "scope": str(quantity.scope),
        "model": summary.model,
        **_write_errors(summary),
        "worst_cell": None if worst is None else _write_cell(worst),
        "target": quantity.target,
        "worst_target": quantity.worst_target,
        "is_met": summary.is_met,
    }


def _write_cell(cell: JudgedCell) -> dict[str, Any]:
    return {
        "quantity": cell.quantity.name,
        "model": cell.model,
        "source": cell.source,
        "proposed": cell.proposed,
        "subject": cell.subject,
        "unit": cell.unit,
        "predicted": cell.predicted,
        "measured": cell.measured,
        "error": cell.error,
        "floor": cell.floor,
        "is_measurable": cell.is_measurable,
        "is_overloaded": cell.is_apart,
        "low": None if math.isnan(cell.low) else cell.low,
        "high": None if math.isnan(cell.high) else cell.high,
        "is_within": cell.is_within,
    }
