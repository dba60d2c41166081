"""What a timetable says: which plan runs when, what each change costs, and what that saves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.charts import Band, Series, draw_line_chart
from streamgauge.drawing.text_picture import draw_sparkline
from streamgauge.drawing.wording import (
    format_estimate,
    format_limit,
    format_number,
    format_period,
    format_share,
)
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.recommendation import Judged, plan_job
from streamgauge.planning.recommending.timetable import Restart, Stay, Timetable
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.profile.files.plans import PlanFile
from streamgauge.profile.job import Assignment
from streamgauge.reports.content import (
    Chart,
    ChartRow,
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
from streamgauge.reports.placement_ranking import PLAN_FILE, join_commands
from streamgauge.reports.prediction_figures import PER_SECOND
from streamgauge.reports.report import Report, list_figures
from streamgauge.topology.topology import ACKER
from streamgauge.transport.engine import load_engine

if TYPE_CHECKING:
    from streamgauge.models.outlook import LeadTime
    from streamgauge.traffic.forecast import Forecast

HOUR_SECONDS = 3600.0
# A plan whose odds are below this misses its objective more often than it meets it.
UNLIKELY = 0.5
NOTHING = "as it is"
SINGULAR = {
    Minimise.EXECUTORS: "executor",
    Minimise.WORKERS: "worker",
    Minimise.MACHINES: "machine",
}


@dataclass(frozen=True, kw_only=True)
class TimetableReport(Report):
    """Plans over a forecast.

    Attributes:
        problem: What was asked.
        plans: All that were considered; the timetable names them by their places.
        single: The best that one plan for all of the time does.
        current: The plan that runs now; None where nothing does.
        forecast: Of all sources together.
        lead: For how long a change stops the job, and where that is known from.
        history: What the forecast was made from.
        file: The job's; empty where it did not come from one.
        options: Of the command that describes the same job again.
        currency: Of prices, where money counts.
        written: The file that plans were written to, where they were.
    """

    problem: Problem
    plans: tuple[Judged, ...]
    timetable: Timetable
    single: Timetable
    current: int | None
    forecast: Forecast
    lead: LeadTime
    history: str
    profile: str
    file: str = ""
    options: tuple[str, ...] = ()
    currency: str = ""
    cautions: tuple[str, ...] = ()
    written: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        name = self.problem.job.topology.name
        return f"{name}: a timetable of plans for {self.problem.objective}"

    @property
    def about(self) -> str:
        """The job, the objective, and what was looked ahead from."""
        return (
            f"{self.problem.job.topology.name}, objective {self.problem.objective}, least"
            f" {self._counted}, history of {self.history},"
            f" {format_period(self._horizon_seconds)} ahead"
        )

    @property
    def verdict(self) -> Verdict:
        """How many changes, when the first is, and what they save."""
        stays = self.timetable.stays
        changes = list(self._changes)
        worst = int(self.timetable.odds.argmin())
        odds = float(self.timetable.odds[worst])
        grade = Grade.WARNING if self.cautions or odds < self.timetable.course.sure else Grade.FINE
        if odds < UNLIKELY:
            return Verdict(
                grade=Grade.BAD,
                word="Out of reach",
                sentence=f" at {_show_time(self._time(worst))}: no plan meets"
                f" {self.problem.objective} with more than {format_share(odds)}, at"
                f" {format_estimate(float(self.timetable.course.loads[worst]))} {PER_SECOND}.",
                cautions=self.cautions,
            )
        if not changes:
            word = "Stay" if self.current == stays[0].plan else "One plan"
            sentence = (
                f" with plan {self._number(stays[0].plan)} for all"
                f" {format_period(self._horizon_seconds)}: no change would pay."
            )
            return Verdict(grade=grade, word=word, sentence=sentence, cautions=self.cautions)
        first = changes[0]
        when = "now" if first.first == 0 else f"at {_show_time(self._time(first.first))}"
        many = "once" if len(changes) == 1 else f"{len(changes)} times"
        sentence = f" {many}, first {when} to {self._describe_change(first)}. {self._say_saving()}"
        return Verdict(grade=grade, word="Change", sentence=sentence, cautions=self.cautions)

    @property
    def headline(self) -> Sequence[Term]:
        """What it costs against one plan for all of the time, and what changes miss."""
        table = self.timetable
        terms = [
            Term("timetable", self._show_cost(table.cost_hours)),
            Term("one plan for all of it", self._show_cost(self.single.cost_hours)),
        ]
        if any(table.restarts):
            missed = table.missed_seconds
            part = format_share(missed / self._horizon_seconds)
            terms.append(Term("missed because of changes", f"{format_period(missed)}, {part}"))
        terms.append(Term("least odds", format_share(float(table.odds.min()))))
        return terms

    def sections(self) -> Sequence[Section]:
        """Pictures, the timetable, its plans, commands and how it was made."""
        return [
            Section(
                "timetable",
                "Which plan runs when",
                [self._draw_load(), self._tabulate_stays()],
            ),
            Section("plans", "The plans", [self._tabulate_plans()]),
            Section("cost", "What it costs", [ChartRow(charts=[self._draw_cost()])]),
            Section("notes", "What to keep in mind", [Text(list(self._notes()))]),
            Section("commands", "To apply it", [Commands(self.commands)]),
            Section("made", "How this was made", [Terms(self._made())]),
        ]

    def document(self) -> Mapping[str, Any]:
        """Every stay with its plan, change and load."""
        table = self.timetable
        return {
            "timetable": {
                "objective": str(self.problem.objective),
                "minimise": self.problem.minimise.value,
                "verdict": str(self.verdict),
                "grade": str(self.verdict.grade),
                "horizon_seconds": self._horizon_seconds,
                "step_seconds": table.course.step_seconds,
                "sure": table.course.sure,
                "miss_weight": table.course.miss_weight,
                "pause_seconds": table.course.pause_seconds,
                "pause_origin": self.lead.origin,
                "cost_hours": table.cost_hours,
                "single_cost_hours": self.single.cost_hours,
                "missed_seconds": table.missed_seconds,
                "least_odds": float(table.odds.min()),
                "stays": [self._write_stay(stay) for stay in table.stays],
                "plans": [
                    {
                        "number": number,
                        "current": place == self.current,
                        "executors": self._executors(place),
                        "workers": len(self.plans[place].trial.plan.workers),
                        "nodes": len(self.plans[place].trial.plan.nodes),
                        "cost": table.plans[place].cost,
                        "highest_per_second": table.plans[place].highest,
                        "plan": PlanFile.of(Assignment.of(self.plans[place].trial.plan)),
                    }
                    for place, number in self._numbers.items()
                ],
                "commands": list(self.commands),
                "cautions": list(self.cautions),
                "notes": list(self._notes()),
                "warnings": list(self.warnings),
                "profile": self.profile,
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Costs of all, and of each stay its begin, load and odds."""
        table = self.timetable
        yield from list_figures(
            "timetable",
            "",
            {
                "cost_hours": table.cost_hours,
                "single_cost_hours": self.single.cost_hours,
                "missed_seconds": table.missed_seconds,
            },
        )
        for stay in table.stays:
            name = self._time(stay.first).isoformat()
            record = {
                "plan": self._number(stay.plan),
                "most_per_second": self._most(stay),
                "odds": self._least_odds(stay),
                "backlog": 0.0 if stay.restart is None else stay.restart.backlog,
            }
            yield from list_figures("stay", name, record)

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type now, or when."""
        engine = load_engine(self.problem.job.configuration.engine)
        if not any(self._changes) or not (self.written or self.file):
            return ()
        base = Path(self.written or PLAN_FILE)
        again: tuple[str, ...] = ()
        if not self.written:
            horizon = f"{self._horizon_seconds / HOUR_SECONDS:g}h"
            goal = self.problem.objective
            asked = ("--objective", str(goal)) if goal.latencies or goal.rates else ()
            words = ("streamgauge", "recommend", self.file, "--horizon", horizon, *asked)
            again = join_commands((*words, *self.options, "-o", str(base)))
        applied = []
        for stay in () if self._is_moved else self._changes:
            file = str(_name_file(base, self._number(stay.plan)))
            for command in join_commands(engine.apply_command(file)):
                applied.append(f"{command}  # {_show_time(self._time(stay.first))} UTC")
        return (*again, *applied)

    def save_plans(self, path: str | Path) -> tuple[Path, ...]:
        """Write the job with each plan that a change leads to: ``plan-2.yaml`` beside the path."""
        written = []
        for place in dict.fromkeys(stay.plan for stay in self._changes):
            file = _name_file(Path(path), self._number(place))
            job = plan_job(self.problem.job, self.plans[place].trial.plan, {})
            save(job_to_data(job), file)
            written.append(file)
        return tuple(written)

    @property
    def _changes(self) -> Iterator[Stay]:
        """Stays that something has to be done for."""
        for stay in self.timetable.stays:
            if stay.restart is not None or (stay.first == 0 and stay.plan != self.current):
                yield stay

    @property
    def _is_moved(self) -> bool:
        """Whether plans are for machines that have to be bought first."""
        return self.problem.minimise is Minimise.MONEY

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """Plans that run at some time, numbered in the order in which they begin."""
        used = dict.fromkeys(stay.plan for stay in self.timetable.stays)
        return {place: number for number, place in enumerate(used, start=1)}

    def _number(self, place: int) -> int:
        return self._numbers[place]

    @property
    def _horizon_seconds(self) -> float:
        return len(self.timetable.course) * self.timetable.course.step_seconds

    def _time(self, step: int) -> datetime:
        times = self.forecast.times
        if step < len(times):
            return times[step]
        return times[-1] + timedelta(seconds=self.timetable.course.step_seconds)

    def _executors(self, place: int) -> dict[str, int]:
        spans = self.plans[place].trial.plan.logical.spans
        return {name: len(span) for name, span in spans.items() if name != ACKER}

    def _most(self, stay: Stay) -> float:
        return float(self.timetable.course.loads[stay.first : stay.end].max())

    def _least_odds(self, stay: Stay) -> float:
        return float(self.timetable.odds[stay.first : stay.end].min())

    def _before(self, stay: Stay) -> int | None:
        """The plan before; the present one before the first stay."""
        place = self.timetable.stays.index(stay)
        return self.current if place == 0 else self.timetable.stays[place - 1].plan

    def _describe_change(self, stay: Stay) -> str:
        """``splitter 1 → 3, workers 2 → 1``."""
        before, after = self._before(stay), self._executors(stay.plan)
        if before is None:
            return ", ".join(f"{name} {many}" for name, many in after.items())
        was = self._executors(before)
        parts = [f"{name} {was[name]} → {now}" for name, now in after.items() if was[name] != now]
        workers = [len(self.plans[one].trial.plan.workers) for one in (before, stay.plan)]
        if workers[0] != workers[1]:
            parts.append(f"workers {workers[0]} → {workers[1]}")
        return ", ".join(parts) or "other places for the same executors"

    @property
    def _counted(self) -> str:
        """What is summed up over time."""
        if self._is_moved:
            return "money"
        return f"{SINGULAR[self.problem.minimise]}-hours"

    def _show_cost(self, hours: float) -> str:
        if self._is_moved:
            return f"{hours:.2f} {self.currency}"
        return f"{format_number(hours)} {self._counted}"

    def _say_saving(self) -> str:
        if len(self.timetable.stays) == 1:
            return "It then runs for all of the time: no further change would pay."
        saved = 1.0 - self.timetable.cost_hours / self.single.cost_hours
        if saved <= 0.0:
            return "No single plan is sure enough at all times."
        single = self.single.stays[0].plan
        which = "that runs now" if single == self.current else "that the highest load needs"
        return (
            f"That is {format_share(saved)} less than with the plan {which} for all of the time,"
            f" for {format_period(self.timetable.missed_seconds)} of missed objective."
        )

    def _tabulate_stays(self) -> Table:
        rows: list[Row] = [
            {
                Column("from", "UTC"): _show_time(self._time(stay.first)),
                Column("until"): _show_time(self._time(stay.end)),
                Column("plan"): self._number(stay.plan),
                Column("change", words=True): NOTHING
                if stay.plan == self._before(stay)
                else self._describe_change(stay),
                Column("load at most", PER_SECOND): format_estimate(self._most(stay)),
                Column("fits up to"): format_limit(
                    self.timetable.plans[stay.plan].highest, unit=""
                ),
                Column("least odds"): format_share(self._least_odds(stay)),
                Column("waits", "tuples"): None
                if stay.restart is None
                else format_estimate(stay.restart.backlog),
                Column("caught up after"): _show_end(stay.restart),
            }
            for stay in self.timetable.stays
        ]
        sure = format_share(self.timetable.course.sure)
        return tabulate(
            "Plans, one after the other",
            rows,
            note=f"Load: not exceeded with {sure}. Waits: what comes while a change stops the job.",
        )

    def _tabulate_plans(self) -> Table:
        rows: list[Row] = []
        for place, number in self._numbers.items():
            plan = self.plans[place].trial.plan
            row: dict[Column, Any] = {Column("plan"): number}
            row |= {Column(name): many for name, many in self._executors(place).items()}
            row |= {
                Column("workers"): len(plan.workers),
                Column("nodes"): len(plan.nodes),
                Column(
                    "price", f"{self.currency} an hour"
                ): f"{self.timetable.plans[place].cost:.3f}" if self._is_moved else None,
                Column("fits up to", PER_SECOND): format_limit(
                    self.timetable.plans[place].highest, unit=""
                ),
                Column("", words=True): "runs now" if place == self.current else None,
            }
            rows.append(row)
        return tabulate("Executors of each plan", rows)

    def _notes(self) -> Iterator[str]:
        pause = self.timetable.course.pause_seconds
        yield (
            f"A change stops the job for {format_period(pause)} ({self.lead.origin}); what comes"
            " meanwhile waits, and the objective is missed until it is processed."
        )
        yield (
            "A second missed because of a change counts as much as the new plan costs in"
            f" {self.timetable.course.miss_weight:g}."
        )
        if self._is_moved:
            yield (
                "Nodes of the plans stand for machines that are to be bought: write their names"
                " into a plan before it is applied."
            )
        yield "Later changes rest on the forecast as it is now: ask again before each."
        for stay in self.timetable.stays:
            if stay.restart is not None and not stay.restart.is_gone:
                yield (
                    f"What waits after the change at {_show_time(self._time(stay.first))} is not"
                    " processed within the horizon."
                )

    def _made(self) -> list[Term]:
        return [
            Term("predictions rest on", self.profile),
            Term("history", self.history),
            Term("step", format_period(self.timetable.course.step_seconds)),
            Term("plans considered", str(len(self.plans))),
        ]

    def _draw_load(self) -> Chart:
        return Chart(
            title="Load and plans",
            draw=partial(_draw_load, self),
            caption="What is expected with its 90 % band, and what the plan in force can process;"
            " a mark at each change.",
            draw_text=partial(_draw_text, self),
        )

    def _draw_cost(self) -> Chart:
        return Chart(title="Cost over time", draw=partial(_draw_cost, self))

    def _write_stay(self, stay: Stay) -> dict[str, Any]:
        restart = stay.restart
        return {
            "from": self._time(stay.first).isoformat(),
            "until": self._time(stay.end).isoformat(),
            "plan": self._number(stay.plan),
            "executors": self._executors(stay.plan),
            "most_per_second": self._most(stay),
            "odds": self._least_odds(stay),
            "restart": None
            if restart is None
            else {
                "backlog": restart.backlog,
                "missed_seconds": restart.missed_seconds,
                "gone": restart.is_gone,
            },
        }


def _name_file(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def _show_time(time: datetime) -> str:
    return time.strftime("%m-%d %H:%M")


def _show_end(restart: Restart | None) -> str | None:
    if restart is None:
        return None
    return format_period(restart.missed_seconds) if restart.is_gone else "not within the horizon"


def _stairs(values: Sequence[float]) -> list[float]:
    """Each value at the begin and at the end of its step."""
    return [value for value in values for _ in range(2)]


def _hours(report: TimetableReport) -> list[float]:
    step = report.timetable.course.step_seconds / HOUR_SECONDS
    return [step * (at + end) for at in range(len(report.timetable.course)) for end in (0, 1)]


def _draw_load(report: TimetableReport, *, embedded: bool = False) -> str:
    table, forecast = report.timetable, report.forecast
    limits = [table.plans[plan].highest for plan in table.in_force]
    known = [limit if math.isfinite(limit) else math.nan for limit in limits]
    lines = [
        Series(name="expected", values=_stairs(forecast.middle.tolist())),
        Series(name="the plan in force fits up to", values=_stairs(known)),
    ]
    band = Band(
        name="90 %",
        low=_stairs(forecast.quantile(0.05).tolist()),
        high=_stairs(forecast.quantile(0.95).tolist()),
    )
    step = table.course.step_seconds / HOUR_SECONDS
    marks = [(f"plan {report._number(stay.plan)}", step * stay.first) for stay in table.stays]
    return draw_line_chart(
        _hours(report),
        lines,
        title=f"{report.problem.job.topology.name}: tuples per second of all sources",
        x_title=f"hours since {_show_time(forecast.times[0])} UTC",
        bands=[band],
        marks=marks,
        embedded=embedded,
    )


def _draw_cost(report: TimetableReport, *, embedded: bool = False) -> str:
    table = report.timetable
    single = report.single.plans[report.single.stays[0].plan].cost
    costs = [table.plans[plan].cost for plan in table.in_force]
    return draw_line_chart(
        _hours(report),
        [
            Series(name="timetable", values=_stairs(costs)),
            Series(name="one plan for all of it", values=[single] * 2 * len(costs)),
        ],
        title=f"price of the plan in force, {report.currency} an hour"
        if report.problem.minimise is Minimise.MONEY
        else f"{report.problem.minimise} of the plan in force",
        x_title=f"hours since {_show_time(report.forecast.times[0])} UTC",
        embedded=embedded,
    )


def _draw_text(report: TimetableReport, width: int) -> str:
    """What is expected as bars, and below them which plan runs."""
    middle = report.forecast.middle.tolist()
    step = math.ceil(len(middle) / max(width - 14, 20))
    values: list[float | None] = [
        sum(middle[at : at + step]) / len(middle[at : at + step])
        for at in range(0, len(middle), step)
    ]
    plans = report.timetable.in_force[::step].tolist()
    signs = "".join(str(report._number(plan) % 10) for plan in plans)
    return f" {draw_sparkline(values, len(values))}\n {signs}\n └ the plan that runs"
