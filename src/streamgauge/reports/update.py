"""What an update says: throughput, latency, CPU and placement before and after, and commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    count,
    format_change,
    format_difference,
    format_duration,
    format_estimate,
    format_number,
    format_share,
    format_utilisation,
    list_names,
    name_percentile,
)
from streamgauge.models.intervals import Difference, Intervals, Key
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.profile.job import Assignment, Job
from streamgauge.reports.content import (
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
from streamgauge.reports.intervals import document_intervals, show_range
from streamgauge.reports.placement_ranking import join_commands
from streamgauge.reports.prediction import PredictedPlan, chart_plans
from streamgauge.reports.prediction_figures import list_prediction_figures
from streamgauge.reports.prediction_verdict import find_busiest, judge_prediction, show_headroom
from streamgauge.reports.report import Report, describe_size
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import ACKER
from streamgauge.transport.engine import load_engine

if TYPE_CHECKING:
    from streamgauge.models.prediction import Prediction
    from streamgauge.models.throughput import Throughput
    from streamgauge.topology.physical_plan import PhysicalPlan, PlanDiff

PLAN_FILE = "plan.yaml"
LATENCY = "source to sink"
# Executors that a table of moves lists.
MOST_MOVES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSide:
    """The plan before or after, and what it does."""

    predicted: PredictedPlan
    throughput: Throughput
    intervals: Intervals | None = None

    @property
    def prediction(self) -> Prediction:
        """By the analytic model."""
        return self.predicted.prediction

    @property
    def plan(self) -> PhysicalPlan:
        """Where executors run."""
        return self.predicted.plan


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateReport(Report):
    """A running job before and after other numbers of executors.

    Attributes:
        before: The plan that was measured.
        after: The plan that the engine would make.
        wanted: Executors by operator.
        workers: How many were asked for; None where they stay.
        scheduler: Which was asked to place executors; None for the engine's own.
        diff: What moves.
        job: As it would be configured.
        differences: How far latencies are apart.
        profile: Which profile it rests on.
        written: The file that the plan was written to, where it was.
        warnings: What was assumed.
    """

    before: UpdateSide
    after: UpdateSide
    wanted: Mapping[str, int]
    diff: PlanDiff
    job: Job
    workers: int | None = None
    scheduler: str | None = None
    differences: Mapping[Key, Difference] = field(default_factory=FrozenDict)
    profile: str = ""
    written: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.after.plan.logical.topology.name}, updated (dry run)"

    @property
    def about(self) -> str:
        """Both plans and the load in one line."""
        topology = self.after.plan.logical.topology.name
        sizes = " → ".join(describe_size(side.plan) for side in (self.before, self.after))
        predicted = self.after.predicted
        return (
            f"{topology}: {sizes}, {predicted.show_load()} ({predicted.load}); nothing is changed"
        )

    @property
    def verdict(self) -> Verdict:
        """Whether the plan after carries the load, and what it gains."""
        after = self.after
        judged = judge_prediction(after.prediction)
        cautions = []
        gain = self._find_gain()
        if gain < 0.0 and math.isfinite(gain):
            cautions.append(
                f"It would process less at most: {format_difference(gain)} against the plan now."
            )
        if self.diff.is_empty:
            cautions.append("That is the plan that runs: nothing would change.")
        grade = Grade.WARNING if cautions and judged.grade is Grade.FINE else judged.grade
        return replace(judged, grade=grade, cautions=tuple(cautions))

    @property
    def headline(self) -> Sequence[Term]:
        """Highest rate and p99 before and after."""
        before, after = self.before, self.after
        p99 = format_change(
            _find_latency(before, "p99"), _find_latency(after, "p99"), format_duration
        )
        most = format_change(_find_highest(before), _find_highest(after), _show_rate)
        return [
            Term("highest rate", f"{most} tuples/s"),
            Term("p99 latency since emission", p99),
            Term("full first", " → ".join(dict.fromkeys(map(_find_full, (before, after))))),
            Term("executors", self._say_moves()),
        ]

    def sections(self) -> Sequence[Section]:
        """Figures before and after, latency, placement, and the commands."""
        return [
            Section("figures", "Before and after", [self._tabulate(), self._tabulate_latency()]),
            Section(
                "plans",
                "Operators and how busy they are",
                [chart_plans(self.before.predicted, self.after.predicted)],
            ),
            Section("bottlenecks", "What fills first", [self._tabulate_bottlenecks()]),
            Section("placement", "What moves", [self._tabulate_moves(), Text(self._tell_moves())]),
            Section("commands", "To apply it", [Commands(self.commands)]),
            Section("made", "How this was made", [Terms(self._made())]),
        ]

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type to do it."""
        logical = self.after.plan.logical
        engine = load_engine(logical.configuration.engine)
        if self.scheduler is None:
            return join_commands(
                engine.rebalance_command(
                    logical.topology.name, executors=dict(self.wanted), workers=self.workers
                )
            )
        if not self.written:
            return ()
        return join_commands(engine.apply_command(self.written))

    def save_job(self, path: str | Path) -> None:
        """Write the plan, as ``streamgauge storm apply`` takes it."""
        plan = self.after.plan
        job = replace(self.job, cluster=plan.cluster, plan=Assignment.of(plan))
        save(job_to_data(job), Path(path))

    def document(self) -> Mapping[str, Any]:
        """Both predictions, what moves, and the commands."""
        return {
            "update": {
                "executors": dict(self.wanted),
                "workers": self.workers,
                "dry_run": True,
                "verdict": str(self.verdict),
                "profile": self.profile,
                "before": _write_side(self.before),
                "after": _write_side(self.after),
                "differences": [
                    {
                        **key._asdict(),
                        "ratio": math.exp(one.apart),
                        "half_width": one.reach,
                        "certain": one.is_certain,
                    }
                    for key, one in self.differences.items()
                ],
                "placement": self.diff.to_dict(),
                "commands": list(self.commands),
                "warnings": list(self.warnings),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """All figures of both plans, ``before`` or ``after`` before each name."""
        for name, side in (("before", self.before), ("after", self.after)):
            yield from list_prediction_figures(side.prediction, name, side.intervals)

    def _find_gain(self) -> float:
        before, after = _find_highest(self.before), _find_highest(self.after)
        return after / before - 1.0 if before > 0.0 else math.inf

    def _say_moves(self) -> str:
        diff = self.diff
        parts = {
            "moved": len(diff.moved),
            "added": len(diff.added),
            "removed": len(diff.removed),
            "kept": diff.kept,
        }
        return ", ".join(f"{number} {word}" for word, number in parts.items() if number)

    def _tabulate(self) -> Table:
        sides = (self.before, self.after)
        due = [side.throughput.due_per_second for side in sides]
        rows: list[tuple[str, list[str], str]] = [
            ("due (tuples/s)", [format_number(one) for one in due], ""),
            (
                "processed (tuples/s)",
                [format_number(side.throughput.processed_per_second) for side in sides],
                "",
            ),
            (
                "highest rate (tuples/s)",
                [_show_rate(side.throughput.saturation.per_second) for side in sides],
                format_difference(self._find_gain()) if math.isfinite(self._find_gain()) else "",
            ),
            ("headroom", [show_headroom(side.throughput.headroom) for side in sides], ""),
            ("full first", [_find_full(side) for side in sides], ""),
            (
                "busiest executor",
                [format_utilisation(find_busiest(side.prediction)) for side in sides],
                "",
            ),
            ("CPU (cores)", [_show_cores(side) for side in sides], ""),
        ]
        overload = [None if side.intervals is None else side.intervals.overload for side in sides]
        if any(one is not None and not math.isnan(one) for one in overload):
            shown = [format_share(math.nan if one is None else one) for one in overload]
            rows.append(("overloaded, probability", shown, ""))
        return tabulate(
            "Throughput and CPU",
            [_row(name, shown[0], shown[1], change) for name, shown, change in rows],
        )

    def _tabulate_latency(self) -> Table:
        rows = []
        levels = ["mean", *map(name_percentile, self.after.prediction.latency.quantiles)]
        for figure in levels:
            key = Key("latency", LATENCY, figure)
            shown: list[str] = []
            for side in (self.before, self.after):
                text = format_duration(_find_latency(side, figure))
                interval = side.intervals and side.intervals.of(*key)
                shown.append(
                    f"{text} ({show_range(interval, format_duration)})" if interval else text
                )
            now, then = shown
            rows.append(_row(figure, now, then, _show_difference(self.differences.get(key))))
        return tabulate(
            "Latency from source to sink, since emission",
            rows,
            note="Changes are of the same minutes of metrics, and less uncertain than each plan.",
        )

    def _tabulate_bottlenecks(self) -> Table:
        rows: list[Row] = [
            {
                Column("plan"): name,
                Column("full"): one.name,
                Column("at", "tuples/s"): format_estimate(one.per_second),
            }
            for name, side in (("before", self.before), ("after", self.after))
            for one in side.throughput.bottlenecks[:3]
        ]
        return tabulate("If what fills before it were out of the way", rows)

    def _tabulate_moves(self) -> Table:
        diff = self.diff
        rows: list[Row] = [
            *(_move(one.executor.label, str(one.source), str(one.target)) for one in diff.moved),
            *(_move(executor.label, None, str(worker)) for executor, worker in diff.added),
            *(_move(executor.label, str(worker), None) for executor, worker in diff.removed),
        ]
        left = len(rows) - MOST_MOVES
        note = f"{left} more; --json lists all." if left > 0 else ""
        return tabulate(
            "Executors by the worker that they leave or come to", rows[:MOST_MOVES], note=note
        )

    def _tell_moves(self) -> list[str]:
        diff = self.diff
        moves = self._say_moves() or "nothing moves"
        told = [f"{moves}; {count(diff.tasks_moved, 'task')} in another worker than now"]
        for word, workers in (("new", diff.workers_added), ("gone", diff.workers_removed)):
            if workers:
                told.append(f"workers {word}: {list_names([str(one) for one in workers])}")
        return told

    def _made(self) -> list[Term]:
        after = self.after.predicted
        acker = self.after.plan.logical.spans.get(ACKER, ())
        return [
            Term("executors", ", ".join(f"{name}={n}" for name, n in self.wanted.items())),
            Term("placed by", self.scheduler or "the engine's even scheduler"),
            Term("load", f"{after.show_load()}, {after.load}"),
            Term("profile", self.profile),
            Term("ackers", str(len(acker))),
        ]


def _row(name: str, before: str, after: str, change: str) -> Row:
    return {
        Column("figure"): name,
        Column("now", words=True): before,
        Column("then", words=True): after,
        Column("change"): change or None,
    }


def _move(executor: str, source: str | None, target: str | None) -> Row:
    return {
        Column("executor"): executor,
        Column("from", words=True): source,
        Column("to", words=True): target,
    }


def _find_latency(side: UpdateSide, figure: str) -> float:
    latency = side.prediction.latency
    if side.prediction.overloaded:
        return math.inf
    if figure == "mean":
        return latency.mean
    return latency.quantiles.get(float(figure[1:]) / 100.0, math.nan)


def _find_highest(side: UpdateSide) -> float:
    return side.throughput.saturation.per_second


def _find_full(side: UpdateSide) -> str:
    saturation = side.throughput.saturation
    return "nothing" if math.isinf(saturation.factor) else saturation.by


def _show_rate(per_second: float) -> str:
    return "no limit" if math.isinf(per_second) else format_estimate(per_second)


def _show_cores(side: UpdateSide) -> str:
    cores = math.fsum(worker.cores for worker in side.prediction.workers)
    machines = ", ".join(
        f"{one.name} {format_share(one.in_use)}" for one in side.prediction.machines[:4]
    )
    return f"{format_number(cores)} ({machines})"


def _show_difference(difference: Difference | None) -> str:
    if difference is None or not math.isfinite(difference.apart):
        return ""
    shown = format_difference(math.expm1(difference.apart))
    if math.isnan(difference.reach):
        return shown
    return f"{shown} ± {format_share(math.expm1(difference.reach))}"


def _write_side(side: UpdateSide) -> dict[str, Any]:
    throughput = side.throughput
    return {
        "plan": side.predicted.name,
        "executors": {name: len(span) for name, span in side.plan.logical.spans.items()},
        "due_per_second": throughput.due_per_second,
        "processed_per_second": throughput.processed_per_second,
        "saturation_per_second": throughput.saturation.per_second,
        "full": _find_full(side),
        "bottlenecks": [
            {"name": one.name, "operator": one.operator, "per_second": one.per_second}
            for one in throughput.bottlenecks
        ],
        "prediction": side.prediction.to_dict(),
        **document_intervals(side.intervals),
    }
