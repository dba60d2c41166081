"""``streamgauge demo``: from a bundled job to a prediction and a plan, told step by step."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, say, write_text
from streamgauge.drawing.wording import count, format_duration
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.reports.scaling import ScalingRanking

EXAMPLE, SAMPLES = "word-count.yaml", "samples"
# A profile of the same job that is shipped, so that the first answer waits for nothing.
PROFILE = "word-count.profile.json"
# What is then asked: another plan, and ten times the load.
STEP, ASKED_RATE = "splitters-2", 2000.0
# And what to do about a load that one splitter cannot take, with so many executors more.
GROWN_STEP, GROWN_RATE, GROWN_UNITS = "large-buffers", 300_000.0, 4
WIDTH, INDENT = 100, "   "
NEXT = """
Next, with your own Storm job:
   streamgauge storm agent         # the jar and the two lines of configuration that measure a job
   streamgauge collect storm --ui http://HOST:8080 -o metrics    # or: poll it, install nothing
   streamgauge ingest metrics --lake lake                        # on Spark: needs Java 17
   streamgauge calibrate --lake lake --topology NAME -o profile.json
   streamgauge predict --profile profile.json --rate RATE        # the same plan at another load
   streamgauge plan place profile.json                           # where executors should run
   streamgauge plan scale profile.json --units 4 --rate RATE     # which operators need more
Let metrics come in for three minutes or more. Details: docs/agent.md, docs/collect.md."""
GOING_ON = "What follows makes such a profile from raw metrics, and checks what it predicts."
NO_SPARK = """
Without --no-spark it goes on to a profile, a prediction and a plan; Spark needs Java 17."""


def demo(
    output: Annotated[Path, typer.Option(help="Folder for what the demonstration writes.")] = Path(
        "streamgauge-demo"
    ),
    spark: Annotated[
        bool, typer.Option(help="Go on from metrics to a profile, on Spark, which needs Java.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Run the main job on a bundled example: every stage of the product that there is."""
    with require_extra("simulation,pipeline" if spark else "simulation,lake"):
        from streamgauge.engines.emulator import emulate  # noqa: F401 - before anything is said

        if spark:
            from streamgauge.pipeline import session  # noqa: F401
    from streamgauge.api.demonstration import MEASURED_RATE, MEASURED_SECONDS, SEED, emulate_metrics
    from streamgauge.api.place import place
    from streamgauge.cli.examples import example_path
    from streamgauge.cli.progress import watch_simulated_time
    from streamgauge.cli.topology import GRAPH, PLAN
    from streamgauge.reports.report import describe_size, replace_non_finite
    from streamgauge.reports.simulation import SimulationReport
    from streamgauge.topology.files.document import make_folder

    story = _Story(silent=as_json)
    placement = place(example_path(EXAMPLE))
    job, plan = placement.job, placement.plan
    make_folder(output)
    write_text(output / "topology.svg", placement.plot(GRAPH).svg)
    write_text(output / "plan.svg", placement.plot(PLAN).svg)
    story.tell(
        f"The job: {EXAMPLE}, a bundled example; all files are in {output}",
        f"{count(len(job.topology.operators), 'operator')}, placed as {describe_size(plan)}.",
        files="topology.svg, plan.svg",
    )
    first = _predict(example_path(PROFILE), output, "first-answer.html")
    story.tell(
        f"First answer: plan {STEP} at {ASKED_RATE:,g} tuples/s, from a bundled profile of the job",
        str(first.verdict),
        "; ".join(f"{term.name} {term.value}" for term in first.headline) + ".",
        *([GOING_ON] if spark else []),
        files="first-answer.html",
    )
    result = emulate_metrics(job, plan, output / SAMPLES, progress=watch_simulated_time(), say=say)
    story.tell(
        f"Metrics: five minutes at {MEASURED_RATE:g} tuples/s, emulated as a cluster reports them",
        f"From source to sink a tuple took {format_duration(result.latency.mean)} on average,"
        f" {format_duration(result.latency.quantile(0.99))} at the 99th percentile.",
        files=f"{SAMPLES}/",
    )
    report = SimulationReport(
        job=job, plan=plan, results=(result,), seed=SEED, seconds=MEASURED_SECONDS, warmup=0.0
    )
    simulated = replace_non_finite(report.document())
    document = {**placement.document(), "simulated": simulated}
    if spark:
        document |= _continue_on_spark(job, output, story)
    if as_json:
        print_document(document)
    else:
        print(NEXT if spark else NO_SPARK)


class _Story:
    """What the demonstration did, step by step, on standard output."""

    def __init__(self, *, silent: bool) -> None:
        self._silent, self._steps = silent, 0

    def tell(self, title: str, *lines: str, files: str) -> None:
        """One step: what was done, its headline, and the files that it wrote."""
        if self._silent:
            return
        self._steps += 1
        print(f"{self._steps}. {title}")
        for line in (*lines, f"→ {files}"):
            wrapped = textwrap.fill(line, WIDTH - len(INDENT), break_on_hyphens=False)
            print(textwrap.indent(wrapped, INDENT))


def _continue_on_spark(job: Job, output: Path, story: _Story) -> dict[str, Any]:
    """From metrics to a profile, a prediction and a plan; gives the document's part on them."""
    from streamgauge.api.demonstration import compare_latencies, simulate_truth
    from streamgauge.reports.profile import ProfileReport
    from streamgauge.reports.report import replace_non_finite

    profile = _calibrate(job.topology.name, output)
    measured = ProfileReport(profile=profile)
    story.tell(
        "Profile: what operators do, estimated from the metrics by Spark",
        f"{measured.verdict} See them with `streamgauge profile show {output / 'profile.json'}`.",
        files="lake/, profile.json",
    )
    predicted = _predict(profile, output, "prediction.html")
    truth = simulate_truth(job, predicted.plan, predicted.workload)
    story.tell(
        f"Prediction: plan {STEP} at {ASKED_RATE:,g} tuples/s, neither of which was ever measured",
        str(predicted.verdict),
        _row("", "predicted", "simulated", "difference"),
        *(
            _row(
                name,
                format_duration(ours),
                format_duration(theirs),
                f"{100.0 * (ours / theirs - 1.0):+.1f} %",
            )
            for name, ours, theirs in compare_latencies(predicted.prediction, truth)
        ),
        files="prediction.html",
    )
    growths = _scale(job, profile, output)
    story.tell(
        f"Plan: what {GROWN_RATE:,g} tuples/s would need, with {GROWN_UNITS} executors to hand out",
        str(growths.verdict),
        files="growth.svg",
    )
    return {
        **measured.document(),
        "prediction": replace_non_finite(predicted.prediction.to_dict()),
        "truth": replace_non_finite(asdict(truth)),
        **growths.to_dict(),
    }


def _row(*cells: str) -> str:
    return f"{cells[0]:<22}{cells[1]:>12}{cells[2]:>12}{cells[3]:>13}"


def _calibrate(topology: str, output: Path) -> Profile:
    """Take the metrics into a lake, and make the profile from it."""
    from streamgauge.api.calibrate import calibrate
    from streamgauge.api.spark import open_session
    from streamgauge.cli.ingest import summary
    from streamgauge.lake.tables import Lake

    lake = Lake(output / "lake")
    say("starting Spark and ingesting the metrics into a lake")
    with open_session("demo", input_rows=0) as session:
        from streamgauge.pipeline.ingest.job import ingest_files
        from streamgauge.pipeline.ingest.listing import find_files

        tally = ingest_files(session, lake, find_files([str(output / SAMPLES)]), say=say)
        say(summary(tally))
        report = calibrate(lake.uri, topology, output=output / "profile.json", say=say)
        return report.profiles[0].profile


def _predict(profile: Profile | Path, output: Path, page: str) -> PredictionReport:
    """How the job would behave on another plan under another load, with a page of it."""
    from streamgauge.api.predict import predict
    from streamgauge.cli.examples import example_path

    report = predict(profile, example_path(EXAMPLE), step=STEP, rate=ASKED_RATE, before=True)
    source = profile.name if isinstance(profile, Path) else "profile.json"
    command = f"streamgauge predict --profile {source} --plan {EXAMPLE} --step {STEP}"
    write_text(output / page, report.to_html(f"{command} --rate {ASKED_RATE:g} --html {page}"))
    return report


def _scale(job: Job, profile: Profile, output: Path) -> ScalingRanking:
    """Where the job should grow under a much higher load, with a picture of it."""
    from streamgauge.api.rank_scalings import rank_scalings

    growths = rank_scalings(job, GROWN_UNITS, profile, GROWN_RATE, GROWN_STEP, sweep=True)
    write_text(output / "growth.svg", growths.plot().svg)
    return growths
