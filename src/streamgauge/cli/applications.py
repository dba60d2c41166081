"""``streamgauge app``: synthetic applications, described in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import (
    counted,
    in_file,
    print_document,
    printable,
    say,
    warn,
    write_text,
)

if TYPE_CHECKING:
    from streamgauge.applications import Application, Platform
    from streamgauge.profile.job import Job

app = typer.Typer(
    help="Describe an application in a few lines, and run it anywhere.", no_args_is_help=True
)

File = Annotated[
    str, typer.Argument(help="A workflow or pipeline in YAML or JSON; - reads standard input.")
]
PlatformFile = Annotated[
    Path | None,
    typer.Option("--platform", help="What it runs on: workers, cluster, time of a cycle."),
]
CycleNs = Annotated[
    float | None,
    typer.Option("--cycle-ns", help="Nanoseconds of a cycle of load, as measured on your machine."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def check(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    as_json: AsJson = False,
) -> None:
    """Check a description: every problem with line and key."""
    application, _, job = load(file, platform, cycle_ns)
    remarks = said_of(application)
    if as_json:
        print_document({"file": file, "valid": True, "warnings": list(remarks)})
        return
    instances = sum(task.parallelism for task in application.tasks)
    parts = [
        counted(len(application.tasks), "task"),
        counted(len(job.topology.streams), "connection"),
        counted(instances, "instance"),
        "reliable" if application.reliable else "not reliable",
    ]
    print(f"{printable(file)}: fine: {', '.join(parts)}")


@app.command()
def show(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    svg: Annotated[Path | None, typer.Option(help="Write the picture to this file.")] = None,
    job_file: Annotated[
        Path | None, typer.Option("--job", help="Write the job it expands to into this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a description expands to: tasks, loads, routing, rates."""
    from streamgauge.cli.application_tables import application_document, print_application

    application, described, job = load(file, platform, cycle_ns)
    remarks = said_of(application)
    if job_file is not None:
        from streamgauge.profile.files.jobs import job_to_data, save

        save(job_to_data(job), job_file)
        say(f"wrote {job_file}")
    if svg is not None:
        from streamgauge.drawing.topology_picture import draw_topology

        write_text(svg, draw_topology(job.topology, job.configuration.executors))
    if as_json:
        document = application_document(application, described, job)
        print_document({**document, "warnings": list(remarks)})
    elif svg is None and job_file is None:
        print_application(application, described, job)


@app.command()
def simulate(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Simulated time to measure; as long as the rates make sensible."),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(help="Simulated time to leave out before; found by itself when not given."),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate an application: throughput, latency with percentiles, back-pressure, CPU."""
    from streamgauge.cli.simulate import simulate_job
    from streamgauge.cli.topology import plan_job

    application, _, job = load(file, platform, cycle_ns)
    said_of(application)
    with in_file(file):
        flow = plan_job(job)
    simulate_job(
        file,
        job,
        flow,
        seconds=seconds,
        warmup=warmup,
        rate=rate or (),
        seed=seed,
        html=html,
        as_json=as_json,
    )


def load(
    file: str, platform: Path | None, cycle_ns: float | None
) -> tuple[Application, Platform, Job]:
    """An application, the platform it is for, and the job it expands to there."""
    from dataclasses import replace

    from streamgauge.applications import Platform, job_of
    from streamgauge.applications.files.applications import load_application
    from streamgauge.applications.files.platforms import load_platform

    application = load_application(file)
    described = Platform() if platform is None else load_platform(platform)
    if cycle_ns is not None:
        with in_file("--cycle-ns"):
            described = replace(described, cycle_ns=cycle_ns)
    with in_file(file):
        return application, described, job_of(application, described)


def said_of(application: Application) -> tuple[str, ...]:
    """What is to be known of a description, said as warnings."""
    from streamgauge.applications import remarks_on

    remarks = remarks_on(application)
    warn(remarks)
    return remarks
