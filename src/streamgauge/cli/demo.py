"""``streamgauge demo``: the product's main job on a bundled example, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import print_document, say, write_text

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

EXAMPLE = "word-count.yaml"
DEMO_RATE = 200.0
SECONDS = 300.0
BUCKET_SECONDS = 5.0
SEED = 1
SAMPLES = "samples"


def demo(
    output: Annotated[Path, typer.Option(help="Folder for what the demonstration writes.")] = Path(
        "streamgauge-demo"
    ),
    spark: Annotated[
        bool, typer.Option(help="Go on from metrics to a profile, on Spark, which needs Java.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run the main job on a bundled example: every stage of the product that there is."""
    from streamgauge.cli.examples import example_path
    from streamgauge.cli.simulation_report import print_result, result_document
    from streamgauge.cli.topology import load_plan, picture, plan_document, print_job

    say(f"demo: {EXAMPLE}, a bundled example; see `streamgauge topology show --help` for more")
    job, flow = load_plan(str(example_path(EXAMPLE)))
    if not as_json:
        print_job(job, flow)
    make_folder(output)
    write_text(output / "topology.svg", picture(flow, physical=False, ackers=False))
    write_text(output / "plan.svg", picture(flow, physical=True, ackers=False))
    result = _measured(job, flow.plan, output / SAMPLES)
    if as_json:
        simulated = result_document(job, result, SEED)
        document = {**plan_document(job, flow), "simulated": simulated}
    else:
        print()
        print_result(job, result)
    if spark:
        profile = _calibrated(job.topology.name, output)
        if as_json:
            from streamgauge.cli.profile import profile_document
            from streamgauge.profile.quality import assess_profile

            document |= profile_document(profile, assess_profile(profile))
        else:
            from streamgauge.cli.profile_tables import print_profile
            from streamgauge.profile.quality import assess_profile

            print()
            print_profile(profile, assess_profile(profile))
    if as_json:
        print_document(document)


def _measured(job: Job, plan: PhysicalPlan, folder: Path) -> SimulationResult:
    """Simulate the job, and write what the agents of a cluster would have measured."""
    from functools import partial

    from streamgauge.cli.rates import at_rate
    from streamgauge.cli.simulate import progress_bar, simulator
    from streamgauge.engines.emulator import emulate

    say(f"simulating {SECONDS:g} s at a small part of its load, as a cluster would measure them")
    assert job.workload is not None
    run = partial(
        simulator(),
        plan,
        job.behaviours,
        at_rate(job.workload, DEMO_RATE),
        seconds=SECONDS,
        warmup=0.0,
        progress=progress_bar(),
    )
    return emulate(job, plan, run, folder=folder, seed=SEED, bucket_seconds=BUCKET_SECONDS)


def _calibrated(topology: str, output: Path) -> Profile:
    """Take the metrics into a lake, and make the profile from it."""
    from streamgauge.cli.calibrate import write_profiles
    from streamgauge.cli.ingest import summary
    from streamgauge.cli.spark import spark_session
    from streamgauge.lake.tables import Lake
    from streamgauge.profile.files.jobs import load_profile

    lake = Lake(output / "lake")
    say("starting Spark, and taking the metrics into a lake")
    with spark_session("demo", None, None, None, input_rows=0) as session:
        from streamgauge.pipeline.calibrate.job import calibrate
        from streamgauge.pipeline.ingest.job import ingest_files
        from streamgauge.pipeline.ingest.listing import find_files

        tally = ingest_files(session, lake, find_files([str(output / SAMPLES)]), say=say)
        say(summary(tally))
        made = calibrate(session, lake, topology, say=say)
        write_profiles(lake, made, output / "profile.json", every=False)
    return load_profile(output / "profile.json")


def make_folder(folder: Path) -> None:
    """Create a folder to write into, or say why not."""
    from streamgauge.errors import InvalidInput

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen=(error.strerror or str(error)).lower(),
            expected="a folder that can be made",
        ) from None
