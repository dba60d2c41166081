"""``streamgauge app``: synthetic applications, described in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import (
    check_output,
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
    from streamgauge.experiments.experiment import Experiment
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
# How many windows a run is divided into: the first of these that makes them whole seconds.
WINDOWS = (5, 4, 3, 2, 1)
# Of two windows before measuring: so far apart are none.
ANY_AGREEMENT = 1e9


@app.command()
def check(
    file: File,
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    as_json: AsJson = False,
) -> None:
    """Check a description: every problem with line and key."""
    application, described, job = load(file, platform, cycle_ns)
    remarks = said_of(application, described)
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
    remarks = said_of(application, described)
    if job_file is not None:
        from streamgauge.profile.files.jobs import job_to_data, save

        check_output(job_file)
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

    application, described, job = load(file, platform, cycle_ns)
    said_of(application, described)
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


@app.command()
def run(
    file: File,
    engine: Annotated[str, typer.Option(help="Runner: emulator, or that of an installed engine.")],
    platform: PlatformFile = None,
    cycle_ns: CycleNs = None,
    seconds: Annotated[int, typer.Option(help="Seconds to measure.", min=1)] = 60,
    warmup: Annotated[int, typer.Option(help="Seconds before.", min=0)] = 30,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for all that is measured; NAME-ENGINE when not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an application on an engine once, and say what was measured."""
    from streamgauge.cli.experiment import observed, run_on, tell

    application, described, job = load(file, platform, cycle_ns)
    said_of(application, described)
    with in_file(file):
        experiment = _single_run(job, seconds=seconds, warmup=warmup, seed=seed)
    journal, folder = run_on(experiment, engine, output)
    tell(journal, observed(journal, folder), folder, as_json=as_json)


def _single_run(job: Job, *, seconds: int, warmup: int, seed: int) -> Experiment:
    """One step, once; its warm-up ends when its time is over, whatever was seen by then."""
    from streamgauge.engines.contract import WarmUp
    from streamgauge.experiments.experiment import Experiment, ExperimentStep
    from streamgauge.topology.cluster import Cluster

    windows = next(number for number in WINDOWS if seconds % number == 0)
    return Experiment(
        name=job.topology.name,
        steps=(ExperimentStep(name="run", job=job),),
        cluster=job.cluster or Cluster.uniform(nodes=job.configuration.workers),
        warm_up=WarmUp(
            seconds=warmup, calls=0, agreement=ANY_AGREEMENT, most_seconds=max(warmup, 1)
        ),
        windows=windows,
        window_seconds=seconds / windows,
        repetitions=1,
        seed=seed,
    )


@app.command()
def calibrate(
    wanted_ms: Annotated[
        list[float] | None,
        typer.Option("--ms", help="Find the load whose tuples take so many CPU milliseconds."),
    ] = None,
    engine_us: Annotated[
        float,
        typer.Option(help="CPU microseconds of the engine itself for a tuple, if part of --ms."),
    ] = 0.0,
    rounds: Annotated[
        int, typer.Option(help="How often every number of cycles is timed.", min=2, max=10_000)
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
    """Time a cycle of load on this machine, in Java; which load takes a wanted CPU time."""
    from streamgauge.applications import Platform
    from streamgauge.applications.cycles import (
        PROBED_CYCLES,
        LoadTiming,
        check_wanted,
        cycle_time,
        find_load,
    )
    from streamgauge.applications.files.platforms import load_platform, with_cycle_ns
    from streamgauge.cli.cycle_tables import cycle_document, print_cycles, rounded
    from streamgauge.errors import InvalidInput
    from streamgauge.transport.engine import load_engine

    check_wanted(wanted_ms or (), engine_us / 1e3)
    described = Platform() if platform is None else load_platform(platform)
    time_busy_waits = load_engine(described.engine).load("busy_waits")
    if time_busy_waits is None:
        raise InvalidInput.single(
            ("engine",),
            file=str(platform or ""),
            seen=f"engine {described.engine!r}",
            expected="an engine whose loads can be timed on this machine",
        )

    def probe(cycles: Sequence[int]) -> Sequence[LoadTiming]:
        timings: Sequence[LoadTiming] = time_busy_waits(cycles, rounds=rounds).timings
        return timings

    waits = time_busy_waits(PROBED_CYCLES, rounds=rounds)
    time = cycle_time(waits.timings)
    loads = [find_load(one, time, probe, engine_ms=engine_us / 1e3) for one in wanted_ms or ()]
    remarks = (*time.remarks, *(remark for one in loads for remark in one.remarks))
    warn(remarks)
    if output is not None:
        write_text(output, with_cycle_ns(platform, rounded(time.cycle_ns)))
    if as_json:
        print_document({**cycle_document(time, waits.java, loads), "warnings": list(remarks)})
    else:
        print_cycles(time, waits.java, loads)


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


def said_of(application: Application, platform: Platform) -> tuple[str, ...]:
    """What is to be known of a description, said as warnings."""
    from streamgauge.applications import remarks_on

    remarks = remarks_on(application, platform)
    warn(remarks)
    return remarks
