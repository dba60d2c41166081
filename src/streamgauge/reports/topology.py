"""Checks of job files, and what changes from one plan to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.drawing.plan_picture import PlanPanel, draw_plans
from streamgauge.profile.job import Job
from streamgauge.reports.content import (
    Chart,
    Column,
    FigureRow,
    Grade,
    Section,
    Table,
    Verdict,
    tabulate,
)
from streamgauge.reports.long_table import list_figures
from streamgauge.reports.placement import PlacementReport
from streamgauge.reports.placement_ranking import refuse_to_draw
from streamgauge.reports.report import Report
from streamgauge.reports.wording import count, printable
from streamgauge.topology.physical_plan import PlanDiff

SECTIONS = ("behaviours", "cluster", "workload", "plan", "steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCheck(Report):
    """A job file that can be read, with what is worth a look.

    Attributes:
        file: Its name.
        job: What it describes.
        warnings: What is not wrong, and yet worth a look.
    """

    file: str
    job: Job
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The file."""
        return self.file

    @property
    def verdict(self) -> Verdict:
        """What the file holds."""
        parts = [
            count(len(self.job.topology.operators), "operator"),
            count(len(self.job.topology.streams), "stream"),
            *(name for name in SECTIONS if getattr(self.job, name)),
        ]
        return Verdict(
            grade=Grade.WARNING if self.warnings else Grade.FINE,
            word=f"{self.file}: fine",
            sentence=f": {', '.join(parts)}",
        )

    def sections(self) -> Sequence[Section]:
        """Nothing beyond the verdict; warnings are shown with it."""
        return ()

    def document(self) -> Mapping[str, Any]:
        """Whether it is valid, with warnings."""
        return {"file": self.file, "valid": True, "warnings": list(self.warnings)}

    def figures(self) -> Iterator[FigureRow]:
        """How much the file describes."""
        topology = self.job.topology
        counts = {
            "operators": len(topology.operators),
            "streams": len(topology.streams),
            "warnings": len(self.warnings),
        }
        yield from list_figures("job", topology.name, counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange(Report):
    """What moves from one plan to another.

    Attributes:
        before: The plan as it runs.
        after: The plan as it would run.
        change: What differs.
        ackers: Whether pictures show ackers and their streams.
    """

    before: PlacementReport
    after: PlacementReport
    change: PlanDiff
    ackers: bool = False

    @property
    def warnings(self) -> Sequence[str]:
        """What schedulers warn of."""
        return (*self.before.warnings, *self.after.warnings)

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.after.title}, two plans"

    @property
    def verdict(self) -> Verdict:
        """How many executors and tasks change their worker."""
        change = self.change
        if change.is_empty:
            return Verdict(grade=Grade.FINE, word="The plans are the same", sentence=".")
        executors = (
            f"{len(change.moved)} move, {len(change.added)} are added,"
            f" {len(change.removed)} are removed, {change.kept} stay"
        )
        return Verdict(
            grade=Grade.FINE,
            word="The plans differ",
            sentence=f". Executors: {executors}. {count(change.tasks_moved, 'task')} change"
            f" worker{'s' if change.tasks_moved == 1 else ''}."
            f" Workers: +{len(change.workers_added)} −{len(change.workers_removed)}.",
        )

    def sections(self) -> Sequence[Section]:
        """Both plans side by side, and every executor that changes."""
        chart = Chart(
            title="Plans before and after",
            draw=self._draw_plans,
            instead=refuse_to_draw(self.before.plan) or refuse_to_draw(self.after.plan),
            wide=True,
        )
        return [
            Section("plans", "Plans", [chart]),
            Section("executors", "Executors", [self._executor_table()]),
        ]

    def document(self) -> Mapping[str, Any]:
        """The difference as a flat record."""
        return self.change.to_dict()

    def figures(self) -> Iterator[FigureRow]:
        """How many executors, tasks and workers change."""
        change = self.change
        counts = {
            "executors_moved": len(change.moved),
            "executors_added": len(change.added),
            "executors_removed": len(change.removed),
            "executors_kept": change.kept,
            "tasks_moved": change.tasks_moved,
            "workers_added": len(change.workers_added),
            "workers_removed": len(change.workers_removed),
        }
        yield from list_figures("job", self.after.title, counts)

    def _draw_plans(self, embedded: bool) -> str:
        panels = [
            PlanPanel(
                title=when,
                about=f"{count(len(report.plan.logical.executors), 'executor')}"
                f" · {count(len(report.plan.workers), 'worker')}"
                f" · {count(len(report.plan.nodes), 'node')}",
                flow=report.flow,
            )
            for when, report in (("before", self.before), ("after", self.after))
        ]
        title = printable(f"plans of {self.after.title} before and after")
        return draw_plans(panels, title=title, ackers=self.ackers, embedded=embedded)

    def _executor_table(self) -> Table:
        change = self.change
        changes = [
            *(
                (move.executor, "moves", str(move.source), str(move.target))
                for move in change.moved
            ),
            *((executor, "removed", str(worker), None) for executor, worker in change.removed),
            *((executor, "added", None, str(worker)) for executor, worker in change.added),
        ]
        return tabulate(
            "Executors that change",
            [
                {
                    Column("executor"): executor.label,
                    Column("change", words=True): what,
                    Column("from", words=True): before,
                    Column("to", words=True): after,
                }
                for executor, what, before, after in changes
            ],
        )
