"""``streamgauge cost``: what a plan moves and takes by the cost models of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Rate, Step
from streamgauge.cli.output import check_outputs, present


def cost(
    file: Annotated[str, typer.Argument(help="A job or a profile; - reads standard input.")],
    profile: Annotated[
        str | None,
        typer.Option(help="A profile in JSON or YAML, used instead of the behaviours in FILE."),
    ] = None,
    step: Step = None,
    rate: Rate = None,
    constants: Annotated[
        Path | None,
        typer.Option(help="What has to be measured of the engine: phases, transport, management."),
    ] = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            help="Another plan: <nodes, executors of each operator, workers a node>, such as"
            " '<2,4,4,2>'; with =MS, the latency that was measured. May be repeated."
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Deal every operator from the first worker on.")
    ] = False,
    serialising: Annotated[
        str,
        typer.Option(
            help="fraction: what is expected to leave; copies: each copy of that; flag: all of it"
            " if anything does."
        ),
    ] = "fraction",
    utilisation: Annotated[
        float, typer.Option(help="Part of its time that an executor may be busy.")
    ] = 1.0,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Count bytes by stream and node, CPU by phase, and management; nothing queues."""
    from streamgauge.api.cost import cost as ask

    check_outputs(html)
    report = ask(
        file,
        profile,
        rate=rate or None,
        step=step,
        constants=constants,
        configurations=configuration or (),
        restart=restart,
        serialising=serialising,
        utilisation=utilisation,
    )
    present(report, as_json=as_json, html=html)
