"""``streamgauge plan``: where to place a job's executors, and which operators to give more."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import print_document, write_text
from streamgauge.cli.simulate import OVERLOADED

app = typer.Typer(
    help="Say where to place a job's executors, and which operators to give more.",
    no_args_is_help=True,
)

Profile = Annotated[
    str | None,
    typer.Option(help="A profile in JSON or YAML, instead of what FILE says of behaviours."),
]
Step = Annotated[str | None, typer.Option(help="Configure the job as in this step.")]
Rate = Annotated[
    list[str] | None,
    typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the job with the plan to this file.")
]
SvgPath = Annotated[Path | None, typer.Option("--svg", help="Write a picture, before and after.")]
HtmlPath = Annotated[Path | None, typer.Option("--html", help="Write a page with pictures.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def place(
    file: Annotated[str, typer.Argument(help="A job file; - reads standard input.")],
    scheduler: Annotated[
        str, typer.Option(help="Who places; all: every scheduler, side by side.")
    ] = "all",
    profile: Profile = None,
    step: Step = None,
    rate: Rate = None,
    by: Annotated[
        str,
        typer.Option(
            help="What the best is chosen by: mean, p50, p90, p95, p99, rate, or remote (traffic)."
        ),
    ] = "p99",
    ackers: Annotated[
        bool, typer.Option("--ackers", help="Draw ackers and their streams too.")
    ] = False,
    output: Output = None,
    svg: SvgPath = None,
    html: HtmlPath = None,
    as_json: AsJson = False,
) -> None:
    """Place a job by one scheduler or all: traffic between nodes, ackers, predicted latency."""
    from streamgauge.cli.placement_page import placement_page, placement_picture
    from streamgauge.cli.placement_tables import (
        commands_of,
        print_document_of,
        print_placements,
    )
    from streamgauge.cli.placements import ask, place_all, placed_job

    found = place_all(ask(file, step, profile, rate or ()), scheduler, by)
    options: dict[str, list[str | None]] = {
        "--profile": [profile],
        "--step": [step],
        "--rate": [*(rate or ())],
    }
    commands = commands_of(found, file, options, output)
    if as_json:
        print_document_of(found, commands)
    else:
        print_placements(found, commands)
    # Last, so that a file that cannot be written costs nothing but the file.
    if output is not None:
        _write_job(output, placed_job(found))
    if svg is not None:
        write_text(svg, placement_picture(found, ackers=ackers))
    if html is not None:
        write_text(html, placement_page(found, commands, ackers=ackers, command=_command()))
    prediction = found.chosen.prediction
    if prediction is not None and prediction.overloaded:
        raise typer.Exit(OVERLOADED)


@app.command()
def scale(
    file: Annotated[
        str, typer.Argument(help="A job file, or components with rates in the published form.")
    ],
    units: Annotated[
        int | None,
        typer.Option(
            help="Units to hand out: executors with a core each. As FILE says by default."
        ),
    ] = None,
    planner: Annotated[
        str, typer.Option(help="Who decides; all: every planner, side by side.")
    ] = "combined",
    profile: Profile = None,
    step: Step = None,
    rate: Rate = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also say what 1, 2 … units would bring.")
    ] = False,
    output: Output = None,
    svg: SvgPath = None,
    curve: Annotated[
        Path | None, typer.Option(help="Write a picture of throughput by units; implies --sweep.")
    ] = None,
    html: HtmlPath = None,
    as_json: AsJson = False,
) -> None:
    """Say who gets how many more units, what that would bring, and what is full next."""
    from streamgauge.cli.scaling_page import curve_picture, growth_page, growth_picture
    from streamgauge.cli.scaling_tables import growth_document, print_growths
    from streamgauge.cli.scalings import ask, scale_all
    from streamgauge.errors import InvalidInput

    scaled = ask(file, step=step, profile=profile, rates=rate or (), units=units)
    if output is not None and scaled.job is None:
        raise InvalidInput.single(
            ("--output",), seen="a file of components", expected="a job file, to be written anew"
        )
    swept = sweep or curve is not None or html is not None
    found = scale_all(scaled, planner, with_sweep=swept)
    written = "" if output is None else str(output)
    if as_json:
        print_document(growth_document(found, written))
    else:
        print_growths(found, written)
    if output is not None and found.chosen.job is not None:
        _write_job(output, found.chosen.job)
    if svg is not None:
        write_text(svg, growth_picture(found))
    if curve is not None:
        write_text(curve, curve_picture(found))
    if html is not None:
        write_text(html, growth_page(found, command=_command(), written=written))


def _command() -> str:
    return shlex.join(["streamgauge", *sys.argv[1:]])


def _write_job(path: Path, job: object) -> None:
    from streamgauge.cli.output import check_output, say
    from streamgauge.profile.files.jobs import job_to_data, save
    from streamgauge.profile.job import Job

    assert isinstance(job, Job)
    check_output(path)
    save(job_to_data(job), path)
    say(f"wrote {path}")
