"""``streamgauge predict`` and ``compare``: how a job would behave on plans that have never run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Load, Rate, Series
from streamgauge.cli.output import present, say
from streamgauge.errors import InvalidInput

WithIntervals = Annotated[
    bool,
    typer.Option(
        "--intervals/--no-intervals",
        help="Whether to give figures their 90 % intervals, which takes longer.",
    ),
]
Residuals = Annotated[
    Path | None,
    typer.Option(
        help="Judged errors of models on other jobs, as `experiment judge --residuals` writes"
        " them; those of Streamgauge when not given."
    ),
]
Window = Annotated[
    float, typer.Option(help="Seconds for which figures would be measured, for the intervals.")
]


def predict(
    file: Annotated[
        str | None,
        typer.Argument(
            help="A job file with the plan to predict; the profile's own plan when not given."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="A profile in JSON or YAML; - reads standard input. When not given, the"
            " prediction rests on what FILE declares."
        ),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(help="Instead of --profile: a lake; its profile most like the plan is used."),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(help="With --lake: the topology's name; as in FILE when not given."),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(help="The same as FILE."),
    ] = None,
    step: Annotated[str | None, typer.Option(help="Configure the plan as in this step.")] = None,
    rate: Rate = None,
    load: Load = None,
    series: Series = None,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured",
            help="Predict the profile's own plan from measured rates and service times only.",
        ),
    ] = False,
    model: Annotated[
        str, typer.Option(help="Which model predicts; all: every model, to see where they differ.")
    ] = "analytic",
    link_percentile: Annotated[
        float | None,
        typer.Option(
            help="Percentile of the probes between nodes that is taken as their latency; 50 when"
            " not given.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse an answer that is in doubt: exit code 5 with the reasons."
        ),
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(help="Write a picture of the plan, before and after.")
    ] = None,
    intervals: WithIntervals = True,
    residuals: Residuals = None,
    window: Window = 60.0,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Predict latency with percentiles, utilisation and the highest rate of a plan.

    A range of loads, such as --rate 50..500, gives them over that range, and where it saturates.
    """
    from streamgauge.api.loads import is_load_range
    from streamgauge.api.models import DEFAULT
    from streamgauge.api.predict import predict as ask
    from streamgauge.api.rates import is_range

    if file is not None and plan is not None:
        raise InvalidInput.single(
            ("--plan",), seen=f"both {file!r} and --plan {plan!r}", expected="one plan to predict"
        )
    plan = file if plan is None else plan
    if is_range(rate) or is_load_range(load):
        if measured or strict or model != DEFAULT or link_percentile is not None:
            raise InvalidInput.single(
                ("--rate",),
                seen="a range of loads with --measured, --strict, --model or --link-percentile",
                expected="a range alone, or a single load with those",
            )
        from streamgauge.api.load_curve import load_curve

        curve = load_curve(
            profile,
            plan,
            rate=rate or None,
            load=load,
            series=series,
            step=step,
            lake=lake,
            topology=topology,
            intervals=intervals,
            residuals=residuals,
            say=say,
        )
        present(curve, as_json=as_json, html=html, svg=svg)
        return
    report = ask(
        profile,
        plan,
        step=step,
        rate=rate or None,
        load=load,
        series=series,
        model=model,
        lake=lake,
        topology=topology,
        measured=measured,
        link_percentile=link_percentile,
        before=svg is not None or html is not None,
        strict=strict,
        intervals=intervals,
        residuals=residuals,
        window=window,
        say=say,
    )
    present(report, as_json=as_json, html=html, svg=svg)


def compare(
    plans: Annotated[
        list[str],
        typer.Argument(help="Job files with plans of the profile's topology; FILE@STEP for a step"),
    ],
    profile: Annotated[
        str | None, typer.Option(help="A profile in JSON or YAML; - reads standard input.")
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(
            help="Instead of --profile: a lake; its profile most like the first plan is used."
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(help="With --lake: the topology's name; as in the plans when not given."),
    ] = None,
    rate: Rate = None,
    load: Load = None,
    series: Series = None,
    by: Annotated[
        str, typer.Option(help="Compare by: mean, p50, p90, p95, p99, or rate (the highest).")
    ] = "p99",
    model: Annotated[
        str, typer.Option(help="Which model decides; all: every model has a vote.")
    ] = "analytic",
    intervals: WithIntervals = True,
    residuals: Residuals = None,
    window: Window = 60.0,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Rank several proposed plans, and say what the majority of models prefers."""
    from streamgauge.api.compare import compare as ask

    report = ask(
        plans,
        profile,
        rate=rate or None,
        load=load,
        series=series,
        by=by,
        model=model,
        lake=lake,
        topology=topology,
        intervals=intervals,
        residuals=residuals,
        window=window,
        say=say,
    )
    present(report, as_json=as_json, html=html)
