"""What a prediction says: the verdict, the plan before and after, latency, reasons, all figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streamgauge.reports import prediction_tables as tables
from streamgauge.reports.content import FigureRow, Section, Term, Terms, Text, Verdict
from streamgauge.reports.latency import chart_latencies, get_quantile
from streamgauge.reports.prediction_charts import chart_plans
from streamgauge.reports.prediction_reasons import tabulate_reasons
from streamgauge.reports.prediction_verdict import find_busiest, judge_prediction, show_headroom
from streamgauge.reports.report import Report
from streamgauge.reports.wording import (
    count,
    show_change,
    show_duration,
    show_emission,
    show_utilisation,
)

if TYPE_CHECKING:
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.prediction import Prediction
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Emission, Workload

GUIDE = "What is predicted, by which rules and how accurately: docs/prediction.md."


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPlan:
    """A plan under a load, and how a model says that it behaves.

    Attributes:
        name: What the plan is called.
        plan: Where every executor runs.
        workload: What sources emit.
        load: Where the workload comes from.
        prediction: How the job would behave.
    """

    name: str
    plan: PhysicalPlan
    workload: Workload
    load: str
    prediction: Prediction

    @property
    def per_second(self) -> float:
        """Tuples that all sources emit together; NaN where one emits as fast as it can."""
        return _add_rates(self.workload.emissions)

    def emits(self, source: str) -> float:
        """Tuples that one source emits per second; NaN where it emits as fast as it can."""
        return _add_rates([one for one in self.workload.emissions if one.source == source])

    @property
    def sources(self) -> frozenset[str]:
        """The operators that tuples enter by."""
        return frozenset(operator.name for operator in self.plan.logical.topology.sources)

    @property
    def executors(self) -> dict[str, int]:
        """How many executors every operator has."""
        return {name: len(span) for name, span in self.plan.logical.spans.items()}

    @property
    def about(self) -> str:
        """What is predicted, in one line."""
        logical = self.plan.logical
        return (
            f"{logical.topology.name}: {count(len(logical.executors), 'executor')} in"
            f" {count(len(self.plan.workers), 'worker')} on"
            f" {count(len(self.plan.nodes), 'node')},"
            f" {self.show_load()} ({self.load}), model {self.prediction.model}"
        )

    def show_load(self) -> str:
        """``16.1 tuples/s``."""
        return f"{show_emission(self.per_second)} tuples/s"


def _show_headroom_change(before: float, after: float) -> str:
    """``91.4 → 169 times the load``; in words where one of them is no multiple of the load."""
    change = show_change(before, after, show_headroom)
    ending = " times the load"
    if change.count(ending) > 1:
        return change.replace(ending, "") + ending
    return change


def _add_rates(emissions: Sequence[Emission]) -> float:
    rates = (emission.per_second for emission in emissions)
    return sum(math.nan if rate is None else rate for rate in rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionReport(Report):
    """How a job would behave on a plan that has never run.

    Attributes:
        predicted: The plan, its load, and what the chosen model says.
        others: What other models say of the same plan and load.
        before: The plan that was measured, predicted at the same load.
        profile: Which profile the prediction rests on.
        warnings: What was assumed, and which models could not be asked.
    """

    predicted: PredictedPlan
    others: tuple[Prediction, ...] = ()
    before: PredictedPlan | None = None
    profile: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def prediction(self) -> Prediction:
        """What the chosen model says."""
        return self.predicted.prediction

    @property
    def plan(self) -> PhysicalPlan:
        """Where every executor runs."""
        return self.predicted.plan

    @property
    def workload(self) -> Workload:
        """What sources emit."""
        return self.predicted.workload

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.plan.logical.topology.name}, predicted"

    @property
    def about(self) -> str:
        """Plan, load and model in one line."""
        return self.predicted.about

    @property
    def verdict(self) -> Verdict:
        """Whether the plan carries the load, and what to watch."""
        return replace(judge_prediction(self.prediction), cautions=tuple(self._cautions()))

    @property
    def headline(self) -> list[Term]:
        """The 99th percentile and the headroom, then the median and the busiest executor."""
        former = (self.before or self.predicted).prediction
        now = self.prediction
        quantiles = {
            level: show_change(
                get_quantile(former.latency, level), get_quantile(now.latency, level), show_duration
            )
            for level in (0.5, 0.99)
        }
        headroom = _show_headroom_change(former.limit.factor, now.limit.factor)
        busiest = show_change(find_busiest(former), find_busiest(now), show_utilisation)
        return [
            Term("p99 latency", quantiles[0.99]),
            Term("headroom", headroom),
            Term("median latency", quantiles[0.5]),
            Term("busiest executor", busiest),
        ]

    def _cautions(self) -> Iterator[str]:
        prediction = self.prediction
        dissenting = [one.model for one in self.others if one.verdict != prediction.verdict]
        if dissenting:
            yield f"Not all models agree: {', '.join(dissenting)} would not say so."
        if prediction.swing is not None:
            swing = prediction.swing
            lowest, highest = show_duration(swing.lowest), show_duration(swing.highest)
            every = "" if swing.period is None else f", once in {show_duration(swing.period)}"
            yield f"Mean latency swings between {lowest} and {highest}{every}."
        for name, operator in prediction.operators.items():
            if operator.idle:
                executors = count(operator.executors, "executor")
                yield f"{operator.idle} of {executors} of {name} would get no tuples."

    def sections(self) -> list[Section]:
        """Picture, latency, reasons, models, all figures, notes, and how it was made."""
        before, predicted = self.before, self.predicted
        models = (self.prediction, *self.others)
        return [
            Section("plans", "Operators and how busy they are", [chart_plans(before, predicted)]),
            Section(
                "latency",
                "Latency",
                [
                    *chart_latencies(self._latencies()),
                    tables.tabulate_latency(before, predicted),
                    tables.tabulate_latency_parts(before, predicted),
                ],
            ),
            Section(
                "models",
                "What each model says",
                [tables.tabulate_models(models)] if self.others else [],
            ),
            Section(
                "reasons",
                "What limits the rate, and what would help",
                list(tabulate_reasons(self.prediction)),
            ),
            Section(
                "figures",
                "All figures",
                [
                    tables.tabulate_operators(before, predicted),
                    tables.tabulate_delay_parts(predicted),
                    tables.tabulate_executors(predicted),
                    tables.tabulate_workers(self.prediction),
                    tables.tabulate_machines(self.prediction),
                ],
            ),
            Section("notes", "Notes", self._notes()),
            Section("made", "How this was made", self._made()),
        ]

    def _latencies(self) -> dict[str, Latency]:
        """Latencies to draw beside each other: of plans, models or sources."""
        now = self.prediction
        before = None if self.before is None else self.before.prediction
        if self.others:
            former = {f"before, {before.model}": before.latency} if before else {}
            return former | {one.model: one.latency for one in (now, *self.others)}
        if before:
            return {"before": before.latency, "after": now.latency}
        return {"all": now.latency} | (dict(now.by_source) if len(now.by_source) > 1 else {})

    def _notes(self) -> list[Text]:
        notes = [
            f"{prediction.model}: {note}" if self.others else note
            for prediction in (self.prediction, *self.others)
            for note in prediction.notes
        ]
        return [Text(notes)] if notes else []

    def _made(self) -> list[Terms | Text]:
        predicted, before = self.predicted, self.before
        pairs = [
            ("plan", predicted.name),
            ("load", f"{predicted.show_load()}, {predicted.load}"),
            ("plan before", before.name if before else ""),
            ("profile", self.profile),
            (
                "models" if self.others else "model",
                ", ".join(one.model for one in (self.prediction, *self.others)),
            ),
        ]
        for key, value in self.prediction.provenance.items():
            pairs.append((f"profile, {key.replace('_', ' ')}", value))
        terms = [Term(name, value) for name, value in pairs if value]
        return [Terms(terms), Text([GUIDE], page_only=True)]

    def document(self) -> dict[str, Any]:
        """Prediction, verdict, plan and profile; what other models say where they were asked."""
        others = {"others": [one.to_dict() for one in self.others]} if self.others else {}
        return {
            "prediction": self.prediction.to_dict(),
            "verdict": str(judge_prediction(self.prediction)),
            "plan": self.predicted.name,
            "profile": self.profile,
            "warnings": list(self.warnings),
            **others,
        }

    def figures(self) -> Iterator[FigureRow]:
        """Figures of the job, its operators, executors, workers and machines."""
        yield from tables.list_prediction_figures(self.prediction)
