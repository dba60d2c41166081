"""What an application expands to, in tables and as a document."""

from __future__ import annotations

import textwrap
from typing import Any

from streamgauge.applications.application import Application, Task
from streamgauge.applications.content import Content, contents_of
from streamgauge.applications.platform import Platform
from streamgauge.cli.output import counted, print_table, printable, terminal_width
from streamgauge.cli.topology import is_ascii_only
from streamgauge.drawing.text_picture import draw_text
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.job import Job


def print_application(application: Application, platform: Platform, job: Job) -> None:
    """The application in tables and a drawn graph."""
    reliable = "reliable" if application.reliable else "not reliable"
    instances = sum(task.parallelism for task in application.tasks)
    print(
        f"{application.name}: {counted(len(application.tasks), 'task')}, "
        f"{counted(instances, 'instance')} in {counted(platform.workers, 'worker')}, {reliable}"
    )
    if application.about:
        about = printable(" ".join(application.about.split()))
        print(textwrap.fill(about, min(terminal_width(), 100)))
    print()
    executors = job.configuration.executors
    width = terminal_width()
    print(draw_text(job.topology, executors, width=width, ascii_only=is_ascii_only()))
    print()
    contents = contents_of(application)
    _print_sources(application, job)
    _print_tasks(application, platform, contents)


def application_document(application: Application, platform: Platform, job: Job) -> dict[str, Any]:
    """The application and the job it expands to, for ``--json``."""
    contents = contents_of(application)
    rates = _rates(application, contents)
    return {
        "application": {
            "name": application.name,
            "about": application.about,
            "reliable": application.reliable,
            "tasks": [_record(task, platform, rates[task.name]) for task in application.tasks],
        },
        "job": job_to_data(job),
    }


def _print_sources(application: Application, job: Job) -> None:
    assert job.workload is not None
    emitted = {one.source: one.per_second for one in job.workload.emissions}
    rows = []
    for task in application.sources:
        assert task.data is not None
        assert task.flow is not None
        data = task.data
        values = f"{counted(data.values, 'value')}, {data.distribution}"
        flow = task.flow.describe()
        rows.append((task.name, task.parallelism, data.size, values, flow, emitted[task.name]))
    columns = ("source", "instances", "bytes", "data", "flow of each", "mean/s")
    print_table("Sources", columns, rows)


def _print_tasks(
    application: Application, platform: Platform, contents: dict[str, Content]
) -> None:
    rates = _rates(application, contents)
    rows = []
    for task in application.tasks:
        if task.is_source:
            continue
        rows.append(
            (
                task.name,
                task.parallelism,
                " ".join(task.parents),
                str(task.routing),
                float(f"{task.processing:.6g}"),
                float(f"{platform.cpu_ms(task.cycles):.4g}"),
                None if task.filtering == 1.0 else task.filtering,
                None if task.window is None else task.window.describe(),
                None if task.resized_bytes is None else task.resized_bytes,
                rates[task.name],
            )
        )
    columns = (
        "task",
        "instances",
        "parents",
        "routing",
        "load",
        "CPU ms",
        "forwards",
        "window",
        "bytes",
        "in/s",
    )
    print_table(f"Tasks; a load of 1 is 1000 cycles of {platform.cycle_ns:.3g} ns", columns, rows)


def _rates(application: Application, contents: dict[str, Content]) -> dict[str, float | None]:
    """Tuples per second into every task, none where a source has no limit."""
    if any(task.flow is not None and task.flow.is_unlimited for task in application.sources):
        return dict.fromkeys(contents)
    return {
        name: sum(part.per_second for part in content.received)
        for name, content in contents.items()
    }


def _record(task: Task, platform: Platform, per_second: float | None) -> dict[str, Any]:
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
