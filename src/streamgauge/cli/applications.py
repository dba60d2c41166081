"""``streamgauge app``: synthetic applications, described in a few lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.experiment import Engine, Output
from streamgauge.cli.options import AsJson, Html, Rate, Svg
from streamgauge.cli.output import (
    can_print,
    check_outputs,
    present,
    print_document,
    say,
    warn,
    write_text,
)
from streamgauge.cli.simulate import Seconds, Seed, Warmup
from streamgauge.drawing.wording import count, printable
from streamgauge.errors import in_file

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
Routed = Annotated[
    str,
    typer.Option(
        help="Connections that get a workflow's routing: all, or first-level (those behind the"
        " sources, as on engines that chain tasks)."
    ),
]


@app.command()
def check(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    routed: Routed = "all",
    as_json: AsJson = False,
) -> None:
    """Check a description: every problem with line and key."""
    from streamgauge.api.applications import expand_application

    expanded = expand_application(file, platform, cycle_ns=cycle_ns, routed=routed)
    application = expanded.application
    warn(expanded.warnings)
    if as_json:
        print_document({"file": file, "valid": True, "warnings": list(expanded.warnings)})
        return
    parts = [
        count(len(application.tasks), "task"),
        count(len(expanded.job.topology.streams), "connection"),
        count(sum(task.parallelism for task in application.tasks), "instance"),
        "reliable" if application.reliable else "not reliable",
    ]
    print(f"{printable(file)}: fine: {', '.join(parts)}")


@app.command()
def show(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    routed: Routed = "all",
    svg: Svg = None,
    job_file: Annotated[
        Path | None, typer.Option("--job", help="Write the job it expands to into this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a description expands to: tasks, loads, routing, rates."""
    from streamgauge.api.applications import expand_application
    from streamgauge.cli.topology import SIGNS

    check_outputs(svg, job_file)
    expanded = expand_application(file, platform, cycle_ns=cycle_ns, routed=routed)
    if job_file is not None:
        from streamgauge.profile.files.jobs import job_to_data, save

        save(job_to_data(expanded.job), job_file)
        say(f"wrote {job_file}")
    if svg is not None:
        write_text(svg, expanded.plot().svg)
    if as_json or (svg is None and job_file is None):
        present(replace(expanded, ascii_only=not can_print(SIGNS)), as_json=as_json)
    else:
        warn(expanded.warnings)


@app.command()
def simulate(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    routed: Routed = "all",
    seconds: Seconds = None,
    warmup: Warmup = None,
    rate: Rate = None,
    seed: Seed = 1,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Simulate an application: throughput, latency with percentiles, back-pressure, CPU.

    Exit code 3 says that it is overloaded.
    """
    from streamgauge.api.applications import expand_application
    from streamgauge.api.simulate import simulate as simulate_job
    from streamgauge.cli.progress import watch_simulated_time

    check_outputs(html)
    expanded = expand_application(file, platform, cycle_ns=cycle_ns, routed=routed)
    warn(expanded.warnings)
    with in_file(file):
        report = simulate_job(
            expanded.job,
            rate=rate,
            seconds=seconds,
            warmup=warmup,
            seed=seed,
            progress=watch_simulated_time(),
            say=say,
        )
    present(report, as_json=as_json, html=html)


@app.command()
def run(
    file: File,
    engine: Engine,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    routed: Routed = "all",
    seconds: Annotated[int, typer.Option(help="Seconds to measure.", min=1)] = 60,
    warmup: Annotated[int, typer.Option(help="Seconds of warm-up before measuring.", min=0)] = 30,
    seed: Seed = 1,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Run an application on an engine once, and say what was measured."""
    from streamgauge.api.applications import expand_application
    from streamgauge.cli.experiment import run_on
    from streamgauge.experiments.experiment import Experiment

    expanded = expand_application(file, platform, cycle_ns=cycle_ns, routed=routed)
    warn(expanded.warnings)
    with in_file(file):
        experiment = Experiment.of_one_run(expanded.job, seconds=seconds, warmup=warmup, seed=seed)
    run_on(experiment, engine, output, as_json=as_json)


@app.command()
def calibrate(
    asked_ms: Annotated[
        list[float] | None,
        typer.Option("--ms", help="Find the load whose tuples take this many CPU milliseconds."),
    ] = None,
    engine_us: Annotated[
        float,
        typer.Option(help="CPU microseconds of the engine itself for a tuple, if part of --ms."),
    ] = 0.0,
    rounds: Annotated[
        int, typer.Option(help="How many times each number of cycles is timed.", min=2, max=10_000)
    ] = 30,
    platform: Annotated[
        Path | None, typer.Option("--platform", help="Platform whose other keys are kept.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a platform file with the time of a cycle."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time a cycle of load on this machine, in Java; which load takes a given CPU time."""
    from streamgauge.api.applications import time_cycles
    from streamgauge.applications.files.platforms import write_cycle_ns

    check_outputs(output)
    timed = time_cycles(asked_ms or (), platform, engine_us=engine_us, rounds=rounds)
    if output is not None:
        write_text(output, write_cycle_ns(platform, timed.time.rounded_ns))
    present(timed, as_json=as_json)
