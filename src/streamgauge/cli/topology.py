"""``streamgauge topology``: look at jobs and their plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, JobFile, Step, Svg
from streamgauge.cli.output import can_print, check_outputs, present, warn, write_text

app = typer.Typer(help="Check, draw and compare jobs and their plans.", no_args_is_help=True)

SchedulerName = Annotated[
    str | None, typer.Option(help="Place by this scheduler, also where the file has a plan.")
]
Ackers = Annotated[bool, typer.Option("--ackers", help="Show ackers and their streams too.")]
# What graphs are drawn with in characters.
SIGNS = "┌─▶×"
# Pictures of a placement.
GRAPH, PLAN = 0, 1


@app.command()
def show(
    file: JobFile,
    step: Step = None,
    scheduler: SchedulerName = None,
    svg: Svg = None,
    physical: Annotated[
        bool, typer.Option("--physical", help="Draw workers and nodes, not only operators.")
    ] = False,
    ackers: Ackers = False,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Show a job: its graph, its parallelism, and which worker runs what."""
    from streamgauge.api.place import place

    check_outputs(svg, html)
    report = replace(
        place(file, scheduler, step),
        physical=physical,
        ackers=ackers,
        ascii_only=not can_print(SIGNS),
    )
    if svg is not None:
        write_text(svg, report.plot(PLAN if physical else GRAPH).svg)
    if svg is None or html is not None or as_json:
        present(report, as_json=as_json, html=html)
    else:
        warn(report.warnings)


@app.command()
def check(file: JobFile, as_json: AsJson = False) -> None:
    """Check a job's file: every problem with its place; every step is placed."""
    from streamgauge.errors import in_file
    from streamgauge.planning.scheduling.job_placement import check_job
    from streamgauge.profile.files.jobs import load_job
    from streamgauge.reports.placement import JobCheck

    job = load_job(file)
    with in_file(file):
        report = JobCheck(file=file, job=job, warnings=check_job(job))
    present(report, as_json=as_json)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="The job as it runs.")],
    after: Annotated[str, typer.Argument(help="The job as it would run.")],
    before_step: Step = None,
    after_step: Step = None,
    ackers: Ackers = False,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Show what moves between two plans: the same file twice, with steps, or two files."""
    from streamgauge.api.place import place
    from streamgauge.reports.placement import PlanChange
    from streamgauge.topology.physical_plan import diff_plans

    check_outputs(html)
    old, new = place(before, step=before_step), place(after, step=after_step)
    change = diff_plans(old.plan, new.plan)
    report = PlanChange(before=old, after=new, change=change, ackers=ackers)
    present(report, as_json=as_json, html=html)


@app.command()
def paths(
    file: JobFile,
    step: Step = None,
    scheduler: SchedulerName = None,
    to_acker: Annotated[
        bool, typer.Option("--to-acker", help="Let paths go on from the sinks to the ackers.")
    ] = False,
    listed: Annotated[
        int,
        typer.Option("--list", min=0, help="List this many single paths, executor by executor."),
    ] = 0,
    source: Annotated[
        str | None, typer.Option(help="With --list: only paths from this source.")
    ] = None,
    sink: Annotated[str | None, typer.Option(help="With --list: only paths to this sink.")] = None,
    latency: Annotated[
        bool, typer.Option("--latency", help="Predict how long tuples take along each path.")
    ] = False,
    profile: Annotated[
        str | None, typer.Option(help="With --latency: a profile, instead of FILE's behaviours.")
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="With --latency: tuples per second of all sources, or SOURCE=NUMBER."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the paths of tuples from sources to sinks, and how often they cross nodes."""
    from streamgauge.api.place import find_paths
    from streamgauge.errors import in_file

    with in_file(file):
        report = find_paths(
            file,
            scheduler,
            step,
            to_acker=to_acker,
            listed=listed,
            source=source,
            sink=sink,
            latency=latency,
            profile=profile,
            rate=rate,
        )
        present(report, as_json=as_json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of job files, for editors."""
    import json

    from streamgauge.profile.files.jobs import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
