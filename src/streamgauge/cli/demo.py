"""``streamgauge demo``: the product's main job on a bundled example, step by step."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.output import (
    make_folder,
    print_document,
    print_table,
    say,
    terminal_width,
    write_text,
)
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.reports.scaling import ScalingRanking
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

EXAMPLE = "word-count.yaml"
DEMO_RATE = 200.0
SECONDS = 300.0
BUCKET_SECONDS = 5.0
SEED = 1
SAMPLES = "samples"
# What is then asked: another plan, and ten times the load.
STEP = "splitters-2"
ASKED_RATE = 10.0 * DEMO_RATE
# And what to do about a load that one splitter cannot take, with so many executors more.
GROWN_RATE, GROWN_UNITS = 300_000.0, 4
# Shuffle needs some looks at the loads, one a second, before it has found its way.
TRUTH_SECONDS, TRUTH_WARMUP = 5.0, 12.0
# Threads that sleep for a millisecond at a time keep their phases: several runs show several.
TRUTH_SEEDS = range(2, 10)


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
    with require_extra("simulation,pipeline" if spark else "simulation,lake"):
        from streamgauge.engines.emulator import emulate  # noqa: F401 - before anything is said

        if spark:
            from streamgauge.pipeline import session  # noqa: F401
    from streamgauge.cli.examples import example_path
    from streamgauge.cli.topology import load_plan, picture, plan_document, print_job
    from streamgauge.reports.document import replace_non_finite
    from streamgauge.reports.simulation import SimulationReport

    say(f"demo: {EXAMPLE}, a bundled example; see `streamgauge topology show --help` for more")
    job, flow = load_plan(str(example_path(EXAMPLE)))
    if not as_json:
        print_job(job, flow)
    make_folder(output)
    write_text(output / "topology.svg", picture(flow, physical=False, ackers=False))
    write_text(output / "plan.svg", picture(flow, physical=True, ackers=False))
    result = _measured(job, flow.plan, output / SAMPLES)
    report = SimulationReport(
        job=job, plan=flow.plan, results=(result,), seed=SEED, seconds=SECONDS, warmup=0.0
    )
    if as_json:
        document = {
            **plan_document(job, flow),
            "simulated": replace_non_finite(report.document()),
        }
    else:
        print(f"\n{report.to_text(terminal_width())}", end="")
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
        predicted = _predicted(profile, output)
        truth = _truth(job, predicted)
        if as_json:
            document |= _beside(predicted, truth)
        else:
            print(predicted.to_text(terminal_width()))
            print_table(*_table(predicted, truth))
        growths = _grown(job, profile, output)
        if as_json:
            document |= growths.to_dict()
        else:
            print()
            print(growths.to_text(terminal_width()), end="")
    if as_json:
        print_document(document)


def _measured(job: Job, plan: PhysicalPlan, folder: Path) -> SimulationResult:
    """Simulate the job, and write what the agents of a cluster would have measured."""
    from streamgauge.api.simulator import load_simulator
    from streamgauge.cli.progress import watch_simulated_time
    from streamgauge.engines.emulator import emulate

    say(f"simulating {SECONDS:g} s at a small part of its load, as a cluster would measure them")
    assert job.workload is not None
    run = partial(
        load_simulator(say),
        plan,
        job.behaviours,
        job.workload.at_rate(DEMO_RATE),
        seconds=SECONDS,
        warmup=0.0,
        progress=watch_simulated_time(),
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


def _predicted(profile: Profile, output: Path) -> PredictionReport:
    """How the job would behave on another plan under another load, with a page of it."""
    from streamgauge.api.predict import predict
    from streamgauge.cli.examples import example_path

    say(f"predicting another plan, {STEP}, at {ASKED_RATE:g} tuples/s, from the profile alone")
    report = predict(profile, example_path(EXAMPLE), step=STEP, rate=ASKED_RATE, before=True)
    command = f"streamgauge predict --profile profile.json --plan {EXAMPLE} --step {STEP}"
    page = report.to_html(f"{command} --rate {ASKED_RATE:g} --html prediction.html")
    write_text(output / "prediction.html", page)
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Truth:
    """What the job's own behaviours lead to, in several simulated runs.

    Attributes:
        latency: From source to sink.
        complete: Of whole tuple trees.
    """

    latency: Latency
    complete: Latency


def _truth(job: Job, predicted: PredictionReport) -> _Truth:
    """The same plan and load with the job's true behaviours, which the profile never saw."""
    from streamgauge.api.simulator import load_simulator
    from streamgauge.models.simulated import latency_of

    say(f"simulating it for comparison, {len(TRUTH_SEEDS)} runs of {TRUTH_SECONDS:g} s")
    run = partial(
        load_simulator(say),
        predicted.plan,
        job.behaviours,
        predicted.workload,
        seconds=TRUTH_SECONDS,
        warmup=TRUTH_WARMUP,
    )
    results = [run(seed=seed) for seed in TRUTH_SEEDS]
    return _Truth(
        latency=latency_of([one.latency for one in results]),
        complete=latency_of([one.complete for one in results]),
    )


def _beside(predicted: PredictionReport, truth: _Truth) -> dict[str, Any]:
    """The document's part on prediction and truth."""
    from streamgauge.reports.document import replace_non_finite

    return {
        "prediction": replace_non_finite(predicted.prediction.to_dict()),
        "truth": replace_non_finite(asdict(truth)),
    }


def _table(predicted: PredictionReport, truth: _Truth) -> tuple[str, list[str], list[list[str]]]:
    """Predicted figures beside simulated ones."""
    from streamgauge.drawing.quantities import duration
    from streamgauge.reports.latency import show_mean

    found = predicted.prediction
    assert found.complete is not None
    rows = []
    for name, mine, theirs in (
        ("source to sink", found.latency, truth.latency),
        ("complete", found.complete, truth.complete),
    ):
        off = f"{100.0 * (mine.mean / theirs.mean - 1.0):+.1f} %"
        rows.append([f"{name}, mean", duration(mine.mean), show_mean(theirs), off])
        for level in (0.5, 0.9, 0.99):
            one, other = mine.quantiles[level], theirs.quantiles[level]
            off = f"{100.0 * (one / other - 1.0):+.1f} %"
            rows.append([f"{name}, p{100 * level:g}", duration(one), duration(other), off])
    runs = f"{len(TRUTH_SEEDS)} runs of {TRUTH_SECONDS:g} s, ± 95 % confidence"
    title = f"The same plan and load, simulated: {runs}"
    return title, ["", "predicted", "simulated", "difference"], rows


def _grown(job: Job, profile: Profile, output: Path) -> ScalingRanking:
    """Where the job should grow under a much higher load, with a picture of it."""
    from streamgauge.api.rank_scalings import rank_scalings

    say(f"asking where it should grow for {GROWN_RATE:,g} tuples/s, from the profile alone")
    growths = rank_scalings(job, GROWN_UNITS, profile, GROWN_RATE, sweep=True)
    write_text(output / "growth.svg", growths.picture().svg)
    return growths
