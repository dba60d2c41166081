"""What a recommendation says: the plan first, then how sure, why, what else, and what to type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.plan_picture import PlanPanel
from streamgauge.drawing.side_by_side import draw_side_by_side
from streamgauge.drawing.wording import (
    count,
    format_change,
    format_duration,
    format_estimate,
    format_limit,
    format_share,
    list_names,
    printable,
)
from streamgauge.planning.recommending.problem import Minimise
from streamgauge.planning.recommending.recommendation import (
    Judged,
    Recommendation,
    is_refuted,
)
from streamgauge.planning.recommending.relaxing import Way, WayOut
from streamgauge.planning.recommending.trials import Trial
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.profile.files.plans import PlanFile
from streamgauge.profile.job import Assignment
from streamgauge.reports.content import (
    Block,
    Chart,
    Column,
    Commands,
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
from streamgauge.reports.intervals import NOT_KNOWN, document_intervals, show_range
from streamgauge.reports.placement_ranking import PLAN_FILE, chart_plans, join_commands, list_sizes
from streamgauge.reports.prediction import MANY_OPERATORS, PredictedPlan
from streamgauge.reports.prediction_figures import (
    PER_SECOND,
    list_prediction_figures,
    tabulate_reasons,
)
from streamgauge.reports.prediction_picture import build_panels
from streamgauge.reports.prediction_verdict import judge_prediction, show_headroom
from streamgauge.reports.prices import (
    document_prices,
    show_both_prices,
    show_price,
    tabulate_prices,
)
from streamgauge.reports.report import Report, list_figures
from streamgauge.topology.topology import ACKER
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine

if TYPE_CHECKING:
    from streamgauge.models.doubts import Doubt
    from streamgauge.models.objectives import LatencyGoal
    from streamgauge.topology.physical_plan import PhysicalPlan

# Odds are shown as no more certain than they can be.
ALMOST_SURE = 0.995
_MINIMISED = {
    Minimise.EXECUTORS: "fewest executors",
    Minimise.WORKERS: "fewest workers",
    Minimise.MACHINES: "fewest machines",
    Minimise.MONEY: "least money",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationReport(Report):
    """The cheapest plan that meets an objective.

    Attributes:
        recommendation: The plan and all that is known of it.
        file: The job's; empty where it did not come from one.
        options: Of the command that describes the same job again.
        profile: What predictions rest on.
        doubts: Why predictions may be wrong, and what to do.
        written: The file that the plan was written to, where it was.
        warnings: What was assumed, and what could not be done.
    """

    recommendation: Recommendation
    file: str = ""
    options: tuple[str, ...] = ()
    profile: str = ""
    doubts: tuple[Doubt, ...] = ()
    written: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.recommendation.problem.job.topology.name}: a plan for {self._goal}"

    @property
    def about(self) -> str:
        """The job, the load, the objective."""
        problem = self.recommendation.problem
        return (
            f"{problem.job.topology.name} at {format_estimate(problem.offered_per_second)}"
            f" {PER_SECOND}, objective {self._goal}, {_MINIMISED[problem.minimise]}"
        )

    @property
    def plan(self) -> PhysicalPlan:
        """Where every executor runs."""
        return self.recommendation.chosen.trial.plan

    @property
    def odds(self) -> float:
        """Probability of meeting the objective; NaN where it is not known."""
        return self.recommendation.chosen.odds

    @property
    def verdict(self) -> Verdict:
        """Met already, met by a change, or out of reach."""
        found = self.recommendation
        if not found.is_feasible:
            return self._say_out_of_reach()
        present = found.present
        met_now = present is not None and found.is_met(present)
        cautions = list(self._cautions())
        if met_now and not found.is_change:
            word, sentence = "Met already", f", and no plan with {self._counted} was found."
        elif met_now and present is not None:
            word = "Met already"
            sentence = f"; {self._say_saving(present.trial, found.chosen.trial)}: {self._steps}."
        else:
            word, sentence = "Change", f" {self._steps}."
        unsure = found.chosen.odds < found.sure
        refuted = self._is_refuted
        return Verdict(
            grade=Grade.WARNING if unsure or refuted or self.doubts else Grade.FINE,
            word=word,
            sentence=" ".join(filter(None, (sentence, self._say_odds(), self._say_price()))),
            doubts=tuple(f"Doubtful: {doubt}" for doubt in self.doubts),
            cautions=tuple(cautions),
        )

    @property
    def headline(self) -> Sequence[Term]:
        """The figures of the objective, before and after, and the size of the plan."""
        found = self.recommendation
        chosen = found.chosen
        terms = [
            Term(f"{_name_goal(goal)} latency", self._show_goal(goal))
            for goal in found.problem.objective.latencies
        ]
        if not terms:
            limit = chosen.prediction.limit.per_second
            terms = [Term("fits up to", format_limit(limit))]
        terms.append(Term("headroom", show_headroom(chosen.prediction.limit.factor)))
        before = None if found.present is None else found.present.trial
        terms.append(Term("size", _show_size(before, chosen.trial)))
        if found.prices is not None:
            terms.append(Term("price", show_price(found.prices)))
        return terms

    def sections(self) -> Sequence[Section]:
        """The plan, pictures, how sure, alternatives, reasons, settings and commands."""
        found = self.recommendation
        explained = replace(found.chosen.prediction, explanation=found.explanation)
        return [
            Section("plan", "The plan", [self._tabulate_plan(), self._tabulate_figures()]),
            Section("machines", "Machines and their price", self._prices()),
            Section("pictures", "Before and after", self._charts()),
            Section("infeasible", "What would make it feasible", [Text(list(self._ways_out()))]),
            Section("settings", "Settings", [Text([f"{one.sentence}." for one in found.advice])]),
            Section("others", "Next best", [self._tabulate_others()]),
            Section(
                "steps",
                "What limits the plan, and what each step would bring",
                [*tabulate_reasons(explained)],
            ),
            Section("votes", "What schedulers and models agree on", self._consensus()),
            Section("notes", "What to keep in mind", [Text(self._notes())]),
            Section("commands", "To apply it", [Commands(self.commands)]),
            Section("made", "How this was made", [Terms(self._made())]),
        ]

    def document(self) -> Mapping[str, Any]:
        """The plan with all figures."""
        found = self.recommendation
        problem, chosen = found.problem, found.chosen
        return {
            "recommendation": {
                "objective": str(problem.objective),
                "minimise": problem.minimise.value,
                "rate": problem.offered_per_second,
                "feasible": found.is_feasible,
                "verdict": str(self.verdict),
                "odds": chosen.odds,
                "sure": found.sure,
                "change": found.is_change,
                "executors": {
                    name: {"from": before, "to": after} for name, before, after in self._rows()
                },
                "workers": {
                    "from": None
                    if found.present is None
                    else len(found.present.trial.plan.workers),
                    "to": len(chosen.trial.plan.workers),
                },
                "scheduler": chosen.trial.setup.scheduler,
                "plan": PlanFile.of(Assignment.of(chosen.trial.plan)),
                "settings": found.settings,
                "advice": [
                    {"topic": one.topic.value, "sentence": one.sentence} for one in found.advice
                ],
                "chosen": _document(chosen),
                "before": None if found.present is None else _document(found.present),
                "others": [_document(one) for one in found.others],
                "ways_out": list(self._ways_out()),
                "bottleneck": chosen.prediction.limit.by,
                "prices": None if found.prices is None else document_prices(found.prices),
                "consensus": None
                if found.consensus is None
                else {
                    "agreed": found.consensus.agreed,
                    "share": found.consensus.share,
                    "versions": [list(names) for names in found.consensus.versions],
                    "votes": dict(found.consensus.votes),
                },
                "commands": list(self.commands),
                "notes": self._notes(),
                "warnings": list(self.warnings),
                "profile": self.profile,
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Odds, executors before and after, and all figures of the chosen plan."""
        yield from list_figures("job", "", {"odds": self.odds})
        for name, before, after in self._rows():
            yield from list_figures("change", name, {"from": before, "to": after})
        chosen = self.recommendation.chosen
        yield from list_prediction_figures(chosen.prediction, "", chosen.intervals)
        prices = self.recommendation.prices
        if prices is not None:
            now = math.nan if prices.now is None else prices.now
            record = {"now_per_hour": now, "then_per_hour": prices.then}
            yield from list_figures("price", prices.catalogue.currency, record, unit="")

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type; nothing where all stays as it is."""
        found = self.recommendation
        if not found.is_change and not found.settings:
            return ()
        engine = load_engine(found.problem.job.configuration.engine)
        # What never ran is submitted as it is written; there is nothing to apply it to.
        is_running = found.problem.is_submitted
        if self.written:
            can_apply = is_running and not self._is_moved
            return join_commands(engine.apply_command(self.written)) if can_apply else ()
        if not self.file:
            return ()
        goal = (
            ()
            if not found.problem.objective.latencies and not found.problem.objective.rates
            else ("--objective", self._goal)
        )
        again = ("streamgauge", "recommend", self.file, *goal, *self.options)
        apply = engine.apply_command(PLAN_FILE) if is_running and not self._is_moved else ()
        return join_commands((*again, "-o", PLAN_FILE), apply)

    def save_job(self, path: str | Path) -> None:
        """Write the job with the plan, as the command that applies it takes it."""
        save(job_to_data(self.recommendation.job), Path(path))

    @property
    def _goal(self) -> str:
        return str(self.recommendation.problem.objective)

    @property
    def _counted(self) -> str:
        minimise = self.recommendation.problem.minimise
        return "cheaper machines" if minimise is Minimise.MONEY else f"fewer {minimise}"

    @property
    def _is_moved(self) -> bool:
        """Whether the plan is one for machines that have to be bought first."""
        found = self.recommendation
        is_bought = found.prices is not None and found.prices.bought is not None
        return is_bought and found.problem.minimise is Minimise.MONEY

    @property
    def _is_refuted(self) -> bool:
        found = self.recommendation
        simulated = found.chosen.simulated
        return simulated is not None and is_refuted(found.problem, simulated)

    @property
    def _steps(self) -> str:
        """``splitter 1 → 3, 2 workers → 1``."""
        found = self.recommendation
        parts = [f"{name} {was} → {now}" for name, was, now in self._rows() if was != now]
        after = found.chosen.trial
        if found.present is not None:
            was, now = len(found.present.trial.plan.workers), len(after.plan.workers)
            if was != now:
                parts.append(f"workers {was} → {now}")
        if not parts and found.is_change:
            parts = [f"only where executors run, placed by {after.setup.scheduler}"]
        return list_names(parts, most=8) if parts else "nothing"

    def _say_saving(self, before: Trial, after: Trial) -> str:
        fewer = before.executors - after.executors
        if fewer > 0:
            return f"{count(fewer, 'executor')} fewer would do"
        workers = len(before.plan.workers) - len(after.plan.workers)
        if workers > 0:
            return f"{count(workers, 'worker')} fewer would do"
        return "a surer plan costs more" if fewer < 0 else "another plan would do as well"

    def _say_odds(self) -> str:
        odds = self.odds
        if math.isnan(odds):
            return "How likely the objective is met is not known."
        return f"The objective is met with a probability of {_show_odds(odds)}."

    def _prices(self) -> list[Table]:
        prices = self.recommendation.prices
        return [] if prices is None else list(tabulate_prices(prices, is_moved=self._is_moved))

    def _say_price(self) -> str:
        prices = self.recommendation.prices
        return "" if prices is None else f"Price: {show_price(prices)}."

    def _say_out_of_reach(self) -> Verdict:
        found = self.recommendation
        nearest = found.chosen
        what = []
        if nearest.prediction.overloaded:
            what.append(f"the nearest plan is overloaded: {judge_prediction(nearest.prediction)}")
        else:
            reached = [
                f"{_name_goal(goal)} of {format_duration(goal.measure(nearest.prediction))}"
                for goal in found.problem.objective.latencies
            ]
            if found.problem.objective.rates:
                reached.append(format_limit(nearest.prediction.limit.per_second))
            what.append(f"the nearest plan reaches {' and '.join(reached)}")
            crowded = [
                f"{one.name} at {format_share(one.at_work)}"
                for one in nearest.prediction.machines
                if one.at_work > found.problem.limits.utilisation
            ]
            if crowded:
                most = format_share(found.problem.limits.utilisation)
                what.append(
                    f"machines would do more than {most} of what they can: {', '.join(crowded)}"
                )
        if found.short:
            what.append(
                f"{list_names(list(found.short))} cannot have enough executors for the load"
            )
        return Verdict(
            grade=Grade.BAD,
            word="Out of reach",
            sentence=f": no plan meets {self._goal}; {'; '.join(what)}.",
        )

    def _cautions(self) -> Iterator[str]:
        found = self.recommendation
        if found.chosen.odds < found.sure:
            yield f"No plan was found that is sure to {format_share(found.sure)}."
        if self._is_refuted:
            yield "The simulation does not confirm it: " + "; ".join(self._simulated()) + "."

    def _simulated(self) -> Iterator[str]:
        found, simulated = self.recommendation, self.recommendation.chosen.simulated
        if simulated is None:
            return
        if simulated.overloaded:
            yield f"overloaded: {list_names(list(simulated.overloaded))}"
            return
        for goal in found.problem.objective.latencies:
            yield f"{_name_goal(goal)} {format_duration(goal.measure(simulated))}"

    def _rows(self) -> Iterator[tuple[str, int, int]]:
        """Operators with their executors before and after."""
        found = self.recommendation
        before = found.present.trial.plan if found.present is not None else None
        after = found.chosen.trial.plan.logical
        now = found.problem.job.configuration
        for operator in after.topology.operators:
            if operator.name == ACKER:
                continue
            was = (
                now.executors_of(operator.name)
                if before is None
                else len(before.logical.spans[operator.name])
            )
            yield operator.name, was, len(after.spans[operator.name])

    def _tabulate_plan(self) -> Table:
        found = self.recommendation
        chosen = found.chosen.prediction
        present = None if found.present is None else found.present.prediction
        tasks = {one.name: one.tasks for one in self.plan.logical.topology.operators}

        def change(name: str, figure: str) -> str:
            after = getattr(chosen.operators[name], figure)
            before = after if present is None else getattr(present.operators[name], figure)
            return format_change(before, after, format_share)

        rows: list[Row] = [
            {
                Column("operator"): name,
                Column("executors"): f"{was} → {now}" if was != now else str(now),
                Column("tasks"): tasks[name],
                Column("busiest", "executor"): change(name, "busiest"),
                Column("delay", "mean"): format_duration(chosen.operators[name].delay_seconds)
                if math.isfinite(chosen.operators[name].delay_seconds)
                else None,
                Column("", words=True): "kept" if name in found.problem.limits.keep else None,
            }
            for name, was, now in self._rows()
        ]
        return tabulate("Executors, from → to", rows)

    def _tabulate_figures(self) -> Table:
        found = self.recommendation
        rows: list[Row] = []
        plans = [("now", found.present), ("then", found.chosen)]
        for name, judged in plans:
            if judged is None or (name == "now" and not found.is_change):
                continue
            row: dict[Column, Any] = {Column("plan"): name}
            for goal in found.problem.objective.latencies:
                value = goal.measure(judged.prediction)
                interval = None if judged.intervals is None else judged.intervals.of(*goal.key)
                row[Column(_name_goal(goal))] = format_duration(value)
                row[Column("90 % interval")] = (
                    NOT_KNOWN if interval is None else show_range(interval, format_duration)
                )
                if judged.simulated is not None:
                    row[Column("simulated")] = format_duration(goal.measure(judged.simulated))
            row[Column("fits up to", PER_SECOND)] = format_limit(
                judged.prediction.limit.per_second, unit=""
            )
            row[Column("then full", words=True)] = judged.prediction.limit.by or None
            row[Column("odds")] = NOT_KNOWN if math.isnan(judged.odds) else _show_odds(judged.odds)
            rows.append(row)
        return tabulate(
            "What to expect",
            rows,
            note="Odds: probability that a window meets the objective, from the intervals.",
        )

    def _charts(self) -> list[Block]:
        found = self.recommendation
        prices = found.prices
        now, then = ("", "") if prices is None else show_both_prices(prices)
        after = self._predicted(f"as recommended{then}", found.chosen)
        before = None
        if found.present is not None and found.is_change:
            before = self._predicted(f"as it is{now}", found.present)
        panels = build_panels(before, after)
        plans = [one for one in (before, after) if one is not None]
        hops = load_engine(found.problem.job.configuration.engine).hops
        placed = [
            PlanPanel(
                title=printable(one.name),
                about=list_sizes(one.plan),
                flow=TupleFlow.of(one.plan, hops),
            )
            for one in plans
        ]
        many = len(after.plan.logical.topology.operators) > MANY_OPERATORS
        growth = Chart(
            title="Operators before and after",
            draw=partial(draw_side_by_side, panels, title=printable(self.title)),
            instead="There are too many operators to draw." if many else "",
            wide=True,
        )
        return [
            growth,
            chart_plans("Where executors run", placed, printable(self.title), ackers=False),
        ]

    def _predicted(self, name: str, judged: Judged) -> PredictedPlan:
        return PredictedPlan(
            name=name,
            plan=judged.trial.plan,
            workload=self.recommendation.problem.workload,
            load="the load to plan for",
            prediction=judged.prediction,
        )

    def _tabulate_others(self) -> Table:
        found = self.recommendation
        judged = [found.chosen, *found.others]
        names = [name for name, _, _ in self._rows()]
        known = {} if found.prices is None else found.prices.known
        rows = [
            _describe_candidate(one, names, found.problem.objective.latencies, known.get(one.trial))
            for one in judged
        ]
        return tabulate(
            "Plans that meet the objective, the chosen one first", rows if len(rows) > 1 else []
        )

    def _ways_out(self) -> Iterator[str]:
        found = self.recommendation
        if found.is_feasible:
            return
        if not found.ways_out:
            yield "Nothing that was tried: less load, more tasks, twice as many machines."
        for way in found.ways_out:
            yield self._say_way_out(way)

    def _say_way_out(self, way: WayOut) -> str:
        executors = count(way.trial.executors, "executor")
        if way.way is Way.LOWER_RATE:
            offered = self.recommendation.problem.offered_per_second
            part = format_share(way.amount / offered)
            return (
                f"Less load: the nearest plan meets its latency up to"
                f" {format_estimate(way.amount)} {PER_SECOND}, {part} of the load."
            )
        if way.way is Way.FREEDOM:
            return f"Without --keep and --max-change it can be met with {executors}."
        if way.way is Way.TASKS:
            return (
                f"With {way.amount:g} times as many tasks it can be met with {executors}; tasks are"
                " fixed when the job is submitted."
            )
        machines = count(int(way.amount), "machine")
        return f"With {machines} more, like the largest, it can be met with {executors}."

    def _consensus(self) -> list[Block]:
        found = self.recommendation.consensus
        if found is None:
            return []
        rows: list[Row] = [
            {
                Column("proposed by"): ", ".join(names),
                Column("preferred by", words=True): ", ".join(
                    model for model, head in found.votes.items() if head == names[0]
                )
                or None,
            }
            for names in found.versions
        ]
        if found.agreed is None:
            said = "They do not agree: no placement has more votes than all others."
        else:
            said = (
                f"Most votes ({format_share(found.share)}) are for the placement of {found.agreed}."
            )
        note = "Placements of the chosen executors; the same up to names of equal workers."
        return [Text([said]), tabulate("Placements and votes", rows, note=note)]

    def _notes(self) -> list[str]:
        found = self.recommendation
        chosen = found.chosen
        notes = []
        if chosen.intervals is not None and chosen.intervals.unknown:
            notes.append(f"how sure the plan is, is not known: {chosen.intervals.unknown}")
        if chosen.simulated is not None and not self._is_refuted:
            figures = "; ".join(self._simulated()) or "it carries its load"
            notes.append(f"confirmed by simulation: {figures}")
        if self._is_moved:
            notes.append(
                "nodes of the plan stand for machines that are to be bought: write their names into"
                " it before it is applied"
            )
        if chosen.trial.schedule is not None:
            notes += chosen.trial.schedule.warnings
        return list(dict.fromkeys([*notes, *chosen.prediction.notes]))

    def _made(self) -> list[Term]:
        found = self.recommendation
        return [
            Term("predictions rest on", self.profile),
            Term("plans looked at", str(found.looked_at)),
            Term("placed by", found.chosen.trial.setup.scheduler),
        ]

    def _show_goal(self, goal: LatencyGoal) -> str:
        found = self.recommendation
        after = goal.measure(found.chosen.prediction)
        before = after if found.present is None else goal.measure(found.present.prediction)
        shown = format_change(before, after, format_duration)
        intervals = found.chosen.intervals
        interval = None if intervals is None else intervals.of(*goal.key)
        return shown if interval is None else f"{shown} ({show_range(interval, format_duration)})"


def _name_goal(goal: LatencyGoal) -> str:
    """``p99``, ``complete p95``."""
    return str(goal).partition("<")[0]


def _show_odds(odds: float) -> str:
    if odds >= ALMOST_SURE:
        return "over 99 %"
    return "under 1 %" if odds < 0.01 else f"{odds:.0%}".replace("%", " %")


def _show_size(before: Trial | None, after: Trial) -> str:
    if before is None:
        return list_sizes(after.plan)
    parts = []
    for noun, was, now in (
        ("executor", before.executors, after.executors),
        ("worker", len(before.plan.workers), len(after.plan.workers)),
        ("node", len(before.plan.nodes), len(after.plan.nodes)),
    ):
        parts.append(count(now, noun) if was == now else f"{was} → {count(now, noun)}")
    return ", ".join(parts)


def _describe_candidate(
    judged: Judged, names: Sequence[str], goals: Sequence[LatencyGoal], price: float | None
) -> Row:
    trial = judged.trial
    spans = trial.plan.logical.spans
    row: dict[Column, Any] = {
        Column("executors"): " + ".join(str(len(spans[name])) for name in names),
        Column("workers"): len(trial.plan.workers),
        Column("nodes"): len(trial.plan.nodes),
        Column("placed by", words=True): trial.setup.scheduler,
    }
    for goal in goals:
        row[Column(_name_goal(goal))] = format_duration(goal.measure(judged.prediction))
        if judged.simulated is not None:
            row[Column("simulated")] = format_duration(goal.measure(judged.simulated))
    row[Column("fits up to", PER_SECOND)] = format_limit(
        judged.prediction.limit.per_second, unit=""
    )
    row[Column("odds")] = NOT_KNOWN if math.isnan(judged.odds) else _show_odds(judged.odds)
    if price is not None:
        row[Column("price", "an hour")] = f"{price:.3f}"
    return row


def _document(judged: Judged) -> dict[str, Any]:
    trial = judged.trial
    return {
        "executors": {name: len(span) for name, span in trial.plan.logical.spans.items()},
        "workers": len(trial.plan.workers),
        "nodes": len(trial.plan.nodes),
        "scheduler": trial.setup.scheduler,
        "odds": judged.odds,
        "prediction": judged.prediction.to_dict(),
        **document_intervals(judged.intervals),
        "simulated": None if judged.simulated is None else judged.simulated.to_dict(),
    }
