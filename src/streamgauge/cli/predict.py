"""``streamgauge predict``: how a job would behave on a plan that has never run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import in_file, say, warn, write_text
from streamgauge.cli.simulate import OVERLOADED

if TYPE_CHECKING:
    from streamgauge.cli.proposed import Proposed
    from streamgauge.models.contract import Model
    from streamgauge.models.prediction import Prediction, Swing
    from streamgauge.profile.profile import Profile

ALL = "all"
DEFAULT = "analytic"
SIMULATION = "simulation"


def predict(
    profile: Annotated[
        str | None,
        typer.Option(
            help="A profile in JSON or YAML; - reads standard input. Without one, what the plan's"
            " file declares."
        ),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(help="Instead of --profile: a lake, of whose profiles the most alike serves."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(help="With --lake: whose profiles; as in --plan when not given.")
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(help="A job file with the plan to predict; the profile's own when not given."),
    ] = None,
    step: Annotated[str | None, typer.Option(help="Configure the plan as in this step.")] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
    ] = None,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured",
            help="Predict the profile's own plan from measured rates and service times only.",
        ),
    ] = False,
    model: Annotated[
        str, typer.Option(help="Which model predicts; all: everyone, to see where they differ.")
    ] = DEFAULT,
    link_percentile: Annotated[
        float | None,
        typer.Option(
            help="Per cent of the probes between nodes that are no longer than what counts; 50.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write a picture of the plan, before and after.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Predict latency with percentiles, utilisation and the highest rate of a plan."""
    from streamgauge.cli.prediction_report import print_document_of, print_prediction
    from streamgauge.cli.proposed import find_profile, own_plan, place_file, proposed
    from streamgauge.cli.seen import Seen
    from streamgauge.profile.profile import DECLARED

    _check_together(plan, step, measured=measured, rated=bool(rate), model=model)
    models = chosen_models(model)
    if link_percentile is not None:
        models[0] = _with_percentile(link_percentile, model)
    placed = None if plan is None else place_file(plan, step)
    source, which = find_profile(profile, lake, topology, placed)
    if lake is not None:
        say(which)
    with in_file(plan or profile or lake or ""):
        wanted = (
            own_plan(source, rate or ()) if placed is None else proposed(placed, source, rate or ())
        )
        found, others = _predicted(models, source, wanted, measured=measured)
    after = Seen(
        name=wanted.name,
        plan=wanted.plan,
        workload=wanted.workload,
        load=wanted.load,
        prediction=found,
    )
    if as_json:
        print_document_of(after, others, which)
    else:
        print_prediction(after, others)
    # Last, so that a picture that cannot be written costs nothing but the picture.
    if svg is not None or html is not None:
        measured_before = plan is not None and DECLARED not in source.notes
        _pictures(models[0], source, after, others, svg, html, before=measured_before)
    if found.overloaded:
        raise typer.Exit(OVERLOADED)


def _check_together(
    plan: str | None, step: str | None, *, measured: bool, rated: bool, model: str
) -> None:
    from streamgauge.errors import InvalidInput

    if step is not None and plan is None:
        raise InvalidInput.single(
            ("--step",), seen=f"step {step!r} without --plan", expected="a job file with steps"
        )
    if measured and (plan is not None or rated or model != DEFAULT):
        raise InvalidInput.single(
            ("--measured",),
            seen="--measured beside --plan, --rate or --model",
            expected="the profile's own plan and load, which is what was measured",
        )


def _with_percentile(percentile: float, model: str) -> Model:
    """The analytic model, the only one that can be asked for other than typical links."""
    from streamgauge.errors import InvalidInput
    from streamgauge.models.analytic import AnalyticModel

    if model != DEFAULT:
        raise InvalidInput.single(
            ("--link-percentile",),
            seen=f"model {model!r}",
            expected=f"{DEFAULT!r}, which takes any percentile; the others take the median",
        )
    if not 0.0 <= percentile <= 100.0:
        raise InvalidInput.single(
            ("--link-percentile",), seen=f"{percentile:g}", expected="per cent, from 0 to 100"
        )
    return AnalyticModel(link_percentile=percentile / 100.0)


def chosen_models(name: str) -> list[Model]:
    """The models that are asked for, the one whose word counts first."""
    from streamgauge.models.contract import load_model, model_names

    if name != ALL:
        return _ready([load_model(name)])
    names = sorted(model_names(), key=lambda one: one != DEFAULT)
    return _ready([load_model(one) for one in names])


def _ready(models: list[Model]) -> list[Model]:
    """The models, without those that cannot be asked here if there are others."""
    from streamgauge.cli.simulate import simulator
    from streamgauge.errors import InvalidInput

    ready = []
    for one in models:
        try:
            if one.name == SIMULATION:
                simulator()
        except InvalidInput as error:
            if len(models) == 1:
                raise
            warn([f"model {one.name} is not asked: {error}"])
        else:
            ready.append(one)
    return ready


def _predicted(
    models: list[Model], profile: Profile, wanted: Proposed, *, measured: bool
) -> tuple[Prediction, list[Prediction]]:
    """What the first model says, explained, and what the others say that have anything to say."""
    from dataclasses import replace

    from streamgauge.models.analytic import AnalyticModel
    from streamgauge.models.explanation import explain

    if measured:
        assert isinstance(models[0], AnalyticModel)
        return models[0].as_measured(profile), []
    plan, workload = wanted.plan, wanted.workload
    found = models[0].predict(profile, plan, workload)
    if isinstance(models[0], AnalyticModel):
        found = replace(found, explanation=explain(profile, plan, workload))
        if found.overloaded:
            found = replace(found, swing=_swing(profile, wanted))
    others, silent = predictions_of(models[1:], profile, wanted)
    warn(silent)
    return found, others


def _swing(profile: Profile, wanted: Proposed) -> Swing | None:
    """How a plan goes to and fro that formulas can only say does: simulated."""
    from streamgauge.cli.simulate import simulator
    from streamgauge.errors import InvalidInput
    from streamgauge.models.parameters import parameters_of
    from streamgauge.models.regimes import swinging_operators
    from streamgauge.models.simulated import SimulationModel

    if not swinging_operators(parameters_of(profile, wanted.plan, wanted.workload)):
        return None
    try:
        simulator()
    except InvalidInput as error:
        warn([f"how far latency swings is not known: {error}"])
        return None
    say("simulating how latency swings; this takes some seconds")
    return SimulationModel().predict(profile, wanted.plan, wanted.workload).swing


def predictions_of(
    models: list[Model], profile: Profile, wanted: Proposed
) -> tuple[list[Prediction], list[str]]:
    """What models say of such a plan, and why others say nothing."""
    from streamgauge.errors import InvalidInput

    found, silent = [], []
    for one in models:
        try:
            found.append(one.predict(profile, wanted.plan, wanted.workload))
        except InvalidInput as error:
            silent.append(f"model {one.name} says nothing: {error}")
    return found, silent


def _pictures(
    model: Model,
    profile: Profile,
    after: object,
    others: list[Prediction],
    svg: Path | None,
    html: Path | None,
    *,
    before: bool,
) -> None:
    from streamgauge.cli.prediction_charts import plans_picture
    from streamgauge.cli.prediction_page import prediction_page
    from streamgauge.cli.prediction_reasons import reasons_of
    from streamgauge.cli.proposed import own_plan
    from streamgauge.cli.seen import Seen
    from streamgauge.errors import InvalidInput, NotEnoughData

    assert isinstance(after, Seen)
    former = None
    if before:
        try:
            own = own_plan(profile)
            former = Seen(
                name=own.name,
                plan=own.plan,
                workload=own.workload,
                load=own.load,
                prediction=model.predict(profile, own.plan, own.workload),
            )
        except (InvalidInput, NotEnoughData) as error:
            warn([f"no picture of the plan before: {error}"])
    if svg is not None:
        write_text(svg, plans_picture(former, after))
    if html is not None:
        command = shlex.join(["streamgauge", *sys.argv[1:]])
        page = prediction_page(
            former, after, others=others, reasons=reasons_of(after.prediction), command=command
        )
        write_text(html, page)
