"""``streamgauge outlook``: when a job, or any of a fleet, will not keep up with its traffic."""

from __future__ import annotations

from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Step, Svg
from streamgauge.cli.output import present, say
from streamgauge.errors import InvalidInput


def outlook(
    file: Annotated[
        str | None,
        typer.Argument(help="A job file with the plan; the profile's own plan when not given."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="A profile in JSON or YAML; the newest of --lake when not given."),
    ] = None,
    plan: Annotated[str | None, typer.Option(help="The same as FILE.")] = None,
    step: Step = None,
    horizon: Annotated[str, typer.Option(help="How far ahead: 1h, 24h, 7d.")] = "24h",
    objective: Annotated[
        str | None, typer.Option(help="What latency must stay below: 'p99<50ms'.")
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            help="A CSV file of source rates; the history of the lake or profile when not given."
        ),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(help="A lake with the history of the sources, and how long rebalances took."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(help="With --lake: the topology's name; as in the plan if not.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="With --lake: all topologies, those in trouble first.")
    ] = False,
    chance: Annotated[
        float, typer.Option(help="From which probability on trouble is expected: exit code 3.")
    ] = 0.5,
    forecast_step: Annotated[
        str | None, typer.Option(help="Length of a step of the forecast: 15m.")
    ] = None,
    history: Annotated[
        str | None, typer.Option(help="How much of the past may count: 28d; all by default.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Whose days repeat: Europe/Berlin; UTC's when not given.")
    ] = None,
    modelling: Annotated[
        str | None, typer.Option(help="How long it takes to find a better plan; 2m by default.")
    ] = None,
    rescaling: Annotated[
        str | None,
        typer.Option(help="How long until it runs; as rebalances took in the lake by default."),
    ] = None,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say when a plan saturates or misses its objective by what is forecast; exit code 3 if so."""
    if file is not None and plan is not None:
        raise InvalidInput.single(
            ("--plan",), seen=f"both {file!r} and --plan {plan!r}", expected="one plan"
        )
    options = {
        "horizon": horizon,
        "objective": objective,
        "chance": chance,
        "forecast_step": forecast_step,
        "history": history,
        "timezone": timezone,
        "modelling": modelling,
        "rescaling": rescaling,
    }
    if every:
        from streamgauge.api.outlook_fleet import outlook_all

        given = [profile, file, plan, step, series, topology]
        if lake is None or any(one is not None for one in given):
            raise InvalidInput.single(
                ("--all",),
                seen="--all without --lake" if lake is None else "--all for one topology",
                expected="--lake DIR --all: all topologies of a lake, each with its own profile",
            )
        fleet = outlook_all(lake, say=say, **options)  # type: ignore[arg-type]
        present(fleet, as_json=as_json, html=html, svg=svg)
        return
    from streamgauge.api.outlook import outlook as ask

    report = ask(
        profile,
        file if plan is None else plan,
        series=series,
        lake=lake,
        topology=topology,
        step=step,
        say=say,
        **options,  # type: ignore[arg-type]
    )
    present(report, as_json=as_json, html=html, svg=svg)
