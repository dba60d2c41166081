"""One plan of a job: its graph, which worker runs what, and how it differs from another plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from streamgauge.drawing.plan_picture import PlanPanel, draw_plan
from streamgauge.drawing.text_picture import draw_text
from streamgauge.drawing.topology_picture import draw_topology, without_ackers
from streamgauge.drawing.wording import count, format_number, printable
from streamgauge.errors import CyclicTopology
from streamgauge.planning.scheduling.contract import Schedule
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.files.plans import PlanFile
from streamgauge.profile.job import Assignment, Job
from streamgauge.reports.content import (
    Chart,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.placement_ranking import chart_plans, list_sizes, refuse_to_draw
from streamgauge.reports.report import Report, describe_size, list_figures
from streamgauge.topology.paths import count_paths
from streamgauge.topology.physical_plan import PhysicalPlan, PlanDiff
from streamgauge.topology.tuple_flow import CONNECTION_TYPES, TupleFlow
from streamgauge.transport.engine import load_engine

# More workers than this are for machines: `--json` has them all.
MANY_WORKERS = 24
# From here on an exact number of paths says no more than its size.
MANY_PATHS = 10**12
SECTIONS = ("behaviours", "cluster", "workload", "plan", "steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementReport(Report):
    """A job as a scheduler places it.

    Attributes:
        job: As configured.
        schedule: Its plan, with what the scheduler warns of.
        flow: The plan's connections.
        physical: Whether pictures show workers and nodes, and tables all workers.
        ackers: Whether pictures and tables show ackers and their streams.
        ascii_only: Whether a terminal cannot show the characters that graphs are drawn with.
    """

    job: Job
    schedule: Schedule
    flow: TupleFlow
    physical: bool = False
    ackers: bool = False
    ascii_only: bool = False

    @classmethod
    def of(cls, job: Job, schedule: Schedule) -> PlacementReport:
        """With the connections that the job's engine makes."""
        hops = load_engine(job.configuration.engine).hops
        return cls(job=job, schedule=schedule, flow=TupleFlow.of(schedule.plan, hops))

    @property
    def plan(self) -> PhysicalPlan:
        """Where every executor runs."""
        return self.schedule.plan

    @property
    def warnings(self) -> Sequence[str]:
        """What the scheduler warns of."""
        return self.schedule.warnings

    @property
    def title(self) -> str:
        """The job's name."""
        return self.job.topology.name

    @property
    def about(self) -> str:
        """Engine and size."""
        acked = "acked" if self.job.topology.acked else "not acked"
        return f"{self.title}: {self.job.configuration.engine}, {acked}, {describe_size(self.plan)}"

    @property
    def verdict(self) -> Verdict:
        """How many connections and paths there are."""
        counts = self.flow.count_types()
        parts = ", ".join(f"{amount} {kind}" for kind, amount in counts.items())
        connections = f"{sum(counts.values())} connections on data streams ({parts})"
        return Verdict(
            grade=Grade.WARNING if self.warnings else Grade.FINE,
            word="Placed",
            sentence=f": {connections}; {self._describe_paths()}.",
        )

    def sections(self) -> Sequence[Section]:
        """What the file says about the job, its graph, operators, streams and workers."""
        about = " ".join(self.job.about.split())
        topology = self.plan.logical.topology
        shown = topology if self.ackers else without_ackers(topology)
        graph = partial(draw_topology, shown, self._executors)
        return [
            Section("about", "About the job", [Text([about] if about else [])]),
            Section(
                "graph",
                "Graph",
                [Chart(title="Graph", draw=graph, draw_text=self._draw_text, wide=True)],
            ),
            Section(
                "operators", "Operators and streams", [self._operator_table(), self._stream_table()]
            ),
            Section(
                "workers",
                "Where executors run",
                [
                    Chart(
                        title="Plan",
                        draw=partial(draw_plan, self.flow, ackers=self.ackers),
                        instead=refuse_to_draw(self.plan),
                        wide=True,
                    ),
                    self._worker_table(),
                ],
            ),
        ]

    def document(self) -> Mapping[str, Any]:
        """The job, its plan and its connections."""
        return {
            "job": job_to_data(self.job),
            "plan": PlanFile.of(Assignment.of(self.plan)),
            "connections": {str(kind): amount for kind, amount in self.flow.count_types().items()},
            "connections_by_stream": [
                {
                    "from": block.stream.source,
                    "stream": block.stream.name,
                    "to": block.stream.target,
                    "grouping": block.stream.grouping.describe(),
                    "connections": int(block.exists.sum()),
                }
                for block in self.flow.blocks
            ],
            "paths": self.count_paths(),
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Executors of operators and of workers, and connections by type."""
        for name, executors in self._executors.items():
            yield from list_figures("operator", name, {"executors": executors})
        for worker, placed in self.plan.executors_by_worker.items():
            yield from list_figures("worker", str(worker), {"executors": len(placed)})
        counts = self.flow.count_types()
        connections = {f"{kind} connections": amount for kind, amount in counts.items()}
        yield from list_figures("job", self.title, connections)

    def count_paths(self) -> int | None:
        """Paths from source to sink; None where a cycle makes them infinitely many."""
        try:
            return sum(count_paths(self.flow).values())
        except CyclicTopology:
            return None

    @property
    def _executors(self) -> dict[str, int]:
        return {name: len(span) for name, span in self.plan.logical.spans.items()}

    def _draw_text(self, width: int) -> str:
        shown = self.plan.logical.topology if self.ackers else self.job.topology
        return draw_text(shown, self._executors, width=width, ascii_only=self.ascii_only)

    def _describe_paths(self) -> str:
        paths = self.count_paths()
        if paths is None:
            return "infinitely many paths, as the topology has a cycle"
        return (
            f"{paths:.2e} paths" if paths >= MANY_PATHS else f"{paths:,} paths from source to sink"
        )

    def _operator_table(self) -> Table:
        rows: list[Row] = []
        for operator in self.job.topology.operators:
            behaviour = self.job.behaviours.get(operator.name)
            rows.append(
                {
                    Column("operator"): operator.name,
                    Column("kind", words=True): str(operator.kind),
                    Column("executors"): self._executors[operator.name],
                    Column("tasks"): operator.tasks,
                    Column("window", words=True): operator.window.describe()
                    if operator.window
                    else None,
                    Column("service", "ms"): format_number(behaviour.service.mean_ms)
                    if behaviour
                    else None,
                }
            )
        return tabulate("Operators", rows)

    def _stream_table(self) -> Table:
        blocks = self.flow.blocks if self.ackers else self.flow.data_blocks
        return tabulate(
            "Streams, and their connections between executors",
            [
                {
                    Column("from"): block.stream.source,
                    Column("stream", words=True): block.stream.name,
                    Column("to", words=True): block.stream.target,
                    Column("grouping", words=True): block.stream.grouping.describe(),
                    **{
                        Column(str(kind)): int((block.types[block.exists] == code).sum())
                        for code, kind in enumerate(CONNECTION_TYPES)
                    },
                }
                for block in blocks
            ],
        )

    def _worker_table(self) -> Table:
        is_shown = self.physical or len(self.plan.workers) <= MANY_WORKERS
        workers = self.plan.executors_by_worker if is_shown else {}
        return tabulate(
            "Workers",
            [
                {
                    Column("worker"): str(worker),
                    Column("executors"): len(placed),
                    Column("which", words=True): " ".join(executor.label for executor in placed),
                }
                for worker, placed in workers.items()
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCheck(Report):
    """A job file that can be read, with what is not wrong and yet worth a look."""

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
    """What moves from one plan to another; pictures show ackers where that is asked for."""

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
        panels = [
            PlanPanel(title=when, about=list_sizes(report.plan), flow=report.flow)
            for when, report in (("before", self.before), ("after", self.after))
        ]
        title = printable(f"plans of {self.after.title} before and after")
        chart = chart_plans("Plans before and after", panels, title, ackers=self.ackers)
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
