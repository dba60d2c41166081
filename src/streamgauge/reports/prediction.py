"""What a prediction says: the verdict, the plan before and after, latency, reasons, all figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    count,
    format_change,
    format_duration,
    format_emission,
    format_share,
    format_utilisation,
    name_percentile,
    printable,
)
from streamgauge.models.throughput import Risk
from streamgauge.reports import prediction_figures as tables
from streamgauge.reports.content import (
    Block,
    Chart,
    FigureRow,
    Grade,
    Section,
    Term,
    Terms,
    Text,
    Verdict,
)
from streamgauge.reports.intervals import (
    build_certainty,
    document_back_test,
    document_intervals,
    say_back_test,
    show_range,
    tabulate_back_test,
)
from streamgauge.reports.latency import chart_latencies, get_quantile
from streamgauge.reports.prediction_figures import tabulate_reasons
from streamgauge.reports.prediction_verdict import (
    find_busiest,
    judge_prediction,
    name_limit,
    show_headroom,
)
from streamgauge.reports.report import Report, describe_size
from streamgauge.reports.throughput_tables import tabulate_throughput
from streamgauge.topology.topology import OperatorKind

if TYPE_CHECKING:
    from streamgauge.models.back_test import BackTested
    from streamgauge.models.doubts import Doubt
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.intervals import Intervals
    from streamgauge.models.prediction import Prediction
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Emission, Workload

GUIDE = "What is predicted, by which rules and how accurately: docs/prediction.md."
# A limit that a larger part of the tuples waits for is worth a word.
MANY_WAIT = 0.01
# Graphs with more operators are unreadable on a page.
MANY_OPERATORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPlan:
    """A plan under a load, and how a model says that it behaves; `load` says whose load it is."""

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
        """The same of one source."""
        return _add_rates([load for load in self.workload.emissions if load.source == source])

    @property
    def sources(self) -> frozenset[str]:
        """The operators that tuples enter by."""
        return frozenset(operator.name for operator in self.plan.logical.topology.sources)

    @property
    def about(self) -> str:
        """What is predicted, in one line."""
        return (
            f"{self.plan.logical.topology.name}: {describe_size(self.plan)},"
            f" {self.show_load()} ({self.load}), model {self.prediction.model}"
        )

    def show_load(self) -> str:
        """``16.1 tuples/s``."""
        return f"{format_emission(self.per_second)} tuples/s"


def _show_headroom_change(before: float, after: float) -> str:
    """``91.4 → 169 times the load``; in words where one of them is no multiple of the load."""
    change, ending = format_change(before, after, show_headroom), " times the load"
    return change.replace(ending, "") + ending if change.count(ending) > 1 else change


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
        doubts: Why the answer may be wrong, and what to do.
        warnings: What was assumed, and which models could not be asked.
        intervals: How sure every figure is; None where that was not asked for.
        tested: The back-test on the plan and load that were measured.
        is_own: Whether that plan and load are the predicted ones.
    """

    predicted: PredictedPlan
    others: tuple[Prediction, ...] = ()
    before: PredictedPlan | None = None
    intervals: Intervals | None = None
    tested: tuple[BackTested, ...] = ()
    is_own: bool = False
    profile: str = ""
    doubts: tuple[Doubt, ...] = ()
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
        verdict = judge_prediction(self.prediction)
        if self.doubts and verdict.grade is Grade.FINE:
            verdict = replace(verdict, grade=Grade.WARNING)
        doubts = tuple(f"Doubtful: {doubt}" for doubt in self.doubts)
        return replace(verdict, doubts=doubts, cautions=tuple(self._cautions()))

    @property
    def headline(self) -> list[Term]:
        """The 99th percentile and the headroom, then the median and the busiest executor."""
        former, now = (self.before or self.predicted).prediction, self.prediction

        def show_quantile(level: float) -> str:
            before, after = (get_quantile(each.latency, level) for each in (former, now))
            shown = format_change(before, after, format_duration)
            figure = name_percentile(level)
            interval = self.intervals and self.intervals.of("latency", "source to sink", figure)
            return f"{shown} ({show_range(interval, format_duration)})" if interval else shown

        busiest = format_change(find_busiest(former), find_busiest(now), format_utilisation)
        return [
            Term("p99 latency since emission", show_quantile(0.99)),
            Term("headroom", _show_headroom_change(former.limit.factor, now.limit.factor)),
            Term("median", show_quantile(0.5)),
            Term("busiest executor", busiest),
        ]

    def _cautions(self) -> Iterator[str]:
        verdict, swing = self.prediction.verdict, self.prediction.swing
        real = self.prediction.throughput
        if real is not None and real.risk is Risk.HIGH and not self.prediction.overloaded:
            part = format_share(1.0 / real.headroom)
            yield f"The risk of back-pressure is high: this is {part} of what the plan can process."
        pending = self.prediction.pending
        dissenting = [other.model for other in self.others if other.verdict != verdict]
        if dissenting:
            yield f"Not all models agree: {', '.join(dissenting)} would not say so."
        if swing is not None:
            lowest, highest = format_duration(swing.lowest), format_duration(swing.highest)
            every = "" if swing.period is None else f", once in {format_duration(swing.period)}"
            yield f"Mean latency swings between {lowest} and {highest}{every}."
        if pending is not None and math.isinf(pending.longest_wait):
            yield "Latency is from emission; tuples that are due wait at their source without end."
        elif pending is not None and pending.waits > MANY_WAIT:
            wait = pending.longest_wait
            fitting = f"; with a limit of {pending.ample} hardly any would" if pending.ample else ""
            yield (
                f"{format_share(pending.waits)} of tuples would wait at their source for"
                f" {name_limit(pending)}, {format_duration(wait)} on the mean of all{fitting}."
            )
        for name, operator in self.prediction.operators.items():
            if operator.idle:
                executors = count(operator.executors, "executor")
                yield f"{operator.idle} of {executors} of {name} would get no tuples."

    def sections(self) -> list[Section]:
        """Picture, latency, reasons, models, all figures, notes, and how it was made."""
        before, predicted = self.before, self.predicted
        models = [tables.tabulate_models(self._predictions)] if self.others else []
        answers = [
            Section(
                "latency",
                "Latency",
                [
                    *chart_latencies(self._latencies()),
                    tables.tabulate_latency(before, predicted, self.intervals),
                    tables.tabulate_latency_parts(before, predicted),
                ],
            ),
            Section("throughput", "What would really be processed", self._show_throughput()),
        ]
        real = self.prediction.throughput
        is_held_back = real is not None and real.is_held_back
        return [
            Section("plans", "Operators and how busy they are", [chart_plans(before, predicted)]),
            *(reversed(answers) if is_held_back else answers),
            Section("certainty", "How sure this is", self._show_certainty()),
            Section("models", "What each model says", models),
            Section(
                "reasons",
                "What limits the rate, and what would help",
                list(tabulate_reasons(self.prediction)),
            ),
            Section(
                "figures",
                "All figures",
                [
                    tables.tabulate_operators(before, predicted, self.intervals),
                    tables.tabulate_delay_parts(predicted),
                    tables.tabulate_executors(predicted),
                    tables.tabulate_workers(self.prediction, self.intervals),
                    tables.tabulate_machines(self.prediction, self.intervals),
                ],
            ),
            Section("notes", "Notes", self._notes()),
            Section("made", "How this was made", self._made()),
        ]

    def _show_throughput(self) -> list[Block]:
        found = self.prediction.throughput
        return [] if found is None else list(tabulate_throughput(found))

    def _show_certainty(self) -> list[Block]:
        tested: list[Block] = []
        if self.tested:
            tested = [tabulate_back_test(self.tested)]
            if not self.is_own:
                tested = [Text([say_back_test(self.tested)])]
        return [*build_certainty(self.intervals), *tested]

    @property
    def _predictions(self) -> tuple[Prediction, ...]:
        return self.prediction, *self.others

    def _latencies(self) -> dict[str, Latency]:
        """Latencies to draw beside each other: of plans, models or sources."""
        now = self.prediction
        before = None if self.before is None else self.before.prediction
        if self.others:
            former = {f"before, {before.model}": before.latency} if before else {}
            return former | {model.model: model.latency for model in self._predictions}
        if before:
            return {"before": before.latency, "after": now.latency}
        return {"all": now.latency} | (dict(now.by_source) if len(now.by_source) > 1 else {})

    def _notes(self) -> list[Text]:
        notes = [
            f"{prediction.model}: {note}" if self.others else note
            for prediction in self._predictions
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
                ", ".join(prediction.model for prediction in self._predictions),
            ),
            *(
                (f"profile, {key.replace('_', ' ')}", value)
                for key, value in self.prediction.provenance.items()
            ),
        ]
        terms = [Term(name, value) for name, value in pairs if value]
        return [Terms(terms), Text([GUIDE], page_only=True)]

    def document(self) -> dict[str, Any]:
        """Prediction, verdict, plan and profile; what other models say where they were asked."""
        others = {"others": [other.to_dict() for other in self.others]} if self.others else {}
        return {
            "prediction": self.prediction.to_dict(),
            "verdict": str(judge_prediction(self.prediction)),
            "plan": self.predicted.name,
            "profile": self.profile,
            "doubts": [doubt.to_dict() for doubt in self.doubts],
            "warnings": list(self.warnings),
            **others,
            **document_intervals(self.intervals),
            **document_back_test(self.tested),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Figures of the job, its operators, executors, workers and machines."""
        yield from tables.list_prediction_figures(self.prediction, intervals=self.intervals)


def chart_plans(before: PredictedPlan | None, after: PredictedPlan) -> Chart:
    """Operators by how busy they are: the plan before if any, and how the one after differs."""
    topology = after.plan.logical.topology
    plans = " and ".join(plan.name for plan in (before, after) if plan)
    title = printable(f"operators of {topology.name} and how busy they are: {plans}")
    caption = "Busy: mean over an operator's executors. Colours and gauges: its busiest executor."
    if before:
        caption += " Arrows: from the figure before to the figure after."
    operators = sum(operator.kind is not OperatorKind.ACKER for operator in topology.operators)
    too_many = f"{count(operators, 'operator')} are too many to draw; the tables below list them."
    return Chart(
        title=title,
        draw=partial(_draw_plans, before, after, title=title),
        caption=caption,
        wide=True,
        instead=too_many if operators > MANY_OPERATORS else "",
    )


def _draw_plans(
    before: PredictedPlan | None, after: PredictedPlan, *, title: str, embedded: bool
) -> str:
    # What draws is imported with the first picture: most answers are texts.
    from streamgauge.drawing.side_by_side import draw_side_by_side
    from streamgauge.reports.prediction_picture import build_panels

    return draw_side_by_side(build_panels(before, after), title=title, embedded=embedded)
