"""What a comparison of plans says: which one is preferred, and how the others differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    count,
    format_duration,
    format_limit,
    format_utilisation,
)
from streamgauge.reports.content import (
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
)
from streamgauge.reports.latency import chart_latencies, get_quantile, show_latency
from streamgauge.reports.prediction_figures import PER_SECOND, list_prediction_figures
from streamgauge.reports.prediction_verdict import find_busiest, judge_prediction, show_headroom
from streamgauge.reports.report import Report

if TYPE_CHECKING:
    from streamgauge.models.prediction import Prediction
    from streamgauge.models.ranking import Ranking
    from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPlan:
    """A plan and what models say of it, the model that decides first."""

    plan: PhysicalPlan
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport(Report):
    """Which of several plans models prefer.

    Attributes:
        ranking: The order, and the votes.
        plans: By name.
        profile: Which profile the predictions rest on.
        warnings: What was assumed, and which models could not be asked.
    """

    ranking: Ranking
    plans: Mapping[str, ComparedPlan]
    profile: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def preferred(self) -> Prediction:
        """What the deciding model says of the preferred plan."""
        return self.plans[self.ranking.preferred].predictions[0]

    @property
    def title(self) -> str:
        """The job's name and how many plans of it there are."""
        topology = self.plans[self.ranking.preferred].plan.logical.topology
        return f"{topology.name}: {count(len(self.plans), 'plan')} compared"

    @property
    def verdict(self) -> Verdict:
        """Which plan is preferred, by how many models, and whether it carries the load."""
        ranking, best = self.ranking, self.preferred
        models = len(ranking.votes)
        voters = f"{ranking.majority} of {models} models prefer"
        word = voters if models > 1 else f"{best.model} prefers"
        sentence = f" {ranking.preferred}."
        if models > 1 and ranking.order[0] != ranking.preferred:
            sentence += f" {best.model} alone would take {ranking.order[0]}."
        if ranking.equals:
            sentence += f" As good: {', '.join(ranking.equals)}."
        if best.overloaded:
            sentence += f" But no plan carries the load. {judge_prediction(best)}"
        return Verdict(
            grade=Grade.BAD if best.overloaded else judge_prediction(best).grade,
            word=word,
            sentence=sentence,
        )

    @property
    def headline(self) -> list[Term]:
        """Of the preferred plan."""
        best = self.preferred
        return [
            Term("p99 latency since emission", format_duration(get_quantile(best.latency, 0.99))),
            Term("headroom", show_headroom(best.limit.factor)),
        ]

    def sections(self) -> list[Section]:
        """Charts and tables of the plans, votes, notes, and how it was made."""
        notes = dict.fromkeys(self.preferred.notes)
        latencies = {name: self.plans[name].predictions[0].latency for name in self.ranking.order}
        return [
            Section("plans", "Plans, the best first", [self._tabulate()]),
            Section("latency", "Latency", list(chart_latencies(latencies))),
            Section("votes", "Votes", [self._tabulate_votes()]),
            Section("notes", "Notes", [Text(list(notes), page_only=True)] if notes else []),
            Section("made", "How this was made", [Terms([Term("profile", self.profile)])]),
        ]

    def _tabulate(self) -> Table:
        return tabulate(
            f"Plans, the best first by {self.ranking.by} of {self.preferred.model}",
            [_describe_plan(name, self.plans[name]) for name in self.ranking.order],
            note="Latency: from source to sink, since emission.",
        )

    def _tabulate_votes(self) -> Table:
        rows: list[Row] = [
            {Column("model"): model, Column("prefers", words=True): plan}
            for model, plan in self.ranking.votes.items()
        ]
        return tabulate("Votes", rows if len(rows) > 1 else [])

    def document(self) -> dict[str, Any]:
        """The ranking, the votes, and all predictions by plan."""
        ranking = self.ranking
        return {
            "preferred": ranking.preferred,
            "by": ranking.by,
            "votes": dict(ranking.votes),
            "ranking": list(ranking.order),
            "plans": {
                name: [prediction.to_dict() for prediction in compared.predictions]
                for name, compared in self.plans.items()
            },
            "profile": self.profile,
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Figures of each plan by the deciding model, the plan's name before each name."""
        for plan, compared in self.plans.items():
            yield from list_prediction_figures(compared.predictions[0], plan)


def _describe_plan(name: str, compared: ComparedPlan) -> Row:
    prediction = compared.predictions[0]
    return {
        Column("plan"): name,
        Column("executors"): len(compared.plan.logical.executors),
        Column("verdict", words=True): judge_prediction(prediction).word,
        **show_latency(prediction.latency, (0.5, 0.9, 0.99), few=(0.5, 0.99)),
        Column("busiest", "executor"): format_utilisation(find_busiest(prediction)),
        Column("fits up to", PER_SECOND): format_limit(prediction.limit.per_second, unit=""),
        Column("then full", words=True, page_only=True): prediction.limit.by or None,
    }
