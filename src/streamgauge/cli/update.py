"""``streamgauge update --dry-run``: other numbers of executors, predicted before they are set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Load, Rate, Series, Svg
from streamgauge.cli.output import check_outputs, present, say
from streamgauge.errors import InvalidInput


def update(
    executors: Annotated[
        list[str] | None,
        typer.Argument(help="OPERATOR=NUMBER of executors; the others keep theirs."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Predict what would change; needed, as nothing else is done."
        ),
    ] = False,
    profile: Annotated[
        str | None, typer.Option(help="A profile in JSON or YAML; - reads standard input.")
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(help="Instead of --profile: a lake; its newest profile is used."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(help="With --lake: the topology's name there.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many workers; as now when not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Which scheduler places executors; the engine's own when not given."),
    ] = None,
    rate: Rate = None,
    load: Load = None,
    series: Series = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the plan to this file, to be applied."),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals/--no-intervals", help="Whether to give 90 % intervals.")
    ] = True,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say what other numbers of executors would change, and the command that changes them."""
    from streamgauge.api.update import update as ask

    if not dry_run:
        raise InvalidInput.single(
            ("--dry-run",),
            seen="an update without it",
            expected="--dry-run: running topologies are only changed by the command that it prints",
        )
    check_outputs(output, svg, html)
    report = ask(
        profile,
        executors or (),
        workers=workers,
        rate=rate or None,
        load=load,
        series=series,
        lake=lake,
        topology=topology,
        scheduler=scheduler,
        intervals=intervals,
        say=say,
    )
    if output is not None:
        report.save_job(output)
        report = replace(report, written=str(output))
        say(f"wrote {output}")
    present(report, as_json=as_json, html=html, svg=svg)
