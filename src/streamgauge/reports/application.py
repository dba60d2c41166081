"""What an application description expands to, and what a cycle of load takes on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from streamgauge.applications.application import Application, Task
from streamgauge.applications.cycles import DIGITS, CycleTime, FoundLoad
from streamgauge.applications.expansion import trace_contents
from streamgauge.applications.platform import Platform
from streamgauge.drawing.text_picture import draw_text
from streamgauge.drawing.topology_picture import draw_topology
from streamgauge.drawing.wording import count, format_duration, format_number
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.job import Job
from streamgauge.reports.content import (
    Chart,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report, list_figures

NS_PER_MS, MS_PER_SECOND = 1e6, 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationReport(Report):
    """An application, and the job that it expands to on a platform.

    Attributes:
        warnings: What the description leaves open or asks too much of.
        ascii_only: Whether a terminal cannot show the lines that graphs are drawn with.
    """

    application: Application
    platform: Platform
    job: Job
    warnings: tuple[str, ...] = ()
    ascii_only: bool = False

    @property
    def title(self) -> str:
        """The application's name."""
        return self.application.name

    @property
    def about(self) -> str:
        """What its author says of it."""
        return " ".join(self.application.about.split())

    @property
    def verdict(self) -> Verdict:
        """How large it is."""
        tasks = self.application.tasks
        instances = count(sum(task.parallelism for task in tasks), "instance")
        workers = count(self.platform.workers, "worker")
        reliable = "reliable" if self.application.reliable else "not reliable"
        return Verdict(
            grade=Grade.WARNING if self.warnings else Grade.FINE,
            word=self.application.name,
            sentence=f": {count(len(tasks), 'task')}, {instances} in {workers}, {reliable}",
        )

    def sections(self) -> Sequence[Section]:
        """The graph, sources and tasks."""
        topology, executors = self.job.topology, self.job.configuration.executors
        graph = Chart(
            title="topology",
            draw=partial(draw_topology, topology, executors),
            draw_text=lambda width: draw_text(
                topology, executors, width=width, ascii_only=self.ascii_only
            ),
            wide=True,
        )
        return [
            Section("topology", "Topology", [graph]),
            Section("tasks", "Tasks", [self._build_source_table(), self._build_task_table()]),
        ]

    def document(self) -> Mapping[str, Any]:
        """The application and the job it expands to."""
        rates = self._list_rates()
        return {
            "application": {
                "name": self.application.name,
                "about": self.application.about,
                "reliable": self.application.reliable,
                "tasks": [
                    _write_task(task, self.platform, rates[task.name])
                    for task in self.application.tasks
                ],
            },
            "job": job_to_data(self.job),
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Instances, CPU time and rate of every task."""
        rates = self._list_rates()
        for task in self.application.tasks:
            yield from list_figures("task", task.name, {"instances": task.parallelism})
            if not task.is_source:
                cpu = self.platform.cpu_ms(task.cycles)
                yield from list_figures("task", task.name, {"cpu": cpu}, unit="ms")
            rate = rates[task.name]
            if rate is not None:
                yield from list_figures("task", task.name, {"received_per_second": rate})

    def _build_source_table(self) -> Table:
        workload = self.job.workload
        assert workload is not None
        emitted = {emission.source: emission.per_second for emission in workload.emissions}
        rows: list[Row] = []
        for task in self.application.sources:
            data, flow = task.data, task.flow
            assert data is not None
            assert flow is not None
            per_second, values = emitted[task.name], count(data.values, "value")
            rows.append(
                {
                    Column("source"): task.name,
                    Column("instances"): task.parallelism,
                    Column("bytes"): data.size,
                    Column("data", words=True): f"{values}, {data.distribution}",
                    Column("flow of each", words=True): flow.describe(),
                    Column("mean", "tuples/s"): None
                    if per_second is None
                    else format_number(per_second),
                }
            )
        return tabulate("Sources", rows)

    def _build_task_table(self) -> Table:
        rates = self._list_rates()
        rows: list[Row] = []
        for task in self.application.tasks:
            if task.is_source:
                continue
            rate = rates[task.name]
            window = None if task.window is None else task.window.describe()
            rows.append(
                {
                    Column("task"): task.name,
                    Column("instances"): task.parallelism,
                    Column("parents", words=True): " ".join(task.parents),
                    Column("routing", words=True): str(task.routing),
                    Column("load"): f"{task.processing:.6g}",
                    Column("CPU"): format_duration(
                        self.platform.cpu_ms(task.cycles) / MS_PER_SECOND
                    ),
                    Column("forwards"): None if task.filtering == 1.0 else f"{task.filtering:g}",
                    Column("window", words=True): window,
                    Column("bytes"): task.resized_bytes,
                    Column("in", "tuples/s"): None if rate is None else format_number(rate),
                }
            )
        return tabulate(
            f"Tasks; a load of 1 is 1000 cycles of {self.platform.cycle_ns:.3g} ns", rows
        )

    def _list_rates(self) -> dict[str, float | None]:
        """Tuples per second into every task, None where a source has no limit."""
        contents = trace_contents(self.application)
        flows = [task.flow for task in self.application.sources]
        if any(flow is not None and flow.is_unlimited for flow in flows):
            return dict.fromkeys(contents)
        return {
            name: sum(part.per_second for part in content.received)
            for name, content in contents.items()
        }


def _write_task(task: Task, platform: Platform, per_second: float | None) -> dict[str, Any]:
    """A task as a flat record."""
    record: dict[str, Any] = {
        "name": task.name,
        "kind": "source" if task.is_source else "task",
        "parallelism": task.parallelism,
    }
    if task.data is not None and task.flow is not None:
        return {
            **record,
            "bytes": task.data.size,
            "values": task.data.values,
            "distribution": str(task.data.distribution),
            "flow": str(task.flow.kind),
            "rate": task.flow.rate,
            "mean_per_second": task.flow.mean_per_second,
        }
    return {
        **record,
        "parents": list(task.parents),
        "routing": str(task.routing),
        "processing": task.processing,
        "cycles": task.cycles,
        "cpu_ms": platform.cpu_ms(task.cycles),
        "filtering": task.filtering,
        "window": None if task.window is None else task.window.describe(),
        "resized_bytes": task.resized_bytes,
        "received_per_second": per_second,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleReport(Report):
    """What a cycle of load takes on this machine by a version of Java: a line fitted to timings.

    Loads for CPU times that were asked for are given as tried.
    """

    time: CycleTime
    java: str
    loads: tuple[FoundLoad, ...]

    @property
    def title(self) -> str:
        """What was timed."""
        return "CPU time of a cycle"

    @property
    def about(self) -> str:
        """The fitted line."""
        time, rounds = self.time, len(self.time.timings[0].cpu_ns)
        return (
            f"CPU time of a call = {time.overhead_ns:.3g} ± {time.overhead_ns_error:.1g} ns"
            f" + cycles × {time.cycle_ns:.{DIGITS}g} ± {time.cycle_ns_error:.1g} ns"
            f" (Java {self.java}, {rounds} rounds)"
        )

    @property
    def verdict(self) -> Verdict:
        """The time of a cycle as a platform file has it."""
        grade = Grade.WARNING if self.warnings else Grade.FINE
        return Verdict(grade=grade, word=f"cycle_ns: {self.time.rounded_ns:g}")

    @property
    def warnings(self) -> Sequence[str]:
        """Why the figures may not hold."""
        return (*self.time.remarks, *(remark for load in self.loads for remark in load.remarks))

    def sections(self) -> Sequence[Section]:
        """The timings that the line follows from, and the loads that were asked for."""
        timings = tabulate(
            "Timings",
            [
                {
                    Column("load"): f"{timing.cycles / 1000.0:g}",
                    Column("cycles"): f"{timing.cycles:,}",
                    Column("CPU", "ms"): f"{timing.mean_ns / NS_PER_MS:.{DIGITS}g}",
                    Column("±", "ms"): f"{timing.error_ns / NS_PER_MS:.1g}",
                    Column("off the line"): f"{self.time.misfit(timing):+.1%}",
                }
                for timing in self.time.timings
            ],
        )
        loads = tabulate(
            "Loads for the CPU times asked for, as tried",
            [
                {
                    Column("asked", "ms"): f"{load.wanted_ms:g}",
                    Column("load"): f"{load.processing:g}",
                    Column("CPU", "ms"): f"{load.measured_ms:.{DIGITS}g}",
                    Column("±", "ms"): f"{load.error_ms:.1g}",
                    Column("off"): f"{load.off:+.1%}",
                }
                for load in self.loads
            ],
        )
        return [Section("timings", "Timings", [timings, loads])]

    def document(self) -> Mapping[str, Any]:
        """The fitted line, its timings, and the loads."""
        time = self.time
        names = ("cycle_ns", "cycle_ns_error", "overhead_ns", "overhead_ns_error")
        return {
            "java": self.java,
            "rounds": len(time.timings[0].cpu_ns),
            **{name: getattr(time, name) for name in (*names, "spread", "waiting")},
            "timings": [
                {
                    "cycles": timing.cycles,
                    "cpu_ns": timing.mean_ns,
                    "cpu_ns_error": timing.error_ns,
                    "off": time.misfit(timing),
                }
                for timing in time.timings
            ],
            "loads": [
                {
                    "wanted_ms": load.wanted_ms,
                    "cycles": load.cycles,
                    "processing": load.processing,
                    "measured_ms": load.measured_ms,
                    "measured_ms_error": load.error_ms,
                    "off": load.off,
                }
                for load in self.loads
            ],
            "warnings": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """The fitted line and its timings."""
        time = self.time
        line = {"cycle": time.cycle_ns, "overhead": time.overhead_ns}
        yield from list_figures("machine", "java", line, unit="ns")
        for timing in time.timings:
            name = f"{timing.cycles} cycles"
            yield from list_figures("machine", name, {"cpu": timing.mean_ns}, unit="ns")
