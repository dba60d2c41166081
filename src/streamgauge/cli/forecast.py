"""``streamgauge forecast``: what traffic is expected, with quantiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Conf, Config, Html, Master, Start, Svg
from streamgauge.cli.output import present, say
from streamgauge.cli.spark import spark_options


def forecast(
    series: Annotated[
        Path | None, typer.Option(help="A CSV file with columns time and value, or more.")
    ] = None,
    lake: Annotated[
        str | None, typer.Option(help="Instead of --series: forecast the source rates of a lake.")
    ] = None,
    topology: Annotated[str | None, typer.Option(help="With --lake: whose sources.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="With --lake: all topologies, on Spark.")
    ] = False,
    horizon: Annotated[str, typer.Option(help="How far ahead: 30m, 1h, 1d.")] = "1h",
    history: Annotated[
        str | None, typer.Option(help="How much of the past may count: 28d; all by default.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(help="Length of a step: 5m; values within one are averaged."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="With --lake: a series for each source, stream or task.")
    ] = "source",
    start: Start = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the period, exclusive.")] = None,
    method: Annotated[
        str,
        typer.Option(
            help="Forecasters to combine: standard,mstl,…; the standard ones if not given."
        ),
    ] = "",
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="A quantile of what may come, such as 0.95; may be repeated."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Whose days repeat: Europe/Berlin; UTC's when not given."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="With --series: the column of values.")] = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Forecast the traffic of sources, with bands that hold what comes."""
    from streamgauge.api.forecast import forecast as ask

    with spark_options(master, conf, config) as options:
        report = ask(
            series,
            lake=lake,
            topology=topology,
            every=every,
            horizon=horizon,
            history=history,
            step=step,
            by=by,
            start=start,
            end=end,
            method=method,
            quantiles=quantile or (),
            timezone=timezone,
            column=column,
            spark=options,
            say=say,
        )
    present(report, as_json=as_json, html=html, svg=svg)
