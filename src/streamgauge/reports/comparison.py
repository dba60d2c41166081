"""What a comparison of plans says: which one is preferred, and how the others differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    count,
    format_difference,
    format_duration,
    format_estimate,
    format_limit,
    format_share,
    format_utilisation,
    list_names,
)
from streamgauge.models.intervals import Difference, Intervals, Key
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
from streamgauge.reports.intervals import NOT_KNOWN, PERCENT, document_intervals
from streamgauge.reports.latency import chart_latencies, get_quantile, show_latency
from streamgauge.reports.prediction_figures import PER_SECOND, list_prediction_figures
from streamgauge.reports.prediction_verdict import find_busiest, judge_prediction, show_headroom
from streamgauge.reports.report import Report
from streamgauge.topology.frozen import FrozenDict

if TYPE_CHECKING:
    from streamgauge.models.prediction import Prediction
    from streamgauge.models.ranking import Ranking
    from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPlan:
    """A plan and what models say of it, the model that decides first."""

    plan: PhysicalPlan
    predictions: tuple[Prediction, ...]
    intervals: Intervals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport(Report):
    """Which of several plans models prefer.

    Attributes:
        ranking: The order, and the votes.
        plans: By name.
        profile: Which profile the predictions rest on.
        warnings: What was assumed, and which models could not be asked.
        differences: How far other plans are from the preferred one, by what they are ranked by.
        load: Where the load comes from; empty where it is given, measured or in the plans' files.
    """

    ranking: Ranking
    plans: Mapping[str, ComparedPlan]
    differences: Mapping[str, Difference] = field(default_factory=FrozenDict)
    profile: str = ""
    load: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The load, where it was found."""
        return f"load: {self.load}" if self.load else ""

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
            cautions=tuple(self._say_what_differs()),
        )

    def _say_what_differs(self) -> Iterator[str]:
        """Which plans differ beyond the interval, and which do not."""
        known = {name: one for name, one in self.differences.items() if not math.isnan(one.reach)}
        surely = [name for name, one in known.items() if one.is_certain]
        hardly = [name for name in known if name not in surely]
        best = self.ranking.preferred
        if surely:
            yield f"Beyond the {PERCENT} interval from {best}: {list_names(surely)}."
        if hardly:
            yield f"Not to be told from {best} by {self.ranking.by}: {list_names(hardly)}."

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
            Section(
                "plans", "Plans, the best first", [self._tabulate(), self._tabulate_intervals()]
            ),
            Section("latency", "Latency", list(chart_latencies(latencies))),
            Section("votes", "Votes", [self._tabulate_votes()]),
            Section("notes", "Notes", [Text(list(notes), page_only=True)] if notes else []),
            Section("made", "How this was made", [Terms([Term("profile", self.profile)])]),
        ]

    def _tabulate_intervals(self) -> Table:
        by, key = self.ranking.by, key_of_criterion(self.ranking.by)
        show = format_estimate if by == "rate" else format_duration
        rows: list[Row] = []
        for name in self.ranking.order:
            intervals = self.plans[name].intervals
            interval = None if intervals is None else intervals.of(*key)
            if intervals is None or interval is None:
                continue
            difference = self.differences.get(name)
            rows.append(
                {
                    Column("plan"): name,
                    Column("from"): show(interval.low),
                    Column("to"): show(interval.high),
                    Column("overloaded", "probability"): format_share(intervals.overload),
                    Column(f"against {self.ranking.preferred}"): _show_difference(difference),
                    Column("differs", words=True): _judge_difference(difference),
                }
            )
        return tabulate(
            f"{PERCENT} intervals by {by}",
            rows,
            note="Differences are of the same minutes of metrics, and less uncertain than plans.",
        )

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
            "differences": {
                name: {
                    "ratio": math.exp(one.apart),
                    "half_width": one.reach,
                    "certain": one.is_certain,
                }
                for name, one in self.differences.items()
            },
            "intervals": {
                name: document_intervals(compared.intervals).get("intervals")
                for name, compared in self.plans.items()
            },
            "profile": self.profile,
            **({"load": self.load} if self.load else {}),
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Figures of each plan by the deciding model, the plan's name before each name."""
        for plan, compared in self.plans.items():
            yield from list_prediction_figures(compared.predictions[0], plan, compared.intervals)


def key_of_criterion(by: str) -> Key:
    """The figure that plans are ranked by."""
    if by == "rate":
        return Key("job", "", "highest_rate")
    return Key("latency", "source to sink", by)


def _show_difference(difference: Difference | None) -> str | None:
    """``+12.3 % ± 4.0 %``; None where it is not known."""
    if difference is None or not math.isfinite(difference.apart):
        return None
    shown = format_difference(math.expm1(difference.apart))
    if math.isnan(difference.reach):
        return shown
    return f"{shown} ± {format_share(math.expm1(difference.reach))}"


def _judge_difference(difference: Difference | None) -> str | None:
    if difference is None:
        return None
    if math.isnan(difference.reach):
        return NOT_KNOWN
    return "yes" if difference.is_certain else "not beyond the interval"


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
