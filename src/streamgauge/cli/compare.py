"""``streamgauge compare``: which of several proposed plans is best, by one model or by vote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import present, say


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
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="Compare by: mean, p50, p90, p95, p99, or rate (the highest).")
    ] = "p99",
    model: Annotated[
        str, typer.Option(help="Which model decides; all: every model has a vote.")
    ] = "analytic",
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Rank several proposed plans, and say what the majority of models prefers."""
    from streamgauge.api.compare import compare as ask

    report = ask(
        plans, profile, rate=rate or None, by=by, model=model, lake=lake, topology=topology, say=say
    )
    present(report, as_json=as_json, html=html)
