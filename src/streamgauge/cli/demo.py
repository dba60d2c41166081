"""``streamgauge demo``: from a bundled job to a prediction and a plan, told step by step."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, say, write_text
from streamgauge.drawing.wording import count, format_duration
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.api.demonstration import RecordedRun
    from streamgauge.experiments.truth import StepTruth
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.outlook import OutlookReport
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.reports.recommendation import RecommendationReport
    from streamgauge.reports.scaling import ScalingRanking

# A run of a real Storm job; the step that is measured, and the one that is predicted.
RECORDED, MEASURED, ASKED = "recorded", "quiet", "busy"
# A profile of the first, so that the first answer waits for nothing.
PROFILE = "quiet.profile.json"
# And what to do about a load beyond what the busy plan can take, with so many executors more.
GROWN_RATE, GROWN_UNITS = 900.0, 4
# The recorded run is too short for a forecast: its outlook is by made-up traffic.
TRAFFIC, HORIZON = "traffic/orders.csv", "12h"
# About the most that the outlook expects, and how it is to be carried, on machines with invented
# prices.
ADVISED_RATE, OBJECTIVE = 600.0, "p95<60ms"
CATALOGUE = "catalogues/example-machines.yaml"
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
   streamgauge recommend profile.json --objective 'p99<50ms'     # the cheapest plan that meets it
Let metrics come in for three minutes or more. Details: docs/agent.md, docs/collect.md."""
GOING_ON = "What follows makes such a profile from the job's raw metrics, on Spark."
NO_SPARK = """
Without --no-spark it goes on from raw metrics to a profile and a plan; Spark needs Java 17."""


def demo(
    output: Annotated[Path, typer.Option(help="Folder for what the demonstration writes.")] = Path(
        "streamgauge-demo"
    ),
    spark: Annotated[
        bool, typer.Option(help="Go on from metrics to a profile, on Spark, which needs Java.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Predict a real job that was recorded, and show what was measured then beside it."""
    with require_extra("pipeline" if spark else "lake"):
        import pyarrow  # noqa: F401 - before anything is said

        if spark:
            from streamgauge.pipeline import session  # noqa: F401
    from streamgauge.api.demonstration import RecordedRun
    from streamgauge.api.place import place
    from streamgauge.cli.examples import examples_folder
    from streamgauge.cli.topology import GRAPH, PLAN
    from streamgauge.reports.report import describe_size, replace_non_finite
    from streamgauge.topology.files.document import make_folder

    story = _Story(silent=as_json)
    run = RecordedRun.load(examples_folder() / RECORDED)
    placement = place(run.job(MEASURED))
    make_folder(output)
    write_text(output / "topology.svg", placement.plot(GRAPH).svg)
    write_text(output / "plan.svg", placement.plot(PLAN).svg)
    story.tell(
        f"The job: {placement.job.topology.name}, recorded on a real Storm cluster; all files are"
        f" in {output}",
        f"{count(len(placement.job.topology.operators), 'operator')}, placed as"
        f" {describe_size(placement.plan)}.",
        files="topology.svg, plan.svg",
    )
    first = _predict(run, run.folder / PROFILE, output, "first-answer.html")
    truth = run.truth(ASKED)
    story.tell(
        f"First answer: step {ASKED}, from a bundled profile of step {MEASURED}",
        *_explain(run, first),
        *_compare(first, truth),
        *([GOING_ON] if spark else []),
        files="first-answer.html",
    )
    document = {
        **placement.document(),
        "prediction": replace_non_finite(first.prediction.to_dict()),
        "truth": [replace_non_finite(asdict(figure)) for figure in truth.figures],
    }
    if spark:
        document |= _continue_on_spark(run, truth, output, story)
    ahead = _look_ahead(run, output, examples_folder() / TRAFFIC)
    story.tell(
        f"Outlook: step {ASKED} under made-up traffic, as the recorded run is too short",
        *ahead.summary,
        files="outlook.html",
    )
    document |= ahead.to_dict()
    advised, remark = _recommend(run, output)
    where = "as it is deployed" if remark else "on the cheapest machines of an example catalogue"
    story.tell(
        f"Recommendation: {ADVISED_RATE:,g} tuples/s with {OBJECTIVE}, {where}",
        str(advised.verdict),
        *remark,
        files="recommendation.svg, recommendation.html",
    )
    document |= advised.to_dict()
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


def _continue_on_spark(
    run: RecordedRun, truth: StepTruth, output: Path, story: _Story
) -> dict[str, Any]:
    """From metrics to a profile, a prediction and a plan; gives the document's part on them."""
    from streamgauge.reports.profile import ProfileReport
    from streamgauge.reports.report import replace_non_finite

    profile = _calibrate(run, output)
    measured = ProfileReport(profile=profile)
    story.tell(
        f"Profile: what operators do, from three minutes of metrics of step {MEASURED}, by Spark",
        f"{measured.verdict} See them with `streamgauge profile show {output / 'profile.json'}`.",
        files="lake/, profile.json",
    )
    predicted = _predict(run, output / "profile.json", output, "prediction.html")
    story.tell(
        f"Prediction: step {ASKED}, of which this profile knows nothing",
        *_explain(run, predicted),
        *_compare(predicted, truth),
        files="prediction.html",
    )
    growths = _scale(run, profile, output)
    story.tell(
        f"Plan: what {GROWN_RATE:,g} tuples/s would need, with {GROWN_UNITS} executors to hand out",
        str(growths.verdict),
        files="growth.svg",
    )
    return {
        **measured.document(),
        "prediction": replace_non_finite(predicted.prediction.to_dict()),
        **growths.to_dict(),
    }


def _explain(run: RecordedRun, predicted: PredictionReport) -> list[str]:
    """From which load and plan to which, and the verdict."""
    before, after = (run.per_second(step) for step in (MEASURED, ASKED))
    executors = (len(run.repetition(step).executors) for step in (MEASURED, ASKED))
    return [
        f"Measured at {before:g} tuples/s on {next(executors)} executors, predicted at {after:g} on"
        f" {next(executors)}.",
        str(predicted.verdict),
    ]


def _compare(predicted: PredictionReport, truth: StepTruth) -> list[str]:
    """A table of what was predicted and what was measured on the cluster."""
    from streamgauge.api.demonstration import compare_with_truth

    rows = [_row("", "predicted", "90 % interval", "measured", "difference")]
    for one in compare_with_truth(predicted, truth):
        show = show_cores if one.key.unit == "cores" else format_duration
        between = one.interval
        interval = f"{show(between.low)} to {show(between.high)}" if between else "not known"
        difference = f"{100.0 * (one.predicted / one.measured - 1.0):+.1f} %"
        rows.append(_row(one.name, show(one.predicted), interval, show(one.measured), difference))
    return rows


def show_cores(number: float) -> str:
    """``0.42 cores``."""
    return f"{number:.2f} cores"


def _row(*cells: str) -> str:
    return f"{cells[0]:<24}{cells[1]:>12}{cells[2]:>26}{cells[3]:>12}{cells[4]:>13}"


def _calibrate(run: RecordedRun, output: Path) -> Profile:
    """Take the metrics into a lake, and make the profile from it."""
    from streamgauge.api.calibrate import calibrate
    from streamgauge.api.ingest import ingest
    from streamgauge.api.spark import open_session
    from streamgauge.cli.ingest import summary

    lake, repetition = output / "lake", run.repetition(MEASURED)
    say("starting Spark and ingesting the metrics into a lake")
    with open_session("demo", input_rows=0):
        tally = ingest([run.folder / repetition.folder], str(lake), say=say)
        say(summary(tally))
        report = calibrate(
            str(lake),
            run.job(MEASURED).topology.name,
            output=output / "profile.json",
            start=repetition.measured_from,
            end=repetition.measured_to,
            warmup_seconds=0.0,
            say=say,
        )
        return report.profiles[0].profile


def _predict(run: RecordedRun, profile: Path, output: Path, page: str) -> PredictionReport:
    """How the job would behave on the other step's plan and load, with a page of it."""
    from streamgauge.api.loading import load_profile
    from streamgauge.api.predict import predict

    plan, rate = run.plan(ASKED, load_profile(profile)), run.per_second(ASKED)
    report = predict(profile, plan, rate=rate, before=True)
    write_text(output / page, report.to_html(f"streamgauge demo --output {output}"))
    return report


def _look_ahead(run: RecordedRun, output: Path, traffic: Path) -> OutlookReport:
    """Whether the other step's plan will keep up with traffic, with a page of it."""
    from streamgauge.api.loading import load_profile
    from streamgauge.api.outlook import outlook

    profile = run.folder / PROFILE
    plan = run.plan(ASKED, load_profile(profile))
    report = outlook(profile, plan, series=traffic, horizon=HORIZON)
    write_text(output / "outlook.html", report.to_html(f"streamgauge demo --output {output}"))
    return report


def _recommend(run: RecordedRun, output: Path) -> tuple[RecommendationReport, list[str]]:
    """The cheapest plan for a much higher load, drawn before and after, with its price.

    And what is missing where there is no price.
    """
    from streamgauge.api.recommend import recommend
    from streamgauge.cli.examples import examples_folder
    from streamgauge.errors import MissingExtra

    ask = partial(recommend, run.folder / PROFILE, OBJECTIVE, rate=ADVISED_RATE, confirm=False)
    remark = []
    try:
        report = ask(catalogue=examples_folder() / CATALOGUE, minimise="money")
    except MissingExtra as missing:
        report, remark = ask(), [f"No price: {missing}."]
    write_text(output / "recommendation.svg", report.plot().svg)
    write_text(
        output / "recommendation.html", report.to_html(f"streamgauge demo --output {output}")
    )
    return report, remark


def _scale(run: RecordedRun, profile: Profile, output: Path) -> ScalingRanking:
    """Where the job should grow under a much higher load, with a picture of it."""
    from streamgauge.api.rank_scalings import rank_scalings

    growths = rank_scalings(run.job(ASKED), GROWN_UNITS, profile, GROWN_RATE, sweep=True)
    write_text(output / "growth.svg", growths.plot().svg)
    return growths
