"""``streamgauge replay``: the same traffic on a shared cluster under several policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Svg
from streamgauge.cli.output import check_outputs, present, say


def replay(
    file: Annotated[
        str, typer.Argument(help="A cluster that jobs share, with their objectives and traffic.")
    ],
    policies: Annotated[
        str | None,
        typer.Option(
            help="Policies to compare, with commas between them and settings after a name:"
            " henge,hpa:target=0.5,hpa:target=0.9; all: every one. Those of the file unless given."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="In how many worlds: each has other service times and other noise.")
    ] = 10,
    processes: Annotated[
        int | None, typer.Option(help="How many worlds at once; as many as cores unless given.")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Write what every job did in every step to this Parquet file."),
    ] = None,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Replay traffic under autoscaling policies: who keeps objectives, and at which price."""
    from streamgauge.api.replay import replay as ask

    check_outputs(html, svg, rows)
    report = ask(file, policies, seeds=seeds, processes=processes, rows=rows, say=say)
    present(report, as_json=as_json, html=html, svg=svg)
