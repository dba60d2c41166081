"""``streamgauge sweep``: thousands of plans under several loads, and the best of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Conf, Config, Html, Master
from streamgauge.cli.output import check_outputs, present, say


def sweep(
    file: Annotated[str, typer.Argument(help="A sweep's file: a job, plans, rates, models.")],
    best: Annotated[
        str | None,
        typer.Option(
            help="The figure that decides: p99, mean, cost, limit, saturation, remote_bytes …"
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(help="What the best must meet: 'cost<8 and p99<0.02'.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A folder for the results; a sweep that was stopped goes on."
        ),
    ] = None,
    on_spark: Annotated[
        bool | None,
        typer.Option("--spark/--no-spark", help="By default where it would take minutes without."),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate plans × rates × models × replicas, and show the best and the Pareto front."""
    from streamgauge.api.sweep import sweep as ask
    from streamgauge.cli.spark import spark_options

    check_outputs(html)
    with spark_options(master, conf, config) as options:
        report = ask(
            file,
            best=best,
            where=where,
            output=output,
            on_spark=on_spark,
            spark=options,
            say=say,
        )
    present(report, as_json=as_json, html=html)
